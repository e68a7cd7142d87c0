"""Tables at the boundary: a user's array or data frame is read as a table that keeps its dtypes.

Frames go through narwhals: the explained row is stacked on the background and each column is gathered with
one integer index, which changes no dtype, no category and no order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyshap._types import BoolMatrix, FloatArray, IntArray
from polyshap.errors import ArgumentError, ArgumentTypeError
from polyshap.tables.arrays import ArrayTable, Table, filled, mixed_kinds
from polyshap.tables.columns import Words, as_column, bits, codes, column_values, numpy_kind, suited

__all__ = ["FrameTable", "read"]


def read(data: Any, argument: str, names: Sequence[str] | None = None) -> Table:
    """A user's array or frame as a table; `argument` is its name in messages."""
    if _is_frame(data):
        return _read_frame(data, argument)
    if isinstance(data, np.ma.MaskedArray):
        raise ArgumentTypeError(_wanted(argument, data) + " Use .filled(numpy.nan).")
    if hasattr(data, "toarray"):
        raise ArgumentTypeError(_wanted(argument, data) + " Use .toarray().")
    if hasattr(data, "detach") and hasattr(data, "cpu"):  # a torch tensor
        data = data.detach().cpu().numpy()
    try:
        array = np.asarray(data)
    except (TypeError, ValueError) as error:
        raise ArgumentTypeError(_wanted(argument, data)) from error
    if array.ndim != 2 or array.shape[1] == 0:
        hint = f" Use {argument}.reshape(1, -1) for one row." if array.ndim == 1 else ""
        raise ArgumentError(
            f"`{argument}` must be a table: an array (n_rows, n_columns) or a DataFrame. Got "
            f"{type(data).__name__} of shape {array.shape}.{hint}"
        )
    if array.dtype.kind not in "biufOUSMm":
        raise ArgumentTypeError(f"`{argument}` must hold numbers, text or dates. Got dtype {array.dtype}.")
    if len(array) == 0:
        raise ArgumentError(f"`{argument}` must hold at least one row. Got an empty table.")
    return ArrayTable(array, _array_names(names, array.shape[1]))


def _array_names(names: Sequence[str] | None, n_columns: int) -> tuple[str, ...]:
    if names is None:
        return tuple(f"x{j}" for j in range(n_columns))
    if isinstance(names, str):
        raise ArgumentTypeError(f"`feature_names` must be a list of names. Got the text {names!r}.")
    found = tuple(map(str, names))
    if len(found) != n_columns:
        raise ArgumentError(
            f"`feature_names` must hold one name for each of the {n_columns} columns. Got {len(found)}."
        )
    if twice := sorted({name for name in found if found.count(name) > 1}):
        raise ArgumentError(f"`feature_names` must be different. Got {', '.join(twice[:5])} more than once.")
    return found


def _wanted(argument: str, data: object) -> str:
    return (
        f"`{argument}` must be an array (n_rows, n_columns) or a pandas, polars or pyarrow table held in "
        f"memory. Got {type(data).__module__.partition('.')[0]} {type(data).__name__}."
    )


def _is_frame(data: object) -> bool:
    return type(data).__module__.partition(".")[0] in _FRAME_LIBRARIES


_FRAME_LIBRARIES = ("pandas", "polars", "pyarrow", "modin", "cudf", "duckdb", "dask", "pyspark", "ibis")


