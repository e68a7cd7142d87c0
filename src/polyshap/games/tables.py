"""Precomputed games: all 2^n values in a table, saved and loaded as npz, and read from shapiq's files."""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from polyshap._types import BoolMatrix, FloatArray, IntArray
from polyshap.coalitions import enumerate_all
from polyshap.errors import ArgumentError, FileFormatError
from polyshap.shapley import from_table

__all__ = ["TableGame", "load_table", "save_table", "tabulate"]

_BATCH = 1 << 16

# What reading a cut, altered or foreign file may raise.
_DAMAGE = (LookupError, ValueError, TypeError, AttributeError, EOFError, zipfile.BadZipFile, zlib.error)


@dataclass(frozen=True, eq=False)
class TableGame:
    """A game given by all its values.

    Parameters
    ----------
    table : array-like, shape (2^n,) or (2^n, n_outputs)
        Player i is bit i of the row number: row 0 is the empty and the last row the grand coalition.

    Examples
    --------
    >>> game = TableGame([0.0, 1.0, 2.0, 5.0])
    >>> game(np.array([[False, True], [True, True]])).tolist()
    [2.0, 5.0]
    >>> game.shapley_values().round(12).tolist()
    [2.0, 3.0]
    """

    table: ArrayLike

    def __post_init__(self) -> None:
        table = np.array(self.table, dtype=float)
        if table.ndim not in (1, 2) or len(table) < 2 or len(table) & (len(table) - 1):
            raise ArgumentError(
                f"`table` must hold 2^n rows, one for each coalition. Got shape {table.shape}."
            )
        table.flags.writeable = False
        object.__setattr__(self, "table", table)

    @property
    def n_players(self) -> int:
        return len(np.asarray(self.table)).bit_length() - 1

    def __call__(self, coalitions: BoolMatrix, /) -> FloatArray:
        return np.asarray(self.table)[row_numbers(coalitions)]

    def shapley_values(self) -> FloatArray:
        """The exact values (n_players,) or (n_players, n_outputs)."""
        table = np.asarray(self.table)
        return from_table(table.reshape(len(table), -1)).reshape(self.n_players, *table.shape[1:])


def row_numbers(coalitions: BoolMatrix) -> IntArray:
    """The row of each coalition in a table: player i is bit i."""
    numbers = np.zeros(len(coalitions), dtype=np.intp)
    for player in range(coalitions.shape[1]):
        numbers |= coalitions[:, player].astype(np.intp) << player
    return numbers


def tabulate(
    game: Callable[[BoolMatrix], FloatArray], n_players: int, *, batch_size: int = _BATCH
) -> TableGame:
    """Evaluate every coalition of a game once and keep the values.

    Examples
    --------
    >>> tabulate(lambda z: z.sum(axis=1) ** 2.0, 2).table.tolist()
    [0.0, 1.0, 1.0, 4.0]
    """
    coalitions = enumerate_all(n_players)
    blocks = range(0, len(coalitions), batch_size)
    return TableGame(
        np.concatenate([np.asarray(game(coalitions[at : at + batch_size].copy())) for at in blocks])
    )


def save_table(game: TableGame, path: str | PathLike[str]) -> None:
    """Write a table as npz, in the layout of shapiq's files, which can read it too.

    The file appears complete or not at all.
    """
    target = Path(path)
    if target.suffix != ".npz":
        raise ArgumentError(f"`path` must end in .npz. Got {str(path)!r}.")
    part = target.with_name(target.name + ".tmp")
    try:
        with part.open("wb") as file:
            np.savez_compressed(
                file,
                values=np.asarray(game.table),
                coalitions=enumerate_all(game.n_players),
                n_players=np.int32(game.n_players),
                normalization_value=np.float64(0.0),
            )
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def load_table(path: str | PathLike[str]) -> TableGame:
    """Read a table: npz or JSON as written by `save_table` or by shapiq, in any order of the coalitions.

    The values are returned as stored: shapiq's normalisation is not subtracted, for it moves no Shapley
    value.
    """
    source = Path(path)
    reader = _READERS.get(source.suffix)
    if reader is None:
        raise ArgumentError(f"`path` must end in {' or '.join(_READERS)}. Got {str(path)!r}.")
    try:
        coalitions, values = reader(source)
        n_players = coalitions.shape[1]
        numbers = row_numbers(coalitions)
    except _DAMAGE as error:
        raise FileFormatError(f"{source} is damaged or not a table of a game: {error}") from error
    if (
        len(numbers) != len(values)
        or len(np.unique(numbers)) != len(numbers)
        or len(numbers) != 1 << n_players
    ):
        raise FileFormatError(
            f"{source} must hold the value of each of the 2^{n_players} coalitions once. "
            f"Got {len(values)} values of {len(np.unique(numbers))} distinct coalitions."
        )
    table = np.empty_like(values)
    table[numbers] = values
    return TableGame(table)


def _read_npz(path: Path) -> tuple[BoolMatrix, FloatArray]:
    # opened here: on a damaged file numpy would leave its own handle open
    with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
        return file["coalitions"].astype(bool), file["values"].astype(float)


def _read_json(path: Path) -> tuple[BoolMatrix, FloatArray]:
    """shapiq's JSON: {"metadata": {"n_players": n}, "data": {"0,2": value, "Empty": value}}."""
    content = json.loads(path.read_text(encoding="utf-8"))
    members = [_members(key) for key in content["data"]]
    coalitions = np.zeros((len(members), int(content["metadata"]["n_players"])), dtype=bool)
    for row, players in zip(coalitions, members, strict=True):
        row[list(players)] = True
    return coalitions, np.array(list(content["data"].values()), dtype=float)


def _members(key: str) -> tuple[int, ...]:
    """The text "0,2" -> (0, 2); the empty coalition is "Empty"."""
    return () if key == "Empty" else tuple(int(player) for player in key.split(","))


_READERS: dict[str, Callable[[Path], tuple[BoolMatrix, FloatArray]]] = {
    ".npz": _read_npz,
    ".json": _read_json,
}
