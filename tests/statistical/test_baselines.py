"""Many seeds: unbiasedness, coverage of the standard errors, and errors that fall with the budget."""

from __future__ import annotations

import numpy as np
import pytest

import polyshap
from polyshap.estimators import MSR, SVARM, Permutation
from polyshap.sampling import Design
from small_games import table_game

pytestmark = pytest.mark.statistical

N = 8
GAME = table_game(N, seed=1)
EXACT = polyshap.estimate(GAME, N, 1 << N, "exact").values
UNBIASED = {
    "permutation": Permutation(),
    "permutation, plain": Permutation(antithetic=False),
    "msr": MSR(),
    "msr, not paired": MSR(Design(paired=False)),
    "svarm": SVARM(),
    "svarm, paired": SVARM(Design()),
}


def runs(estimator, budget, count):
    results = [polyshap.estimate(GAME, N, budget, estimator, random_state=seed) for seed in range(count)]
    values = np.array([result.values for result in results])
    errors = [result.standard_errors for result in results]
    return values, None if errors[0] is None else np.array(errors)


@pytest.mark.parametrize("name", UNBIASED)
@pytest.mark.parametrize("budget", [61, 120, 200])
def test_unbiased_and_covered(name, budget):
    """The mean lies within 4 standard errors of the truth; the stated errors are those over seeds."""
    count = 400
    values, errors = runs(UNBIASED[name], budget, count)
    spread = values.std(axis=0, ddof=1)
    assert np.abs(values.mean(axis=0) - EXACT).max() <= 4 * (spread / np.sqrt(count)).max()
    assert errors is not None
    # variances are estimated without much bias: 10 % for 400 runs of 8 players, 20 % with few replicates
    ratio = np.sqrt(np.mean(errors**2) / np.mean(spread**2))
    assert 0.8 <= ratio <= 1.2
    covered = np.mean(np.abs(values - EXACT) <= 1.96 * errors)
    assert 0.84 <= covered <= 0.99  # few replicates or coalitions a stratum cover less than 95 %


@pytest.mark.parametrize("name", ["permutation", "msr", "svarm", "regression-msr", "oddshap"])
def test_errors_fall_with_the_budget(name):
    """10, 40 and 150 calls a player on twelve players."""
    n = 12
    rng = np.random.default_rng(0)
    weights, pairs = rng.normal(size=n), rng.normal(size=(n, n)) / n

    def game(z):
        x = z.astype(float)
        return np.tanh(x @ weights) + np.einsum("mi,ij,mj->m", x, pairs, x)

    exact = polyshap.estimate(game, n, 1 << n, "exact").values
    errors = [
        np.mean(
            [
                np.square(polyshap.estimate(game, n, calls * n, name, random_state=s).values - exact)
                for s in range(10)
            ]
        )
        for calls in (10, 40, 150)
    ]
    assert errors[0] > errors[1] > errors[2]
