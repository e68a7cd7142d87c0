"""Tables from csv and parquet files, recognised by content, and which of their rows are meant."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyshap._types import IntArray
from polyshap.errors import ArgumentError, FileFormatError, optional_import

__all__ = ["choose_rows", "read_table", "select_columns", "write_table"]

_SEPARATORS = (",", ";", "\t", "|")
# formats that people hand over by mistake: first bytes, name
_OTHERS = (
    (b"PK\x03\x04", "an Excel or zip file"),
    (b"ARROW1", "an Arrow (feather) file"),
    (b"\x1f\x8b", "a gzip file"),
    (b"SQLite", "an SQLite database"),
    (b"\x93NUMPY", "a numpy file"),
)


def read_table(path: str | Path, argument: str) -> Any:
    """A csv or parquet file as a pandas DataFrame.

    Parameters
    ----------
    path : str or Path
    argument : str
        What the file is called in messages, such as "DATA".
    """
    path = Path(path)
    if not path.is_file():
        raise ArgumentError(f"{argument} must be an existing csv or parquet file. There is no {str(path)!r}.")
    pandas = optional_import("pandas", extra="cli", purpose="Reading a table")
    with path.open("rb") as file:
        head = file.read(1 << 16)
    is_parquet = head.startswith(b"PAR1")
    if is_parquet:
        optional_import("pyarrow", extra="cli", purpose="Reading a parquet file")
    else:
        _check_text(head, path, argument)
    try:
        if is_parquet:
            table = pandas.read_parquet(path)
        else:
            table = pandas.read_csv(path, sep=_separator(head), encoding="utf-8-sig")
    except Exception as error:
        first = str(error).strip().splitlines() or [type(error).__name__]
        raise FileFormatError(f"{argument} {str(path)!r} could not be read: {first[0]}") from error
    if len(table) == 0:
        raise ArgumentError(f"{argument} must hold at least one row. {str(path)!r} has none.")
    table.columns = [str(name) for name in table.columns]
    return table


def _check_text(head: bytes, path: Path, argument: str) -> None:
    for magic, name in _OTHERS:
        if head.startswith(magic):
            raise FileFormatError(f"{argument} must be csv or parquet. {str(path)!r} is {name}: convert it.")
    if b"\x00" in head or not head.strip():
        what = "empty" if not head.strip() else "binary"
        raise FileFormatError(f"{argument} must be csv or parquet. {str(path)!r} is {what}.")


def _separator(head: bytes) -> str:
    """The one that the header line holds most of; a comma where it holds none."""
    first = head.decode("utf-8", errors="replace").splitlines()[0]
    bare = re.sub(r'"[^"]*"', "", first)
    return max(_SEPARATORS, key=bare.count)


def choose_rows(text: str | None, n_rows: int) -> IntArray:
    """Row numbers that "0:10", "3", "1,4,7", "-5:" or ":" mean; all of them without a text.

    Examples
    --------
    >>> choose_rows("2:4,-1", 10).tolist()
    [2, 3, 9]
    """
    everything = np.arange(n_rows)
    if text is None:
        return everything
    chosen: list[IntArray] = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*(-?\d+)?(:)?(-?\d+)?(?::(-?\d+))?\s*", part)
        if not match or not part.strip() or (match[3] is not None and not match[2]) or match[4] == "0":
            raise ArgumentError(f"--rows must look like 0:10, 3 or 1,4,7. Got {text!r}.")
        start, colon, stop, step = match.groups()
        if colon:
            bounds = (None if one is None else int(one) for one in (start, stop, step))
            chosen.append(everything[slice(*bounds)])
            continue
        if not -n_rows <= int(start) < n_rows:
            raise ArgumentError(f"--rows must lie in 0..{n_rows - 1}. Got {start}.")
        chosen.append(everything[[int(start)]])
    rows = np.concatenate(chosen)
    if not len(rows):
        raise ArgumentError(f"--rows must choose at least one of the {n_rows} rows. Got {text!r}.")
    return rows


def select_columns(
    table: Any, columns: Sequence[str] | None, dropped: Sequence[str], argument: str, *, strict: bool = True
) -> Any:
    """The model's columns in the model's order; without names, all that are not dropped.

    `strict` refuses a dropped column that is not there.
    """
    unknown = [name for name in dropped if name not in table.columns]
    if unknown and strict:
        raise ArgumentError(
            f"--target-drop must name a column of {argument}, and may be repeated. Got {', '.join(unknown)}. "
            f"Columns: {', '.join(table.columns[:20])}."
        )
    table = table.drop(columns=[name for name in dropped if name in table.columns])
    if columns is None:
        return table
    missing = [name for name in columns if name not in table.columns]
    extra = [name for name in table.columns if name not in columns]
    if missing:
        raise ArgumentError(
            f"{argument} must have the {len(columns)} columns that the model was fitted on. "
            f"Missing: {', '.join(missing[:20])}."
        )
    if extra:
        flags = " ".join(f"--target-drop {shlex.quote(name)}" for name in extra[:5])
        raise ArgumentError(
            f"{argument} has columns that the model was not fitted on: {', '.join(extra[:20])}. Add: {flags}"
        )
    return table[list(columns)]


def write_table(table: Any, path: Path) -> None:
    """A DataFrame as csv or parquet, as the suffix says; mixed columns are written as text to parquet."""
    if path.suffix == ".csv":
        table.to_csv(path, index=False)
        return
    optional_import("pyarrow", extra="cli", purpose="Writing a parquet file")
    mixed = [name for name in table.columns if _is_mixed(table[name].to_numpy())]
    table.astype(dict.fromkeys(mixed, str)).to_parquet(path, index=False)


def _is_mixed(column: NDArray[Any]) -> bool:
    return column.dtype == object and len({type(value) for value in column if value is not None}) > 1
