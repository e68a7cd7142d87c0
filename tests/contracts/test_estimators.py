"""What every estimator promises, over the registry and a table of games. A new estimator is one row."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
import pytest

import polyshap
from polyshap.errors import ArgumentTypeError, BudgetError, RankWarning
from small_games import GAMES, SmallGame, table_game


@dataclass(frozen=True)
class Traits:
    """What an estimator promises; tolerances are relative to the largest value of the game."""

    exact_at_full_budget: float | None = 1e-9
    efficient: float | None = 1e-12
    needs_full_budget: bool = False
    linear: bool = True


ROWS = {
    "exact": Traits(needs_full_budget=True),
    "kernelshap": Traits(),
    "leverageshap": Traits(),
    "polyshap-1": Traits(),
    "polyshap-2": Traits(),
    "polyshap-3": Traits(),
    "polyshap-4": Traits(),
    "polyshap-7": Traits(),
    "polyshap-2-50%": Traits(),
    "polyshap-3-50%": Traits(),
    "polyshap-3-log": Traits(),
    "kaddshap-1": Traits(),
    "kaddshap-2": Traits(),
    "kaddshap-3": Traits(),
    "odd-1": Traits(),
    "odd-3": Traits(),
    "adaptive": Traits(linear=False),
    "permutation": Traits(),
    "svarm": Traits(efficient=None),
    "msr": Traits(),
    "unbiased-kernelshap": Traits(),
    "regression-msr": Traits(),
    "oddshap": Traits(),
    "proxyspex": Traits(efficient=None),
    "mobius-lasso": Traits(efficient=None),
}
by_name = pytest.mark.parametrize("name", ROWS)
by_game = pytest.mark.parametrize("game", GAMES, ids=lambda game: game.name)


def scale(result: polyshap.Estimate) -> float:
    return max(float(np.abs(result.values).max()), float(np.abs(result.total).max()), 1e-300)


def full(name: str, game: SmallGame, seed: int = 0) -> polyshap.Estimate:
    return polyshap.estimate(game.value, game.n_players, 1 << game.n_players, name, random_state=seed)


def partial(name: str, game, n_players: int, budget: int, seed: int = 0) -> polyshap.Estimate:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankWarning)  # small budgets on purpose
        return polyshap.estimate(game, n_players, budget, name, random_state=seed)


def test_every_registered_estimator_has_a_row():
    """No estimator escapes the contracts."""
    plain = {name for name in polyshap.estimators.names() if not name.startswith(("polyshap-K", "k", "odd"))}
    assert plain <= set(ROWS)
    families = {"polyshap-K", "polyshap-K-50%", "kaddshap-K", "odd-K"}
    assert {name for name in polyshap.estimators.names() if "K" in name} == families


@by_name
@by_game
def test_exact_at_full_budget(name, game):
    """With every coalition evaluated the values are the Shapley values."""
    traits = ROWS[name]
    if traits.exact_at_full_budget is None:
        pytest.skip(f"{name} does not promise it")
    exact = full("exact", game)
    result = full(name, game)
    assert result.values.shape == exact.values.shape
    assert np.abs(result.values - exact.values).max() <= traits.exact_at_full_budget * scale(exact)
    assert result.n_evaluations == 1 << game.n_players


@by_name
@by_game
@pytest.mark.parametrize("share", [0.4, 1.0])
def test_efficiency(name, game, share):
    """The values sum to v(D) - v(empty)."""
    traits = ROWS[name]
    if traits.efficient is None or (traits.needs_full_budget and share < 1):
        pytest.skip(f"{name} does not promise it")
    budget = max(4, int(share * (1 << game.n_players)))
    result = partial(name, game.value, game.n_players, budget)
    gap = np.abs(result.values.sum(axis=0) - (result.total - result.baseline)).max()
    assert gap <= traits.efficient * scale(result)


@by_name
def test_dummies_and_twins_at_full_budget(name):
    """A dummy gets nothing and interchangeable players get the same."""
    traits = ROWS[name]
    if traits.exact_at_full_budget is None:
        pytest.skip(f"{name} does not promise it")
    for game in GAMES:
        values = full(name, game).values
        tolerance = traits.exact_at_full_budget * max(np.abs(values).max(), 1.0)
        assert np.abs(values[list(game.dummies)]).max(initial=0.0) <= tolerance
        for one, other in game.twins:
            assert np.abs(values[one] - values[other]).max() <= tolerance


@by_name
def test_same_seed_same_bits_and_another_seed_another_sample(name):
    """A result depends on the seed alone."""
    traits = ROWS[name]
    budget = 256 if traits.needs_full_budget else 60
    game = table_game(8, seed=9)
    first, again = (partial(name, game, 8, budget, seed=3) for _ in range(2))
    assert np.array_equal(first.values, again.values)
    if not traits.needs_full_budget and name != "adaptive":  # its coalitions are chosen, not drawn
        assert not np.array_equal(first.values, partial(name, game, 8, budget, seed=4).values)


@by_name
@pytest.mark.parametrize("budget", [18, 19, 60, 61, 255, 256, 400])
def test_budget_is_never_exceeded(name, budget):
    """Evaluations counted by the game itself, both ends included, stay within the budget."""
    if ROWS[name].needs_full_budget and budget < 256:
        with pytest.raises(BudgetError, match="256"):
            partial(name, table_game(8, seed=1), 8, budget)
        return
    inner, seen = table_game(8, seed=1), []

    def counting(coalitions):
        seen.append(coalitions.copy())
        return inner(coalitions)

    result = partial(name, counting, 8, budget)
    assert sum(map(len, seen)) == result.n_evaluations <= budget
    assert result.n_evaluations >= min(budget, 256) - 1  # pairs may leave one call over


@by_name
def test_the_games_arrays_are_left_alone(name):
    """A game may hand out its own array, or write into the coalitions: nothing breaks."""
    traits = ROWS[name]
    budget = 64 if traits.needs_full_budget else 40
    inner, handed = table_game(6, seed=2), []

    def greedy(coalitions):
        values = inner(coalitions)
        handed.append((values, values.copy()))
        coalitions[:] = True
        return values

    result = partial(name, greedy, 6, budget)
    assert all(np.array_equal(kept, copy) for kept, copy in handed)
    assert np.array_equal(result.values, partial(name, inner, 6, budget).values)
    with pytest.raises(ValueError, match="read-only"):
        result.values[0] = 0.0


@by_name
def test_outputs_are_estimated_as_if_alone(name):
    """One call on two outputs gives each output's own values (linear estimators)."""
    traits = ROWS[name]
    if not traits.linear:
        pytest.skip(f"{name} learns from all outputs together")
    budget = 128 if traits.needs_full_budget else 50
    joint = table_game(7, seed=5, n_outputs=2)
    both = partial(name, joint, 7, budget)
    assert both.values.shape == (7, 2)
    for output in range(2):
        alone = partial(name, lambda z, k=output: joint(z)[:, k], 7, budget)
        np.testing.assert_allclose(both.values[:, output], alone.values, rtol=0, atol=1e-10)