@dataclass(frozen=True, eq=False)
class FrameTable:
    """A data frame of any library that narwhals reads eagerly."""

    frame: Any  # narwhals.DataFrame
    argument: str

    def __len__(self) -> int:
        return len(self.frame)

    @property
    def native(self) -> Any:
        return self.frame.to_native()

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(map(str, self.frame.columns))

    @property
    def row_bytes(self) -> int:
        # a float64 or a pointer for most columns; text and categories cost less than twice that
        return 16 * len(self.frame.columns)

    def take(self, rows: Sequence[int] | IntArray) -> FrameTable:
        index = np.asarray(rows, dtype=np.intp)
        return FrameTable(_reset(self.frame[index]), self.argument)

    def mix(self, row: Table, present: BoolMatrix, fill: IntArray) -> Any:
        import narwhals as nw

        plain = self._both_plain(row)
        if plain is not None:
            return self._wrap(filled(plain[0], plain[1].take(fill, axis=0), present))
        assert isinstance(row, FrameTable)
        stacked = _reset(nw.concat([row.frame, self.frame], how="vertical"))
        background = fill + 1  # row 0 is the explained one
        columns = [
            stacked.get_column(name)[np.where(present[:, j], 0, background)].alias(name)
            for j, name in enumerate(self.frame.columns)
        ]
        return _reset(_join(columns)).to_native()

    def block(self, row: Table, present: BoolMatrix) -> Any:
        n_fills = len(self)
        plain = self._both_plain(row)
        if plain is None:
            fill = np.tile(np.arange(n_fills), len(present))
            return self.mix(row, np.repeat(present, n_fills, axis=0), fill)
        rows = filled(plain[0], plain[1][None], present[:, None, :])
        return self._wrap(rows.reshape(-1, rows.shape[2]))

    def _both_plain(self, row: Table) -> tuple[NDArray[Any], NDArray[Any]] | None:
        """The row and this background as arrays, where both are."""
        if self._plain is None or not isinstance(row, FrameTable) or row._plain is None:
            return None
        return row._plain, self._plain

    @cached_property
    def _plain(self) -> NDArray[Any] | None:
        """The numbers of a pandas frame whose columns all have one numpy dtype: no gather per column."""
        if not self.frame.implementation.is_pandas():
            return None
        kinds = set(self.native.dtypes)
        kind = kinds.pop() if len(kinds) == 1 else None
        return self.native.to_numpy() if isinstance(kind, np.dtype) and kind.kind in "biuf" else None

    def _wrap(self, rows: NDArray[Any]) -> Any:
        return type(self.native)(rows, columns=self.native.columns, copy=False)

    def codes(self, other: Table) -> Words:
        assert isinstance(other, FrameTable)
        plain = self._both_plain(other)
        if plain is not None:  # by the dtype, too: the rows were cast to it
            return bits(plain[0])
        found = [
            codes(self.frame.get_column(name), other.frame.get_column(name)) for name in self.frame.columns
        ]
        return np.stack(found, axis=1)

    def holding(self, rows: Table) -> FrameTable:
        return self  # rows are cast to the dtypes of the background, or refused

    def columns(self) -> tuple[NDArray[Any], ...]:
        return self._columns

    @cached_property
    def _columns(self) -> tuple[NDArray[Any], ...]:
        return tuple(column_values(self.frame.get_column(name)) for name in self.frame.columns)

    def with_columns(self, columns: Sequence[FloatArray]) -> Any:
        import narwhals as nw

        backend = self.frame.implementation
        series = [
            nw.new_series(name, np.ascontiguousarray(suited(values, numpy_kind(kind))), backend=backend)
            for (name, kind), values in zip(self.frame.schema.items(), columns, strict=True)
        ]
        cast = [nw.col(name).cast(kind) for name, kind in self.frame.schema.items()]
        return _join(series).with_columns(*cast).to_native()

    def aligned(self, rows: Table, argument: str) -> FrameTable:
        """`rows` with the columns, order and dtypes of this background."""
        if not isinstance(rows, FrameTable) or rows.frame.implementation != self.frame.implementation:
            raise mixed_kinds(rows, argument)
        missing = [name for name in self.frame.columns if name not in rows.frame.columns]
        extra = [name for name in rows.frame.columns if name not in self.frame.columns]
        if missing or extra:
            raise ArgumentError(
                f"`{argument}` must have the columns of `background`. "
                f"Missing: {missing or 'none'}. Not in the background: {extra or 'none'}."
            )
        import narwhals as nw

        # by expressions: labels may be numbers
        frame = rows.frame.select(nw.col(name) for name in self.frame.columns)
        for name in self.frame.columns:
            frame = frame.with_columns(
                as_column(frame.get_column(name), self.frame.get_column(name), argument)
            )
        return FrameTable(_reset(frame), argument)


def _read_frame(data: Any, argument: str) -> FrameTable:
    import narwhals as nw

    pandas_like = type(data).__module__.partition(".")[0] in ("pandas", "modin")
    if pandas_like and getattr(getattr(data, "columns", None), "nlevels", 1) > 1:
        raise ArgumentError(
            f"`{argument}` must have one level of column names. Got a MultiIndex: flatten it."
        )
    try:
        frame = nw.from_native(data, eager_only=True)
    except nw.exceptions.DuplicateError as error:
        text = " ".join(str(error).split())
        raise ArgumentError(f"`{argument}` must have different column names. {text}") from error
    except TypeError as error:
        hint = " Call .collect() first." if hasattr(data, "collect") else ""
        if hasattr(data, "to_frame"):
            one = "frame.iloc[[0]]" if pandas_like else "frame[:1]"
            hint = f" Of a frame, {one} is one row."
        raise ArgumentTypeError(_wanted(argument, data) + hint) from error
    if len(set(map(str, frame.columns))) < len(frame.columns):
        raise ArgumentError(f"`{argument}` must have different column names. Got {list(frame.columns)}.")
    if len(frame) == 0 or not frame.columns:
        raise ArgumentError(f"`{argument}` must hold at least one row. Got an empty table.")
    return FrameTable(_reset(frame), argument)


def _reset(frame: Any) -> Any:
    import narwhals as nw

    return nw.maybe_reset_index(frame)


def _join(series: Sequence[Any]) -> Any:
    return series[0].to_frame().with_columns(*series[1:])
