"""Coalitions as rows of boolean matrices: enumerate, count, pack, compare."""

from __future__ import annotations

from functools import lru_cache
from itertools import chain, combinations
from math import comb, lgamma

import numpy as np
from numpy.typing import NDArray

from polyshap._types import BoolMatrix, FloatArray, IntArray

__all__ = [
    "enumerate_all",
    "enumerate_size",
    "first_occurrences",
    "log_binomial",
    "log_factorials",
    "log_shapley_kernel",
    "pack",
    "random_coalitions",
    "row_keys",
    "signs",
    "sizes_of",
    "unpack",
]

_BLOCK = 1 << 22  # elements of a random block: 32 MiB of float64


def enumerate_all(n_players: int) -> BoolMatrix:
    """All 2^n coalitions in binary counting order; player i is bit i of the row number.

    >>> enumerate_all(2).astype(int).tolist()
    [[0, 0], [1, 0], [0, 1], [1, 1]]
    """
    coalitions = np.empty((1 << n_players, n_players), dtype=bool)
    for player in range(n_players):
        # bit `player` of the counter is a block pattern: 2^player times off, 2^player times on
        pattern = coalitions[:, player].reshape(-1, 2, 1 << player)
        pattern[:, 0], pattern[:, 1] = False, True
    return coalitions


def enumerate_size(n_players: int, size: int) -> BoolMatrix:
    """All coalitions of one size, in lexicographic order of their members.

    >>> enumerate_size(3, 2).astype(int).tolist()
    [[1, 1, 0], [1, 0, 1], [0, 1, 1]]
    """
    if 2 * size > n_players:  # fewer members to list; reversal restores the lexicographic order
        return ~enumerate_size(n_players, n_players - size)[::-1]
    count = comb(n_players, size)
    members = np.fromiter(
        chain.from_iterable(combinations(range(n_players), size)), dtype=np.intp, count=count * size
    )
    coalitions = np.zeros((count, n_players), dtype=bool)
    coalitions[np.repeat(np.arange(count), size), members] = True
    return coalitions


def random_coalitions(sizes: NDArray[np.intp], n_players: int, rng: np.random.Generator) -> BoolMatrix:
    """One uniformly drawn coalition of each given size (m,) -> (m, n_players)."""
    coalitions = np.empty((len(sizes), n_players), dtype=bool)
    block = max(1, _BLOCK // n_players)
    for start in range(0, len(sizes), block):
        size = sizes[start : start + block]
        keys = rng.random((len(size), n_players))
        # the `size` smallest keys are a uniform subset
        threshold = np.take_along_axis(np.sort(keys, axis=1), size[:, None] - 1, axis=1)
        coalitions[start : start + block] = keys <= threshold
    return coalitions


def pack(coalitions: BoolMatrix) -> NDArray[np.uint8]:
    """Eight players to a byte: (m, n_players) -> (m, ceil(n_players / 8))."""
    return np.packbits(coalitions, axis=1)


def unpack(packed: NDArray[np.uint8], n_players: int) -> BoolMatrix:
    """The inverse of `pack`."""
    return np.unpackbits(packed, axis=1, count=n_players).view(bool)


def sizes_of(coalitions: BoolMatrix) -> IntArray:
    """The number of present players of every row."""
    return np.asarray(np.count_nonzero(coalitions, axis=1), dtype=np.intp)


def row_keys(coalitions: BoolMatrix) -> NDArray[np.void]:
    """One opaque, comparable key a row, for set operations on coalitions."""
    packed = np.ascontiguousarray(pack(coalitions))
    return packed.view(np.dtype((np.void, packed.shape[1]))).ravel()


def first_occurrences(coalitions: BoolMatrix) -> NDArray[np.intp]:
    """Row numbers of the first occurrence of each distinct coalition, rising."""
    _, first = np.unique(row_keys(coalitions), return_index=True)
    return np.sort(first)


def signs(coalitions: BoolMatrix) -> FloatArray:
    """+1 for a present player and -1 for an absent one."""
    return np.where(coalitions, 1.0, -1.0)


@lru_cache(maxsize=64)
def log_factorials(n: int) -> FloatArray:
    """log i! for i = 0..n."""
    table = np.array([lgamma(i + 1.0) for i in range(n + 1)])
    table.flags.writeable = False
    return table


def log_binomial(n: int, k: int | NDArray[np.integer]) -> FloatArray:
    """log of the binomial coefficient, for all k at once."""
    table, k = log_factorials(n), np.asarray(k, dtype=np.intp)
    return np.asarray(table[n] - table[k] - table[n - k])


def log_shapley_kernel(n_players: int, sizes: NDArray[np.integer]) -> FloatArray:
    """log mu(s) = -log binom(n - 2, s - 1), the weight of the Shapley regression, for 0 < s < n."""
    if n_players == 1:
        return np.zeros(0)  # one player has no proper coalition
    return -log_binomial(n_players - 2, np.asarray(sizes) - 1)
