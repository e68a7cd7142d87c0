"""What `explain` costs beside the model itself, and how accurate it is, on five workloads.

    python benchmarks/explain_cost.py                     # polyshap on all five, a table on the terminal
    python benchmarks/explain_cost.py --tools all         # also shap, shapiq and LightSHAP where installed
    python benchmarks/explain_cost.py --most-rows 10      # only the first ten rows of each workload
    python benchmarks/explain_cost.py --calibrate         # predict time by rows per call

Set OMP_NUM_THREADS=1: all times are CPU seconds of one process. `ratio` is the whole CPU time over the time
that the model needs for all synthetic rows asked for, before equal ones are dropped; `error` is the mean
squared error over the mean square of the true values, on the rows whose truth is known. Of fewer rows
polyshap gets the values that it would get for the whole workload: parameters are shared as there.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import polyshap
from polyshap.rows.sharing import should_share

DATA = Path(os.environ.get("POLYSHAP_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
CALIBRATION_ROWS = 20_000


@dataclass(frozen=True)
class Workload:
    """A model with rows to explain, and true values of the first few of them."""

    predict: Callable[[np.ndarray], np.ndarray]
    rows: np.ndarray
    background: np.ndarray
    budget: int
    truth: Callable[[np.ndarray], np.ndarray]  # rows -> (n, d) or (n, d, outputs)
    n_truth: int
    shares: bool = True  # whether all its rows together would share parameters


class Timed:
    """A model that counts its rows and the CPU seconds inside."""

    def __init__(self, function: Callable[[np.ndarray], np.ndarray]) -> None:
        self.function, self.seconds, self.rows = function, 0.0, 0

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        rows = np.asarray(rows)
        start = time.process_time()
        answer = self.function(rows)
        self.seconds += time.process_time() - start
        self.rows += len(rows)
        return answer


def bike() -> Workload:
    import pandas as pd
    from sklearn.ensemble import GradientBoostingRegressor

    table = pd.read_csv(DATA / "tabular" / "bike.csv")
    y = table.pop("count").to_numpy(float)
    X = np.stack(
        [
            c.to_numpy(float) if c.dtype.kind in "iuf" else pd.factorize(c, sort=True)[0].astype(float)
            for _, c in table.items()
        ],
        axis=1,
    )
    train, test = _split(len(X))
    model = GradientBoostingRegressor(random_state=0).fit(X[train], y[train])
    background = X[train][:100]
    return Workload(model.predict, X[test][:200], background, 2000, _by_trees(model, background), 200)


def cancer() -> Workload:
    from sklearn.datasets import load_breast_cancer
    from sklearn.ensemble import RandomForestClassifier

    X, y = load_breast_cancer(return_X_y=True)
    train, test = _split(len(X))
    model = RandomForestClassifier(random_state=0).fit(X[train], y[train])
    background = X[train][:100]
    return Workload(model.predict_proba, X[test][:100], background, 2000, _by_trees(model, background), 100)


def crime() -> Workload:
    import pandas as pd
    from sklearn.ensemble import GradientBoostingRegressor

    table = pd.read_csv(DATA / "tabular" / "CommViolPredUnnormalizedData.txt", na_values="?")
    y = table.iloc[:, -2]
    table = table[y.notna()].iloc[:, 5:-18].dropna(axis=1)
    X, y = table.to_numpy(float), y[y.notna()].to_numpy(float)
    train, test = _split(len(X))
    model = GradientBoostingRegressor(random_state=0).fit(X[train], y[train])
    background = X[train][:50]
    return Workload(model.predict, X[test][:20], background, 5000, _by_trees(model, background), 20)


def pairwise() -> Workload:
    rng = np.random.default_rng(0)
    weights, pairs = rng.standard_normal(40), np.triu(rng.standard_normal((40, 40)), 1) / 6
    rows, background = rng.standard_normal((500, 40)), np.zeros((1, 40))

    def predict(x: np.ndarray) -> np.ndarray:
        return x @ weights + ((x @ pairs) * x).sum(axis=1)

    def truth(x: np.ndarray) -> np.ndarray:
        return x * weights + x * (x @ (pairs + pairs.T)) / 2

    return Workload(predict, rows, background, 4000, truth, 500)


def digits() -> Workload:
    from sklearn.datasets import load_digits
    from sklearn.neural_network import MLPClassifier

    X, y = load_digits(return_X_y=True)
    train, test = _split(len(X))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = MLPClassifier((64,), random_state=0, max_iter=60).fit(X[train] / 16, y[train])
    background = X[train][:20] / 16

    def truth(rows: np.ndarray) -> np.ndarray:
        return np.stack([_by_permutations(model.predict_proba, row, background, 8000) for row in rows])

    return Workload(model.predict_proba, X[test][:50] / 16, background, 2000, truth, 10)


WORKLOADS: dict[str, Callable[[], Workload]] = {
    "bike": bike,
    "cancer": cancer,
    "crime": crime,
    "pairwise": pairwise,
    "digits": digits,
}


def _split(n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    order = np.arange(n_rows)
    np.random.default_rng(40).shuffle(order)
    cut = int(0.8 * n_rows)
    return order[:cut], order[cut:]


def _by_trees(model: Any, background: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Exact interventional values of tree ensembles."""
    import shap

    return lambda rows: shap.TreeExplainer(model, background).shap_values(rows, check_additivity=False)


