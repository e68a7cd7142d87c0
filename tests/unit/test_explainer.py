"""`Explainer`: the habit of shap, options as in scikit-learn."""

import pickle

import numpy as np
import pytest

import polyshap
from explain_cases import BACKGROUND, ROWS, WIDE, WIDE_BACKGROUND, smooth, wide
from polyshap.errors import ArgumentError, PolyshapWarning


def test_explainers_have_the_habit_of_shap():
    """Calling, shap_values, expected_value; a vector is one row."""
    explainer = polyshap.Explainer(smooth, BACKGROUND, random_state=0)
    x = explainer(ROWS)
    assert np.array_equal(x.values, polyshap.explain(smooth, ROWS, BACKGROUND, random_state=0).values)
    assert np.array_equal(explainer(ROWS[1]).values, x.values[1])
    assert np.array_equal(explainer.shap_values(ROWS), x.values)
    assert explainer.expected_value == pytest.approx(smooth(BACKGROUND).mean())
    two = polyshap.Explainer(wide, WIDE_BACKGROUND, random_state=0)
    assert two.expected_value == pytest.approx(wide(WIDE_BACKGROUND).mean(axis=0))
    assert two.shap_values(WIDE[0], nsamples=64).shape == (12, 2)
    assert explainer.shap_values(ROWS).flags.writeable


def test_trees_need_no_background():
    """As in `explain`: the branches hold their weights, and the rows give the columns."""
    ensemble = pytest.importorskip("sklearn.ensemble", reason="scikit-learn is not installed")
    model = ensemble.GradientBoostingRegressor(n_estimators=3).fit(BACKGROUND, smooth(BACKGROUND))
    explainer = polyshap.Explainer(model, imputer="path-dependent", random_state=0)
    wanted = polyshap.explain(model, ROWS, imputer="path-dependent", random_state=0)
    assert np.array_equal(explainer(ROWS).values, wanted.values)
    assert explainer(ROWS).diagnostics.details["call"] == (
        "polyshap.Explainer(model, imputer='path-dependent', random_state=0)(X)"
    )
    with pytest.raises(ArgumentError, match="background"):
        polyshap.Explainer(smooth)


def test_l1_regularisation_is_ignored_with_a_warning():
    """shap's option is accepted, warned about, and changes nothing."""
    explainer = polyshap.Explainer(smooth, BACKGROUND, random_state=0)
    with pytest.warns(PolyshapWarning, match="l1_reg"):
        values = explainer.shap_values(ROWS, l1_reg="num_features(3)")
    assert np.array_equal(values, explainer.shap_values(ROWS))


def test_options_are_read_and_replaced_as_in_scikit_learn():
    """get_params round trip; set_params gives a new explainer."""
    explainer = polyshap.Explainer(smooth, BACKGROUND, budget=16, random_state=0)
    assert explainer.get_params()["budget"] == 16
    assert polyshap.Explainer(**explainer.get_params()).get_params() == explainer.get_params()
    with pytest.raises(ArgumentError, match="Got budgets"):
        explainer.set_params(budgets=8)
    other = explainer.set_params(budget=8)
    assert (other.budget, explainer.budget) == (8, 16)


def test_explainers_travel():
    """An explainer of a picklable model is picklable and gives the same values afterwards."""
    explainer = polyshap.Explainer(smooth, BACKGROUND, random_state=0)
    again = pickle.loads(pickle.dumps(explainer))
    assert np.array_equal(again(ROWS).values, explainer(ROWS).values)
