"""Image classifiers of the benchmark: one from a local Hugging Face folder, and a small one trained here."""

from __future__ import annotations

import json
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyshap.errors import FileFormatError, MissingDataError, optional_import
from polyshap.games.image import TorchImageGame, grid, image_game

__all__ = ["digit_images", "load_image_model", "patch_game", "save_small_model", "with_preprocessing"]

# Width of a patch of the CIFAR-10 game in pixels, and the grey of absent ones, set before any resizing.
_PATCH = 8
_GREY = 128.0


def patch_game(model: Any, image: NDArray[np.uint8], *, batch_size: int = 256) -> TorchImageGame:
    """The game of an image (height, width, 3): 8 x 8 pixel players, absent ones grey, the predicted logit."""
    height, width = image.shape[:2]
    players = grid(height, width, height // _PATCH, width // _PATCH)
    tensor = np.ascontiguousarray(np.moveaxis(image, -1, 0)).astype(np.float32)
    game = image_game(model, tensor, players, absent=_GREY, batch_size=batch_size)
    assert isinstance(game, TorchImageGame)
    return game


def load_image_model(folder: str | PathLike[str], *, device: str | None = None) -> Any:
    """A Hugging Face image classifier from a local folder, with its preprocessing; nothing is downloaded."""
    torch = optional_import("torch", extra="image", purpose="Running an image classifier")
    transformers = optional_import("transformers", extra="image", purpose="Loading an image classifier")
    model = transformers.AutoModelForImageClassification.from_pretrained(str(folder), local_files_only=True)
    height, width, mean, std = _preprocessing(Path(folder))
    chosen = device or ("cuda" if torch.cuda.is_available() else "cpu")
    return with_preprocessing(model, (height, width), mean, std).to(chosen)


def _preprocessing(folder: Path) -> tuple[int, int, list[float], list[float]]:
    """Height, width, mean and standard deviation from the folder's preprocessor."""
    path = folder / "preprocessor_config.json"
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        size = content["size"]
        height, width = (size["height"], size["width"]) if isinstance(size, dict) else (size, size)
        return int(height), int(width), list(content["image_mean"]), list(content["image_std"])
    except FileNotFoundError as error:
        raise MissingDataError(
            f"There is no {path}. Download all files of the model, this one included, into that folder."
        ) from error
    except (ValueError, KeyError, TypeError) as error:
        raise FileFormatError(f"{path} names no size, mean and standard deviation: {error}") from error


def with_preprocessing(model: Any, size: tuple[int, int], mean: list[float], std: list[float]) -> Any:
    """The module after resizing (bilinear, to whole levels as in image files), scaling and normalising.

    Pixels come in as 0..255, (m, 3, height, width), and stay on the module's device.
    """
    torch = optional_import("torch", extra="image", purpose="Running an image classifier")

    module: Any = torch.nn.Module

    class Preprocessed(module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.model = model
            self.register_buffer("mean", torch.tensor(mean).view(1, 3, 1, 1))
            self.register_buffer("std", torch.tensor(std).view(1, 3, 1, 1))

        def forward(self, pixels: Any) -> Any:
            if tuple(pixels.shape[2:]) != size:
                pixels = torch.nn.functional.interpolate(pixels, size, mode="bilinear", antialias=True)
                pixels = pixels.round().clamp(0, 255)
            return self.model(pixel_values=(pixels / 255 - self.mean) / self.std).logits

    return Preprocessed().eval()


def digit_images() -> tuple[NDArray[np.uint8], NDArray[np.intp]]:
    """scikit-learn's handwritten digits as colour images (1797, 32, 32, 3) with their labels."""
    datasets = optional_import("sklearn.datasets", extra="demo", purpose="Loading the digits")
    images, labels = datasets.load_digits(return_X_y=True)
    grey = np.rint(images.reshape(-1, 8, 8) * (255 / 16)).astype(np.uint8)
    large = grey.repeat(4, axis=1).repeat(4, axis=2)
    return np.stack([large] * 3, axis=-1), labels


def save_small_model(folder: str | PathLike[str], *, epochs: int = 12, random_state: int = 0) -> float:
    """Train a vision transformer of 17 tokens on the digits, save it as a Hugging Face folder; its accuracy.

    The last 297 images are kept for the accuracy.
    """
    torch = optional_import("torch", extra="image", purpose="Training a vision transformer")
    transformers = optional_import("transformers", extra="image", purpose="Training a vision transformer")
    images, labels = digit_images()
    pixels = torch.from_numpy(np.moveaxis(images, -1, 1).copy()).float() / 127.5 - 1
    target = torch.from_numpy(labels.astype(np.int64))
    config = transformers.ViTConfig(
        image_size=32,
        patch_size=_PATCH,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_labels=10,
        initializer_range=0.1,  # the default is meant for a hundred times as many weights
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    with torch.random.fork_rng():
        torch.manual_seed(random_state)
        model = transformers.ViTForImageClassification(config)
        optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
        train = 1500
        for _ in range(epochs):
            for batch in torch.randperm(train).split(50):
                optimizer.zero_grad()
                model(pixel_values=pixels[batch], labels=target[batch]).loss.backward()
                optimizer.step()
    model.eval()
    with torch.inference_mode():
        found = model(pixel_values=pixels[train:]).logits.argmax(dim=1)
    model.save_pretrained(str(folder))
    preprocessor = {"size": {"height": 32, "width": 32}, "image_mean": [0.5] * 3, "image_std": [0.5] * 3}
    (Path(folder) / "preprocessor_config.json").write_text(json.dumps(preprocessor), encoding="utf-8")
    return float((found == target[train:]).double().mean())
