"""The values of one row as signed bars, with 95 % intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from polyshap._types import IntArray
from polyshap.explanation import Explanation
from polyshap.plots.canvas import (
    Result,
    colours_of,
    new_axes,
    one_row,
    tidy,
    whiskers,
    write_number,
)
from polyshap.plots.global_importance import global_importance
from polyshap.plots.labels import feature_labels, signed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["bar"]

_WIDTH = 6.4  # inches


def bar(
    result: Result,
    *,
    ax: Axes | None = None,
    row: int | None = None,
    max_features: int = 12,
    names: Sequence[str] | None = None,
) -> Axes:
    """Signed bars of one row, strongest on top; several rows without `row` become `global_importance`.

    Parameters
    ----------
    result : Explanation or Estimate
    ax : matplotlib Axes, optional
        Drawn on a new figure without.
    row : int, optional
    max_features : int
        The rest is summed up in one bar.
    names : sequence of str, optional
        In place of the feature names, or for the players of an estimate.

    Returns
    -------
    matplotlib Axes
    """
    if isinstance(result, Explanation) and not result.is_row and len(result) > 1 and row is None:
        return global_importance(result, ax=ax, max_features=max_features, names=names)
    seen = one_row(result, row, names)
    order = seen.strongest(max_features)
    values = seen.values[0]
    rest = len(values) - len(order)
    heights = [float(values[j]) for j in order]
    labels = feature_labels(seen, 0, order)
    if rest:
        heights.append(float(values.sum() - values[order].sum()))
        labels.append(f"{rest} others")
    own = ax is None
    ax = new_axes(ax, _WIDTH, 1.0 + 0.32 * len(heights))
    places = np.arange(len(heights))[::-1]
    ax.barh(places, heights, color=colours_of(np.array(heights)), height=0.66, zorder=2)
    if seen.errors is not None:
        whiskers(ax, heights[: len(order)], places[: len(order)], seen.errors[0][order])
    ax.set_yticks(places, labels)
    margins = [0.0] * len(heights)
    if seen.errors is not None:
        margins[: len(order)] = map(float, seen.errors[0][order])
    points = 72 * ax.get_window_extent().width / ax.figure.dpi
    if own:  # the layout gives the names their room when it is drawn: six points a character, and a gap
        points = min(points, 72 * _WIDTH - 6 * max(map(len, labels)) - 20)
    _write_values(ax, heights, places, margins, points)
    ax.set_xlabel(seen.label + ("" if seen.errors is None else "\nwhiskers: 95 % intervals"))
    ax.set_ylim(-0.7, len(heights) - 0.3)
    tidy(ax)
    return ax


def _write_values(
    ax: Axes, heights: Sequence[float], places: IntArray, margins: Sequence[float], points: float
) -> None:
    """Numbers beside the bars, outside of the whiskers, on axes of that many points."""
    scale = max(map(abs, heights)) or 1.0
    for height, place, margin in zip(heights, places, margins, strict=True):
        side = 1 if height >= 0 else -1
        write_number(ax, signed(height, scale), (height + side * margin, place), right=side > 0)
    low = min(0.0, *(height - margin for height, margin in zip(heights, margins, strict=True)))
    high = max(0.0, *(height + margin for height, margin in zip(heights, margins, strict=True)))
    # the share of the axes that a number takes: six points a character, and gaps
    share = min(0.3, (6 * len(signed(scale, scale)) + 8) / points)
    left, right = min(heights) < 0, max(heights) >= 0
    room = share / (1 - share * (left + right)) * (high - low or 1.0)
    ax.set_xlim(low - room * left, high + room * right)
