"""Millions of rows: explained part by part, written where they are computed, gathered nowhere."""

from __future__ import annotations

import glob
import hashlib
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from polyshap._types import FloatArray
from polyshap.errors import UNFINISHED, ArgumentError, FileFormatError, PolyshapWarning
from polyshap.execution.fingerprints import content_digest, fingerprint, hashed
from polyshap.execution.options import Execution
from polyshap.execution.part_files import PartFolder, parquet
from polyshap.execution.progress import track
from polyshap.execution.retries import part_of
from polyshap.execution.workers import run_stream
from polyshap.explanation import Explanation
from polyshap.rows.explaining import explain_prepared
from polyshap.rows.jobs import RowJobs
from polyshap.rows.outfit import inputs_digest, outfitted
from polyshap.rows.planning import shared_plan
from polyshap.rows.plans import Plan
from polyshap.rows.prepared import Prepared
from polyshap.tables.arrays import ArrayTable, Table
from polyshap.tables.frames import FrameTable

__all__ = [
    "Part",
    "PartWork",
    "Parts",
    "columns_of",
    "explain_parts",
    "is_files",
    "native",
    "part_columns",
    "stored_seed",
]

# Rows of a part: at 10 ms a row what a worker does in 100 s, and what is repeated when it dies.
PART_ROWS = 10_000


@dataclass(frozen=True)
class Parts:
    """Explanations of many rows, as files.

    Attributes
    ----------
    folder : Path
    files : tuple of Path
        In the order of the rows; Parquet with the columns `shap_<feature>`, `error_<feature>` (standard
        errors, NaN where unknown), `base_value` and `prediction`, with `|<output>` behind each for several.
    n_rows : int
    n_computed : int
        Parts computed by this call; the others were there.
    """

    folder: Path
    files: tuple[Path, ...]
    n_rows: int
    n_computed: int

    def __iter__(self) -> Iterator[Any]:
        """The parts as pyarrow tables, one in memory at a time."""
        return (parquet().read_table(file) for file in self.files)


@dataclass(frozen=True)
class Part:
    """Some rows of a file's row group, or of a table in memory."""

    number: int
    start: int
    stop: int
    file: str | None = None
    group: int = 0
    rows: Any = None

    @property
    def label(self) -> str:
        """Where the rows are, for messages."""
        place = "`X`" if self.file is None else self.file + f", row group {self.group}" * bool(self.group)
        return f"rows {self.start}..{self.stop - 1} of {place}"


@dataclass(frozen=True, eq=False)
class PartWork:
    """Goes to the workers once: explain one part and write it there."""

    prepared: Prepared
    budget: int | str
    tolerance: float | None
    shared: Plan | bool | None
    independent_designs: bool
    folder: str
    execution: Execution

    def __call__(self, part: Part) -> int:
        rows = part.rows if part.file is None else _read(part, self.prepared.background)
        try:
            found = explain_prepared(
                self.prepared,
                rows,
                budget=self.budget,
                tolerance=self.tolerance,
                execution=self.execution,
                shared=self.shared,
                independent_designs=self.independent_designs,
            )
        except UNFINISHED as error:
            error.add_note(
                f"`row` and `observed` count from the first of {part.label}. Parts that were done are kept."
            )
            raise
        PartFolder(Path(self.folder)).write(columns_of(found), part.number)
        return len(found)


def part_columns(features: Sequence[str], outputs: Sequence[str] | None) -> tuple[str, ...]:
    """Names of the columns of a part."""
    suffixes = [""] if outputs is None else [f"|{name}" for name in outputs]
    return tuple(
        name + suffix
        for suffix in suffixes
        for name in (
            *(f"{prefix}_{feature}" for prefix in ("shap", "error") for feature in features),
            "base_value",
            "prediction",
        )
    )


def columns_of(x: Explanation) -> dict[str, FloatArray]:
    """What is written for each row, by column."""
    outputs = x.output_names if isinstance(x.output_names, tuple) else None
    n_rows, shape = (
        len(x.values),
        (len(x.values), len(x.feature_names), 1 if outputs is None else len(outputs)),
    )
    values = x.values.reshape(shape)
    errors = np.full(shape, np.nan) if x.standard_errors is None else x.standard_errors.reshape(shape)
    base, grand = x.base_values.reshape(n_rows, -1), x.predictions.reshape(n_rows, -1)
    blocks = [
        np.concatenate([values[:, :, k], errors[:, :, k], base[:, k : k + 1], grand[:, k : k + 1]], axis=1)
        for k in range(shape[2])
    ]
    table = np.concatenate(blocks, axis=1)
    return dict(zip(part_columns(x.feature_names, outputs), np.ascontiguousarray(table.T), strict=True))


def native(columns: Mapping[str, FloatArray], like: Any, keep: Sequence[str] = ()) -> Any:
    """Columns behind those to `keep`, as a frame of the library of `like`, or an array for arrays."""
    if isinstance(like, np.ndarray):
        return np.stack(list(columns.values()), axis=1)
    import narwhals as nw

    given = nw.from_native(like, eager_only=True)
    made = nw.from_dict(dict(columns), backend=given.implementation)
    if keep:
        made = nw.concat([nw.maybe_reset_index(given.select(list(keep))), made], how="horizontal")
    return made.to_native()


def is_files(X: Any) -> bool:
    """Whether `X` names Parquet files: a path, a pattern, or a list of them."""
    if isinstance(X, str | Path):
        return True
    return isinstance(X, list | tuple) and bool(X) and all(isinstance(one, str | Path) for one in X)


