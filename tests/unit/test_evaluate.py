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


def assert_kept(error, batches):
    assert error.coalitions.shape == (30 * batches, N)
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
    """Each is named, and the values before it are kept."""
    with pytest.raises(error, match=message) as caught:
        run(failing_after(1, action))
    assert_kept(caught.value, 1)


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
    with pytest.raises(ArgumentError, match="`batch_size`"):
        polyshap.estimate(GAME, N, 16, batch_size=0)
    with pytest.raises(ArgumentError, match="Did you mean 'leverageshap'"):
        polyshap.estimate(GAME, N, 16, "leverage-shap")
    sample = polyshap.draw(polyshap.Design(), N, 100, np.random.default_rng(0))
    observed = polyshap.Observations(sample, GAME(sample.coalitions), np.array(0.0), np.array(1.0))
    with pytest.raises(ArgumentError, match="each of the 254 proper coalitions once"):
        polyshap.estimators.Exact().fit(observed)
    with pytest.raises(ArgumentError, match="one row for each of the 98"):
        polyshap.Observations(sample, np.zeros(3), np.array(0.0), np.array(1.0))


def test_auto_enumerates_where_the_budget_reaches():
    """2^n calls or more are spent on exact values."""
    result = polyshap.estimate(GAME, N, 300)
    assert result.diagnostics.estimator == "Exact()"
    assert set(result.diagnostics.seconds) == {"draw", "evaluate", "fit"}
    assert polyshap.estimate(GAME, N, 100).diagnostics.estimator != "Exact()"
