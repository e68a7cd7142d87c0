"""Bad input to explain() is refused before any call, a bad model after one row; nothing is lost."""

import numpy as np
import pytest

import polyshap
from explain_cases import BACKGROUND, RNG, ROWS, WIDE, WIDE_BACKGROUND, Calls, smooth, wide
from polyshap.errors import (
    ArgumentError,
    ArgumentTypeError,
    BudgetError,
    GameShapeError,
    ModelValueError,
)


class Independent:
    """As shap's masker of that name, which is recognised by the module of its class."""

    __module__ = "shap.maskers._tabular"

    def __call__(self, mask, row):
        raise AssertionError("asked with the wrong arguments")


BAD = [
    ({"X": RNG.random((2, 4))}, ArgumentError, "5 columns"),
    ({"X": RNG.random(5)}, ArgumentError, "reshape"),
    ({"X": np.empty((0, 5))}, ArgumentError, "at least one row"),
    ({"background": None}, ArgumentError, "background"),
    ({"background": np.empty((0, 5))}, ArgumentError, "at least one row"),
    ({"groups": {"g": ["y0"]}}, ArgumentError, "y0"),
    ({"groups": {"g": ["x0"], "h": ["x0"]}}, ArgumentError, "overlap"),
    ({"weights": -np.ones(7)}, ArgumentError, "not negative"),
    ({"weights": np.ones(3)}, ArgumentError, "each of the 7"),
    ({"budget": 1}, BudgetError, "at least"),
    ({"budget": 2.5}, ArgumentTypeError, "integer"),
    ({"budget": "all"}, ArgumentError, "auto"),
    ({"estimator": "kernelshop"}, ArgumentError, "kernelshap"),
    ({"estimator": 3}, ArgumentTypeError, "draw"),
    ({"imputer": "mean"}, ArgumentError, "marginal"),
    ({"imputer": Independent()}, ArgumentTypeError, r"from_masker\("),
    ({"imputer": "baseline"}, ArgumentError, "one row"),
    ({"method": "score"}, ArgumentError, "method"),
    ({"model": "model"}, ArgumentTypeError, "function on rows"),
    ({"random_state": -1}, ArgumentError, "random_state"),
    ({"random_state": "seed"}, ArgumentError, "random_state"),
    ({"batch_size": 0}, ArgumentError, "batch_size"),
    ({"max_memory": 10}, ArgumentError, "max_memory"),
    ({"feature_names": ["a"]}, ArgumentError, "5 columns"),
    ({"feature_names": list("abcda")}, ArgumentError, "Got a more than once"),
    ({"feature_names": "abcde"}, ArgumentTypeError, "list of names"),
    ({"batch_size": 1.5}, ArgumentTypeError, "batch_size"),
    ({"max_memory": "1 GiB"}, ArgumentTypeError, "max_memory"),
    ({"tolerance": "1 %"}, ArgumentError, "tolerance"),
    ({"shared": True, "independent_designs": True}, ArgumentError, "shared"),
    ({"tolerance": 2.0}, ArgumentError, "tolerance"),
    ({"tolerance": 0.1, "estimator": "kernelshap", "budget": 20}, ArgumentError, "tolerance"),
]


@pytest.mark.parametrize(("changes", "error", "words"), BAD, ids=lambda value: str(value)[:40])
def test_bad_input_is_refused_before_any_call(changes, error, words):
    """The message names the argument; the model was not asked once."""
    calls = Calls(smooth)
    options = {"model": calls, "X": ROWS, "background": BACKGROUND} | changes
    model, X, background = (options.pop(name) for name in ("model", "X", "background"))
    with pytest.raises(error, match=words):
        polyshap.explain(model, X, background, **options)
    assert calls.n_calls == 0


@pytest.mark.parametrize(
    ("function", "options", "error", "words"),
    [
        (lambda rows: np.full(len(rows), "yes"), {}, GameShapeError, "numbers"),
        (lambda rows: np.ones(len(rows) + 1), {}, GameShapeError, "1 rows"),
        (wide, {"outputs": "middle"}, ArgumentError, "output 0, output 1"),
        (wide, {"outputs": 2}, ArgumentError, "0..1"),
        (wide, {"outputs": []}, ArgumentError, "at least one"),
        (wide, {"output_names": ["a", "b", "c"]}, ArgumentError, "each of the 2 outputs"),
    ],
)
def test_bad_models_are_refused_after_one_row(function, options, error, words):
    """What only the model can tell is asked with a single row."""
    calls = Calls(function)
    with pytest.raises(error, match=words):
        polyshap.explain(calls, WIDE, WIDE_BACKGROUND, **options)
    assert calls.n_rows == 1


def test_a_changing_number_of_outputs_is_an_error():
    """One output in one call and two in the next."""
    calls = iter(range(1000))

    def fickle(rows):
        return wide(rows)[:, : 1 + (next(calls) > 1)]

    with pytest.raises(GameShapeError, match="Got 1 first and 2 later"):
        polyshap.explain(fickle, WIDE, WIDE_BACKGROUND, budget=50, random_state=0)


def test_undefined_predictions_are_kept_with_their_rows():
    """The synthetic rows that the model failed on, and the coalitions, are on the exception."""

    def undefined(rows):
        # only where x0 comes from the row and x1 from the background
        return np.where((rows[:, 0] > 2) & (rows[:, 1] < 2), np.nan, rows.sum(axis=1))

    row = np.full((1, 12), 3.0)
    with pytest.raises(ModelValueError, match="finite numbers") as caught:
        polyshap.explain(undefined, row, WIDE_BACKGROUND, budget=60, random_state=0)
    rows = caught.value.rows
    assert len(rows) > 0
    assert (np.isnan(undefined(rows))).all()
    assert caught.value.failed is not None


def test_a_models_own_exception_comes_through_as_the_cause():
    """Whatever the model raises on synthetic rows is chained, with what was observed before."""

    def fragile(rows):
        if len(rows) > 20:
            raise ZeroDivisionError("too many")
        return smooth(rows)

    with pytest.raises(polyshap.errors.GameRaisedError, match="ZeroDivisionError") as caught:
        polyshap.explain(fragile, ROWS, BACKGROUND, random_state=0)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_names_of_features_do_not_go_with_a_frame():
    """A frame has names; other ones would be ignored."""
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pandas.DataFrame(BACKGROUND, columns=list("abcde"))
    with pytest.raises(ArgumentError, match="`feature_names` must be left out"):
        polyshap.explain(smooth, frame, frame, feature_names=list("vwxyz"))
    x = polyshap.explain(lambda f: f["a"], frame[:1], frame, feature_names=list("abcde"))
    assert x.feature_names == tuple("abcde")


def test_names_are_text():
    """Numbers name columns too, and one text names one output."""
    x = polyshap.explain(smooth, ROWS[:1], BACKGROUND, feature_names=range(5), output_names="price")
    assert (x.feature_names, x.output_names) == (tuple("01234"), "price")
