"""The loop of an estimator that asks for more coalitions after it has seen some."""

from __future__ import annotations

import copy
from collections.abc import Callable

import numpy as np

from polyshap._types import BoolMatrix, FloatArray, StagedEstimator
from polyshap.execution.evaluate import GameFunction, evaluate, observe
from polyshap.results import Observations
from polyshap.sampling import Sample

__all__ = ["merged", "observe_staged"]


def observe_staged(
    estimator: StagedEstimator,
    game: GameFunction,
    n_players: int,
    budget: int,
    rng: np.random.Generator,
    *,
    first: Callable[[Sample], Observations] | None = None,
    more: Callable[[BoolMatrix], FloatArray] | None = None,
) -> Observations:
    """Draw, observe and extend until the estimator asks for nothing more.

    Parameters
    ----------
    estimator : StagedEstimator
    game : callable
    n_players, budget : int
    rng : numpy.random.Generator
        Every stage gets it as it is now: a stage depends on the seed and on what was observed, not on how
        many stages came before.
    first, more : callable, optional
        How to observe the first sample and evaluate later coalitions; plain calls of `game` by default.
    """
    begin = first or (lambda sample: observe(game, sample))
    carry_on = more or (lambda coalitions: evaluate(game, coalitions))
    observations = begin(estimator.draw(n_players, budget, copy.deepcopy(rng)))
    while (added := estimator.extend(observations, budget, copy.deepcopy(rng))) is not None:
        observations = merged(observations, added, carry_on(added.coalitions))
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
