"""Clusters behind the same loop: Dask, and an executor for Ray."""

from __future__ import annotations

import shutil
import socket
import tempfile
from collections.abc import Collection
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polyshap.errors import optional_import
from polyshap.execution.pools import Workers, cancel
from polyshap.execution.shipping import Work, late_stacks, packed, unpack, work_with

__all__ = ["RayExecutor", "dask_workers"]


class RayExecutor(Executor):
    """Ray's tasks as an executor: `explain(..., executor=RayExecutor())` after `ray.init()`."""

    def submit(self, function: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        ray = optional_import("ray", extra="ray", purpose="RayExecutor")
        future: Future[Any] = ray.remote(function).remote(*args, **kwargs).future()
        return future


def dask_workers(client: Any) -> Workers:
    """The workers of a `distributed.Client`."""
    local = _is_local(client)
    return Workers(
        lambda work, seconds: _DaskPool(client, work, seconds, local),
        lambda: sum(client.nthreads().values()),
        local,
        processes=_are_processes(client),
    )


def _are_processes(client: Any) -> bool:
    """Whether each worker is a process with one task at a time: only that can be ended for its task."""
    threads = client.nthreads()
    return all(n == 1 for n in threads.values()) and not any(name.startswith("inproc:") for name in threads)


def _is_local(client: Any) -> bool:
    """Whether every worker is on this machine, and so sees its files."""
    own = {"127.0.0.1", "localhost", "", "::1", socket.gethostname()}
    hosts = {worker.get("host", "") for worker in client.scheduler_info(n_workers=-1)["workers"].values()}
    return hosts <= own


@dataclass(eq=False)
class _DaskPool:
    """The model is the result of a task, not scattered data: when its workers die it is made again."""

    client: Any
    work: Work
    seconds: float | None = None
    local: bool = False
    folder: Path | None = None

    def __post_init__(self) -> None:
        import dask

        if self.seconds is not None and self.local:
            self.folder = Path(tempfile.mkdtemp(prefix="polyshap-"))

        self.executor = self.client.get_executor(pure=False)
        shipment = packed(self.work)
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TB"}):
            self.remote = self.client.submit(unpack, shipment.data, key=f"polyshap-{shipment.digest}")

    def submit(self, item: Any, with_data: bool) -> Future[Any]:
        future: Future[Any] = self.executor.submit(work_with, self.remote, item, self.seconds, self.folder)
        return future

    def renew(self) -> None:
        """The scheduler looks after its workers."""

    def close(self, left: Collection[Future[Any]]) -> None:
        cancel(left)
        self.remote.release()
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)

    def late(self) -> str:
        """Where a process stood when its time was up; workers of other machines write it to their logs."""
        return "" if self.folder is None else late_stacks(self.folder)
