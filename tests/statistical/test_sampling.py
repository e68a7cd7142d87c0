"""Inclusion frequencies against the probabilities in the weights."""

from math import comb

import numpy as np
import pytest

from polyshap.sampling import Design, draw

pytestmark = pytest.mark.statistical


@pytest.mark.parametrize("weights", ["leverage", "kernel", "root-kernel", "uniform"])
@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize("budget", [12, 30])
def test_inclusion_frequencies(weights, paired, budget):
    """Every coalition occurs as often as its weight says, within 4.5 standard errors of a binomial."""
    n_players, repeats = 6, 4000
    powers = 1 << np.arange(n_players)
    counts, probability = np.zeros(1 << n_players), np.zeros(1 << n_players)
    for seed in range(repeats):
        sample = draw(Design(weights, paired=paired), n_players, budget, np.random.default_rng(seed))
        codes = sample.coalitions @ powers
        counts[codes] += 1
        mu = np.array([1 / comb(n_players - 2, size - 1) for size in sample.sizes])
        probability[codes] = mu / np.exp(sample.log_weights)
    seen = probability > 0
    assert counts[~seen].sum() == 0
    error = np.sqrt(probability * (1 - probability) / repeats)[seen]
    gap = np.abs(counts / repeats - probability)[seen]
    assert np.all(gap <= 4.5 * error + 1e-12)


@pytest.mark.parametrize("paired", [True, False])
def test_rows_of_a_size_are_uniform(paired):
    """With replacement as well, all coalitions of a size are equally likely."""
    n_players, repeats = 6, 3000
    powers = 1 << np.arange(n_players)
    counts = np.zeros(1 << n_players)
    for seed in range(repeats):
        design = Design("leverage", paired=paired, replacement=True)
        np.add.at(counts, draw(design, n_players, 10, np.random.default_rng(seed)).coalitions @ powers, 1)
    sizes = np.array([bin(code).count("1") for code in range(1 << n_players)])
    for size in range(1, n_players):
        here = counts[sizes == size]
        assert np.all(np.abs(here - here.mean()) <= 4.5 * np.sqrt(here.mean()))
