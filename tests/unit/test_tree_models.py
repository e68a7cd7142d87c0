"""Reading tree models: codes for missing values, infinities, starting points, what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from polyshap.coalitions import enumerate_all
from polyshap.errors import ArgumentError, ArgumentTypeError, NotAvailableError
from polyshap.games.tree_models import read_trees
from polyshap.games.trees import tree_game_values, tree_shapley_values
from polyshap.shapley import from_table

pytest.importorskip("sklearn", reason="needs scikit-learn")
from sklearn import dummy, ensemble, linear_model, tree

N = 4


def numbers(seed=0):
    """Rows with zeros and holes, and a target with interactions."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, N))
    X[:, 1] = np.where(rng.random(300) < 0.4, 0.0, X[:, 1])
    y = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + X[:, 3]
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, y


def check(model, X, expected, tolerance=1e-13):
    """The model's own predictions, and values equal to enumeration of the game."""
    trees = read_trees(model)
    expected = np.reshape(expected, (len(X), -1))
    scale = np.abs(expected).max()
    np.testing.assert_allclose(trees.predict(X), expected, rtol=0, atol=tolerance * scale)
    tables = tree_game_values(trees, X[:4], enumerate_all(N))
    exact = np.array([from_table(table) for table in tables])
    np.testing.assert_allclose(tree_shapley_values(trees, X[:4]), exact, rtol=0, atol=1e-12 * scale)


@pytest.mark.parametrize("code", [0.0, -999.1])
def test_xgboosts_own_code_for_missing(code):
    """`missing=` of the scikit-learn interface makes a number missing, and NaN stays missing."""
    xgboost = pytest.importorskip("xgboost")
    X, y = numbers()
    coded = np.where(np.isnan(X), code, X)
    coded[0, 2] = np.nan
    model = xgboost.XGBRegressor(n_estimators=10, max_depth=4, n_jobs=1, missing=code).fit(coded, y)
    check(model, coded, model.predict(coded), 2e-6)


@pytest.mark.parametrize("package", ["lightgbm", "scikit-learn"])
def test_infinite_values(package):
    """A row may hold both infinities: each goes where it belongs, in the game and in the closed form."""
    X, y = numbers()
    if package == "lightgbm":
        lightgbm = pytest.importorskip("lightgbm")
        model = lightgbm.train({"verbose": -1, "num_threads": 1}, lightgbm.Dataset(X, y), 8)
    else:
        model = ensemble.HistGradientBoostingRegressor(max_iter=8).fit(X, y)
    X[0, :2], X[1, 2:], X[2, 3] = np.inf, -np.inf, -np.inf
    check(model, X, model.predict(X))


def test_boosting_from_a_constant():
    """A dummy model is a constant start like any other."""
    X, y = numbers()
    X = np.nan_to_num(X)
    start = dummy.DummyRegressor(strategy="quantile", quantile=0.3)
    model = ensemble.GradientBoostingRegressor(n_estimators=8, init=start).fit(X, y)
    check(model, X, model.predict(X))
    classes = np.digitize(y, [-1, 1])
    start = dummy.DummyClassifier(strategy="prior")
    model = ensemble.GradientBoostingClassifier(n_estimators=5, init=start).fit(X, classes)
    check(model, X, model.decision_function(X))


@pytest.mark.parametrize("start", [linear_model.LinearRegression(), tree.DecisionTreeRegressor(max_depth=2)])
def test_boosting_from_a_model_is_refused(start):
    """What the trees start from must not depend on the row."""
    X, y = numbers()
    model = ensemble.GradientBoostingRegressor(n_estimators=2, init=start).fit(np.nan_to_num(X), y)
    with pytest.raises(NotAvailableError, match="start from a constant"):
        read_trees(model)


@pytest.mark.parametrize(
    "model",
    [
        tree.DecisionTreeRegressor(),
        ensemble.RandomForestClassifier(),
        ensemble.GradientBoostingRegressor(),
        ensemble.HistGradientBoostingRegressor(),
    ],
    ids=lambda model: type(model).__name__,
)
def test_unfitted_models_are_named(model):
    """The message says what is missing, not which attribute."""
    with pytest.raises(ArgumentError, match=r"`model` must be fitted\. Got .*Call its `fit` first"):
        read_trees(model)


def test_unfitted_boosters_are_named():
    """The same for the two other packages."""
    for package, name in (("xgboost", "XGBRegressor"), ("lightgbm", "LGBMRegressor")):
        module = pytest.importorskip(package)
        with pytest.raises(ArgumentError, match="`model` must be fitted"):
            read_trees(getattr(module, name)())


def test_a_forest_that_does_not_predict_is_refused():
    """An embedding is built like a forest, but its leaves hold no answer."""
    X, _ = numbers()
    with pytest.raises(ArgumentTypeError, match="RandomTreesEmbedding"):
        read_trees(ensemble.RandomTreesEmbedding(3).fit(np.nan_to_num(X)))
