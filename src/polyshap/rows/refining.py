"""`Explanation.refine`: more calls for rows that were explained, beside those that were made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from polyshap._types import BoolMatrix, FloatArray, IntArray
from polyshap.coalitions import log_shapley_kernel, pack, sizes_of
from polyshap.estimators.adaptive import Adaptive
from polyshap.results import Observations
from polyshap.rows.plans import Plan
from polyshap.rows.stages import both_ends
from polyshap.sampling import Sample

__all__ = ["KnownGames", "refined_plan"]


@dataclass(frozen=True, eq=False)
class _KnownGame:
    """A game whose observed values are not asked for again."""

    game: Callable[[BoolMatrix], FloatArray]
    observed: Observations

    @property
    def batch_size(self) -> int | None:
        return getattr(self.game, "batch_size", None)

    def __call__(self, coalitions: BoolMatrix) -> FloatArray:
        old = self.observed
        ends = both_ends(old.n_players)
        keys = [row.tobytes() for row in pack(np.concatenate([ends, old.sample.coalitions]))]
        known = dict(zip(keys, np.concatenate([[old.empty], [old.grand], old.values]), strict=True))
        asked = [row.tobytes() for row in pack(coalitions)]
        missing = np.array([key not in known for key in asked], dtype=bool)
        if missing.any():
            fresh = self.game(coalitions[missing])
            known.update(zip((asked[i] for i in np.flatnonzero(missing)), fresh, strict=True))
        return np.array([known[key] for key in asked])


@dataclass(frozen=True, eq=False)
class KnownGames:
    """Row number and players -> the game of that row, with what was observed of it."""

    games: Callable[[int, IntArray], Any]
    observed: Sequence[Observations]

    def __call__(self, index: int, members: IntArray) -> _KnownGame:
        return _KnownGame(self.games(index, members), self.observed[index])


def refined_plan(plan: Plan, observed: Observations) -> Plan:
    """A plan for more calls that holds the pairs of an earlier one, where the estimator allows it.

    The adaptive estimator takes any pairs: those observed come first and new ones fill the budget. For
    estimators that weigh coalitions by how they were drawn the new design stays as it is, and of the old
    values those are used that it meets.
    """
    old = observed.sample
    complete = old.n_players < 63 and len(plan.design) == (1 << old.n_players) - 2
    if not isinstance(plan.estimator, Adaptive) or complete or not old.paired or old.n_players < 2:
        return replace(plan, stages=plan.stages[-1:])
    half = plan.design.half
    seen = {row.tobytes() for row in pack(np.concatenate([old.half, ~old.half]))}
    new = half[np.array([row.tobytes() not in seen for row in pack(half)], dtype=bool)]
    n_pairs = max(len(old.half), (plan.budget - 2) // 2)
    half = np.concatenate([old.half, new[: n_pairs - len(old.half)]])
    coalitions = np.concatenate([half, ~half])
    weights = log_shapley_kernel(old.n_players, sizes_of(coalitions))
    return replace(plan, design=Sample(coalitions, weights, paired=True), stages=(len(half),))
