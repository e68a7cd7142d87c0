"""The estimators of the benchmark by name, paired or not, and why one is skipped."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace
from functools import lru_cache
from math import comb
from types import MappingProxyType
from typing import Any, cast

from polyshap._types import Estimator
from polyshap.errors import ArgumentError
from polyshap.estimators import registry
from polyshap.estimators.msr import MSR
from polyshap.estimators.polyshap import PolySHAP
from polyshap.estimators.regression_msr import RegressionMSR
from polyshap.estimators.svarm import SVARM
from polyshap.frontiers import FrontierSpec, KAdditive, Logarithmic
from polyshap.sampling import Design

__all__ = [
    "LABELS",
    "PAPER_METHODS",
    "build_method",
    "check_methods",
    "count_terms",
    "is_available",
    "skip_reason",
]

# The methods of the paper's tables and figures, and ours; the order is that of the tables.
PAPER_METHODS = (
    "permutation",
    "polyshap-1",
    "polyshap-2-50%",
    "polyshap-2",
    "polyshap-3-50%",
    "polyshap-3-log",
    "polyshap-3",
    "polyshap-4",
    "regression-msr",
    "msr",
    "svarm",
    "adaptive",
)

LABELS = {
    "permutation": "Permutation",
    "polyshap-1": "1-PolySHAP (KernelSHAP)",
    "polyshap-2-50%": "2-PolySHAP (50 %)",
    "polyshap-2": "2-PolySHAP",
    "polyshap-3-50%": "3-PolySHAP (50 %)",
    "polyshap-3-log": "3-PolySHAP (log)",
    "polyshap-3": "3-PolySHAP",
    "polyshap-4": "4-PolySHAP",
    "regression-msr": "RegressionMSR",
    "msr": "MSR",
    "svarm": "SVARM",
    "adaptive": "Adaptive",
}

# Baselines as the paper ran them, all on one design; by name they have settings that suit them better.
_AS_PUBLISHED: Mapping[str, Callable[[], Estimator]] = MappingProxyType(
    {
        "msr": lambda: MSR(Design()),
        "regression-msr": lambda: RegressionMSR(Design()),
        "svarm": lambda: SVARM(Design(), warm_up=False),
    }
)

# As in the paper: all terms of order 3 up to 30 players, of order 4 up to 20.
_LARGEST = {3: 30, 4: 20}


def build_method(name: str, paired: bool) -> Estimator | None:
    """The estimator of that name on paired or unpaired coalitions; None where it has no such variant.

    MSR, SVARM and RegressionMSR draw as in the paper, all sizes alike.

    >>> build_method("polyshap-2", paired=False).design.paired
    False
    """
    estimator: Any = _AS_PUBLISHED[name]() if name in _AS_PUBLISHED else registry.get(name)
    if hasattr(estimator, "antithetic"):
        return cast(Estimator, replace(estimator, antithetic=paired))
    design = getattr(estimator, "design", None)
    if hasattr(design, "paired"):
        return cast(Estimator, replace(estimator, design=replace(cast(Design, design), paired=paired)))
    return cast(Estimator, estimator) if paired else None


def is_available(name: str) -> bool:
    """Whether the registry knows the name."""
    try:
        registry.get(name)
    except ArgumentError:
        return False
    return True


def check_methods(names: tuple[str, ...]) -> tuple[str, ...]:
    """The names, all known; an unknown one raises and names the nearest."""
    known = dict.fromkeys([*(name for name in PAPER_METHODS if is_available(name)), *registry.names()])
    for name in names:
        if not is_available(name):
            near = difflib.get_close_matches(name, known, n=3)
            hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
            raise ArgumentError(f"`methods` must be among {', '.join(known)}. Got {name!r}.{hint}")
    return tuple(dict.fromkeys(names))


def skip_reason(name: str, paired: bool, n_players: int, budget: int) -> str | None:
    """Why a method is not run at a budget: the paper's limits, and too few equations."""
    estimator = build_method(name, paired)
    if estimator is None:
        return f"{name} draws coalitions in pairs only"
    if budget >= 2**n_players or not isinstance(estimator, PolySHAP):
        return None
    spec = estimator.frontier
    largest = _LARGEST.get(getattr(spec, "order", 1), n_players)
    if n_players > largest and not isinstance(spec, Logarithmic):
        return f"all terms of this order are run for at most {largest} players"
    n_terms, n_odd = count_terms(spec, n_players)
    if budget < n_terms:
        return f"{n_terms} terms need a budget of at least {n_terms}"
    # a paired sample has (m - 2) / 2 equations for the odd terms, which alone bear on the values
    if paired and (budget - 2) // 2 < n_odd:
        return f"{n_odd} odd terms need {n_odd} pairs, so a budget of {2 * n_odd + 2}"
    return None


def count_terms(spec: FrontierSpec, n_players: int) -> tuple[int, int]:
    """Terms of a frontier, and how many of them are of odd size."""
    if isinstance(spec, KAdditive):
        sizes = [comb(n_players, size) for size in range(1, min(spec.order, n_players) + 1)]
        return sum(sizes), sum(sizes[::2])
    return _count_built(cast(Hashable, spec), n_players)


@lru_cache(maxsize=1024)
def _count_built(spec: Any, n_players: int) -> tuple[int, int]:
    blocks = spec.build(n_players).by_order
    return sum(map(len, blocks.values())), sum(len(block) for order, block in blocks.items() if order % 2)
