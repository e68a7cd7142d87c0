"""Images as games: players are patches or superpixels, absent ones are a colour, blurred or the mean.

Any function on a batch of images or a PyTorch module is a model. For a module everything happens on its
device: coalitions go there, images are masked there in batches, and only the values come back, once.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polyshap._types import BoolMatrix, FloatArray, IntArray
from polyshap.errors import ArgumentError, ArgumentTypeError, optional_import

__all__ = ["ImageGame", "TorchImageGame", "absent_image", "grid", "image_game", "superpixels"]

Absent = Literal["mean", "blur"] | float | ArrayLike
Output = int | Literal["predicted"] | None
Precision = Literal["model", "half", "bfloat16"]
_AnyGame = TypeVar("_AnyGame", "ImageGame", "TorchImageGame")

# Images of a model call: a vision transformer's activations for so many fit in a small GPU.
_BATCH = 128


def image_game(
    model: Callable[..., Any],
    image: Any,
    players: ArrayLike,
    *,
    absent: Absent = "mean",
    output: Output = "predicted",
    batch_size: int = _BATCH,
    precision: Precision = "model",
) -> ImageGame | TorchImageGame:
    """The game of one image: v(S) = model(the image with the pixels of absent players replaced).

    Parameters
    ----------
    model : callable or torch.nn.Module
        A function takes images (m, height, width, channels), or (m, height, width) for a grey image, and
        returns (m,) or (m, n_outputs). A module takes (m, channels, height, width) on its own device;
        of an answer with `logits` those are taken.
    image : array-like or torch.Tensor
        (height, width, channels) or (height, width); for a module a tensor (channels, height, width).
    players : array-like of int, shape (height, width)
        The player of each pixel, from `grid`, `superpixels` or your own segmentation.
    absent : {"mean", "blur"}, number or one number a channel
        What stands in for absent pixels.
    output : int, "predicted" or None
        A column of the answer; the one that is largest for the whole image; or all columns.
    batch_size : int
        Images of one model call.
    precision : {"model", "half", "bfloat16"}
        Of a module's products: its own, or 16 bits where PyTorch's autocast allows them.

    Examples
    --------
    >>> image = np.arange(16.0).reshape(4, 4)
    >>> game = image_game(lambda x: x.sum(axis=(1, 2)), image, grid(4, 4, 2, 2), absent=0.0)
    >>> game(np.array([[True, False, False, False], [True, True, True, True]])).tolist()
    [10.0, 120.0]
    """
    owner = np.array(players, dtype=np.intp)
    n_players = int(owner.max(initial=-1)) + 1
    if owner.ndim != 2 or n_players < 1 or len(np.unique(owner)) != n_players or owner.min() < 0:
        raise ArgumentError(
            "`players` must be a matrix (height, width) that uses each number 0..n_players-1. "
            f"Got shape {owner.shape}."
        )
    if batch_size < 1:
        raise ArgumentError(f"`batch_size` must be at least 1. Got {batch_size}.")
    if not callable(model):
        raise ArgumentTypeError(f"`model` must be a callable on images. Got {type(model).__name__}.")
    if precision not in ("model", "half", "bfloat16"):
        raise ArgumentError(f"`precision` must be 'model', 'half' or 'bfloat16'. Got {precision!r}.")
    owner.flags.writeable = False
    if is_module(model):
        return _torch_game(model, image, owner, absent, output, batch_size, precision)
    if precision != "model":
        raise ArgumentError(
            f"`precision` must go with a PyTorch module. Got {precision!r} for a function: choose it there."
        )
    pixels = np.asarray(image)
    _check_size(pixels.shape[:2], owner)
    game = ImageGame(model, pixels, absent_image(pixels, absent), owner, None, batch_size)
    return _with_output(game, output)


@dataclass(frozen=True, eq=False)
class ImageGame:
    """The game of an image and a function on batches of arrays; built by `image_game`."""

    model: Callable[[NDArray[Any]], Any]
    image: NDArray[Any]
    absent: NDArray[Any]
    players: IntArray
    output: int | None
    batch_size: int

    @property
    def n_players(self) -> int:
        return int(self.players.max()) + 1

    def __call__(self, coalitions: BoolMatrix, /) -> FloatArray:
        answers = []
        for start in range(0, len(coalitions), self.batch_size):
            present = coalitions[start : start + self.batch_size][:, self.players]
            present = present.reshape(*present.shape, *[1] * (self.image.ndim - 2))
            answers.append(np.asarray(self.model(np.where(present, self.image, self.absent)), dtype=float))
        values = np.concatenate(answers)
        return values if self.output is None or values.ndim == 1 else values[:, self.output]


@dataclass(frozen=True, eq=False)
class TorchImageGame:
    """The game of an image and a PyTorch module; all but `players` live on the module's device."""

    model: Any
    image: Any
    absent: Any
    owner: Any
    n_players: int
    output: int | None
    batch_size: int
    precision: Precision = "model"

    def __call__(self, coalitions: BoolMatrix, /) -> FloatArray:
        import torch

        training = self.model.training
        self.model.eval()
        try:
            with torch.inference_mode(), self._autocast():
                present = torch.from_numpy(np.ascontiguousarray(coalitions)).to(self.image.device)
                answers = [self._answers(part) for part in present.split(self.batch_size)]
                values: FloatArray = torch.cat(answers).double().cpu().numpy()
        finally:
            self.model.train(training)
        return values

    def _autocast(self) -> AbstractContextManager[object]:
        import torch

        if self.precision == "model":
            return nullcontext()
        kind = torch.float16 if self.precision == "half" else torch.bfloat16
        cast: AbstractContextManager[object] = torch.autocast(self.image.device.type, kind)
        return cast

    def _answers(self, present: Any) -> Any:
        """The model's answers for some coalitions, on the device."""
        import torch

        masked = torch.where(present[:, self.owner][:, None], self.image, self.absent)
        answer = self.model(masked)
        answer = getattr(answer, "logits", answer)
        return answer if self.output is None or answer.ndim == 1 else answer[:, self.output]


