"""Sizes of coalitions in classes: how many of each are taken, and which.

A class is one size or, when paired, a size with its complement. What `sampling.draw` asks for is allotted to
the classes here, and drawn uniformly inside each.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polyshap._types import BoolMatrix, FloatArray, IntArray
from polyshap.coalitions import enumerate_size, first_occurrences, log_binomial, random_coalitions, sizes_of

__all__ = ["SizeClasses", "allot", "draw_classes", "enumerate_class"]

# A share counts as exhausting its class up to rounding: shares come from a handful of divisions.
_ROUNDING = 1e-9
# Above this share of a class, listing and shuffling it is cheaper than drawing until all are distinct.
_DENSE = 0.25


@dataclass(frozen=True, eq=False)
class SizeClasses:
    """Sizes 1..n-1, or their pairs {s, n - s}: the unit drawn is a coalition, or a pair of them."""

    sizes: IntArray  # the (smaller) size of each class
    log_share: FloatArray
    log_capacity: FloatArray  # log of the number of units
    middle: NDArray[np.bool_]  # the class {n/2, n/2}, whose units are unordered pairs

    @classmethod
    def of(cls, log_size_weights: FloatArray, n_players: int, paired: bool) -> SizeClasses:
        sizes = np.arange(1, n_players // 2 + 1 if paired else n_players)
        middle = paired & (2 * sizes == n_players)
        log_share = log_size_weights[sizes - 1]
        if paired:
            both = np.logaddexp(log_share, log_size_weights[n_players - sizes - 1])
            log_share = np.where(middle, log_share, both)
        log_capacity = log_binomial(n_players, sizes) - np.where(middle, np.log(2.0), 0.0)
        return cls(sizes, log_share, log_capacity, middle)


def allot(
    classes: SizeClasses, units: int, rng: np.random.Generator
) -> tuple[NDArray[np.bool_], IntArray, FloatArray]:
    """Which classes to enumerate, and how many units of the others to draw: certain and expected."""
    enumerated = np.zeros(len(classes.sizes), dtype=bool)
    share = np.zeros(len(classes.sizes))
    left = units
    while True:
        active = ~enumerated & np.isfinite(classes.log_share)
        share[:] = 0.0
        if left <= 0 or not active.any():
            break
        log_share = classes.log_share[active] - classes.log_share[active].max()
        share[active] = left * np.exp(log_share) / np.exp(log_share).sum()
        with np.errstate(divide="ignore"):
            full = active & (np.log(share) >= classes.log_capacity - _ROUNDING)
        if not full.any():
            break
        enumerated |= full
        left = units - int(np.rint(np.exp(classes.log_capacity[enumerated])).sum())
    allotted, expected = _largest_remainder(share, left, rng)
    return enumerated, allotted, expected


def _largest_remainder(
    share: FloatArray, total: int, rng: np.random.Generator
) -> tuple[IntArray, FloatArray]:
    """Round `share` to integers that sum to `total`; equal remainders at the cut are drawn by lot.

    The second answer is the expectation over that lot: what makes the inclusion probabilities right.
    """
    counts = np.floor(share + _ROUNDING).astype(np.intp)
    expected = counts.astype(float)
    missing = max(total, 0) - int(counts.sum())
    if missing <= 0 or not share.any():
        return counts, expected
    remainder = np.where(share > 0, share - counts, -np.inf)
    cut = np.sort(remainder)[::-1][missing - 1]
    above = remainder > cut + _ROUNDING
    tied = np.flatnonzero(np.abs(remainder - cut) <= _ROUNDING)
    places = missing - int(above.sum())
    counts[above] += 1
    expected[above] += 1
    counts[rng.choice(tied, size=places, replace=False)] += 1
    expected[tied] += places / len(tied)
    return counts, expected


def enumerate_class(classes: SizeClasses, index: int, n_players: int) -> BoolMatrix:
    """All units of a class."""
    coalitions = enumerate_size(n_players, int(classes.sizes[index]))
    # of a middle-sized pair take the coalition with player 0, listed first
    return coalitions[: len(coalitions) // 2] if classes.middle[index] else coalitions


def draw_classes(
    classes: SizeClasses, allotted: IntArray, n_players: int, replacement: bool, rng: np.random.Generator
) -> BoolMatrix:
    """Uniform units of each class, distinct unless `replacement`."""
    if replacement:
        return _canonical(random_coalitions(np.repeat(classes.sizes, allotted), n_players, rng), classes)
    with np.errstate(divide="ignore"):
        dense = np.log(allotted) > classes.log_capacity + np.log(_DENSE)
    rows = []
    for index in np.flatnonzero(dense).tolist():
        units = enumerate_class(classes, index, n_players)
        rows.append(units[rng.choice(len(units), size=allotted[index], replace=False)])
    rows.append(_draw_distinct(classes, np.where(dense, 0, allotted), n_players, rng))
    return np.concatenate(rows)


def _draw_distinct(
    classes: SizeClasses, allotted: IntArray, n_players: int, rng: np.random.Generator
) -> BoolMatrix:
    """Draw, drop repeats, draw what is missing; a quarter of a class at most, so few rounds."""
    seen = np.empty((0, n_players), dtype=bool)
    missing = allotted
    while missing.any():
        fresh = _canonical(random_coalitions(np.repeat(classes.sizes, missing), n_players, rng), classes)
        seen = np.concatenate([seen, fresh])
        seen = seen[first_occurrences(seen)]
        sizes = sizes_of(seen)
        missing = allotted - np.bincount(sizes, minlength=n_players + 1)[classes.sizes]
    return seen


def _canonical(coalitions: BoolMatrix, classes: SizeClasses) -> BoolMatrix:
    """Of a middle-sized pair keep the coalition with player 0."""
    if classes.middle.any():
        size = classes.sizes[classes.middle][0]
        flip = (sizes_of(coalitions) == size) & ~coalitions[:, 0]
        coalitions[flip] = ~coalitions[flip]
    return coalitions
