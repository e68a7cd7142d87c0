"""Work on processes, threads or a cluster: one loop over anything with `concurrent.futures`' submit.

Chunks are numbered and placed by their number, so that who did what, and who died on the way, leaves no
trace in the result. A chunk whose worker died is given out again; one that has lost two workers runs alone
from then on, so that the blame for a third falls on the right one.
"""

from __future__ import annotations

import time
import warnings
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from polyshap.errors import PolyshapWarning, WorkerError
from polyshap.execution.pools import Workers, as_workers
from polyshap.execution.shipping import Answer, Failure, NotShipped, Work

__all__ = ["Workers", "as_workers", "run_chunks", "run_stream"]

_TRIES = 3
# Chunks given out beyond those that run, so that no worker waits for the driver.
_AHEAD = 2
# What executors raise for a chunk that is lost, by the names of the classes: their packages may be absent.
_LOST = {
    "ActorDiedError": 1,
    "BrokenExecutor": 1,
    "CancelledError": 1,
    "FutureCancelledError": 1,
    "KilledWorker": 2,  # dask gave the chunk to several workers already
    "WorkerCrashedError": 1,
}
# Seconds without a worker before that is said.
_PATIENCE = 30.0
# The pool is made again this many times without one chunk done in between.
_RENEWALS = 5


def run_chunks(
    work: Work, items: Sequence[Any], workers: Workers, *, seconds: float | None = None, tries: int = _TRIES
) -> Generator[tuple[int, Any]]:
    """Yield (number, work(item)) of every item, in the order in which they are done.

    Parameters
    ----------
    work : callable
        Taken to each worker once.
    items : sequence
        What it is called with.
    seconds : float, optional
        Time for one call of the model, in processes.

    Raises
    ------
    WorkerError
        A chunk ended `tries` workers; it is named.
    Exception
        What `work` itself raised, at once, with a note that names the chunk.
    """
    given = iter(items)
    numbered = _Run(work, lambda: next(given, None), workers, tries, seconds, total=len(items))
    with closing(numbered.results()) as results:
        for number, _, value in results:
            yield number, value


def run_stream(
    work: Work,
    source: Callable[[], Any],
    workers: Workers | None,
    *,
    seconds: float | None = None,
    tries: int = _TRIES,
) -> Generator[tuple[Any, Any]]:
    """Yield (item, work(item)) for what `source` gives, asked whenever a worker could take more.

    `source` returns None when it has nothing at the moment; what comes out may well give it more. Without
    workers the same is done here, item by item.
    """
    if workers is None:
        while (item := source()) is not None:
            yield item, work(item)
        return
    with closing(_Run(work, source, workers, tries, seconds).results()) as results:
        for _, item, value in results:
            yield item, value


