"""Estimates against the calls they cost, each with its band."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from polyshap._types import FloatArray
from polyshap.errors import ArgumentError
from polyshap.explanation import Explanation
from polyshap.plots.canvas import GREY, Result, new_axes, one_row, short_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["convergence"]

# colour and dashes of each line in turn; told apart without colour by dashes and by their names
_LINES = (
    ("#2d5f9a", "-"),
    ("#e08214", (0, (5, 2))),
    ("#3f8f5f", (0, (1, 1.4))),
    ("#7a5195", (0, (6, 2, 1, 2))),
    ("#7d7d7d", (0, (3, 1))),
    ("#b07a2a", (0, (2, 2))),
)

_MOST_TICKS = 7


def convergence(
    result: Result | Sequence[Result],
    *,
    ax: Axes | None = None,
    exact: Sequence[float] | FloatArray | None = None,
    row: int | None = None,
    max_features: int = 5,
    names: Sequence[str] | None = None,
) -> Axes:
    """Values against model calls, with 95 % bands.

    Parameters
    ----------
    result : sequence of Estimate or Explanation
        The same game with growing budgets, in any order; a single one gives points.
    ax : matplotlib Axes, optional
    exact : sequence of float, optional
        Exact values, drawn as dotted lines.
    row : int, optional
        Which row of explanations of several.
    max_features : int
        The strongest at the largest budget.
    names : sequence of str, optional
    """
    series = [result] if not isinstance(result, Sequence) else list(result)
    if not series:
        raise ArgumentError("`result` must hold at least one estimate. Got none.")
    series.sort(key=lambda one: one.n_evaluations)
    views = [one_row(one, row, names) for one in series]
    if len({len(seen.names) for seen in views}) > 1:
        raise ArgumentError("`result` must hold estimates of one game. Got different numbers of players.")
    calls = np.array([_calls(one, row) for one in series])
    values = np.stack([seen.values[0] for seen in views])
    ax = new_axes(ax, 6.4, 4.0)
    order = views[-1].strongest(max_features)
    for player, (colour, dashes) in zip(order, _LINES * len(order), strict=False):
        line = values[:, player]
        ax.plot(
            calls, line, color=colour, linestyle=dashes, marker="o", markersize=3, linewidth=1.5, zorder=3
        )
        bands = [None if seen.errors is None else seen.errors[0, player] for seen in views]
        width = np.array([np.nan if band is None else band for band in bands], dtype=float)
        if np.isfinite(width).any():
            ax.fill_between(calls, line - width, line + width, color=colour, alpha=0.18, linewidth=0)
            ax.errorbar(calls, line, yerr=width, fmt="none", ecolor=colour, elinewidth=0.8, capsize=2)
        if exact is not None:
            ax.axhline(exact[player], color=colour, linewidth=0.8, linestyle=":", zorder=1)
    _name_lines(ax, values[-1, order], short_names([views[-1].names[j] for j in order], 20))
    if len(calls) > 1 and calls[-1] > 8 * calls[0]:
        ax.set_xscale("log")
        ax.set_xticks(calls if len(calls) <= _MOST_TICKS else calls[:: -(-len(calls) // _MOST_TICKS)])
        ax.xaxis.set_major_formatter("{x:,.0f}")
        ax.minorticks_off()
    ax.axhline(0.0, color=GREY, linewidth=0.6, zorder=0.5)
    marks = ["bands: 95 % intervals"] if any(seen.errors is not None for seen in views) else []
    marks += ["dotted: exact"] if exact is not None else []
    ax.set_xlabel("model calls (coalitions)" + ("\n" + "; ".join(marks) if marks else ""))
    ax.set_ylabel(views[-1].label)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    return ax


def _calls(result: Result, row: int | None) -> int:
    if isinstance(result, Explanation) and not result.is_row:
        return int(result.row_evaluations[row or 0])
    return result.n_evaluations


def _name_lines(ax: Axes, last: FloatArray, names: Sequence[str]) -> None:
    """Names at the right end, pushed apart where they would cover each other."""
    low, high = ax.get_ylim()
    step = 0.055 * (high - low)
    places = np.array(last)
    ranked = np.argsort(places, kind="stable")
    for before, after in pairwise(ranked):
        places[after] = max(places[after], places[before] + step)
    for place, name, (colour, _) in zip(places, names, _LINES * len(names), strict=False):
        ax.annotate(name, (1.0, place), (6, 0), xycoords=("axes fraction", "data"), va="center",
                    textcoords="offset points", fontsize="small", color=colour,
                    annotation_clip=False)  # fmt: skip
