"""Asynchronous models: many requests in flight, one plain function to the outside."""

from __future__ import annotations

import inspect
import os
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from polyshap._types import FloatArray
from polyshap.errors import ArgumentError, PolyshapError
from polyshap.execution.retries import Patient, Retries, part_of

# asyncio is imported where it is used: it takes a tenth of the time of `import polyshap`
if TYPE_CHECKING:
    import asyncio

__all__ = ["Concurrent", "is_async"]


def is_async(model: Any) -> bool:
    """Whether calling `model` gives something to await."""
    if not callable(model):
        return False
    return inspect.iscoroutinefunction(model) or inspect.iscoroutinefunction(type(model).__call__)


@dataclass(frozen=True, eq=False)
class Concurrent:
    """Rows -> (n, n_outputs) by several requests at a time.

    Parameters
    ----------
    function : async callable
        Some rows -> their predictions.
    numbers : callable
        Makes an answer to n rows an array (n, n_outputs).
    n_rows : int
        Rows of one request.
    max_concurrency : int
        Requests in flight.
    retries : Retries, optional
        Of each request.
    """

    function: Callable[[Any], Awaitable[Any]]
    numbers: Callable[[Any, int], FloatArray]
    n_rows: int
    max_concurrency: int
    retries: Retries | None = None

    def __post_init__(self) -> None:
        if self.max_concurrency < 1 or self.n_rows < 1:
            raise ArgumentError(
                "`max_concurrency` and the rows of a request must be at least 1. Got "
                f"{self.max_concurrency} and {self.n_rows}."
            )

    def __call__(self, rows: Any) -> FloatArray:
        parts = [
            part_of(rows, start, min(start + self.n_rows, len(rows)))
            for start in range(0, len(rows), self.n_rows)
        ]
        answers = _wait(self._all(parts))
        failures = [answer for answer in answers if isinstance(answer, Exception)]
        fatal = [error for error in failures if self.retries is None or isinstance(error, PolyshapError)]
        if fatal:
            raise fatal[0]
        return np.concatenate([self._settled(*pair) for pair in zip(parts, answers, strict=True)])

    def _settled(self, rows: Any, answer: FloatArray | BaseException) -> FloatArray:
        """The answer, or what comes of the parts of a request that keeps failing."""
        if isinstance(answer, Exception) and self.retries is not None:
            return Patient(self._single, self.retries).split(rows, answer)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def _single(self, rows: Any) -> FloatArray:
        answer: FloatArray = _wait(self._request(rows))
        return answer

    async def _all(self, parts: list[Any]) -> list[FloatArray | BaseException]:
        """Every part's answer or exception; without retries the first failure cancels the rest."""
        import asyncio

        free = asyncio.Semaphore(self.max_concurrency)

        async def one(part: Any) -> FloatArray:
            async with free:
                return await self._insist(part)

        tasks = [asyncio.ensure_future(one(part)) for part in parts]
        try:
            until = asyncio.ALL_COMPLETED if self.retries else asyncio.FIRST_EXCEPTION
            await asyncio.wait(tasks, return_when=until)
        finally:
            for task in tasks:
                task.cancel()
        return await asyncio.gather(*tasks, return_exceptions=True)

    async def _insist(self, rows: Any) -> FloatArray:
        import asyncio

        for attempt in range(self.retries.attempts if self.retries else 0):
            assert self.retries is not None
            try:
                return await self._request(rows)
            except PolyshapError:
                raise
            except Exception:
                await asyncio.sleep(self.retries.pause(attempt))
        return await self._request(rows)

    async def _request(self, rows: Any) -> FloatArray:
        return self.numbers(await self.function(rows), len(rows))


@cache
def _loop() -> asyncio.AbstractEventLoop:
    """One event loop for all models of the process: sessions and clients belong to a loop."""
    import asyncio

    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="polyshap requests", daemon=True).start()
    return loop


if hasattr(os, "register_at_fork"):  # the thread of the loop stays with the parent
    os.register_at_fork(after_in_child=_loop.cache_clear)


def _wait(coroutine: Any) -> Any:
    """The coroutine's result; Ctrl-C cancels its requests."""
    import asyncio

    future = asyncio.run_coroutine_threadsafe(coroutine, _loop())
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise
