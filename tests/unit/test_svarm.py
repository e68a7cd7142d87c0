"""SVARM: strata, warm-up, borders."""

from __future__ import annotations

import numpy as np
import pytest

import polyshap
import reference_baselines as reference
from polyshap.estimators import SVARM
from polyshap.execution import observe
from polyshap.sampling import Design, draw
from small_games import table_game


@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_the_definition(paired, seed):
    """With all strata met: the difference of the means, stratum by stratum."""
    estimator = SVARM(Design(paired=paired))
    observations = observe(table_game(7, seed), estimator.draw(7, 90, np.random.default_rng(seed)))
    result = estimator.fit(observations)
    assert result.diagnostics.details["strata_never_met"] == 0
    np.testing.assert_allclose(result.values, reference.svarm_by_definition(observations), atol=1e-13)


@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize(("n", "budget"), [(6, 30), (12, 150), (30, 400), (101, 1200)])
def test_the_warm_up_meets_every_stratum(n, budget, paired):
    """Borders are whole, all players have coalitions of every size with and without them, none twice."""
    sample = SVARM(Design(paired=paired)).draw(n, budget, np.random.default_rng(5))
    assert budget - 3 <= len(sample) <= budget - 2
    assert len({row.tobytes() for row in sample.coalitions}) == len(sample)
    sizes = sample.sizes
    assert np.count_nonzero(sizes == 1) == np.count_nonzero(sizes == n - 1) == n
    if paired:
        half = len(sample) // 2
        assert np.array_equal(sample.coalitions[:half], ~sample.coalitions[half:])
    for size in range(1, n):
        at_size = sample.coalitions[sizes == size]
        if len(at_size) >= -(-n // min(size, n - size)):
            assert at_size.any(axis=0).all()
            assert not at_size.all(axis=0).any()


def test_the_weights_are_those_of_the_design():
    """log mu over the inclusion probability: 1 at the borders, the share drawn elsewhere."""
    sample = SVARM().draw(9, 120, np.random.default_rng(0))
    for size in range(1, 9):
        drawn = sample.sizes == size
        share = np.exp(sample.log_weights[drawn])
        assert np.ptp(share) <= 1e-12 * share.max()
    whole = draw(Design(), 9, 512, np.random.default_rng(0))
    border = whole.log_weights[whole.sizes == 1][0]
    assert sample.log_weights[sample.sizes == 1] == pytest.approx(border)


def test_strata_that_were_never_met():
    """A budget far below the warm-up still gives finite values, and says how many strata are missing."""
    result = polyshap.estimate(lambda z: z @ np.arange(50.0), 50, 60, "svarm", random_state=0)
    assert np.isfinite(result.values).all()
    assert result.diagnostics.details["strata_never_met"] > 0


def test_fast_with_many_players():
    """101 players and 10,000 coalitions: at most half a second of computing (0.05 s measured)."""
    import time

    rng = np.random.default_rng(0)
    values = rng.normal(size=10_000)
    start = time.process_time()
    sample = SVARM().draw(101, 10_000, rng)
    result = SVARM().fit(observe(lambda z: values[: len(z)], sample))
    assert time.process_time() - start < 0.5
    assert result.values.shape == (101,)


@pytest.mark.parametrize("paired", [True, False])
def test_designs_of_the_borders_alone_and_of_huge_sizes(paired):
    """The warm-up keeps to the design where that has nothing inside, and where its shares exceed a float."""
    borders = SVARM(Design([1, 0, 0, 0, 0, 0, 1], paired))
    sample = borders.draw(8, 60, np.random.default_rng(0))
    assert set(sample.sizes.tolist()) == {1, 7}
    uniform = SVARM(Design("uniform", paired)).draw(1_500, 3_100, np.random.default_rng(0))
    assert len(uniform) == 3_098
    assert np.isfinite(uniform.log_weights).all()
