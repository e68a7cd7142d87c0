"""Games made from games: remembered, or restricted to one output."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from polyshap._types import BoolMatrix, FloatArray
from polyshap.coalitions import row_keys
from polyshap.errors import ArgumentError

__all__ = ["Remembered", "SelectedOutput", "remembered", "selected_output"]

_Function = Callable[[BoolMatrix], FloatArray]


@dataclass(frozen=True, eq=False)
class Remembered:
    """A game that is asked for each coalition once in its life; built by `remembered`."""

    game: _Function
    n_players: int
    known: dict[bytes, FloatArray] = field(default_factory=dict, repr=False)

    def __call__(self, coalitions: BoolMatrix, /) -> FloatArray:
        keys = [key.tobytes() for key in row_keys(coalitions)]
        fresh = {key: row for row, key in enumerate(keys) if key not in self.known}
        if fresh:
            answers = np.asarray(self.game(coalitions[list(fresh.values())]), dtype=float)
            self.known.update(zip(fresh, answers, strict=True))
        return np.array([self.known[key] for key in keys])


def remembered(game: _Function, n_players: int) -> Remembered:
    """A game that keeps its values in memory, for games that cost much more than a look-up.

    Examples
    --------
    >>> asked = []
    >>> game = remembered(lambda z: asked.append(len(z)) or z.sum(axis=1) * 1.0, 3)
    >>> rows = np.array([[True, False, True], [True, False, True]])
    >>> game(rows).tolist(), game(rows).tolist(), asked
    ([2.0, 2.0], [2.0, 2.0], [1])
    """
    return Remembered(game, n_players)


@dataclass(frozen=True, eq=False)
class SelectedOutput:
    """One output of a game with several; built by `selected_output`."""

    game: _Function
    n_players: int
    output: int

    def __call__(self, coalitions: BoolMatrix, /) -> FloatArray:
        values = np.asarray(self.game(coalitions), dtype=float)
        if values.ndim != 2 or not -values.shape[1] <= self.output < values.shape[1]:
            raise ArgumentError(
                f"`output` must be a column of the game's values, shape {values.shape}. Got {self.output}."
            )
        return values[:, self.output]


def selected_output(game: _Function, n_players: int, output: int) -> SelectedOutput:
    """The game of one output, such as one class.

    Examples
    --------
    >>> both = lambda z: np.column_stack([z.sum(axis=1), z[:, 0]])
    >>> selected_output(both, 2, 1)(np.array([[True, True]])).tolist()
    [1.0]
    """
    return SelectedOutput(game, n_players, output)
