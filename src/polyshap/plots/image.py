"""Values of patches or superpixels, laid over the picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polyshap._types import FloatArray, IntArray
from polyshap.errors import ArgumentError
from polyshap.plots.canvas import Result, add_scale, diverging, new_axes, one_row
from polyshap.plots.labels import signed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["image"]

_MOST_NUMBERS = 64  # segments, past which numbers would hide the picture


def image(
    result: Result,
    picture: ArrayLike,
    segments: ArrayLike | tuple[int, int] | None = None,
    *,
    ax: Axes | None = None,
    row: int | None = None,
    opacity: float = 0.55,
) -> Axes:
    """The picture in grey under the values of its parts; parts that matter have an outline.

    An outline is solid where the 95 % interval lies above zero and dashed where it lies below. Without
    standard errors, parts with at least a quarter of the largest value have one.

    Parameters
    ----------
    result : Explanation or Estimate
        One player a part.
    picture : array, shape (height, width) or (height, width, channels)
    segments : array of int, shape (height, width), or (rows, columns)
        The player of each pixel, or the grid of patches; a square grid by default.
    ax : matplotlib Axes, optional
    row : int, optional
    opacity : float
    """
    seen = one_row(result, row)
    values = seen.values[0]
    grey = _grey(np.asarray(picture))
    labels = _labels(segments, grey.shape, len(values))
    ax = new_axes(ax, 5.4, 4.4)
    ax.imshow(grey, cmap="gray", vmin=0, vmax=1)
    limit = float(np.abs(values).max()) or 1.0
    cover = ax.imshow(values[labels], cmap=diverging(), vmin=-limit, vmax=limit, alpha=opacity)
    margin = np.full(len(values), limit / 4) if seen.errors is None else seen.errors[0]
    for chosen, style in ((values > margin, "solid"), (values < -margin, "dashed")):
        if chosen.any():
            _outline(ax, chosen[labels], style)
    if len(values) <= _MOST_NUMBERS:
        _write_numbers(ax, values, labels, np.abs(values) > margin, limit)
    ax.set_axis_off()
    add_scale(ax, cover, seen.label + ("" if seen.errors is None else "; outlined: not zero, 95 %"))
    return ax


def _outline(ax: Axes, inside: NDArray[np.bool_], style: str) -> None:
    """A line around the pixels, along the border of the picture as well: the frame is outside."""
    height, width = inside.shape
    framed = np.pad(inside.astype(float), 1)
    ax.contour(np.arange(-1, width + 1), np.arange(-1, height + 1), framed, levels=[0.5], colors=["black"],
               linewidths=1.6, linestyles=[style])  # fmt: skip
    ax.set(xlim=(-0.5, width - 0.5), ylim=(height - 0.5, -0.5))


def _grey(picture: NDArray[Any]) -> FloatArray:
    """Luminance in 0..1."""
    if picture.ndim not in (2, 3) or picture.size == 0:
        raise ArgumentError(
            f"`picture` must have shape (height, width) or (height, width, channels). Got {picture.shape}."
        )
    plain = picture.astype(float)
    if plain.ndim == 3:
        channels = plain.shape[2]
        plain = plain[..., :3] @ [0.299, 0.587, 0.114] if channels >= 3 else plain[..., 0]
    low, high = float(plain.min()), float(plain.max())
    return (plain - low) / (high - low) if high > low else np.full(plain.shape, 0.5)


def _labels(segments: Any, shape: tuple[int, ...], n_players: int) -> IntArray:
    """The player of each pixel."""
    if segments is None:
        side = round(np.sqrt(n_players))
        if side * side != n_players:
            raise ArgumentError(f"`segments` must be given: {n_players} players make no square grid.")
        segments = (side, side)
    if isinstance(segments, tuple):
        rows, columns = segments
        if rows * columns != n_players:
            raise ArgumentError(f"`segments` must hold {n_players} patches. Got {rows} x {columns}.")
        down, across = (
            np.arange(extent) * parts // extent for extent, parts in zip(shape, segments, strict=True)
        )
        return np.asarray(down[:, None] * columns + across)
    labels = np.asarray(segments)
    if (
        labels.shape != shape
        or labels.dtype.kind not in "iu"
        or labels.min() < 0
        or labels.max() >= n_players
    ):
        raise ArgumentError(
            f"`segments` must number the pixels {shape} by players 0..{n_players - 1}. "
            f"Got {labels.dtype} of shape {labels.shape}."
        )
    return labels


def _write_numbers(
    ax: Axes, values: FloatArray, labels: IntArray, clear: NDArray[np.bool_], limit: float
) -> None:
    """The value in the middle of each part that matters."""
    for player in np.flatnonzero(clear):
        y, x = np.nonzero(labels == player)
        if len(y):
            ax.text(x.mean(), y.mean(), signed(values[player], limit), ha="center", va="center",
                    fontsize="x-small", color="black",
                    bbox={"facecolor": "white", "alpha": 0.65, "linewidth": 0, "pad": 1.0})  # fmt: skip
