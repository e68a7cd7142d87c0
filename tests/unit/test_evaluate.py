"""Asking a game: shapes, failures, and nothing lost."""

import numpy as np
import pytest

import polyshap
from polyshap.errors import (
    ArgumentError,
    ArgumentTypeError,
    GameRaisedError,
    GameShapeError,
    GameValueError,
    MemoryNeededError,
    PolyshapError,
)
from small_games import table_game

N = 8
GAME = table_game(N, seed=0)


def failing_after(calls, action):
    """A game that misbehaves from its n-th batch on."""
    count = iter(range(1000))

    def game(coalitions):
        return GAME(coalitions) if next(count) < calls else action(coalitions)

    return game


def run(game, **options):
    return polyshap.estimate(game, N, 100, "leverageshap", random_state=0, batch_size=30, **options)


def assert_kept(error, batches, more=0):
    assert error.coalitions.shape == (30 * batches + more, N)
    assert np.array_equal(error.values, GAME(error.coalitions))


def test_a_game_that_raises_keeps_what_was_paid_for():
    """The original exception is chained; the batches before it are on the exception."""

    def broken(coalitions):
        raise ConnectionError("the line is dead")

    with pytest.raises(GameRaisedError, match=r"ConnectionError.*the line is dead") as caught:
        run(failing_after(2, broken))
    assert isinstance(caught.value.__cause__, ConnectionError)
    assert_kept(caught.value, 2)
    assert len(caught.value.failed) == 30


@pytest.mark.parametrize(
    ("action", "error", "message"),
    [
        (lambda z: GAME(z)[:-1], GameShapeError, r"\(30,\) or \(30, n_outputs\)"),
        (lambda z: GAME(z)[:, None, None], GameShapeError, "must return shape"),
        (lambda z: GAME(z)[:, None], GameShapeError, "same number of outputs"),
        (lambda z: ["text"] * len(z), GameShapeError, "must return numbers"),
        (lambda z: None, GameShapeError, "must return"),
        (lambda z: np.where(np.arange(len(z)) == 3, np.nan, GAME(z)), GameValueError, "1 of 30 coalitions"),
        (lambda z: np.where(np.arange(len(z)) < 2, np.inf, GAME(z)), GameValueError, "2 of 30 coalitions"),
    ],
)
def test_bad_answers(action, error, message):
    """Each is named, and the values before it are kept; of a batch with some bad values the good ones too."""
    with pytest.raises(error, match=message) as caught:
        run(failing_after(1, action))
    finite = 30 - len(caught.value.failed) if error is GameValueError else 0
    assert_kept(caught.value, 1, more=finite)


def test_bad_values_name_their_coalitions():
    """The coalitions with NaN, and no others, are on the exception."""
    with pytest.raises(GameValueError) as caught:
        run(lambda z: np.where(z[:, 0] & z[:, 1], np.nan, GAME(z)))
    assert caught.value.failed[:, :2].all()


def test_batches_change_nothing():
    """Any batch size gives the same bits."""
    plain = polyshap.estimate(GAME, N, 100, "polyshap-2", random_state=0).values
    for batch_size in (1, 7, 98, 1000):
        batched = polyshap.estimate(GAME, N, 100, "polyshap-2", random_state=0, batch_size=batch_size)
        assert np.array_equal(batched.values, plain)


def test_integer_and_boolean_values_are_numbers():
    """Votes and counts are fine."""
    values = polyshap.estimate(lambda z: z.sum(axis=1) > 2, 5, 32, "exact").values
    np.testing.assert_allclose(values, 0.2)


def test_exact_names_the_memory_it_needs():
    """2^60 coalitions do not fit anywhere."""
    with pytest.raises(MemoryNeededError, match=r"2\^60 evaluations.*GiB"):
        polyshap.estimate(GAME, 60, 1 << 60, "exact")


