"""Data valuation: the closed form for neighbours, refits, and the memory of what was fitted."""

import numpy as np
import pytest

import polyshap
from polyshap.coalitions import enumerate_all
from polyshap.errors import ArgumentError, ArgumentTypeError
from polyshap.games import NeighbourGame, data_valuation_game, neighbour_shapley_values, tabulate


def points(n, seed, n_classes=3):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 2)), rng.integers(n_classes, size=n)


@pytest.mark.parametrize("n_neighbors", [1, 3, 5, 20])
def test_closed_form_of_neighbours_is_enumeration(n_neighbors):
    """The recursion over ranks is the Shapley value of the utility, also with K above the points."""
    game = NeighbourGame.of(*points(9, 0), *points(4, 1), n_neighbors)
    exact = tabulate(game, 9).shapley_values()
    assert game.shapley_values() == pytest.approx(exact, abs=1e-12)
    assert neighbour_shapley_values(*points(9, 0), *points(4, 1), n_neighbors=n_neighbors) == pytest.approx(
        exact, abs=1e-12
    )


def test_utility_of_neighbours_is_the_share_of_right_neighbours():
    """A slow count of the K nearest present points says the same."""
    X, y = points(8, 2)
    X_test, y_test = points(5, 3)
    game = NeighbourGame.of(X, y, X_test, y_test, 3)
    coalitions = enumerate_all(8)
    for row, value in zip(coalitions, game(coalitions), strict=True):
        total = 0.0
        for x, label in zip(X_test, y_test, strict=True):
            members = sorted(np.flatnonzero(row), key=lambda i: np.linalg.norm(X[i] - x))
            total += sum(y[i] == label for i in members[:3]) / 3
        assert value == pytest.approx(total / 5)


def test_estimates_of_refits_come_near_the_closed_form():
    """A refitted nearest-neighbour classifier is the same game: the general way meets the closed form."""
    neighbors = pytest.importorskip("sklearn.neighbors", reason="scikit-learn is not installed")
    X, y = points(10, 4, n_classes=2)
    X_test, y_test = points(20, 5, n_classes=2)
    model = neighbors.KNeighborsClassifier(n_neighbors=1)
    # one class alone is never fitted: its value is the share of test points of that class
    game = data_valuation_game(model, X, y, X_test, y_test)
    closed = NeighbourGame.of(X, y, X_test, y_test, 1)
    both = [row for row in enumerate_all(10) if len(set(y[row])) == 2]
    rows = np.array(both)
    assert game(rows) == pytest.approx(closed(rows), abs=1e-12)


def test_groups_refit_together_and_never_twice():
    """A group's rows come and go together, and a known coalition costs no fit."""
    linear_model = pytest.importorskip("sklearn.linear_model", reason="scikit-learn is not installed")
    calls = []

    class Counting(linear_model.LinearRegression):
        def fit(self, X, y):
            calls.append(len(X))
            return super().fit(X, y)

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 2)), rng.normal(size=12)
    game = data_valuation_game(Counting(), X, y, X, y, groups=list("aaabbbcccddd"), empty_value=-1.0)
    polyshap.estimate(game, 4, 16, "exact")
    polyshap.estimate(game, 4, 16, "exact")
    assert sorted(calls) == sorted(3 * sum(row) for row in enumerate_all(4)[1:])
    assert game(np.zeros((1, 4), dtype=bool)).tolist() == [-1.0]


def test_refits_in_parallel_give_the_same_values():
    """The number of processes changes nothing."""
    linear_model = pytest.importorskip("sklearn.linear_model", reason="scikit-learn is not installed")
    X, y = points(6, 6, n_classes=2)
    coalitions = enumerate_all(6)[::3]
    games = [
        data_valuation_game(linear_model.LogisticRegression(), X, y, X, y, n_jobs=n_jobs) for n_jobs in (1, 2)
    ]
    assert np.array_equal(games[0](coalitions), games[1](coalitions))


