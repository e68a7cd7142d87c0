"""Boolean-matrix helpers."""

from itertools import combinations
from math import comb, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyshap.coalitions import (
    enumerate_all,
    enumerate_size,
    first_occurrences,
    log_binomial,
    log_shapley_kernel,
    pack,
    random_coalitions,
    signs,
    unpack,
)


@pytest.mark.parametrize("n_players", [1, 2, 5, 9])
def test_enumerate_all_counts_in_binary(n_players):
    """Row number r holds player i exactly when bit i of r is set."""
    coalitions = enumerate_all(n_players)
    assert (coalitions @ (1 << np.arange(n_players))).tolist() == list(range(1 << n_players))


@pytest.mark.parametrize(("n_players", "size"), [(1, 1), (5, 0), (5, 2), (6, 3), (7, 5), (7, 7)])
def test_enumerate_size_is_lexicographic(n_players, size):
    """The order is that of itertools.combinations."""
    members = [tuple(np.flatnonzero(row)) for row in enumerate_size(n_players, size)]
    assert members == list(combinations(range(n_players), size))


@given(st.integers(1, 70), st.integers(0, 2**32))
def test_pack_and_unpack_are_inverse(n_players, seed):
    """Packing loses nothing."""
    coalitions = np.random.default_rng(seed).random((4, n_players)) < 0.5
    assert np.array_equal(unpack(pack(coalitions), n_players), coalitions)


def test_random_coalitions_have_the_wanted_sizes():
    """Every row has its own size."""
    sizes = np.array([1, 5, 9, 3, 3])
    drawn = random_coalitions(sizes, 10, np.random.default_rng(0))
    assert drawn.sum(axis=1).tolist() == sizes.tolist()


def test_first_occurrences():
    """Repeats are dropped, the order stays."""
    rows = np.array([[1, 0], [0, 1], [1, 0], [1, 1]], dtype=bool)
    assert first_occurrences(rows).tolist() == [0, 1, 3]


def test_signs():
    assert signs(np.array([[True, False]])).tolist() == [[1.0, -1.0]]


def test_log_binomial_and_kernel_match_integers():
    """The logarithms agree with exact integer arithmetic, also where floats would overflow."""
    for n, k in [(10, 3), (101, 50), (2000, 1000)]:
        assert float(log_binomial(n, np.array(k))) == pytest.approx(log(comb(n, k)), rel=1e-12)
    kernel = log_shapley_kernel(2000, np.array([1, 700]))
    assert kernel.tolist() == pytest.approx([0.0, -log(comb(1998, 699))], rel=1e-12, abs=1e-9)
