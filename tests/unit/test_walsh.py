"""Normal equations from one transform, against the plain product."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import polyshap
from polyshap import walsh
from polyshap.bases import monomial_basis, odd_basis
from polyshap.estimators import PolySHAP
from polyshap.frontiers import Explicit, KAdditive
from small_games import table_game


@given(st.integers(2, 12), st.integers(1, 5), st.integers(0, 2**31))
def test_the_table_holds_all_products(n_players, order, seed):
    """G = X' diag(w) X for any rows, with both of a pair or not, and any number of bits."""
    rng = np.random.default_rng(seed)
    basis = odd_basis(KAdditive(order).build(n_players))
    coalitions = rng.random((50, n_players)) < rng.random()
    weights = rng.exponential(size=50)
    design = np.empty((basis.n_columns, 50))
    basis.write(coalitions, design)
    found = walsh.odd_gram(coalitions, weights, basis.odd)
    np.testing.assert_allclose(np.tril(found), np.tril(design * weights @ design.T), atol=1e-11)


@pytest.mark.parametrize("frontier", [KAdditive(3), Explicit([(0, 1, 2), (3, 4, 5), (1, 4, 7, 8, 9)])])
def test_estimates_do_not_depend_on_the_way(frontier, monkeypatch):
    """The same values, rank and residual as with the plain product."""
    game, estimator = table_game(12, seed=1, n_outputs=2), PolySHAP(frontier)
    taken = []
    pays = walsh.pays
    monkeypatch.setattr(walsh, "pays", lambda *sizes: taken.append(pays(*sizes)) or True)
    one = polyshap.estimate(game, 12, 1500, estimator, random_state=0)
    monkeypatch.setattr(walsh, "pays", lambda *sizes: False)
    other = polyshap.estimate(game, 12, 1500, estimator, random_state=0)
    np.testing.assert_allclose(one.values, other.values, rtol=0, atol=1e-12)
    assert one.diagnostics.rank == other.diagnostics.rank
    assert one.diagnostics.residual == pytest.approx(other.diagnostics.residual, rel=1e-12)
    assert taken == ([True] if frontier == KAdditive(3) else [])


def test_where_it_pays():
    """Up to about 20 players; never with a table larger than the design, nor for a few columns."""
    assert walsh.pays(20, 2_500, 1_160)
    assert walsh.pays(10, 200, 130)
    assert not walsh.pays(24, 2_500, 2_048)
    assert not walsh.pays(101, 10_000, 101)
    assert not walsh.pays(16, 5_000, 16)
    assert monomial_basis(KAdditive(2).build(4)).odd is None
