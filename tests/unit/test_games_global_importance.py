"""Global importance: the marginalised score of a model."""

import numpy as np
import pytest

from polyshap.coalitions import enumerate_all
from polyshap.errors import ArgumentError
from polyshap.games import global_importance_game, tabulate


def slow_value(predict, X, y, background, score, columns):
    """One prediction at a time."""
    means = []
    for x in X:
        answers = [predict(np.where(columns, x, b)[None])[0] for b in background]
        means.append(np.mean(answers, axis=0))
    return score(y, np.array(means))


def nonlinear(rows):
    return rows[:, 0] * rows[:, 1] + np.abs(rows[:, 2])


@pytest.mark.parametrize("score", ["squared-error", "explained-variance"])
def test_values_are_those_of_a_loop(monkeypatch, score):
    """Every coalition's score is that of predictions averaged one by one, whatever the size of a block."""
    from polyshap.games import global_importance

    monkeypatch.setattr(global_importance, "_ROWS_PER_CALL", 10)
    rng = np.random.default_rng(0)
    X, background = rng.normal(size=(7, 3)), rng.normal(size=(4, 3))
    y = nonlinear(X) + rng.normal(size=7)
    game = global_importance_game(nonlinear, X, y, background, score=score)
    coalitions = enumerate_all(3)
    slow = [
        slow_value(nonlinear, X, y, background, global_importance.SCORES[score], row) for row in coalitions
    ]
    assert game(coalitions) == pytest.approx(slow)


def test_importance_of_independent_linear_features_is_their_variance():
    """For a linear model on its own targets, -risk is shared as a_i^2 (x_i - mean)^2 averages, as in SAGE."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(500, 3))
    X = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[0] * np.sqrt(500)  # uncorrelated, variance 1
    slopes = np.array([2.0, 1.0, 0.0])
    game = global_importance_game(lambda rows: rows @ slopes, X, X @ slopes, X, score="squared-error")
    assert tabulate(game, 3).shapley_values() == pytest.approx(slopes**2, abs=1e-9)


def test_metrics_of_scikit_learn_and_groups():
    """Any metric(y, prediction) serves; grouped features are one player."""
    metrics = pytest.importorskip("sklearn.metrics", reason="scikit-learn is not installed")
    rng = np.random.default_rng(2)
    X = rng.normal(size=(40, 4))
    y = nonlinear(X)
    game = global_importance_game(nonlinear, X, y, X[:5], score=metrics.r2_score, groups=[(0, 1), (2, 3)])
    assert game.n_players == 2
    assert game(np.ones((1, 2), dtype=bool)).tolist() == pytest.approx([1.0])


def test_class_probabilities():
    """Accuracy and cross-entropy take one column a class, or one probability."""
    X = np.array([[0.9], [0.2]])
    y = np.array([1, 0])
    one = global_importance_game(lambda rows: rows[:, 0], X, y, X, score="cross-entropy")
    two = global_importance_game(lambda rows: np.hstack([1 - rows, rows]), X, y, X, score="cross-entropy")
    everything = np.ones((1, 1), dtype=bool)
    expected = np.mean(np.log([0.9, 0.8]))
    assert one(everything) == pytest.approx([expected])
    assert two(everything) == pytest.approx([expected])
    right = global_importance_game(lambda rows: rows[:, 0], X, y, X, score="accuracy")
    assert right(everything).tolist() == [1.0]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"score": "r3"}, "`score` must be a callable or one of"),
        ({"groups": [(0,)]}, "`groups` must hold each of the 2 features once"),
        ({"background": np.zeros((3, 1))}, "as many columns"),
    ],
)
def test_bad_arguments_are_named(changes, message):
    """What breaks a rule is named with the rule."""
    X = np.zeros((4, 2))
    arguments = {"background": X, **changes}
    with pytest.raises(ArgumentError, match=message):
        global_importance_game(lambda rows: rows[:, 0], X, np.zeros(4), **arguments)