def test_rows_keep_their_kind():
    """Frames of any library reach a pipeline by column name, sparse matrices stay sparse; values agree."""
    compose = pytest.importorskip("sklearn.compose", reason="scikit-learn is not installed")
    linear_model = pytest.importorskip("sklearn.linear_model")
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    polars = pytest.importorskip("polars", reason="polars is not installed")
    from scipy import sparse
    from sklearn.pipeline import make_pipeline

    X, y = points(6, 7, n_classes=2)
    by_name = make_pipeline(
        compose.make_column_transformer(("passthrough", ["a", "b"])), linear_model.LogisticRegression()
    )
    coalitions = enumerate_all(6)[::5]
    expected = data_valuation_game(linear_model.LogisticRegression(), X, y, X, y)(coalitions)
    columns = dict(zip("ab", X.T, strict=True))
    for frame in (pandas.DataFrame(columns, index=list("uvwxyz")), polars.DataFrame(columns)):
        game = data_valuation_game(by_name, frame, pandas.Series(y), frame, y)
        assert game(coalitions) == pytest.approx(expected)
    rows = sparse.coo_array(X)
    game = data_valuation_game(linear_model.LogisticRegression(), rows, y, rows, y)
    assert game(coalitions) == pytest.approx(expected)


def test_metrics_go_by_name_too():
    """A name is the scorer of that name; a wrong one is answered with the nearest."""
    metrics = pytest.importorskip("sklearn.metrics", reason="scikit-learn is not installed")
    model = pytest.importorskip("sklearn.linear_model").LogisticRegression()
    X, y = points(6, 8, n_classes=2)
    coalitions = enumerate_all(6)[::7]
    named, given = (
        data_valuation_game(model, X, y, X, y, metric=metric)
        for metric in ("neg_log_loss", metrics.get_scorer("neg_log_loss"))
    )
    assert np.array_equal(named(coalitions), given(coalitions))
    with pytest.raises(ArgumentError, match=r"`metric` must be .* Got 'acuracy'. Did you mean 'accuracy'"):
        data_valuation_game(model, X, y, X, y, metric="acuracy")


def test_data_that_the_model_refuses():
    """Five neighbours among three rows: an error that says what to do, or worth nothing on request."""
    neighbors = pytest.importorskip("sklearn.neighbors", reason="scikit-learn is not installed")
    X, y = points(8, 9, n_classes=2)
    few = np.array([[True] * 3 + [False] * 5])
    model = neighbors.KNeighborsClassifier(5)
    assert len(set(y[:3])) == 2
    with pytest.raises(
        ArgumentError, match=r"on 3 of 8 training rows: Expected n_neighbors.*on_error='empty'"
    ):
        data_valuation_game(model, X, y, X, y)(few)
    game = data_valuation_game(model, X, y, X, y, empty_value=0.25, on_error="empty")
    assert game(few).tolist() == [0.25]


def test_bad_arguments_are_named():
    """What breaks a rule is named with the rule."""
    model = pytest.importorskip("sklearn.linear_model").LinearRegression()
    X, y = points(4, 0)
    with pytest.raises(ArgumentTypeError, match="`model` must have the methods"):
        data_valuation_game(object(), X, y, X, y)
    with pytest.raises(ArgumentError, match="`groups` must name a group for each of the 4 rows"):
        data_valuation_game(model, X, y, X, y, groups=[0])
    with pytest.raises(ArgumentError, match="as many rows"):
        data_valuation_game(model, X, y[:3], X, y)
    with pytest.raises(ArgumentError, match="`X_test` and `y_test` must have as many rows"):
        data_valuation_game(model, X, y, X, y[:2])
    with pytest.raises(ArgumentError, match="`on_error` must be 'raise' or 'empty'"):
        data_valuation_game(model, X, y, X, y, on_error="ignore")
    with pytest.raises(ArgumentError, match="as many columns, and at least one row"):
        NeighbourGame.of(X, y, X[:, :1], y)
    with pytest.raises(ArgumentError, match="as many columns, and at least one row"):
        NeighbourGame.of(X, y, X[:0], y[:0])
    with pytest.raises(ArgumentError, match="`n_neighbors` must be at least 1"):
        NeighbourGame.of(X, y, X, y, 0)
