"""`estimate`: the Shapley values of any game, in one call."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import MappingProxyType

import numpy as np

from polyshap._types import BoolMatrix, Estimator, FloatArray
from polyshap.errors import ArgumentError, ArgumentTypeError
from polyshap.estimators import registry
from polyshap.execution.evaluate import observe
from polyshap.results import Estimate
from polyshap.sampling import check_budget, check_players

__all__ = ["choose", "estimate"]

# What "auto" takes when the budget does not reach every coalition.
_BEST = "adaptive"
# A game is asked for at most this many coalitions at a time unless `batch_size` says otherwise: enough
# to hide a Python call, few enough that a game's own float64 copy of them stays small.
_DEFAULT_BATCH = 1 << 16


def estimate(
    game: Callable[[BoolMatrix], FloatArray],
    n_players: int,
    budget: int,
    estimator: str | Estimator = "auto",
    *,
    random_state: int | np.random.Generator | None = None,
    batch_size: int | None = None,
) -> Estimate:
    """Estimate the Shapley values of a cooperative game.

    Parameters
    ----------
    game : callable
        Takes a boolean matrix (m, n_players), one coalition a row, and returns the values (m,), or
        (m, n_outputs) for several games at once.
    n_players : int
    budget : int
        Coalitions to evaluate at most, the empty and the grand one included.
    estimator : str or Estimator
        A name (see `polyshap.estimators.names()`) or an object with `draw` and `fit`. "auto" enumerates
        when the budget reaches 2^n_players and takes the adaptive estimator otherwise.
    random_state : int or numpy.random.Generator, optional
        The same seed gives the same bits.
    batch_size : int, optional
        Coalitions handed to the game at a time; 65,536 by default.

    Returns
    -------
    Estimate

    Examples
    --------
    >>> import polyshap
    >>> def airport(coalitions):  # the cost of the longest runway that is needed
    ...     return (coalitions * [1.0, 2.0, 4.0]).max(axis=1)
    >>> polyshap.estimate(airport, n_players=3, budget=8).values.round(4).tolist()
    [0.3333, 0.8333, 2.8333]
    """
    n_players, budget = check_players(n_players), check_budget(budget)
    if not callable(game):
        raise ArgumentTypeError(f"`game` must be a callable on a boolean matrix. Got {type(game).__name__}.")
    if batch_size is not None and batch_size < 1:
        raise ArgumentError(f"`batch_size` must be at least 1. Got {batch_size}.")
    chosen = choose(estimator, n_players, budget)
    clock = [time.perf_counter()]
    sample = chosen.draw(n_players, budget, np.random.default_rng(random_state))
    clock.append(time.perf_counter())
    observations = observe(game, sample, batch_size=batch_size or _DEFAULT_BATCH)
    clock.append(time.perf_counter())
    result = chosen.fit(observations)
    clock.append(time.perf_counter())
    seconds = dict(zip(("draw", "evaluate", "fit"), np.diff(clock).tolist(), strict=True))
    return result.with_diagnostics(seconds=MappingProxyType(seconds))


def choose(estimator: str | Estimator, n_players: int, budget: int) -> Estimator:
    """The estimator behind a name; "auto" is settled by the players and the budget alone."""
    if isinstance(estimator, str):
        if estimator != "auto":
            return registry.get(estimator)
        return registry.get("exact" if n_players < 63 and budget >= 1 << n_players else _BEST)
    if not (hasattr(estimator, "draw") and hasattr(estimator, "fit")):
        raise ArgumentTypeError(
            "`estimator` must be a name or an object with the methods `draw` and `fit`. "
            f"Got {type(estimator).__name__}."
        )
    return estimator
