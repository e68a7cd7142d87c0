"""One prediction from the base value up, feature by feature, with 95 % intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from polyshap.plots.canvas import (
    GREY,
    Result,
    View,
    colours_of,
    new_axes,
    one_row,
    shorten,
    tidy,
    whiskers,
    write_number,
)
from polyshap.plots.labels import feature_labels, plain_number, signed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["waterfall"]


def waterfall(
    result: Result,
    *,
    ax: Axes | None = None,
    row: int | None = None,
    max_features: int = 10,
    names: Sequence[str] | None = None,
) -> Axes:
    """Bars that lead from the base value (bottom) to the prediction (top), the strongest feature last.

    The whisker at the end of a bar is the 95 % interval of that bar's length.

    Parameters
    ----------
    result : Explanation or Estimate
    ax : matplotlib Axes, optional
    row : int, optional
        Not needed for a single row.
    max_features : int
        The rest is summed up in the lowest bar.
    names : sequence of str, optional
    """
    seen = one_row(result, row, names)
    order = seen.strongest(max_features)[::-1]
    lengths = [float(seen.values[0, j]) for j in order]
    labels = feature_labels(seen, 0, order)
    margins = [0.0] * len(order) if seen.errors is None else [float(seen.errors[0, j]) for j in order]
    rest = seen.values.shape[1] - len(order)
    if rest:
        lengths.insert(0, float(seen.values[0].sum() - sum(lengths)))
        labels.insert(0, f"{rest} others")
        margins.insert(0, 0.0)
    ax = new_axes(ax, 6.8, 1.3 + 0.36 * len(lengths))
    _draw(ax, seen, np.array(lengths), np.array(margins))
    ax.set_yticks(np.arange(len(lengths)), labels)
    tidy(ax, zero=False)
    return ax


def _draw(ax: Axes, seen: View, lengths: np.ndarray, margins: np.ndarray) -> None:
    base = float(seen.base[0])
    ends = base + np.cumsum(lengths)
    starts = ends - lengths
    places = np.arange(len(lengths))
    ax.barh(places, lengths, left=starts, color=colours_of(lengths), height=0.62, zorder=2)
    for place, end in zip(places[:-1], ends[:-1], strict=True):  # from the end of a bar to the next one
        ax.plot([end, end], [place - 0.31, place + 1.31], color=GREY, linewidth=0.8, zorder=1)
    if seen.errors is not None:
        drawn = margins > 0
        whiskers(ax, ends[drawn], places[drawn], margins[drawn])
    scale = float(np.abs(lengths).max()) or 1.0
    for length, start, end, place, margin in zip(lengths, starts, ends, places, margins, strict=True):
        right = max(start, end + margin)
        write_number(ax, signed(length, scale), (right, float(place)), right=True)
    top = len(lengths) - 0.4
    ax.set_ylim(-0.95, top + 0.55)
    ax.margins(x=0.12)
    middle = sum(ax.get_xlim()) / 2
    for value, place, name, side in ((base, -0.9, "base value", "bottom"),
                                     (float(ends[-1]), top + 0.5, "prediction", "top")):  # fmt: skip
        ax.axvline(value, color=GREY, linewidth=0.9, linestyle=(0, (3, 3)), zorder=0.5)
        text = f"{name} {plain_number(value, max(abs(value), scale))}"
        write_number(ax, text, (value, place), right=value <= middle, level=side)
    label = "prediction" if seen.output is None else f"prediction of {shorten(seen.output)}"
    ax.set_xlabel(label + ("" if seen.errors is None else "\nwhiskers: 95 % intervals of the bars"))
