"""`polyshap explain MODEL DATA`: files in, values out; the parser and the errors stand in `cli`."""

from __future__ import annotations

import hashlib
import json
import time
from argparse import Namespace
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from polyshap.command.data_files import choose_rows, read_table, select_columns, write_table
from polyshap.command.model_files import LoadedModel, Permissions, load_model
from polyshap.command.output import Run
from polyshap.errors import ArgumentError, FileFormatError, optional_import
from polyshap.execution.cache import Cache
from polyshap.explainer import Explainer
from polyshap.models.functions import as_model
from polyshap.rows.effort import checked_effort

__all__ = ["OUTPUT_SUFFIXES", "run_explain"]

OUTPUT_SUFFIXES = (".parquet", ".csv", ".npz", ".html")
# Rows of DATA that stand for the background unless a file is given: errors of the mean prediction over 100
# rows are a tenth of its spread, and more rows cost as much more time.
_BACKGROUND = 100


def run_explain(options: Namespace, call: str, say: Callable[[str], None]) -> Run | None:
    """Load, explain, write; None after a dry run. `say` shows a line that is no result."""
    outputs = [Path(path) for path in options.out]
    _check_paths(outputs, options.report)
    groups = _groups(options.groups)
    loaded = load_model(options.model, Permissions(options.allow_pickle, tuple(options.trust)))
    data = read_table(options.data, "DATA")
    loaded = loaded.spelled(tuple(data.columns))
    rows = choose_rows(options.rows, len(data))
    table = select_columns(data, loaded.columns, options.target_drop, "DATA")
    background = _background(options, loaded, table)
    X = _prepared(table.iloc[rows], loaded, options.arrays)
    background = _prepared(background, loaded, options.arrays)
    with _cluster(None if options.dry_run else options.scheduler) as executor:
        explainer = Explainer(
            loaded.model,
            background,
            budget=options.budget,
            estimator=options.estimator,
            groups=groups,
            outputs=_outputs(options, loaded),
            imputer=options.imputer,
            tolerance=options.tolerance,
            random_state=options.seed,
            batch_size=options.batch_size,
            n_jobs=options.n_jobs,
            executor=executor,
            cache=_kept(options, loaded),
            progress=False if options.quiet else None,
            method=options.method,
            feature_names=tuple(table.columns) if isinstance(X, np.ndarray) else None,
        )
        if options.dry_run:
            _forecast(explainer, X, loaded.kind, say)
            return None
        run = Run(explainer(X), rows)
    for path in outputs:
        if path.suffix != ".html":
            _write(run, path)
            say(f"wrote {path}")
    pages = [path for path in outputs if path.suffix == ".html"]
    for page in [*pages, *([Path(options.report)] if options.report else [])]:
        run.explanation.report(page, call=call, row_labels=[str(row) for row in rows])
        say(f"wrote {page}")
    return run


def _kept(options: Namespace, loaded: LoadedModel) -> Cache | None:
    """Where values are kept: under the content of the model's file, as pickles differ between sessions."""
    if options.resume is None:
        return None
    path = Path(options.model)
    if not path.is_file():
        return Cache(options.resume)
    name = as_model(loaded.model, options.method).name
    return Cache(options.resume, f"{name} {hashlib.sha256(path.read_bytes()).hexdigest()}")


def _cluster(address: str | None) -> AbstractContextManager[Any]:
    """A client of a Dask cluster, closed at the end; nothing without an address."""
    if address is None:
        return nullcontext()
    distributed = optional_import("distributed", extra="dask", purpose="--scheduler")
    try:
        client: AbstractContextManager[Any] = distributed.Client(address)
    except (OSError, ValueError) as error:
        raise ArgumentError(
            f"--scheduler must be the address of a Dask scheduler. Got {address!r}: {error}"
        ) from error
    return client


def _check_paths(outputs: Sequence[Path], report: str | None) -> None:
    """Before anything expensive: suffixes, and folders that do not exist."""
    for path in outputs:
        if path.suffix not in OUTPUT_SUFFIXES:
            raise ArgumentError(f"--out must end in {', '.join(OUTPUT_SUFFIXES)}. Got {str(path)!r}.")
    for path in [*outputs, *([Path(report)] if report else [])]:
        if not path.parent.is_dir():
            raise ArgumentError(f"There is no folder {str(path.parent)!r} to write {path.name!r} into.")


def _groups(text: str | None) -> Any:
    """The word one-hot, or a JSON file {"name": ["column", ...]}."""
    if text is None or text == "one-hot":
        return text
    if not Path(text).is_file():
        raise ArgumentError(f"--groups must be an existing JSON file, or one-hot. There is no {text!r}.")
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


def _forecast(explainer: Explainer, X: Any, kind: str, say: Callable[[str], None]) -> None:
    """Calls, time and size of a run whose options were checked; the model is asked for the background."""
    prepared = explainer.prepared
    budget, _ = checked_effort(explainer.budget, explainer.tolerance, prepared)
    task = prepared.bind(prepared.align(X))
    started = time.perf_counter()
    prepared.model.predict(explainer.background)
    per_row = (time.perf_counter() - started) / len(explainer.background)
    n_rows, n_players, n_fills = len(X), len(prepared.players), task.games.n_fills
    coalitions = sum(min(budget, 1 << int(n_active)) for n_active in task.active.sum(axis=1))
    synthetic = coalitions * n_fills
    size = 3 * 8 * n_rows * n_players * task.n_outputs
    say(f"model: {prepared.model.name} ({kind}), {task.n_outputs} output{'s'[: task.n_outputs > 1]}")
    say(f"rows: {n_rows}, features: {n_players}, background: {n_fills} rows")
    say(f"at most {coalitions:,} coalitions ({budget:,} a row), {synthetic:,} synthetic rows")
    say(f"about {synthetic * per_row:.3g} s inside the model ({per_row * 1e6:.3g} µs a row), {size:,} bytes")


def _write(run: Run, path: Path) -> None:
    if path.suffix == ".npz":
        run.explanation.save(path)
        return
    table = run.explanation.to_frame()
    table["row"] = run.rows[table["row"].to_numpy()]
    write_table(table, path)
