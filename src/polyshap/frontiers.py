"""Which interactions a polynomial may use: specifications that build a `Frontier` for n players."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, combinations, islice, pairwise
from math import comb, floor, log
from numbers import Real
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from polyshap._memory import check_memory
from polyshap._types import BoolMatrix, IntArray
from polyshap.errors import ArgumentError, ArgumentTypeError

__all__ = ["Explicit", "Frontier", "FrontierSpec", "KAdditive", "Logarithmic", "Partial"]

Term = tuple[int, ...]

# A term of three players as a tuple, with its place in the tuple of all and in a matrix; one that is
# drawn has numbers of its own and a place in a dictionary.
_TERM_BYTES, _DRAWN_BYTES = 112, 300
# Above this many candidates a random part is drawn term by term instead of listed and shuffled.
_LISTABLE = 5_000_000


@dataclass(frozen=True, eq=False, repr=False)
class Frontier:
    """The terms of a polynomial: sorted tuples of players, all singletons present, smaller terms first.

    Parameters
    ----------
    n_players : int
    terms : tuple of tuple of int
        Built by `KAdditive`, `Partial` or `Explicit`, which check and order them.
    """

    n_players: int
    terms: tuple[Term, ...]

    def __len__(self) -> int:
        return len(self.terms)

    def __repr__(self) -> str:
        counts = " + ".join(str(len(block)) for block in self.by_order.values())
        orders = ", ".join(map(str, self.by_order))
        return f"Frontier(n_players={self.n_players}, {counts} terms of order {orders})"

    @cached_property
    def by_order(self) -> dict[int, IntArray]:
        """order -> the players of its terms (n_terms, order), in the order of `terms`."""
        sizes = np.fromiter(map(len, self.terms), dtype=np.intp, count=len(self.terms))
        bounds = [0, *(np.flatnonzero(np.diff(sizes)) + 1).tolist(), len(self.terms)]
        blocks = {}
        for start, stop in pairwise(bounds):
            order = len(self.terms[start])
            players = chain.from_iterable(self.terms[start:stop])
            flat = np.fromiter(players, dtype=np.intp, count=order * (stop - start))
            blocks[order] = flat.reshape(-1, order)
        return blocks

    @property
    def order(self) -> int:
        """The size of the largest term."""
        return len(self.terms[-1])

    @property
    def masks(self) -> BoolMatrix:
        """The terms as rows of a boolean matrix (n_terms, n_players)."""
        masks = np.zeros((len(self.terms), self.n_players), dtype=bool)
        start = 0
        for block in self.by_order.values():
            masks[np.arange(start, start + len(block))[:, None], block] = True
            start += len(block)
        return masks

    @cached_property
    def is_downward_closed(self) -> bool:
        """Whether every non-empty subset of a term is a term: then the span is closed under complements."""
        known = set(self.terms)
        return all(
            part in known
            for term in self.terms
            if len(term) > 2
            for part in combinations(term, len(term) - 1)
        )


class FrontierSpec(Protocol):
    """Anything that builds a frontier once the number of players is known."""

    def build(self, n_players: int) -> Frontier: ...


@dataclass(frozen=True)
class KAdditive:
    """All terms of size 1..order.

    Examples
    --------
    >>> KAdditive(2).build(3)
    Frontier(n_players=3, 3 + 3 terms of order 1, 2)
    """

    order: int

    def build(self, n_players: int) -> Frontier:
        highest = _check_order(self.order, n_players)
        return Frontier(n_players, tuple(_all_up_to(n_players, highest)))


@dataclass(frozen=True)
class Partial:
    """All terms below `order`, and a part of the terms of that order.

    Parameters
    ----------
    order : int
    fraction : float, optional
        The part as a share in [0, 1], rounded down to whole terms; or
    terms : int, optional
        the part as a number of terms (at most all of them).
    seed : int
        Which terms: a uniform subset drawn with this seed, unless
    ranking : sequence of int, optional
        a permutation of the players is given: then the first terms in lexicographic order of the players
        renamed by it, so the terms among the first few players of the ranking (as in the paper's code).

    Examples
    --------
    >>> Partial(order=2, terms=2, ranking=[2, 0, 1]).build(3).terms
    ((0,), (1,), (2,), (0, 2), (1, 2))
    """

    order: int
    fraction: float | None = None
    terms: int | None = None
    seed: int = 0
    ranking: Sequence[int] | None = None

    def build(self, n_players: int) -> Frontier:
        order = _check_order(self.order, n_players)
        available = comb(n_players, self.order)
        count = self._count(available)
        if order == 1 or order < self.order:  # singletons are always in; there are no terms above n_players
            return KAdditive(order).build(n_players)
        check_memory(
            _DRAWN_BYTES * count,
            f"{count} terms of {order} of {n_players} players",
            "Use a smaller `fraction`.",
        )
        if self.ranking is None:
            part = _random_terms(n_players, order, count, np.random.default_rng(self.seed))
        else:
            ranking = _check_ranking(self.ranking, n_players)
            first = islice(combinations(range(n_players), order), count)
            part = [tuple(sorted(ranking[player] for player in term)) for term in first]
        return Frontier(n_players, (*_all_up_to(n_players, order - 1), *sorted(part)))

    def _count(self, available: int) -> int:
        if (self.fraction is None) == (self.terms is None):
            raise ArgumentError("Partial needs either `fraction` or `terms`, not both and not neither.")
        if self.terms is not None:
            if not _is_integer(self.terms):
                raise ArgumentTypeError(f"`terms` must be a whole number of terms. Got {self.terms!r}.")
            if self.terms < 0:
                raise ArgumentError(f"`terms` must not be negative. Got {self.terms}.")
            return min(int(self.terms), available)
        if not isinstance(self.fraction, Real) or isinstance(self.fraction, bool):
            raise ArgumentTypeError(f"`fraction` must be a number in [0, 1]. Got {self.fraction!r}.")
        if not 0 <= self.fraction <= 1:
            raise ArgumentError(f"`fraction` must lie in [0, 1]. Got {self.fraction}.")
        return int(self.fraction * available)


@dataclass(frozen=True)
class Logarithmic:
    """The paper's log variant: all terms below `order` and n log binom(n, order) of that order, rounded down.

    Examples
    --------
    >>> len(Logarithmic(3).build(14))  # 14 + 91 + 82
    187
    """

    order: int = 3
    seed: int = 0
    ranking: Sequence[int] | None = None

    def build(self, n_players: int) -> Frontier:
        order = _check_order(self.order, n_players)
        if order < self.order:
            return KAdditive(order).build(n_players)
        terms = floor(n_players * log(comb(n_players, order)))
        return Partial(order, terms=terms, seed=self.seed, ranking=self.ranking).build(n_players)


@dataclass(frozen=True)
class Explicit:
    """The given terms, and all singletons.

    Examples
    --------
    >>> Explicit([(0, 1), (2, 1, 0)]).build(3).terms
    ((0,), (1,), (2,), (0, 1), (0, 1, 2))
    """

    terms: Sequence[Iterable[int]]

    def __post_init__(self) -> None:
        if not isinstance(self.terms, Iterable):
            raise ArgumentTypeError(
                f"`terms` must be a sequence of collections of players. Got {self.terms!r}."
            )
        # kept as a value: an iterator would be used up by the first `build`
        object.__setattr__(self, "terms", tuple(map(_players_of, self.terms)))

    def build(self, n_players: int) -> Frontier:
        _check_order(1, n_players)
        given = [tuple(sorted(_check_term(tuple(term), n_players))) for term in self.terms]
        if len(set(given)) < len(given):
            twice = sorted(term for term, times in Counter(given).items() if times > 1)
            raise ArgumentError(
                f"`terms` must be distinct sets of players. Given more than once: {twice[:5]}."
            )
        terms = {*given, *((player,) for player in range(n_players))}
        return Frontier(n_players, tuple(sorted(terms, key=lambda term: (len(term), term))))


def _all_up_to(n_players: int, order: int) -> Iterable[Term]:
    check_memory(
        _TERM_BYTES * sum(comb(n_players, size) for size in range(1, order + 1)),
        f"All terms of up to {order} of {n_players} players",
        "Use a smaller order, `Partial`, or estimator='adaptive', which needs no list of terms.",
    )
    return chain.from_iterable(combinations(range(n_players), size) for size in range(1, order + 1))


def _random_terms(n_players: int, order: int, count: int, rng: np.random.Generator) -> list[Term]:
    """A uniform subset of `count` terms of one order."""
    available = comb(n_players, order)
    if available <= _LISTABLE:
        chosen = np.sort(rng.choice(available, size=count, replace=False))
        every = list(combinations(range(n_players), order))
        return [every[index] for index in chosen.tolist()]
    found: dict[Term, None] = {}
    while len(found) < count:
        draws: NDArray[np.intp] = rng.integers(n_players, size=(2 * (count - len(found)) + 8, order))
        draws.sort(axis=1)
        distinct = draws[(np.diff(draws, axis=1) > 0).all(axis=1)]
        found.update(dict.fromkeys(map(tuple, distinct.tolist())))
    return list(found)[:count]


def _check_order(order: int, n_players: int) -> int:
    """The order, lowered to `n_players` where it exceeds it: there are no larger terms."""
    if not _is_integer(order):
        raise ArgumentTypeError(f"`order` must be an integer. Got {order!r}.")
    if order < 1:
        raise ArgumentError(f"`order` must be at least 1. Got {order}.")
    if n_players < 1:
        raise ArgumentError(f"`n_players` must be at least 1. Got {n_players}.")
    return min(int(order), n_players)


def _players_of(term: Iterable[int]) -> Term:
    players = tuple(term) if isinstance(term, Iterable) else (term,)
    if not isinstance(term, Iterable) or not players or not all(map(_is_integer, players)):
        raise ArgumentTypeError(f"A term must be a non-empty collection of player numbers. Got {term!r}.")
    return tuple(map(int, players))


def _check_term(players: Term, n_players: int) -> Term:
    if len(set(players)) < len(players) or not all(0 <= player < n_players for player in players):
        raise ArgumentError(
            f"A term must hold distinct players in 0..{n_players - 1} (n_players={n_players}). Got {players}."
        )
    return players


def _check_ranking(ranking: Sequence[int], n_players: int) -> list[int]:
    players = list(ranking)
    if not all(map(_is_integer, players)) or sorted(players) != list(range(n_players)):
        raise ArgumentError(f"`ranking` must be a permutation of 0..{n_players - 1}. Got {players}.")
    return [int(player) for player in players]


def _is_integer(number: object) -> bool:
    return isinstance(number, int | np.integer) and not isinstance(number, bool)