def stored_seed(out: str | Path) -> int | None:
    """The seed of the run whose parts are in a folder, so that another run goes on with it."""
    try:
        about = PartFolder(Path(out)).about()
    except FileFormatError:
        return None
    seed = (about or {}).get("random_state")
    return None if seed is None else int(seed)


def explain_parts(work: PartWork, X: Any, options: Execution) -> Parts:
    """Explain rows of files or of a table, part by part; parts that are there are left as they are."""
    folder = PartFolder(Path(work.folder))
    parts, rows = _file_parts(X) if is_files(X) else _table_parts(work.prepared.align(X))
    folder.claim(_about(work, rows))
    present = folder.present((part.number, part.stop - part.start) for part in parts)
    missing = [part for part in parts if part.number not in present]
    waiting = iter(missing)
    total = sum(part.stop - part.start for part in missing)
    with options.workers() as workers, track(total, options.progress, "row") as advance:
        if missing:
            work = _with_shared(work, options, None if workers is None else RowJobs(workers, options.timeout))
        stream = run_stream(work, lambda: next(waiting, None), workers, seconds=options.timeout)
        with closing(stream):
            for _, n_rows in stream:
                advance(n_rows)
    files = tuple(folder.file(part.number) for part in parts)
    return Parts(folder.path, files, sum(part.stop - part.start for part in parts), len(missing))


def _with_shared(work: PartWork, options: Execution, jobs: RowJobs | None) -> PartWork:
    """What the parts share is learned once, and goes to the workers with the rest."""
    assert not isinstance(work.shared, Plan)
    prepared = outfitted(work.prepared, options)
    return replace(work, shared=shared_plan(prepared, work.budget, work.tolerance, work.shared, jobs=jobs))


def _file_parts(X: Any) -> tuple[list[Part], str]:
    """The parts, and what the rows are known by."""
    patterns = [X] if isinstance(X, str | Path) else list(X)
    files = [file for pattern in patterns for file in sorted(glob.glob(str(pattern)))]
    if not files:
        raise ArgumentError(f"`X` must name Parquet files. Got {X!r}, which matches none.")
    parts: list[Part] = []
    digest = hashlib.blake2b()
    for file in files:
        about = parquet().read_metadata(file)
        with open(file, "rb") as opened:  # a second a gigabyte: little beside explaining what is in it
            digest.update(hashlib.file_digest(opened, "blake2b").digest())
        for group in range(about.num_row_groups):
            n_rows = about.row_group(group).num_rows
            for start in range(0, n_rows, PART_ROWS):
                stop = min(start + PART_ROWS, n_rows)
                parts.append(Part(len(parts), start, stop, os.path.abspath(file), group))
    return parts, f"{digest.hexdigest()} by {PART_ROWS}"


def _table_parts(table: Table) -> tuple[list[Part], str]:
    n_rows = len(table)
    parts = []
    for number, start in enumerate(range(0, n_rows, PART_ROWS)):
        stop = min(start + PART_ROWS, n_rows)
        parts.append(Part(number, start, stop, rows=part_of(table.native, start, stop)))
    return parts, f"{content_digest(table.columns()).hex()} by {PART_ROWS}"


def _read(part: Part, background: Table) -> Any:
    """Rows of a file, as the background is: a frame of its library, or an array of its columns."""
    assert part.file is not None
    file = parquet().ParquetFile(part.file)
    names = list(background.names)
    known = set(file.schema_arrow.names) >= set(names)
    table = _slice(file, part, names if known else None)
    if isinstance(background, ArrayTable):
        return np.stack([np.asarray(column) for column in table.columns], axis=1)
    assert isinstance(background, FrameTable)
    backend = background.frame.implementation
    if backend.is_pandas():
        return table.to_pandas()
    if backend.is_polars():
        import polars

        return polars.from_arrow(table)
    return table


def _slice(file: Any, part: Part, columns: list[str] | None) -> Any:
    """The part's rows; the group is read in steps, as it may hold a million rows where a part has 10,000."""
    import pyarrow

    kept, start = [], 0
    for batch in file.iter_batches(PART_ROWS, row_groups=[part.group], columns=columns):
        first, last = max(part.start - start, 0), min(part.stop - start, len(batch))
        if first < last:
            kept.append(batch.slice(first, last - first))
        start += len(batch)
        if start >= part.stop:
            break
    return pyarrow.Table.from_batches(kept)


def _about(work: PartWork, rows: str) -> dict[str, Any]:
    """What a run is known by: whatever changes its numbers makes another run."""
    prepared = work.prepared
    try:
        model = fingerprint(prepared.model.function)
    except ArgumentError:
        model = prepared.model.name
        warnings.warn(
            f"{model} cannot be pickled, so parts of another version of it in {work.folder!r} would not be "
            "told from its own. Give each version a folder.",
            PolyshapWarning,
            stacklevel=4,
        )
    return {
        "random_state": prepared.seed,
        "budget": work.budget,
        "tolerance": work.tolerance,
        "estimator": repr(prepared.estimator),
        "shared": work.shared is not False,
        "independent_designs": work.independent_designs,
        "features": list(prepared.players.names),
        "outputs": repr(prepared.outputs),
        "background or imputer": hashed(inputs_digest(prepared)),
        "rows": rows,
        "model": model,
    }
