"""Tree ensembles as games: equal to the libraries' predictions, to recursion and to enumeration."""

from __future__ import annotations

import numpy as np
import pytest

import reference_baselines as reference
from polyshap.coalitions import enumerate_all
from polyshap.errors import ArgumentError, ArgumentTypeError, FileFormatError, NotAvailableError
from polyshap.games import tree_kernels
from polyshap.games.tree_binary import binary_fourier, binary_shapley_values
from polyshap.games.tree_models import load_forest, read_trees
from polyshap.games.trees import TreeEnsemble, TreeGame, tree_game_values, tree_shapley_values

ensemble_models = pytest.importorskip("sklearn.ensemble", reason="needs scikit-learn")
tree_models = pytest.importorskip("sklearn.tree")

N = 6


@pytest.fixture(scope="module")
def data():
    """Numbers, missing values and zeros; a target with interactions, two and three classes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(250, N))
    X[:, 1] = np.where(rng.random(250) < 0.4, 0.0, X[:, 1])
    y = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + X[:, 3] + 0.1 * rng.normal(size=250)
    holes = X.copy()
    holes[rng.random(X.shape) < 0.1] = np.nan
    return {"X": X, "holes": holes, "y": y, "two": (y > 0).astype(int), "three": np.digitize(y, [-1, 1])}


def margin(model, X):
    return model.predict(X, output_margin=True)


def raw(model, X):
    return model.booster_.predict(X, raw_score=True)


def sklearn_cases():
    e, t = ensemble_models, tree_models
    return {
        "tree": (t.DecisionTreeRegressor(random_state=0), "holes", "y", "predict"),
        "tree, classes": (t.DecisionTreeClassifier(max_depth=5), "holes", "three", "predict_proba"),
        "random tree": (t.ExtraTreeRegressor(max_depth=6, random_state=0), "X", "y", "predict"),
        "forest": (e.RandomForestRegressor(8, random_state=0), "holes", "y", "predict"),
        "forest, classes": (e.RandomForestClassifier(8, random_state=0), "holes", "three", "predict_proba"),
        "extra trees": (e.ExtraTreesRegressor(8, max_depth=5, random_state=0), "X", "y", "predict"),
        "boosting": (e.GradientBoostingRegressor(n_estimators=10), "X", "y", "predict"),
        "boosting from zero": (
            e.GradientBoostingRegressor(n_estimators=10, init="zero"),
            "X",
            "y",
            "predict",
        ),
        "boosting, two": (e.GradientBoostingClassifier(n_estimators=10), "X", "two", "decision_function"),
        "boosting, three": (e.GradientBoostingClassifier(n_estimators=5), "X", "three", "decision_function"),
        "histogram": (e.HistGradientBoostingRegressor(max_iter=10), "holes", "y", "predict"),
        "histogram, three": (
            e.HistGradientBoostingClassifier(max_iter=5),
            "holes",
            "three",
            "decision_function",
        ),
    }


def check(model, X, expected, tolerance):
    """Predictions, the game's ends, the recursion, and Shapley values by enumeration."""
    trees = read_trees(model)
    expected = np.asarray(expected, dtype=float).reshape(len(X), -1)
    scale = np.abs(expected).max()
    assert trees.n_outputs == expected.shape[1]
    np.testing.assert_allclose(trees.predict(X), expected, rtol=0, atol=tolerance * scale)
    rows, coalitions = X[:3], enumerate_all(N)
    values = tree_game_values(trees, rows, coalitions)
    np.testing.assert_allclose(values[:, -1], expected[:3], rtol=0, atol=tolerance * scale)
    some = [0, 5, 22, 63]
    np.testing.assert_allclose(
        values[0, some],
        reference.tree_game_values(trees, rows[0], coalitions[some]),
        rtol=0,
        atol=1e-12 * scale,
    )
    exact = tree_shapley_values(trees, rows)
    codes = 1 << np.arange(N)
    for row in range(2):
        for output in range(trees.n_outputs):
            table = values[row, :, output]
            slow = reference.shapley_by_subsets(lambda z, table=table: table[z @ codes], N)
            np.testing.assert_allclose(exact[row, :, output], slow, rtol=0, atol=1e-12 * scale)


@pytest.mark.parametrize("name", sklearn_cases())
def test_scikit_learn(name, data):
    """The grand coalition is the model's own prediction, and the closed form equals enumeration."""
    model, X, y, method = sklearn_cases()[name]
    model.fit(data[X], data[y])
    check(model, data[X], getattr(model, method)(data[X]), 1e-13)


