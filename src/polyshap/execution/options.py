"""How to run, in one record: where, how often to try, what to keep."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from polyshap._types import BoolMatrix, FloatArray
from polyshap.errors import ArgumentError
from polyshap.execution.asynchronous import Concurrent, is_async
from polyshap.execution.cache import Cache, open_cache
from polyshap.execution.pools import Workers, as_workers
from polyshap.execution.progress import ProgressCallback
from polyshap.execution.retries import Patient, Retries, as_retries
from polyshap.execution.shipping import deadline
from polyshap.execution.store import ValueStore

__all__ = ["Execution", "WatchedGame", "batch_for", "prepared_game"]

# A run is cut into this many batches at least, whatever runs them: what is lost when it is killed, and what
# can be given to a worker, is one of them.
_BATCHES = 64
# A game that knows how many coalitions it likes at a time gets them, but not more than this share of the run.
_FEWEST_BATCHES = 8
# A game is asked for at most this many coalitions at a time: enough to hide a Python call, few enough
# that a game's own float64 copy of them stays small.
_LARGEST = 1 << 16


@dataclass(frozen=True, eq=False)
class Execution:
    """Options of a run.

    Parameters
    ----------
    n_jobs : int, optional
        Processes of an own pool; -1 takes one a core.
    executor : object, optional
        A Dask client, any `concurrent.futures.Executor`, or a function that makes one.
    cache : path or Cache, optional
        Where values are kept.
    retries : int or Retries, optional
        Attempts beyond the first for a model that raises.
    timeout : float, optional
        Seconds that one call of the model may take, in worker processes.
    max_concurrency : int, optional
        Requests in flight of an asynchronous model; 8 by default.
    progress : bool, callable or None
    """

    n_jobs: int | None = None
    executor: Any = None
    cache: str | Path | Cache | None = None
    retries: int | Retries | None = None
    timeout: float | None = None
    max_concurrency: int | None = None
    progress: bool | ProgressCallback | None = None

    @contextmanager
    def workers(self) -> Iterator[Workers | None]:
        """Where the chunks run, for as long as the run lasts; None for this process."""
        workers = self.check()
        try:
            yield workers
        finally:
            if workers is not None:
                workers.close()

    def check(self) -> Workers | None:
        """Options that do not go together are refused; nothing is started yet."""
        workers = as_workers(self.n_jobs, self.executor)
        if self.timeout is not None and (workers is None or not workers.processes):
            raise ArgumentError(
                "`timeout` must go with worker processes, which can be ended: n_jobs=1 and threads cannot, "
                f"nor can Dask workers of several threads. Got timeout={self.timeout}. Give n_jobs=2."
            )
        if self.timeout is not None and self.timeout <= 0:
            raise ArgumentError(f"`timeout` must be a positive number of seconds. Got {self.timeout}.")
        if self.cache is not None and workers is not None and not workers.same_host:
            raise ArgumentError(
                "`cache` must be a file that all workers share, and these may be on other machines. Use "
                "n_jobs=, a ThreadPoolExecutor or a ProcessPoolExecutor, or explain(..., out='folder/'), "
                "whose finished parts are kept."
            )
        return workers

    def store(self, model: Any, label: str) -> AbstractContextManager[ValueStore | None]:
        """The opened cache, closed at the end of the run; nothing without one."""
        return nullcontext() if self.cache is None else open_cache(self.cache, model, label)

    @property
    def asking(self) -> Execution:
        """How the model is asked, for a part of the rows in the hands of one worker."""
        return Execution(retries=self.retries, max_concurrency=self.max_concurrency, progress=False)

    @property
    def attempts(self) -> Retries | None:
        return as_retries(self.retries)


@dataclass(frozen=True, eq=False)
class WatchedGame:
    """A user's game, with the time for each call bounded where it runs in a process of its own."""

    game: Callable[[BoolMatrix], FloatArray]

    def __call__(self, coalitions: BoolMatrix) -> FloatArray:
        with deadline():
            return self.game(coalitions)


def batch_for(n_coalitions: int, batch_size: int | None, preferred: int | None = None) -> int:
    """Coalitions of a batch: they follow from the budget, `batch_size` and the game's own wish alone.

    >>> batch_for(2048, None), batch_for(2048, 100), batch_for(10, None), batch_for(2048, None, preferred=128)
    (32, 100, 1, 128)
    """
    if batch_size is not None:
        return batch_size
    wished = min(preferred or 1, -(-n_coalitions // _FEWEST_BATCHES))
    return max(1, min(_LARGEST, max(wished, -(-n_coalitions // _BATCHES))))


def prepared_game(
    game: Any, n_coalitions: int, batch_size: int | None, options: Execution
) -> tuple[Callable[[BoolMatrix], FloatArray], int]:
    """A user's game with retries, a time limit and requests in flight, and the size of its batches."""
    size = batch_for(n_coalitions, batch_size, getattr(game, "batch_size", None))
    retries = options.attempts
    if is_async(game):
        together = 8 if options.max_concurrency is None else options.max_concurrency
        return Concurrent(game, _answer, size, together, retries), size * together
    if options.max_concurrency is not None:
        raise ArgumentError(
            "`max_concurrency` must go with an asynchronous function (async def). Got a plain one: give "
            "executor=ThreadPoolExecutor(8)."
        )
    watched: Callable[[BoolMatrix], FloatArray] = game if options.timeout is None else WatchedGame(game)
    return watched if retries is None else Patient(watched, retries, "The game", "coalition"), size


def _answer(answer: Any, n_rows: int) -> FloatArray:
    return np.asarray(answer, dtype=float)
