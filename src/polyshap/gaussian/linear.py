"""The one dense factorisation: Cholesky, in place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.linalg import lapack

from polyshap._types import FloatArray

__all__ = ["JITTER", "TRIES", "Factor", "Solver", "factorise"]

# Relative to the largest variance; raised tenfold until the factorisation succeeds.
JITTER = 1e-13
TRIES = 5


class Solver(Protocol):
    """A factorised covariance, wherever it lies."""

    def solve(self, right: FloatArray) -> FloatArray: ...

    def whiten(self, right: FloatArray) -> FloatArray: ...


@dataclass(frozen=True, eq=False)
class Factor:
    """The lower Cholesky factor of a covariance."""

    lower: FloatArray

    def solve(self, right: FloatArray) -> FloatArray:
        """K^-1 right: (n, k) -> (n, k)."""
        return np.asarray(lapack.dpotrs(self.lower, right, lower=1)[0])

    def whiten(self, right: FloatArray) -> FloatArray:
        """L^-1 right: (n, k) -> (n, k)."""
        return np.asarray(lapack.dtrtrs(self.lower, right, lower=1)[0])


def factorise(matrix: FloatArray) -> Factor:
    """Factorise a symmetric covariance, overwriting it: no second n x n array."""
    diagonal = np.einsum("ii->i", matrix)
    saved = diagonal.copy()
    jitter = JITTER * float(saved.max())
    for attempt in range(TRIES):
        np.copyto(diagonal, saved + jitter * 10.0**attempt)
        lower, failed = lapack.dpotrf(matrix.T, lower=1, clean=0, overwrite_a=1)
        if not failed:
            return Factor(lower)
        for row in range(1, len(matrix)):  # the failed attempt destroyed one triangle; the other is untouched
            matrix[:row, row] = matrix[row, :row]
    raise np.linalg.LinAlgError("The covariance of the observations is not positive definite.")
