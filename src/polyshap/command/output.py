"""What `polyshap explain` prints: JSON, or tables for a terminal."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from polyshap._types import IntArray
from polyshap.explanation import Explanation
from polyshap.tables.columns import is_missing
from polyshap.text_tables import bar, number, printable, text_table

__all__ = ["Run", "as_json", "as_text"]


@dataclass(frozen=True, eq=False)
class Run:
    """What was explained: the explanation, and which rows of DATA it holds."""

    explanation: Explanation
    rows: IntArray


def as_json(run: Run) -> str:
    """Everything in one JSON object; what is not a number there becomes null."""
    x = run.explanation
    found = {
        "model": x.diagnostics.details.get("model"),
        "estimator": x.diagnostics.estimator,
        "n_evaluations": x.n_evaluations,
        "converged": x.diagnostics.converged,
        "warnings": list(x.diagnostics.warnings),
        "feature_names": list(x.feature_names),
        "output_names": list(x.output_names) if isinstance(x.output_names, tuple) else x.output_names,
        "rows": run.rows.tolist(),
        "base_values": _plain(x.base_values),
        "predictions": _plain(x.predictions),
        "values": _plain(x.values),
        "standard_errors": _plain(x.standard_errors),
        "data": _plain(x.data),
    }
    return json.dumps(found, allow_nan=False, default=str)


def _plain(value: Any) -> Any:
    """Nested lists; NaN and infinity, which JSON does not know, as null."""
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value


# A row's table on a terminal; more rows than this are summed up instead.
_MOST_ROWS_SHOWN = 3


def as_text(run: Run, n_features: int) -> str:
    """Tables for a terminal: each row where they are few, and the features that matter over all rows."""
    x = run.explanation
    names = x.output_names if isinstance(x.output_names, tuple) else (None,)
    blocks = [
        f"{x.diagnostics.details.get('model', 'model')}: {len(x)} row{'s'[: len(x) > 1]}, "
        f"{len(x.feature_names)} feature{'s'[: len(x.feature_names) > 1]}, "
        f"{x.n_evaluations:,} coalitions evaluated ({x.diagnostics.estimator})"
    ]
    for position, name in enumerate(names):
        one = x if name is None else x[..., position]
        heading = "" if name is None else f", output {printable(name)}"
        if len(x) <= _MOST_ROWS_SHOWN:
            blocks += [_row_text(one[i], int(run.rows[i]), heading, n_features) for i in range(len(x))]
        else:
            blocks.append(_global_text(one, heading, n_features))
    return "\n\n".join(blocks)


def _row_text(row: Explanation, number_of_row: int, heading: str, n_features: int) -> str:
    order = np.argsort(-np.abs(row.values), kind="stable")[:n_features]
    largest = float(np.abs(row.values).max())
    scale = largest or 1.0
    lines = [
        (
            row.feature_names[j],
            _short(row.data[j]),
            number(row.values[j], largest, signed=True),
            "" if row.standard_errors is None else "± " + number(1.96 * row.standard_errors[j], largest),
            bar(row.values[j] / scale),
        )
        for j in order
    ]
    rest = row.values.sum() - row.values[order].sum()
    if len(order) < len(row.values):
        others = f"{len(row.values) - len(order)} others"
        lines.append((others, "", number(rest, largest, signed=True), "", bar(rest / scale)))
    title = (
        f"row {number_of_row}{heading}: prediction {float(row.predictions):.6g}, "
        f"base value {float(row.base_values):.6g}"
    )
    return title + "\n" + text_table(("feature", "is", "contributes", "95 %", ""), lines, left=(0, 4))


def _global_text(x: Explanation, heading: str, n_features: int) -> str:
    importance = np.abs(x.values).mean(axis=0)
    order = np.argsort(-importance, kind="stable")[:n_features]
    largest = float(importance.max())
    errors = None if x.standard_errors is None else 1.96 * x.standard_errors.mean(axis=0)
    lines = [
        (
            x.feature_names[j],
            number(importance[j], largest),
            "" if errors is None else "± " + number(errors[j], largest),
            bar(importance[j] / (largest or 1.0)),
        )
        for j in order
    ]
    title = f"mean absolute contribution over {len(x)} rows{heading}"
    return title + "\n" + text_table(("feature", "mean |value|", "95 %", ""), lines, left=(0, 3))


def _short(value: Any) -> str:
    if is_missing(value):
        return "missing"
    text = f"{value:.6g}" if isinstance(value, float | np.floating) else str(value)
    return text if len(text) <= 24 else text[:23] + "…"
