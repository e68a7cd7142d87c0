"""Interactions of pairs as a triangle of cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from polyshap.plots.canvas import Result, add_scale, diverging, new_axes, short_names
from polyshap.plots.labels import signed
from polyshap.plots.pairs import pairs
from polyshap.results import Index

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["interaction_heatmap"]

_MOST_NUMBERS = 12  # features, past which numbers in the cells would not be read


def interaction_heatmap(
    result: Result,
    *,
    ax: Axes | None = None,
    row: int | None = None,
    max_features: int = 10,
    index: Index = "faith-shapley",
    names: Sequence[str] | None = None,
) -> Axes:
    """Pairs of the features that interact most: lighter cells push up together, darker ones down.

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
    hidden = np.triu(np.ones((n, n), dtype=bool))
    cells = np.ma.masked_array(found.matrix, hidden)
    ax = new_axes(ax, 2.6 + 0.5 * n, 1.6 + 0.4 * n)
    limit = float(np.abs(found.matrix).max()) or 1.0
    picture = ax.imshow(cells[1:, :-1], cmap=diverging(), vmin=-limit, vmax=limit, aspect="auto")
    if n <= _MOST_NUMBERS:
        for i in range(1, n):
            for j in range(i):
                dark = found.matrix[i, j] < -limit / 3
                ax.text(j, i - 1, signed(found.matrix[i, j], limit), ha="center", va="center",
                        fontsize="x-small", color="white" if dark else "black")  # fmt: skip
    labels = short_names(found.names, 18)
    ax.set_yticks(range(n - 1), labels[1:])
    ax.set_xticks(range(n - 1), labels[:-1], rotation=40, ha="right", rotation_mode="anchor")
    add_scale(ax, picture, found.title)
    return ax
