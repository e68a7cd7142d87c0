"""How many calls a row may take, and when it may stop before."""

from __future__ import annotations

from numbers import Real

from polyshap.errors import ArgumentError
from polyshap.estimation import choose
from polyshap.estimators.adaptive import Adaptive
from polyshap.estimators.exact import Exact
from polyshap.rows.prepared import Prepared
from polyshap.sampling import check_budget

__all__ = ["auto_budget", "checked_effort"]

# "auto" stops here at the latest. 2,000 calls came to a root mean square error of 0.6 % (breast cancer, 30
# players) and 6 % (digits, 64 players) of the values' own in benchmarks/explain_cost.py.
_AUTO_CALLS, _AUTO_CALLS_PER_PLAYER = 2048, 20
# The share of the range at which budget="auto" lets a row stop.
_AUTO_TOLERANCE = 0.01


def checked_effort(
    budget: int | str, tolerance: float | None, prepared: Prepared
) -> tuple[int, float | None]:
    """Calls at most, and the tolerance at which a row may stop before."""
    n_players = len(prepared.players)
    if tolerance is not None and not (isinstance(tolerance, Real) and 0 < tolerance < 1):
        raise ArgumentError(f"`tolerance` must be a share between 0 and 1. Got {tolerance!r}.")
    if not isinstance(budget, str):
        budget = check_budget(budget)
        chosen = choose(prepared.estimator, n_players, budget)
        if tolerance is not None and not isinstance(chosen, Adaptive | Exact):
            raise ArgumentError(
                "`tolerance` must go with an estimator that knows its errors from part of the budget, "
                f"'adaptive' or 'auto'. Got {prepared.estimator!r}."
            )
        return budget, tolerance
    if budget != "auto":
        raise ArgumentError(f"`budget` must be a number of calls or 'auto'. Got {budget!r}.")
    cap = max(2, auto_budget(n_players))
    if tolerance is None and isinstance(choose(prepared.estimator, n_players, cap), Adaptive):
        tolerance = _AUTO_TOLERANCE
    return (cap, tolerance) if tolerance is None else checked_effort(cap, tolerance, prepared)


def auto_budget(n_players: int) -> int:
    """Calls a row that suffice for 1 % of the range on the games of the benchmark.

    >>> auto_budget(8), auto_budget(30), auto_budget(500)
    (256, 2048, 10000)
    """
    enough = max(_AUTO_CALLS, _AUTO_CALLS_PER_PLAYER * n_players)
    return min(1 << n_players, enough) if n_players < 63 else enough
