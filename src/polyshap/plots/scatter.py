"""One feature: its values against its contributions, each with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polyshap._types import FloatArray
from polyshap.errors import ArgumentError
from polyshap.plots.canvas import GREY, NEGATIVE, Result, View, new_axes, shorten, view
from polyshap.plots.labels import value_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["scatter"]

_MOST_LEVELS = 20


def scatter(
    result: Result,
    feature: str | int | None = None,
    *,
    ax: Axes | None = None,
    names: Sequence[str] | None = None,
) -> Axes:
    """Contributions of one feature over its values, with 95 % intervals.

    Parameters
    ----------
    result : Explanation
    feature : str or int, optional
        The most important one by default.
    ax : matplotlib Axes, optional
    names : sequence of str, optional
    """
    seen = view(result, names)
    if seen.data is None:
        raise ArgumentError("`result` must hold data to put on the axis. Got an estimate. Explain a model.")
    player = _player(seen, feature)
    places, levels = _places(seen.data[:, player])
    ax = new_axes(ax, 5.6, 4.0)
    errors = None if seen.errors is None else seen.errors[:, player]
    ax.errorbar(places, seen.values[:, player], yerr=errors, fmt="o", markersize=3.6, color=NEGATIVE,
                ecolor="#9fb6d2", elinewidth=1.0, capsize=0, markeredgewidth=0)  # fmt: skip
    ax.axhline(0.0, color=GREY, linewidth=0.8, zorder=0.5)
    if levels:
        shown = [shorten(level, 14) for level in levels]
        ax.set_xticks(range(len(levels)), shown, rotation=0 if sum(map(len, shown)) < 50 else 45)
    ax.set_xlabel(shorten(seen.names[player], 50))
    ax.set_ylabel(seen.label)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    return ax


def _player(seen: View, feature: str | int | None) -> int:
    if feature is None:
        return int(seen.strongest(1)[0])
    if isinstance(feature, str) and feature in seen.names:
        return seen.names.index(feature)
    if isinstance(feature, int | np.integer) and -len(seen.names) <= feature < len(seen.names):
        return int(feature) % len(seen.names)
    raise ArgumentError(
        f"`feature` must be a name or a number of 0..{len(seen.names) - 1}. Got {feature!r}. "
        f"Names: {', '.join(seen.names[:20])}."
    )


def _places(column: NDArray[Any]) -> tuple[FloatArray, list[str]]:
    """Numbers and dates as they are; text at the places of its sorted levels, spread a little."""
    if column.dtype.kind in "mM":
        return column, []
    try:
        return column.astype(float), []
    except (TypeError, ValueError):
        texts = np.array([value_text(value) for value in column])
    levels, place, counts = np.unique(texts, return_inverse=True, return_counts=True)
    if len(levels) > _MOST_LEVELS:  # the frequent ones keep their name
        keep = np.sort(np.argsort(-counts, kind="stable")[: _MOST_LEVELS - 1])
        number = np.full(len(levels), len(keep))
        number[keep] = np.arange(len(keep))
        place, levels = number[place], np.append(levels[keep], "other")
    spread = np.zeros(len(place))
    for level in range(len(levels)):
        members = np.flatnonzero(place == level)
        spread[members] = np.linspace(-0.25, 0.25, len(members)) if len(members) > 1 else 0.0
    return place + spread, [str(level) for level in levels]
