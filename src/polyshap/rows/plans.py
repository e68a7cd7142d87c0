"""What rows that are fitted together have in common: an estimator, its design, and the stages of asking.

A design is data-free and drawn once for each number of active players, so all rows share it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from polyshap._types import Estimator, IntArray, StagedEstimator
from polyshap.estimators.adaptive import Adaptive
from polyshap.estimators.exact import Exact
from polyshap.estimators.kaddshap import KAddSHAP
from polyshap.estimators.polyshap import OddRegression, PolySHAP
from polyshap.rows.sharing import OneRowBackground
from polyshap.sampling import Sample, within_budget

__all__ = ["Plan", "extends", "plan_for", "rows_together"]

# These treat each column of values alone, so many rows are fitted at once with one factorisation.
_COLUMNWISE = (Exact, KAddSHAP, OddRegression, OneRowBackground, PolySHAP)
_DESIGN_STREAM, _ROW_STREAM = 1, 4
# Bytes of values that rows may hold while they wait for a joint fit.
_JOINT_BYTES = 128 << 20
# Pairs a player in the first of the stages: fewer tell too little about the error to stop on.
_FIRST_PAIRS = 3


@dataclass(frozen=True, eq=False)
class Plan:
    """What rows that are fitted together have in common.

    Attributes
    ----------
    estimator : Estimator
    players : ndarray of int
        Whom the columns of the design stand for.
    design : Sample
    stages : tuple of int
        Pairs (or coalitions of an unpaired design) that are observed after each stage.
    budget : int
    stream : tuple of int
        Seed of the design.
    """

    estimator: Estimator
    players: IntArray
    design: Sample
    stages: tuple[int, ...]
    budget: int
    stream: tuple[int, ...]

    @property
    def n_evaluations(self) -> int:
        return len(self.design) + 2

    @cached_property
    def most_evaluations(self) -> int:
        """Those of the design, or the budget where the estimator may ask for more than its first design."""
        return self.budget if extends(self.estimator) else self.n_evaluations

    def prefix(self, count: int) -> Sample:
        """The first `count` pairs of the design."""
        design = self.design
        rows = np.arange(count)
        if design.paired:
            rows = np.concatenate([rows, rows + len(design) // 2])
        return (
            design
            if len(rows) == len(design)
            else Sample(design.coalitions[rows], design.log_weights[rows], design.paired)
        )


def plan_for(
    estimator: Estimator,
    players: IntArray,
    budget: int,
    seed: int,
    *,
    staged: bool = False,
    digest: int | None = None,
) -> Plan:
    """Draw a design from the seed, the number of players and, where rows have their own, `digest`."""
    n_players = len(players)
    if n_players < 2:
        nothing = Sample(np.empty((0, n_players), dtype=bool), np.empty(0), paired=True)
        return Plan(estimator, players, nothing, (0,), budget, ())
    own = (_DESIGN_STREAM, n_players) if digest is None else (_ROW_STREAM, n_players, digest)
    stream = (seed, *own)
    design = within_budget(estimator.draw(n_players, budget, np.random.default_rng(stream)), budget)
    units = len(design) // 2 if design.paired else len(design)
    stages = [units]
    while staged and design.paired and stages[0] > 2 * _FIRST_PAIRS * n_players:
        stages.insert(0, (stages[0] + 1) // 2)
    return Plan(estimator, players, design, tuple(stages), budget, stream)


def extends(estimator: Estimator) -> bool:
    """Whether the estimator may ask for more than it drew first."""
    if isinstance(estimator, Adaptive):
        return estimator.design == "sequential" or estimator.tolerance is not None
    return isinstance(estimator, StagedEstimator)


def rows_together(plan: Plan, n_outputs: int) -> int:
    """How many rows of a plan are fitted at once."""
    estimator = plan.estimator
    given = isinstance(estimator, Adaptive) and estimator.prior is not None and not extends(estimator)
    if not given and not isinstance(estimator, _COLUMNWISE):
        return 1
    return max(1, _JOINT_BYTES // (8 * n_outputs * plan.n_evaluations))
