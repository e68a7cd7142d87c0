"""Many rows of one model: designs, observations and fits, row by row or together.

A design is data-free and drawn once for each number of active players, so all rows share it. A row's values
never depend on which other rows are explained. With a tolerance a row is observed in stages, each twice the
one before, along one design: the coalitions of an early stage are the first of the late ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from polyshap._types import BoolMatrix, Estimator, FloatArray, IntArray
from polyshap.estimators.exact import Exact
from polyshap.estimators.kaddshap import KAddSHAP
from polyshap.estimators.polyshap import OddRegression, PolySHAP
from polyshap.execution.evaluate import evaluate
from polyshap.explanation import Fitted
from polyshap.results import Diagnostics, Estimate, Observations
from polyshap.sampling import Sample

__all__ = ["Plan", "RowResult", "RowRun", "explain_rows", "plan_for"]

# These treat each column of values alone, so many rows are fitted at once with one factorisation.
_COLUMNWISE = (Exact, KAddSHAP, OddRegression, PolySHAP)
_DESIGN_STREAM, _ROW_STREAM = 1, 4
# Bytes of values that rows may hold while they wait for a joint fit.
_JOINT_BYTES = 128 << 20
# Pairs a player in the first of the stages: fewer tell too little about the error to stop on.
_FIRST_PAIRS = 3


@dataclass(frozen=True, eq=False)
class Plan:
    """What the rows with the same number of active players have in common."""

    estimator: Estimator
    design: Sample
    stages: tuple[int, ...]  # pairs (or coalitions of an unpaired design) observed after each stage

    @property
    def n_evaluations(self) -> int:
        return len(self.design) + 2

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
    n_active: int,
    budget: int,
    seed: int,
    *,
    staged: bool = False,
    digest: int | None = None,
) -> Plan:
    """Draw a design from the seed, the number of players and, where rows have their own, `digest`."""
    if n_active < 2:
        return Plan(estimator, Sample(np.empty((0, n_active), dtype=bool), np.empty(0), paired=True), (0,))
    stream = [seed, _DESIGN_STREAM, n_active] if digest is None else [seed, _ROW_STREAM, n_active, digest]
    design = estimator.draw(n_active, budget, np.random.default_rng(stream))
    units = len(design) // 2 if design.paired else len(design)
    stages = [units]
    while staged and design.paired and stages[0] > 2 * _FIRST_PAIRS * n_active:
        stages.insert(0, (stages[0] + 1) // 2)
    return Plan(estimator, design, tuple(stages))


@dataclass(frozen=True, eq=False)
class RowResult:
    """Values of one row over all players, (n_players, n_outputs)."""

    values: FloatArray
    standard_errors: FloatArray | None
    empty: FloatArray
    grand: FloatArray
    n_evaluations: int
    fitted: Fitted | None
    diagnostics: Diagnostics
    converged: bool | None


@dataclass(frozen=True, eq=False)
class RowRun:
    """How the rows of one call are explained; picklable when the model is.

    Attributes
    ----------
    game_of : callable
        Row number -> the game of its active players, with outputs as columns.
    active : ndarray of bool, shape (n_rows, n_players)
    plan_of : callable
        Row number -> its plan.
    empty : ndarray, shape (n_outputs,), optional
        Value of the empty coalition where all rows have the same.
    tolerance : float, optional
        A row is done when its largest standard error is below this share of its range.
    """

    game_of: Callable[[int], Callable[[BoolMatrix], FloatArray]]
    active: BoolMatrix
    plan_of: Callable[[int], Plan]
    empty: FloatArray | None = None
    tolerance: float | None = None

    def __call__(self, rows: Sequence[int]) -> list[RowResult]:
        """Explain rows that share their plan: observed one by one, fitted together."""
        plan = self.plan_of(rows[0])
        seen = {index: self._ends(index) for index in rows}
        results: dict[int, RowResult] = {}
        pending = list(rows)
        for before, count in zip((0, *plan.stages), plan.stages, strict=False):
            sample = plan.prefix(count)
            for index in pending:
                seen[index] = self._extended(index, seen[index], plan, before, count)
            found = self._fitted(plan.estimator, pending, [_observations(sample, seen[i]) for i in pending])
            done = {index for index, one in zip(pending, found, strict=True) if one.converged is not False}
            results.update(zip(pending, found, strict=True))
            pending = [index for index in pending if index not in done]
            if not pending:
                break
        return [results[index] for index in rows]

    def _ends(self, index: int) -> FloatArray:
        """Values of the empty and the grand coalition, (2, n_outputs)."""
        n_active = int(self.active[index].sum())
        ends = np.array([np.zeros(n_active, dtype=bool), np.ones(n_active, dtype=bool)])
        if self.empty is None:
            return evaluate(self.game_of(index), ends)
        return np.concatenate([self.empty[None], evaluate(self.game_of(index), ends[1:])])

    def _extended(self, index: int, seen: FloatArray, plan: Plan, before: int, count: int) -> FloatArray:
        """Observe pairs `before` to `count`; ends, then first halves, then their complements."""
        rows = np.arange(before, count)
        if plan.design.paired:
            rows = np.concatenate([rows, rows + len(plan.design) // 2])
        if len(rows) == 0:
            return seen
        game = self.game_of(index)
        fresh = evaluate(game, plan.design.coalitions[rows], batch_size=getattr(game, "batch_size", None))
        if not plan.design.paired:
            return np.concatenate([seen, fresh])
        new, middle = count - before, 2 + before
        return np.concatenate([seen[:middle], fresh[:new], seen[middle:], fresh[new:]])

    def _fitted(
        self, estimator: Estimator, rows: Sequence[int], observed: Sequence[Observations]
    ) -> list[RowResult]:
        """Fit rows that share their sample; each takes its own columns of the estimate."""
        first = observed[0]
        if first.n_players < 2:
            return [self._settled(index, one) for index, one in zip(rows, observed, strict=True)]
        together = first
        if len(observed) > 1:
            together = Observations(
                first.sample,
                np.concatenate([one.values for one in observed], axis=1),
                np.concatenate([one.empty for one in observed]),
                np.concatenate([one.grand for one in observed]),
            )
        estimate = estimator.fit(together)
        width = first.empty.size
        return [
            self._result(index, one, estimate, np.arange(place * width, (place + 1) * width))
            for place, (index, one) in enumerate(zip(rows, observed, strict=True))
        ]

    def _settled(self, index: int, observed: Observations) -> RowResult:
        """No player or one that can matter: it gets everything."""
        values = np.zeros((self.active.shape[1], observed.empty.size))
        values[self.active[index]] = observed.total
        return RowResult(
            values,
            np.zeros_like(values),
            observed.empty,
            observed.grand,
            observed.n_evaluations,
            None,
            Diagnostics("exact"),
            None if self.tolerance is None else True,
        )

    def _result(self, index: int, observed: Observations, estimate: Estimate, columns: IntArray) -> RowResult:
        active = np.flatnonzero(self.active[index])

        def spread(found: FloatArray) -> FloatArray:
            out = np.zeros((self.active.shape[1], len(columns)))
            out[active] = found[:, columns]
            return out

        errors = None if estimate.standard_errors is None else spread(estimate.standard_errors)
        return RowResult(
            values=spread(estimate.values),
            standard_errors=errors,
            empty=observed.empty,
            grand=observed.grand,
            n_evaluations=observed.n_evaluations,
            fitted=Fitted(estimate, active, columns),
            diagnostics=estimate.diagnostics,
            converged=self._converged(errors, observed.total),
        )

    def _converged(self, errors: FloatArray | None, total: FloatArray) -> bool | None:
        if self.tolerance is None or errors is None:
            return None
        return bool((errors.max(axis=0) <= self.tolerance * np.abs(total)).all())


def _observations(sample: Sample, seen: FloatArray) -> Observations:
    return Observations(sample, seen[2:], seen[0], seen[1])


def explain_rows(
    run: RowRun,
    plans: Mapping[int, Plan],
    n_outputs: int,
    *,
    separate: bool,
    advance: Callable[[int], None],
) -> list[RowResult]:
    """All rows in order; `separate` fits each alone, otherwise rows with one plan are fitted together."""
    sizes = run.active.sum(axis=1).tolist()
    groups: list[list[int]] = []
    open_groups: dict[int, list[int]] = {}
    for index, n_active in enumerate(sizes):
        limit = _rows_together(plans[n_active], n_outputs, separate)
        group = open_groups.get(n_active)
        if group is None or len(group) >= limit:
            group = open_groups[n_active] = []
            groups.append(group)
        group.append(index)
    results: dict[int, RowResult] = {}
    for group in groups:
        results.update(zip(group, run(group), strict=True))
        advance(sum(results[index].n_evaluations for index in group))
    return [results[index] for index in range(len(sizes))]


def _rows_together(plan: Plan, n_outputs: int, separate: bool) -> int:
    if separate or not isinstance(plan.estimator, _COLUMNWISE):
        return 1
    return max(1, _JOINT_BYTES // (8 * n_outputs * plan.n_evaluations))
