"""One feature: its values against its contributions, each with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polyshap._types import FloatArray
from polyshap.errors import ArgumentError, optional_import
from polyshap.plots.canvas import GREY, NEGATIVE, Result, View, ink, new_axes, shorten, view
from polyshap.plots.places import are_dates, levels_of, numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["scatter"]

# Shares of the range of the values, left of the smallest: where the missing ones stand, and their border.
_MISSING, _BORDER = 0.12, 0.06


def scatter(
    result: Result,
    feature: str | int | None = None,
    *,
    ax: Axes | None = None,
    names: Sequence[str] | None = None,
) -> Axes:
    """Contributions of one feature over its values, with 95 % intervals; missing values stand apart.

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
    column = seen.data[:, player]
    found = numbers(column)
    if found is None or np.isnan(found).all() or _are_flags(column):
        places, levels = levels_of(column)
    else:
        places, levels = found, []
    ax = new_axes(ax, 5.6, 4.0)
    if not levels:
        places = _set_apart(ax, places)
    errors = None if seen.errors is None else seen.errors[:, player]
    ax.errorbar(places, seen.values[:, player], yerr=errors, fmt="o", markersize=3.6, color=NEGATIVE,
                ecolor="#9fb6d2", elinewidth=1.0, capsize=0, markeredgewidth=0)  # fmt: skip
    ax.axhline(0.0, color=GREY, linewidth=0.8, zorder=0.5)
    if levels:
        shown = [shorten(level, 14) for level in levels]
        ax.set_xticks(range(len(levels)), shown)
        if sum(map(len, shown)) >= 50:
            for text in ax.get_xticklabels():
                text.set(rotation=40, ha="right", rotation_mode="anchor")
    elif are_dates(column):
        _write_dates(ax)
    ax.set_xlabel(shorten(seen.names[player], 50))
    ax.set_ylabel(seen.label + ("" if errors is None else ", 95 % intervals"))
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


def _are_flags(column: NDArray[Any]) -> bool:
    return all(isinstance(value, bool | np.bool_) for value in column)


def _set_apart(ax: Axes, places: FloatArray) -> FloatArray:
    """Missing values to the left of a dotted line; a number axis has no place for them."""
    missing = np.isnan(places)
    if not missing.any():
        return places
    low, span = float(np.nanmin(places)), float(np.ptp(places[~missing])) or 1.0
    moved = places.copy()
    moved[missing] = low - (_MISSING + 0.02 * np.linspace(-1, 1, int(missing.sum()))) * span
    ax.axvline(low - _BORDER * span, color=GREY, linewidth=0.8, linestyle=":", zorder=0.5)
    ax.annotate("missing", (low - _MISSING * span, 1.0), (0, 2), xycoords=("data", "axes fraction"),
                textcoords="offset points", ha="center", va="bottom", fontsize="small",
                color=ink())  # fmt: skip
    return moved


def _write_dates(ax: Axes) -> None:
    """Ticks as short dates."""
    dates = optional_import("matplotlib.dates", extra="plot", purpose="A plot")
    ax.xaxis_date()
    ax.xaxis.set_major_formatter(dates.ConciseDateFormatter(ax.xaxis.get_major_locator()))
