"""Synthetic games with Shapley values in closed form, up to a thousand players.

Every game is a frozen record, a callable on coalitions, with a method `shapley_values()`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from math import comb
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from polyshap._types import BoolMatrix, FloatArray, IntArray
from polyshap.errors import ArgumentError

__all__ = [
    "AirportGame",
    "LinearPairwiseGame",
    "UnanimityGame",
    "random_k_additive",
    "vector",
]

# Elements of the largest array inside a block: 16 MiB of float32.
_BLOCK = 1 << 22


@dataclass(frozen=True, eq=False)
class UnanimityGame:
    """A sum of unanimity games: v(S) = sum of c_T over the terms T inside S.

    phi_i = sum over T with i in T of c_T / |T|: each term is shared equally by its players
    (Shapley, 1953).

    Parameters
    ----------
    n_players : int
    terms : sequence of collections of players
    coefficients : array-like, shape (n_terms,)

    Examples
    --------
    >>> game = UnanimityGame(3, [(0,), (1, 2)], [2.0, 1.0])
    >>> game(np.array([[True, True, False], [True, True, True]])).tolist()
    [2.0, 3.0]
    >>> game.shapley_values().tolist()
    [2.0, 0.5, 0.5]
    """

    n_players: int
    terms: Sequence[Iterable[int]]
    coefficients: ArrayLike

    def __post_init__(self) -> None:
        terms = tuple(tuple(sorted({int(player) for player in term})) for term in self.terms)
        coefficients = vector(self.coefficients, "coefficients", len(terms))
        if any(term and not 0 <= term[0] <= term[-1] < self.n_players for term in terms):
            raise ArgumentError(f"`terms` must hold players in 0..{self.n_players - 1}. Got {terms[:5]}.")
        object.__setattr__(self, "terms", terms)
        object.__setattr__(self, "coefficients", coefficients)

    @cached_property
    def _members(self) -> Any:
        """Terms as rows of a sparse 0/1 matrix (n_terms, n_players)."""
        from scipy import sparse  # 50 ms that other games need not pay

        sizes = self._sizes
        players = np.fromiter((player for term in self.terms for player in term), np.intp, int(sizes.sum()))
        pointers = np.concatenate([[0], np.cumsum(sizes)])
        shape = (len(sizes), self.n_players)
        return sparse.csr_array((np.ones(len(players), dtype=np.float32), players, pointers), shape=shape)

    @cached_property
    def _sizes(self) -> IntArray:
        return np.array([len(tuple(term)) for term in self.terms], dtype=np.intp)

    def __call__(self, coalitions: BoolMatrix, /) -> FloatArray:
        values = np.empty(len(coalitions))
        block = max(1, _BLOCK // max(1, len(self._sizes)))
        for start in range(0, len(coalitions), block):
            present = coalitions[start : start + block].T.astype(np.float32)
            complete = (self._members @ present) == self._sizes[:, None]
            values[start : start + block] = np.asarray(self.coefficients) @ complete
        return values

    def shapley_values(self) -> FloatArray:
        """The exact values (n_players,)."""
        shares = np.asarray(self.coefficients) / np.maximum(self._sizes, 1)
        return np.asarray(self._members.astype(float).T @ shares)


def random_k_additive(
    n_players: int, order: int, n_terms: int, *, random_state: int | np.random.Generator
) -> UnanimityGame:
    """A game with interactions of at most `order` players: `n_terms` random terms, normal coefficients.

    The sizes 1..order are equally frequent as long as there are enough terms of a size; terms are
    distinct.

    Examples
    --------
    >>> game = random_k_additive(6, order=3, n_terms=20, random_state=0)
    >>> bool(np.isclose(game.shapley_values().sum(), game(np.ones((1, 6), dtype=bool))[0]))
    True
    """
    if not 1 <= order <= n_players:
        raise ArgumentError(f"`order` must lie in 1..n_players = {n_players}. Got {order}.")
    available = sum(comb(n_players, size) for size in range(1, order + 1))
    if not 1 <= n_terms <= available:
        raise ArgumentError(
            f"`n_terms` must lie in 1..{available}, the number of terms of size 1..{order}. Got {n_terms}."
        )
    rng = np.random.default_rng(random_state)
    left = {size: comb(n_players, size) for size in range(1, order + 1)}
    found: dict[tuple[int, ...], None] = {}
    while len(found) < n_terms:
        open_sizes = [size for size, count in left.items() if count]
        size = int(rng.choice(open_sizes))
        term = tuple(sorted(rng.choice(n_players, size=size, replace=False).tolist()))
        if term not in found:
            found[term] = None
            left[size] -= 1
    return UnanimityGame(n_players, tuple(islice(found, n_terms)), rng.normal(size=n_terms))


@dataclass(frozen=True, eq=False)
class AirportGame:
    """The cost of the longest runway that is needed: v(S) = max of the costs in S, v(empty) = 0.

    With costs in rising order c_(1) <= ... <= c_(n), the k-th part c_(k) - c_(k-1) is shared by the
    n - k + 1 players who need it (Littlechild and Owen, 1973).

    Parameters
    ----------
    costs : array-like, shape (n_players,)
        Not negative.

    Examples
    --------
    >>> AirportGame([1.0, 2.0, 4.0]).shapley_values().round(4).tolist()
    [0.3333, 0.8333, 2.8333]
    """

    costs: ArrayLike

    def __post_init__(self) -> None:
        costs = vector(self.costs, "costs")
        if (costs < 0).any():
            raise ArgumentError(f"`costs` must not be negative. Got {costs.min()}.")
        object.__setattr__(self, "costs", costs)

    @property
    def n_players(self) -> int:
        return len(np.asarray(self.costs))

    def __call__(self, coalitions: BoolMatrix, /) -> FloatArray:
        highest: FloatArray = np.where(coalitions, np.asarray(self.costs), 0.0).max(axis=1)
        return highest

    def shapley_values(self) -> FloatArray:
        """The exact values (n_players,)."""
        costs = np.asarray(self.costs)
        order = np.argsort(costs, kind="stable")
        steps = np.diff(costs[order], prepend=0.0)
        values = np.empty(len(costs))
        values[order] = np.cumsum(steps / np.arange(len(costs), 0, -1))
        return values


@dataclass(frozen=True, eq=False)
class LinearPairwiseGame:
    """v(S) = sum_i a_i z_i + sum_{i<j} B_ij z_i z_j with z the indicator of S.

    phi_i = a_i + 1/2 sum_j B_ij.

    Parameters
    ----------
    linear : array-like, shape (n_players,)
    pairwise : array-like, shape (n_players, n_players)
        Symmetric with a zero diagonal.

    Examples
    --------
    >>> LinearPairwiseGame([1.0, 2.0], [[0.0, 4.0], [4.0, 0.0]]).shapley_values().tolist()
    [3.0, 4.0]
    """

    linear: ArrayLike
    pairwise: ArrayLike

    def __post_init__(self) -> None:
        linear = vector(self.linear, "linear")
        pairwise = np.array(self.pairwise, dtype=float)
        if (
            pairwise.shape != (len(linear),) * 2
            or not np.array_equal(pairwise, pairwise.T)
            or np.diag(pairwise).any()
        ):
            raise ArgumentError(
                f"`pairwise` must be a symmetric matrix ({len(linear)}, {len(linear)}) with a zero diagonal. "
                f"Got shape {pairwise.shape}."
            )
        pairwise.flags.writeable = False
        object.__setattr__(self, "linear", linear)
        object.__setattr__(self, "pairwise", pairwise)

    @property
    def n_players(self) -> int:
        return len(np.asarray(self.linear))

    def __call__(self, coalitions: BoolMatrix, /) -> FloatArray:
        z = coalitions.astype(float)
        values: FloatArray = (
            z @ np.asarray(self.linear) + ((z @ np.asarray(self.pairwise)) * z).sum(axis=1) / 2
        )
        return values

    def shapley_values(self) -> FloatArray:
        """The exact values (n_players,)."""
        values: FloatArray = np.asarray(self.linear) + np.asarray(self.pairwise).sum(axis=1) / 2
        return values


def vector(values: ArrayLike, name: str, length: int | None = None) -> FloatArray:
    """A read-only finite float vector of the given length."""
    vector = np.array(values, dtype=float)
    if vector.ndim != 1 or len(vector) == 0 or (length is not None and len(vector) != length):
        expected = "(n_players,)" if length is None else f"({length},)"
        raise ArgumentError(f"`{name}` must have shape {expected}. Got {vector.shape}.")
    if not np.isfinite(vector).all():
        raise ArgumentError(f"`{name}` must be finite. Got {vector[~np.isfinite(vector)][0]}.")
    vector.flags.writeable = False
    return vector
