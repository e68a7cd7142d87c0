"""The numbers of a report: one shape for every explanation, and the rows that the page embeds."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyshap._types import FloatArray, IntArray
from polyshap.errors import ArgumentError
from polyshap.explanation import Explanation
from polyshap.plots.names import distinct
from polyshap.tables.columns import is_missing
from polyshap.text_tables import date_text

__all__ = ["WIDTH", "Content", "embedded", "gather"]

# Half width of a 95 % interval in standard errors.
WIDTH = 1.959963984540054
# Values are whole numbers of steps, errors of coarser ones: five and three digits of the largest.
_VALUE_STEPS, _ERROR_STEPS = 20_000, 1_000
_ROWS = 1_000
# Bytes of the block of rows; with some 40 kB of page around it the file stays below 1.5 MB.
_LARGEST = 1_400_000
_LONGEST_TEXT = 80
_NAME_WIDTH = 30  # characters, beside a bar


@dataclass(frozen=True, eq=False)
class Content:
    """Every row with every output.

    Attributes
    ----------
    values : ndarray, shape (n_rows, n_features, n_outputs)
    errors : ndarray like `values`, or None
        Half widths of 95 % intervals.
    base, predictions : ndarray, shape (n_rows, n_outputs)
    data : ndarray, shape (n_rows, n_features)
    features, short, outputs, labels : tuple of str
        `short` are the features cut to some width and still told apart; `outputs` has one entry, perhaps
        empty, for a single output; `labels` name the rows.
    """

    values: FloatArray
    errors: FloatArray | None
    base: FloatArray
    predictions: FloatArray
    data: NDArray[Any]
    features: tuple[str, ...]
    short: tuple[str, ...]
    outputs: tuple[str, ...]
    labels: tuple[str, ...]

    @property
    def range(self) -> FloatArray:
        """Spread of the predictions of each output, or its largest contribution where that is more."""
        spread = np.ptp(np.concatenate([self.predictions, self.base]), axis=0)
        wide = np.maximum(spread, np.abs(self.values).max(axis=(0, 1)))
        return np.where(wide > 0, wide, 1.0)


def gather(x: Explanation, row_labels: Sequence[str] | None) -> Content:
    """An explanation with an axis for rows and one for outputs, whatever was sliced off."""
    n_outputs = len(x.output_names) if isinstance(x.output_names, tuple) else 1
    n_features = len(x.feature_names)
    values = x.values.reshape(-1, n_features, n_outputs)
    errors = x.standard_errors
    labels = [str(i) for i in range(len(values))] if row_labels is None else list(map(str, row_labels))
    if len(labels) != len(values):
        raise ArgumentError(
            f"`row_labels` must hold one text for each of {len(values)} rows. Got {len(labels)}."
        )
    names = x.output_names if isinstance(x.output_names, tuple) else (x.output_names or "",)
    return Content(
        values=values,
        errors=None if errors is None else WIDTH * errors.reshape(values.shape),
        base=x.base_values.reshape(-1, n_outputs),
        predictions=x.predictions.reshape(-1, n_outputs),
        data=x.data.reshape(-1, n_features),
        features=x.feature_names,
        short=tuple(distinct(x.feature_names, _NAME_WIDTH)),
        outputs=names,
        labels=tuple(labels),
    )


def embedded(content: Content, max_rows: int | None) -> tuple[str, int]:
    """JSON of the rows that the page holds, safe inside a script element, and how many they are.

    Without `max_rows` they are 1,000 at most, and as few as keep the page below 1.5 MB.
    """
    n_rows = len(content.values)
    wanted = min(n_rows, _ROWS if max_rows is None else max_rows)
    text = _as_json(content, _spread(n_rows, wanted))
    while max_rows is None and len(text) > _LARGEST and wanted > 1:
        wanted = max(1, min(wanted - 1, int(0.98 * wanted * _LARGEST / len(text))))
        text = _as_json(content, _spread(n_rows, wanted))
    return text, wanted


def _spread(n_rows: int, wanted: int) -> IntArray:
    """Evenly spaced rows, the first and the last among them."""
    return np.linspace(0, n_rows - 1, wanted).round().astype(int)


def _as_json(content: Content, rows: IntArray) -> str:
    outputs = []
    for k, name in enumerate(content.outputs):
        values = content.values[rows, :, k]
        step = _step(content.values[:, :, k], _VALUE_STEPS)
        found: dict[str, Any] = {
            "name": _text(name),
            "step": step,
            "base": [_rounded(value) for value in content.base[rows, k]],
            "prediction": [_rounded(value) for value in content.predictions[rows, k]],
            "values": np.rint(values / step).astype(int).ravel().tolist(),
            "errors": None,
        }
        if content.errors is not None and content.errors.any():  # noughts of exact values say nothing
            found["errorStep"] = _step(content.errors[:, :, k], _ERROR_STEPS)
            steps = np.ceil(content.errors[rows, :, k] / found["errorStep"])
            found["errors"] = steps.astype(int).ravel().tolist()
        outputs.append(found)
    page = {
        "features": [_text(name) for name in content.features],
        "short": content.short,
        "rows": [_text(content.labels[row]) for row in rows],
        "data": [_datum(value) for value in content.data[rows].ravel()],
        "outputs": outputs,
    }
    text = json.dumps(page, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    # inside a script element only these could end it or begin a comment
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def _step(values: FloatArray, steps: int) -> float:
    largest = float(np.abs(values).max())
    return float(f"{(largest or 1.0) / steps:.3g}")


def _rounded(value: float) -> float:
    return float(f"{value:.6g}")


def _datum(value: Any) -> Any:
    """Numbers with five digits, everything else as text; missing as null."""
    if is_missing(value):
        return None
    if isinstance(value, date | np.datetime64):
        return date_text(value)
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool) or (isinstance(value, int) and abs(value) < 1 << 53):
        return value
    if isinstance(value, float):
        return float(f"{value:.5g}") if np.isfinite(value) else str(value)
    return _text(value)


def _text(value: Any) -> str:
    """One line; half of a surrogate pair, which no file can hold, is replaced."""
    text = "".join(one if one.isprintable() else " " for one in str(value))
    return text if len(text) <= _LONGEST_TEXT else text[: _LONGEST_TEXT - 1] + "…"
