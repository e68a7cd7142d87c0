"""Weighted least squares under one linear constraint: the engine below every polynomial estimator.

    minimise  sum_l w_l (y_l - x_l' b)^2   subject to  a' b = c                                   (R)

With q = a / |a| and P = I - q q', the solutions are b = P z + q c / |a|, where z solves the ordinary
problem for X P and y - X q c / |a|. Two routes lead there:

* the normal equations, summed up block by block and factorised by Cholesky, followed by refinement
  with residuals of the design itself (Björck's corrected semi-normal equations);
* where their condition number forbids that, a complete orthogonal factorisation (LAPACK gelsy) of the
  design itself, which finds the rank and returns the solution of minimum norm.

The constraint is never a heavily weighted row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.linalg import blas, lapack

from polyshap import walsh
from polyshap._memory import check_memory
from polyshap._threads import bounded_threads
from polyshap._types import BoolMatrix, FloatArray
from polyshap.bases import Basis

__all__ = ["Fit", "check_regression", "least_squares"]

# Reciprocal condition number of the normal equations (the square of the design's) below which the
# orthogonal route takes over: refinement gains the digits back only while it is far above 1e-16.
_NORMAL_RCOND = 1e-11
# A block of rows has at most this share of the design's rows, and 4 MiB or more where that is smaller.
_BLOCK_SHARE, _BLOCK_ELEMENTS = 8, 1 << 19
# Refinement stops when the next step would not change the first 15 digits, and after three steps anyway.
_REFINEMENTS, _REFINED = 3, 1e-15


@dataclass(frozen=True, eq=False)
class Fit:
    """A solution of (R), with what is known about it.

    Attributes
    ----------
    coefficients : ndarray, shape (n_columns, n_outputs)
    rank : int
        Independent equations, the constraint included.
    condition : float
        Estimated condition number (1-norm) of the weighted design.
    residual : float
        Weighted root mean square of the residuals over that of the targets.
    """

    coefficients: FloatArray
    rank: int
    condition: float
    residual: float


def least_squares(
    basis: Basis,
    coalitions: BoolMatrix,
    log_weights: FloatArray,
    targets: FloatArray,
    *,
    constraint: FloatArray | None = None,
    totals: FloatArray | None = None,
) -> Fit:
    """Solve (R) for every column of `targets` (m, n_outputs) with one factorisation.

    Parameters
    ----------
    basis : Basis
    coalitions : ndarray of bool, shape (m, n_players)
    log_weights : ndarray, shape (m,)
        log of the weights w; only their differences matter.
    targets : ndarray, shape (m, n_outputs)
    constraint : ndarray, shape (n_columns,), optional
        The vector a; without it there is no constraint.
    totals : ndarray, shape (n_outputs,), optional
        The right-hand sides c of the constraint.
    """
    roots = np.exp(0.5 * (log_weights - log_weights.max())) if len(log_weights) else np.empty(0)
    problem = _Problem(basis, coalitions, roots, targets, *_unit(basis, targets, constraint, totals))
    with bounded_threads(basis.n_columns):
        return _normal_route(problem) or _orthogonal_route(problem)


@dataclass(frozen=True, eq=False)
class _Problem:
    basis: Basis
    coalitions: BoolMatrix  # (m, n_players)
    roots: FloatArray  # (m,) square roots of the weights
    targets: FloatArray  # (m, k)
    unit: FloatArray | None  # (p,) q = a / |a|
    offset: FloatArray  # (p, k) q c / |a|, a solution of the constraint

    def blocks(self) -> Iterator[tuple[slice, FloatArray]]:
        """The weighted design, transposed, in blocks (p, rows); a block is overwritten by the next one."""
        m, p = len(self.coalitions), self.basis.n_columns
        rows = max(1, min(m, max(m // _BLOCK_SHARE, _BLOCK_ELEMENTS // max(p, 1))))
        buffer = np.empty(rows * p)
        for start in range(0, m, rows):
            part = slice(start, min(start + rows, m))
            block = buffer[: p * (part.stop - start)].reshape(p, part.stop - start)
            self.basis.write(self.coalitions[part], block)
            block *= self.roots[part]
            yield part, block

    def residuals(self, coefficients: FloatArray) -> FloatArray:
        """Weighted residuals (m, k)."""
        return np.concatenate(
            [self._left(part, block, coefficients) for part, block in self.blocks()]
            or [np.empty_like(self.targets)]
        )

    def _left(self, part: slice, block: FloatArray, coefficients: FloatArray) -> FloatArray:
        return self.targets[part] * self.roots[part, None] - block.T @ coefficients

    def gradient(self, coefficients: FloatArray, gram: FloatArray | None = None) -> tuple[FloatArray, float]:
        """X' (weighted residuals) and their norm, in one pass; adds X' X to the lower triangle of `gram`."""
        gradient, squares = np.zeros_like(self.offset), 0.0
        for part, block in self.blocks():
            if gram is not None:
                blas.dsyrk(1.0, block.T, beta=1.0, c=gram, trans=1, lower=1, overwrite_c=1)
            left = self._left(part, block, coefficients)
            gradient += block @ left
            squares += float(np.vdot(left, left))
        return gradient, np.sqrt(squares)

    def project(self, array: FloatArray) -> FloatArray:
        return array if self.unit is None else array - np.outer(self.unit, self.unit @ array)

    @property
    def scale(self) -> float:
        """The norm of the weighted targets."""
        return float(np.linalg.norm(self.targets * self.roots[:, None]))


def _unit(
    basis: Basis, targets: FloatArray, constraint: FloatArray | None, totals: FloatArray | None
) -> tuple[FloatArray | None, FloatArray]:
    if constraint is None or totals is None:
        return None, np.zeros((basis.n_columns, targets.shape[1]))
    length = np.linalg.norm(constraint)
    unit = constraint / length
    return unit, np.outer(unit, totals / length)


def _normal_route(problem: _Problem) -> Fit | None:
    """Cholesky of the projected normal equations with refinement; None where they are ill-conditioned."""
    p, constrained = problem.basis.n_columns, problem.unit is not None
    if len(problem.coalitions) + constrained < p:
        return None
    gram, gradient = _normal_equations(problem)
    if problem.unit is not None:
        _project_gram(gram, problem.unit)
    norm = _one_norm(gram)
    factor, failed = lapack.dpotrf(gram, lower=1, overwrite_a=1, clean=0)
    if failed:
        return None
    rcond, _ = lapack.dpocon(factor, norm, uplo="L")
    if rcond < _NORMAL_RCOND:
        return None
    coefficients, lengths = problem.offset, []
    for _ in range(1 + _REFINEMENTS):
        step, _ = lapack.dpotrs(factor, problem.project(gradient), lower=1)
        coefficients = coefficients + problem.project(step)
        lengths.append(float(np.abs(step).max(initial=0.0)))
        # steps shrink geometrically: stop when the next one cannot matter
        if len(lengths) > 1 and lengths[-1] ** 2 <= _REFINED * lengths[-2] * np.abs(coefficients).max():
            break
        gradient, residual = problem.gradient(coefficients)
    return Fit(coefficients, p, 1.0 / np.sqrt(rcond), residual / (problem.scale or 1.0))


def _normal_equations(problem: _Problem) -> tuple[FloatArray, FloatArray]:
    """X' X, its lower triangle, and X' (weighted residuals of the offset)."""
    (m, n), p, odd = problem.coalitions.shape, problem.basis.n_columns, problem.basis.odd
    check_regression(m, p)
    if odd is not None and walsh.pays(n, m, p):
        return walsh.odd_gram(problem.coalitions, problem.roots**2, odd), problem.gradient(problem.offset)[0]
    gram = np.zeros((p, p), order="F")
    return gram, problem.gradient(problem.offset, gram)[0]


def check_regression(n_rows: int, n_columns: int) -> None:
    """Refuse what cannot fit: the smaller of normal equations and design, and a block of the design."""
    matrix = n_columns * min(n_rows, n_columns)
    check_memory(
        8 * (matrix + n_rows * n_columns // _BLOCK_SHARE),
        f"The {n_columns} terms of a regression on {n_rows} coalitions",
        "Use a smaller frontier or a smaller budget.",
    )


def _project_gram(gram: FloatArray, unit: FloatArray) -> None:
    """G -> P G P + t q q' in its lower triangle, in place; t, of the size of G, makes it regular along q."""
    along = blas.dsymv(1.0, gram, unit, lower=1)
    curvature = float(unit @ along)
    size = float(np.trace(gram)) / len(gram)
    # P G P = G - q g' - g q' + (q'g) q q'  with  g = G q; both corrections in one symmetric rank-2 update
    shifted = along - 0.5 * (curvature + size) * unit
    blas.dsyr2(-1.0, unit, shifted, a=gram, lower=1, overwrite_a=1)


