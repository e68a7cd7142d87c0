"""The CIFAR-10 game on its real path: a local model and the images become tables of all 65,536 values."""

from __future__ import annotations

import io
import pickle
import random
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyshap.benchmark.tasks import N_INSTANCES
from polyshap.benchmark.vision import load_image_model, patch_game
from polyshap.errors import FileFormatError, MissingDataError
from polyshap.games.tables import save_table, tabulate

__all__ = ["chosen_images", "compute_tables", "read_batch"]

# The order of the explained images is that of the authors' class, whose own seed this is.
_SEED = 42


class _ArraysOnly(pickle.Unpickler):
    """Unpickles numpy arrays and plain containers, nothing that could run code."""

    _ALLOWED = frozenset({("numpy", "ndarray"), ("numpy", "dtype"), ("_codecs", "encode")})

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in self._ALLOWED or (
            module in ("numpy.core.multiarray", "numpy._core.multiarray") and name == "_reconstruct"
        ):
            return super().find_class(module.replace("numpy.core", "numpy._core"), name)
        raise pickle.UnpicklingError(f"{module}.{name} is not an array")


def read_batch(path: str | PathLike[str]) -> NDArray[np.uint8]:
    """The images (n, 32, 32, 3) of a batch file of CIFAR-10 for Python, as torchvision keeps it."""
    source = Path(path)
    if not source.exists():
        raise MissingDataError(
            f"There is no {source}. Download https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz and "
            "unpack it (torchvision.datasets.CIFAR10(root, download=True) does both); "
            "pass the folder cifar-10-batches-py."
        )
    try:
        content = _ArraysOnly(io.BytesIO(source.read_bytes()), encoding="bytes").load()
        pixels = np.asarray(content[b"data"], dtype=np.uint8)
        return np.ascontiguousarray(pixels.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1))
    except (pickle.UnpicklingError, KeyError, ValueError, EOFError, TypeError) as error:
        raise FileFormatError(f"{source} is no batch file of CIFAR-10: {error}") from error


def chosen_images(n_images: int, n_instances: int = N_INSTANCES) -> list[int]:
    """The numbers of the explained images: the first of a fixed shuffle of the test set.

    >>> chosen_images(10_000, 3)
    [3771, 6672, 7261]
    """
    order = list(range(n_images))
    random.Random(_SEED).shuffle(order)
    return order[:n_instances]


def compute_tables(
    model: str | PathLike[str],
    data: str | PathLike[str],
    folder: str | PathLike[str],
    *,
    n_instances: int = N_INSTANCES,
    device: str | None = None,
    batch_size: int = 256,
    progress: Callable[[str], object] = lambda text: None,
) -> list[Path]:
    """Evaluate every coalition of the first images and store the tables 01.npz, 02.npz, ...; their paths.

    A table that is there is not computed again.

    Parameters
    ----------
    model : path
        Folder of a Hugging Face image classifier with its preprocessor.
    data : path
        Folder with `test_batch`.
    folder : path
    n_instances : int
    device : str, optional
        A GPU if there is one.
    batch_size : int
        Images of one model call.
    progress : callable
        Gets a line of text for each image.
    """
    images = read_batch(Path(data) / "test_batch")
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    classifier = None
    paths = []
    for number, index in enumerate(chosen_images(len(images), n_instances), start=1):
        path = target / f"{number:02d}.npz"
        if not path.exists():
            classifier = classifier or load_image_model(model, device=device)
            game = patch_game(classifier, images[index], batch_size=batch_size)
            save_table(tabulate(game, game.n_players, batch_size=4096), path)
        progress(f"image {number} of {n_instances} (number {index} of the test set): {path}")
        paths.append(path)
    return paths
