"""Names of estimators: a table of plain names and a table of patterns."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

from polyshap._types import Estimator
from polyshap.errors import ArgumentError

__all__ = ["ESTIMATORS", "PATTERNS", "get", "names"]

ESTIMATORS: Mapping[str, Callable[[], Estimator]] = MappingProxyType({})

# pattern -> constructor on the match; the first column of `names()` shows the readable form
PATTERNS: tuple[tuple[str, str, Callable[[re.Match[str]], Estimator]], ...] = ()


def names() -> tuple[str, ...]:
    """Every name that `get` takes; K stands for an order."""
    return (*sorted(ESTIMATORS), *(readable for readable, _, _ in PATTERNS))


def get(name: str) -> Estimator:
    """The estimator of that name with its default options.

    >>> get("polyshap-3").order
    3
    """
    if name in ESTIMATORS:
        return ESTIMATORS[name]()
    for _, pattern, build in PATTERNS:
        if match := re.fullmatch(pattern, name):
            return build(match)
    near = difflib.get_close_matches(str(name), names(), n=3)
    hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
    raise ArgumentError(f"`estimator` must be one of {', '.join(names())}. Got {name!r}.{hint}")
