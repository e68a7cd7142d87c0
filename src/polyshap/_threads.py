"""One BLAS thread for models and small systems: rows run in parallel instead.

Small systems are slower with several; and the last bits of a product depend on the number of threads, so a
model must have as many here as in a worker process that shares the cores with others.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache

from threadpoolctl import ThreadpoolController

__all__ = ["bounded_threads", "one_blas_thread"]

# Below this many rows and columns a second thread costs more than it brings: on systems of a few
# hundred rows, beside other work, several threads were 15 to 30 times slower than one.
_SMALL = 1_000


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()  # looks all loaded libraries up, about 5 ms


class _SharedLimit:
    """A limit of the whole process that overlapping threads share: the first sets it, the last lifts it.

    BLAS keeps one number of threads for the process. Were each thread to restore what it had found, one
    would lift the limit under another, whose last bits would then depend on the others. threadpoolctl lets
    only the thread that set a limit lift it, so a thread that does nothing else holds it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._lifted = threading.Event()
        self._holder = threading.Thread()

    @contextmanager
    def hold(self) -> Iterator[None]:
        with self._lock:
            if self._inside == 0:
                self._set()
            self._inside += 1
        try:
            yield
        finally:
            with self._lock:
                self._inside -= 1
                if self._inside == 0:
                    self._lifted.set()
                    self._holder.join()

    def _set(self) -> None:
        is_set, self._lifted = threading.Event(), threading.Event()

        def hold_until(lifted: threading.Event) -> None:
            try:
                with _controller().limit(limits=1, user_api="blas"):
                    is_set.set()
                    lifted.wait()
            finally:
                is_set.set()  # whoever waits goes on without a limit rather than for ever

        self._holder = threading.Thread(target=hold_until, args=(self._lifted,), daemon=True)
        self._holder.start()
        is_set.wait()


_ONE_THREAD = _SharedLimit()
if hasattr(os, "register_at_fork"):  # a child has none of its parent's threads
    os.register_at_fork(after_in_child=_ONE_THREAD.__init__)  # type: ignore[misc]


def one_blas_thread() -> AbstractContextManager[None]:
    """Limit BLAS to one thread while a model is asked."""
    return _ONE_THREAD.hold()


def bounded_threads(size: int) -> AbstractContextManager[None]:
    """Limit BLAS to one thread while a system of this many unknowns is solved, if it is small."""
    return nullcontext() if size >= _SMALL else _ONE_THREAD.hold()
