"""Every index against its definition in `reference`, on random games."""

import numpy as np
import pytest

import polyshap
import reference
from polyshap.errors import ArgumentError, ArgumentTypeError, NotAvailableError, RankWarning
from polyshap.results import INDICES
from small_games import additive_game, table_game

N = 5


def definitions(value, order):
    """index -> {term: value} for all terms up to the order, by definition."""
    terms = [term for term in reference.subsets(range(N)) if 1 <= len(term) <= order]
    coefficients = reference.moebius(value, N)
    return {
        "moebius": {term: coefficients[term] for term in terms},
        "banzhaf": {term: reference.banzhaf_interaction(value, N, term) for term in terms},
        "shapley-taylor": {term: reference.shapley_taylor(value, N, term, order) for term in terms},
        "k-sii": reference.k_sii(value, N, order),
        "faith-shapley": reference.faith_shapley(value, N, order),
    }


@pytest.mark.parametrize("index", INDICES)
@pytest.mark.parametrize("order", [1, 2, 3, 5])
def test_exact_interactions_match_their_definitions(index, order):
    """Conversion from Möbius coefficients equals the definition over discrete derivatives."""
    game = table_game(N, seed=11)
    expected = definitions(reference.as_set_game(game, N), order)[index]
    found = polyshap.estimate(game, N, 1 << N, "exact").interactions(order, index, min_order=1)
    assert {frozenset(term) for term in found} == set(expected)
    for term, value in found.items():
        assert float(value) == pytest.approx(expected[frozenset(term)], abs=1e-10)


@pytest.mark.parametrize("index", INDICES)
@pytest.mark.parametrize("name", ["polyshap-3", "polyshap-4"])
def test_polynomial_fits_give_the_same_interactions(index, name):
    """A 3-additive game is recovered from a part of its coalitions, paired or not, with all its indices."""
    n_players = 7
    game = additive_game(n_players, order=3, seed=3)
    exact = polyshap.estimate(game, n_players, 1 << n_players, "exact")
    frontier = polyshap.frontiers.KAdditive(int(name[-1]))
    for paired in (True, False):
        estimator = polyshap.estimators.PolySHAP(frontier, polyshap.Design(paired=paired))
        budget = 126 if name == "polyshap-4" else 110
        fitted = polyshap.estimate(game, n_players, budget, estimator, random_state=0)
        for order in (1, 2, 3):
            found = fitted.interactions(order, index)
            expected = exact.interactions(order, index)
            for term, value in found.items():
                assert float(value) == pytest.approx(float(expected[term]), abs=1e-8)
            missing = set(expected) - set(found)
            assert all(abs(float(expected[term])) < 1e-8 for term in missing)


@pytest.mark.parametrize("index", INDICES)
@pytest.mark.parametrize("name", ["permutation", "msr", "svarm", "regression-msr", "oddshap", "mobius-lasso"])
def test_with_every_coalition_any_estimator_has_interactions(name, index):
    """What enumerates knows the whole game."""
    game = table_game(N, seed=12, n_outputs=2)
    exact = polyshap.estimate(game, N, 1 << N, "exact").interactions(2, index)
    found = polyshap.estimate(game, N, 1 << N, name).interactions(2, index)
    assert all(np.array_equal(found[term], exact[term]) for term in exact)


@pytest.mark.parametrize("index", INDICES)
@pytest.mark.parametrize("n_outputs", [None, 2])
def test_kaddshap_gives_the_interactions_of_its_game(index, n_outputs):
    """Its Shapley interaction indices determine the game: a 2-additive one comes back, converted."""
    n_players, rng = 7, np.random.default_rng(4)
    pairs = rng.normal(size=(n_players, n_players, n_outputs or 1))

    def game(z):
        values = np.einsum("mi,ijk,mj->mk", z, pairs, z)
        return values[:, 0] if n_outputs is None else values

    exact = polyshap.estimate(game, n_players, 1 << n_players, "exact")
    fitted = polyshap.estimate(game, n_players, 100, "kaddshap-2", random_state=0)
    for order in (1, 2):
        found, expected = fitted.interactions(order, index), exact.interactions(order, index)
        assert set(found) == set(expected)
        for term, value in expected.items():
            np.testing.assert_allclose(found[term], value, atol=1e-9)


