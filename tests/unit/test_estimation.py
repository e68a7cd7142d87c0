"""`estimate`: stages, tolerance, and what is kept when a stage fails."""

import numpy as np
import pytest

import polyshap
from polyshap.coalitions import row_keys
from polyshap.errors import ArgumentError, ArgumentTypeError, BudgetError, GameRaisedError, InterruptedRun
from polyshap.estimators import Adaptive, Exact
from polyshap.execution.cache import Cache
from polyshap.execution.staged import observe_staged
from polyshap.sampling import full_sample
from small_games import table_game

N = 10
GAME = table_game(N, seed=3)


class Recorded:
    """A game that remembers what it was asked, and raises once it was asked for `limit` coalitions."""

    def __init__(self, limit=None, error=RuntimeError):
        self.limit, self.error, self.asked = limit, error, []

    def __call__(self, coalitions):
        if self.limit is not None and sum(map(len, self.asked)) + len(coalitions) > self.limit:
            raise self.error("no more")
        self.asked.append(coalitions.copy())
        return GAME(coalitions)


def test_a_staged_estimator_spends_the_budget_in_stages():
    game = Recorded()
    found = polyshap.estimate(game, N, 120, "adaptive", random_state=0)
    asked = np.concatenate(game.asked)
    assert found.n_evaluations == len(asked) == 120
    assert len(np.unique(row_keys(asked))) == 120
    by_hand = observe_staged(Adaptive(), GAME, N, 120, np.random.default_rng(0))
    assert np.array_equal(found.values, Adaptive().fit(by_hand).values)


def test_stages_do_not_depend_on_batches_or_workers():
    plain = polyshap.estimate(GAME, N, 120, random_state=0)
    batches = polyshap.estimate(GAME, N, 120, random_state=0, batch_size=7)
    workers = polyshap.estimate(GAME, N, 120, random_state=0, n_jobs=2)
    assert np.array_equal(plain.values, batches.values)
    assert np.array_equal(plain.values, workers.values)


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_what_earlier_stages_observed_is_on_the_exception(error):
    game = Recorded(limit=100, error=error)
    with pytest.raises((GameRaisedError, InterruptedRun)) as caught:
        polyshap.estimate(game, N, 120, random_state=0, batch_size=5)
    coalitions, values = caught.value.observed[0]
    asked = np.concatenate(game.asked)
    assert len(coalitions) > 90  # the third stage began with 90
    assert np.array_equal(np.sort(row_keys(coalitions)), np.sort(row_keys(asked)))
    assert np.array_equal(values, GAME(coalitions))


def test_a_cache_pays_for_every_stage(tmp_path):
    folder = tmp_path / "cache"
    first, again = Recorded(), Recorded()
    cache = Cache(folder, fingerprint="game")
    before = polyshap.estimate(first, N, 120, random_state=0, cache=cache)
    after = polyshap.estimate(again, N, 120, random_state=0, cache=cache)
    assert again.asked == []
    assert np.array_equal(before.values, after.values)


def test_a_tolerance_ends_the_run_early_and_is_kept():
    def smooth(coalitions):
        return np.tanh(coalitions @ np.linspace(0.1, 0.5, 12))

    loose = polyshap.estimate(smooth, 12, 2000, tolerance=0.02, random_state=0)
    tight = polyshap.estimate(smooth, 12, 2000, tolerance=1e-4, random_state=0)
    assert loose.diagnostics.converged
    assert tight.diagnostics.converged
    assert loose.n_evaluations < tight.n_evaluations < 2000
    total = smooth(np.ones((1, 12)))[0]
    for found, tolerance in ((loose, 0.02), (tight, 1e-4)):
        assert found.standard_errors.max() <= tolerance * total
    spent = polyshap.estimate(GAME, N, 60, tolerance=1e-6, random_state=0)
    assert spent.diagnostics.converged is False
    assert spent.n_evaluations == 60


def test_a_tolerance_may_need_every_coalition():
    found = polyshap.estimate(GAME, N, 1 << N, tolerance=1e-9, random_state=0)
    np.testing.assert_allclose(found.values, polyshap.estimate(GAME, N, 1 << N, "exact").values, atol=1e-9)
    assert found.diagnostics.converged


@pytest.mark.parametrize("tolerance", [0, -1.0])
def test_a_tolerance_is_positive(tolerance):
    with pytest.raises(ArgumentError, match="tolerance"):
        polyshap.estimate(GAME, N, 60, tolerance=tolerance)


def test_a_tolerance_needs_standard_errors():
    with pytest.raises(ArgumentError, match="`tolerance` must go with"):
        polyshap.estimate(GAME, N, 60, "polyshap-2", tolerance=0.1)


def test_the_bar_reaches_the_budget_and_seconds_are_told_apart():
    calls = []
    found = polyshap.estimate(
        GAME, N, 120, random_state=0, batch_size=10, progress=lambda done, total: calls.append((done, total))
    )
    assert calls[-1] == (120, 120)
    assert set(found.diagnostics.seconds) == {"draw", "evaluate", "fit"}
    assert all(seconds >= 0 for seconds in found.diagnostics.seconds.values())


class Greedy:
    """An estimator of the user's own that does not keep to the budget."""

    def draw(self, n_players, budget, rng):
        return full_sample(n_players)

    def fit(self, observations):
        return Exact().fit(observations)


def test_an_estimator_that_exceeds_the_budget_is_stopped_before_it_costs_anything():
    """Of estimate and of explain: the budget is never exceeded, whoever draws."""
    game = Recorded()
    with pytest.raises(BudgetError, match=r"at least 1024, for the 1022 coalitions.*Got 100"):
        polyshap.estimate(game, N, 100, Greedy())
    with pytest.raises(BudgetError, match="Got 100"):
        polyshap.explain(game, np.ones((2, N)), np.zeros((1, N)), estimator=Greedy(), budget=100)
    assert game.asked == []
    assert polyshap.estimate(GAME, N, 1024, Greedy()).n_evaluations == 1024


def test_a_class_is_no_estimator():
    """The message says to build one."""
    with pytest.raises(ArgumentTypeError, match=r"Build one: Greedy\(\)"):
        polyshap.estimate(GAME, N, 1024, Greedy)
