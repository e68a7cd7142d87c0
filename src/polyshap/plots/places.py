"""Where the values of a feature stand on an axis."""

from __future__ import annotations

from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyshap._types import FloatArray
from polyshap.errors import optional_import
from polyshap.plots.labels import value_text
from polyshap.tables.columns import is_missing

__all__ = ["are_dates", "levels_of", "numbers"]

_MOST_LEVELS = 20


def numbers(column: NDArray[Any]) -> FloatArray | None:
    """Numbers as they are, dates as matplotlib's days, NaN where missing; None where there is text."""
    missing = _missing(column)
    found = np.full(len(column), np.nan)
    try:
        if are_dates(column):
            dates = optional_import("matplotlib.dates", extra="plot", purpose="A plot")
            found[~missing] = dates.date2num(column[~missing])
        else:
            found[~missing] = column[~missing].astype(float)
    except (TypeError, ValueError):
        return None
    return found


def are_dates(column: NDArray[Any]) -> bool:
    """Whether all that is known are dates."""
    known = column[~_missing(column)]
    return len(known) > 0 and all(isinstance(value, date | np.datetime64) for value in known)


def levels_of(column: NDArray[Any]) -> tuple[FloatArray, list[str]]:
    """Values as text at the places of their sorted levels, spread a little; rare and missing ones last."""
    texts = np.array([value_text(value) for value in column])
    missing = _missing(column)
    levels, counts = np.unique(texts[~missing], return_counts=True)
    last = ["missing"] if missing.any() else []
    if len(levels) > _MOST_LEVELS - len(last):
        kept = levels[np.sort(np.argsort(-counts, kind="stable")[: _MOST_LEVELS - 1 - len(last)])]
        last = ["other", *last]
    else:
        kept = levels
    number = {text: place for place, text in enumerate(kept)}
    place = np.array([number.get(text, len(kept)) for text in texts], dtype=float)
    place[missing] = len(kept) + len(last) - 1
    return place + _spread(place), [*map(str, kept), *last]


def _spread(place: FloatArray) -> FloatArray:
    """Offsets that keep the points of a level apart."""
    offsets = np.zeros(len(place))
    for level in np.unique(place):
        members = np.flatnonzero(place == level)
        offsets[members] = np.linspace(-0.25, 0.25, len(members)) if len(members) > 1 else 0.0
    return offsets


def _missing(column: NDArray[Any]) -> NDArray[np.bool_]:
    return np.array([is_missing(value) for value in column], dtype=bool)
