"""Learning the prior from the sample: marginal likelihood of the odd and the even part, with its gradient.

theta = (log a1, log a_c ..., log delta, log of the common relevance, one deviation a player and, where there
are enough pairs, one more for each player and component). With
alpha = K^-1 y and M = (alpha alpha' - K^-1) / 2 the derivative of the log likelihood is sum(M * dK/dtheta);
for the relevances it needs diag(S' Q S) only, one product of size n x n x d.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from polyshap._types import FloatArray
from polyshap.gaussian.kernel import CONSTANT_VARIANCE, Parameters, hyperbolic

__all__ = ["Hyperprior", "Learned", "bounds", "learn", "objective", "unpack"]

_BOUND = 14.0
_LEAST_NUGGET = -22.0  # log; trees leave nothing unexplained but rounding once most coalitions are seen
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
    n_rows, n_iterations : int
        Pairs looked at and steps at most; 600 pairs and 30 steps were enough.
    n_coarse : int
        Above this many pairs, most steps are made on so many of them first.
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
    n_coarse: int = 220

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


def learn(
    rows: FloatArray,
    odd: FloatArray,
    even: FloatArray,
    hyperprior: Hyperprior,
    *,
    start: FloatArray | None = None,
) -> Learned:
    """Most likely parameters for sign rows (n + 1, d), the grand coalition last.

    `odd` and `even` (n + 1, k) have unit scale; several columns share the parameters. Of many rows a random
    subset is looked at, a smaller one first: it brings the search near the optimum at an eighth of the cost.
    """
    n_half = len(rows) - 1
    order = np.random.default_rng(0).permutation(n_half)
    theta = hyperprior.moments(rows.shape[1])[0] if start is None else start
    n_rows = min(n_half, hyperprior.n_rows)
    n_steps = [hyperprior.n_iterations]
    sizes = [n_rows]
    if start is None and n_rows > 1.5 * hyperprior.n_coarse:
        sizes = [hyperprior.n_coarse, n_rows]
        n_steps = [hyperprior.n_iterations, hyperprior.n_iterations // 5]
    done = 0
    for size, steps in zip(sizes, n_steps, strict=True):
        subset = np.append(np.sort(order[:size]), n_half)
        found = _ascend(theta, rows[subset], odd[subset], even[subset], hyperprior, steps)
        theta, done = found.theta, done + found.n_iterations
    return replace(found, n_iterations=done)


def _ascend(
    theta: FloatArray,
    rows: FloatArray,
    odd: FloatArray,
    even: FloatArray,
    hyperprior: Hyperprior,
    n_steps: int,
) -> Learned:
    from scipy.optimize import minimize  # a tenth of a second that `import polyshap` need not take

    n_players = rows.shape[1]
    mean, deviation = hyperprior.moments(n_players)
    result = minimize(
        partial(objective, rows=rows, odd=odd, even=even, hyperprior=hyperprior),
        theta,
        jac=True,
        method="L-BFGS-B",
        bounds=np.stack(bounds(n_players, hyperprior), axis=1),
        options={"maxiter": n_steps},
    )
    penalty = 0.5 * float((((result.x - mean) / deviation) ** 2).sum())
    parameters = unpack(result.x, n_players, hyperprior.scales)
    return Learned(result.x, parameters, penalty - float(result.fun), int(result.nit))


def objective(
    theta: FloatArray, *, rows: FloatArray, odd: FloatArray, even: FloatArray, hyperprior: Hyperprior
) -> tuple[float, FloatArray]:
    """Negative log posterior of theta, up to a constant, and its gradient."""
    n_players = rows.shape[1]
    p = unpack(theta, n_players, hyperprior.scales)
    mean, deviation = hyperprior.moments(n_players)
    b = (rows * p.linear_shares) @ rows.T
    pairs = [hyperbolic(inner, total) for inner, total in _inner_products(rows, b, p)]

    odd_matrix = b * p.linear
    even_matrix = np.full(b.shape, CONSTANT_VARIANCE)
    for amplitude, (sinh, cosh) in zip(p.smooth, pairs, strict=True):
        odd_matrix += amplitude * sinh
        even_matrix += amplitude * cosh
    for matrix in (odd_matrix, even_matrix):
        np.einsum("ii->i", matrix)[:-1] += p.nugget  # the grand coalition has no delta
    odd_fit, even_fit = _evidence(odd_matrix, odd), _evidence(even_matrix, even)
    if odd_fit is None or even_fit is None:
        return _FAILED, np.zeros(len(theta))
    (odd_loss, M_odd), (even_loss, M_even) = odd_fit, even_fit

    n_head = len(p.scales) + 3
    gradient = np.zeros(len(theta))
    slope = float(np.vdot(M_odd, b))
    gradient[0] = p.linear * slope
    # one row a component: dL / d log of its relevances
    slopes = [p.linear * p.linear_shares * (_diagonal(M_odd, rows) - slope)]
    for index, ((amplitude, w), (sinh, cosh)) in enumerate(zip(p.components, pairs, strict=True)):
        inner = float(np.vdot(M_odd, sinh) + np.vdot(M_even, cosh))
        gradient[1 + index] = amplitude * inner
        cosh *= M_odd
        sinh *= M_even
        cosh += sinh  # Q of the module docstring
        slopes.append(amplitude * w * (_diagonal(cosh, rows) - inner / np.tanh(w.sum())))
    gradient[n_head - 2] = p.nugget * (np.trace(M_odd[:-1, :-1]) + np.trace(M_even[:-1, :-1]))
    together = np.sum(slopes, axis=0)
    gradient[n_head - 1] = together.sum()
    gradient[n_head : n_head + n_players] = together
    if p.ratios is not None:
        gradient[n_head + n_players :] = np.concatenate(slopes)

    standard = (theta - mean) / deviation
    loss = odd_loss + even_loss + 0.5 * float(standard @ standard)
    return loss, standard / deviation - gradient


def _inner_products(
    rows: FloatArray, b: FloatArray, parameters: Parameters
) -> Iterator[tuple[FloatArray, float]]:
    """sum_i w_i s_i s'_i and its bound for each smooth component; b is that of the linear shares."""
    for _, w in parameters.components:
        total = float(w.sum())
        yield (total * b if parameters.ratios is None else (rows * w) @ rows.T), total


def _diagonal(Q: FloatArray, rows: FloatArray) -> FloatArray:
    """diag(S' Q S)."""
    return np.asarray(np.einsum("ji,ji->i", Q @ rows, rows))


def _evidence(matrix: FloatArray, values: FloatArray) -> tuple[float, NDArray[np.float64]] | None:
    """Negative log likelihood of the columns of `values`, and M; None where the matrix is not definite."""
    n_outputs = values.shape[1]
    diagonal = np.einsum("ii->i", matrix)
    diagonal += _JITTER * diagonal.max()
    factor, failed = lapack.dpotrf(matrix.T, lower=1, clean=1, overwrite_a=1)
    if failed:
        return None
    alpha, _ = lapack.dpotrs(factor, values, lower=1)
    log_determinant = 2 * float(np.log(np.diagonal(factor)).sum())
    loss = 0.5 * float(np.vdot(values, alpha)) + 0.5 * n_outputs * log_determinant
    inverse, _ = lapack.dpotri(factor, lower=1, overwrite_c=1)
    M = inverse + inverse.T  # the triangle is doubled on the diagonal
    np.einsum("ii->i", M)[:] /= 2
    M *= -n_outputs / 2
    M += 0.5 * (alpha @ alpha.T)
    return loss, M
