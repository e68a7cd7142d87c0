"""Rows against features, as a picture of contributions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from polyshap.plots.canvas import Result, add_scale, diverging, new_axes, short_names, view

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["heatmap"]

_MOST_DOTS = 1500  # cells, past which a dot in each would be a grey veil
_MOST_ROWS = 20  # past which their numbers would not be read


def heatmap(
    result: Result,
    *,
    ax: Axes | None = None,
    max_features: int = 20,
    sort: bool = True,
    names: Sequence[str] | None = None,
) -> Axes:
    """Contributions of all rows, lighter upwards; a dot marks cells whose 95 % interval holds zero.

    Parameters
    ----------
    result : Explanation
    ax : matplotlib Axes, optional
    max_features : int
    sort : bool
        Rows by prediction rather than in their own order.
    names : sequence of str, optional
    """
    seen = view(result, names)
    order = seen.strongest(max_features)
    rows = np.argsort(seen.predictions, kind="stable") if sort else np.arange(len(seen.values))
    cells = seen.values[np.ix_(rows, order)].T
    ax = new_axes(ax, 6.8, 1.2 + 0.3 * len(order))
    limit = float(np.abs(cells).max()) or 1.0
    picture = ax.imshow(cells, aspect="auto", cmap=diverging(), vmin=-limit, vmax=limit,
                        interpolation="nearest")  # fmt: skip
    dotted = seen.errors is not None and cells.size <= _MOST_DOTS
    if seen.errors is not None and dotted:
        unsure = np.abs(cells) <= seen.errors[np.ix_(rows, order)].T
        y, x = np.nonzero(unsure)
        ax.scatter(x, y, s=3, color="black", linewidths=0)
    ax.set_yticks(range(len(order)), short_names([seen.names[j] for j in order]))
    if len(rows) <= _MOST_ROWS:
        ax.set_xticks(range(len(rows)), [str(row) for row in rows])
    label = "1 row" if len(rows) == 1 else f"{len(rows)} rows" + (", by prediction" if sort else "")
    ax.set_xlabel(label + ("\ndots: the 95 % interval holds zero" if dotted else ""))
    add_scale(ax, picture, seen.label)
    return ax
