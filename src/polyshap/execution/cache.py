"""A game whose values are kept: what was paid for once is never asked for again."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyshap._types import BoolMatrix, FloatArray
from polyshap.coalitions import pack
from polyshap.errors import ArgumentTypeError, GameValueError, PolyshapWarning
from polyshap.execution.evaluate import check_width, checked_answer
from polyshap.execution.fingerprints import fingerprint, hashed
from polyshap.execution.store import ValueStore

__all__ = ["Cache", "CachedGame", "open_cache"]


@dataclass(frozen=True)
class Cache:
    """Where values are kept, and what the model is called there.

    Parameters
    ----------
    path : str or Path
        A folder, with one file for each model, or a file (.sqlite) for one model.
    fingerprint : str, optional
        Name and version of the model. By default it is computed from what the model holds and from the code
        of your own functions and classes, but not of installed packages.
    """

    path: str | Path
    fingerprint: str | None = None


def open_cache(cache: str | Path | Cache, model: Any, label: str = "the model") -> ValueStore:
    """The file that holds the values of `model`.

    Raises
    ------
    CacheMismatchError
        The file belongs to another model.
    StorageError
        It cannot be written; nothing has been asked of the model.
    """
    if isinstance(cache, str | Path):
        cache = Cache(cache)
    if not isinstance(cache, Cache):
        raise ArgumentTypeError(f"`cache` must be a path or a Cache. Got {type(cache).__name__}.")
    own = fingerprint(model) if cache.fingerprint is None else hashed(cache.fingerprint.encode())
    path = Path(cache.path)
    if path.suffix and not path.is_dir():
        return ValueStore(path, own, label)
    file = path / f"{own[:16]}.sqlite"
    others = [] if file.exists() or not path.is_dir() else sorted(path.glob("*.sqlite"))
    if others and cache.fingerprint is None:
        warnings.warn(
            f"The cache {str(path)!r} holds values of {len(others)} other model{'s'[: len(others) > 1]} and "
            f"none of {label}. If it is one of them, name it yourself on every run: "
            "cache=polyshap.execution.Cache(path, fingerprint='name and version').",
            PolyshapWarning,
            stacklevel=3,
        )
    return ValueStore(file, own, label)


@dataclass(frozen=True, eq=False)
class CachedGame:
    """A game that asks `game` only for what `store` does not hold.

    Parameters
    ----------
    game : callable
    store : ValueStore
    identity : bytes
        Everything that the values depend on beside the model: row, background, imputer.
    n_players : int
    """

    game: Callable[[BoolMatrix], FloatArray]
    store: ValueStore
    identity: bytes
    n_players: int
    _known: dict[bytes, FloatArray] = field(default_factory=dict, repr=False)
    _read: list[int] = field(default_factory=lambda: [0], repr=False)

    @property
    def batch_size(self) -> int | None:
        return getattr(self.game, "batch_size", None)

    def __call__(self, coalitions: BoolMatrix) -> FloatArray:
        packed = pack(coalitions)
        keys = [row.tobytes() for row in packed]
        self._refresh()
        missing = np.array([key not in self._known for key in keys], dtype=bool)
        if missing.any():
            self._ask(coalitions[missing], packed[missing])
        return np.array([self._known[key] for key in keys])

    def _ask(self, coalitions: BoolMatrix, packed: NDArray[np.uint8]) -> None:
        """Evaluate and keep; of a batch with NaN the finite values are kept before it is raised."""
        answer = self.game(coalitions.copy())
        try:
            values = checked_answer(answer, coalitions)
        except GameValueError as error:
            if error.coalitions is not None and error.values is not None:
                self._keep(pack(error.coalitions), error.values)
            raise
        self._keep(packed, values)

    def _keep(self, packed: NDArray[np.uint8], values: FloatArray) -> None:
        if len(packed):
            check_width(values, next(iter(self._known.values()), values[0]).shape)
            self.store.append(self.identity, packed, values)
            self._known.update(zip((row.tobytes() for row in packed), values, strict=True))

    def _refresh(self) -> None:
        """Read what was written since, by this process or another."""
        width = -(-self.n_players // 8)
        for batch in self.store.read(self.identity, self._read[0]):
            self._read[0] = batch.number
            if batch.packed.shape[1] == width:
                rows = (row.tobytes() for row in batch.packed)
                self._known.update(zip(rows, batch.values, strict=True))
