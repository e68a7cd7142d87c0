"""Columns of tables: their dtypes made equal, their values as numbers that can be compared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyshap._types import FloatArray
from polyshap.errors import ArgumentError, ArgumentTypeError

__all__ = [
    "Words",
    "as_column",
    "bits",
    "codes",
    "column_values",
    "is_missing",
    "numpy_kind",
    "object_codes",
    "suited",
]

Words = NDArray[np.uint64]

# Stands for a missing number: an odd constant of no meaning, which no column of numbers is likely to hold.
_MISSING = np.uint64(0x9E3779B97F4A7C15)


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
            f"Got {native.dtype}: {' '.join(str(error).split())}"
        ) from error
    if made.null_count() > column.null_count():
        pairs = zip(column.to_list(), made.to_list(), strict=True)
        unseen = sorted({str(a) for a, b in pairs if is_missing(b) and not is_missing(a)})
        raise ArgumentError(
            f"Column {column.name!r} of `{argument}` must hold values of the background's categories. "
            f"Got {', '.join(unseen[:5])}. Add the category to the background's dtype, or drop the row."
        )
    if _is_whole(wanted.dtype) and (_is_whole(column.dtype) or column.dtype.is_float()):
        _check_kept(column, made, argument)
    return made


def _is_whole(dtype: Any) -> bool:
    """Whether numpy knows the column's dtype (of narwhals) as whole numbers or booleans."""
    return numpy_kind(dtype) != "float64"


def numpy_kind(dtype: Any) -> str:
    """The name that numpy has for whole numbers and booleans of narwhals; "float64" for all else."""
    names = {"Boolean": "bool"} | {
        f"{u}Int{n}": f"{u.lower()}int{n}" for u in ("", "U") for n in (8, 16, 32, 64)
    }
    return names.get(str(dtype), "float64")


def _check_kept(column: Any, made: Any, argument: str) -> None:
    """Whether a cast to whole numbers or to booleans left every value what it was."""
    known = ~made.is_null()
    before, after = column.filter(known), made.filter(known)
    lost = before.filter(after.cast(column.dtype) != before)
    if len(lost):
        raise ArgumentTypeError(
            f"Column {column.name!r} of `{argument}` must hold whole numbers that the background's dtype, "
            f"{made.dtype}, can hold. Got {column.dtype} with {', '.join(map(str, lost.to_list()[:5]))}. "
            "Give the background the wider dtype."
        )


def _cast_pandas(column: Any, dtype: Any) -> Any:
    """Natively, so that category levels are carried; a value without a level becomes missing here."""
    categories = getattr(dtype, "categories", None)
    if categories is None or not hasattr(dtype, "ordered"):
        return column.astype(dtype)
    values = column.astype(object)
    return values.where(values.isin(categories), None).astype(dtype)


def column_values(column: Any) -> NDArray[Any]:
    """Plain numbers as they are, everything else as Python objects, missing as None; for display."""
    if column.dtype.is_numeric() or str(column.dtype) == "Boolean":
        if column.null_count() == 0 or column.dtype.is_float():
            values = np.asarray(column.to_numpy())
            if values.dtype.kind in "biuf":
                return values
        elif column.dtype.is_integer():
            return np.array([np.nan if is_missing(v) else float(v) for v in column.to_list()])
    return _objects([None if is_missing(value) else value for value in column.to_list()])


def _objects(values: Sequence[Any]) -> NDArray[Any]:
    made = np.empty(len(values), dtype=object)
    made[:] = values
    return made


def codes(own: Any, other: Any) -> Words:
    """Numbers for `other` that are equal to those of codes(own, own) exactly where the values are.

    The dtype, which both columns share, decides how, never the values: what is compared later must have been
    coded alike.
    """
    if not (_is_whole(own.dtype) or own.dtype.is_float()):
        return object_codes([_objects(own.to_list())], [_objects(other.to_list())])[:, 0]
    if other.null_count() == 0:
        return bits(np.asarray(other.to_numpy()))
    zero = False if numpy_kind(own.dtype) == "bool" else 0
    known = other.fill_null(zero) if _is_whole(own.dtype) else other
    return np.where(other.is_null().to_numpy(), _MISSING, bits(np.asarray(known.to_numpy())))


def bits(array: NDArray[Any]) -> Words:
    """The bytes of each number as one word; -0.0 and 0.0 share one, and so do all NaN."""
    if array.dtype.kind == "f":
        array = np.where(np.isnan(array), np.nan, array + array.dtype.type(0)).astype(np.float64)
    elif array.dtype.kind != "u":
        array = array.astype(np.int64)
    return array.astype(np.uint64, copy=False) if array.dtype.kind == "u" else array.view(np.uint64)


def object_codes(own: Sequence[NDArray[Any]], asked: Sequence[NDArray[Any]]) -> Words:
    """Position of first occurrence in the own column; values that are not there count on from its end."""
    out = np.empty((len(asked[0]), len(own)), dtype=np.uint64)
    for j, (mine, theirs) in enumerate(zip(own, asked, strict=True)):
        table: dict[object, int] = {}
        for value in (*mine, *theirs):
            table.setdefault(_token(value), len(table))
        out[:, j] = [table[_token(value)] for value in theirs]
    return out


def suited(values: FloatArray, dtype: str) -> FloatArray:
    """Numbers that a column of the dtype (a numpy name) can hold: rounded and bounded, cut at 1/2 for bool.

    A cast alone would cut fractions off, and make every number but zero true.
    """
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return np.asarray(values >= 0.5, dtype=float)
    if kind.kind in "iu":
        bounds = np.iinfo(kind)
        return np.clip(np.rint(values), bounds.min, bounds.max)
    return values


def is_missing(value: Any) -> bool:
    """None, NaN, NaT, or pandas' NA, whose comparisons are NA again."""
    if value is None:
        return True
    equal = value == value
    return not equal if isinstance(equal, bool | np.bool_) else str(value) == "<NA>"


def _token(value: object) -> object:
    """Equal for values that are one and the same to a model: None and NaN may not be."""
    kind = type(value).__name__
    if is_missing(value):
        return kind, None
    try:
        hash(value)
    except TypeError:
        return kind, repr(value)
    return kind, value
