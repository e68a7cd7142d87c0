"""Words tinted by their values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from polyshap._types import FloatArray
from polyshap.errors import ArgumentError
from polyshap.plots.canvas import NEGATIVE, POSITIVE, Result, escaped, ink, new_axes, one_row
from polyshap.plots.labels import signed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["text"]

_UNSURE = "#9a9a9a"
_CHARACTERS = 64  # a line
_ADVANCE = 0.602  # width of a character of DejaVu Sans Mono in units of its size
_SIZE = 11.0  # points
_LINE = 2.9  # of its size


def text(
    result: Result,
    words: Sequence[str] | None = None,
    *,
    ax: Axes | None = None,
    row: int | None = None,
    numbers: bool = True,
) -> Axes:
    """Words on tinted ground with their values below; grey numbers cannot be told from zero.

    Parameters
    ----------
    result : Explanation or Estimate
        One player a word.
    words : sequence of str, optional
        In place of the feature names.
    ax : matplotlib Axes, optional
    row : int, optional
    numbers : bool
        Write the values below the words.
    """
    seen = one_row(result, row)
    values, shown = seen.values[0], list(seen.names if words is None else words)
    if len(shown) != len(values):
        raise ArgumentError(
            f"`words` must hold one word for each of {len(values)} players. Got {len(shown)}."
        )
    limit = float(np.abs(values).max()) or 1.0
    captions = [signed(value, limit) for value in values]
    lines = _lines(shown, captions if numbers else [""] * len(shown))
    height = (len(lines) * _LINE + 0.6) * _SIZE
    width = (_CHARACTERS + 2) * _ADVANCE * _SIZE
    ax = new_axes(ax, width / 72, height / 72)
    margins = np.zeros(len(values)) if seen.errors is None else seen.errors[0]
    for number, line in enumerate(lines):
        _write_line(ax, line, -number * _LINE, shown, captions if numbers else None, values, margins, limit)
    ax.set_xlim(-1, _CHARACTERS + 1)
    ax.set_ylim(-(len(lines) - 1) * _LINE - 1.9, 1.3)
    ax.set_axis_off()
    return ax


def _lines(words: Sequence[str], captions: Sequence[str]) -> list[list[tuple[int, int, int]]]:
    """Words in lines: (word, start, width) in characters."""
    lines: list[list[tuple[int, int, int]]] = [[]]
    place = 0
    for index, (word, caption) in enumerate(zip(words, captions, strict=True)):
        width = max(len(word), round(0.75 * len(caption)), 1)
        if place and place + width > _CHARACTERS:
            lines.append([])
            place = 0
        lines[-1].append((index, place, width))
        place += width + 1
    return lines


def _write_line(
    ax: Axes,
    line: Sequence[tuple[int, int, int]],
    height: float,
    words: Sequence[str],
    captions: Sequence[str] | None,
    values: FloatArray,
    margins: FloatArray,
    limit: float,
) -> None:
    for index, start, width in line:
        share = abs(values[index]) / limit
        colour = POSITIVE if values[index] >= 0 else NEGATIVE
        ax.barh(height, width + 0.6, left=start - 0.3, height=1.5, color=colour, alpha=0.75 * share,
                linewidth=0)  # fmt: skip
        word = words[index] if len(words[index]) <= _CHARACTERS else words[index][: _CHARACTERS - 1] + "…"
        ax.text(start + width / 2, height, escaped(word), ha="center", va="center", fontsize=_SIZE,
                family="monospace", color=ink())  # fmt: skip
        if captions is not None:
            colour = _UNSURE if abs(values[index]) <= margins[index] else ink()
            ax.text(start + width / 2, height - 1.2, captions[index], ha="center", va="center",
                    fontsize=0.65 * _SIZE, family="monospace", color=colour)  # fmt: skip