def test_bad_arguments():
    with pytest.raises(ArgumentTypeError, match="`game` must be a callable"):
        polyshap.estimate(3, 4, 16)
    with pytest.raises(ArgumentTypeError, match="`draw` and `fit`"):
        polyshap.estimate(GAME, N, 16, estimator=3)
    with pytest.raises(ArgumentTypeError, match=r"Got the class PolySHAP"):
        polyshap.estimate(GAME, N, 16, estimator=polyshap.estimators.PolySHAP)
    for batch_size in (0, 1.5):
        with pytest.raises(ArgumentError, match="`batch_size`"):
            polyshap.estimate(GAME, N, 16, batch_size=batch_size)
    for seed in ("a", -1, 0.5):
        with pytest.raises(ArgumentTypeError, match="`random_state` must be"):
            polyshap.estimate(GAME, N, 16, random_state=seed)
    with pytest.raises(ArgumentTypeError, match="`size_weights` must be numbers"):
        polyshap.draw(polyshap.Design(["a", "b"]), 3, 6, np.random.default_rng(0))
    with pytest.raises(ArgumentError, match="Did you mean 'leverageshap'"):
        polyshap.estimate(GAME, N, 16, "leverage-shap")
    sample = polyshap.draw(polyshap.Design(), N, 100, np.random.default_rng(0))
    observed = polyshap.Observations(sample, GAME(sample.coalitions), np.array(0.0), np.array(1.0))
    with pytest.raises(ArgumentError, match="each of the 254 proper coalitions once"):
        polyshap.estimators.Exact().fit(observed)
    with pytest.raises(ArgumentError, match="one row for each of the 98"):
        polyshap.Observations(sample, np.zeros(3), np.array(0.0), np.array(1.0))


UNPAID = {
    "a term out of range": polyshap.estimators.PolySHAP(polyshap.frontiers.Explicit([(0, 9)])),
    "an order below 1": polyshap.estimators.KAddSHAP(0),
    "a sparse order below 1": polyshap.estimators.MobiusLasso(0),
    "an odd order below 1": polyshap.estimators.OddRegression(0),
    "odd, not paired": polyshap.estimators.OddRegression(1, polyshap.Design(paired=False)),
    "no engine": polyshap.estimators.RegressionMSR(engines=()),
    "no engine for odd terms": polyshap.estimators.OddSHAP(engines=()),
    "no engine for sparse terms": polyshap.estimators.ProxySPEX(engines=()),
}


@pytest.mark.parametrize("name", UNPAID)
def test_what_cannot_be_fitted_is_refused_before_a_call_is_paid(name):
    """An estimator that must fail does so before the game is asked."""

    def game(coalitions):
        raise AssertionError("asked")

    with pytest.raises(PolyshapError):
        polyshap.estimate(game, 6, 30, UNPAID[name])


def test_the_finite_values_of_a_bad_batch_are_kept():
    """One NaN in a batch of 50 loses one value, not 50, with one output or two."""
    for n_outputs in (None, 2):
        inner = table_game(6, seed=1, n_outputs=n_outputs)

        def holed(coalitions, inner=inner):
            values = inner(coalitions)
            values[coalitions.sum(axis=1) == 5] = np.nan
            return values

        with pytest.raises(GameValueError, match="finite values are kept") as caught:
            polyshap.estimate(holed, 6, 64, "exact", batch_size=64)
        error = caught.value
        assert len(error.failed) == 6
        assert len(error.coalitions) == len(error.values) == 58
        np.testing.assert_array_equal(error.values, inner(error.coalitions))


def test_complex_values_are_refused():
    """An imaginary part is not dropped."""
    with pytest.raises(GameShapeError, match="complex"):
        polyshap.estimate(lambda z: z.sum(axis=1) * 1j, 4, 16)


def test_auto_enumerates_where_the_budget_reaches():
    """2^n calls or more are spent on exact values."""
    result = polyshap.estimate(GAME, N, 300)
    assert result.diagnostics.estimator == "Exact()"
    assert set(result.diagnostics.seconds) == {"draw", "evaluate", "fit"}
    assert polyshap.estimate(GAME, N, 100).diagnostics.estimator != "Exact()"
