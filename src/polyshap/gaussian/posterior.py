"""The posterior of one prior and one sample: factorised once, solved for any number of value columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from polyshap._types import FloatArray
from polyshap.gaussian.device import factorise_on
from polyshap.gaussian.kernel import Parameters, odd_kernel
from polyshap.gaussian.linear import Solver, factorise
from polyshap.gaussian.sections import delta_sections, delta_variance, prior_variance, smooth_sections

__all__ = ["Posterior", "covariance", "posterior"]

_BLOCK = 1 << 21  # elements of a block of the covariance: 16 MiB and a few temporaries


@dataclass(frozen=True, eq=False)
class Posterior:
    """The odd part conditioned on half of the sample, the grand coalition last.

    Attributes
    ----------
    parameters : Parameters
    rows : ndarray, shape (n + 1, n_players)
        Signs of the observed coalitions.
    factor : Solver
        Of their covariance.
    sections : ndarray, shape (n + 1, n_players)
        cov(phi_i, u(s_j)), the delta part included.
    variance : ndarray, shape (n_players,)
        Posterior variance of the Shapley values, for values of unit scale.
    """

    parameters: Parameters
    rows: FloatArray
    factor: Solver
    sections: FloatArray
    variance: FloatArray

    def solve(self, odd: FloatArray) -> FloatArray:
        """alpha = K^-1 u, (n + 1, k)."""
        return self.factor.solve(odd)

    def values(self, alpha: FloatArray) -> FloatArray:
        """Posterior means of the Shapley values, (n_players, k)."""
        return self.sections.T @ alpha


def posterior(
    rows: FloatArray, parameters: Parameters, *, device: str | None = None, variances: bool = True
) -> Posterior:
    """Condition the prior on sign rows (n + 1, n_players), the grand coalition last.

    `device` names an accelerator of PyTorch where the covariance is formed and factorised. Without
    `variances` they are NaN, which spares the solve for as many columns as there are players.
    """
    if device is None:
        factor: Solver = factorise(covariance(rows, parameters))
    else:
        factor = factorise_on(device, rows, parameters)
    sections = smooth_sections(rows, parameters)
    sections[:-1] += parameters.nugget * delta_sections(rows[:-1])
    if not variances:
        return Posterior(parameters, rows, factor, sections, np.full(rows.shape[1], np.nan))
    whitened = factor.whiten(sections)
    prior = prior_variance(parameters) + parameters.nugget * delta_variance(rows.shape[1])
    variance = np.maximum(prior - np.einsum("ji,ji->i", whitened, whitened), 0.0)
    return Posterior(parameters, rows, factor, sections, variance)


def covariance(rows: FloatArray, parameters: Parameters) -> FloatArray:
    """The covariance of the observations, in blocks: the grand coalition, last, has no delta."""
    n_rows = len(rows)
    matrix = np.empty((n_rows, n_rows))
    block = max(1, _BLOCK // n_rows)
    for begin in range(0, n_rows, block):
        end = min(begin + block, n_rows)
        matrix[begin:end, begin:] = odd_kernel(rows[begin:end], rows[begin:], parameters)
        matrix[end:, begin:end] = matrix[begin:end, end:].T
    np.einsum("ii->i", matrix)[:-1] += parameters.nugget
    return matrix
