"""Mean absolute values over rows, one bar a feature, split by output."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from polyshap._types import FloatArray
from polyshap.errors import ArgumentError
from polyshap.explanation import Explanation
from polyshap.plots.canvas import (
    GREY,
    NEGATIVE,
    Result,
    new_axes,
    short_names,
    tidy,
    view,
    whiskers,
)
from polyshap.plots.labels import plain_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["global_importance"]

# A sum over all that is left may be many times the longest bar: it is cut there, and its number written in.
_CUT = 1.5
# Shade and hatch of each output in turn; the hatch tells them apart in print. The last is for all others.
_STYLES = (("#2d5f9a", ""), ("#e08214", "//"), ("#7fb3d5", ".."), ("#b5cf6b", "\\\\"), (GREY, "xx"))


def global_importance(
    result: Result,
    *,
    ax: Axes | None = None,
    max_features: int = 15,
    names: Sequence[str] | None = None,
) -> Axes:
    """Mean |value| over the rows; the whiskers are the mean half width of the rows' 95 % intervals.

    That is an upper bound of the error of the mean: rows that share coalitions share part of their error.

    Parameters
    ----------
    result : Explanation or Estimate
        With several outputs the bars are stacked, in the order of the outputs; of more than five, the
        largest four and the sum of the others.
    ax : matplotlib Axes, optional
    max_features : int
    names : sequence of str, optional
    """
    means, errors, labels, outputs = _means(result, names)
    means, outputs = _at_most(len(_STYLES), means, outputs)
    total = means.sum(axis=1)
    order = np.argsort(-total, kind="stable")[: max(1, max_features)]
    shown = short_names([labels[j] for j in order])
    heights = means[order]
    rest = len(total) - len(order)
    if rest:
        heights = np.vstack([heights, np.delete(means, order, axis=0).sum(axis=0)])
        shown.append(f"sum of {rest} others")
    ax = new_axes(ax, 6.4, 1.0 + 0.3 * len(shown))
    places = np.arange(len(shown))[::-1]
    left = np.zeros(len(shown))
    for column in range(means.shape[1]):
        colour, hatch = _STYLES[column] if means.shape[1] > 1 else (NEGATIVE, "")
        label = outputs[column] if outputs else None
        ax.barh(places, heights[:, column], left=left, color=colour, hatch=hatch, edgecolor="white",
                linewidth=0.4, height=0.68, label=label, zorder=2)  # fmt: skip
        left += heights[:, column]
    if errors is not None and means.shape[1] == 1:
        whiskers(ax, heights[: len(order), 0], places[: len(order)], errors[order])
    ax.set_yticks(places, shown)
    ax.set_ylim(-0.7, len(shown) - 0.3)
    ax.set_xlim(left=0)
    longest = float(heights[: len(order)].sum(axis=1).max())
    if rest and left[-1] > _CUT * longest > 0:  # the bars that have names stay readable
        ax.set_xlim(0, _CUT * longest)
        ax.annotate(f"{plain_number(left[-1], left[-1])} →", (_CUT * longest, places[-1]), (-4, 0),
                    textcoords="offset points", va="center", ha="right", fontsize="small",
                    color="white", zorder=4)  # fmt: skip
    single = means.shape[1] == 1
    ax.set_xlabel(
        "mean |contribution|" + ("\nwhiskers: 95 % intervals" if single and errors is not None else "")
    )
    if not single:  # above the axes, where no bar is
        ax.legend(frameon=False, fontsize="small", loc="lower right", bbox_to_anchor=(1, 1), ncols=3)
    tidy(ax, zero=False)
    return ax


def _at_most(limit: int, means: FloatArray, outputs: tuple[str, ...]) -> tuple[FloatArray, tuple[str, ...]]:
    """The largest outputs in their own order, with short names, and the sum of those beyond the limit."""
    if len(outputs) <= limit:
        return means, tuple(short_names(outputs, 18))
    kept = np.sort(np.argsort(-means.sum(axis=0), kind="stable")[: limit - 1])
    others = np.delete(means, kept, axis=1).sum(axis=1, keepdims=True)
    labels = short_names([outputs[column] for column in kept], 18)
    return np.hstack([means[:, kept], others]), (*labels, f"{len(outputs) - len(kept)} others")


_Parts = tuple[FloatArray, FloatArray | None, tuple[str, ...], tuple[str, ...]]


def _means(result: Result, names: Sequence[str] | None) -> _Parts:
    """Means (n_players, n_outputs), half widths of one output, names of players and of outputs."""
    if isinstance(result, Explanation) and isinstance(result.output_names, tuple):
        values: Any = np.abs(result.values if not result.is_row else result.values[None])
        labels = result.feature_names if names is None else tuple(names)
        if len(labels) != values.shape[1]:
            raise ArgumentError(f"`names` must hold one name for each of {values.shape[1]} players.")
        return values.mean(axis=0), None, labels, result.output_names
    seen = view(result, names)
    errors = None if seen.errors is None else seen.errors.mean(axis=0)
    return seen.importance[:, None], errors, seen.names, ()
