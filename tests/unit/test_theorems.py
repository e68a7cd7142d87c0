"""The theorems of the paper, as tests."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import polyshap
import reference
from polyshap.errors import ArgumentError, RankWarning
from polyshap.estimators import KAddSHAP, OddRegression, PolySHAP
from polyshap.execution import observe
from polyshap.frontiers import Explicit, KAdditive, Partial
from polyshap.sampling import Design, Sample, draw
from small_games import additive_game, table_game

PAIRED, SINGLE = Design(paired=True), Design(paired=False)


def values(game, n_players, budget, estimator, seed=0):
    return polyshap.estimate(game, n_players, budget, estimator, random_state=seed).values


@pytest.mark.parametrize("n_players", [2, 3, 4, 5, 6])
def test_exact_values_are_the_mean_over_all_orders(n_players):
    """Enumeration, permutations and Möbius coefficients are three routes to the same values."""
    game = table_game(n_players, seed=n_players)
    value = reference.as_set_game(game, n_players)
    exact = values(game, n_players, 1 << n_players, "exact")
    np.testing.assert_allclose(exact, reference.shapley_by_permutations(value, n_players), atol=1e-12)
    coefficients = reference.moebius(value, n_players)
    np.testing.assert_allclose(exact, reference.shapley_from_moebius(coefficients, n_players), atol=1e-12)


@pytest.mark.parametrize(
    "spec", [KAdditive(1), KAdditive(2), Partial(3, fraction=0.4), Explicit([(0, 2, 4)])]
)
@pytest.mark.parametrize("design", [PAIRED, SINGLE], ids=["paired", "single"])
def test_polyshap_solves_its_problem(spec, design):
    """Both routes agree with the KKT system of the problem, on the sample's own weights."""
    n_players, budget = 6, 60
    game = table_game(n_players, seed=4)
    sample = draw(design, n_players, budget, np.random.default_rng(5))
    coalitions = [frozenset(np.flatnonzero(row).tolist()) for row in sample.coalitions]
    inclusion = np.array([reference.comb(n_players - 2, len(c) - 1) for c in coalitions])
    terms = [frozenset(term) for term in spec.build(n_players).terms]
    solution = reference.constrained_polynomial(
        reference.as_set_game(game, n_players),
        n_players,
        terms,
        coalitions,
        np.exp(sample.log_weights) * inclusion,
    )
    expected = reference.shapley_from_moebius(solution, n_players)
    estimator = PolySHAP(spec, design)
    np.testing.assert_allclose(values(game, n_players, budget, estimator, seed=5), expected, atol=1e-9)


@pytest.mark.parametrize(("order", "budget"), [(1, 41), (1, 200), (3, 300), (5, 500)])
def test_paired_k_equals_paired_k_plus_one_for_odd_k(order, budget):
    """Theorem 4.1 of the paper for k = 1; for k = 3 and 5 it follows from the odd part."""
    n_players = 9
    game = table_game(n_players, seed=1)
    lower, higher = (
        values(game, n_players, budget, PolySHAP(KAdditive(k), PAIRED)) for k in (order, order + 1)
    )
    np.testing.assert_allclose(lower, higher, atol=1e-10)
    np.testing.assert_allclose(values(game, n_players, budget, OddRegression(order)), lower, atol=1e-10)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_the_paired_route_equals_the_general_one(order):
    """Odd columns on half of the rows give what all monomials on all rows give."""
    n_players, budget = 8, 240
    game = table_game(n_players, seed=2)
    estimator = PolySHAP(KAdditive(order), PAIRED)
    sample = draw(PAIRED, n_players, budget, np.random.default_rng(0))
    single = Sample(sample.coalitions.copy(), sample.log_weights.copy(), paired=False)
    observed = polyshap.Observations(sample, game(sample.coalitions), game(np.zeros((1, 8), bool))[0],
                                     game(np.ones((1, 8), bool))[0])  # fmt: skip
    general = polyshap.Observations(single, observed.values, observed.empty, observed.grand)
    np.testing.assert_allclose(estimator.fit(observed).values, estimator.fit(general).values, atol=1e-10)


def test_one_polyshap_is_kernelshap():
    """The same sample and the same problem."""
    game = table_game(7, seed=3)
    one = values(game, 7, 50, PolySHAP(KAdditive(1), Design("kernel")))
    assert np.array_equal(one, values(game, 7, 50, "kernelshap"))
    assert np.array_equal(values(game, 7, 50, "leverageshap"), values(game, 7, 50, "polyshap-1"))