@dataclass(eq=False)
class _Run:
    """The state of one loop: what waits, what is out, what is suspected to end its worker."""

    work: Work
    source: Callable[[], Any]
    workers: Workers
    tries: int
    seconds: float | None
    total: int | None = None

    def __post_init__(self) -> None:
        self.items: dict[int, Any] = {}  # given out or waiting, by number
        self.n_items = 0
        self.waiting: deque[int] = deque()
        self.suspects: deque[int] = deque()
        self.out: dict[Future[Any], int] = {}
        self.losses: Counter[int] = Counter()
        self.unshipped: set[int] = set()
        self.alone = self.broken = False
        self.renewals = 0
        self.since = time.monotonic()

    def results(self) -> Generator[tuple[int, Any, Any]]:
        first = self._next()
        if first is None:
            return
        self.waiting.append(first)
        self.pool = self.workers.open(self.work, self.seconds)
        try:
            while self._give_out():
                done, _ = wait(self.out, timeout=1.0, return_when=FIRST_COMPLETED)
                self._watch_for_workers()
                yield from self._collect(done)
        finally:
            self.pool.close(list(self.out))

    def _watch_for_workers(self) -> None:
        """A cluster without workers may get some; who waits for them should know."""
        if self.workers.count() > 0:
            self.since = time.monotonic()
        elif time.monotonic() - self.since > _PATIENCE:
            self.since = float("inf")
            warnings.warn(
                f"The cluster of `executor` has had no workers for {_PATIENCE:.0f} s; the run waits.",
                PolyshapWarning,
                stacklevel=2,
            )

    def _next(self) -> int | None:
        """The number of an item that waits, or of a new one."""
        if self.waiting:
            return self.waiting.popleft()
        item = self.source()
        if item is None:
            return None
        self.items[self.n_items] = item
        self.n_items += 1
        return self.n_items - 1

    def _give_out(self) -> bool:
        """Fill the window; False when all is done."""
        if self.broken:
            if self.out:  # the rest of a broken executor's futures fail in a moment
                return True
            self._renew()
        window = 1 if self.alone else _AHEAD * max(1, self.workers.count())
        while len(self.out) < window and not self.broken:
            index = self._next()
            if index is None:
                break
            self._submit(index)
        if not self.out and self.suspects and not self.broken:
            self.alone = True
            self._submit(self.suspects.popleft())
        return bool(self.out) or self.broken

    def _submit(self, index: int) -> None:
        try:
            future = self.pool.submit(self.items[index], index in self.unshipped)
        except Exception as error:
            if not _lost(error) and not isinstance(error, RuntimeError):
                raise
            self.waiting.appendleft(index)  # it was never out: no blame
            self.alone = False
            self.broken = True
        else:
            self.out[future] = index

    def _renew(self) -> None:
        self.renewals += 1
        if self.renewals > _RENEWALS:
            raise WorkerError(
                f"The workers died {self.renewals} times without finishing a chunk. Look at their memory, "
                "and whether the model can be loaded there."
            )
        self.pool.renew()
        self.broken = False

    def _collect(self, done: set[Future[Any]]) -> Iterator[tuple[int, Any, Any]]:
        failed: list[tuple[int, BaseException]] = []
        for future in sorted(done, key=self.out.__getitem__):
            index = self.out.pop(future)
            self.alone = False
            error = future.exception() if not future.cancelled() else None
            if future.cancelled() or (error is not None and _lost(error)):
                self._lose(index, error)
            elif error is not None:
                failed.append((index, error))
            elif isinstance(answer := future.result(), NotShipped):
                self.unshipped.add(index)
                self.waiting.appendleft(index)
            elif isinstance(answer, Failure):
                failed.append((index, answer.error()))
            else:
                assert isinstance(answer, Answer)
                self.renewals = 0
                yield index, self.items.pop(index), answer.value
        for index, error in failed:
            error.add_note(f"It happened in {self._name(index)}.")
            raise error

    def _name(self, index: int) -> str:
        label = getattr(self.items.get(index), "label", "")
        return (
            f"chunk {index}"
            + (f" of {self.total}" if self.total is not None else "")
            + (f" ({label})" if label else "")
        )

    def _lose(self, index: int, error: BaseException | None) -> None:
        """Once more, the last time alone; then it is this chunk that ends its workers."""
        weight = _lost(error) if error is not None else 1
        self.broken |= any(kind.__name__ == "BrokenExecutor" for kind in type(error).__mro__)
        self.losses[index] += weight
        if self.losses[index] < self.tries:
            # a chunk that may be at fault waits until it can run alone
            (self.suspects if self.losses[index] == self.tries - 1 else self.waiting).append(index)
            return
        late = getattr(self.pool, "late", lambda: "")()
        if late:
            raise WorkerError(
                f"A model call of {self._name(index)} took longer than {self.seconds} s, "
                f"{self.tries} times. The last stacks:\n{late[-2000:]}"
            ) from error
        why = "" if self.seconds is None else f" A call of the model may have taken over {self.seconds} s."
        raise WorkerError(
            f"C{self._name(index)[1:]} ended its worker {self.tries} times.{why} Run it here to see why "
            "(n_jobs=None); often the memory of a worker is too small for the model."
        ) from error


def _lost(error: BaseException) -> int:
    """How much an error counts as a worker's death; 0 for one of the user's own."""
    return max((_LOST.get(kind.__name__, 0) for kind in type(error).__mro__), default=0)
