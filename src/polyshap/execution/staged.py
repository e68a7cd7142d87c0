"""The loop of an estimator that asks for more coalitions after it has seen some."""

from __future__ import annotations

import copy
from collections.abc import Callable

import numpy as np

from polyshap._types import BoolMatrix, Estimator, FloatArray, StagedEstimator
from polyshap.errors import UNFINISHED, GameError, UnfinishedRun
from polyshap.execution.evaluate import GameFunction, evaluate, observe
from polyshap.results import Observations
from polyshap.sampling import Sample

__all__ = ["extended", "merged", "observe_staged"]

Ask = Callable[[BoolMatrix], FloatArray]


def observe_staged(
    estimator: Estimator, game: GameFunction, n_players: int, budget: int, rng: np.random.Generator
) -> Observations:
    """Draw, observe and extend until the estimator asks for nothing more, by plain calls of `game`."""
    observations = observe(game, estimator.draw(n_players, budget, copy.deepcopy(rng)))
    return extended(estimator, observations, budget, rng, lambda coalitions: evaluate(game, coalitions))


def extended(
    estimator: Estimator, observations: Observations, budget: int, rng: np.random.Generator, ask: Ask
) -> Observations:
    """Observations of a first sample and of all that the estimator asks for after it.

    Parameters
    ----------
    estimator : Estimator
        One without `extend` asks for nothing.
    observations : Observations
        Of what `estimator.draw` gave.
    budget : int
    rng : numpy.random.Generator
        In the state that `draw` got it in. Every stage gets it as it is now: a stage depends on the seed
        and on what was observed, not on how many stages came before.
    ask : callable
        Evaluates coalitions. What it raises carries the earlier observations too.
    """
    if not isinstance(estimator, StagedEstimator):
        return observations
    while (added := estimator.extend(observations, budget, copy.deepcopy(rng))) is not None:
        try:
            values = ask(added.coalitions)
        except UNFINISHED as error:
            _put_before(error, observations)
            raise
        observations = merged(observations, added, values)
    return observations


def merged(observations: Observations, added: Sample, values: FloatArray) -> Observations:
    """Observations of both samples; where both are paired, row i and row i + m/2 stay complements."""
    old = observations.sample
    order = np.arange(len(old) + len(added))
    if old.paired and added.paired:
        half, new = len(old) // 2, len(added) // 2
        first, second = np.split(order[: len(old)], [half]), np.split(order[len(old) :], [new])
        order = np.concatenate([first[0], second[0], first[1], second[1]])
    sample = Sample(
        np.concatenate([old.coalitions, added.coalitions])[order],
        np.concatenate([old.log_weights, added.log_weights])[order],
        old.paired and added.paired,
    )
    together = np.concatenate([observations.values, values])[order]
    return Observations(sample, together, observations.empty, observations.grand)


def _put_before(error: UnfinishedRun, observations: Observations) -> None:
    """What earlier stages observed goes before what this one did, on the exception that ended it."""
    n_players = observations.n_players
    ends = np.array([np.zeros(n_players, dtype=bool), np.ones(n_players, dtype=bool)])
    first = [observations.empty], [observations.grand], observations.values
    parts = [(np.concatenate([ends, observations.sample.coalitions]), np.concatenate(first))]
    parts += [(seen, values) for seen, values in error.observed.values() if len(values)]
    coalitions = np.concatenate([seen for seen, _ in parts])
    together = np.concatenate([values for _, values in parts])
    error.observed = {0: (coalitions, together)}
    if isinstance(error, GameError):
        error.coalitions, error.values = coalitions, together