def _one_norm(gram: FloatArray) -> float:
    """The 1-norm of a symmetric matrix whose lower triangle is given, without a full temporary."""
    sums = np.zeros(len(gram))
    for column in range(len(gram)):
        part = np.abs(gram[column:, column])
        sums[column] += part.sum()
        sums[column + 1 :] += part[1:]
    return float(sums.max(initial=0.0))


def _orthogonal_route(problem: _Problem) -> Fit:
    """Minimum-norm solution from a complete orthogonal factorisation of the constrained design.

    The Householder reflection H that maps q to the first axis turns the constraint into a known first
    coordinate, whose column is dropped: X H keeps norms, so the minimum-norm solution stays the same.
    """
    m, p, k = len(problem.coalitions), problem.basis.n_columns, problem.offset.shape[1]
    known = int(problem.unit is not None)
    if min(m, p - known) == 0:
        return Fit(problem.offset, known, 1.0, 0.0)
    check_memory(8 * m * p, f"The {p} terms of a regression on {m} coalitions", "Use a smaller frontier.")
    design = np.empty((m, p), order="F")
    reflector = None if problem.unit is None else _reflector(problem.unit)
    for part, block in problem.blocks():
        design[part] = block.T if reflector is None else _reflect(block.T, reflector)
    right = np.zeros((max(m, p - known), k), order="F")
    right[:m] = problem.residuals(problem.offset)
    cutoff = 10 * max(m, p) * np.finfo(float).eps
    work, _ = lapack.dgelsy_lwork(m, p - known, k, cutoff)
    pivots = np.zeros((p - known, 1), dtype=np.int32)
    factored, solution, _, rank, _ = lapack.dgelsy(
        design[:, known:], right, pivots, cutoff, int(work), overwrite_a=1, overwrite_b=1
    )
    free = np.zeros((p, k))
    free[known:] = solution[: p - known]
    coefficients = problem.offset + (free if reflector is None else _reflect(free.T, reflector).T)
    diagonal = np.abs(np.diagonal(factored)[: max(int(rank), 1)])
    condition = float(diagonal.max() / diagonal.min()) if diagonal.min() > 0 else np.inf
    residual = float(np.linalg.norm(problem.residuals(coefficients))) / (problem.scale or 1.0)
    return Fit(coefficients, int(rank) + known, condition, residual)


def _reflector(unit: FloatArray) -> FloatArray:
    """u with H = I - u u' and H q = -+e_1; the sign avoids cancellation."""
    vector = unit.copy()
    vector[0] += np.copysign(1.0, unit[0])
    return np.asarray(vector * (np.sqrt(2.0) / np.linalg.norm(vector)))


def _reflect(rows: FloatArray, reflector: FloatArray) -> FloatArray:
    return rows - np.outer(rows @ reflector, reflector)
