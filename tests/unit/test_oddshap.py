"""OddSHAP, ProxySPEX and the Möbius lasso."""

from __future__ import annotations

import numpy as np
import pytest

import polyshap
from polyshap.estimators import MobiusLasso, OddSHAP, PolySHAP, ProxySPEX
from polyshap.execution import observe
from polyshap.frontiers import Explicit, KAdditive
from small_games import additive_game


def planted(z):
    """Twelve players, two triples."""
    return (
        z[:, :6] @ np.arange(1.0, 7.0) + 8.0 * z[:, [1, 4, 7]].all(axis=1) - 6.0 * z[:, [2, 8, 9]].all(axis=1)
    )


def test_small_budgets_use_the_players_alone():
    """Below ten calls a player it is LeverageSHAP, on all players or on the few that the trees found."""
    odd = OddSHAP()
    observations = observe(planted, odd.draw(12, 38, np.random.default_rng(0)))
    expected = PolySHAP(KAdditive(1)).fit(observations).values
    np.testing.assert_allclose(odd.fit(observations).values, expected, atol=1e-12)

    def sparse(z):
        return 5.0 * z[:, 3] - 4.0 * z[:, 17] + 0.5 * z[:, 3] * z[:, 17]

    values = polyshap.estimate(sparse, 40, 130, odd, random_state=0).values
    np.testing.assert_allclose(values[[3, 17]], [5.25, -3.75], atol=0.2)
    assert np.count_nonzero(values) <= 13


@pytest.mark.parametrize(("engine", "package"), [("lightgbm", "lightgbm"), ("scikit-learn", "sklearn")])
def test_the_trees_find_the_triples(engine, package):
    """The planted interactions are among the terms, and the values are close to exact."""
    pytest.importorskip(package)
    estimator = OddSHAP(engines=(engine,))
    observations = observe(planted, estimator.draw(12, 600, np.random.default_rng(1)))
    (frontier,) = estimator._supports(observations, 0, engine)
    assert {(1, 4, 7), (2, 8, 9)} <= set(frontier.terms)
    assert all(len(term) % 2 for term in frontier.terms)
    exact = polyshap.estimate(planted, 12, 4096, "exact").values
    result = estimator.fit(observations)
    np.testing.assert_allclose(result.values, exact, atol=0.02)
    known = PolySHAP(Explicit([(1, 4, 7), (2, 8, 9)])).fit(observations).values
    assert np.abs(result.values - exact).max() < np.abs(known - exact).max() + 0.02
    assert result.diagnostics.n_terms == 60


@pytest.mark.parametrize("tune", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_proxyspex_recovers_a_sparse_polynomial(tune):
    """A game of few Fourier terms, without cross-validation and with it."""
    pytest.importorskip("lightgbm")
    exact = polyshap.estimate(planted, 12, 4096, "exact").values
    estimator = ProxySPEX(energy=0.9999, tune=tune)
    values = polyshap.estimate(planted, 12, 500, estimator, random_state=0).values
    np.testing.assert_allclose(values, exact, atol=0.2)


def test_mobius_lasso_is_biased_below_the_order_of_the_game():
    """It converges when all orders are in, and only then."""
    pytest.importorskip("sklearn")
    game = additive_game(9, order=3, seed=6)
    exact = polyshap.estimate(game, 9, 512, "exact").values

    def error(order):
        values = polyshap.estimate(game, 9, 400, MobiusLasso(order), random_state=0).values
        return float(np.mean((values - exact) ** 2) / np.mean(exact**2))

    assert error(3) < 1e-3
    assert error(2) > 100 * error(3)


def test_the_lasso_gives_interactions():
    """Its polynomial is its source of interactions."""
    pytest.importorskip("sklearn")
    result = polyshap.estimate(additive_game(8, 2, 1), 8, 150, MobiusLasso(2), random_state=0)
    assert len(result.interactions(order=2)) == 28
