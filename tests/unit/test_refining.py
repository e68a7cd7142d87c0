"""More calls for what was explained: those that were made are not made again."""

import pickle

import numpy as np
import pytest

import polyshap
from polyshap.errors import ArgumentError, NotAvailableError

RNG = np.random.default_rng(0)
ROWS, BACKGROUND = RNG.standard_normal((10, 9)), RNG.standard_normal((6, 9))


class Counted:
    """A model that counts its rows."""

    def __init__(self):
        self.rows = 0

    def __call__(self, rows):
        self.rows += len(rows)
        return np.tanh(rows[:, 0] * rows[:, 1]) + rows[:, 2:].prod(axis=1) + rows.sum(axis=1)


def explain(model, **options):
    return polyshap.explain(model, ROWS, BACKGROUND, **({"budget": 60, "random_state": 0} | options))


@pytest.mark.parametrize("shared", [True, False])
def test_the_adaptive_estimator_pays_for_the_difference(shared):
    """120 calls a row in all, 60 of them new; the errors fall; the values still add up."""
    model = Counted()
    x = explain(model, estimator="adaptive", shared=shared)
    before = model.rows
    more = x.refine(120)
    new = (model.rows - before) / len(BACKGROUND)
    assert new <= 10 * 60 + 5
    assert (more.row_evaluations == 120).all()
    assert more.standard_errors.mean() < x.standard_errors.mean()
    assert more.values.sum(axis=1) == pytest.approx(more.predictions - more.base_values, abs=1e-9)
    exact = explain(Counted(), estimator="exact", budget=512).values
    assert np.abs(more.values - exact).mean() < np.abs(x.values - exact).mean()


def test_refining_in_steps_and_to_the_end():
    """Step by step is allowed, and all coalitions give exact values from what is missing."""
    model = Counted()
    x = explain(model, estimator="auto", shared=False).refine(100).refine(200)
    assert (x.row_evaluations == 200).all()
    before = model.rows
    whole = x.refine(512)
    assert (model.rows - before) / len(BACKGROUND) <= 10 * 312 + 5
    np.testing.assert_allclose(
        whole.values, explain(Counted(), estimator="exact", budget=512).values, atol=1e-9
    )


def test_estimators_with_weights_draw_again_and_reuse_what_they_meet():
    model = Counted()
    x = explain(model, estimator="polyshap-1")
    before = model.rows
    more = x.refine(200)
    fresh = explain(Counted(), estimator="polyshap-1", budget=200)
    np.testing.assert_allclose(more.values, fresh.values, atol=1e-12)
    assert (model.rows - before) / len(BACKGROUND) < 10 * 198


def test_what_cannot_be_refined_says_so():
    x = explain(Counted(), estimator="polyshap-1")
    for gone in (x[0], x[2:5], pickle.loads(pickle.dumps(x))):
        with pytest.raises(NotAvailableError, match="cache='folder/'"):
            gone.refine(100)
    with pytest.raises(ArgumentError, match="at least that of before, 60"):
        x.refine(50)


def test_threads_that_were_shut_down_are_made_again():
    """An executor of a `with` block is gone when the errors are looked at."""
    from concurrent.futures import ThreadPoolExecutor

    plain = explain(Counted(), budget=60).refine(120)
    with ThreadPoolExecutor(2) as executor:
        x = explain(Counted(), budget=60, executor=executor)
    assert np.array_equal(x.refine(120).values, plain.values)
