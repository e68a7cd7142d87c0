"""Ask a game for the values of coalitions: the only place where a user's game is called."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass

import numpy as np

from polyshap._threads import one_blas_thread
from polyshap._types import BoolMatrix, FloatArray
from polyshap.errors import (
    GameError,
    GameRaisedError,
    GameShapeError,
    GameValueError,
    InterruptedRun,
    PolyshapError,
    WorkerError,
)
from polyshap.execution.workers import Workers, run_chunks
from polyshap.results import Observations
from polyshap.sampling import Sample

__all__ = ["GameFunction", "check_width", "checked_answer", "evaluate", "observe"]

GameFunction = Callable[[BoolMatrix], FloatArray]
Advance = Callable[[int], object]


def observe(
    game: GameFunction,
    sample: Sample,
    *,
    batch_size: int | None = None,
    workers: Workers | None = None,
    seconds: float | None = None,
    advance: Advance | None = None,
) -> Observations:
    """Evaluate both ends and the sample: the empty and the grand coalition come first."""
    n_players = sample.n_players
    ends = np.array([np.zeros(n_players, dtype=bool), np.ones(n_players, dtype=bool)])
    values = evaluate(
        game,
        np.concatenate([ends, sample.coalitions]),
        batch_size=batch_size,
        workers=workers,
        seconds=seconds,
        advance=advance,
    )
    return Observations(sample, values[2:], values[0], values[1])


def evaluate(
    game: GameFunction,
    coalitions: BoolMatrix,
    *,
    batch_size: int | None = None,
    workers: Workers | None = None,
    seconds: float | None = None,
    advance: Advance | None = None,
) -> FloatArray:
    """Values (m,) or (m, n_outputs) of `coalitions` (m, n_players), checked batch by batch.

    The batches are the same wherever they are evaluated. Whatever goes wrong, the values seen so far are on
    the exception; Ctrl-C ends within one batch.
    """
    size = max(1, len(coalitions) if batch_size is None else batch_size)
    batches = [(start, coalitions[start : start + size]) for start in range(0, len(coalitions), size)]
    answer = _Answering(game)
    done: dict[int, FloatArray] = {}
    found: Generator[tuple[int, FloatArray]]
    if workers is None:
        found = ((index, answer(batch)) for index, batch in enumerate(batches))
    else:
        found = run_chunks(answer, batches, workers, seconds=seconds)
    try:
        with closing(found), one_blas_thread():
            for index, values in found:
                check_width(values, next(iter(done.values()), values).shape[1:])
                done[index] = values
                if advance is not None:
                    advance(len(values))
    except (GameError, WorkerError, InterruptedRun) as error:
        _keep(error, batches, done)
        raise
    except KeyboardInterrupt as stop:
        interrupted = InterruptedRun("The run was interrupted. What was observed is in `.observed`.")
        _keep(interrupted, batches, done)
        raise interrupted from stop
    return np.concatenate([done[index] for index in range(len(batches))])


@dataclass(frozen=True, eq=False)
class _Answering:
    """A batch with its place -> checked values; goes to the workers."""

    game: GameFunction

    def __call__(self, batch: tuple[int, BoolMatrix]) -> FloatArray:
        start, coalitions = batch
        try:
            try:
                # a game may write into its input: it gets a copy of its own
                answer = self.game(coalitions.copy())
            except PolyshapError:
                raise  # a game of ours says itself what went wrong
            except Exception as error:
                place = f"{start}..{start + len(coalitions) - 1}"
                raise GameRaisedError(
                    f"The game raised {type(error).__name__} on coalitions {place}: {error}"
                ) from error
            return checked_answer(answer, coalitions)
        except GameError as error:
            if error.failed is None:
                error.failed = coalitions
            raise


def _keep(
    error: GameError | WorkerError | InterruptedRun,
    batches: list[tuple[int, BoolMatrix]],
    done: dict[int, FloatArray],
) -> None:
    """What was observed, on the exception that ended it."""
    n_players = batches[0][1].shape[1]
    seen = [(batches[index][1], done[index]) for index in sorted(done)]
    if isinstance(error, GameValueError) and error.coalitions is not None and error.values is not None:
        seen.append((error.coalitions, error.values))  # the finite ones of the batch that it ended in
    coalitions = np.concatenate([part for part, _ in seen] or [np.empty((0, n_players), dtype=bool)])
    values = np.concatenate([part for _, part in seen] or [np.empty(0)])
    error.observed = {0: (coalitions, values)}
    if isinstance(error, GameError):
        error.coalitions, error.values = coalitions, values


def check_width(values: FloatArray, first: tuple[int, ...]) -> None:
    """Values (m,) or (m, n_outputs) have the outputs, () or (n_outputs,), that the first ones had."""
    if values.shape[1:] != first:
        raise GameShapeError(
            f"The game returned {_outputs(first)} first and {_outputs(values.shape[1:])} later. "
            "It must return the same number of outputs every time."
        )


def _outputs(shape: tuple[int, ...]) -> str:
    return f"{shape[0]} output{'s'[: shape[0] != 1]} a coalition" if shape else "one number a coalition"


def checked_answer(answer: object, batch: BoolMatrix) -> FloatArray:
    """A copy of the game's answer as float64 of the right shape, finite."""
    try:
        values = np.asarray(answer)
        if np.iscomplexobj(values):
            raise TypeError("the numbers are complex")
        values = np.array(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise GameShapeError(
            f"The game must return numbers, one row a coalition. Got {type(answer).__name__}: {error}"
        ) from error
    if values.ndim not in (1, 2) or len(values) != len(batch) or values.size == 0:
        raise GameShapeError(
            f"The game must return shape ({len(batch)},) or ({len(batch)}, n_outputs) for {len(batch)} "
            f"coalitions. Got {values.shape}."
        )
    bad = ~np.isfinite(values.reshape(len(values), -1)).all(axis=1)
    if bad.any():
        shown = [np.flatnonzero(row).tolist() for row in batch[bad][:3]]
        raise GameValueError(
            f"The game returned NaN or infinity for {bad.sum()} of {len(batch)} coalitions, the first with "
            f"players {shown}. All of them are in `.failed` of this exception; the finite values are kept.",
            coalitions=batch[~bad],
            values=values[~bad],
            failed=batch[bad],
        )
    return values
