"""Global importance: the marginalised score of a model."""

import numpy as np
import pytest

from polyshap.coalitions import enumerate_all
from polyshap.errors import ArgumentError
from polyshap.games import global_importance_game, tabulate
from polyshap.games.scores import SCORES


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
    slow = [slow_value(nonlinear, X, y, background, SCORES[score], row) for row in coalitions]
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


@pytest.fixture
def classified():
    """A fitted classifier of three labels, and rows with their labels."""
    linear_model = pytest.importorskip("sklearn.linear_model", reason="scikit-learn is not installed")
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 2))
    y = np.array(["high", "low", "middle"])[np.digitize(X[:, 0] + 0.5 * X[:, 1], [-0.5, 0.5])]
    return linear_model.LogisticRegression().fit(X, y), X, y


SCORERS = ["accuracy", "balanced_accuracy", "neg_log_loss", "roc_auc_ovr", "f1_macro", "matthews_corrcoef"]


@pytest.mark.parametrize("name", SCORERS)
@pytest.mark.parametrize("by_name", [True, False])
def test_scorers_say_of_all_features_what_they_say_of_the_model(classified, name, by_name):
    """By name or as an object; they get classes or probabilities, whichever they ask for."""
    metrics = pytest.importorskip("sklearn.metrics")
    model, X, y = classified
    scorer = metrics.get_scorer(name)
    expected = scorer(model, X, y)
    for predict in (model, model.predict_proba):
        game = global_importance_game(predict, X, y, X[:5], score=name if by_name else scorer)
        assert game(np.ones((1, 2), dtype=bool))[0] == pytest.approx(expected)


def test_scorers_of_regression_and_of_two_classes(classified):
    """Numbers are predictions, unless there are two labels: then they are the probability of the second."""
    metrics = pytest.importorskip("sklearn.metrics")
    _, X, _ = classified
    everything = np.ones((1, 2), dtype=bool)
    value = nonlinear(np.column_stack([X, X[:, 0]]))
    shares = 1 / (1 + np.exp(-X[:, 0]))
    regression = global_importance_game(
        lambda rows: rows[:, 1], X, value, X[:5], score="neg_mean_absolute_error"
    )
    assert regression(everything)[0] == pytest.approx(-np.abs(value - X[:, 1]).mean())
    two = global_importance_game(
        lambda rows: 1 / (1 + np.exp(-rows[:, 0])), X, X[:, 1] > 0, X[:5], score="roc_auc"
    )
    assert two(everything)[0] == pytest.approx(metrics.roc_auc_score(X[:, 1] > 0, shares))


def test_labels_need_not_be_numbers(classified):
    """Text, or numbers from 1: the own scores find the column of each label."""
    model, X, y = classified
    everything = np.ones((1, 2), dtype=bool)
    right = (model.predict(X) == y).mean()
    game = global_importance_game(model, X, y, X[:5], score="accuracy")
    assert game(everything)[0] == pytest.approx(right)
    numbers = np.array([{"high": 1, "low": 2, "middle": 3}[label] for label in y])
    game = global_importance_game(model.predict_proba, X, numbers, X[:5], score="accuracy", classes=[1, 2, 3])
    assert game(everything)[0] == pytest.approx(right)
    one = global_importance_game(lambda rows: rows[:, 0], X, y, X[:5], score="accuracy")
    with pytest.raises(ArgumentError, match=r"a probability for each of the 3 classes. Got one number a row"):
        one(everything)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_stay_frames(library):
    """The model sees the columns by name, text and categories included."""
    frames = pytest.importorskip(library, reason=f"{library} is not installed")
    rng = np.random.default_rng(4)
    columns = {"size": rng.normal(size=6), "kind": list("abbaab")}
    frame = frames.DataFrame(columns)

    def predict(rows):
        assert type(rows) is type(frame)
        return np.asarray(rows["size"]) * (np.asarray(rows["kind"]) == "a")

    numbers = np.column_stack([columns["size"], np.array(columns["kind"]) == "a"])
    y = rng.normal(size=6)
    game = global_importance_game(predict, frame, y, frame[:3], score="squared-error")
    plain = global_importance_game(
        lambda rows: rows[:, 0] * rows[:, 1], numbers, y, numbers[:3], score="squared-error"
    )
    assert game(enumerate_all(2)) == pytest.approx(plain(enumerate_all(2)))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"score": "r3"}, "`score` must be a callable, 'explained-variance', .* Got 'r3'"),
        ({"groups": [(0,)]}, "`groups` must hold each of the 2 features once"),
        ({"background": np.zeros((3, 1))}, "`X` must have the 1 columns of `background`. Got 2 columns"),
        ({"background": np.zeros((0, 2))}, "`background` must hold at least one row"),
        ({"y": np.zeros(3)}, "`y` must hold a target for each of the 4 rows of `X`. Got 3"),
        ({"y": np.ones(4)}, "`y` must hold two different targets .* Use score='squared-error'"),
        ({"score": "roc_au"}, "scorer of scikit-learn. Got 'roc_au'. Did you mean 'roc_auc'"),
        ({"score": "accuracy", "classes": [1, 2]}, "`y` must hold classes among 1, 2. Got 0.0, 3.0 too"),
    ],
)
def test_bad_arguments_are_named(changes, message):
    """What breaks a rule is named with the rule."""
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    X = np.zeros((4, 2))
    arguments = {"y": np.arange(4.0), "background": X, **changes}
    with pytest.raises(ArgumentError, match=message):
        global_importance_game(lambda rows: rows[:, 0], X, **arguments)
