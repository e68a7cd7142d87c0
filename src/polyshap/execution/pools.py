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
from polyshap.execution.shipping import Shipment, Work, late_stacks, packed, work_shipped, work_with

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
    close : callable
        Ends what was made here.
    """

    open: Callable[[Work, float | None], Pool]
    count: Callable[[], int]
    same_host: bool
    processes: bool
    close: Callable[[], None] = lambda: None


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
        kept = _Kept(_maker(executor), executor)
    elif callable(executor):
        kept = _Kept(executor)
    else:
        raise ArgumentTypeError(
            "`executor` must be a Dask Client, an Executor or a function that makes one. "
            f"Got {type(executor).__name__}."
        )
    local = isinstance(executor, ProcessPoolExecutor) or type(executor).__module__.startswith("loky.")
    return _of_processes(kept, lambda: _size(kept.made or executor), local)


def _of_processes(kept: _Kept, count: Callable[[], int], same_host: bool) -> Workers:
    return Workers(
        lambda work, seconds: _ProcessPool(kept, packed(work, seconds)),
        count,
        same_host,
        processes=True,
        close=lambda: kept.end(kill=False),
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

    return _of_processes(_Kept(make), lambda: size, same_host=True)


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
    """Threads see the model itself. Those of an executor that was shut down are started anew."""

    executor: Executor
    work: Work
    own: bool = False

    def submit(self, item: Any, with_data: bool) -> Future[Any]:
        return self.executor.submit(work_with, self.work, item, None, None, False)

    def renew(self) -> None:
        self.executor, self.own = ThreadPoolExecutor(_size(self.executor)), True

    def close(self, left: Collection[Future[Any]]) -> None:
        cancel(left)
        if self.own:
            self.executor.shutdown()


@dataclass(eq=False)
class _Kept:
    """An executor that was given, or made here, and stays from one piece of work to the next."""

    make: Callable[[], Executor]
    given: Executor | None = None
    made: Executor | None = None

    def executor(self) -> Executor:
        if self.made is None and self.given is None:
            self.made = self.make()
        found = self.made or self.given
        assert found is not None
        return found

    def renew(self) -> None:
        self.end(kill=True)
        self.made, self.given = self.make(), None

    def end(self, kill: bool) -> None:
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


@dataclass(eq=False)
class _ProcessPool:
    """One piece of work on any executor: the model is found by its hash."""

    kept: _Kept
    shipment: Shipment
    folder: Path = field(default_factory=lambda: Path(tempfile.mkdtemp(prefix="polyshap-")))

    def __post_init__(self) -> None:
        self.by_file = self.shipment.saved(self.folder)

    def submit(self, item: Any, with_data: bool) -> Future[Any]:
        shipment = replace(self.by_file, data=self.shipment.data) if with_data else self.by_file
        return self.kept.executor().submit(work_shipped, shipment, item)

    def renew(self) -> None:
        self.kept.renew()

    def close(self, left: Collection[Future[Any]]) -> None:
        if left and self.kept.made is not None:
            self.kept.end(kill=True)
        else:
            cancel(left)
        shutil.rmtree(self.folder, ignore_errors=True)

    def late(self) -> str:
        """Where a process stood when its time was up."""
        return late_stacks(self.folder)
