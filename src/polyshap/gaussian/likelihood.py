"""Learning the prior from the sample: marginal likelihood of the odd and the even part, with its gradient.

theta = (log a1, log a_c ..., log delta, log of the common relevance, one deviation a player and, where there
are enough pairs, one more for each player and component). With
alpha = K^-1 y and M = (alpha alpha' - K^-1) / 2 the derivative of the log likelihood is sum(M * dK/dtheta);
for the relevances it needs diag(S' Q S) only, one product of size n x n x d.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from polyshap._types import FloatArray
from polyshap.gaussian.kernel import CONSTANT_VARIANCE, Parameters, hyperbolic

__all__ = ["Hyperprior", "Learned", "bounds", "improve", "learn", "objective", "unpack"]

_BOUND = 14.0
_LEAST_NUGGET = -22.0  # log; trees leave nothing unexplained but rounding once most coalitions are seen
_MEMORY = 30  # steps that L-BFGS learns the curvature from; with 10 it took a fifth more of them
_JITTER = 1e-12  # relative; the row of the grand coalition has no delta of its own
_FAILED = 1e12  # objective where a matrix is not positive definite: a line search turns back


@dataclass(frozen=True)
class Hyperprior:
    """Gaussian log-priors (mean, standard deviation) of theta, and the effort spent on it.

    Attributes
    ----------
    linear, smooth, nugget : pairs of mean and standard deviation
        Of log a1, of each log a_c and of log delta.
    common : tuple
        The mean of the log of the common relevance is log(common[0] / n_players).
    deviation : float
        Standard deviation of a player's own log relevance.
    scales : tuple of float
        z_c of the smooth components.
    ratio_deviation : float, optional
        Standard deviation of the log ratios of a player's relevances between components; None ties them.
    n_rows, n_iterations, n_more_iterations : int
        Pairs looked at at most, and steps of `learn` and of `improve`.
    n_few, first_share : int, float
        Of more pairs than `n_few`, `learn` looks at a share only.
    """

    linear: tuple[float, float] = (0.0, 3.0)
    smooth: tuple[tuple[float, float], ...] = ((-1.0, 3.0), (-3.0, 3.0), (-5.0, 3.0))
    nugget: tuple[float, float] = (-8.0, 4.0)
    common: tuple[float, float] = (1.5, 2.0)
    deviation: float = 1.0
    scales: tuple[float, ...] = (0.5, 2.0, 8.0)
    ratio_deviation: float | None = None
    n_rows: int = 600
    n_iterations: int = 40
    n_more_iterations: int = 15
    n_few: int = 330
    first_share: float = 0.6

    def moments(self, n_players: int) -> tuple[FloatArray, FloatArray]:
        """Means and standard deviations of theta."""
        common = (float(np.log(self.common[0] / n_players)), self.common[1])
        head = np.array([self.linear, *self.smooth, self.nugget, common])
        n_ratios = 0 if self.ratio_deviation is None else (1 + len(self.scales)) * n_players
        mean = np.concatenate([head[:, 0], np.zeros(n_players + n_ratios)])
        own = np.full(n_players, self.deviation), np.full(n_ratios, self.ratio_deviation or 0.0)
        return mean, np.concatenate([head[:, 1], *own])


@dataclass(frozen=True, eq=False)
class Learned:
    """The most likely parameters and how they were found."""

    theta: FloatArray
    parameters: Parameters
    log_likelihood: float
    n_iterations: int


def unpack(theta: FloatArray, n_players: int, scales: tuple[float, ...]) -> Parameters:
    """theta -> parameters."""
    n_head = len(scales) + 3
    head = np.exp(theta[:n_head])
    relevances = head[-1] * np.exp(theta[n_head : n_head + n_players])
    ratios = np.exp(theta[n_head + n_players :]).reshape(-1, n_players)
    return Parameters(
        float(head[0]),
        head[1:-2],
        float(head[-2]),
        relevances,
        np.asarray(scales),
        ratios=ratios if len(ratios) else None,
    )


def bounds(n_players: int, hyperprior: Hyperprior) -> tuple[FloatArray, FloatArray]:
    """The box that theta is searched in."""
    n_parameters = len(hyperprior.moments(n_players)[0])
    lower, upper = np.full(n_parameters, -_BOUND), np.full(n_parameters, _BOUND)
    n_head = len(hyperprior.scales) + 3
    lower[n_head - 2] = _LEAST_NUGGET
    lower[n_head:], upper[n_head:] = -8.0, 6.0
    return lower, upper


def learn(rows: FloatArray, odd: FloatArray, even: FloatArray, hyperprior: Hyperprior) -> Learned:
    """Most likely parameters for sign rows (n + 1, d), the grand coalition last.

    `odd` and `even` (n + 1, k) have unit scale; several columns share the parameters. Of many rows a random
    subset is looked at: `improve` looks at more of them.
    """
    n_rows = min(len(rows) - 1, hyperprior.n_rows)
    if n_rows > hyperprior.n_few:
        n_rows = round(hyperprior.first_share * n_rows)
    data = _subset(rows, odd, even, None, n_rows)
    return _ascend(hyperprior.moments(rows.shape[1])[0], data, hyperprior, hyperprior.n_iterations)


def improve(
    learned: Learned,
    rows: FloatArray,
    odd: FloatArray,
    even: FloatArray,
    hyperprior: Hyperprior,
    terms: FloatArray | None = None,
) -> Learned:
    """A few more steps from what `learn` found, on more rows and beside terms with variances of their own.

    `terms` (n + 1, n_terms) are the columns of those terms, times their prior standard deviations.
    """
    data = _subset(rows, odd, even, terms, min(len(rows) - 1, hyperprior.n_rows))
    found = _ascend(learned.theta, data, hyperprior, hyperprior.n_more_iterations)
    return replace(found, n_iterations=learned.n_iterations + found.n_iterations)


class _Data(NamedTuple):
    """What `objective` is a function of, beside the parameters."""

    rows: FloatArray
    odd: FloatArray
    even: FloatArray
    terms: FloatArray | None


def _subset(
    rows: FloatArray, odd: FloatArray, even: FloatArray, terms: FloatArray | None, n_rows: int
) -> _Data:
    """So many random rows, and the last: of fewer rows, a subset of those of more."""
    order = np.random.default_rng(0).permutation(len(rows) - 1)
    chosen = np.append(np.sort(order[:n_rows]), len(rows) - 1)
    return _Data(rows[chosen], odd[chosen], even[chosen], None if terms is None else terms[chosen])


def _ascend(theta: FloatArray, data: _Data, hyperprior: Hyperprior, n_steps: int) -> Learned:
    from scipy.optimize import minimize  # a tenth of a second that `import polyshap` need not take

    n_players = data.rows.shape[1]
    mean, deviation = hyperprior.moments(n_players)
    result = minimize(
        partial(objective, **data._asdict(), hyperprior=hyperprior),
        theta,
        jac=True,
        method="L-BFGS-B",
        bounds=np.stack(bounds(n_players, hyperprior), axis=1),
        options={"maxiter": n_steps, "maxcor": _MEMORY},
    )
    penalty = 0.5 * float((((result.x - mean) / deviation) ** 2).sum())
    parameters = unpack(result.x, n_players, hyperprior.scales)
    return Learned(result.x, parameters, penalty - float(result.fun), int(result.nit))


def objective(
    theta: FloatArray,
    *,
    rows: FloatArray,
    odd: FloatArray,
    even: FloatArray,
    hyperprior: Hyperprior,
    terms: FloatArray | None = None,
) -> tuple[float, FloatArray]:
    """Negative log posterior of theta, up to a constant, and its gradient."""
    n_players = rows.shape[1]
    p = unpack(theta, n_players, hyperprior.scales)
    mean, deviation = hyperprior.moments(n_players)
    upper = _upper_triangle(len(rows))
    b = upper.of((rows * p.linear_shares) @ rows.T)
    pairs = [hyperbolic(inner, total) for inner, total in _inner_products(rows, b, p, upper)]

    odd_entries, even_entries = b * p.linear, np.full(len(b), CONSTANT_VARIANCE)
    if terms is not None:
        odd_entries += upper.of(terms @ terms.T)
    for amplitude, (sinh, cosh) in zip(p.smooth.tolist(), pairs, strict=True):
        odd_entries += amplitude * sinh
        even_entries += amplitude * cosh
    for entries in (odd_entries, even_entries):
        entries[upper.diagonal[:-1]] += p.nugget  # the grand coalition has no delta
    odd_fit, even_fit = _evidence(odd_entries, odd, upper), _evidence(even_entries, even, upper)
    if odd_fit is None or even_fit is None:
        return _FAILED, np.zeros(len(theta))
    (odd_loss, M_odd), (even_loss, M_even) = odd_fit, even_fit

    n_head = len(p.scales) + 3
    gradient = np.zeros(len(theta))
    slope = float(M_odd @ b)
    gradient[0] = p.linear * slope
    # one row a component: dL / d log of its relevances
    slopes = [p.linear * p.linear_shares * (upper.quadratic(M_odd, rows) - slope)]
    for index, ((amplitude, w), (sinh, cosh)) in enumerate(zip(p.components, pairs, strict=True)):
        inner = float(M_odd @ sinh + M_even @ cosh)
        gradient[1 + index] = amplitude * inner
        cosh *= M_odd
        sinh *= M_even
        cosh += sinh  # Q of the module docstring
        slopes.append(amplitude * w * (upper.quadratic(cosh, rows) - inner / np.tanh(w.sum())))
    diagonal = upper.diagonal[:-1]
    gradient[n_head - 2] = p.nugget * (M_odd[diagonal].sum() + M_even[diagonal].sum())
    together = np.sum(slopes, axis=0)
    gradient[n_head - 1] = together.sum()
    gradient[n_head : n_head + n_players] = together
    if p.ratios is not None:
        gradient[n_head + n_players :] = np.concatenate(slopes)

    standard = (theta - mean) / deviation
    loss = odd_loss + even_loss + 0.5 * float(standard @ standard)
    return loss, standard / deviation - gradient


@dataclass(frozen=True, eq=False)
class _UpperTriangle:
    """Where the upper triangle of an n x n matrix lies: symmetric matrices are kept as its entries alone."""

    n: int
    flat: NDArray[np.intp]
    diagonal: NDArray[np.intp]

    def of(self, matrix: FloatArray) -> FloatArray:
        return matrix.ravel()[self.flat]

    def fill(self, entries: FloatArray) -> FloatArray:
        """The n x n matrix with these entries, zero below the diagonal."""
        matrix = np.zeros((self.n, self.n))
        matrix.ravel()[self.flat] = entries
        return matrix

    def quadratic(self, entries: FloatArray, rows: FloatArray) -> FloatArray:
        """diag(S' Q S) for Q whose entries beside the diagonal are counted twice already."""
        return np.asarray(np.einsum("ji,ji->i", self.fill(entries) @ rows, rows))


@lru_cache(maxsize=4)
def _upper_triangle(n: int) -> _UpperTriangle:
    first, second = np.triu_indices(n)
    flat = first * n + second
    return _UpperTriangle(n, flat, np.flatnonzero(first == second))


def _inner_products(
    rows: FloatArray, b: FloatArray, parameters: Parameters, upper: _UpperTriangle
) -> Iterator[tuple[FloatArray, float]]:
    """sum_i w_i s_i s'_i and its bound for each smooth component; b is that of the linear shares."""
    for _, w in parameters.components:
        total = float(w.sum())
        yield (total * b if parameters.ratios is None else upper.of((rows * w) @ rows.T)), total


def _evidence(
    entries: FloatArray, values: FloatArray, upper: _UpperTriangle
) -> tuple[float, FloatArray] | None:
    """Negative log likelihood of the columns of `values`, and M; None where the matrix is not definite.

    The entries of M beside the diagonal are doubled, so that a sum over them is one over the whole matrix.
    """
    n_outputs = values.shape[1]
    entries[upper.diagonal] += _JITTER * entries[upper.diagonal].max()
    # transposed, the upper triangle is the lower one of LAPACK
    factor, failed = lapack.dpotrf(upper.fill(entries).T, lower=1, clean=0, overwrite_a=1)
    if failed:
        return None
    alpha, _ = lapack.dpotrs(factor, values, lower=1)
    log_determinant = 2 * float(np.log(np.diagonal(factor)).sum())
    loss = 0.5 * float(np.vdot(values, alpha)) + 0.5 * n_outputs * log_determinant
    inverse, _ = lapack.dpotri(factor, lower=1, overwrite_c=1)
    M = upper.of(alpha @ alpha.T)
    M -= n_outputs * upper.of(inverse.T)
    M[upper.diagonal] /= 2
    return loss, M
