"""Maximum sample reuse and unbiased KernelSHAP."""

from __future__ import annotations

import numpy as np
import pytest

import polyshap
import reference_baselines as reference
from polyshap.estimators import MSR, UnbiasedKernelSHAP
from polyshap.execution import observe
from polyshap.sampling import Design, draw
from small_games import table_game

DESIGNS = [Design(), Design(paired=False), Design("kernel", paired=False), Design("uniform")]


@pytest.mark.parametrize("design", DESIGNS, ids=str)
def test_the_definition(design):
    """The vectorised sum is the sum with the Shapley weights, coalition by coalition."""
    observations = observe(table_game(7, seed=1), draw(design, 7, 50, np.random.default_rng(2)))
    slow = reference.msr_by_definition(observations)
    np.testing.assert_allclose(MSR(design).fit(observations).values, slow, atol=1e-13)


@pytest.mark.parametrize("design", DESIGNS, ids=str)
@pytest.mark.parametrize("n", [2, 3, 9, 80])
def test_unbiased_kernelshap_is_msr(design, n):
    """Two formulas, the same numbers."""
    game = lambda z: np.column_stack([np.sin(z @ np.arange(n)), z[:, 0] * z[:, 1] + 2.0])  # noqa: E731
    observations = observe(game, draw(design, n, min(3 * n, (1 << n) - 1), np.random.default_rng(3)))
    one, other = MSR(design).fit(observations), UnbiasedKernelSHAP(design).fit(observations)
    np.testing.assert_allclose(one.values, other.values, atol=1e-11)


def test_enumerated_sizes_have_no_error():
    """A game that differs only on sizes that were all evaluated is exact, and its standard error zero."""
    game = lambda z: z[:, 2] * (z.sum(axis=1) == 1) + 0.0  # noqa: E731
    result = polyshap.estimate(game, 10, 300, "msr", random_state=0)
    exact = polyshap.estimate(game, 10, 1024, "exact").values
    np.testing.assert_allclose(result.values, exact, atol=1e-14)
    np.testing.assert_array_equal(result.standard_errors, 0.0)


def test_one_pair_has_no_standard_error():
    assert polyshap.estimate(table_game(6, 0), 6, 4, "msr", random_state=0).standard_errors is None
