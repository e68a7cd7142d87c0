"""`polyshap explain MODEL DATA`: files in, values out; the parser and the errors stand in `cli`."""

from __future__ import annotations

import inspect
import json
import time
from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from polyshap._types import IntArray
from polyshap.data_files import choose_rows, read_table, select_columns, write_table
from polyshap.errors import ArgumentError, FileFormatError
from polyshap.explain import auto_budget, explain
from polyshap.explanation import Explanation
from polyshap.model_files import LoadedModel, Permissions, load_model
from polyshap.models import as_model
from polyshap.text_tables import bar, number, printable, text_table

__all__ = ["OUTPUT_SUFFIXES", "Run", "as_json", "as_text", "run_explain", "takes_jobs"]

OUTPUT_SUFFIXES = (".parquet", ".csv", ".npz")
# Rows of DATA that stand for the background unless a file is given: errors of the mean prediction over 100
# rows are a tenth of its spread, and more rows cost as much more time.
_BACKGROUND = 100


@dataclass(frozen=True, eq=False)
class Run:
    """What was explained: the explanation, and which rows of DATA it holds."""

    explanation: Explanation
    rows: IntArray


def run_explain(options: Namespace, call: str, say: Callable[[str], None]) -> Run | None:
    """Load, explain, write; None after a dry run. `say` shows a line that is no result."""
    outputs = [Path(path) for path in options.out]
    reports = [Path(options.report)] if options.report else []
    _check_paths([*outputs, *reports], outputs)
    groups = _groups(options.groups)
    loaded = load_model(options.model, Permissions(options.allow_pickle, tuple(options.trust)))
    data = read_table(options.data, "DATA")
    rows = choose_rows(options.rows, len(data))
    table = select_columns(data, loaded.columns, options.target_drop, "DATA")
    background = _background(options, loaded, table)
    X = _prepared(table.iloc[rows], loaded, options.arrays)
    background = _prepared(background, loaded, options.arrays)
    names = tuple(table.columns)
    if options.dry_run:
        _forecast(options, loaded, X, background, say)
        return None
    extra = {"n_jobs": options.n_jobs} if takes_jobs() else {}
    explanation = explain(
        loaded.model,
        X,
        background,
        budget=options.budget,
        estimator=options.estimator,
        groups=groups,
        outputs=_outputs(options, loaded),
        imputer=options.imputer,
        tolerance=options.tolerance,
        random_state=options.seed,
        batch_size=options.batch_size,
        progress=False if options.quiet else None,
        method=options.method,
        feature_names=names if isinstance(X, np.ndarray) else None,
        **extra,
    )
    run = Run(explanation, rows)
    for path in outputs:
        _write(run, path)
        say(f"wrote {path}")
    if options.report:
        explanation.report(options.report, call=call, row_labels=[str(row) for row in rows])
        say(f"wrote {options.report}")
    return run


def _check_paths(paths: Sequence[Path], outputs: Sequence[Path]) -> None:
    """Before anything expensive: suffixes, and folders that do not exist."""
    for path in outputs:
        if path.suffix not in OUTPUT_SUFFIXES:
            raise ArgumentError(f"--out must end in {', '.join(OUTPUT_SUFFIXES)}. Got {str(path)!r}.")
    for path in paths:
        if not path.parent.is_dir():
            raise ArgumentError(f"There is no folder {str(path.parent)!r} to write {path.name!r} into.")


