"""A table of small games with what is known about each; used by the contract tests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

MatrixGame = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class SmallGame:
    """A game of a few players, with players that are dummies and pairs that are interchangeable."""

    name: str
    n_players: int
    value: MatrixGame = field(repr=False)
    dummies: tuple[int, ...] = ()
    twins: tuple[tuple[int, int], ...] = ()


def table_game(n_players: int, seed: int, n_outputs: int | None = None) -> MatrixGame:
    """All values drawn at random: no structure at all."""
    shape = (1 << n_players,) if n_outputs is None else (1 << n_players, n_outputs)
    values = np.random.default_rng(seed).normal(size=shape)
    powers = 1 << np.arange(n_players)
    return lambda coalitions: values[coalitions @ powers]


def additive_game(n_players: int, order: int, seed: int) -> MatrixGame:
    """A random polynomial of the given order."""
    from itertools import combinations

    rng = np.random.default_rng(seed)
    terms = [list(t) for size in range(1, order + 1) for t in combinations(range(n_players), size)]
    coefficients = rng.normal(size=len(terms))
    return lambda z: sum(c * z[:, t].all(axis=1) for c, t in zip(coefficients, terms, strict=True))


def unanimity_game(members: tuple[int, ...]) -> MatrixGame:
    """1 where all members are present."""
    return lambda coalitions: coalitions[:, list(members)].all(axis=1).astype(float)


WEIGHTS = np.array([1.0, -2.0, 0.5, 3.0, 0.0, 1.5])

GAMES = (
    SmallGame("random", 6, table_game(6, seed=1)),
    SmallGame("random, one player", 1, table_game(1, seed=2)),
    SmallGame("random, two players", 2, table_game(2, seed=3)),
    SmallGame("random, three outputs", 5, table_game(5, seed=4, n_outputs=3)),
    SmallGame("linear", 6, lambda z: 2.0 + z @ WEIGHTS, dummies=(4,)),
    SmallGame("unanimity", 7, unanimity_game((1, 2, 5)), dummies=(0, 3, 4, 6), twins=((1, 2), (2, 5))),
    SmallGame("symmetric", 6, lambda z: np.sqrt(z.sum(axis=1)), twins=((0, 1), (2, 5))),
    SmallGame("3-additive", 7, additive_game(7, order=3, seed=5)),
    SmallGame("constant", 5, lambda z: np.full(len(z), 7.0), dummies=(0, 1, 2, 3, 4)),
    SmallGame("zero", 4, lambda z: np.zeros(len(z)), dummies=(0, 1, 2, 3)),
)
