"""Permutation sampling: chains, shared coalitions, swaps, budgets."""

from __future__ import annotations

import numpy as np
import pytest

import polyshap
import reference_baselines as reference
from polyshap.errors import ArgumentError, BudgetError
from polyshap.estimators import Permutation
from polyshap.execution import observe
from polyshap.sampling import Design, draw
from small_games import table_game


def observed(estimator, game, n, budget, seed=0):
    return observe(game, estimator.draw(n, budget, np.random.default_rng(seed)))


@pytest.mark.parametrize("antithetic", [True, False])
@pytest.mark.parametrize(("n", "budget"), [(6, 7), (6, 12), (6, 40), (6, 62), (20, 300), (70, 500)])
def test_rows_are_the_prefixes_of_the_orders(n, budget, antithetic):
    """Row p of an order holds its first p + 1 players; every coalition is there once."""
    sample = Permutation(antithetic).draw(n, budget, np.random.default_rng(1))
    for order, rows in zip(sample.orders, sample.rows, strict=True):
        for size, row in enumerate(rows, start=1):
            assert set(np.flatnonzero(sample.coalitions[row])) == set(order[:size])
    for chain, position, row in sample.swaps:
        order = sample.orders[chain]
        members = {*order[:position], order[position + 1]}
        assert set(np.flatnonzero(sample.coalitions[row])) == members
    assert len({row.tobytes() for row in sample.coalitions}) == len(sample)
    if sample.paired:
        half = len(sample) // 2
        assert np.array_equal(sample.coalitions[:half], ~sample.coalitions[half:])
    assert budget - 3 <= len(sample) <= budget - 2


def test_the_mean_of_marginal_contributions():
    """Without swaps: the textbook mean over orders, and over their reverses when antithetic."""
    game = table_game(7, seed=3)
    for antithetic in (False, True):
        observations = observed(Permutation(antithetic), game, 7, 62)
        sample = observations.sample
        assert not len(sample.swaps)
        orders = np.concatenate([sample.orders, sample.orders[:, ::-1]]) if antithetic else sample.orders
        slow = reference.permutation_mean(observations, orders)
        np.testing.assert_allclose(Permutation(antithetic).fit(observations).values, slow, atol=1e-13)


def test_a_swap_averages_an_order_with_its_neighbour():
    """One order and one swap: the mean of the two orders."""
    game = table_game(9, seed=4)
    observations = observed(Permutation(False), game, 9, 11)
    sample = observations.sample
    chain, position, _ = sample.swaps[0]
    other = sample.orders[chain].copy()
    other[[position, position + 1]] = other[[position + 1, position]]
    slow = reference.permutation_mean(observations, np.array([sample.orders[0], other]))
    np.testing.assert_allclose(Permutation(False).fit(observations).values, slow, atol=1e-13)


def test_small_games_get_more_orders_from_shared_coalitions():
    """A coalition is paid for once, so more than budget / n orders fit."""
    sample = Permutation().draw(8, 202, np.random.default_rng(0))
    assert 2 * len(sample.orders) > 200 / 7 * 2


def test_too_small_a_budget_is_refused():
    with pytest.raises(BudgetError, match=r"at least 11 \(one order of the players\)"):
        polyshap.estimate(table_game(10, 0), 10, 10, "permutation")


def test_a_sample_without_orders_is_refused():
    """Another design's sample knows no orders."""
    observations = observe(table_game(6, 0), draw(Design(), 6, 20, np.random.default_rng(0)))
    with pytest.raises(ArgumentError, match="knows the orders"):
        Permutation().fit(observations)


def test_one_order_has_no_standard_error():
    assert polyshap.estimate(table_game(6, 0), 6, 7, "permutation", random_state=0).standard_errors is None
