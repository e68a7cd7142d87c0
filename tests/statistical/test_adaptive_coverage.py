"""Error bars and consistency of the adaptive estimator over seeds."""

from __future__ import annotations

import numpy as np
import pytest
from tests.reference_gaussian import shapley_of_table

from polyshap.coalitions import enumerate_all, signs
from polyshap.estimators.adaptive import Adaptive
from polyshap.execution.staged import observe_staged
from polyshap.gaussian.kernel import Parameters, even_kernel, odd_kernel
from polyshap.results import Estimate

pytestmark = pytest.mark.statistical


WEIGHTS = 1 << np.arange(8)


def drawn_game(seed: int) -> np.ndarray:
    """All values of a game of 8 players drawn from the prior: its odd part and its even one."""
    rng = np.random.default_rng(seed)
    p = Parameters(1.0, np.array([0.3]), 1e-3, rng.lognormal(-1.5, 0.8, 8), np.ones(1))
    half = signs(enumerate_all(8)[:128])
    nugget = (p.nugget + 1e-10) * np.eye(128)
    odd = np.linalg.cholesky(odd_kernel(half, half, p) + nugget) @ rng.normal(size=128)
    even = np.linalg.cholesky(even_kernel(half, half, p) + nugget) @ rng.normal(size=128)
    return np.concatenate([odd + even, (even - odd)[::-1]])


def fitted(table: np.ndarray, budget: int, seed: int, design: str = "chosen") -> Estimate:
    estimator = Adaptive(design=design)  # type: ignore[arg-type]
    rng = np.random.default_rng(seed)
    return estimator.fit(observe_staged(estimator, lambda z: table[z @ WEIGHTS], 8, budget, rng))


@pytest.mark.parametrize("design", ["chosen", "leverage", "sequential"])
@pytest.mark.parametrize("budget", [24, 80])
def test_intervals_cover_on_games_of_the_prior(design: str, budget: int) -> None:
    """Nominal 95 % intervals cover 90 to 100 % of 480 values of 60 games, correlated within a game."""
    coalitions, inside = enumerate_all(8), []
    for seed in range(60):
        table = drawn_game(seed)
        estimate = fitted(table, budget, seed, design)
        exact = shapley_of_table(table, coalitions)
        inside.append(np.abs(estimate.values - exact) <= 1.96 * estimate.standard_errors)
    assert 0.90 <= np.mean(inside) <= 1.0


def test_error_falls_with_the_budget() -> None:
    coalitions, errors = enumerate_all(8), []
    for budget in (12, 24, 60, 150):
        squares = []
        for seed in range(12):
            table = drawn_game(seed)
            squares.append((fitted(table, budget, seed).values - shapley_of_table(table, coalitions)) ** 2)
        errors.append(float(np.mean(squares)))
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < errors[0] / 20
