"""The paper's runtime analysis: time of each stage against budget, and a straight line through the totals."""

from __future__ import annotations

import csv
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import polyshap
from polyshap._types import Estimator
from polyshap.benchmark.data import load_instances
from polyshap.benchmark.methods import build_method, skip_reason
from polyshap.benchmark.tasks import TASKS, check_instances
from polyshap.errors import FileFormatError, PolyshapWarning, optional_import
from polyshap.execution.evaluate import GameFunction

__all__ = [
    "LIVE",
    "RUNTIME_METHODS",
    "RUNTIME_TASKS",
    "Line",
    "Timing",
    "fit_lines",
    "measure",
    "read_timings",
    "write_timings",
]

# The games of the paper's analysis; the live vision transformer stands for its CIFAR-10 model.
RUNTIME_TASKS = ("Housing", "Estate", "Cancer", "IL60")
RUNTIME_METHODS = ("polyshap-1", "polyshap-2", "polyshap-3", "polyshap-4", "regression-msr")
LIVE = "digits-vit"
_LIVE_BUDGETS = TASKS["CIFAR10"].budgets

# Runs of one estimate, and the seconds after which there are enough: a few milliseconds alone say little.
_RUNS, _ENOUGH = 5, 0.2

STAGES: Mapping[str, str] = MappingProxyType(
    {"draw": "sampling", "evaluate": "evaluation", "fit": "regression"}
)


@dataclass(frozen=True)
class Timing:
    """Seconds of the stages of one estimate."""

    game: str
    n_players: int
    method: str
    instance: int
    budget: int
    sampling: float
    evaluation: float
    regression: float

    @property
    def total(self) -> float:
        return self.sampling + self.evaluation + self.regression


@dataclass(frozen=True)
class Line:
    """Least squares through the least totals over instances: seconds = intercept + slope * budget."""

    game: str
    method: str
    slope: float
    intercept: float
    r_squared: float
    evaluation_share: float


def measure(
    tasks: Sequence[str] = RUNTIME_TASKS,
    methods: Sequence[str] = RUNTIME_METHODS,
    *,
    n_instances: int = 3,
    live: bool = True,
    progress: Callable[[str], object] = lambda text: None,
) -> Iterator[Timing]:
    """Time paired estimates on one thread, each game and method warmed up first."""
    check_instances(n_instances)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", PolyshapWarning)
        for name in tasks:
            instances = load_instances(name)
            games = [instances.game((index,)) for index in range(n_instances)]
            progress(name)
            yield from _timings(name, TASKS[name].n_players, TASKS[name].budgets, games, methods)
        if live:
            progress(f"{LIVE} (training it first)")
            yield from _timings(LIVE, 16, _LIVE_BUDGETS, live_games(n_instances), methods)


def _timings(
    name: str, n_players: int, budgets: Sequence[int], games: Sequence[GameFunction], methods: Sequence[str]
) -> Iterator[Timing]:
    for method in methods:
        estimator = build_method(method, paired=True)
        possible = [budget for budget in budgets if skip_reason(method, True, n_players, budget) is None]
        # all coalitions need no regression: that time belongs to another line
        possible = [budget for budget in possible if budget < 2**n_players]
        if estimator is None or not possible:
            continue
        polyshap.estimate(games[0], n_players, possible[0], estimator, random_state=0)
        for index, game in enumerate(games):
            for budget in possible:
                seconds = _fastest(game, n_players, budget, estimator, index)
                stages: Any = {text: seconds[stage] for stage, text in STAGES.items()}
                yield Timing(name, n_players, method, index, budget, **stages)


def _fastest(
    game: GameFunction, n_players: int, budget: int, estimator: Estimator, seed: int
) -> Mapping[str, float]:
    """Seconds of the stages in the fastest of some runs: what other programs take is not the method's."""
    runs: list[Mapping[str, float]] = []
    while len(runs) < _RUNS and sum(sum(seconds.values()) for seconds in runs) < _ENOUGH:
        done = polyshap.estimate(game, n_players, budget, estimator, random_state=seed)
        runs.append(done.diagnostics.seconds)
    return min(runs, key=lambda seconds: sum(seconds.values()))


def live_games(n_instances: int) -> list[GameFunction]:
    """Digits under a small vision transformer that is trained here and evaluated for every coalition."""
    from polyshap.benchmark.vision import digit_images, load_image_model, patch_game, save_small_model

    optional_import("torch", extra="image", purpose="The live game of the runtime analysis")
    with tempfile.TemporaryDirectory() as folder:
        save_small_model(folder)
        model = load_image_model(folder)
    images, _ = digit_images()
    return [patch_game(model, images[-1 - index]) for index in range(n_instances)]


def fit_lines(timings: Sequence[Timing]) -> list[Line]:
    """One line for each game and method with at least three budgets."""
    groups: dict[tuple[str, str], dict[int, list[Timing]]] = {}
    for timing in timings:
        groups.setdefault((timing.game, timing.method), {}).setdefault(timing.budget, []).append(timing)
    lines = []
    for (game, method), by_budget in groups.items():
        if len(by_budget) < 3:
            continue
        budgets = np.array(sorted(by_budget), dtype=float)
        # the least of the instances: what other programs add to a time is not the method's
        totals = np.array([min(item.total for item in by_budget[int(m)]) for m in budgets])
        slope, intercept = np.polyfit(budgets, totals, 1)
        left = totals - (intercept + slope * budgets)
        spread = float(((totals - totals.mean()) ** 2).sum())
        everything = [item for group in by_budget.values() for item in group]
        share = sum(item.evaluation for item in everything) / sum(item.total for item in everything)
        r_squared = 1 - float(left @ left) / spread if spread > 0 else float("nan")
        lines.append(Line(game, method, float(slope), float(intercept), r_squared, share))
    return lines


def write_timings(timings: Sequence[Timing], path: Path) -> None:
    """All timings as CSV."""
    path.parent.mkdir(parents=True, exist_ok=True)
    names = [item.name for item in fields(Timing)]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*names, "total"])
        for timing in timings:
            writer.writerow([*(getattr(timing, name) for name in names), timing.total])


def read_timings(path: Path) -> list[Timing]:
    """The inverse of `write_timings`."""
    with path.open(newline="", encoding="utf-8") as file:
        try:
            return [_timing(row) for row in csv.DictReader(file)]
        except (KeyError, ValueError, TypeError) as error:
            raise FileFormatError(f"{path} holds no times of `polyshap bench runtime`: {error!r}") from error


def _timing(row: Mapping[str, str]) -> Timing:
    return Timing(
        row["game"],
        int(row["n_players"]),
        row["method"],
        int(row["instance"]),
        int(row["budget"]),
        *(float(row[stage]) for stage in STAGES.values()),
    )
