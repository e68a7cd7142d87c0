"""Which interactions a polynomial may use."""

import time
from itertools import combinations
from math import comb

import numpy as np
import pytest

from polyshap import _memory
from polyshap.errors import ArgumentError, ArgumentTypeError, MemoryNeededError
from polyshap.frontiers import Explicit, KAdditive, Logarithmic, Partial


def test_k_additive_lists_every_term_up_to_k():
    """All subsets of size 1..k, smaller ones first."""
    expected = [term for size in (1, 2, 3) for term in combinations(range(6), size)]
    assert list(KAdditive(3).build(6).terms) == expected
    assert len(KAdditive(9).build(4)) == 15  # there is nothing above the grand coalition


def test_masks_and_blocks_agree_with_terms():
    """Three views of the same terms."""
    frontier = Partial(3, fraction=0.3).build(7)
    assert [tuple(np.flatnonzero(mask)) for mask in frontier.masks] == list(frontier.terms)
    flat = [tuple(row) for block in frontier.by_order.values() for row in block.tolist()]
    assert flat == list(frontier.terms)


@pytest.mark.parametrize("order", [2, 3, 4])
def test_partial_holds_the_wanted_share(order):
    """Everything below the order and a seeded part of it."""
    frontier = Partial(order, fraction=0.5).build(8)
    below = sum(comb(8, size) for size in range(1, order))
    assert len(frontier) == below + comb(8, order) // 2
    assert frontier.terms == Partial(order, fraction=0.5).build(8).terms
    assert frontier.terms != Partial(order, fraction=0.5, seed=1).build(8).terms
    assert frontier.is_downward_closed


def test_partial_by_ranking_takes_the_first_players():
    """As in the paper's code: combinations in order, renamed by the permutation."""
    ranking = [3, 1, 0, 2]
    frontier = Partial(2, terms=4, ranking=ranking).build(4)
    renamed = [tuple(sorted((ranking[i], ranking[j]))) for i, j in list(combinations(range(4), 2))[:4]]
    assert set(frontier.terms[4:]) == set(renamed)


@pytest.mark.parametrize(("n_players", "size"), [(8, 68), (14, 187), (16, 237), (30, 714)])
def test_log_variant_has_the_papers_counts(n_players, size):
    """n log binom(n, 3) terms of order 3: the counts of the published experiments."""
    assert len(Logarithmic(3).build(n_players)) == size


def test_few_random_terms_of_a_huge_order_are_not_listed_first():
    """Drawing 10 of 75 million terms is immediate."""
    frontier = Partial(2, terms=10).build(60)
    assert len(frontier) == 70
    huge = Explicit([]).build(100)
    assert len(huge) == 100
    start = time.process_time()
    from polyshap.frontiers import _random_terms

    terms = _random_terms(100, 5, 10, np.random.default_rng(0))
    assert len(set(terms)) == 10
    assert all(len(set(term)) == 5 for term in terms)
    assert time.process_time() - start < 1.0


def test_explicit_sorts_and_adds_singletons():
    frontier = Explicit([(2, 0), (1, 2, 3)]).build(4)
    assert frontier.terms == ((0,), (1,), (2,), (3,), (0, 2), (1, 2, 3))
    assert not frontier.is_downward_closed
    assert Explicit([(0, 1), (0, 2), (1, 2), (0, 1, 2)]).build(3).is_downward_closed


def test_repr_says_what_is_inside():
    assert repr(Explicit([(0, 1)]).build(3)) == "Frontier(n_players=3, 3 + 1 terms of order 1, 2)"


def test_a_large_frontier_is_quick():
    """101 players, order 3: 171,801 terms with their index blocks within a second."""
    start = time.process_time()
    frontier = KAdditive(3).build(101)
    assert sum(map(len, frontier.by_order.values())) == len(frontier) == 171_801
    assert time.process_time() - start < 1.0


@pytest.mark.parametrize(
    ("spec", "error", "message"),
    [
        (KAdditive(0), ArgumentError, "at least 1"),
        (KAdditive(1.5), ArgumentTypeError, "integer"),
        (Partial(2), ArgumentError, "either `fraction` or `terms`"),
        (Partial(2, fraction=0.5, terms=3), ArgumentError, "not both"),
        (Partial(2, fraction=1.5), ArgumentError, r"\[0, 1\]"),
        (Partial(2, terms=-1), ArgumentError, "not be negative"),
        (Partial(2, terms=1.0), ArgumentTypeError, "whole number"),
        (Partial(2, terms=1, ranking=[0, 0, 1, 2]), ArgumentError, "permutation"),
        (Explicit([(0, 4)]), ArgumentError, r"0\.\.3"),
        (Explicit([(0, 0)]), ArgumentError, "distinct players"),
        (Explicit([(0, 1), (1, 0)]), ArgumentError, "more than once"),
        (Partial(2, fraction="half"), ArgumentTypeError, "`fraction` must be a number"),
        (Partial(2, terms=1, ranking=[0.5, 1, 2, 3]), ArgumentError, "permutation"),
    ],
)
def test_bad_frontiers(spec, error, message):
    with pytest.raises(error, match=message):
        spec.build(4)


@pytest.mark.parametrize("terms", [[()], [(0.0, 1)], [(True, 2)], [0, 1], ["ab"], 7])
def test_bad_terms(terms):
    """What cannot be a term in any game is refused when it is stated."""
    with pytest.raises(ArgumentTypeError, match="must be a"):
        Explicit(terms)


def test_terms_from_an_iterator_are_kept():
    """A specification is a value: it builds the same frontier every time, and equals its like."""
    spec = Explicit(iter([{0, 1}, np.array([1, 2])]))
    assert spec.build(3).terms == spec.build(3).terms == ((0,), (1,), (2,), (0, 1), (1, 2))
    assert spec == Explicit([(0, 1), (1, 2)])


@pytest.mark.parametrize("spec", [KAdditive(3), Partial(3, fraction=0.1), Partial(4, terms=5)])
def test_terms_beyond_memory_are_refused_before_they_are_listed(spec, monkeypatch):
    """1.3 billion triples of 2,000 players: the error says how much they need, and what to do."""
    monkeypatch.setattr(_memory, "available_memory", lambda: 1 << 30)
    with pytest.raises(MemoryNeededError, match=r"of 2000 players need about .* GiB.*smaller"):
        spec.build(2000)