@pytest.mark.parametrize(
    ("options", "X", "y", "kind"),
    [
        ({}, "holes", "y", "XGBRegressor"),
        ({"objective": "count:poisson"}, "holes", "three", "XGBRegressor"),
        ({"booster": "dart", "rate_drop": 0.3}, "holes", "y", "XGBRegressor"),
        ({}, "holes", "two", "XGBClassifier"),
        ({}, "holes", "three", "XGBClassifier"),
        ({"num_parallel_tree": 3}, "X", "y", "XGBRegressor"),
    ],
)
def test_xgboost(options, X, y, kind, data):
    """Raw margins to single precision, the model's own."""
    xgboost = pytest.importorskip("xgboost")
    model = getattr(xgboost, kind)(n_estimators=10, max_depth=4, n_jobs=1, **options).fit(data[X], data[y])
    check(model, data[X], margin(model, data[X]), 2e-6)
    np.testing.assert_array_equal(
        read_trees(model.get_booster()).predict(data[X]), read_trees(model).predict(data[X])
    )


def test_xgboost_stops_where_the_model_stops(data):
    """Early stopping: the trees after the best round take no part."""
    xgboost = pytest.importorskip("xgboost")
    model = xgboost.XGBRegressor(n_estimators=100, early_stopping_rounds=2, n_jobs=1)
    model.fit(data["X"][:100], data["y"][:100], eval_set=[(data["X"][100:], data["y"][100:])], verbose=False)
    assert model.best_iteration < model.get_booster().num_boosted_rounds() - 1
    np.testing.assert_allclose(
        read_trees(model).predict(data["X"])[:, 0], model.predict(data["X"]), atol=1e-5
    )


@pytest.mark.parametrize(
    ("options", "X", "y", "kind"),
    [
        ({}, "holes", "y", "LGBMRegressor"),
        ({}, "X", "y", "LGBMRegressor"),
        ({"zero_as_missing": True}, "holes", "y", "LGBMRegressor"),
        ({"boosting_type": "dart"}, "holes", "y", "LGBMRegressor"),
        ({}, "holes", "two", "LGBMClassifier"),
        ({}, "holes", "three", "LGBMClassifier"),
    ],
)
def test_lightgbm(options, X, y, kind, data):
    """Raw margins, with each way to treat missing values and zeros."""
    lightgbm = pytest.importorskip("lightgbm")
    model = getattr(lightgbm, kind)(n_estimators=8, verbose=-1, n_jobs=1, **options).fit(data[X], data[y])
    check(model, data["holes"], raw(model, data["holes"]), 1e-13)


def test_a_lightgbm_forest_is_averaged(data):
    """boosting_type='rf' predicts the mean of its trees."""
    lightgbm = pytest.importorskip("lightgbm")
    options = {"boosting_type": "rf", "bagging_freq": 1, "bagging_fraction": 0.6, "verbose": -1, "n_jobs": 1}
    model = lightgbm.LGBMRegressor(n_estimators=8, **options).fit(data["X"], data["y"])
    check(model, data["X"], model.booster_.predict(data["X"]), 1e-13)


def test_shap_agrees(data):
    """The values of shap's TreeExplainer, an independent implementation."""
    shap = pytest.importorskip("shap")
    forest = ensemble_models.RandomForestClassifier(8, random_state=0).fit(data["X"], data["three"])
    theirs = shap.TreeExplainer(forest, feature_perturbation="tree_path_dependent").shap_values(data["X"][:5])
    np.testing.assert_allclose(tree_shapley_values(read_trees(forest), data["X"][:5]), theirs, atol=1e-12)


def test_both_routes_agree(data, monkeypatch):
    """With and without numba: the same values, one row or several at once."""
    forest = ensemble_models.RandomForestRegressor(5, max_depth=7, random_state=0)
    trees = read_trees(forest.fit(data["holes"], np.column_stack([data["y"], data["X"][:, 0]])))
    rows, coalitions = data["holes"][:4], enumerate_all(N)
    first = tree_game_values(trees, rows, coalitions), tree_shapley_values(trees, rows)
    monkeypatch.setattr(tree_kernels, "available", lambda: not tree_kernels.compiled)
    second = tree_game_values(trees, rows, coalitions), tree_shapley_values(trees, rows)
    for one, other in zip(first, second, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-13)
    game = TreeGame(trees, rows)
    assert game(coalitions).shape == (len(coalitions), 8)
    np.testing.assert_array_equal(game(coalitions)[:, 2:4], tree_game_values(trees, rows[1], coalitions)[0])