def _groups(text: str | None) -> Any:
    """The word one-hot, or a JSON file {"name": ["column", ...]}."""
    if text is None or text == "one-hot":
        return text
    try:
        found = json.loads(Path(text).read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise FileFormatError(f"--groups must be a JSON file. {text!r} is not: {error}") from error
    if not isinstance(found, dict):
        raise FileFormatError(
            f'--groups must hold {{"name": ["column", ...]}}. {text!r} holds another thing.'
        )
    return found


def _background(options: Namespace, loaded: LoadedModel, table: Any) -> Any:
    """A file, or so many rows of DATA, drawn with the seed."""
    given = str(_BACKGROUND if options.background is None else options.background)
    if given.isdecimal() and not Path(given).exists():
        wanted = int(given)
        if wanted < 1:
            raise ArgumentError(f"--background must be a file or at least 1 row. Got {given}.")
        if wanted >= len(table):
            return table
        chosen = np.random.default_rng(options.seed).choice(len(table), wanted, replace=False)
        return table.iloc[np.sort(chosen)]
    found = read_table(given, "--background")
    columns = loaded.columns or tuple(table.columns)
    missing_is_fine = [name for name in options.target_drop if name in found.columns]
    return select_columns(found, columns, missing_is_fine, "--background")


def _prepared(table: Any, loaded: LoadedModel, arrays: bool) -> Any:
    """Rows as the model takes them: levels of categories restored, or a plain array."""
    if loaded.levels:
        import pandas

        for name, levels in loaded.levels.items():
            unseen = sorted(set(map(str, table[name].dropna())) - set(map(str, levels)))
            if unseen:
                raise ArgumentError(
                    f"Column {name!r} must hold categories that the model knows. Got {', '.join(unseen[:5])}."
                )
        kinds = {name: pandas.CategoricalDtype(levels) for name, levels in loaded.levels.items()}
        table = table.astype(kinds)
    return table.to_numpy() if arrays or loaded.wants_array else table


def _outputs(options: Namespace, loaded: LoadedModel) -> int | str | list[int | str] | None:
    """Names of outputs, or their numbers where the model has no such name; a single one drops the axis."""
    known = as_model(loaded.model, options.method).output_names or ()
    chosen = [int(one) if one not in known and one.isdecimal() else one for one in options.output]
    if len(chosen) == 1:
        return chosen[0]
    return chosen or None


def _forecast(
    options: Namespace, loaded: LoadedModel, X: Any, background: Any, say: Callable[[str], None]
) -> None:
    """Calls, time and size of a run, from one prediction of the background."""
    model = as_model(loaded.model, options.method)
    model.predict(background)
    started = time.perf_counter()
    n_outputs = model.predict(background).shape[1]
    per_row = (time.perf_counter() - started) / len(background)
    budget = auto_budget(X.shape[1]) if options.budget == "auto" else options.budget
    coalitions = len(X) * budget
    synthetic = coalitions * len(background)
    size = 3 * 8 * len(X) * X.shape[1] * n_outputs
    say(f"model: {model.name} ({loaded.kind}), {n_outputs} output{'s'[: n_outputs > 1]}")
    say(f"rows: {len(X)}, features: {X.shape[1]}, background: {len(background)} rows")
    say(f"at most {coalitions:,} coalitions ({budget:,} a row), {synthetic:,} synthetic rows")
    say(f"about {synthetic * per_row:.3g} s inside the model ({per_row * 1e6:.3g} µs a row), {size:,} bytes")


def _write(run: Run, path: Path) -> None:
    if path.suffix == ".npz":
        run.explanation.save(path)
        return
    table = run.explanation.to_frame()
    table["row"] = run.rows[table["row"].to_numpy()]
    write_table(table, path)


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


def takes_jobs() -> bool:
    """Whether `explain` can use several processes."""
    return "n_jobs" in inspect.signature(explain).parameters


# A row's table on a terminal; more rows than this are summed up instead.
_MOST_ROWS_SHOWN = 3


def as_text(run: Run, n_features: int) -> str:
    """Tables for a terminal: each row where they are few, and the features that matter over all rows."""
    x = run.explanation
    names = x.output_names if isinstance(x.output_names, tuple) else (None,)
    blocks = [
        f"{x.diagnostics.details.get('model', 'model')}: {len(x)} rows, {len(x.feature_names)} features, "
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
    text = f"{value:.6g}" if isinstance(value, float | np.floating) else str(value)
    return text if len(text) <= 24 else text[:23] + "…"
