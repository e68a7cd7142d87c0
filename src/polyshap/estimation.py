"""`estimate`: the Shapley values of any game, in one call."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypedDict

import numpy as np

from polyshap._types import BoolMatrix, Estimator, FloatArray, StagedEstimator
from polyshap.errors import ArgumentError, ArgumentTypeError
from polyshap.estimators import registry
from polyshap.estimators.adaptive import Adaptive
from polyshap.estimators.exact import Exact
from polyshap.execution.cache import Cache, CachedGame
from polyshap.execution.evaluate import evaluate, observe
from polyshap.execution.options import Execution, prepared_game
from polyshap.execution.pools import Workers
from polyshap.execution.progress import ProgressCallback, track
from polyshap.execution.retries import Retries
from polyshap.execution.staged import extended
from polyshap.results import Estimate
from polyshap.sampling import check_budget, check_players, within_budget

__all__ = ["choose", "estimate"]

# What "auto" takes when the budget does not reach every coalition.
_BEST = "adaptive"


def estimate(
    game: Callable[[BoolMatrix], FloatArray],
    n_players: int,
    budget: int,
    estimator: str | Estimator = "auto",
    *,
    tolerance: float | None = None,
    random_state: int | np.random.Generator | None = None,
    batch_size: int | None = None,
    n_jobs: int | None = None,
    executor: Any = None,
    cache: str | Path | Cache | None = None,
    retries: int | Retries | None = None,
    timeout: float | None = None,
    max_concurrency: int | None = None,
    progress: bool | ProgressCallback | None = False,
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
    tolerance : float, optional
        Stop when the largest standard error is at most this share of |v(D) - v(empty)|, or when the
        budget is spent; `diagnostics.converged` says which. For the adaptive estimator.
    random_state : int or numpy.random.Generator, optional
        The same seed gives the same bits.
    batch_size : int, optional
        Coalitions handed to the game at a time; by default a 64th of the budget, 65,536 at most.
    n_jobs : int, optional
        Processes of an own pool; -1 takes one a core.
    executor : object, optional
        A Dask client, any `concurrent.futures.Executor`, or a function that makes one.
    cache : path or Cache, optional
        A folder or file where values are kept batch by batch; a run that was ended goes on from there.
    retries : int or Retries, optional
        Attempts beyond the first for a game that raises now and then.
    timeout : float, optional
        Seconds that one call of the game may take in a worker process, before that is ended and the
        call made again.
    max_concurrency : int, optional
        Calls in flight of an asynchronous game (async def).
    progress : bool, callable or None
        None shows a bar on a terminal; a callable gets (calls done, calls in all).

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
    if batch_size is not None and (not isinstance(batch_size, int | np.integer) or batch_size < 1):
        raise ArgumentError(
            f"`batch_size` must be a whole number of coalitions, 1 or more. Got {batch_size!r}."
        )
    execution = Execution(n_jobs, executor, cache, retries, timeout, max_concurrency)
    execution.check()
    chosen = _stopping(choose(estimator, n_players, budget, tolerance), tolerance)
    rng = _generator(random_state)
    clock = _Clock()
    most = min(budget, 1 << n_players) if n_players < 63 else budget
    label = getattr(game, "__name__", type(game).__name__)
    with execution.store(game, label) as store, execution.workers() as workers:
        asked, size = prepared_game(game, most, batch_size, execution)
        if store is not None:
            asked = CachedGame(asked, store, b"game", n_players)
        with clock.of("draw"):
            sample = within_budget(chosen.draw(n_players, budget, copy.deepcopy(rng)), budget)
        total = most if isinstance(chosen, StagedEstimator) else len(sample) + 2
        with track(total, progress) as advance:
            options = _Options(batch_size=size, workers=workers, seconds=timeout, advance=advance)
            with clock.of("evaluate"):
                observations = observe(asked, sample, **options)

            def ask(coalitions: BoolMatrix) -> FloatArray:
                with clock.of("evaluate"):
                    return evaluate(asked, coalitions, **options)

            with clock.of("draw"):
                observations = extended(chosen, observations, budget, rng, ask)
    with clock.of("fit"):
        result = chosen.fit(observations)
    return result.with_diagnostics(seconds=MappingProxyType(dict(clock.seconds)))


def _generator(random_state: int | np.random.Generator | None) -> np.random.Generator:
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        raise ArgumentTypeError(
            "`random_state` must be a whole number that is not negative, a Generator or None. "
            f"Got {random_state!r}."
        ) from error


class _Options(TypedDict):
    batch_size: int
    workers: Workers | None
    seconds: float | None
    advance: Callable[[int], object]


class _Clock:
    """Seconds of each stage; a stage inside another one counts for itself alone."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {"draw": 0.0, "evaluate": 0.0, "fit": 0.0}
        self._inner = 0.0

    @contextmanager
    def of(self, stage: str) -> Iterator[None]:
        outer, self._inner = self._inner, 0.0
        begin = time.perf_counter()
        try:
            yield
        finally:
            spent = time.perf_counter() - begin
            self.seconds[stage] += spent - self._inner
            self._inner = outer + spent


def _stopping(estimator: Estimator, tolerance: float | None) -> Estimator:
    """The estimator with the tolerance that it is to stop at."""
    if tolerance is None or isinstance(estimator, Exact):
        return estimator
    if not isinstance(estimator, Adaptive):
        raise ArgumentError(
            "`tolerance` must go with an estimator whose standard errors it can watch: adaptive. "
            f"Got {type(estimator).__name__}. Leave `estimator` out, or leave `tolerance` out."
        )
    return replace(estimator, tolerance=tolerance)


def choose(
    estimator: str | Estimator, n_players: int, budget: int, tolerance: float | None = None
) -> Estimator:
    """The estimator behind a name; "auto" is settled by players, budget and whether it may stop early."""
    if isinstance(estimator, str):
        if estimator != "auto":
            return registry.get(estimator)
        enumerates = tolerance is None and n_players < 63 and budget >= 1 << n_players
        return registry.get("exact" if enumerates else _BEST)
    if isinstance(estimator, type):
        raise ArgumentTypeError(
            "`estimator` must be a name or an object with the methods `draw` and `fit`. "
            f"Got the class {estimator.__name__}. Build one: {estimator.__name__}()."
        )
    if not (hasattr(estimator, "draw") and hasattr(estimator, "fit")):
        raise ArgumentTypeError(
            "`estimator` must be a name or an object with the methods `draw` and `fit`. "
            f"Got {type(estimator).__name__}."
        )
    return estimator
