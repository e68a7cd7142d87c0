"""What every plot shares: the axes, the colours, the names, and one view of estimates and explanations."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polyshap._types import FloatArray, IntArray
from polyshap.errors import ArgumentError, optional_import
from polyshap.explanation import Explanation
from polyshap.plots.names import LONGEST_NAME, cut, distinct
from polyshap.results import Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "GREY",
    "NEGATIVE",
    "POSITIVE",
    "WIDTH",
    "Result",
    "View",
    "add_scale",
    "colours_of",
    "diverging",
    "escaped",
    "ink",
    "new_axes",
    "one_row",
    "short_names",
    "shorten",
    "tidy",
    "view",
    "whiskers",
    "write_number",
]

Result = Explanation | Estimate

# Half width of a 95 % interval in standard errors.
WIDTH = 1.959963984540054
# Orange is lighter than blue, also printed in grey and for every kind of colour blindness.
POSITIVE, NEGATIVE = "#e08214", "#2d5f9a"
GREY = "#8a8a8a"


@dataclass(frozen=True, eq=False)
class View:
    """Rows of one output: values (n_rows, n_players) with what belongs to them."""

    values: FloatArray
    errors: FloatArray | None  # half widths of 95 % intervals, like `values`
    data: NDArray[Any] | None
    names: tuple[str, ...]
    base: FloatArray
    predictions: FloatArray
    output: str | None

    @property
    def importance(self) -> FloatArray:
        """Mean absolute value of each player, (n_players,)."""
        return np.asarray(np.abs(self.values).mean(axis=0))

    def strongest(self, limit: int) -> IntArray:
        """Players by importance, at most `limit` of them."""
        return np.argsort(-self.importance, kind="stable")[: max(1, limit)]

    @property
    def label(self) -> str:
        """What the values are, for an axis."""
        return "contribution" if self.output is None else f"contribution to {shorten(self.output)}"


def view(result: Result, names: Sequence[str] | None = None) -> View:
    """An estimate as one row, an explanation as its rows; several outputs are refused."""
    if isinstance(result, Estimate):
        if result.values.ndim > 1:
            raise ArgumentError(
                f"`result` must hold one output. Got an estimate of {result.values.shape[1]} outputs. "
                "Estimate one: polyshap.games.selected_output(game, n_players, 0)."
            )
        return View(
            values=result.values[None],
            errors=_half_widths(result.standard_errors),
            data=None,
            names=_checked_names(names, tuple(f"player {i}" for i in range(result.n_players))),
            base=np.atleast_1d(result.baseline),
            predictions=np.atleast_1d(result.total),
            output=None,
        )
    if isinstance(result.output_names, tuple):
        shown = ", ".join(map(repr, result.output_names[:8]))
        raise ArgumentError(
            f"`result` must hold one output. Got {len(result.output_names)}: {shown}. "
            f"Choose one: x[..., {result.output_names[-1]!r}]."
        )
    return View(
        values=np.atleast_2d(result.values),
        errors=_half_widths(result.standard_errors),
        data=np.atleast_2d(result.data),
        names=_checked_names(names, result.feature_names),
        base=np.atleast_1d(result.base_values),
        predictions=np.atleast_1d(result.predictions),
        output=result.output_names,
    )


def _half_widths(standard_errors: FloatArray | None) -> FloatArray | None:
    """Of 95 % intervals, (n_rows, n_players); None where there are none, and where the values are exact."""
    if standard_errors is None or not standard_errors.any():
        return None
    return np.asarray(WIDTH * np.atleast_2d(standard_errors))


def _checked_names(names: Sequence[str] | None, default: tuple[str, ...]) -> tuple[str, ...]:
    if names is None:
        return default
    if len(names) != len(default):
        raise ArgumentError(
            f"`names` must hold one name for each of {len(default)} players. Got {len(names)}."
        )
    return tuple(map(str, names))


def one_row(result: Result, row: int | None, names: Sequence[str] | None = None) -> View:
    """A view of a single row; which one may be left out where there is only one."""
    return view(result.row(row) if isinstance(result, Explanation) else result, names)


def new_axes(ax: Axes | None, width: float, height: float) -> Axes:
    """The given axes, or those of a new figure in inches.

    Where pyplot is in use the figure is one of its own, so that notebooks and `plt.show()` find it;
    otherwise nothing global is touched: `axes.figure.savefig(...)`.
    """
    if ax is not None:
        return ax
    figures = optional_import("matplotlib.figure", extra="plot", purpose="A plot")
    pyplot = sys.modules.get("matplotlib.pyplot")
    make = figures.Figure if pyplot is None else pyplot.figure
    axes: Axes = make(figsize=(width, height), layout="constrained").add_subplot()
    return axes


def shorten(name: object, limit: int = LONGEST_NAME) -> str:
    """A name on one line, cut in its middle, never read as mathematics."""
    return escaped(cut(name, limit))


def short_names(names: Sequence[str], limit: int = LONGEST_NAME) -> list[str]:
    """Names cut so that they stay different, never read as mathematics."""
    return [escaped(name) for name in distinct(names, limit)]


def escaped(text: str) -> str:
    """Text with dollar signs, which matplotlib would read as mathematics."""
    return text.replace("$", r"\$")


def ink() -> str:
    """The colour of text in the style in use, so that words and whiskers are seen on a dark ground, too."""
    matplotlib = optional_import("matplotlib", extra="plot", purpose="A plot")
    return str(matplotlib.rcParams["text.color"])


def colours_of(values: FloatArray) -> list[str]:
    """Orange above zero, blue below."""
    return [POSITIVE if value >= 0 else NEGATIVE for value in values]


def diverging() -> Any:
    """Blue through grey to yellow, ever lighter: the sign shows in grey, too."""
    colours = optional_import("matplotlib.colors", extra="plot", purpose="A plot")
    steps = ["#0b2e63", "#3f70b2", "#adb1b6", "#f1b44c", "#ffeab0"]
    return colours.LinearSegmentedColormap.from_list("polyshap", steps)


def add_scale(ax: Axes, drawn: Any, label: str) -> None:
    """The key to the colours of a picture, and no frame around it."""
    bar = ax.figure.colorbar(drawn, ax=ax, pad=0.02, aspect=30)
    bar.set_label(label)
    bar.outline.set_visible(False)
    ax.tick_params(length=0)
    for side in ax.spines.values():
        side.set_visible(False)


def whiskers(ax: Axes, x: ArrayLike, y: ArrayLike, half_widths: ArrayLike) -> None:
    """Sideways error bars, with an edge in the colour of the ground, so that they are seen on bars."""
    effects = optional_import("matplotlib.patheffects", extra="plot", purpose="A plot")
    edge = [effects.withStroke(linewidth=2.6, foreground=ax.get_facecolor())]
    drawn = ax.errorbar(
        x, y, xerr=half_widths, fmt="none", ecolor=ink(), elinewidth=1.1, capsize=2.5, zorder=3
    )
    for line in drawn.lines[2]:  # not the caps: of a short whisker nothing but their edges would be seen
        line.set_path_effects(edge)


def write_number(
    ax: Axes, text: str, place: tuple[float, float], *, right: bool, level: str = "center"
) -> None:
    """Small text to the right or left of a place, on its own ground where a line would run through it."""
    side = "left" if right else "right"
    ground = {"facecolor": ax.get_facecolor(), "linewidth": 0, "pad": 0.6}
    ax.annotate(text, place, (4 if right else -4, 0), textcoords="offset points", va=level,
                ha=side, fontsize="small", color=ink(), bbox=ground, zorder=2.5)  # fmt: skip


def tidy(ax: Axes, *, zero: bool = True) -> None:
    """A zero line, and no frame that says nothing."""
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    ax.tick_params(axis="y", length=0)
    if zero:
        ax.axvline(0.0, color=GREY, linewidth=0.8, zorder=0.5)
