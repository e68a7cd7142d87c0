"""The paper's figures from records: error, Precision@5 and rank correlation against budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from polyshap.benchmark.cells import Cell, CellKey
from polyshap.benchmark.methods import LABELS
from polyshap.benchmark.runtime import Line, Timing
from polyshap.benchmark.tasks import Task
from polyshap.errors import optional_import

__all__ = ["GROUPS", "METRICS", "write_figures", "write_runtime_figure"]

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
_COLOURS = ("#0072B2", "#56B4E9", "#009E73", "#E69F00", "#F0E442", "#D55E00", "#CC79A7")
_STYLES = ("-", ":", "-", ":", "--", "-", "-.")


def write_figures(cells: Mapping[CellKey, Cell], tasks: Sequence[Task], folder: Path) -> list[Path]:
    """Every metric for every group of methods, one panel a game, as PNG and SVG; the paths."""
    paths = []
    for group, (paired, methods) in GROUPS.items():
        for metric, label in METRICS.items():
            figure, axes = _panels(len(tasks))
            handles: dict[str, Any] = {}
            for axis, task in zip(axes, tasks, strict=False):
                handles |= _panel(axis, cells, task, paired, methods, metric)
            for axis in axes[len(tasks) :]:
                axis.set_axis_off()
            figure.supxlabel("budget")
            figure.supylabel(label)
            if handles:
                figure.legend(
                    list(handles.values()), list(handles), loc="outside upper center", ncols=len(handles)
                )
            paths += _save(figure, folder / f"{metric}_{group}")
    return paths


def write_runtime_figure(timings: Sequence[Timing], lines: Sequence[Line], folder: Path) -> list[Path]:
    """Mean seconds of an estimate against budget with the fitted lines, one panel a game, as PNG and SVG."""
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
    return _save(figure, folder / "runtime")


def _panels(n_panels: int) -> tuple[Any, Any]:
    """A figure of its own, not pyplot's (no window, no state shared with the caller), and its axes."""
    optional_import("matplotlib", extra="plot", purpose="Drawing the benchmark's figures")
    from matplotlib.figure import Figure

    n_columns = min(4, n_panels)
    n_rows = -(-n_panels // n_columns)
    figure = Figure(figsize=(max(3.4 * n_columns, 8), 2.6 * n_rows + 0.6), layout="constrained")
    return figure, np.atleast_1d(figure.subplots(n_rows, n_columns, squeeze=False)).ravel()


def _save(figure: Any, stem: Path) -> list[Path]:
    stem.parent.mkdir(parents=True, exist_ok=True)
    paths = [stem.with_name(f"{stem.name}.{suffix}") for suffix in ("png", "svg")]
    for path in paths:
        figure.savefig(path, dpi=110, metadata={"Date": None} if path.suffix == ".svg" else None)
    return paths


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
        (line,) = axis.plot(budgets, means, color=colour, linestyle=style, linewidth=1.3, marker=".")
        axis.fill_between(budgets, lower, means + sems, color=colour, alpha=0.2, linewidth=0)
        handles[LABELS.get(method, method)] = line
    axis.set_xscale("log")
    if metric == "mse":
        axis.set_yscale("log")
    axis.set_title(f"{task.name} (d={task.n_players})", fontsize=9)
    axis.tick_params(labelsize=7)
    return handles
