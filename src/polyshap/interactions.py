"""Interaction indices of a fitted game, all read off its Möbius coefficients.

Every index here is a weighted sum over supersets,

    I(S) = sum over T containing S of g(|T|, |S|) a(T),                                           (I)

with a(T) the Möbius coefficients of the game and g a table of the index. `WEIGHTS` holds one row an
index; `Polynomial` applies it to a polynomial, `Table` to a game given by all its values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from math import comb

import numpy as np

from polyshap._types import FloatArray, IntArray
from polyshap.errors import NotAvailableError
from polyshap.frontiers import Frontier
from polyshap.results import Index
from polyshap.shapley import popcounts

__all__ = [
    "WEIGHTS",
    "Fourier",
    "Polynomial",
    "Table",
    "bernoulli_numbers",
    "moebius_from_fourier",
    "moebius_from_shapley",
    "moebius_transform",
]

# g(t, s) at a given order of the index; t >= s
Weight = Callable[[int, int, int], float]


def _faith_shapley(t: int, s: int, order: int) -> float:
    """Tsai, Yeh, Ravikumar 2023, Theorem 19: the best polynomial of that order under the Shapley kernel."""
    if t == s:
        return 1.0
    if t <= order:
        return 0.0
    sign = -1.0 if (order - s) % 2 else 1.0
    return sign * s / (order + s) * comb(order, s) * comb(t - 1, order) / comb(t + order - 1, order + s)


def _moebius(t: int, s: int, order: int) -> float:
    return float(t == s)


def _shapley_taylor(t: int, s: int, order: int) -> float:
    """Sundararajan, Dhamdhere, Agarwal 2020: the top order takes up everything larger."""
    return 1.0 / comb(t, s) if s == order else float(t == s)


def _k_sii(t: int, s: int, order: int) -> float:
    """Bordt and von Luxburg 2023: aggregated Shapley interactions, with a(T)/(t-s+1) for the plain index."""
    numbers = bernoulli_numbers(order)
    return sum(numbers[j] * comb(t - s, j) / (t - s - j + 1) for j in range(min(order, t) - s + 1))


@lru_cache
def bernoulli_numbers(highest: int) -> tuple[float, ...]:
    """B_0..B_highest with B_1 = -1/2, exact until the last step.

    >>> bernoulli_numbers(4)
    (1.0, -0.5, 0.16666666666666666, 0.0, -0.03333333333333333)
    """
    numbers = [Fraction(1)]
    for m in range(1, highest + 1):
        numbers.append(-sum((comb(m + 1, j) * numbers[j] for j in range(m)), Fraction(0)) / (m + 1))
    return tuple(map(float, numbers))


def _banzhaf(t: int, s: int, order: int) -> float:
    return float(2.0 ** (s - t))


WEIGHTS: Mapping[Index, Weight] = {
    "faith-shapley": _faith_shapley,
    "moebius": _moebius,
    "shapley-taylor": _shapley_taylor,
    "k-sii": _k_sii,
    "banzhaf": _banzhaf,
}


@dataclass(frozen=True, eq=False)
class Polynomial:
    """A game that is a polynomial: Möbius coefficients (n_terms, n_outputs) of a frontier."""

    frontier: Frontier
    coefficients: FloatArray

    def interactions(self, order: int, index: Index, min_order: int) -> dict[tuple[int, ...], FloatArray]:
        weight = WEIGHTS[index]
        found = {}
        for size in range(min_order, order + 1):
            keys = _Keys(self.frontier.n_players, size)
            codes, amounts = [], []
            for players, coefficients in self._blocks(size):
                factor = weight(players.shape[1], size, order)
                if factor != 0.0:
                    for part in combinations(range(players.shape[1]), size):
                        codes.append(keys.encode(players[:, part]))
                        amounts.append(factor * coefficients)
            found.update(_add_up(keys, codes, amounts))
        return found

    def _blocks(self, smallest: int) -> Iterator[tuple[IntArray, FloatArray]]:
        start = 0
        for size, players in self.frontier.by_order.items():
            if size >= smallest:
                yield players, self.coefficients[start : start + len(players)]
            start += len(players)


@dataclass(frozen=True, eq=False)
class Fourier:
    """A game that is a sparse sum of c_T prod_{i in T} s_i: the terms T with their c_T, for each output."""

    n_players: int
    coefficients: tuple[Mapping[tuple[int, ...], float], ...]

    def interactions(self, order: int, index: Index, min_order: int) -> dict[tuple[int, ...], FloatArray]:
        terms = set().union(*self.coefficients)
        # products of s reach down to all subsets, and a frontier holds every single player
        below = {
            part for term in terms for size in range(1, len(term) + 1) for part in combinations(term, size)
        }
        below.update((player,) for player in range(self.n_players))
        frontier = Frontier(self.n_players, tuple(sorted(below, key=lambda term: (len(term), term))))
        by_term = {term: np.array([output.get(term, 0.0) for output in self.coefficients]) for term in terms}
        moebius = moebius_from_fourier(frontier, by_term, n_outputs=len(self.coefficients))
        return Polynomial(frontier, moebius).interactions(order, index, min_order)


@dataclass(frozen=True, eq=False)
class Table:
    """A game given by all its Möbius coefficients (2^n, n_outputs), player i being bit i."""

    moebius: FloatArray

    def interactions(self, order: int, index: Index, min_order: int) -> dict[tuple[int, ...], FloatArray]:
        n_players = len(self.moebius).bit_length() - 1
        sizes = popcounts(n_players).reshape((2,) * n_players)
        cube = self.moebius.reshape((2,) * n_players + (-1,))
        found = {}
        for size in range(min_order, order + 1):
            factors = np.zeros(n_players + 1)
            factors[size:] = [WEIGHTS[index](t, size, order) for t in range(size, n_players + 1)]
            for term in combinations(range(n_players), size):
                # axis 0 of the cube is the highest bit
                supersets = tuple(
                    1 if n_players - 1 - axis in term else slice(None) for axis in range(n_players)
                )
                weights = factors[sizes[supersets]]
                found[term] = np.tensordot(weights, cube[supersets], axes=weights.ndim)
        return found


def moebius_transform(table: FloatArray) -> FloatArray:
    """a(T) = sum over S inside T of (-1)^(|T|-|S|) v(S), for all T: one in-place pass a player on a copy.

    >>> moebius_transform(np.array([[0.0], [1.0], [2.0], [5.0]])).ravel().tolist()
    [0.0, 1.0, 2.0, 2.0]
    """
    coefficients = np.array(table, dtype=float)
    for player in range(len(table).bit_length() - 1):
        bits = coefficients.reshape(-1, 2, 1 << player, table.shape[1])
        bits[:, 1] -= bits[:, 0]
    return coefficients


def moebius_from_fourier(
    frontier: Frontier, coefficients: Mapping[tuple[int, ...], FloatArray], n_outputs: int
) -> FloatArray:
    """Möbius coefficients of sum_T c_T prod_{i in T} s_i with s = 2z - 1, for the terms of the frontier.

    b_S = 2^|S| sum over T containing S of (-1)^(|T|-|S|) c_T; the frontier must be downward closed.
    """
    return _over_subsets(frontier, coefficients, n_outputs, lambda t, s: (-1.0) ** (t - s) * 2.0**s)


def moebius_from_shapley(frontier: Frontier, interactions: FloatArray) -> FloatArray:
    """Möbius coefficients of the game with these Shapley interaction indices (n_terms, n_outputs).

    b_S = sum over T containing S of B_{|T|-|S|} I(T) with the Bernoulli numbers B (Grabisch, 1997); the
    frontier must be downward closed.
    """
    numbers = bernoulli_numbers(frontier.order)
    by_term = dict(zip(frontier.terms, interactions, strict=True))
    return _over_subsets(frontier, by_term, interactions.shape[1], lambda t, s: numbers[t - s])


def _over_subsets(
    frontier: Frontier,
    coefficients: Mapping[tuple[int, ...], FloatArray],
    n_outputs: int,
    weight: Callable[[int, int], float],
) -> FloatArray:
    """sum over T containing S of weight(|T|, |S|) c_T, for every term S of the frontier."""
    place = {term: row for row, term in enumerate(frontier.terms)}
    sums = np.zeros((len(frontier), n_outputs))
    for term, value in coefficients.items():
        for size in range(1, len(term) + 1):
            scaled = weight(len(term), size) * value
            for part in combinations(term, size):
                sums[place[part]] += scaled
    return sums


@dataclass(frozen=True)
class _Keys:
    """Terms of one size as single integers, to add equal ones up without a loop over terms."""

    n_players: int
    size: int

    def __post_init__(self) -> None:
        if self.n_players**self.size >= 2**63:
            raise NotAvailableError(
                f"Interactions of order {self.size} among {self.n_players} players are too many to list. "
                "Ask for a smaller `order`."
            )

    def encode(self, players: IntArray) -> IntArray:
        codes = np.zeros(len(players), dtype=np.int64)
        for position in range(self.size):
            codes = codes * self.n_players + players[:, position]
        return codes

    def decode(self, codes: IntArray) -> IntArray:
        players = np.empty((len(codes), self.size), dtype=np.int64)
        for position in reversed(range(self.size)):
            codes, players[:, position] = np.divmod(codes, self.n_players)
        return players


def _add_up(
    keys: _Keys, codes: list[IntArray], amounts: list[FloatArray]
) -> dict[tuple[int, ...], FloatArray]:
    if not codes:
        return {}
    distinct, place = np.unique(np.concatenate(codes), return_inverse=True)
    sums = np.zeros((len(distinct), amounts[0].shape[1]))
    np.add.at(sums, place, np.concatenate(amounts))
    return dict(zip(map(tuple, keys.decode(distinct).tolist()), sums, strict=True))
