"""One bar for a run: quiet where nobody looks at a terminal, or a callback for programs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["ProgressCallback", "track"]

ProgressCallback = Callable[[int, int], object]


@contextmanager
def track(
    total: int, progress: bool | ProgressCallback | None = None, unit: str = "call"
) -> Iterator[Callable[[int], None]]:
    """Yield `advance(n)`; `progress` is True, False, None (a bar on a terminal) or callback(done, total)."""
    done = 0
    if callable(progress):

        def advance(n: int) -> None:
            nonlocal done
            done += n
            progress(done, total)

        yield advance
        return
    if progress is False or (progress is None and not sys.stderr.isatty()):
        yield lambda n: None
        return
    from tqdm import tqdm

    with tqdm(total=total, unit=unit, unit_scale=True, desc="polyshap") as bar:
        yield lambda n: bar.update(n) and None
