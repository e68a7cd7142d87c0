"""Synthetic games whose values come from Owen's multilinear extension: products and weighted votes.

With every player present with probability p, independently of the others, phi_i is the integral over
p in [0, 1] of the expected marginal contribution of player i (Owen, 1972): a polynomial of degree n - 1
in p, which Gauss-Legendre quadrature with ceil(n/2) nodes integrates exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polyshap._types import BoolMatrix, FloatArray
from polyshap.errors import ArgumentError
from polyshap.games.synthetic import vector

__all__ = ["ProductGame", "WeightedVotingGame"]

# Elements of the largest array inside a block: 64 MiB of complex128.
_BLOCK = 1 << 22

_Number = TypeVar("_Number", np.float64, np.complex128)


@dataclass(frozen=True, eq=False)
class ProductGame:
    """v(S) = product of `present` over S times the product of `absent` over the others.

    With each player present with probability p independently of the others, Owen's multilinear
    extension gives phi_i = integral over p in [0, 1] of (present_i - absent_i) times the product over
    j != i of (p present_j + (1-p) absent_j): a polynomial of degree n - 1 in p, which Gauss-Legendre
    quadrature with ceil(n/2) nodes integrates exactly (Owen, 1972).

    Parameters
    ----------
    present : array-like, shape (n_players,)
    absent : array-like, shape (n_players,), optional
        Ones by default.

    Examples
    --------
    >>> ProductGame([2.0, 3.0]).shapley_values().round(12).tolist()
    [2.0, 3.0]
    """

    present: ArrayLike
    absent: ArrayLike | None = None

    def __post_init__(self) -> None:
        present = vector(self.present, "present")
        absent = np.ones(len(present)) if self.absent is None else self.absent
        object.__setattr__(self, "present", present)
        object.__setattr__(self, "absent", vector(absent, "absent", len(present)))

    @property
    def n_players(self) -> int:
        return len(np.asarray(self.present))

    def __call__(self, coalitions: BoolMatrix, /) -> FloatArray:
        values: FloatArray = np.where(coalitions, np.asarray(self.present), np.asarray(self.absent)).prod(
            axis=1
        )
        return values

    def shapley_values(self) -> FloatArray:
        """The exact values (n_players,)."""
        present, absent = np.asarray(self.present), np.asarray(self.absent)
        p, weights = _unit_nodes(self.n_players)
        factors = np.outer(p, present) + np.outer(1 - p, absent)  # (n_nodes, n_players)
        values: FloatArray = (weights @ _leave_one_out_products(factors)) * (present - absent)
        return values


@dataclass(frozen=True, eq=False)
class WeightedVotingGame:
    """v(S) = 1 if the votes in S reach the quota, else 0; the values are the Shapley-Shubik index.

    With each player present with probability p, phi_i is the integral over p of the probability that the
    votes of the others lie in [quota - w_i, quota - 1] (Owen, 1972). Those votes are a sum of binomials,
    one for each distinct weight; its distribution comes from the product of their characteristic
    functions, and the quadrature is exact as in `ProductGame`.

    Parameters
    ----------
    weights : array-like of int, shape (n_players,)
        Positive.
    quota : int

    Examples
    --------
    >>> WeightedVotingGame([2, 1, 1], quota=3).shapley_values().round(4).tolist()
    [0.6667, 0.1667, 0.1667]
    """

    weights: ArrayLike
    quota: int

    def __post_init__(self) -> None:
        given = vector(self.weights, "weights")
        weights = given.astype(np.intp)
        if (weights != given).any() or (weights < 1).any():
            raise ArgumentError(f"`weights` must be positive whole numbers. Got {given[:5].tolist()}.")
        if not 1 <= self.quota <= weights.sum():
            raise ArgumentError(f"`quota` must lie in 1..{weights.sum()}, all votes. Got {self.quota}.")
        weights.flags.writeable = False
        object.__setattr__(self, "weights", weights)

    @property
    def n_players(self) -> int:
        return len(np.asarray(self.weights))

    def __call__(self, coalitions: BoolMatrix, /) -> FloatArray:
        values: FloatArray = (coalitions @ np.asarray(self.weights) >= self.quota).astype(float)
        return values

    def shapley_values(self) -> FloatArray:
        """The exact values (n_players,)."""
        kinds, kind_of, counts = np.unique(np.asarray(self.weights), return_inverse=True, return_counts=True)
        length = int(np.asarray(self.weights).sum()) + 1
        # the votes of the others are real and below `length`: half of the frequencies are enough
        phases = np.exp(-2j * np.pi * np.outer(kinds, np.arange(length // 2 + 1)) / length)
        p, node_weights = _unit_nodes(self.n_players)
        mixed = np.zeros(phases.shape, dtype=complex)  # characteristic functions, integrated over p
        block = max(1, _BLOCK // phases.size)
        for start in range(0, len(p), block):
            chance = p[start : start + block, None, None]
            one = (1 - chance) + chance * phases  # of one player: (block, n_kinds, n_frequencies)
            rest = one ** (counts[:, None] - 1)
            rest *= _leave_one_out_products(rest * one, axis=1)
            mixed += np.tensordot(node_weights[start : start + block], rest, axes=1)
        density = np.fft.irfft(mixed, n=length, axis=1)
        swings = [
            row[max(0, self.quota - kind) : self.quota].sum()
            for row, kind in zip(density, kinds, strict=True)
        ]
        return np.array(swings)[kind_of]


def _unit_nodes(n_players: int) -> tuple[FloatArray, FloatArray]:
    """Gauss-Legendre nodes and weights on [0, 1], exact for polynomials of degree n_players - 1."""
    nodes, weights = np.polynomial.legendre.leggauss((n_players + 1) // 2)
    return (nodes + 1) / 2, weights / 2


def _leave_one_out_products(factors: NDArray[_Number], axis: int = 1) -> NDArray[_Number]:
    """The product along `axis` of all factors but one, without division."""
    moved = np.moveaxis(factors, axis, 0)
    before, after = np.ones_like(moved), np.ones_like(moved)
    np.cumprod(moved[:-1], axis=0, out=before[1:])
    after[:-1] = np.cumprod(moved[:0:-1], axis=0)[::-1]
    return np.moveaxis(before * after, 0, axis)
