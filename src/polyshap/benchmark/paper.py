"""The paper's two tables from records: Markdown and CSV, beside the published numbers."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path

from polyshap.benchmark.cells import MARKS, Cell, CellKey, Mark, judge
from polyshap.benchmark.methods import LABELS
from polyshap.benchmark.published import BUG_FACTORS, published
from polyshap.benchmark.tasks import Task

__all__ = [
    "legend",
    "regression_msr_ratios",
    "table_csv",
    "table_markdown",
    "table_rows",
    "verdicts",
    "write_tables",
]

_LEGEND = (
    "Mean squared error, ours / published, over {n} instances at the budget of the column. "
    f"{MARKS['inside']} within three standard deviations of the published one, {MARKS['better']} further "
    f"below, {MARKS['outside']} further above, {MARKS['open']} nothing to hold it against. The standard "
    "deviation is that of the logarithm over sampling seeds, as measured for the authors' code; the number "
    "shown is the authors' measurement of one seed."
)

# fmt: off
_COLUMNS = (
    "mode", "game", "n_players", "budget", "method", "n", "mean", "sem", "q1", "median", "q3",
    "precision_at_5", "spearman", "published_mean", "published_q1", "published_median", "published_q3",
    "table_mean", "z", "mark", "skipped",
)
# fmt: on


def write_tables(
    cells: Mapping[CellKey, Cell], tasks: Sequence[Task], methods: Sequence[str], folder: Path
) -> list[Path]:
    """Write `paired` and `standard` as Markdown and CSV; the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for paired, name in ((True, "paired"), (False, "standard")):
        for suffix, text in (
            (".md", table_markdown(cells, tasks, methods, paired)),
            (".csv", table_csv(cells, tasks, methods, paired)),
        ):
            path = folder / f"{name}{suffix}"
            path.write_text(text, encoding="utf-8")
            paths.append(path)
    return paths


def table_markdown(
    cells: Mapping[CellKey, Cell], tasks: Sequence[Task], methods: Sequence[str], paired: bool
) -> str:
    """One row a method, one column a game at its table budget, below what the marks mean."""
    mine = {key: cell for key, cell in cells.items() if key[2] == paired}
    return f"{legend(mine)}\n\n{table_rows(cells, tasks, methods, paired)}"


def legend(cells: Mapping[CellKey, Cell]) -> str:
    """What the numbers and the marks of a table mean."""
    counts = {cell.n_instances for cell in cells.values() if cell.metrics}
    return _LEGEND.format(n="/".join(map(str, sorted(counts))) or "0")


def table_rows(
    cells: Mapping[CellKey, Cell], tasks: Sequence[Task], methods: Sequence[str], paired: bool
) -> str:
    """The table alone."""
    lines = [
        "| | "
        + " | ".join(f"{task.name} (d={task.n_players}, m={task.table_budget})" for task in tasks)
        + " |",
        "|---" * (len(tasks) + 1) + "|",
    ]
    for method in methods:
        row = [_entry(cells, (task.name, method, paired, task.table_budget)) for task in tasks]
        if any(entry != "" for entry in row):
            lines.append(f"| {LABELS.get(method, method)} | " + " | ".join(row) + " |")
    return "\n".join(lines) + "\n"


def _entry(cells: Mapping[CellKey, Cell], key: CellKey) -> str:
    cell = cells.get(key)
    task, method, paired, budget = key
    figure = published().get(("csv", paired, task, budget, method))
    theirs = "–" if figure is None else f"{figure.mean:.1e}"
    if cell is None or cell.skipped:
        return "" if figure is None else f"– / {theirs}"
    mark, _ = judge(key, cell)
    return f"{cell.metrics['mse'].mean:.1e} / {theirs} {MARKS[mark]}"


def table_csv(
    cells: Mapping[CellKey, Cell], tasks: Sequence[Task], methods: Sequence[str], paired: bool
) -> str:
    """All budgets and all statistics, one line a cell."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for task in tasks:
        for method in methods:
            for budget in task.budgets:
                key = (task.name, method, paired, budget)
                if key in cells:
                    writer.writerow([_text(value) for value in _line(task, key, cells[key])])
    return stream.getvalue()


def _line(task: Task, key: CellKey, cell: Cell) -> list[object]:
    name, method, paired, budget = key
    head: list[object] = ["paired" if paired else "standard", name, task.n_players, budget, method]
    figure = published().get(("csv", paired, name, budget, method))
    theirs = [None] * 4 if figure is None else [figure.mean, figure.q1, figure.q2, figure.q3]
    # the tables' budgets were truncated: smaller by one where rounding went up
    at = [published().get(("table", paired, name, budget - lower, method)) for lower in (0, 1)]
    printed = next((item.mean for item in at if item is not None), None)
    if cell.skipped:
        return [*head, 0, *[None] * 7, *theirs, printed, None, "open", cell.skipped]
    mse = cell.metrics["mse"]
    mark, z = judge(key, cell)
    others = [cell.metrics["precision_at_5"].mean, cell.metrics["spearman"].mean]
    ours = [mse.n, mse.mean, mse.sem, mse.q1, mse.median, mse.q3, *others]
    return [*head, *ours, *theirs, printed, z, mark, None]


def _text(value: object) -> str:
    if value is None or value != value:  # NaN
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def verdicts(cells: Mapping[CellKey, Cell], tasks: Sequence[Task]) -> dict[Mark, list[CellKey]]:
    """The cells of the tables by mark."""
    budgets = {task.name: task.table_budget for task in tasks}
    found: dict[Mark, list[CellKey]] = {mark: [] for mark in MARKS}
    for key, cell in cells.items():
        if budgets.get(key[0]) == key[3] and not cell.skipped:
            found[judge(key, cell)[0]].append(key)
    return found


def regression_msr_ratios(
    cells: Mapping[CellKey, Cell], tasks: Sequence[Task]
) -> list[tuple[str, str, str, str]]:
    """RegressionMSR: game, mode, ours over published, and the ratio expected of mended residuals."""
    rows = []
    for task in tasks:
        for paired in (True, False):
            cell = cells.get((task.name, "regression-msr", paired, task.table_budget))
            figure = published().get(("csv", paired, task.name, task.table_budget, "regression-msr"))
            if cell is not None and not cell.skipped and figure is not None:
                ratio = cell.metrics["mse"].mean / figure.mean
                expected = BUG_FACTORS[task.name][0 if paired else 1]
                rows.append(
                    (task.name, "paired" if paired else "standard", f"{ratio:.2f}", f"{expected:.2f}")
                )
    return rows
