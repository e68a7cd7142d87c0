"""The posterior of one prior and one sample: factorised once, solved for any number of value columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from polyshap._types import FloatArray
from polyshap.gaussian.kernel import Parameters, odd_kernel
from polyshap.gaussian.sections import delta_sections, delta_variance, prior_variance, smooth_sections

__all__ = ["Posterior", "posterior"]

_BLOCK = 1 << 22
_JITTER = 1e-13


@dataclass(frozen=True, eq=False)
class Posterior:
    """Factorised odd part: rows are half of the sample with the grand coalition last."""

    parameters: Parameters
    signs: FloatArray  # (n + 1, d)
    factor: FloatArray  # lower Cholesky factor
    sections: FloatArray  # cov(phi, u), (n + 1, d)
    variance: FloatArray  # posterior variance of phi for unit scale, (d,)

    def solve(self, odd: FloatArray) -> FloatArray:
        """alpha = K^-1 u, (n + 1, k)."""
        return np.asarray(lapack.dpotrs(self.factor, odd, lower=1)[0])

    def values(self, alpha: FloatArray) -> FloatArray:
        """Posterior means of the Shapley values, (d, k)."""
        return self.sections.T @ alpha


def posterior(signs: FloatArray, parameters: Parameters) -> Posterior:
    """Condition the prior on sign rows (n + 1, d), the grand coalition last."""
    matrix = _matrix(signs, parameters)
    diagonal = np.einsum("ii->i", matrix)
    diagonal[:-1] += parameters.nugget
    diagonal += _JITTER * diagonal.max()
    factor, failed = lapack.dpotrf(matrix.T, lower=1, clean=0, overwrite_a=1)
    if failed:
        raise np.linalg.LinAlgError("covariance of the observations is not positive definite")
    sections = smooth_sections(signs, parameters)
    sections[:-1] += parameters.nugget * delta_sections(signs[:-1])
    whitened, _ = lapack.dtrtrs(factor, sections, lower=1)
    prior = prior_variance(parameters) + parameters.nugget * delta_variance(signs.shape[1])
    variance = np.maximum(prior - np.einsum("ji,ji->i", whitened, whitened), 0.0)
    return Posterior(parameters, signs, factor, sections, variance)


def _matrix(signs: FloatArray, parameters: Parameters) -> FloatArray:
    """The smooth covariance in row blocks: no second n x n array."""
    n = len(signs)
    matrix = np.zeros((n, n))
    block = max(1, _BLOCK // n)
    for begin in range(0, n, block):
        end = min(begin + block, n)
        # the upper triangle of rows, which LAPACK reads as the lower one of columns
        matrix[begin:end, begin:] = odd_kernel(signs[begin:end], signs[begin:], parameters)
    return matrix
