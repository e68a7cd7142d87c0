"""Work on processes, threads or a cluster: one loop over anything with `concurrent.futures`' submit.

Chunks are numbered and placed by their number, so that who did what, and who died on the way, leaves no
trace in the result. A chunk whose worker died is given out again; one that has lost two workers runs alone
from then on, so that the blame for a third falls on the right one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from typing import Any

from polyshap.errors import WorkerError
from polyshap.execution.pools import Pool, Workers, as_workers
from polyshap.execution.shipping import Answer, Failure, NotShipped, Work

__all__ = ["Workers", "as_workers", "run_chunks"]

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
# The pool is made again this many times without one chunk done in between.
_RENEWALS = 5


def run_chunks(
    work: Work, items: Sequence[Any], workers: Workers, *, seconds: float | None = None, tries: int = _TRIES
) -> Iterator[tuple[int, Any]]:
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
    if not items:
        return
    run = _Run(workers.open(work, seconds), items, workers.count, tries, seconds)
    try:
        yield from run.results()
    finally:
        run.pool.close(list(run.out))


@dataclass(eq=False)
class _Run:
    """The state of one loop: what waits, what is out, what is suspected to end its worker."""

    pool: Pool
    items: Sequence[Any]
    count: Callable[[], int]
    tries: int
    seconds: float | None

    def __post_init__(self) -> None:
        self.waiting = deque(range(len(self.items)))
        self.suspects: deque[int] = deque()
        self.out: dict[Future[Any], int] = {}
        self.losses = [0] * len(self.items)
        self.unshipped: set[int] = set()
        self.alone = self.broken = False
        self.renewals = 0

    def results(self) -> Iterator[tuple[int, Any]]:
        while self.waiting or self.suspects or self.out:
            self._give_out()
            done, _ = wait(self.out, timeout=1.0, return_when=FIRST_COMPLETED)
            yield from self._collect(done)

    def _give_out(self) -> None:
        if self.broken:
            if self.out:  # the rest of a broken executor's futures fail in a moment
                return
            self._renew()
        window = 1 if self.alone else _AHEAD * max(1, self.count())
        while self.waiting and len(self.out) < window and not self.broken:
            self._submit(self.waiting.popleft())
        if not self.out and self.suspects and not self.broken:
            self.alone = True
            self._submit(self.suspects.popleft())

    def _submit(self, index: int) -> None:
        try:
            future = self.pool.submit(self.items[index], index in self.unshipped)
        except Exception as error:
            if not _lost(error) and not isinstance(error, RuntimeError):
                raise
            self.waiting.appendleft(index)  # it was never out: no blame
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

    def _collect(self, done: set[Future[Any]]) -> Iterator[tuple[int, Any]]:
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
                yield index, answer.value
        for index, error in failed:
            error.add_note(f"It happened in chunk {index} of {len(self.items)}.")
            raise error

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
                f"A model call of chunk {index} of {len(self.items)} took longer than {self.seconds} s, "
                f"{self.tries} times. The last stacks:\n{late[-2000:]}"
            ) from error
        raise WorkerError(
            f"Chunk {index} of {len(self.items)} ended its worker {self.tries} times. Run it here to see "
            "why (n_jobs=None); often the memory of a worker is too small for the model."
        ) from error


def _lost(error: BaseException) -> int:
    """How much an error counts as a worker's death; 0 for one of the user's own."""
    return max((_LOST.get(kind.__name__, 0) for kind in type(error).__mro__), default=0)
