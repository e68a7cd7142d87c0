"""Times against budget, their straight line, and the comparison with other packages."""

import time

import numpy as np
import pytest

from polyshap.benchmark import compare as compare_module
from polyshap.benchmark import runtime
from polyshap.benchmark.compare import OTHERS, comparison_markdown, installed_others, write_comparison
from polyshap.benchmark.data import Instances
from polyshap.benchmark.runtime import Timing, fit_lines, measure, read_timings, write_timings
from polyshap.benchmark.tasks import get_task
from polyshap.games import tabulate
from tables import synthetic_games

GAME = tabulate(synthetic_games(8, seed=0)["k-additive"], 8)


@pytest.fixture
def housing(monkeypatch):
    """The task with a synthetic game in place of its forest: no data is needed."""

    def load(name):
        exact = np.tile(GAME.shapley_values(), (3, 1))
        return Instances(exact, lambda chosen: lambda z: np.tile(GAME(z)[:, None], len(chosen)))

    for module in (runtime, compare_module):
        monkeypatch.setattr(module, "load_instances", load)
    return get_task("Housing")


def test_the_line_is_that_of_least_squares():
    """Slope, intercept and share of the game are recovered from exact times."""
    timings = [
        Timing("g", 8, "m", instance, budget, 0.25, 0.001 * budget, 0.25)
        for instance in (0, 1)
        for budget in (10, 20, 40)
    ]
    (line,) = fit_lines(timings)
    assert (line.slope, line.intercept, line.r_squared) == pytest.approx((0.001, 0.5, 1.0))
    assert line.evaluation_share == pytest.approx(0.07 / (0.07 + 1.5))


def test_every_possible_budget_is_timed(housing, tmp_path):
    """All stages, no budget below the terms or at all coalitions; the file holds them exactly."""
    timings = list(measure(("Housing",), ("polyshap-1", "polyshap-2"), n_instances=2, live=False))
    assert {(t.method, t.budget) for t in timings} == {
        *(("polyshap-1", m) for m in (19, 27, 40, 58, 84, 122, 176)),
        *(("polyshap-2", m) for m in (40, 58, 84, 122, 176)),
    }
    assert all(min(t.sampling, t.evaluation, t.regression) > 0 for t in timings)
    write_timings(timings, tmp_path / "runtime.csv")
    assert read_timings(tmp_path / "runtime.csv") == timings


@pytest.mark.parametrize("label", OTHERS)
def test_other_packages_play_the_same_game(housing, monkeypatch, label):
    """Each installed method comes near the exact values, and its calls are counted."""
    if label not in installed_others():
        pytest.skip(f"{OTHERS[label][0]} is not installed")
    monkeypatch.setattr(compare_module, "installed_others", lambda: (label,))
    (row,) = compare_module.compare([housing], (), n_instances=1, positions=(7,))
    assert row.failure == ""
    assert 0 < row.evaluations <= 2.5 * row.budget
    assert row.normalised_mse < 0.5


def test_first_calls_are_in_no_ones_time(housing, monkeypatch):
    """A package that imports or compiles when it is first called has done so before it is timed."""
    calls = []

    def slow_at_first(game, budget, seed):
        if not calls:
            time.sleep(0.5)
        calls.append(budget)
        return np.zeros(game.n_players)

    monkeypatch.setattr(compare_module, "installed_others", lambda: ("slow",))
    monkeypatch.setattr(compare_module, "OTHERS", {"slow": ("slow", slow_at_first)})
    (row,) = compare_module.compare([housing], (), n_instances=1, positions=(3,))
    assert len(calls) == 2
    assert row.seconds < 0.5


def test_a_failure_of_one_method_is_a_row(housing, monkeypatch, tmp_path):
    """A package that raises costs its own cell, not the run."""
    monkeypatch.setattr(compare_module, "installed_others", lambda: ("broken",))
    monkeypatch.setattr(compare_module, "OTHERS", {"broken": ("broken", lambda *_: 1 / 0)})
    rows = list(compare_module.compare([housing], ["polyshap-1"], n_instances=2, positions=(5,)))
    assert [bool(row.failure) for row in rows] == [False, True, False, True]
    text = comparison_markdown(rows)
    assert "| Housing | 58 | broken | – (ZeroDivisionError: division by zero) | | |" in text
    write_comparison(rows, tmp_path / "compare.csv")
    assert len((tmp_path / "compare.csv").read_text().splitlines()) == 5