@by_name
def test_scaling_and_shifting_the_game(name):
    """Values follow the game's unit, whatever its size."""
    traits = ROWS[name]
    budget = 64 if traits.needs_full_budget else 40
    game = table_game(6, seed=8)
    plain = partial(name, game, 6, budget).values
    for factor in (1e-150, 1e150):
        scaled = partial(name, lambda z, f=factor: f * (game(z) + 3.0), 6, budget).values
        np.testing.assert_allclose(scaled / factor, plain, rtol=1e-6, atol=1e-6 * np.abs(plain).max())


@by_name
def test_a_budget_that_is_no_integer_is_refused(name):
    with pytest.raises(ArgumentTypeError, match="integer"):
        polyshap.estimate(table_game(4, seed=0), 4, 16.0, name)


@pytest.mark.parametrize(
    ("name", "budget"),
    [
        ("leverageshap", 4_200),
        ("kernelshap", 4_200),
        ("odd-1", 4_200),
        ("kaddshap-1", 2_400),
        ("permutation", 8_500),
        ("svarm", 4_200),
        ("msr", 4_200),
        ("unbiased-kernelshap", 4_200),
    ],
)
def test_two_thousand_players(name, budget):
    """No overflow, no warning, and values that share out what there is."""
    n_players = 2_000
    weights = np.random.default_rng(0).normal(size=n_players) / 30

    def game(z):
        return np.column_stack([np.tanh(z @ weights), z @ weights])

    result = polyshap.estimate(game, n_players, budget, name, random_state=0)
    assert np.isfinite(result.values).all()
    if ROWS[name].efficient is not None:
        gap = np.abs(result.values.sum(axis=0) - (result.total - result.baseline)).max()
        assert gap <= ROWS[name].efficient * scale(result)
    if result.standard_errors is not None:
        assert np.isfinite(result.standard_errors).all()
