"""Regression MSR: trees plus the residuals of the same coalitions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import polyshap
from polyshap.errors import MissingDependencyError
from polyshap.estimators import MSR, RegressionMSR, surrogates
from polyshap.estimators.msr import reuse_all
from polyshap.estimators.surrogates import Boosting, fit_trees
from polyshap.execution import observe
from polyshap.games.tree_binary import binary_shapley_values
from small_games import additive_game, table_game

ENGINES = [("xgboost", "xgboost"), ("lightgbm", "lightgbm"), ("scikit-learn", "sklearn")]


@pytest.fixture(params=ENGINES, ids=lambda pair: pair[0])
def engine(request):
    pytest.importorskip(request.param[1])
    return request.param[0]


def test_trees_plus_residuals_of_the_same_coalitions(engine):
    """phi = phi(trees) + MSR(v - trees), each residual with its own coalition."""
    game, estimator = table_game(8, seed=1), RegressionMSR(engines=(engine,))
    observations = observe(game, estimator.draw(8, 100, np.random.default_rng(0)))
    result = estimator.fit(observations)
    rows = np.concatenate([np.zeros((1, 8)), np.ones((1, 8)), observations.sample.coalitions]).astype(bool)
    values = np.concatenate([[0.0], observations.total, observations.centred[:, 0]])
    trees = fit_trees(engine, Boosting(), rows, values)
    left = [float(v - trees.predict(row.astype(float))[0, 0]) for row, v in zip(rows, values, strict=True)]
    residual = replace(observations, values=np.array(left[2:]), empty=left[0], grand=left[1])
    expected = binary_shapley_values(trees) + reuse_all(residual)
    np.testing.assert_allclose(result.values, expected[:, 0], atol=1e-12)
    assert result.diagnostics.details["engine"] == engine
    shuffled = replace(residual, values=np.roll(residual.values, 1))
    wrong = binary_shapley_values(trees) + reuse_all(shuffled)
    assert np.abs(result.values - wrong[:, 0]).max() > 1e-5


def test_better_than_msr_alone(engine):
    """On a smooth game the trees explain most of it."""
    game = additive_game(10, order=2, seed=2)
    exact = polyshap.estimate(game, 10, 1024, "exact").values

    def error(estimator):
        values = [polyshap.estimate(game, 10, 300, estimator, random_state=seed).values for seed in range(5)]
        return np.mean((np.array(values) - exact) ** 2)

    assert error(RegressionMSR(engines=(engine,))) < error(MSR()) / 4


def test_the_unit_of_the_game_does_not_matter(engine):
    """Thresholds inside the libraries must not end the boosting early."""
    game = additive_game(9, order=3, seed=4)
    estimator = RegressionMSR(engines=(engine,))
    one = polyshap.estimate(game, 9, 200, estimator, random_state=0).values
    other = polyshap.estimate(lambda z: 1e-9 * game(z), 9, 200, estimator, random_state=0).values
    np.testing.assert_allclose(1e9 * other, one, atol=1e-6 * np.abs(one).max())


def test_no_engine_at_all(monkeypatch):
    """The message holds the pip line."""
    monkeypatch.setattr(surrogates, "find_spec", lambda name: None)
    with pytest.raises(MissingDependencyError, match=r"polyshap\[trees\]"):
        polyshap.estimate(table_game(6, 0), 6, 30, RegressionMSR(), random_state=0)


def test_the_next_engine_is_taken_and_named(monkeypatch):
    """Without XGBoost scikit-learn does it, and the diagnostics say so."""
    pytest.importorskip("sklearn")
    found = surrogates.find_spec
    monkeypatch.setattr(surrogates, "find_spec", lambda name: None if name == "xgboost" else found(name))
    result = polyshap.estimate(table_game(6, 0), 6, 30, "regression-msr", random_state=0)
    assert result.diagnostics.details["engine"] == "scikit-learn"
