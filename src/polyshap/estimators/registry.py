"""Names of estimators: a table of plain names and a table of patterns."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

from polyshap._types import Estimator
from polyshap.errors import ArgumentError
from polyshap.estimators.adaptive import Adaptive
from polyshap.estimators.exact import Exact
from polyshap.estimators.kaddshap import KAddSHAP
from polyshap.estimators.mobius_lasso import MobiusLasso
from polyshap.estimators.msr import MSR, UnbiasedKernelSHAP
from polyshap.estimators.oddshap import OddSHAP
from polyshap.estimators.permutation import Permutation
from polyshap.estimators.polyshap import OddRegression, PolySHAP
from polyshap.estimators.proxyspex import ProxySPEX
from polyshap.estimators.regression_msr import RegressionMSR
from polyshap.estimators.svarm import SVARM
from polyshap.frontiers import KAdditive, Logarithmic, Partial
from polyshap.sampling import Design

__all__ = ["ESTIMATORS", "PATTERNS", "get", "names"]

ESTIMATORS: Mapping[str, Callable[[], Estimator]] = MappingProxyType(
    {
        "adaptive": Adaptive,
        "exact": Exact,
        "kernelshap": lambda: PolySHAP(KAdditive(1), Design("kernel")),
        "leverageshap": lambda: PolySHAP(KAdditive(1)),
        "mobius-lasso": MobiusLasso,
        "msr": MSR,
        "oddshap": OddSHAP,
        "permutation": Permutation,
        "polyshap-3-log": lambda: PolySHAP(Logarithmic(3)),
        "proxyspex": ProxySPEX,
        "regression-msr": RegressionMSR,
        "svarm": SVARM,
        "unbiased-kernelshap": UnbiasedKernelSHAP,
    }
)

# readable form, pattern, constructor on the match; K stands for an order
PATTERNS: tuple[tuple[str, str, Callable[[re.Match[str]], Estimator]], ...] = (
    ("polyshap-K", r"polyshap-([1-9]\d*)", lambda match: PolySHAP(KAdditive(int(match[1])))),
    (
        "polyshap-K-50%",
        r"polyshap-([1-9]\d*)-(\d{1,2}|100)%",
        lambda match: PolySHAP(Partial(int(match[1]), fraction=int(match[2]) / 100)),
    ),
    ("kaddshap-K", r"kaddshap-([1-9]\d*)", lambda match: KAddSHAP(int(match[1]))),
    ("odd-K", r"odd-([1-9]\d*)", lambda match: OddRegression(int(match[1]))),
)


def names() -> tuple[str, ...]:
    """Every name that `get` takes; K stands for an order."""
    return (*sorted(ESTIMATORS), *(readable for readable, _, _ in PATTERNS))


def get(name: str) -> Estimator:
    """The estimator of that name with its default options.

    >>> get("polyshap-3").frontier
    KAdditive(order=3)
    """
    if name in ESTIMATORS:
        return ESTIMATORS[name]()
    for _, pattern, build in PATTERNS:
        if match := re.fullmatch(pattern, name):
            return build(match)
    near = difflib.get_close_matches(str(name), names(), n=3)
    hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
    raise ArgumentError(f"`estimator` must be one of {', '.join(names())}. Got {name!r}.{hint}")
