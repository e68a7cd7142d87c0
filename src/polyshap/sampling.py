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

from polyshap._types import BoolMatrix, FloatArray, IntArray
from polyshap.coalitions import (
    enumerate_all,
    log_binomial,
    log_shapley_kernel,
    sizes_of,
)
from polyshap.errors import ArgumentError, ArgumentTypeError, BudgetError
from polyshap.size_classes import SizeClasses, allot, draw_classes, enumerate_class

__all__ = ["Design", "Sample", "check_budget", "check_players", "draw", "full_sample", "within_budget"]

SizeWeights = Literal["leverage", "kernel", "root-kernel", "uniform"] | Sequence[float] | FloatArray


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
    classes = SizeClasses.of(log_size_weights, n_players, design.paired)
    units = (budget - 2) // 2 if design.paired else budget - 2
    enumerated, allotted, expected = allot(classes, units, rng)

    rows = [enumerate_class(classes, index, n_players) for index in np.flatnonzero(enumerated).tolist()]
    rows.append(draw_classes(classes, allotted, n_players, design.replacement, rng))
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
