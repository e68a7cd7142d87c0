"""Metrics as the protocol defines them, against scipy and loops."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from polyshap.benchmark.metrics import (
    mean_squared_error,
    normalised_error,
    precision_at,
    spearman,
    summarise,
)

vectors = st.integers(3, 12).flatmap(
    lambda n: st.tuples(*[arrays(float, n, elements=st.integers(-5, 5).map(float)) for _ in range(2)])
)


@given(vectors)
def test_spearman_is_scipys(pair):
    """Ties take their mean rank; a constant vector has no rank correlation."""
    first, second = pair
    if len(set(first)) == 1 or len(set(second)) == 1:
        assert math.isnan(spearman(first, second))
    else:
        assert spearman(first, second) == pytest.approx(stats.spearmanr(first, second).statistic, abs=1e-12)


@given(vectors)
def test_precision_counts_the_largest_magnitudes(pair):
    """The share of the five players of largest magnitude that are found, by sorting in Python."""
    tops = [set(sorted(range(len(v)), key=lambda i, v=v: (-abs(v[i]), i))[:5]) for v in pair]
    assert precision_at(*pair) == len(tops[0] & tops[1]) / min(5, len(pair[0]))


def test_errors():
    """The sum of squares over the players, and that over the mean square of the exact values."""
    values, exact = np.array([1.0, 2.0, 4.0]), np.array([1.0, 0.0, 2.0])
    assert mean_squared_error(values, exact) == pytest.approx(8 / 3)
    assert normalised_error(values, exact) == pytest.approx(8 / 5)
    assert math.isnan(normalised_error(values, np.zeros(3)))


def test_summary_is_that_of_numpy():
    """Mean, standard error with n - 1, linear quartiles; NaN does not count."""
    numbers = np.random.default_rng(0).normal(size=30)
    summary = summarise([*numbers, math.nan])
    assert summary.n == 30
    assert summary.mean == pytest.approx(numbers.mean())
    assert summary.sem == pytest.approx(stats.sem(numbers))
    assert [summary.q1, summary.median, summary.q3] == pytest.approx(np.percentile(numbers, [25, 50, 75]))
    assert summarise([]).n == 0
