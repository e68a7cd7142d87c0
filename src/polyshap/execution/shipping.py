"""How the model gets to a worker: once, and found again by the hash of its bytes.

A task holds the hash and the name of a file. A worker that has the object uses it, one that can read the
file loads it, and one that can do neither says so and gets the bytes with its next task.
"""

from __future__ import annotations

import faulthandler
import hashlib
import os
import pickle
import sys
import traceback
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from polyshap._threads import one_blas_thread
from polyshap.errors import ArgumentError

__all__ = [
    "Answer",
    "Failure",
    "NotShipped",
    "Shipment",
    "Work",
    "deadline",
    "late_stacks",
    "packed",
    "unpack",
    "work_shipped",
    "work_with",
]

Work = Callable[[Any], Any]


@dataclass(frozen=True)
class Shipment:
    """What to do, as bytes: their hash, and where they are."""

    digest: str
    path: str | None = None
    data: bytes | None = None
    seconds: float | None = None
    driver: str = ""

    def saved(self, folder: Path) -> Shipment:
        """The same with the bytes in a file, or nowhere if the disk is full: then workers ask for them."""
        assert self.data is not None
        file = folder / self.digest
        try:
            file.write_bytes(self.data)
        except OSError:
            file.unlink(missing_ok=True)
            return replace(self, data=None)
        return replace(self, path=str(file), data=None)


@dataclass(frozen=True)
class Answer:
    value: Any


@dataclass(frozen=True)
class Failure:
    """An exception of the user's code on a worker, in a form that survives the way back."""

    data: bytes
    text: str

    def error(self) -> Exception:
        """The exception with its cause, both as they were."""
        error: Exception
        error, error.__cause__ = pickle.loads(self.data)
        error.add_note(f"On the worker:\n{self.text}")
        return error


@dataclass(frozen=True)
class NotShipped:
    """The worker knows neither the object nor its file."""


def packed(work: Work, seconds: float | None = None) -> Shipment:
    """The bytes of a piece of work, functions defined in a notebook included."""
    import cloudpickle

    try:
        data = cloudpickle.dumps(work)
    except Exception as error:
        raise ArgumentError(
            f"`model` must be picklable to be sent to worker processes. It is not: {error}. Open it in a "
            "function that runs on the worker and keeps it (functools.cache), or use threads: "
            "executor=ThreadPoolExecutor(8)."
        ) from error
    digest = hashlib.blake2b(data, digest_size=16).hexdigest()
    return Shipment(digest, data=data, seconds=seconds, driver=_this_process())


_TOKEN = uuid.uuid4().hex


def _this_process() -> str:
    """A name that no other process has, forked ones and those of other machines included."""
    return f"{_TOKEN}-{os.getpid()}"


def unpack(data: bytes) -> Work:
    work: Work = pickle.loads(data)
    return work


# one object a process: the next explanation's model takes the place of the last
_LOADED: dict[str, Work] = {}


def _loaded(shipment: Shipment) -> Work | None:
    if shipment.digest not in _LOADED:
        data = shipment.data
        if data is None and shipment.path is not None:
            try:
                data = Path(shipment.path).read_bytes()
            except OSError:
                return None
        if data is None:
            return None
        work = unpack(data)
        _LOADED.clear()
        _LOADED[shipment.digest] = work
    return _LOADED[shipment.digest]


def work_shipped(shipment: Shipment, item: Any) -> Answer | Failure | NotShipped:
    """Run on a worker that keeps the object between tasks."""
    if shipment.seconds is not None and shipment.driver == _this_process():
        return _failure(
            ArgumentError(
                "`timeout` must go with worker processes, which can be ended. `executor` runs its tasks "
                "in this process. Give n_jobs=2."
            )
        )
    try:
        work = _loaded(shipment)
    except Exception as error:
        return _failure(error)
    if work is None:
        return NotShipped()
    folder = None if shipment.path is None else Path(shipment.path).parent
    return work_with(work, item, shipment.seconds, folder)


def work_with(
    work: Work, item: Any, seconds: float | None = None, folder: Path | None = None, bound: bool = True
) -> Answer | Failure:
    """Run on a worker that was given the object itself; `bound` to one thread of OpenMP too."""
    try:
        with _one_thread() if bound else nullcontext(), one_blas_thread(), _watched(seconds, folder):
            return Answer(work(item))
    except Exception as error:
        return _failure(error)


def _one_thread() -> AbstractContextManager[object]:
    """Workers share the cores: OpenMP that takes them all in each is slower than one thread a worker."""
    from threadpoolctl import threadpool_limits

    limit: AbstractContextManager[object] = threadpool_limits(1, user_api="openmp")
    return limit


def _failure(error: Exception) -> Failure:
    """An exception that cannot be rebuilt on the other side would break the pool: then its text goes."""
    import cloudpickle

    text = "".join(traceback.format_exception(error))
    stand_in = RuntimeError(f"{type(error).__name__}: {error}")
    for pair in ((error, error.__cause__), (error, None), (stand_in, None)):
        try:
            data = cloudpickle.dumps(pair)
            pickle.loads(data)
        except Exception:
            continue
        return Failure(data, text)
    raise error


# seconds a batch may take in this process, and where to leave word if it takes longer; None for its log
_WATCH: list[tuple[float, Path | None]] = []


@contextmanager
def _watched(seconds: float | None, folder: Path | None) -> Iterator[None]:
    if seconds is None:
        yield
        return
    # the driver's folder is not there on another machine
    _WATCH.append((seconds, folder if folder is not None and folder.is_dir() else None))
    try:
        yield
    finally:
        _WATCH.pop()


@contextmanager
def deadline() -> Iterator[None]:
    """Around each call of a model: a process whose time is up ends itself, and its stack is in a file.

    The clock is faulthandler's, a thread without the interpreter's lock, so it also ends code that hangs
    in C and never comes back to Python.
    """
    if not _WATCH:
        yield
        return
    seconds, folder = _WATCH[-1]
    with _word(folder) as file:
        faulthandler.dump_traceback_later(seconds, exit=True, file=file)
        try:
            yield
        finally:
            faulthandler.cancel_dump_traceback_later()


def _word(folder: Path | None) -> AbstractContextManager[Any]:
    """Where a process whose time is up leaves its stack."""
    if folder is None:
        return nullcontext(sys.__stderr__)
    return open(folder / f"late-{os.getpid()}", "w")


def late_stacks(folder: Path) -> str:
    """Where processes stood when their time was up: the threads that called the model."""
    texts = [file.read_text() for file in sorted(folder.glob("late-*"))]
    stacks = [stack for text in texts for stack in text.split("\n\n") if f"in {work_with.__name__}" in stack]
    return "\n".join(stacks or filter(None, texts))
