"""The benchmark page of the documentation, written from records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path

from polyshap.benchmark.cells import MARKS, Cell, CellKey, collect, judge
from polyshap.benchmark.methods import LABELS, PAPER_METHODS
from polyshap.benchmark.paper import regression_msr_ratios, table_markdown
from polyshap.benchmark.records import Record, read_records
from polyshap.benchmark.runtime import fit_lines, read_timings
from polyshap.benchmark.tasks import TASKS, Task

__all__ = ["benchmark_page"]


def benchmark_page(records: Path, *, check: Path | None = None, runtime: Path | None = None) -> str:
    """The page as Markdown, from records of `bench paper` and `bench check` and times of `bench runtime`."""
    found = list(read_records(records))
    cells = collect(found)
    names = {record.task for record in found}
    tasks = [task for task in TASKS.values() if task.name in names]
    methods = [name for name in PAPER_METHODS if any(key[1] == name for key in cells)]
    prose = resources.files("polyshap.benchmark").joinpath("page.md").read_text(encoding="utf-8")
    parts = [prose.replace("<!-- facts -->", _facts(found))]
    for paired, title in ((True, "Paired sampling"), (False, "Standard sampling")):
        parts += [f"## {title}\n", table_markdown(cells, tasks, methods, paired)]
    parts += [_regression_msr(cells, tasks)]
    if check is not None:
        parts += [_check(collect(read_records(check)))]
    if runtime is not None:
        parts += [_runtime(runtime)]
    return "\n".join(part for part in parts if part)


def _facts(records: Sequence[Record]) -> str:
    versions = ", ".join(sorted({record.version for record in records}))
    instances = len({record.instance for record in records})
    seeds = len({record.seed for record in records})
    seeding = " and ".join(sorted({record.seeding for record in records}))
    done = sum(record.skipped is None for record in records)
    return (
        f"The tables below: polyshap {versions}, {instances} instances, "
        f"{seeds} seed{'s' if seeds > 1 else ''} ({seeding}), {done} estimates."
    )


def _regression_msr(cells: Mapping[CellKey, Cell], tasks: Sequence[Task]) -> str:
    rows = regression_msr_ratios(cells, tasks)
    if not rows:
        return ""
    below = sum(float(ratio) <= 1 for _, _, ratio, _ in rows)
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    return (
        "## RegressionMSR against the published code\n\n"
        f"At or below the published mean in {below} of {len(rows)} cells.\n\n"
        f"| game | sampling | ours / published | expected of mended residuals |\n|---|---|---|---|\n{table}\n"
    )


def _check(cells: Mapping[CellKey, Cell]) -> str:
    lines = []
    for key, cell in cells.items():
        if cell.skipped:
            continue
        mark, z = judge(key, cell)
        task, method, paired, budget = key
        mode = "paired" if paired else "standard"
        position = "" if z is None else f"{z:+.1f}"
        label = LABELS.get(method, method)
        mean = f"{cell.geometric_mean:.3e}"
        lines.append(f"| {task} | {budget} | {mode} | {label} | {mean} | {position} | {MARKS[mark]} |")
    return (
        "## Over several seeds\n\nGeometric mean over seeds of the mean over 30 instances, and its distance "
        "from the authors' code in standard deviations of one seed.\n\n"
        "| game | budget | sampling | method | geometric mean | sd | |\n|---|---|---|---|---|---|---|\n"
        + "\n".join(lines)
        + "\n"
    )


def _runtime(path: Path) -> str:
    rows = "\n".join(
        f"| {line.game} | {LABELS.get(line.method, line.method)} | {line.slope * 1e3:.3f} | "
        f"{line.intercept:.3f} | {line.r_squared:.3f} | {line.evaluation_share:.0%} |"
        for line in fit_lines(read_timings(path))
    )
    return (
        "## Runtime\n\nSeconds of one paired estimate on one thread, a straight line in the budget; "
        "digits-vit is the live vision transformer.\n\n"
        "| game | method | s per 1000 evaluations | intercept (s) | R² | in the game |\n"
        f"|---|---|---|---|---|---|\n{rows}\n"
    )
