"""Rows on workers: whole rows where each is fitted alone, their observations where many are fitted together.

What is computed is the same wherever it is computed; only how many rows go into one chunk follows the clock.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

from polyshap._types import FloatArray, IntArray
from polyshap.execution.cache import CachedGame
from polyshap.execution.fingerprints import content_digest
from polyshap.execution.pools import Workers
from polyshap.execution.store import ValueStore
from polyshap.execution.workers import run_chunks, run_stream
from polyshap.games.path_dependent import PathDependent
from polyshap.rows.plans import Plan
from polyshap.rows.prepared import Prepared, Task
from polyshap.rows.rowwise import RowResult, RowRun
from polyshap.tables.arrays import Table

__all__ = ["CachedGames", "RowJobs"]

# Seconds of work in a chunk: a cluster needs about 3 ms to hand one over.
_CHUNK_SECONDS = 0.5


@dataclass(frozen=True, eq=False)
class CachedGames:
    """Row number and players -> the game of that row behind a cache.

    Attributes
    ----------
    games : callable
    store : ValueStore
    identity : bytes
        Of the background, the imputer and the outputs.
    rows : tuple of bytes
        Of the content of each row.
    """

    games: Callable[[int, IntArray], Any]
    store: ValueStore
    identity: bytes
    rows: tuple[bytes, ...]

    def __call__(self, index: int, members: IntArray) -> CachedGame:
        identity = self.identity + self.rows[index] + content_digest([members])
        return CachedGame(self.games(index, members), self.store, identity, len(members))


@dataclass(frozen=True)
class _Job:
    rows: tuple[int, ...]
    stage: tuple[int, int] | None = None  # pairs to observe; None for the whole row


@dataclass(frozen=True, eq=False)
class _RowWork:
    """Goes to the workers once: how rows are explained, and the plan of each."""

    run: RowRun
    plans: Sequence[Plan]

    def __call__(self, job: _Job) -> tuple[float, list[Any]]:
        started = time.perf_counter()
        if job.stage is None:
            found: list[Any] = [self.run(self.plans[row], [row])[0] for row in job.rows]
        else:
            found = [self.run.fresh(self.plans[row], row, *job.stage) for row in job.rows]
        return time.perf_counter() - started, found


@dataclass(eq=False)
class _Pace:
    """How many rows make a chunk of the wanted length, as far as seen."""

    n_workers: int
    seconds: float = 0.0
    rows: int = 0

    def take(self, left: int) -> int:
        if not self.rows:
            return 1
        wanted = int(_CHUNK_SECONDS * self.rows / max(self.seconds, 1e-9))
        return max(1, min(wanted, -(-left // (4 * self.n_workers))))

    def saw(self, seconds: float, rows: int) -> None:
        self.seconds, self.rows = self.seconds + seconds, self.rows + rows


@dataclass(frozen=True, eq=False)
class RowJobs:
    """Rows of one call on workers.

    Attributes
    ----------
    workers : Workers
    seconds : float, optional
        For one call of the model.
    """

    workers: Workers
    seconds: float | None = None

    def splits_rows(self, n_rows: int) -> bool:
        """Whether the coalitions of a row are spread, as there are fewer rows than workers."""
        return n_rows < self.workers.count()

    def inside(self, run: RowRun) -> RowRun:
        """The run that spreads the coalitions of each row."""
        return replace(run, workers=self.workers, seconds=self.seconds)

    def bind(self, prepared: Prepared, table: Table) -> Task:
        """Rows bound to a model that is asked on a worker, if only there a call can be ended in time."""
        if self.seconds is None or isinstance(prepared.filling, PathDependent):
            return prepared.bind(table)
        asked = run_chunks(prepared.first_answers, [table.take([0])], self.workers, seconds=self.seconds)
        with closing(asked):
            return prepared.bind(table, next(asked)[1])

    def explain(
        self, run: RowRun, plans: Sequence[Plan], rows: Sequence[int]
    ) -> Iterator[tuple[int, RowResult]]:
        """Rows that are fitted alone, in the order in which they are done."""
        yield from self._stream(run, plans, rows, None)

    def observer(
        self, run: RowRun, plans: Sequence[Plan]
    ) -> Callable[[Plan, Sequence[int], int, int], Iterator[tuple[int, FloatArray]]]:
        """What `RowRun` observes rows with that are fitted together."""

        def observe(
            plan: Plan, rows: Sequence[int], before: int, count: int
        ) -> Iterator[tuple[int, FloatArray]]:
            return self._stream(run, plans, rows, (before, count))

        return observe

    def _stream(
        self, run: RowRun, plans: Sequence[Plan], rows: Sequence[int], stage: tuple[int, int] | None
    ) -> Generator[tuple[int, Any]]:
        left, pace = list(reversed(rows)), _Pace(max(1, self.workers.count()))

        def source() -> _Job | None:
            taken = [left.pop() for _ in range(min(len(left), pace.take(len(left))))]
            return _Job(tuple(taken), stage) if taken else None

        stream = run_stream(_RowWork(run, plans), source, self.workers, seconds=self.seconds)
        with closing(stream):
            for job, (seconds, found) in stream:
                pace.saw(seconds, len(found))
                yield from zip(job.rows, found, strict=True)
