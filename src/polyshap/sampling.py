"""Which coalitions to observe: a `Design` says how, `draw` draws, a `Sample` is what came out.

Sizes are grouped into classes: one size each or, when paired, a size with its complement. A class
whose share of the budget would exhaust it is enumerated (the border trick); what is left of the
budget is allotted to the other classes by largest remainder and drawn uniformly inside each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from polyshap._types import BoolMatrix, FloatArray, IntArray
from polyshap.coalitions import (
    enumerate_all,
    enumerate_size,
    first_occurrences,
    log_binomial,
    log_shapley_kernel,
    random_coalitions,
    sizes_of,
)
from polyshap.errors import ArgumentError, ArgumentTypeError, BudgetError

__all__ = ["Design", "Sample", "check_budget", "check_players", "draw", "full_sample", "within_budget"]

SizeWeights = Literal["leverage", "kernel", "root-kernel", "uniform"] | Sequence[float] | FloatArray

# A share counts as exhausting its class up to rounding: shares come from a handful of divisions.
_ROUNDING = 1e-9
# Above this share of a class, listing and shuffling it is cheaper than drawing until all are distinct.
_DENSE = 0.25


@dataclass(frozen=True, eq=False)
class Sample:
    """Proper coalitions with the weights that make their regression right.

    Attributes
    ----------
    coalitions : ndarray of bool, shape (m, n_players)
        Neither the empty nor the grand coalition. When `paired`, rows i and i + m/2 are complements.
    log_weights : ndarray of float, shape (m,)
        log of the Shapley kernel mu divided by the inclusion probability.
    paired : bool
    """

    coalitions: BoolMatrix
    log_weights: FloatArray
    paired: bool

    def __post_init__(self) -> None:
        self.coalitions.flags.writeable = False
        self.log_weights.flags.writeable = False

    def __len__(self) -> int:
        return len(self.coalitions)

    @property
    def n_players(self) -> int:
        return int(self.coalitions.shape[1])

    @property
    def half(self) -> BoolMatrix:
        """One coalition of each pair (m/2, n_players)."""
        return self.coalitions[: len(self) // 2]

    @property
    def sizes(self) -> IntArray:
        return sizes_of(self.coalitions)


@dataclass(frozen=True)
class Design:
    """How to draw coalitions; it knows no game and holds no random generator.

    Parameters
    ----------
    size_weights : {"leverage", "kernel", "root-kernel", "uniform"} or sequence of n_players - 1 numbers
        The share of each size 1..n-1: equal ("leverage", order-1 leverage scores of the Shapley
        regression), proportional to mu ("kernel"), half-way between the two ("root-kernel", the square
        root of the kernel's shares), by the number of coalitions ("uniform"), or own.
    paired : bool
        Draw every coalition with its complement.
    replacement : bool
        Allow repeats.
    """

    size_weights: SizeWeights = "leverage"
    paired: bool = True
    replacement: bool = False

    def log_size_weights(self, n_players: int) -> FloatArray:
        """log of the share of sizes 1..n-1, up to a constant."""
        sizes = np.arange(1, n_players)
        if isinstance(self.size_weights, str):
            match self.size_weights:
                case "leverage":
                    return np.zeros(n_players - 1)
                case "kernel":
                    return log_binomial(n_players, sizes) + log_shapley_kernel(n_players, sizes)
                case "root-kernel":
                    return 0.5 * (log_binomial(n_players, sizes) + log_shapley_kernel(n_players, sizes))
                case "uniform":
                    return log_binomial(n_players, sizes)
            raise ArgumentError(
                "`size_weights` must be 'leverage', 'kernel', 'root-kernel', 'uniform' or one number per "
                f"size. Got {self.size_weights!r}."
            )
        return _log_own_weights(self.size_weights, n_players)


def _log_own_weights(size_weights: Sequence[float] | FloatArray, n_players: int) -> FloatArray:
    try:
        weights = np.asarray(size_weights, dtype=float)
    except (TypeError, ValueError) as error:
        raise ArgumentTypeError(f"`size_weights` must be numbers. Got {size_weights!r}.") from error
    if weights.shape != (n_players - 1,):
        raise ArgumentError(
            f"`size_weights` must hold one number for each size 1..n_players-1, so {n_players - 1}. "
            f"Got shape {weights.shape}."
        )
    if not np.all(np.isfinite(weights)) or np.any(weights < 0) or not np.any(weights > 0):
        raise ArgumentError(
            f"`size_weights` must be finite, not negative and not all zero. Got {weights.tolist()}."
        )
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(weights))


def check_players(n_players: int) -> int:
    """`n_players` as an int of at least 1."""
    if isinstance(n_players, bool) or not isinstance(n_players, int | np.integer):
        raise ArgumentTypeError(f"`n_players` must be an integer. Got {n_players!r}.")
    if n_players < 1:
        raise ArgumentError(f"`n_players` must be at least 1. Got {n_players}.")
    return int(n_players)


def check_budget(budget: int, minimum: int = 2, *, reason: str = "the empty and the grand coalition") -> int:
    """`budget` as an int of at least `minimum`."""
    if isinstance(budget, bool) or not isinstance(budget, int | np.integer):
        hint = " Use int(budget)." if isinstance(budget, float) else ""
        raise ArgumentTypeError(f"`budget` must be an integer number of model calls. Got {budget!r}.{hint}")
    if budget < minimum:
        raise BudgetError(
            f"`budget` must be at least {minimum} ({reason}). Got {budget}. Raise `budget` or group features."
        )
    return int(budget)


def within_budget(sample: Sample, budget: int) -> Sample:
    """The sample that an estimator drew, which may be one of the user's own."""
    if len(sample) + 2 > budget:
        raise BudgetError(
            f"`budget` must be at least {len(sample) + 2}, for the {len(sample)} coalitions that the "
            f"estimator drew and both ends. Got {budget}. Raise `budget`, or let `draw` keep to it."
        )
    return sample


def full_sample(n_players: int) -> Sample:
    """Every proper coalition once; rows i and i + m/2 are complements, the weights are exactly mu."""
    count = (1 << n_players) - 2
    coalitions = np.empty((count, n_players), dtype=bool)
    # the first half of the binary order lacks the last player, and its complement has it
    coalitions[: count // 2] = enumerate_all(n_players)[1 : 1 + count // 2]
    np.logical_not(coalitions[: count // 2], out=coalitions[count // 2 :])
    log_weights = log_shapley_kernel(n_players, sizes_of(coalitions[: count // 2]))
    return Sample(coalitions, np.tile(log_weights, 2), paired=True)  # both of a pair to the last bit


def draw(design: Design, n_players: int, budget: int, rng: np.random.Generator) -> Sample:
    """Draw a sample of at most `budget` - 2 proper coalitions.

    The empty and the grand coalition count towards the budget and are never in the sample. A budget of
    2^n or more gives every coalition once.

    Examples
    --------
    >>> sample = draw(Design(), n_players=10, budget=50, rng=np.random.default_rng(0))
    >>> sample.coalitions.shape
    (48, 10)
    >>> bool((sample.coalitions[:24] == ~sample.coalitions[24:]).all())
    True
    """
    n_players, budget = check_players(n_players), check_budget(budget)
    log_size_weights = design.log_size_weights(n_players)
    if n_players == 1:
        return Sample(np.empty((0, 1), dtype=bool), np.empty(0), design.paired)
    if n_players < 63 and budget >= 1 << n_players:
        return full_sample(n_players)
    classes = _Classes.of(log_size_weights, n_players, design.paired)
    units = (budget - 2) // 2 if design.paired else budget - 2
    enumerated, allotted, expected = _allot(classes, units, rng)

    rows = [_enumerate_class(classes, index, n_players) for index in np.flatnonzero(enumerated).tolist()]
    rows.append(_draw_classes(classes, allotted, n_players, design.replacement, rng))
    coalitions = np.concatenate(rows)
    # log of mu over the inclusion probability, by class; both sizes of a pair have the same mu
    with np.errstate(divide="ignore"):
        log_inclusion = np.where(enumerated, 0.0, np.log(expected) - classes.log_capacity)
    class_of_size = np.zeros(n_players, dtype=np.intp)
    class_of_size[classes.sizes] = np.arange(len(classes.sizes))
    sizes = sizes_of(coalitions)
    log_weights = log_shapley_kernel(n_players, sizes) - log_inclusion[class_of_size[sizes]]
    if design.paired:
        coalitions, log_weights = np.concatenate([coalitions, ~coalitions]), np.tile(log_weights, 2)
    return Sample(coalitions, log_weights, design.paired)


@dataclass(frozen=True, eq=False)
class _Classes:
    """Sizes 1..n-1, or their pairs {s, n - s}: the unit drawn is a coalition, or a pair of them."""

    sizes: IntArray  # the (smaller) size of each class
    log_share: FloatArray
    log_capacity: FloatArray  # log of the number of units
    middle: NDArray[np.bool_]  # the class {n/2, n/2}, whose units are unordered pairs

    @classmethod
    def of(cls, log_size_weights: FloatArray, n_players: int, paired: bool) -> _Classes:
        sizes = np.arange(1, n_players // 2 + 1 if paired else n_players)
        middle = paired & (2 * sizes == n_players)
        log_share = log_size_weights[sizes - 1]
        if paired:
            both = np.logaddexp(log_share, log_size_weights[n_players - sizes - 1])
            log_share = np.where(middle, log_share, both)
        log_capacity = log_binomial(n_players, sizes) - np.where(middle, np.log(2.0), 0.0)
        return cls(sizes, log_share, log_capacity, middle)


def _allot(
    classes: _Classes, units: int, rng: np.random.Generator
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


def _enumerate_class(classes: _Classes, index: int, n_players: int) -> BoolMatrix:
    coalitions = enumerate_size(n_players, int(classes.sizes[index]))
    # of a middle-sized pair take the coalition with player 0, listed first
    return coalitions[: len(coalitions) // 2] if classes.middle[index] else coalitions


def _draw_classes(
    classes: _Classes, allotted: IntArray, n_players: int, replacement: bool, rng: np.random.Generator
) -> BoolMatrix:
    """Uniform units of each class, distinct unless `replacement`."""
    if replacement:
        return _canonical(random_coalitions(np.repeat(classes.sizes, allotted), n_players, rng), classes)
    with np.errstate(divide="ignore"):
        dense = np.log(allotted) > classes.log_capacity + np.log(_DENSE)
    rows = []
    for index in np.flatnonzero(dense).tolist():
        units = _enumerate_class(classes, index, n_players)
        rows.append(units[rng.choice(len(units), size=allotted[index], replace=False)])
    rows.append(_draw_distinct(classes, np.where(dense, 0, allotted), n_players, rng))
    return np.concatenate(rows)


def _draw_distinct(
    classes: _Classes, allotted: IntArray, n_players: int, rng: np.random.Generator
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


def _canonical(coalitions: BoolMatrix, classes: _Classes) -> BoolMatrix:
    """Of a middle-sized pair keep the coalition with player 0."""
    if classes.middle.any():
        size = classes.sizes[classes.middle][0]
        flip = (sizes_of(coalitions) == size) & ~coalitions[:, 0]
        coalitions[flip] = ~coalitions[flip]
    return coalitions
