"""All rows at once: a point for each row and feature, with the noise around zero."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polyshap._types import FloatArray
from polyshap.plots.canvas import GREY, Result, new_axes, short_names, tidy, view
from polyshap.plots.places import numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["beeswarm"]

_COLUMNS = 90  # places across the axis where points pile up


def beeswarm(
    result: Result,
    *,
    ax: Axes | None = None,
    max_features: int = 12,
    names: Sequence[str] | None = None,
) -> Axes:
    """Contributions of all rows, one line a feature; lighter points have higher feature values.

    The grey band around zero is the mean 95 % interval of the feature: points within it cannot be told
    from zero. Missing values and text are grey.

    Parameters
    ----------
    result : Explanation
    ax : matplotlib Axes, optional
    max_features : int
    names : sequence of str, optional
    """
    seen = view(result, names)
    order = seen.strongest(max_features)
    ax = new_axes(ax, 6.8, 1.1 + 0.42 * len(order))
    low, high = float(seen.values[:, order].min()), float(seen.values[:, order].max())
    points, shaded = None, False
    for place, player in zip(range(len(order) - 1, -1, -1), order, strict=True):
        values = seen.values[:, player]
        if seen.errors is not None:
            width = float(seen.errors[:, player].mean())
            ax.barh(place, 2 * width, left=-width, height=0.82, color=GREY, alpha=0.3, zorder=0.4)
        shade = np.full(len(values), np.nan) if seen.data is None else _shades(seen.data[:, player])
        shaded |= bool(np.isfinite(shade).any())
        heights = place + _pile(values, low, high)
        known = np.isfinite(shade)
        ax.scatter(values[~known], heights[~known], s=11, color=GREY, linewidths=0, zorder=2)
        points = ax.scatter(values[known], heights[known], s=11, c=shade[known], cmap="viridis",
                            vmin=0, vmax=1, edgecolors=GREY, linewidths=0.3, zorder=2)  # fmt: skip
    ax.set_yticks(range(len(order)), short_names([seen.names[j] for j in order[::-1]]))
    ax.set_ylim(-0.7, len(order) - 0.3)
    ax.set_xlabel(seen.label + ("" if seen.errors is None else "\ngrey band: mean 95 % interval around zero"))
    if points is not None and shaded:
        legend = ax.figure.colorbar(points, ax=ax, ticks=[0, 1], aspect=40, pad=0.02)
        legend.ax.set_yticklabels(["low", "high"])
        legend.set_label("feature value", labelpad=-12)
        legend.outline.set_visible(False)
    tidy(ax)
    return ax


def _shades(column: NDArray[Any]) -> FloatArray:
    """Ranks of the feature's values in 0..1, ties alike; NaN where it is neither a number nor a date."""
    shades = np.full(len(column), np.nan)
    found = numbers(column)
    if found is None:
        return shades
    known = np.isfinite(found)
    levels, place = np.unique(found[known], return_inverse=True)
    shades[known] = place / max(1, len(levels) - 1) if len(levels) > 1 else 0.5
    return shades


def _pile(values: FloatArray, low: float, high: float) -> FloatArray:
    """Offsets that spread points which would cover each other, widest where most are."""
    span = high - low or 1.0
    column = np.floor((values - low) / span * _COLUMNS).astype(int)
    offsets = np.zeros(len(values))
    counts = np.bincount(column)
    largest = counts.max()
    for place in np.flatnonzero(counts > 1):
        members = np.flatnonzero(column == place)
        members = members[np.argsort(values[members], kind="stable")]
        side = np.where(np.arange(len(members)) % 2 == 0, 1.0, -1.0)
        offsets[members] = side * ((np.arange(len(members)) + 1) // 2)
    return np.asarray(offsets * min(0.07, 0.76 / max(1, largest)))
