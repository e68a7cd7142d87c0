"""Exact Shapley values from all 2^n coalitions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from polyshap._memory import check_memory
from polyshap.estimators.enumeration import enumerated
from polyshap.results import Estimate, Observations
from polyshap.sampling import Sample, check_budget, full_sample

__all__ = ["Exact"]


@dataclass(frozen=True)
class Exact:
    """Enumerate every coalition: phi_i = sum_S |S|! (n-|S|-1)! / n! (v(S with i) - v(S)).

    It needs a budget of 2^n. Interactions of every order and index come from the Möbius transform.
    """

    def draw(self, n_players: int, budget: int, rng: np.random.Generator) -> Sample:
        # coalitions twice (drawn, and with both ends to be asked), values three times, keys once
        check_memory(
            (1 << n_players) * (2 * n_players + 5 * 8),
            f"Exact values of {n_players} players, 2^{n_players} evaluations,",
            "Group features, or use estimator='adaptive' with a smaller budget.",
        )
        check_budget(budget, 1 << n_players, reason="2^n_players, every coalition once")
        return full_sample(n_players)

    def fit(self, observations: Observations) -> Estimate:
        return enumerated(observations, "Exact()")
