"""One BLAS thread for small systems: several are slower there, and rows run in parallel instead."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import cache

from threadpoolctl import ThreadpoolController

__all__ = ["bounded_threads"]

# Below this many rows and columns a second thread costs more than it brings: on systems of a few
# hundred rows, beside other work, several threads were 15 to 30 times slower than one.
_SMALL = 1_000


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()  # looks all loaded libraries up, about 5 ms


def bounded_threads(size: int) -> AbstractContextManager[object]:
    """Limit BLAS to one thread while a system of this many unknowns is solved, if it is small."""
    if size >= _SMALL:
        return nullcontext()
    limit: AbstractContextManager[object] = _controller().limit(limits=1, user_api="blas")
    return limit
