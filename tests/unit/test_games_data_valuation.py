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
    with pytest.raises(ArgumentError, match="`n_neighbors` must be at least 1"):
        NeighbourGame.of(X, y, X, y, 0)
