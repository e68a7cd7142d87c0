"""Interactions of pairs as lines between features on a circle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from polyshap.plots.canvas import NEGATIVE, POSITIVE, Result, ink, new_axes, short_names
from polyshap.plots.labels import plain_number
from polyshap.plots.pairs import pairs
from polyshap.results import Index

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["interaction_network"]

_WIDEST = 7.0  # points
_MOST_LINES = 40


def interaction_network(
    result: Result,
    *,
    ax: Axes | None = None,
    row: int | None = None,
    max_features: int = 12,
    index: Index = "faith-shapley",
    names: Sequence[str] | None = None,
) -> Axes:
    """Features on a circle, as large as their value; lines as wide as their interaction.

    Above zero is orange and solid (lines) or filled (circles), below zero blue, dashed and hollow.

    Parameters
    ----------
    result : Explanation or Estimate
        From an estimator that gives interactions. Of several rows without `row`, their mean is drawn.
    ax : matplotlib Axes, optional
    row : int, optional
    max_features : int
    index : str
        See `Estimate.interactions`.
    names : sequence of str, optional
    """
    found = pairs(result, row, max_features, index, names)
    n = len(found.names)
    angle = np.pi / 2 - 2 * np.pi * np.arange(n) / n
    x, y = np.cos(angle), np.sin(angle)
    ax = new_axes(ax, 5.8, 5.0)
    largest = float(np.abs(found.matrix).max()) or 1.0
    first, second = np.tril_indices(n, -1)
    size = np.abs(found.matrix[first, second])
    for k in np.argsort(size, kind="stable")[-_MOST_LINES:]:
        i, j = first[k], second[k]
        share = size[k] / largest
        if share < 0.01:
            continue
        up = found.matrix[i, j] >= 0
        ax.plot([x[i], x[j]], [y[i], y[j]], color=POSITIVE if up else NEGATIVE, zorder=1,
                linestyle="-" if up else (0, (2.2, 1.2)), linewidth=0.4 + _WIDEST * share,
                alpha=0.35 + 0.6 * share, dash_capstyle="butt")  # fmt: skip
    strongest = float(np.abs(found.main).max()) or 1.0
    colours = [POSITIVE if value >= 0 else NEGATIVE for value in found.main]
    faces = [POSITIVE if value >= 0 else ax.get_facecolor() for value in found.main]
    ax.scatter(x, y, s=40 + 320 * np.abs(found.main) / strongest, c=faces, edgecolors=colours,
               linewidths=1.8, zorder=2)  # fmt: skip
    for name, angle_of, a, b in zip(short_names(found.names, 18), angle, x, y, strict=True):
        side = "center" if abs(np.cos(angle_of)) < 0.2 else ("left" if a > 0 else "right")
        level = "center" if side != "center" else ("bottom" if b > 0 else "top")
        ax.text(1.16 * a, 1.16 * b, name, ha=side, va=level, fontsize="small", color=ink())
    ax.set_title(f"{found.title}, widest line {plain_number(largest, largest)}\nsolid: up, dashed: down; "
                 "circles: Shapley values, filled: up", fontsize="small")  # fmt: skip
    ax.set_xlim(-1.9, 1.9)
    ax.set_ylim(-1.4, 1.4)
    ax.set_aspect("equal")
    ax.set_axis_off()
    return ax
