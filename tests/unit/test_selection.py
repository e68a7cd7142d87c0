"""The greedy choice of pairs against the plain formula, and the promises of the chosen design."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyshap.coalitions import enumerate_all, signs
from polyshap.gaussian.posterior import posterior
from polyshap.gaussian.selection import (
    canonical,
    chosen_half,
    extend_half,
    greedy,
    n_pairs_in_all,
    prior_parameters,
)


@given(n_players=st.integers(2, 9), share=st.floats(0, 1), seed=st.integers(0, 99))
@settings(max_examples=30, deadline=None)
def test_chosen_pairs_are_distinct_and_as_many_as_asked(n_players: int, share: float, seed: int) -> None:
    n_pairs = round(share * n_pairs_in_all(n_players))
    half = chosen_half(n_players, n_pairs, np.random.default_rng(seed))
    assert half.shape == (n_pairs, n_players)
    assert len(np.unique(canonical(half), axis=0)) == n_pairs
    assert not half.all(axis=1).any()
    assert half.any(axis=1).all()


def test_singles_come_first() -> None:
    half = chosen_half(12, 30, np.random.default_rng(0))
    assert (half[:12].sum(axis=1) == 1).all()
    assert (half[:12].sum(axis=0) == 1).all()


def test_relabelling_is_all_the_seed_does() -> None:
    """Two seeds differ by a permutation of the players: the sizes stay in the same order."""
    first, second = (chosen_half(10, 40, np.random.default_rng(seed)) for seed in (0, 1))
    assert not np.array_equal(first, second)
    np.testing.assert_array_equal(first.sum(axis=1), second.sum(axis=1))


@pytest.mark.parametrize("equal", [True, False])
def test_greedy_lowers_the_variance_most(equal: bool) -> None:
    """Each pick is the candidate whose observation leaves the smallest summed variance, tried one by one."""
    n_players = 5
    everything = enumerate_all(n_players)[1:16]
    p = prior_parameters(n_players)
    if not equal:
        p = replace(p, relevances=np.array([0.1, 0.9, 0.4, 0.7, 0.2]))
    seen = everything[[0, 4]]
    pool = np.delete(everything, [0, 4], axis=0)
    picks = greedy(pool, seen, 3, p)

    def left(half: np.ndarray) -> float:
        rows = np.concatenate([signs(half), np.ones((1, n_players))])
        return float(posterior(rows, p).variance.sum())

    for pick in picks:
        sums = np.array([left(np.concatenate([seen, candidate[None]])) for candidate in pool])
        taken = np.array([(canonical(seen) == row).all(axis=1).any() for row in canonical(pool)])
        sums[taken] = np.inf
        assert sums[pick] == pytest.approx(sums.min(), rel=1e-9)
        seen = np.concatenate([seen, pool[pick : pick + 1]])


def test_terms_singled_out_enter_the_choice() -> None:
    p = replace(prior_parameters(5), terms=((0, 1, 2),), term_variances=np.array([3.0]))
    pool = enumerate_all(5)[1:16]
    picks = greedy(pool, np.empty((0, 5), dtype=bool), 4, p)
    assert len(set(picks.tolist())) == 4


def test_extension_keeps_what_was_seen_and_repeats_nothing() -> None:
    rng = np.random.default_rng(0)
    seen = chosen_half(9, 40, rng)
    more = extend_half(seen, 60, prior_parameters(9), rng)
    np.testing.assert_array_equal(more[:40], seen)
    assert len(np.unique(canonical(more), axis=0)) == 100


def test_a_large_design_ends_by_leverage(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the limit of greedy picks the remainder is drawn, distinct, up to every pair there is."""
    monkeypatch.setattr("polyshap.gaussian.selection._MOST_PICKS", 20)
    rng = np.random.default_rng(0)
    half = extend_half(np.eye(8, dtype=bool), n_pairs_in_all(8) - 8, prior_parameters(8), rng)
    assert len(np.unique(canonical(half), axis=0)) == n_pairs_in_all(8) == len(half)


def test_chosen_pairs_beat_random_ones() -> None:
    """Under its own prior the design leaves less variance than 20 random designs of the same size."""
    n_players, rng = 10, np.random.default_rng(0)
    p = prior_parameters(n_players)

    def left(half: np.ndarray) -> float:
        rows = np.concatenate([signs(half), np.ones((1, n_players))])
        return float(posterior(rows, p).variance.sum())

    chosen = left(chosen_half(n_players, 40, rng))
    everything = enumerate_all(n_players)[1:512]
    assert chosen < min(left(everything[rng.permutation(511)[:40]]) for _ in range(20))
