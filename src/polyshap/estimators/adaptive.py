"""The adaptive estimator: all interactions of all orders at once, with error bars.

The Shapley values are those of a Gaussian process on the odd half of the game whose player relevances are
learned from the sample; see `polyshap.gaussian`.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import numpy as np

from polyshap._threads import bounded_threads
from polyshap._types import FloatArray
from polyshap.coalitions import first_occurrences, log_shapley_kernel, signs
from polyshap.errors import ArgumentError
from polyshap.gaussian.likelihood import Hyperprior, Learned, learn
from polyshap.gaussian.posterior import posterior
from polyshap.gaussian.sections import delta_sections
from polyshap.results import Diagnostics, Estimate, Observations, conclude
from polyshap.sampling import Design, Sample, check_budget, check_players, draw, full_sample
from polyshap.selection import chosen_half

__all__ = ["Adaptive", "DesignName"]

DesignName = Literal["chosen", "leverage"]


@dataclass(frozen=True)
class Adaptive:
    """Every interaction of every order at once, as much of each as the sample supports.

    Parameters
    ----------
    design : {"chosen", "leverage"}
        Which pairs to observe: those that tell most under a prior that knows no game, or by leverage.
    """

    design: DesignName = "chosen"

    def draw(self, n_players: int, budget: int, rng: np.random.Generator) -> Sample:
        """Pairs of coalitions, all distinct; an odd call is left unused."""
        n_players, budget = check_players(n_players), check_budget(budget)
        if n_players == 1:
            return Sample(np.empty((0, 1), dtype=bool), np.empty(0), paired=True)
        if n_players < 63 and budget >= 1 << n_players:
            return full_sample(n_players)
        if self.design == "leverage":
            return draw(Design(), n_players, budget, rng)
        half = chosen_half(n_players, (budget - 2) // 2, rng)
        coalitions = np.concatenate([half, ~half])
        return Sample(coalitions, log_shapley_kernel(n_players, coalitions.sum(axis=1)), paired=True)

    def fit(self, observations: Observations) -> Estimate:
        """Learn the prior from the observations and condition it on them."""
        half = _checked_half(observations.sample)
        rows = np.concatenate([signs(half), np.ones((1, observations.n_players))])
        odd, even, scale = _scaled(observations)
        hyperprior = Hyperprior()
        subset = _learning_rows(len(half), hyperprior.n_rows)
        with bounded_threads(len(subset)):
            learned = learn(rows[subset], odd[subset], even[subset], hyperprior)
        with bounded_threads(len(rows)):
            process = posterior(rows, learned.parameters)
            values = process.values(process.solve(odd))
        errors = np.sqrt(process.variance)[:, None] * scale
        if _is_complete(half):
            values, errors = delta_sections(rows[:-1]).T @ odd[:-1], 0.0 * errors
        # the solve meets the constraint up to rounding; what is left is spread evenly
        values += (2 * odd[-1] - values.sum(axis=0)) / len(values)
        return conclude(observations, values * scale, _diagnostics(learned, scale), standard_errors=errors)


def _is_complete(half: np.ndarray) -> bool:
    n_players = half.shape[1]
    return n_players < 63 and len(half) == (1 << (n_players - 1)) - 1


def _checked_half(sample: Sample) -> np.ndarray:
    half = sample.half
    if not sample.paired or len(sample) % 2 or not np.array_equal(sample.coalitions[len(half) :], ~half):
        raise ArgumentError(
            "`observations` of the adaptive estimator must be of a paired sample: row i and row i + m/2 are "
            "complements. Got an unpaired one. Draw it with paired=True."
        )
    if len(first_occurrences(sample.coalitions)) < len(sample):
        raise ArgumentError(
            "`observations` of the adaptive estimator must hold each coalition once. "
            "Got repeats. Draw without replacement."
        )
    return half


def _scaled(observations: Observations) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Odd and even part with the grand coalition last, (n + 1, k), and the scale of each output (k,)."""
    total = observations.total
    odd = np.concatenate([observations.odd, total[None] / 2])
    even = np.concatenate([observations.even - total / 2, np.zeros((1, len(total)))])
    largest = np.abs(odd).max(axis=0)
    safe = np.where(largest > 0, largest, 1.0)
    scale = safe * np.sqrt(((odd / safe) ** 2).mean(axis=0))
    scale = np.where(largest > 0, scale, 1.0)
    return odd / scale, even / scale, np.where(largest > 0, scale, 0.0)


def _learning_rows(n_half: int, limit: int) -> np.ndarray:
    """At most `limit` rows drawn at random, and the grand coalition."""
    chosen = np.random.default_rng(0).permutation(n_half)[:limit]
    return np.append(np.sort(chosen), n_half)


def _diagnostics(learned: Learned, scale: FloatArray) -> Diagnostics:
    p = learned.parameters
    details: dict[str, float | str | FloatArray] = {
        "relevances": p.relevances,
        "scale": scale,
        "iterations": float(learned.n_iterations),
        "log_likelihood": learned.log_likelihood,
    }
    return Diagnostics("adaptive", details=MappingProxyType(details))