@pytest.mark.parametrize("order", range(1, 7))
def test_kaddshap_converges_for_every_order(order):
    """With every coalition k_ADD-SHAP gives the Shapley values."""
    game = table_game(6, seed=6)
    exact = values(game, 6, 64, "exact")
    np.testing.assert_allclose(values(game, 6, 64, f"kaddshap-{order}"), exact, atol=1e-9)


@pytest.mark.parametrize("order", [1, 2])
def test_kaddshap_differs_from_polyshap_on_a_part(order):
    """The free value at the empty coalition tells the two apart on an unbalanced sample."""
    game = table_game(6, seed=6)
    ours = values(game, 6, 45, PolySHAP(KAdditive(order), SINGLE))
    theirs = values(game, 6, 45, KAddSHAP(order, SINGLE))
    assert np.abs(ours - theirs).max() > 1e-3


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("design", [PAIRED, SINGLE], ids=["paired", "single"])
def test_games_of_low_degree_are_recovered(order, design):
    """A k-additive game is found exactly from any sample of full rank."""
    n_players = 8
    game = additive_game(n_players, order, seed=order)
    exact = values(game, n_players, 256, "exact")
    for seed in range(3):
        result = polyshap.estimate(
            game, n_players, 200, PolySHAP(KAdditive(order), design), random_state=seed
        )
        assert result.diagnostics.rank == result.diagnostics.n_terms or design.paired
        np.testing.assert_allclose(result.values, exact, atol=1e-9)


@given(st.integers(2, 6), st.integers(0, 2**32), st.floats(-3, 3))
@settings(max_examples=30, deadline=None)
def test_values_are_linear_in_the_game(n_players, seed, factor):
    """phi(v + c w) = phi(v) + c phi(w) on the same sample."""
    one, two = table_game(n_players, seed), table_game(n_players, seed + 1)
    budget = max(4, (1 << n_players) - 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankWarning)
        for name in ("leverageshap", "polyshap-2", "kaddshap-2"):
            both = values(lambda z: one(z) + factor * two(z), n_players, budget, name)
            apart = values(one, n_players, budget, name) + factor * values(two, n_players, budget, name)
            np.testing.assert_allclose(both, apart, atol=1e-8 * (1 + abs(factor)))


def test_rank_deficiency_is_reported_and_the_minimum_norm_solution_returned():
    """Fewer pairs than odd terms: found, warned about with remedies, solved as the pseudo-inverse does."""
    n_players, budget = 8, 60
    game = table_game(n_players, seed=8)
    estimator = PolySHAP(KAdditive(3), PAIRED)
    with pytest.warns(RankWarning, match="Raise `budget`") as caught:
        result = polyshap.estimate(game, n_players, budget, estimator, random_state=1)
    assert len(caught) == 1
    assert result.diagnostics.rank < result.diagnostics.n_terms
    assert result.diagnostics.warnings
    sample = draw(PAIRED, n_players, budget, np.random.default_rng(1))
    frontier = KAdditive(3).build(n_players)
    design = np.array([[set(t) <= set(np.flatnonzero(z)) for t in frontier.terms] for z in sample.coalitions])
    roots = np.exp(sample.log_weights / 2)[:, None]
    empty, grand = (game(np.full((1, n_players), end))[0] for end in (False, True))
    p = len(frontier)
    projector = np.eye(p) - np.ones((p, p)) / p
    offset = np.full(p, (grand - empty) / p)
    right = game(sample.coalitions) - empty - design @ offset
    solution = np.linalg.pinv(roots * design @ projector) @ (roots[:, 0] * right) + offset
    expected = reference.shapley_from_moebius(
        {frozenset(t): c for t, c in zip(frontier.terms, solution, strict=True)}, n_players
    )
    np.testing.assert_allclose(result.values, expected, atol=1e-8)


def test_odd_regression_needs_pairs():
    """Without complements there is no odd part to observe."""
    with pytest.raises(ArgumentError, match="`design` must be paired"):
        values(table_game(6, seed=1), 6, 40, OddRegression(1, SINGLE))
    observations = observe(table_game(6, seed=1), draw(SINGLE, 6, 40, np.random.default_rng(0)))
    with pytest.raises(ArgumentError, match="`observations` must be paired"):
        OddRegression(1).fit(observations)
