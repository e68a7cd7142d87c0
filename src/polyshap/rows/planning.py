"""Which plan each row gets: its own players and estimator, or the one that all rows share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from polyshap._types import BoolMatrix, IntArray
from polyshap.estimation import choose
from polyshap.estimators.adaptive import Adaptive
from polyshap.rows.effort import checked_effort
from polyshap.rows.jobs import RowJobs
from polyshap.rows.pilots import Pilots
from polyshap.rows.plans import Plan, plan_for
from polyshap.rows.prepared import Prepared, Task
from polyshap.rows.rowwise import RowRun
from polyshap.rows.sharing import (
    PILOT_PAIRS,
    PILOT_ROWS,
    OneRowBackground,
    learn_shared,
    should_share,
)
from polyshap.tables.arrays import Table

__all__ = ["Planner", "shared_plan"]

_PILOT_STREAM = 3
# Rows in parts count as this many: what they share must not depend on how they are cut.
_MANY = 1 << 20


@dataclass(frozen=True, eq=False)
class Planner:
    """Plans of one call.

    Attributes
    ----------
    prepared : Prepared
    budget : int
    tolerance : float, optional
    shared : Plan, optional
        For all rows whose coalitions are not few enough to enumerate.
    without_learning : bool
        Parameters are shared and there is nothing to learn them from.
    jobs : RowJobs, optional
        Workers that observe the rows parameters are learned from.
    """

    prepared: Prepared
    budget: int
    tolerance: float | None
    shared: Plan | None = None
    games_of: Callable[[Task], Any] = lambda task: task.games
    without_learning: bool = False
    jobs: RowJobs | None = None

    def __post_init__(self) -> None:
        # rows with equally many players have one design, and rows with the same players one plan
        object.__setattr__(self, "_design", lru_cache(maxsize=64)(self._drawn))
        object.__setattr__(self, "_own", lru_cache(maxsize=None)(self._plan_of))

    def bind(self, table: Table) -> Task:
        """Rows bound to the model, which is asked for the first one and for the background."""
        return self.prepared.bind(table) if self.jobs is None else self.jobs.bind(self.prepared, table)

    def plan_row(self, active: BoolMatrix, digest: int | None) -> Plan:
        """The plan of a row with these active players."""
        players = np.flatnonzero(active)
        if self.shared is not None and len(players) > 1 and not self._reaches_all(len(players)):
            return self.shared
        return self.plan(players, digest)

    def plan(self, players: IntArray, digest: int | None = None) -> Plan:
        found: Plan = self._own(tuple(players.tolist()), digest)  # type: ignore[attr-defined]
        return found

    def _reaches_all(self, n_players: int) -> bool:
        return n_players < 63 and self.budget >= 1 << n_players

    def _plan_of(self, players: tuple[int, ...], digest: int | None) -> Plan:
        drawn: Plan = self._design(len(players), digest)  # type: ignore[attr-defined]
        return replace(drawn, players=np.array(players, dtype=np.intp))

    def _drawn(self, n_players: int, digest: int | None) -> Plan:
        estimator = choose(self.prepared.estimator, max(n_players, 1), self.budget)
        if isinstance(estimator, Adaptive) and isinstance(self.prepared.estimator, str):
            estimator = replace(estimator, design="chosen")  # data-free: all rows share it
        if self.without_learning and isinstance(estimator, Adaptive) and estimator.prior is None:
            estimator = OneRowBackground(estimator)
        staged = self.tolerance is not None and isinstance(estimator, Adaptive)
        members = np.arange(n_players)
        return plan_for(estimator, members, self.budget, self.prepared.seed, staged=staged, digest=digest)

    def to_share(self) -> Plan | None:
        """The plan that rows share, before anything is learned; None where there is nothing to learn.

        Estimators without parameters to learn share everything anyway.
        """
        everybody = np.arange(len(self.prepared.players))
        plan = self.plan(everybody)
        if isinstance(plan.estimator, OneRowBackground):
            return plan
        learns = (
            isinstance(plan.estimator, Adaptive)
            and plan.estimator.design != "sequential"
            and plan.estimator.prior is None
        )
        return plan if learns and len(everybody) > 1 and not self._reaches_all(len(everybody)) else None

    def pilot_calls(self, plan: Plan) -> int:
        """How many calls `learned` makes."""
        if isinstance(plan.estimator, OneRowBackground):
            return 0
        return min(PILOT_ROWS, len(self.prepared.background)) * (2 + 2 * _pilot_pairs(plan))

    def learned(self, plan: Plan, advance: Callable[[int], None] | None = None) -> Plan:
        """The plan with parameters learned from background rows."""
        if not isinstance(plan.estimator, Adaptive):
            return plan
        background = self.prepared.background
        rng = np.random.default_rng([self.prepared.seed, _PILOT_STREAM])
        chosen = rng.permutation(len(background))[:PILOT_ROWS]
        task = self.bind(background.take(np.sort(chosen)))
        pilots = Pilots(
            RowRun(self.games_of(task), np.ones_like(task.active), task.empty), plan, _pilot_pairs(plan)
        )
        observed = pilots.observed(len(task.table), self.jobs, advance)
        estimator = learn_shared(plan.estimator, observed, np.asarray(task.active.any(axis=0)))
        return replace(plan, estimator=estimator)


def _pilot_pairs(plan: Plan) -> int:
    return min(PILOT_PAIRS, plan.stages[-1])


def shared_plan(
    prepared: Prepared,
    budget: int | str,
    tolerance: float | None,
    shared: bool | None,
    *,
    jobs: RowJobs | None = None,
) -> Plan | bool:
    """What parts of many rows share, learned once; False where every row stands for itself."""
    n_calls, tolerance = checked_effort(budget, tolerance, prepared)
    if not (should_share(_MANY, n_calls) if shared is None else shared):
        return False
    blind = len(prepared.background) == 1
    planner = Planner(prepared, n_calls, tolerance, without_learning=blind, jobs=jobs)
    plan = planner.to_share()
    return False if plan is None else planner.learned(plan)