def grid(height: int, width: int, rows: int, columns: int) -> IntArray:
    """Rectangular patches of as equal size as whole pixels allow, row by row: the player of each pixel.

    >>> grid(2, 4, 1, 2).tolist()
    [[0, 0, 1, 1], [0, 0, 1, 1]]
    """
    if not (1 <= rows <= height and 1 <= columns <= width):
        raise ArgumentError(
            f"`rows` and `columns` must lie in 1..{height} and 1..{width}, the pixels. "
            f"Got {rows} and {columns}."
        )
    row = np.arange(height) * rows // height
    column = np.arange(width) * columns // width
    return np.asarray(row[:, None] * columns + column, dtype=np.intp)


def superpixels(image: ArrayLike, n_players: int, *, compactness: float = 10.0) -> IntArray:
    """About `n_players` connected regions of similar colour (SLIC): the player of each pixel."""
    segmentation = optional_import("skimage.segmentation", extra="image", purpose="Making superpixels")
    pixels = np.asarray(image, dtype=float)
    if pixels.ndim not in (2, 3):
        raise ArgumentError(
            f"`image` must have shape (height, width, channels) or (height, width). Got {pixels.shape}."
        )
    if n_players < 1:
        raise ArgumentError(f"`n_players` must be at least 1. Got {n_players}.")
    low, high = pixels.min(), pixels.max()
    scaled = (pixels - low) / (high - low) if high > low else np.zeros_like(pixels)
    labels = segmentation.slic(
        scaled,
        n_segments=n_players,
        compactness=compactness,
        start_label=0,
        channel_axis=-1 if pixels.ndim == 3 else None,
    )
    return np.unique(labels, return_inverse=True)[1].reshape(labels.shape).astype(np.intp)


