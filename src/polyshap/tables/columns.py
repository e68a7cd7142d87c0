"""Columns of tables: their dtypes made equal, their values as numbers that can be compared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyshap.errors import ArgumentError, ArgumentTypeError

__all__ = ["Words", "as_column", "bits", "column_values", "is_missing", "object_codes"]

Words = NDArray[np.uint64]


def as_column(column: Any, wanted: Any, argument: str) -> Any:
    """`column` with the dtype (and the categories) of the background's column."""
    pandas_like = column.implementation.is_pandas_like()
    native, target = column.to_native(), wanted.to_native()
    same = native.dtype == target.dtype if pandas_like else column.dtype == wanted.dtype
    if same:
        return column
    import narwhals as nw

    try:
        if pandas_like:
            made = nw.from_native(_cast_pandas(native, target.dtype), series_only=True)
        else:
            made = column.cast(wanted.dtype)
    except Exception as error:
        raise ArgumentTypeError(
            f"Column {column.name!r} of `{argument}` must have the dtype of the background, {target.dtype}. "
            f"Got {native.dtype}: {error}"
        ) from error
    if made.null_count() > column.null_count():
        pairs = zip(column.to_list(), made.to_list(), strict=True)
        unseen = sorted({str(a) for a, b in pairs if is_missing(b) and not is_missing(a)})
        raise ArgumentError(
            f"Column {column.name!r} of `{argument}` must hold values of the background's categories. "
            f"Got {', '.join(unseen[:5])}. Add the category to the background's dtype, or drop the row."
        )
    if wanted.dtype.is_integer() and column.dtype.is_float() and not (made == column).all():
        raise ArgumentTypeError(
            f"Column {column.name!r} of `{argument}` must be whole numbers ({target.dtype}), as in the "
            f"background. Got {native.dtype} with fractions."
        )
    return made


def _cast_pandas(column: Any, dtype: Any) -> Any:
    """Natively, so that category levels are carried; a value without a level becomes missing here."""
    categories = getattr(dtype, "categories", None)
    if categories is None or not hasattr(dtype, "ordered"):
        return column.astype(dtype)
    values = column.astype(object)
    return values.where(values.isin(categories), None).astype(dtype)


def column_values(column: Any) -> NDArray[Any]:
    """Plain numbers and dates as they are, everything else as Python objects, missing as None."""
    if column.dtype.is_numeric() or str(column.dtype) == "Boolean":
        if column.null_count() == 0 or column.dtype.is_float():
            values = np.asarray(column.to_numpy())
            if values.dtype.kind in "biuf":
                return values
        elif column.dtype.is_integer():
            return np.array([np.nan if is_missing(v) else float(v) for v in column.to_list()])
    values = np.empty(len(column), dtype=object)
    values[:] = [None if is_missing(value) else value for value in column.to_list()]
    return values


def bits(array: NDArray[Any]) -> Words:
    """The bytes of each number as one word; -0.0 and 0.0 share one, and so do all NaN."""
    if array.dtype.kind == "f":
        array = np.where(np.isnan(array), np.nan, array + array.dtype.type(0)).astype(np.float64)
    elif array.dtype.kind != "u":
        array = array.astype(np.int64)
    return array.astype(np.uint64, copy=False) if array.dtype.kind == "u" else array.view(np.uint64)


def object_codes(own: Sequence[NDArray[Any]], asked: Sequence[NDArray[Any]] | None) -> Words:
    """Position of first occurrence in the own column; values that are not there count on from its end."""
    targets = own if asked is None else asked
    out = np.empty((len(targets[0]), len(own)), dtype=np.uint64)
    for j, (mine, theirs) in enumerate(zip(own, targets, strict=True)):
        table: dict[object, int] = {}
        for value in (*mine, *theirs):
            table.setdefault(_token(value), len(table))
        out[:, j] = [table[_token(value)] for value in theirs]
    return out


def is_missing(value: Any) -> bool:
    """None, NaN, NaT, or pandas' NA, whose comparisons are NA again."""
    if value is None:
        return True
    equal = value == value
    return not equal if isinstance(equal, bool | np.bool_) else str(value) == "<NA>"


def _token(value: object) -> object:
    if is_missing(value):
        return None
    try:
        hash(value)
    except TypeError:
        return repr(value)
    return type(value).__name__, value
