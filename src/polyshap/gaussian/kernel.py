"""The prior of the adaptive estimator: every interaction of every order, seen only through a kernel.

With s = +1 for a present and -1 for an absent player, b = sum_i w_i s_i s'_i and W = sum_i w_i,

    cov(u(s), u(s')) = a1 b / W + sum_c a_c sinh(z_c b) / sinh(z_c W) + delta [s = s']        (odd part)
    cov(e(s), e(s')) = a0       + sum_c a_c cosh(z_c b) / sinh(z_c W) + delta [s = s']        (even part)

exp(b) = prod_i (cosh w_i + s_i s'_i sinh w_i), so the Fourier coefficient of a set T has a prior variance
proportional to prod_{i in T} tanh(z_c w_i): w_i is the relevance of player i. Three scales z_c run from
nearly linear to almost white in the players that matter: unlike delta, the last knows which players do not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from polyshap._types import FloatArray

__all__ = ["CONSTANT_VARIANCE", "Parameters", "even_kernel", "hyperbolic", "odd_from_inner", "odd_kernel"]

# The even part is known up to a constant only; values have unit root mean square, so 100 is "unknown".
CONSTANT_VARIANCE = 100.0


@dataclass(frozen=True, eq=False)
class Parameters:
    """What the prior needs to know, for values of unit scale.

    Attributes
    ----------
    linear : float
        a1, the extra variance of order 1.
    smooth : ndarray, shape (n_scales,)
        a_c, the variance of the interactions at each scale.
    nugget : float
        delta, the variance of what no smooth term explains.
    relevances : ndarray, shape (n_players,)
        w, how much each player matters.
    scales : ndarray, shape (n_scales,)
        z_c, how slowly orders decay: small is nearly linear, large reaches high orders.
    terms : tuple of tuples of int
        Odd sets of players whose coefficient has a variance of its own, on top of the kernel's.
    term_variances : ndarray, shape (n_terms,)
    ratios : ndarray, shape (1 + n_scales, n_players), optional
        What the relevances are multiplied with in the linear and in each smooth component; by default 1.
    """

    linear: float
    smooth: FloatArray
    nugget: float
    relevances: FloatArray
    scales: FloatArray
    terms: tuple[tuple[int, ...], ...] = ()
    term_variances: FloatArray | None = None
    ratios: FloatArray | None = None

    @property
    def n_players(self) -> int:
        return len(self.relevances)

    @property
    def total_relevance(self) -> float:
        """W."""
        return float(self.relevances.sum())

    @property
    def linear_shares(self) -> FloatArray:
        """w_i / W of the linear component."""
        w = self.relevances if self.ratios is None else self.relevances * self.ratios[0]
        return np.asarray(w / w.sum())

    @property
    def components(self) -> Iterator[tuple[float, FloatArray]]:
        """Amplitude a_c and relevances z_c w of each smooth component."""
        for index, (amplitude, scale) in enumerate(zip(self.smooth.tolist(), self.scales, strict=True)):
            own = 1.0 if self.ratios is None else self.ratios[1 + index]
            yield amplitude, scale * own * self.relevances

    @property
    def variance(self) -> float:
        """Prior variance of u at any coalition, the delta part included."""
        own = 0.0 if self.term_variances is None else float(self.term_variances.sum())
        return float(self.linear + self.smooth.sum() + self.nugget + own)

    @property
    def effective_order(self) -> float:
        """Mean order of the odd terms, weighted by their prior variance; the delta part is left out."""
        orders, weights = [1.0, *(float(len(term)) for term in self.terms)], [self.linear]
        weights += [] if self.term_variances is None else self.term_variances.tolist()
        for amplitude, w in self.components:
            # sum |T| t_T / sum t_T over odd T, with t / (1 + t) = (1 - exp(-2 w)) / 2 and so on: no overflow
            total = float(w.sum())
            mass = (1 - np.exp(-2 * w) + np.exp(2 * (w - total)) - np.exp(-2 * total)) / 2
            orders.append(float(mass.sum()) / -float(np.expm1(-2 * total)))
            weights.append(amplitude)
        return float(np.average(orders, weights=weights))


def hyperbolic(b: FloatArray, total: float) -> tuple[FloatArray, FloatArray]:
    """sinh(b) / sinh(W) and cosh(b) / sinh(W) for |b| <= W, without overflow."""
    up, down = np.exp(b - total), np.exp(-total - b)
    scale = -np.expm1(-2 * total)
    up /= scale
    down /= scale
    return up - down, up + down


def odd_from_inner(b: FloatArray, parameters: Parameters) -> FloatArray:
    """The smooth odd kernel as a function of b alone, where all components share their relevances."""
    total = parameters.total_relevance
    kernel = b * (parameters.linear / total)
    for amplitude, scale in zip(parameters.smooth.tolist(), parameters.scales.tolist(), strict=True):
        kernel += _scaled_sinh(scale * b, scale * total, amplitude)
    return np.asarray(kernel)


def odd_kernel(left: FloatArray, right: FloatArray, parameters: Parameters) -> FloatArray:
    """Prior covariance of u without the delta term, sign rows (n, d) and (m, d) -> (n, m)."""
    p = parameters
    if p.ratios is None:
        kernel = odd_from_inner((left * p.relevances) @ right.T, p)
    else:
        kernel = (left * (p.linear * p.linear_shares)) @ right.T
        for amplitude, w in p.components:
            kernel += _scaled_sinh((left * w) @ right.T, float(w.sum()), amplitude)
    if p.term_variances is not None:
        kernel += (term_columns(left, p.terms) * p.term_variances) @ term_columns(right, p.terms).T
    return kernel


def even_kernel(left: FloatArray, right: FloatArray, parameters: Parameters) -> FloatArray:
    """Prior covariance of e without the delta term, sign rows (n, d) and (m, d) -> (n, m)."""
    kernel = np.full((len(left), len(right)), CONSTANT_VARIANCE)
    for amplitude, w in parameters.components:
        kernel += amplitude * hyperbolic((left * w) @ right.T, float(w.sum()))[1]
    return kernel


def _scaled_sinh(b: FloatArray, total: float, amplitude: float) -> FloatArray:
    """amplitude sinh(b) / sinh(W)."""
    scale = amplitude / -np.expm1(-2 * total)
    return np.asarray(scale * (np.exp(b - total) - np.exp(-total - b)))


def term_columns(rows: FloatArray, terms: tuple[tuple[int, ...], ...]) -> FloatArray:
    """prod_{i in T} s_i for each term: (n, d) -> (n, n_terms)."""
    columns = np.empty((len(rows), len(terms)))
    for index, term in enumerate(terms):
        columns[:, index] = rows[:, list(term)].prod(axis=1)
    return columns