def absent_image(image: NDArray[Any], absent: Absent) -> NDArray[Any]:
    """The image of all players absent, (height, width, channels) or (height, width), in the image's type."""
    pixels = image.astype(float)
    if isinstance(absent, str):
        makers: dict[str, Callable[[FloatArray], FloatArray]] = {"mean": _mean_colour, "blur": _blurred}
        if absent not in makers:
            raise ArgumentError(f"`absent` must be 'mean', 'blur' or a colour. Got {absent!r}.")
        filled = makers[absent](pixels)
    else:
        colour = np.asarray(absent, dtype=float)
        if colour.shape not in ((), image.shape[2:]):
            raise ArgumentError(
                f"`absent` must be one number or one a channel, shape {image.shape[2:]}. "
                f"Got shape {colour.shape}."
            )
        filled = np.broadcast_to(colour, image.shape)
    return (np.rint(filled) if image.dtype.kind in "iu" else filled).astype(image.dtype)


def _mean_colour(pixels: FloatArray) -> FloatArray:
    return np.broadcast_to(pixels.mean(axis=(0, 1)), pixels.shape)


def _blurred(pixels: FloatArray) -> FloatArray:
    """A Gaussian blur of a tenth of the shorter side, which leaves colours but no shapes."""
    from scipy.ndimage import gaussian_filter

    sigma = min(pixels.shape[:2]) / 10
    return np.asarray(
        gaussian_filter(pixels, sigma=(sigma, sigma) + (0,) * (pixels.ndim - 2), mode="nearest")
    )


def is_module(model: object) -> bool:
    """Whether it is a PyTorch module, without importing torch."""
    return any(
        base.__module__.partition(".")[0] == "torch" and base.__name__ == "Module"
        for base in type(model).__mro__
    )


def _torch_game(
    model: Any,
    image: Any,
    owner: IntArray,
    absent: Absent,
    output: Output,
    batch_size: int,
    precision: Precision,
) -> TorchImageGame:
    import torch

    like = next((parameter for parameter in model.parameters()), torch.empty(0))
    tensor = torch.as_tensor(image).detach().to(like.device)
    # pixels of another precision are the same pixels; whole numbers may be meant as such
    if tensor.is_floating_point() and like.is_floating_point():
        tensor = tensor.to(like.dtype)
    if tensor.ndim != 3:
        raise ArgumentError(
            "`image` must have shape (channels, height, width) for a PyTorch module. "
            f"Got {tuple(tensor.shape)}."
        )
    _check_size(tuple(tensor.shape[1:]), owner)
    host = tensor.cpu()
    # numpy has no bfloat16
    pixels = np.moveaxis((host.float() if host.is_floating_point() else host).numpy(), 0, -1)
    filled = torch.from_numpy(np.moveaxis(absent_image(pixels, absent), -1, 0).copy()).to(tensor)
    players = torch.from_numpy(owner.copy()).to(like.device)
    n_players = int(owner.max()) + 1
    game = TorchImageGame(model, tensor, filled, players, n_players, None, batch_size, precision)
    return _with_output(game, output)


def _with_output(game: _AnyGame, output: Output) -> _AnyGame:
    """The game with its output chosen: "predicted" asks the model about the whole image."""
    if output is None:
        return game
    if output != "predicted" and not isinstance(output, int | np.integer):
        raise ArgumentError(f"`output` must be a column, 'predicted' or None. Got {output!r}.")
    whole = game(np.ones((1, game.n_players), dtype=bool))
    if whole.ndim == 1:
        return game
    chosen = int(whole[0].argmax()) if output == "predicted" else int(output)
    if not -whole.shape[1] <= chosen < whole.shape[1]:
        raise ArgumentError(
            f"`output` must lie in 0..{whole.shape[1] - 1}, the model's outputs. Got {output}."
        )
    return replace(game, output=chosen)


def _check_size(size: tuple[int, ...], owner: IntArray) -> None:
    if tuple(size) != owner.shape:
        raise ArgumentError(f"`players` must cover the image, shape {tuple(size)}. Got {owner.shape}.")