def _by_permutations(
    predict: Callable[[np.ndarray], np.ndarray], row: np.ndarray, background: np.ndarray, n_orders: int
) -> np.ndarray:
    """Means over antithetic random orders, an unbiased route that shares nothing with the estimators."""
    rng, d = np.random.default_rng(1), len(row)
    total = 0.0
    for _ in range(n_orders // 2):
        order = rng.permutation(d)
        for walk in (order, order[::-1]):
            rank = np.empty(d, dtype=int)
            rank[walk] = np.arange(d)
            present = rank < np.arange(d + 1)[:, None]
            rows = np.where(present[:, None], row, background[None]).reshape(-1, d)
            steps = np.diff(predict(rows).reshape(d + 1, len(background), -1).mean(axis=1), axis=0)
            total = total + steps[rank]
    return total / n_orders


def by_polyshap(estimator: str) -> Callable[[Workload, Timed], np.ndarray]:
    def run(work: Workload, model: Timed) -> np.ndarray:
        return polyshap.explain(
            model,
            work.rows,
            work.background,
            budget=work.budget,
            estimator=estimator,
            random_state=0,
            shared=work.shares,
        ).values

    return run


def by_shap_kernel(work: Workload, model: Timed) -> np.ndarray:
    import shap

    explainer = shap.KernelExplainer(model, work.background)
    return explainer.shap_values(work.rows, nsamples=work.budget, l1_reg=False, silent=True)


def by_shap_permutation(work: Workload, model: Timed) -> np.ndarray:
    import shap

    masker = shap.maskers.Independent(work.background, max_samples=len(work.background))
    explainer = shap.PermutationExplainer(model, masker, seed=0)
    return explainer(work.rows, max_evals=work.budget, silent=True).values


def by_shapiq(name: str) -> Callable[[Workload, Timed], np.ndarray]:
    """shapiq on its marginal imputer, with all of the background; it explains one output."""

    def run(work: Workload, model: Timed) -> np.ndarray:
        import shapiq

        width = np.ndim(model.function(work.rows[:1])) - 1
        approximator: Any = name
        if name == "proxyspex":
            approximator = shapiq.ProxySPEX(n=work.rows.shape[1], index="SV", max_order=1, random_state=0)
        explainer = shapiq.TabularExplainer(
            (lambda rows: model(rows)[:, 0]) if width else model,
            work.background,
            index="SV",
            max_order=1,
            approximator=approximator,
            sample_size=len(work.background),
            joint_marginal_distribution=True,
            random_state=0,
        )
        found = [explainer.explain(row[None], budget=work.budget) for row in work.rows]
        values = np.stack([one.get_n_order_values(1) for one in found])
        return values[..., None] if width else values

    return run


def by_lightshap(work: Workload, model: Timed) -> np.ndarray:
    """Its default: the smallest coalitions exactly, then as many passes as the budget allows."""
    from lightshap import explain_any

    d = work.rows.shape[1]
    degree = 2 if d <= 16 else 1
    exact = 2 * d + (d * (d - 1) if degree == 2 else 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a tolerance of 0 is never met
        found = explain_any(
            model,
            work.rows,
            bg_X=work.background,
            method="kernel",
            max_iter=(work.budget - 2 - exact) // (2 * (d - 1 - 2 * degree)),
            tol=0.0,
            random_state=0,
            verbose=False,
        )
    return found.shap_values


TOOLS: dict[str, Callable[[Workload, Timed], np.ndarray]] = {
    "polyshap": by_polyshap("auto"),
    "polyshap leverageshap": by_polyshap("leverageshap"),
    "shap kernel": by_shap_kernel,
    "shap permutation": by_shap_permutation,
    "shapiq kernelshap": by_shapiq("auto"),
    "shapiq permutation": by_shapiq("permutation"),
    "shapiq proxyspex": by_shapiq("proxyspex"),
    "lightshap": by_lightshap,
}


@cache
def prepared(name: str, most_rows: int) -> tuple[Workload, np.ndarray, float]:
    """A workload with its true values and the CPU seconds that its model needs for one row."""
    work = WORKLOADS[name]()
    shares = should_share(len(work.rows), work.budget)
    work = replace(work, rows=work.rows[:most_rows], shares=shares)
    chosen = np.random.default_rng(0).integers(0, len(work.rows), CALIBRATION_ROWS)
    rows = np.where(
        np.random.default_rng(1).random((CALIBRATION_ROWS, work.rows.shape[1])) < 0.5,
        work.rows[chosen],
        work.background[np.random.default_rng(2).integers(0, len(work.background), CALIBRATION_ROWS)],
    )
    seconds = []
    for _ in range(4):
        start = time.process_time()
        work.predict(rows)
        seconds.append(time.process_time() - start)
    return work, work.truth(work.rows[: work.n_truth]), min(seconds) / CALIBRATION_ROWS


def measure(name: str, tool: str, most_rows: int) -> str:
    work, truth, seconds_a_row = prepared(name, most_rows)
    model = Timed(work.predict)
    start = time.process_time()
    values = TOOLS[tool](work, model)
    total = time.process_time() - start
    needed = len(work.rows) * work.budget * len(work.background) * seconds_a_row
    truth = truth[..., : values.shape[2]] if values.ndim == 3 else truth
    error = np.mean((values[: len(truth)] - truth) ** 2) / np.mean(truth**2)
    return (
        f"| {name} | {tool} | {len(work.rows)} x {work.rows.shape[1]} | {total:.1f} | {model.seconds:.1f} | "
        f"{total - model.seconds:.1f} | {needed:.1f} | {total / needed:.2f} | {model.rows:.2g} | "
        f"{error:.1e} |"
    )


def calibrate(names: list[str]) -> None:
    for name in names:
        work = WORKLOADS[name]()
        for power in range(10, 19):
            rows = np.resize(work.background, (1 << power, work.rows.shape[1]))
            seconds = []
            for _ in range(3):
                start = time.process_time()
                work.predict(rows)
                seconds.append((time.process_time() - start) / len(rows))
            print(f"{name}: {1 << power:7d} rows a call, {min(seconds) * 1e9:8.0f} ns a row")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--workloads", nargs="+", default=list(WORKLOADS), choices=WORKLOADS)
    parser.add_argument("--tools", nargs="+", default=["polyshap"], choices=[*TOOLS, "all"])
    parser.add_argument("--most-rows", type=int, default=1000, help="of each workload; default: all")
    parser.add_argument("--calibrate", action="store_true")
    options = parser.parse_args()
    if options.calibrate:
        calibrate(options.workloads)
        return
    print("| workload | tool | rows | CPU s | in predict | own | needed | ratio | rows asked | error |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for name in options.workloads:
        for tool in TOOLS if "all" in options.tools else options.tools:
            try:
                print(measure(name, tool, options.most_rows), flush=True)
            except ImportError as error:
                print(f"| {name} | {tool} | skipped: {error} |" + " |" * 7, flush=True)


if __name__ == "__main__":
    main()
