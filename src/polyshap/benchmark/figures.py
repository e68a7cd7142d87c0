"""The paper's figures from records: error, Precision@5 and rank correlation against budget."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from polyshap.benchmark.cells import Cell, CellKey
from polyshap.benchmark.methods import LABELS
from polyshap.benchmark.runtime import Line, Timing
from polyshap.benchmark.tasks import Task
from polyshap.errors import optional_import

__all__ = ["GROUPS", "METRICS", "draw_figure", "write_figures", "write_runtime_figure"]

METRICS = {"mse": "Mean squared error", "precision_at_5": "Precision@5", "spearman": "Spearman correlation"}

_FAMILY = (
    "polyshap-1",
    "polyshap-2-50%",
    "polyshap-2",
    "polyshap-3-50%",
    "polyshap-3-log",
    "polyshap-3",
    "polyshap-4",
)
# figure -> (paired, methods)
GROUPS: Mapping[str, tuple[bool, tuple[str, ...]]] = {
    "standard": (False, _FAMILY),
    "paired": (True, _FAMILY),
    "baselines": (
        True,
        ("permutation", "msr", "svarm", "regression-msr", "polyshap-1", "polyshap-3", "adaptive"),
    ),
}

# Okabe and Ito's colours, which colour-blind readers tell apart, and line styles that go with them
_COLOURS = ("#0072B2", "#56B4E9", "#009E73", "#E69F00", "#000000", "#D55E00", "#CC79A7")
_TICKS = (10, 30, 100, 300, 1000, 3000, 10_000)
# Paired orders 1 and 2 are equal, and 3 and 4: the upper curve has gaps that show the lower one
_GAPS = (0, (4, 4))
_STYLES = ("-", ":", _GAPS, ":", "--", "-", _GAPS)


def write_figures(cells: Mapping[CellKey, Cell], tasks: Sequence[Task], folder: Path) -> list[Path]:
    """Every metric for every group of methods, one panel a game, as PNG and SVG; the paths."""
    return [
        path
        for group in GROUPS
        for metric in METRICS
        for path in draw_figure(cells, tasks, group, metric, folder / f"{metric}_{group}")
    ]


def draw_figure(
    cells: Mapping[CellKey, Cell],
    tasks: Sequence[Task],
    group: str,
    metric: str,
    stem: Path,
    *,
    suffixes: Sequence[str] = ("png", "svg"),
) -> list[Path]:
    """One metric for one group of methods in a file for each suffix; the paths."""
    paired, methods = GROUPS[group]
    figure, axes = _panels(len(tasks))
    handles: dict[str, Any] = {}
    for axis, task in zip(axes, tasks, strict=False):
        handles |= _panel(axis, cells, task, paired, methods, metric)
    for axis in axes[len(tasks) :]:
        axis.set_axis_off()
    figure.supxlabel("budget")
    figure.supylabel(METRICS[metric])
    if handles:
        figure.legend(list(handles.values()), list(handles), loc="outside upper center", ncols=len(handles))
    return _save(figure, stem, suffixes)


def write_runtime_figure(
    timings: Sequence[Timing],
    lines: Sequence[Line],
    stem: Path,
    *,
    suffixes: Sequence[str] = ("png", "svg"),
) -> list[Path]:
    """Mean seconds of an estimate against budget with the fitted lines, one panel a game."""
    games = list(dict.fromkeys(timing.game for timing in timings))
    figure, axes = _panels(len(games))
    handles: dict[str, Any] = {}
    for axis, game in zip(axes, games, strict=False):
        methods = dict.fromkeys(timing.method for timing in timings if timing.game == game)
        for method, colour in zip(methods, _COLOURS, strict=False):
            mine = [timing for timing in timings if (timing.game, timing.method) == (game, method)]
            budgets = sorted({timing.budget for timing in mine})
            means = [np.mean([item.total for item in mine if item.budget == m]) for m in budgets]
            (marks,) = axis.plot(budgets, means, ".", color=colour)
            handles[LABELS.get(method, method)] = marks
            for line in lines:
                if (line.game, line.method) == (game, method):
                    axis.plot(budgets, [line.intercept + line.slope * m for m in budgets], color=colour, lw=1)
        axis.set_title(game, fontsize=9)
        axis.tick_params(labelsize=7)
    for axis in axes[len(games) :]:
        axis.set_axis_off()
    figure.supxlabel("budget")
    figure.supylabel("seconds")
    if handles:
        figure.legend(list(handles.values()), list(handles), loc="outside upper center", ncols=len(handles))
    return _save(figure, stem, suffixes)


def _panels(n_panels: int) -> tuple[Any, Any]:
    """A figure of its own, not pyplot's (no window, no state shared with the caller), and its axes."""
    optional_import("matplotlib", extra="plot", purpose="Drawing the benchmark's figures")
    from matplotlib.figure import Figure

    n_columns = min(4, n_panels)
    n_rows = -(-n_panels // n_columns)
    figure = Figure(figsize=(max(3.4 * n_columns, 8), 2.6 * n_rows + 0.6), layout="constrained")
    return figure, np.atleast_1d(figure.subplots(n_rows, n_columns, squeeze=False)).ravel()


def _save(figure: Any, stem: Path, suffixes: Sequence[str]) -> list[Path]:
    """The same figure gives the same bytes: no date, no random names; SVG keeps its text as text."""
    from matplotlib import rc_context

    stem.parent.mkdir(parents=True, exist_ok=True)
    paths = [stem.with_name(f"{stem.name}.{suffix}") for suffix in suffixes]
    with rc_context({"svg.hashsalt": "polyshap", "svg.fonttype": "none"}):
        for path in paths:
            nothing = {"Date": None, "Creator": None} if path.suffix == ".svg" else None
            figure.savefig(path, dpi=110, metadata=nothing)
            if path.suffix == ".svg":
                path.write_text(_smaller(path.read_text(encoding="utf-8")), encoding="utf-8")
    return paths


def _smaller(svg: str) -> str:
    """Coordinates to a tenth of a point, finer than any line, and no indentation: half the size."""
    return re.sub(r"\n\s+", "\n", re.sub(r"(\.\d)\d+", r"\1", svg))


def _panel(
    axis: Any,
    cells: Mapping[CellKey, Cell],
    task: Task,
    paired: bool,
    methods: Sequence[str],
    metric: str,
) -> dict[str, Any]:
    """The lines of one game, with bands of one standard error."""
    handles = {}
    for method, colour, style in zip(methods, _COLOURS, _STYLES, strict=True):
        found = [
            (budget, cells[key].metrics[metric])
            for budget in task.budgets
            if (key := (task.name, method, paired, budget)) in cells and cells[key].metrics
        ]
        # exact answers have no place on a logarithmic axis
        points = [(m, s) for m, s in found if s.n and (metric != "mse" or s.mean > 1e-25)]
        if not points:
            continue
        budgets = [m for m, _ in points]
        means = np.array([s.mean for _, s in points])
        sems = np.nan_to_num([s.sem for _, s in points])
        lower = np.maximum(means - sems, means / 10) if metric == "mse" else means - sems
        (line,) = axis.plot(budgets, means, color=colour, linestyle=style, linewidth=1.6, marker=".")
        axis.fill_between(budgets, lower, means + sems, color=colour, alpha=0.2, linewidth=0)
        handles[LABELS.get(method, method)] = line
    axis.set_xscale("log")
    ticks = [tick for tick in _TICKS if task.budgets[0] <= tick <= task.budgets[-1]]
    axis.set_xticks(ticks, [str(tick) for tick in ticks])
    axis.set_xticks([], minor=True)
    if metric == "mse":
        axis.set_yscale("log")
        axis.set_yticks([], minor=True)  # hundreds of strokes that say nothing
    axis.set_title(f"{task.name} (d={task.n_players})", fontsize=9)
    axis.tick_params(labelsize=7)
    return handles
