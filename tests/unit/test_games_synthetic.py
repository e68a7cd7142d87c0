"""Synthetic games: closed forms against enumeration, and against the axioms where enumeration ends."""

from itertools import permutations

import numpy as np
import pytest

from polyshap.errors import ArgumentError
from polyshap.games import (
    AirportGame,
    LinearPairwiseGame,
    ProductGame,
    UnanimityGame,
    WeightedVotingGame,
    random_k_additive,
)
from tables import KINDS, synthetic_games


def by_orders(game):
    """Mean marginal contribution over all orders of the players: the definition, n! of them."""
    n_players = game.n_players
    values = np.zeros(n_players)
    orders = list(permutations(range(n_players)))
    for order in orders:
        coalitions = np.zeros((n_players + 1, n_players), dtype=bool)
        for step, player in enumerate(order, start=1):
            coalitions[step:, player] = True
        values[list(order)] += np.diff(game(coalitions))
    return values / len(orders)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_players", [1, 2, 5, 6])
def test_closed_form_is_the_mean_over_all_orders(kind, n_players):
    """The closed form of each kind of game is the Shapley value by its definition."""
    game = synthetic_games(n_players, seed=n_players)[kind]
    assert game.shapley_values() == pytest.approx(by_orders(game), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_values_of_many_players_sum_to_the_grand_coalition(kind):
    """With 200 players the values sum to v(D) - v(empty)."""
    game = synthetic_games(200, seed=3)[kind]
    ends = game(np.array([[False] * 200, [True] * 200]))
    scale = max(1.0, np.abs(ends).max())
    assert abs(game.shapley_values().sum() - (ends[1] - ends[0])) < 1e-11 * scale


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_thousand_players(kind):
    """Closed forms hold up to 1,000 players."""
    game = synthetic_games(1000, seed=1)[kind]
    ends = game(np.array([[False] * 1000, [True] * 1000]))
    assert game.shapley_values().sum() == pytest.approx(ends[1] - ends[0], rel=1e-9, abs=1e-9)


def test_equal_votes_share_equally_in_large_parliaments():
    """By symmetry, 300 players of equal weight have 1/300 each, whatever the quota."""
    values = WeightedVotingGame([3] * 300, quota=700).shapley_values()
    assert values == pytest.approx(np.full(300, 1 / 300), rel=1e-10)


def test_games_neither_keep_nor_change_their_input():
    """A game's answer depends on the coalitions alone, which stay as they are."""
    for game in synthetic_games(6, seed=0).values():
        coalitions = np.random.default_rng(0).random((20, 6)) < 0.5
        before = coalitions.copy()
        first = game(coalitions)
        assert np.array_equal(coalitions, before)
        assert np.array_equal(first[::-1], game(coalitions[::-1]))


def test_random_k_additive_has_the_order_and_terms_asked_for():
    """All possible terms can be had, none twice, none above the order."""
    game = random_k_additive(5, order=2, n_terms=15, random_state=0)
    assert sorted(map(len, game.terms)) == [1] * 5 + [2] * 10
    assert len(set(game.terms)) == 15


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: UnanimityGame(3, [(0, 3)], [1.0]), "`terms` must hold players in 0..2"),
        (lambda: UnanimityGame(3, [(0, 1)], [1.0, 2.0]), r"`coefficients` must have shape \(1,\)"),
        (lambda: AirportGame([1.0, -1.0]), "`costs` must not be negative"),
        (lambda: AirportGame([1.0, np.nan]), "`costs` must be finite"),
        (lambda: LinearPairwiseGame([1.0, 2.0], np.eye(2)), "`pairwise` must be a symmetric matrix"),
        (lambda: ProductGame([1.0], [1.0, 2.0]), r"`absent` must have shape \(1,\)"),
        (lambda: WeightedVotingGame([1.5], 1), "`weights` must be positive whole numbers"),
        (lambda: WeightedVotingGame([1, 1], 3), r"`quota` must lie in 1..2"),
        (lambda: random_k_additive(3, 4, 1, random_state=0), "`order` must lie in 1..n_players = 3"),
        (lambda: random_k_additive(3, 1, 4, random_state=0), "`n_terms` must lie in 1..3"),
    ],
)
def test_bad_arguments_are_named(build, message):
    """An argument that breaks a rule is named with the rule."""
    with pytest.raises(ArgumentError, match=message):
        build()
