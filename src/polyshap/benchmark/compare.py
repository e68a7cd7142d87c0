"""Our estimators and those of installed shapiq, shap and LightSHAP on the same games in one run."""

from __future__ import annotations

import csv
import importlib
import importlib.util
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import polyshap
from polyshap._types import BoolMatrix, FloatArray
from polyshap.benchmark.data import Instances, load_instances
from polyshap.benchmark.metrics import normalised_error, summarise
from polyshap.benchmark.tasks import Task, check_instances
from polyshap.errors import PolyshapError
from polyshap.execution.evaluate import GameFunction

__all__ = ["OTHERS", "Comparison", "compare", "comparison_markdown", "installed_others", "write_comparison"]


@dataclass(frozen=True)
class Comparison:
    """One estimate by one package; `failure` is its reason where there is none."""

    game: str
    n_players: int
    instance: int
    method: str
    budget: int
    evaluations: int
    seconds: float
    normalised_mse: float
    failure: str = ""


@dataclass(eq=False)
class _Counted:
    """A game that counts the coalitions it was asked for, the honest measure of what a method used."""

    game: GameFunction
    n_players: int
    count: int = 0

    def __call__(self, coalitions: BoolMatrix, /) -> FloatArray:
        asked = np.asarray(coalitions, dtype=bool).reshape(-1, self.n_players)
        self.count += len(asked)
        return np.asarray(self.game(asked)).reshape(len(asked))

    def on_rows(self, rows: Any) -> FloatArray:
        """For packages that explain models of rows: a 1 is a present player, a 0 an absent one."""
        return self(np.asarray(rows, dtype=float) > 0.5)


_Run = Callable[[_Counted, int, int], FloatArray]  # game, budget, seed -> values


def _shapiq(name: str) -> _Run:
    def run(game: _Counted, budget: int, seed: int) -> FloatArray:
        import shapiq

        kind = getattr(shapiq, name)
        found = kind(game.n_players, random_state=seed).approximate(budget, game)
        return np.array([float(found[(player,)]) for player in range(game.n_players)])

    return run


def _shap_kernel(game: _Counted, budget: int, seed: int) -> FloatArray:
    import shap

    explainer = shap.KernelExplainer(game.on_rows, np.zeros((1, game.n_players)))
    np.random.seed(seed)  # noqa: NPY002 - shap draws from the global generator
    # it evaluates the background and the row besides
    rows = np.ones((1, game.n_players))
    return np.asarray(explainer.shap_values(rows, nsamples=budget - 2, silent=True)).ravel()


def _shap_permutation(game: _Counted, budget: int, seed: int) -> FloatArray:
    import shap

    masker = shap.maskers.Independent(np.zeros((1, game.n_players)), max_samples=1)
    explainer = shap.PermutationExplainer(game.on_rows, masker, seed=seed)
    found = explainer(np.ones((1, game.n_players)), max_evals=budget, silent=True)
    return np.asarray(found.values).ravel()


def _lightshap(method: str, how: str) -> _Run:
    def run(game: _Counted, budget: int, seed: int) -> FloatArray:
        lightshap: Any = importlib.import_module("lightshap")

        found = lightshap.explain_any(
            game.on_rows,
            np.ones((1, game.n_players)),
            bg_X=np.zeros((1, game.n_players)),
            method=method,
            how=how,
            max_iter=max(1, budget // (2 * game.n_players)),  # 2 n evaluations each
            tol=1e-12,  # never reached: the budget alone ends the run
            random_state=seed,
            verbose=False,
        )
        return np.asarray(found.shap_values).ravel()

    return run


# label -> package, run
OTHERS: Mapping[str, tuple[str, _Run]] = MappingProxyType(
    {
        "shapiq KernelSHAP": ("shapiq", _shapiq("KernelSHAP")),
        "shapiq PermutationSamplingSV": ("shapiq", _shapiq("PermutationSamplingSV")),
        "shapiq SVARM": ("shapiq", _shapiq("SVARM")),
        "shapiq UnbiasedKernelSHAP": ("shapiq", _shapiq("UnbiasedKernelSHAP")),
        "shap KernelExplainer": ("shap", _shap_kernel),
        "shap PermutationExplainer": ("shap", _shap_permutation),
        "LightSHAP kernel": ("lightshap", _lightshap("kernel", "sampling")),
        "LightSHAP permutation": ("lightshap", _lightshap("permutation", "sampling")),
    }
)


def installed_others() -> tuple[str, ...]:
    """The methods of other packages that can be run here."""
    return tuple(label for label, (package, _) in OTHERS.items() if importlib.util.find_spec(package))


def compare(
    tasks: Sequence[Task],
    methods: Sequence[str],
    *,
    n_instances: int = 3,
    positions: Sequence[int] = (1, 3, 5),
    seed: int = 0,
    progress: Callable[[str], object] = lambda text: None,
) -> Iterator[Comparison]:
    """Every method, ours by name and theirs by label, on every game at some of its ten budgets."""
    check_instances(n_instances)
    others = installed_others()
    for task in tasks:
        instances = load_instances(task.name)
        progress(task.name)

        budgets = [task.budgets[position] for position in positions]
        for method in (*methods, *others):
            # imports and compilers run once, in no one's time
            _one(task, instances, method, 0, budgets[-1], seed)
        for budget in budgets:
            for index in range(n_instances):
                for method in (*methods, *others):
                    yield _one(task, instances, method, index, budget, seed + index)


def _one(task: Task, instances: Instances, method: str, index: int, budget: int, seed: int) -> Comparison:
    game = _Counted(instances.game((index,)), task.n_players)
    head = (task.name, task.n_players, index, method, budget)
    start = time.perf_counter()
    try:
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if method in OTHERS:
                values = OTHERS[method][1](game, budget, seed)
            else:
                values = polyshap.estimate(game, task.n_players, budget, method, random_state=seed).values
    except PolyshapError as error:
        return Comparison(*head, game.count, 0.0, float("nan"), str(error))
    except Exception as error:  # another package's failure is a result, not ours to raise
        return Comparison(*head, game.count, 0.0, float("nan"), f"{type(error).__name__}: {error}")
    seconds = time.perf_counter() - start
    return Comparison(*head, game.count, seconds, normalised_error(values, instances.exact[index]))


def write_comparison(rows: Sequence[Comparison], path: Path) -> None:
    """All comparisons as CSV."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([item.name for item in fields(Comparison)])
        writer.writerows(astuple(row) for row in rows)


def comparison_markdown(rows: Sequence[Comparison]) -> str:
    """Mean normalised error, evaluations used and seconds of each method on each game and budget."""
    groups: dict[tuple[str, int, str], list[Comparison]] = {}
    for row in rows:
        groups.setdefault((row.game, row.budget, row.method), []).append(row)
    lines = [
        "Normalised error: mean squared error over mean squared exact value, averaged over instances.",
        "",
        "| game | budget | method | normalised error | evaluations | seconds |",
        "|---|---|---|---|---|---|",
    ]
    for (game, budget, method), group in groups.items():
        done = [row for row in group if not row.failure]
        if not done:
            lines.append(f"| {game} | {budget} | {method} | – ({group[0].failure[:60]}) | | |")
            continue
        error = summarise([row.normalised_mse for row in done]).mean
        used, seconds = (
            float(np.mean([getattr(row, name) for row in done])) for name in ("evaluations", "seconds")
        )
        lines.append(f"| {game} | {budget} | {method} | {error:.1e} | {used:.0f} | {seconds:.3f} |")
    return "\n".join(lines) + "\n"
