"""Which coalitions are drawn, and what they weigh."""

from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyshap.errors import ArgumentError, ArgumentTypeError, BudgetError
from polyshap.sampling import Design, draw

DESIGNS = [
    Design(weights, paired=paired, replacement=replacement)
    for weights in ("leverage", "kernel", "root-kernel", "uniform")
    for paired in (True, False)
    for replacement in (True, False)
]


def mu(n_players, size):
    return 1 / comb(n_players - 2, size - 1)


@given(st.sampled_from(DESIGNS), st.integers(2, 12), st.integers(2, 5000), st.integers(0, 2**32))
@settings(max_examples=150, deadline=None)
def test_a_sample_keeps_its_promises(design, n_players, budget, seed):
    """Proper coalitions only, within the budget, distinct without replacement, complements in place."""
    sample = draw(design, n_players, budget, np.random.default_rng(seed))
    everything = (1 << n_players) - 2
    assert 0 <= min(budget, 1 << n_players) - 2 - len(sample) <= int(design.paired)
    assert np.all((sample.sizes > 0) & (sample.sizes < n_players))
    if not design.replacement or budget >= everything + 2:
        assert len(np.unique(sample.coalitions, axis=0)) == len(sample)
    if design.paired:
        half = len(sample) // 2
        assert np.array_equal(sample.coalitions[:half], ~sample.coalitions[half:])
        assert np.array_equal(sample.log_weights[:half], sample.log_weights[half:])
    assert np.all(np.isfinite(sample.log_weights))


@pytest.mark.parametrize("design", DESIGNS, ids=str)
def test_weights_of_a_size_add_up_to_its_share_of_the_kernel(design):
    """mu over the inclusion probability, summed over the drawn rows of a size, is mu times all rows."""
    n_players = 9
    sample = draw(design, n_players, 300, np.random.default_rng(1))
    for size in set(sample.sizes.tolist()):
        rows = sample.sizes == size
        whole = comb(n_players, size) * mu(n_players, size)
        if rows.sum() >= comb(n_players, size):  # enumerated: exactly mu
            np.testing.assert_allclose(np.exp(sample.log_weights[rows]), mu(n_players, size), rtol=1e-12)
        total = float(np.exp(sample.log_weights[rows]).sum())
        # a tie at the cut is settled by lot: one row more or less than expected
        assert total == pytest.approx(whole, rel=1.0 / rows.sum() + 1e-12)


def test_border_sizes_are_enumerated():
    """Sizes whose share would exhaust them are listed in full; the others get the rest of the budget."""
    sample = draw(Design(), 10, 200, np.random.default_rng(0))
    counts = np.bincount(sample.sizes, minlength=11)
    assert counts[1] == counts[9] == 10
    assert 2 * counts[5] <= counts[4] + counts[6] + 2  # the middle size has half of a pair's share
    assert counts.sum() == 198


def test_largest_remainder():
    """Shares 2.5, 1.5, 1.0 of own weights become whole numbers that differ by less than one."""
    weights = np.array([0.0, 5.0, 3.0, 2.0, 0.0, 0.0, 0.0])
    sample = draw(Design(weights, paired=False), 8, 2 + 5, np.random.default_rng(0))
    counts = np.bincount(sample.sizes, minlength=9)
    assert counts[2] in (2, 3)
    assert counts[3] in (1, 2)
    assert counts[4] == 1
    assert counts.sum() == 5


def test_middle_size_is_paired():
    """Of an even number of players the middle size pairs with itself."""
    only_middle = np.array([0.0, 0.0, 1.0, 0.0, 0.0])
    sample = draw(Design(only_middle), 6, 2 + 12, np.random.default_rng(0))
    assert len(sample) == 12
    assert set(sample.sizes.tolist()) == {3}
    assert len(np.unique(sample.coalitions, axis=0)) == 12


@pytest.mark.parametrize("paired", [True, False])
def test_two_thousand_players_without_overflow(paired):
    """Weights stay finite in log space; filterwarnings turns any numpy warning into a failure."""
    for weights in ("leverage", "kernel", "root-kernel", "uniform"):
        sample = draw(Design(weights, paired=paired), 2000, 5000, np.random.default_rng(0))
        assert len(sample) == 4998
        assert np.all(np.isfinite(sample.log_weights))


def test_one_player_has_no_proper_coalition():
    sample = draw(Design(), 1, 10, np.random.default_rng(0))
    assert sample.coalitions.shape == (0, 1)


def test_samples_are_read_only():
    sample = draw(Design(), 5, 12, np.random.default_rng(0))
    with pytest.raises(ValueError, match="read-only"):
        sample.coalitions[0, 0] = True


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0, 2.0], "one number for each size"),
        ([1.0, -1.0, 1.0], "not negative"),
        ([0.0, 0.0, 0.0], "not all zero"),
        ([1.0, np.nan, 1.0], "finite"),
        ("banana", "'leverage', 'kernel', 'root-kernel', 'uniform'"),
    ],
)
def test_bad_size_weights(weights, message):
    with pytest.raises(ArgumentError, match=message):
        draw(Design(weights), 4, 10, np.random.default_rng(0))


def test_bad_players_and_budgets():
    rng = np.random.default_rng(0)
    with pytest.raises(ArgumentError, match="at least 1"):
        draw(Design(), 0, 10, rng)
    with pytest.raises(ArgumentTypeError, match="`n_players` must be an integer"):
        draw(Design(), 3.0, 10, rng)
    with pytest.raises(BudgetError, match="Got 1"):
        draw(Design(), 3, 1, rng)
    with pytest.raises(ArgumentTypeError, match=r"Use int\(budget\)"):
        draw(Design(), 3, 10.5, rng)
    with pytest.raises(ArgumentTypeError, match="integer"):
        draw(Design(), 3, True, rng)


def test_the_shares_of_the_sizes():
    """Each name by its formula, up to a constant factor."""
    n = 9
    s = np.arange(1, n)
    formulas = {
        "leverage": np.ones(n - 1),
        "kernel": 1.0 / (s * (n - s)),
        "root-kernel": 1.0 / np.sqrt(s * (n - s)),
        "uniform": np.array([comb(n, size) for size in s], dtype=float),
    }
    for name, expected in formulas.items():
        share = np.exp(Design(name).log_size_weights(n))
        np.testing.assert_allclose(share / share[0], expected / expected[0], rtol=1e-12)
