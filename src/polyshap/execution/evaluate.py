"""Ask a game for the values of coalitions: the only place where a user's game is called."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from polyshap._types import BoolMatrix, FloatArray
from polyshap.errors import GameError, GameRaisedError, GameShapeError, GameValueError, PolyshapError
from polyshap.results import Observations
from polyshap.sampling import Sample

__all__ = ["GameFunction", "checked_answer", "evaluate", "observe"]

GameFunction = Callable[[BoolMatrix], FloatArray]


def observe(game: GameFunction, sample: Sample, *, batch_size: int | None = None) -> Observations:
    """Evaluate both ends and the sample: the empty and the grand coalition come first."""
    n_players = sample.n_players
    ends = np.array([np.zeros(n_players, dtype=bool), np.ones(n_players, dtype=bool)])
    values = evaluate(game, np.concatenate([ends, sample.coalitions]), batch_size=batch_size)
    return Observations(sample, values[2:], values[0], values[1])


def evaluate(game: GameFunction, coalitions: BoolMatrix, *, batch_size: int | None = None) -> FloatArray:
    """Values (m,) or (m, n_outputs) of `coalitions` (m, n_players), checked batch by batch.

    Whatever goes wrong, the values seen so far are on the exception.
    """
    size = len(coalitions) if batch_size is None else batch_size
    done: list[FloatArray] = []
    for start in range(0, len(coalitions), max(size, 1)):
        # a game may write into its input: it gets a copy of its own
        batch = coalitions[start : start + size].copy()
        try:
            try:
                answer = game(batch)
            except PolyshapError:
                raise  # a game of ours says itself what went wrong
            except Exception as error:
                raise GameRaisedError(
                    f"The game raised {type(error).__name__} on coalitions {start}..{start + len(batch) - 1}: "
                    f"{error}"
                ) from error
            done.append(checked_answer(answer, coalitions[start : start + size], done[0] if done else None))
        except GameError as error:
            error.coalitions = coalitions[:start]
            error.values = np.concatenate(done) if done else np.empty(0)
            if error.failed is None:
                error.failed = coalitions[start : start + size]
            raise
    return np.concatenate(done)


def checked_answer(answer: object, batch: BoolMatrix, first: FloatArray | None = None) -> FloatArray:
    """A copy of the game's answer as float64 of the right shape, finite."""
    try:
        values = np.array(answer, dtype=float)
    except (TypeError, ValueError) as error:
        raise GameShapeError(
            f"The game must return numbers, one row a coalition. Got {type(answer).__name__}: {error}"
        ) from error
    if values.ndim not in (1, 2) or len(values) != len(batch) or values.size == 0:
        raise GameShapeError(
            f"The game must return shape ({len(batch)},) or ({len(batch)}, n_outputs) for {len(batch)} "
            f"coalitions. Got {values.shape}."
        )
    if first is not None and values.shape[1:] != first.shape[1:]:
        raise GameShapeError(
            f"The game returned shape {first.shape} first and {values.shape} later. "
            "It must return the same number of outputs every time."
        )
    bad = ~np.isfinite(values.reshape(len(values), -1)).all(axis=1)
    if bad.any():
        shown = [np.flatnonzero(row).tolist() for row in batch[bad][:3]]
        raise GameValueError(
            f"The game returned NaN or infinity for {bad.sum()} of {len(batch)} coalitions, the first with "
            f"players {shown}. All of them are in `.failed` of this exception; the finite values are kept.",
            failed=batch[bad],
        )
    return values
