"""Where chunks can run: an own pool of processes, threads, a Dask cluster, or any other executor."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Collection
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from polyshap.errors import ArgumentError, ArgumentTypeError, WorkerError
from polyshap.execution.shipping import Shipment, Work, packed, work_shipped, work_with

__all__ = ["Pool", "Workers", "as_workers", "cancel"]

# One BLAS thread a worker, whatever their number: more of them change the last bits of a product.
_THREADS = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1"
)
# loky ends a worker whose memory has grown; ours grows once, by the model it was sent
_OWN_ENVIRONMENT = _THREADS | {"LOKY_MAX_MEMORY_LEAK_SIZE": "1e18"}


class Pool(Protocol):
    """Workers that know what to do, during one run."""

    def submit(self, item: Any, with_data: bool) -> Future[Any]: ...
    def renew(self) -> None:
        """Make the executor again after it broke."""

    def close(self, left: Collection[Future[Any]]) -> None:
        """Let go of what is still `left`."""


@dataclass(frozen=True, eq=False)
class Workers:
    """Where chunks can run.

    Attributes
    ----------
    open : callable
        (work, seconds) -> Pool.
    count : callable
        How many chunks run at a time at present.
    same_host : bool
        Whether the workers see the files of this machine.
    processes : bool
        Whether a worker can be ended without ending the run.
    """

    open: Callable[[Work, float | None], Pool]
    count: Callable[[], int]
    same_host: bool
    processes: bool


def cancel(futures: Collection[Future[Any]]) -> None:
    for future in futures:
        future.cancel()


def as_workers(n_jobs: int | None = None, executor: Any = None) -> Workers | None:
    """Workers of an own pool of processes, of a Dask client or of any executor; None to work here.

    Parameters
    ----------
    n_jobs : int, optional
        Processes of an own pool; -1 takes one a core.
    executor : object, optional
        A Dask `Client`, anything with `submit(function, *arguments)` that returns
        `concurrent.futures.Future`, or a function without arguments that makes one.
    """
    if executor is None:
        return _own(n_jobs)
    if n_jobs is not None:
        raise ArgumentError(f"`n_jobs` must be left out beside `executor`. Got n_jobs={n_jobs}.")
    if hasattr(executor, "get_executor") and hasattr(executor, "scheduler_info"):
        from polyshap.execution.adapters import dask_workers

        return dask_workers(executor)
    if isinstance(executor, ThreadPoolExecutor):
        return Workers(
            lambda work, seconds: _ThreadPool(executor, work), lambda: _size(executor), True, processes=False
        )
    if hasattr(executor, "submit") and not isinstance(executor, type):
        make, owned = _maker(executor), False
    elif callable(executor):
        make, owned = executor, True
    else:
        raise ArgumentTypeError(
            "`executor` must be a Dask Client, an Executor or a function that makes one. "
            f"Got {type(executor).__name__}."
        )
    first = None if owned else executor
    local = isinstance(executor, ProcessPoolExecutor) or type(executor).__module__.startswith("loky.")
    return Workers(
        lambda work, seconds: _ProcessPool(make, packed(work, seconds), first),
        lambda: _size(executor),
        local,
        processes=True,
    )


def _own(n_jobs: int | None) -> Workers | None:
    """A pool of loky: processes that start anew, whatever the platform."""
    if n_jobs is None:
        return None
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int) or n_jobs == 0 or n_jobs < -1:
        raise ArgumentError(f"`n_jobs` must be a number of processes, or -1 for one a core. Got {n_jobs!r}.")
    if n_jobs == 1:
        return None
    import loky

    size = loky.cpu_count() if n_jobs == -1 else n_jobs

    def make() -> Executor:
        made: Executor = loky.ProcessPoolExecutor(size, initializer=_ignore_interrupts, env=_OWN_ENVIRONMENT)
        return made

    return Workers(
        lambda work, seconds: _ProcessPool(make, packed(work, seconds)), lambda: size, True, processes=True
    )


def _ignore_interrupts() -> None:
    """Ctrl-C goes to the whole group of processes; the driver ends its workers itself."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _size(executor: Any) -> int:
    return int(getattr(executor, "_max_workers", 0) or getattr(executor, "max_workers", 0) or 4)


def _maker(executor: Any) -> Callable[[], Executor]:
    """How to make an executor like this one after it broke."""

    def make() -> Executor:
        if not isinstance(executor, ProcessPoolExecutor):
            raise WorkerError(
                f"`executor` broke, and a {type(executor).__name__} cannot be made again here. Give a "
                "function that makes it: executor=lambda: MyExecutor(...)."
            )
        # the options it was made with have no public names
        return ProcessPoolExecutor(
            _size(executor),
            getattr(executor, "_mp_context", None),
            getattr(executor, "_initializer", None),
            getattr(executor, "_initargs", ()),
        )

    return make


@dataclass(eq=False)
class _ThreadPool:
    """Threads see the model itself."""

    executor: Executor
    work: Work

    def submit(self, item: Any, with_data: bool) -> Future[Any]:
        return self.executor.submit(work_with, self.work, item, None, None, False)

    def renew(self) -> None:
        raise WorkerError("`executor` was shut down during the run. Give a new one.")

    def close(self, left: Collection[Future[Any]]) -> None:
        cancel(left)


@dataclass(eq=False)
class _ProcessPool:
    """Any executor: the model is found by its hash; one that was made here is closed here."""

    make: Callable[[], Executor]
    shipment: Shipment
    given: Executor | None = None
    made: Executor | None = None
    folder: Path = field(default_factory=lambda: Path(tempfile.mkdtemp(prefix="polyshap-")))

    def __post_init__(self) -> None:
        self.by_file = self.shipment.saved(self.folder)
        if self.given is None:
            self.made = self.make()

    def submit(self, item: Any, with_data: bool) -> Future[Any]:
        executor = self.made or self.given
        assert executor is not None
        shipment = replace(self.by_file, data=self.shipment.data) if with_data else self.by_file
        return executor.submit(work_shipped, shipment, item)

    def renew(self) -> None:
        self._end(kill=True)
        self.made = self.make()

    def close(self, left: Collection[Future[Any]]) -> None:
        if self.made is None:
            cancel(left)
        self._end(kill=bool(left))
        shutil.rmtree(self.folder, ignore_errors=True)

    def late(self) -> str:
        """Where a process stood when its time was up."""
        texts = [file.read_text() for file in sorted(self.folder.glob("late-*.txt"))]
        return "\n".join(text for text in texts if text)

    def _end(self, kill: bool) -> None:
        made, self.made = self.made, None
        if made is None:
            return
        if type(made).__module__.startswith("loky."):
            made.shutdown(wait=True, kill_workers=kill)  # type: ignore[call-arg]
            return
        if kill:  # a process that hangs would keep the interpreter from ending
            for process in list((getattr(made, "_processes", None) or {}).values()):
                process.kill()
        made.shutdown(wait=True)
