"""To shap and back: our explanations in its plots, its maskers as our imputers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyshap._types import BoolMatrix, FloatArray
from polyshap.errors import ArgumentTypeError, optional_import
from polyshap.explanation import Explanation
from polyshap.tables.columns import is_missing

__all__ = ["MaskerImputer", "from_masker", "to_shap"]

# Half width of a 95 % interval in standard errors.
_WIDTH = 1.959963984540054


def to_shap(explanation: Explanation) -> Any:
    """A `shap.Explanation` with 95 % bounds; text becomes numbers in `data` and stays in `display_data`."""
    shap = optional_import("shap", extra="shap", purpose="to_shap()")
    values, errors = np.array(explanation.values), explanation.standard_errors
    bounds: dict[str, FloatArray] = {}
    if errors is not None:
        bounds = {
            "lower_bounds": values - _WIDTH * errors,
            "upper_bounds": values + _WIDTH * errors,
            "error_std": np.array(errors),
        }
    base = np.array(explanation.base_values)
    names = explanation.output_names
    found = shap.Explanation(
        values=values,
        base_values=float(base) if base.ndim == 0 else base,
        data=_as_numbers(explanation.data),
        display_data=_as_shown(explanation.data),
        feature_names=list(explanation.feature_names),
        output_names=list(names) if isinstance(names, tuple) else None,
        **bounds,
    )
    if isinstance(names, str):  # shap's own check of a name fails for a single row
        found.output_names = names
    return found


def _as_numbers(data: NDArray[Any]) -> FloatArray:
    """Columns as floats; text by its rank among the column's values, missing as NaN."""
    if data.dtype.kind in "biuf":
        return np.array(data, dtype=float)
    columns = np.atleast_2d(data)
    out = np.empty(columns.shape)
    for j, column in enumerate(columns.T):
        try:
            out[:, j] = [np.nan if is_missing(value) else float(value) for value in column]
        except (TypeError, ValueError):
            texts = np.array([str(value) for value in column])
            out[:, j] = np.unique(texts, return_inverse=True)[1]
            out[[is_missing(value) for value in column], j] = np.nan
    return out.reshape(data.shape)


def _as_shown(data: NDArray[Any]) -> NDArray[Any]:
    """Numbers as they are and the rest as text: shap's plots format or join them, and fail on other kinds."""
    if data.dtype.kind in "iuf":
        return np.array(data)
    return np.array([_shown(value) for value in data.ravel()], dtype=object).reshape(data.shape)


def _shown(value: Any) -> Any:
    if is_missing(value):
        return "missing"
    if isinstance(value, int | float | np.number) and not isinstance(value, bool):
        return value
    text = str(value).removesuffix(" 00:00:00")  # days as days
    # shap strips zeros from the end of whatever it formats, of dates too
    return text + " " if text.endswith("0") else text


@dataclass(frozen=True, eq=False)
class MaskerImputer:
    """A shap masker as a function (row, present) -> synthetic rows, which `explain` takes as an imputer."""

    masker: Any

    def __call__(self, row: Any, present: BoolMatrix) -> Any:
        vector = row[0] if isinstance(row, np.ndarray) else _vector(row)
        blocks = [_first(self.masker(mask.copy(), vector)) for mask in present]
        # a masker writes into one buffer, so each block was copied
        stacked = np.concatenate([np.asarray(block) for block in blocks])
        if isinstance(row, np.ndarray):
            return stacked.astype(row.dtype, copy=False)
        if hasattr(row, "iloc"):  # pandas, whose dtypes hold levels
            return type(row)(stacked, columns=row.columns).astype(row.dtypes)
        import narwhals as nw

        frame = nw.from_native(row)
        columns = dict(zip(frame.columns, stacked.T.tolist(), strict=True))
        return nw.from_dict(columns, frame.schema, backend=frame.implementation).to_native()


def _vector(frame: Any) -> NDArray[Any]:
    """The first row of a frame of any library, as objects where it is not all numbers."""
    import narwhals as nw

    values = nw.from_native(frame).row(0)
    numbers = np.array(values)
    return numbers if numbers.dtype.kind in "biuf" else np.array(values, dtype=object)


def _first(answer: Any) -> NDArray[Any]:
    block = np.array(answer[0] if isinstance(answer, tuple) else answer)
    if block.ndim != 2:
        raise ArgumentTypeError(
            "`masker` must be a tabular shap masker, such as Independent or Partition, with rows as "
            "answers. "
            f"Got an answer of shape {block.shape}."
        )
    return block


def from_masker(masker: Any) -> MaskerImputer:
    """Use a tabular shap masker: `explain(..., imputer=from_masker(shap.maskers.Independent(data)))`.

    The masker must give the same number of rows for every mask.
    """
    if not callable(masker):
        raise ArgumentTypeError(f"`masker` must be a shap masker. Got {type(masker).__name__}.")
    return MaskerImputer(masker)
