"""Clusters behind the same loop: Dask, and an executor for Ray."""

from __future__ import annotations

import socket
from collections.abc import Collection
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from typing import Any

from polyshap.errors import optional_import
from polyshap.execution.pools import Workers, cancel
from polyshap.execution.shipping import Work, packed, unpack, work_with

__all__ = ["RayExecutor", "dask_workers"]


class RayExecutor(Executor):
    """Ray's tasks as an executor: `explain(..., executor=RayExecutor())` after `ray.init()`."""

    def submit(self, function: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        ray = optional_import("ray", extra="ray", purpose="RayExecutor")
        future: Future[Any] = ray.remote(function).remote(*args, **kwargs).future()
        return future


def dask_workers(client: Any) -> Workers:
    """The workers of a `distributed.Client`."""
    return Workers(
        lambda work, seconds: _DaskPool(client, work),
        lambda: sum(client.nthreads().values()),
        _is_local(client),
        processes=True,
    )


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

    def __post_init__(self) -> None:
        import dask

        self.executor = self.client.get_executor(pure=False)
        shipment = packed(self.work)
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TB"}):
            self.remote = self.client.submit(unpack, shipment.data, key=f"polyshap-{shipment.digest}")

    def submit(self, item: Any, with_data: bool) -> Future[Any]:
        future: Future[Any] = self.executor.submit(work_with, self.remote, item)
        return future

    def renew(self) -> None:
        """The scheduler looks after its workers."""

    def close(self, left: Collection[Future[Any]]) -> None:
        cancel(left)
        self.remote.release()
