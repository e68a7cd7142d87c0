"""The dense factorisation on an accelerator, through PyTorch: the same numbers in double precision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from polyshap._types import FloatArray
from polyshap.errors import ArgumentError, MemoryNeededError, optional_import
from polyshap.gaussian.kernel import Parameters, term_columns
from polyshap.gaussian.linear import JITTER, TRIES

__all__ = ["DeviceFactor", "factorise_on"]

_BLOCK = 1 << 27  # elements of a block of the covariance: 1 GiB and three temporaries


@dataclass(frozen=True, eq=False)
class DeviceFactor:
    """The lower Cholesky factor of a covariance, kept on its device."""

    lower: Any  # torch.Tensor (n, n)

    def solve(self, right: FloatArray) -> FloatArray:
        """K^-1 right: (n, k) -> (n, k)."""
        torch = _torch()
        return _to_host(torch.cholesky_solve(self._sent(right), self.lower))

    def whiten(self, right: FloatArray) -> FloatArray:
        """L^-1 right: (n, k) -> (n, k)."""
        torch = _torch()
        return _to_host(torch.linalg.solve_triangular(self.lower, self._sent(right), upper=False))

    def _sent(self, right: FloatArray) -> Any:
        return _torch().as_tensor(np.ascontiguousarray(right), device=self.lower.device)


def factorise_on(device: str, rows: FloatArray, parameters: Parameters) -> DeviceFactor:
    """Covariance of sign rows (n + 1, n_players), the grand coalition last, and its factor, on `device`."""
    torch = _torch()
    try:
        place = torch.device(device)
        torch.empty(1, device=place)
    except (RuntimeError, AssertionError) as error:
        raise ArgumentError(
            f"`device` must be a device that PyTorch can use here. Got {device!r}: {error}"
        ) from error
    try:
        matrix = _covariance(torch, place, rows, parameters)
        diagonal = matrix.diagonal()
        jitter, added = JITTER * float(diagonal.max()), 0.0
        for attempt in range(TRIES):
            diagonal += jitter * 10.0**attempt - added
            added = jitter * 10.0**attempt
            lower, failed = torch.linalg.cholesky_ex(matrix)
            if not int(failed):
                return DeviceFactor(lower)
    except torch.OutOfMemoryError as error:
        needed = 2 * 8 * len(rows) ** 2 / 2**30
        raise MemoryNeededError(
            f"The covariance of {len(rows):,} pairs and its factor need {needed:.1f} GiB on {device!r}, "
            "which are not there. Lower `budget`, or leave `device` out."
        ) from error
    raise np.linalg.LinAlgError("The covariance of the observations is not positive definite.")


def _covariance(torch: Any, place: Any, rows: FloatArray, parameters: Parameters) -> Any:
    """As `posterior.covariance`, block by block, so that temporaries stay small beside the matrix."""
    p = parameters
    signs = torch.as_tensor(np.ascontiguousarray(rows), device=place)
    linear = _weighted(torch, signs, p.linear * p.linear_shares)
    smooth = [(amplitude, float(w.sum()), _weighted(torch, signs, w)) for amplitude, w in p.components]
    n_rows = len(rows)
    matrix = torch.empty((n_rows, n_rows), dtype=torch.float64, device=place)
    block = max(1, _BLOCK // n_rows)
    for begin in range(0, n_rows, block):
        kernel = matrix[begin : begin + block]
        torch.matmul(linear[begin : begin + block], signs.T, out=kernel)
        for amplitude, total, weighted in smooth:
            inner = weighted[begin : begin + block] @ signs.T
            size = amplitude / -np.expm1(-2 * total)
            kernel += size * torch.exp(inner - total)
            kernel -= size * torch.exp(-total - inner)
    if p.term_variances is not None:
        columns = torch.as_tensor(term_columns(rows, p.terms), device=place)
        variances = torch.as_tensor(np.ascontiguousarray(p.term_variances), device=place)
        matrix.addmm_(columns * variances, columns.T)
    matrix.diagonal()[:-1] += p.nugget
    return matrix


def _weighted(torch: Any, signs: Any, weights: FloatArray) -> Any:
    return signs * torch.as_tensor(np.ascontiguousarray(weights), device=signs.device)


def _to_host(tensor: Any) -> FloatArray:
    return np.asarray(tensor.cpu().numpy(), dtype=float)


def _torch() -> Any:
    return optional_import("torch", extra="torch", purpose="`device`")
