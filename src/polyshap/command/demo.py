"""`polyshap demo`: the whole way on a data set that comes with scikit-learn, checked against exact values."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from polyshap._types import FloatArray
from polyshap.errors import RankWarning, optional_import
from polyshap.explain import explain
from polyshap.explanation import Explanation
from polyshap.text_tables import bar, number, text_table

__all__ = ["run_demo"]

_ESTIMATORS = ("permutation", "kernelshap", "leverageshap", "polyshap-3", "adaptive")
# Of 1,024 coalitions. 300 is the first round number where PolySHAP-3 has enough equations: 10 features have
# 10 single and 120 triple unknowns in its odd half, and each of the 149 pairs gives one equation.
_BUDGETS = (64, 128, 300)
_N_ROWS, _N_SEEDS, _BACKGROUND_STEP = 4, 2, 15


def run_demo(report: str | None = None, seed: int = 0) -> Iterator[str]:
    """Yield the lines of the demonstration.

    Parameters
    ----------
    report : str, optional
        Where to write the HTML report.
    seed : int
    """
    started = time.process_time()
    datasets = optional_import("sklearn.datasets", extra="demo", purpose="`polyshap demo`")
    model, rows, background, names = _fit(datasets)
    n_players = len(names)
    yield f"A random forest predicts how a patient's diabetes progresses from {n_players} measurements."
    yield f"{_N_ROWS} patients are explained against {len(background)} others, without network or files."
    yield ""

    def run(estimator: str, budget: int, random_state: int) -> Explanation:
        return explain(
            model,
            rows,
            background,
            budget=budget,
            estimator=estimator,
            random_state=random_state,
            progress=False,
            feature_names=names,
        )

    exact = run("exact", 1 << n_players, seed)
    yield f"Mean error of the Shapley values in % of their mean size ({_N_SEEDS} seeds), by model calls spent"
    yield _errors(run, exact, seed)
    yield "(a call evaluates one coalition of features; in brackets: too few calls for all of its terms)"
    yield ""
    adaptive = run("adaptive", _BUDGETS[0], seed)
    yield f"The first patient from {_BUDGETS[0]} calls, with 95 % error bars, and the exact values"
    yield _first_row(adaptive, exact)
    inside = np.abs(adaptive.values - exact.values) <= 1.96 * _standard_errors(adaptive)
    yield f"{inside.mean():.0%} of the {inside.size} error bars of all patients hold the exact value."
    if report is not None:
        adaptive.report(Path(report), title="polyshap demo", call="polyshap demo --report")
        yield f"wrote {report}"
    yield ""
    yield f"Took {time.process_time() - started:.1f} s of CPU. Next: polyshap explain --help"


def _fit(datasets: ModuleType) -> tuple[Any, FloatArray, FloatArray, list[str]]:
    from sklearn.ensemble import RandomForestRegressor

    data = datasets.load_diabetes(scaled=False)
    model = RandomForestRegressor(n_estimators=20, min_samples_leaf=3, random_state=0)
    model.fit(data.data, data.target)
    return model, data.data[:_N_ROWS], data.data[1::_BACKGROUND_STEP], list(data.feature_names)


def _errors(run: Any, exact: Explanation, seed: int) -> str:
    size = np.abs(exact.values).mean()
    lines = []
    for name in _ESTIMATORS:
        cells = []
        for budget in _BUDGETS:
            errors, short, spent = [], False, 0
            for shift in range(_N_SEEDS):
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always", RankWarning)
                    found = run(name, budget, seed + shift)
                short |= bool(caught)
                spent = max(spent, int(found.row_evaluations.max()))
                errors.append(np.abs(found.values - exact.values).mean() / size)
            assert spent <= budget
            cell = f"{np.mean(errors):.2%}"
            cells.append(f"({cell})" if short else f"{cell} ")
        lines.append((name, *cells, ""))
    n_calls = int(exact.row_evaluations.max())
    lines.append(("exact", *("" for _ in _BUDGETS), "0.00%"))
    return text_table(("estimator", *(f"{budget} " for budget in _BUDGETS), f"{n_calls:,}"), lines)


def _first_row(adaptive: Explanation, exact: Explanation) -> str:
    values, errors = adaptive.values[0], 1.96 * _standard_errors(adaptive)[0]
    largest = float(np.abs(values).max())
    lines = [
        (
            adaptive.feature_names[j],
            f"{adaptive.data[0, j]:.4g}",
            number(values[j], largest, signed=True),
            "± " + number(errors[j], largest),
            number(exact.values[0, j], largest, signed=True),
            bar(values[j] / largest),
        )
        for j in np.argsort(-np.abs(values), kind="stable")
    ]
    total = values.sum()
    lines.append(
        ("sum", "", number(total, largest, signed=True), "", number(total, largest, signed=True), "")
    )
    ends = (
        f"prediction {adaptive.predictions[0]:.2f} = {adaptive.base_values[0]:.2f} for the average patient "
        f"{total:+.2f}"
    )
    return text_table(("feature", "is", "adds", "95 %", "exact", ""), lines, left=(0, 5)) + "\n" + ends


def _standard_errors(x: Explanation) -> FloatArray:
    return np.zeros_like(x.values) if x.standard_errors is None else x.standard_errors