@pytest.mark.parametrize("index", INDICES)
def test_proxyspex_gives_the_interactions_of_its_polynomial(index):
    """The refitted Fourier terms are a game of their own, whose interactions are those by enumeration."""
    n_players = 8
    one, other = (additive_game(n_players, order=3, seed=seed) for seed in (3, 4))
    estimator = polyshap.estimators.ProxySPEX(tune=False)
    fitted = polyshap.estimate(
        lambda z: np.column_stack([one(z), other(z)]), n_players, 200, estimator, random_state=0
    )

    def polynomial(z):
        signs = np.where(z, 1.0, -1.0)
        outputs = fitted.source.coefficients
        return np.column_stack(
            [sum(c * signs[:, list(term)].prod(axis=1) for term, c in output.items()) for output in outputs]
        )

    own = polyshap.estimate(polynomial, n_players, 1 << n_players, "exact")
    np.testing.assert_allclose(fitted.values, own.values, atol=1e-12)
    found = fitted.interactions(2, index, min_order=1)
    for term, value in own.interactions(2, index, min_order=1).items():
        np.testing.assert_allclose(found.get(term, np.zeros(2)), value, atol=1e-10)


def test_an_even_part_that_is_not_determined_is_warned_about():
    """45 pairs of players cannot be told apart by 29 rows: the values stand, the interactions do not."""
    fitted = polyshap.estimate(table_game(10, seed=2), 10, 60, "polyshap-2", random_state=0)
    assert fitted.diagnostics.warnings == ()
    with pytest.warns(RankWarning, match="45 unknowns but only 29 independent") as caught:
        fitted.interactions(2)
    assert len(caught) == 1
    assert caught[0].filename == __file__


def test_first_order_shapley_indices_are_the_shapley_values():
    """Faith-Shapley, Shapley-Taylor and k-SII of order 1 are phi."""
    estimate = polyshap.estimate(table_game(N, seed=1), N, 1 << N, "exact")
    for index in ("faith-shapley", "shapley-taylor", "k-sii"):
        values = [float(estimate.interactions(1, index)[(player,)]) for player in range(N)]
        np.testing.assert_allclose(values, estimate.values, atol=1e-12)


def test_faith_shapley_of_the_fits_own_order_is_its_coefficients():
    """The coefficients themselves: k-PolySHAP estimates Faith-Shapley of order k."""
    n_players = 6
    game = table_game(n_players, seed=7)
    everything = polyshap.estimate(game, n_players, 64, "polyshap-2").interactions(2, min_order=1)
    expected = reference.faith_shapley(reference.as_set_game(game, n_players), n_players, 2)
    for term, value in everything.items():
        assert float(value) == pytest.approx(expected[frozenset(term)], abs=1e-9)


def test_interactions_of_several_outputs():
    found = polyshap.estimate(table_game(4, seed=1, n_outputs=3), 4, 16, "exact").interactions(2)
    assert found[(0, 1)].shape == (3,)


def test_bad_requests():
    estimate = polyshap.estimate(table_game(4, seed=1), 4, 16, "exact")
    with pytest.raises(ArgumentError, match="`index` must be one of"):
        estimate.interactions(2, "banana")
    with pytest.raises(ArgumentError, match=r"1\.\.n_players=4"):
        estimate.interactions(5)
    with pytest.raises(ArgumentError, match="min_order=3"):
        estimate.interactions(2, min_order=3)
    with pytest.raises(ArgumentTypeError, match=r"order=2\.0"):
        estimate.interactions(2.0)
    with pytest.raises(NotAvailableError, match="fits no interactions"):
        polyshap.estimate(table_game(4, seed=1), 4, 16, "odd-1").interactions(2)


@pytest.mark.parametrize("name", ["kernelshap", "leverageshap", "polyshap-1"])
@pytest.mark.parametrize("budget", [8, 20])
@pytest.mark.filterwarnings("ignore:.*independent equations")
def test_fits_of_singletons_have_no_interactions(name, budget):
    """A paired fit of order 1, determined or not, says which estimators have some."""
    found = polyshap.estimate(additive_game(6, 2, seed=0), 6, budget, name, random_state=0)
    with pytest.raises(NotAvailableError, match="adaptive"):
        found.interactions(order=2)


@pytest.mark.parametrize("name", ["mobius-lasso", "msr", "permutation", "svarm", "unbiased-kernelshap"])
def test_all_coalitions_give_all_interactions(name):
    """Estimators that enumerate a full sample keep what it says about interactions."""
    game = table_game(4, seed=1)
    found = polyshap.estimate(game, 4, 16, name, random_state=0).interactions(3)
    wanted = polyshap.estimate(game, 4, 16, "exact").interactions(3)
    assert found.keys() == wanted.keys()
    assert all(np.allclose(found[term], wanted[term]) for term in wanted)