def test_the_kernels_are_plain_python_too(data):
    """The uncompiled kernel functions compute the same: nothing depends on the compiler."""
    trees = read_trees(tree_models.DecisionTreeRegressor(max_depth=4).fit(data["X"], data["y"]))
    row, coalitions = trees.prepare(data["X"][0])[0], enumerate_all(N)[::7]
    out = np.tile(trees.base, (len(coalitions), 1))
    arrays = trees.feature, trees.left, trees.right, trees.left_share, trees.value, trees.roots
    tree_kernels.walk_trees(*arrays, trees.followed(row), coalitions, out)
    np.testing.assert_allclose(out, tree_game_values(trees, row, coalitions)[0], rtol=0, atol=1e-13)
    rows = trees.prepare(data["X"][:3])
    together = np.tile(trees.base, (3, len(coalitions), 1))
    bits = [(trees.followed(row) == trees.left).astype(int) << bit for bit, row in enumerate(rows)]
    tree_kernels.walk_together(*arrays, sum(bits), 0b111, coalitions, together)
    np.testing.assert_allclose(together[:1], out[None], rtol=0, atol=0)
    np.testing.assert_allclose(together, tree_game_values(trees, rows, coalitions), rtol=0, atol=1e-13)


def test_rows_together_are_rows_alone(data):
    """One walk for many rows, more than fit into one integer: every row's values to the last bit."""
    forest = ensemble_models.RandomForestRegressor(4, max_depth=7, random_state=0)
    trees = read_trees(forest.fit(data["holes"], data["y"]))
    rows, coalitions = data["holes"][:130], enumerate_all(N)[::3]
    alone = np.concatenate([tree_game_values(trees, row, coalitions) for row in rows])
    np.testing.assert_array_equal(tree_game_values(trees, rows, coalitions), alone)


def test_thresholds_in_single_precision():
    """A value that rounds to the threshold goes the library's way."""
    X = np.linspace(0, 1, 40)[:, None]
    model = tree_models.DecisionTreeRegressor(max_depth=3).fit(X, X[:, 0])
    cuts = read_trees(model).threshold[read_trees(model).feature >= 0]
    near = np.concatenate([cuts, np.nextafter(cuts, 2), cuts + 1e-9, cuts - 1e-9])[:, None]
    np.testing.assert_array_equal(read_trees(model).predict(near)[:, 0], model.predict(near))


def test_binary_trees_in_closed_form():
    """On indicator inputs: Shapley values and Fourier coefficients equal enumeration."""
    z = enumerate_all(5)
    rng = np.random.default_rng(1)
    model = ensemble_models.RandomForestRegressor(5, random_state=0).fit(z, rng.normal(size=32))
    trees = read_trees(model)

    def value(row):
        return float(trees.predict(row.astype(float))[0, 0])

    slow = reference.shapley_by_subsets(value, 5)
    np.testing.assert_allclose(binary_shapley_values(trees)[:, 0], slow, atol=1e-13)
    fourier = reference.fourier_by_enumeration(value, 5)
    found = binary_fourier(trees, range(1, 6))
    for term, coefficient in fourier.items():
        if term:
            assert found.get(term, 0.0) == pytest.approx(coefficient, abs=1e-13)


def test_select_one_class(data):
    """One class of a classifier is a game with one output."""
    trees = read_trees(ensemble_models.RandomForestClassifier(3).fit(data["X"], data["two"])).select(1)
    game = TreeGame(trees, data["X"][0])
    assert game.n_players == N
    assert game(enumerate_all(N)).shape == (64,)


def test_bad_input(data):
    """Every refusal names the argument and what to do."""
    from sklearn.linear_model import LinearRegression

    with pytest.raises(ArgumentTypeError, match="`model` must be a fitted tree"):
        read_trees(LinearRegression())
    trees = read_trees(tree_models.DecisionTreeRegressor(max_depth=2).fit(data["X"], data["y"]))
    with pytest.raises(ArgumentError, match=r"`rows` must have shape \(n_rows, 6\)"):
        trees.predict(np.zeros((2, 5)))
    with pytest.raises(ArgumentError, match="`coalitions` must have shape"):
        TreeGame(trees, data["X"][0])(np.zeros((2, 5), dtype=bool))
    two = np.column_stack([data["two"], data["three"]])
    with pytest.raises(NotAvailableError, match="one target"):
        read_trees(tree_models.DecisionTreeClassifier(max_depth=2).fit(data["X"], two))
    started = ensemble_models.GradientBoostingRegressor(init=tree_models.DecisionTreeRegressor())
    with pytest.raises(NotAvailableError, match="start from a constant"):
        read_trees(started.fit(data["X"], data["y"]))
    with pytest.raises(ArgumentError, match="existing features and nodes"):
        TreeEnsemble(
            *(np.array([0]),) * 4, np.ones(1), np.ones((1, 1)), np.zeros(1, int), np.zeros(1), np.zeros(1), 0
        )


def test_a_foreign_file(tmp_path):
    """A file without the arrays of a forest is refused by name."""
    path = tmp_path / "other.npz"
    np.savez(path, x=np.zeros(3))
    with pytest.raises(FileFormatError, match="lacks"):
        load_forest(path)
