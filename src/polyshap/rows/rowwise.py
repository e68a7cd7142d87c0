"""Many rows of one model: observations and fits, row by row or together.

A row's values never depend on which other rows are explained. With a tolerance a row is observed in stages,
each twice the one before, along one design: the coalitions of an early stage are the first of the late ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

import numpy as np

from polyshap._threads import one_blas_thread
from polyshap._types import BoolMatrix, FloatArray, IntArray
from polyshap.errors import UNFINISHED, GameError, InterruptedRun, WorkerError
from polyshap.execution.evaluate import evaluate
from polyshap.execution.pools import Workers
from polyshap.execution.staged import extended
from polyshap.explanation import Fitted
from polyshap.results import Diagnostics, Estimate, Observations
from polyshap.rows.plans import Plan, extends, rows_together
from polyshap.rows.stages import both_ends, merged, observations

__all__ = ["Jobs", "Plan", "RowResult", "RowRun", "explain_rows", "leaving"]

# Bytes of values that an explanation keeps, to be refined later.
_KEPT_BYTES = 256 << 20


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
    observed: Observations | None = None


Observe = Callable[[Plan, Sequence[int], int, int], Iterator[tuple[int, FloatArray]]]


class Jobs(Protocol):
    """How rows are spread over workers."""

    def splits_rows(self, n_rows: int) -> bool: ...
    def inside(self, run: RowRun) -> RowRun: ...
    def explain(
        self, run: RowRun, plans: Sequence[Plan], rows: Sequence[int]
    ) -> Iterator[tuple[int, RowResult]]: ...
    def observer(self, run: RowRun, plans: Sequence[Plan]) -> Observe: ...


@dataclass(frozen=True, eq=False)
class RowRun:
    """How the rows of one call are explained; picklable when the model is.

    Attributes
    ----------
    game_of : callable
        Row number and players -> the game of these players, with outputs as columns.
    active : ndarray of bool, shape (n_rows, n_players)
        Who can matter; the others get 0.
    empty : ndarray, shape (n_outputs,), optional
        Value of the empty coalition where all rows have the same.
    tolerance : float, optional
        A row is done when its largest standard error is below this share of its range.
    workers : Workers, optional
        Over which the coalitions of a row are spread.
    seconds : float, optional
        For one call of the model, on workers.
    advance : callable, optional
        Told the row and the number of its coalitions that were just evaluated here.
    """

    game_of: Callable[[int, IntArray], Callable[[BoolMatrix], FloatArray]]
    active: BoolMatrix
    empty: FloatArray | None = None
    tolerance: float | None = None
    workers: Workers | None = None
    seconds: float | None = None
    advance: Callable[[int, int], None] | None = None

    def __call__(self, plan: Plan, rows: Sequence[int], observe: Observe | None = None) -> list[RowResult]:
        """Explain rows that share their plan: observed one by one, or by `observe`, and fitted together."""
        seen: dict[int, FloatArray] = {}
        results: dict[int, RowResult] = {}
        pending = list(rows)
        for before, count in zip((0, *plan.stages), plan.stages, strict=False):
            sample = plan.prefix(count)
            try:
                for index, fresh in (observe or self._observe)(plan, pending, before, count):
                    seen[index] = merged(plan, seen.get(index), fresh, before, count)
            except (*UNFINISHED, KeyboardInterrupt) as stop:
                complete = [index for index in pending if len(seen.get(index, ())) == len(sample) + 2]
                if complete:
                    observed = [observations(sample, seen[index]) for index in complete]
                    results.update(zip(complete, self._fitted(plan, complete, observed), strict=True))
                raise leaving(stop, plan, results, seen) from stop.__cause__
            found = self._fitted(plan, pending, [observations(sample, seen[i]) for i in pending])
            done = {index for index, one in zip(pending, found, strict=True) if one.converged is not False}
            results.update(zip(pending, found, strict=True))
            pending = [index for index in pending if index not in done]
            if not pending:
                break
        return [results[index] for index in rows]

    def _observe(
        self, plan: Plan, rows: Sequence[int], before: int, count: int
    ) -> Iterator[tuple[int, FloatArray]]:
        return ((index, self.fresh(plan, index, before, count)) for index in rows)

    def fresh(self, plan: Plan, index: int, before: int, count: int) -> FloatArray:
        """Values of pairs `before` to `count` of one row; in the first stage after those of both ends."""
        rows = np.arange(before, count)
        if plan.design.paired:
            rows = np.concatenate([rows, rows + len(plan.design) // 2])
        asked = plan.design.coalitions[rows]
        if not before:
            known = 0 if self.empty is None else 1
            asked = np.concatenate([both_ends(len(plan.players))[known:], asked])
        try:
            values = self._asked(index, self.game_of(index, plan.players), asked)
        except UNFINISHED as error:
            error.row = index
            error.observed = dict(zip([index], error.observed.values(), strict=False))
            raise
        if before or self.empty is None:
            return values
        return np.concatenate([self.empty[None], values])

    def _asked(
        self, index: int, game: Callable[[BoolMatrix], FloatArray], coalitions: BoolMatrix
    ) -> FloatArray:
        return evaluate(
            game,
            coalitions,
            batch_size=getattr(game, "batch_size", None),
            workers=self.workers,
            seconds=self.seconds,
            advance=None if self.advance is None else partial(self.advance, index),
        )

    def _fitted(self, plan: Plan, rows: Sequence[int], observed: Sequence[Observations]) -> list[RowResult]:
        """Fit rows that share their sample, one by itself as on a worker: there it has one BLAS thread."""
        with one_blas_thread() if len(rows) == 1 else nullcontext():
            return self._fit(plan, rows, observed)

    def _fit(self, plan: Plan, rows: Sequence[int], observed: Sequence[Observations]) -> list[RowResult]:
        """Each row takes its own columns of the estimate."""
        first = observed[0]
        if first.n_players < 2:
            return [self._settled(plan, one) for one in observed]
        if extends(plan.estimator):
            observed = [first := self._grown(plan, rows[0], first)]
        together = first
        if len(observed) > 1:
            together = Observations(
                first.sample,
                np.concatenate([one.values for one in observed], axis=1),
                np.concatenate([one.empty for one in observed]),
                np.concatenate([one.grand for one in observed]),
            )
        estimate = plan.estimator.fit(together)
        width = first.empty.size
        return [
            self._result(index, plan, one, estimate, np.arange(place * width, (place + 1) * width))
            for place, (index, one) in enumerate(zip(rows, observed, strict=True))
        ]

    def _grown(self, plan: Plan, index: int, observed: Observations) -> Observations:
        """An estimator that looks at the values before it asks for more: until it asks for none."""
        game, rng = self.game_of(index, plan.players), np.random.default_rng(plan.stream)
        try:
            return extended(plan.estimator, observed, plan.budget, rng, lambda z: self._asked(index, game, z))
        except UNFINISHED as error:
            error.row = index
            error.observed = dict(zip([index], error.observed.values(), strict=False))
            raise

    def _settled(self, plan: Plan, observed: Observations) -> RowResult:
        """No player or one that can matter: it gets everything."""
        values = np.zeros((self.active.shape[1], observed.empty.size))
        values[plan.players] = observed.total
        return RowResult(
            values,
            np.zeros_like(values),
            observed.empty,
            observed.grand,
            observed.n_evaluations,
            None,
            Diagnostics("exact"),
            None if self.tolerance is None else True,
            observed,
        )

    def _result(
        self, index: int, plan: Plan, observed: Observations, estimate: Estimate, columns: IntArray
    ) -> RowResult:
        active, shape = self.active[index], (self.active.shape[1], len(columns))
        values = np.zeros(shape)
        values[plan.players] = estimate.values[:, columns]
        # who cannot matter for this row but sits in a shared design: what the fit gave goes to the others
        values[active] += values[~active].sum(axis=0) / max(1, int(active.sum()))
        values[~active] = 0.0
        errors = None
        if estimate.standard_errors is not None:
            errors = np.zeros(shape)
            errors[plan.players] = estimate.standard_errors[:, columns]
            errors[~active] = 0.0
        return RowResult(
            values=values,
            standard_errors=errors,
            empty=observed.empty,
            grand=observed.grand,
            n_evaluations=observed.n_evaluations,
            fitted=Fitted(estimate, plan.players, columns),
            diagnostics=estimate.diagnostics,
            converged=self._converged(errors, observed.total),
            observed=observed,
        )

    def _converged(self, errors: FloatArray | None, total: FloatArray) -> bool | None:
        if self.tolerance is None or errors is None:
            return None
        return bool((errors.max(axis=0) <= self.tolerance * np.abs(total)).all())


def leaving(
    stop: GameError | WorkerError | InterruptedRun | KeyboardInterrupt,
    plan: Plan,
    results: Mapping[int, RowResult],
    seen: Mapping[int, FloatArray],
) -> GameError | WorkerError | InterruptedRun:
    """The exception with the rows that were finished, and what was observed of the others."""
    error = stop if isinstance(stop, UNFINISHED) else InterruptedRun("The run was interrupted.")
    error.results = {**error.results, **results}
    observed = dict(error.observed)
    for index in seen.keys() - error.results.keys():
        values, ends = seen[index], both_ends(len(plan.players))
        sample = plan.prefix((len(values) - 2) // (2 if plan.design.paired else 1))
        coalitions = np.concatenate([ends, sample.coalitions])
        if index in observed:
            coalitions = np.concatenate([coalitions, observed[index][0]])
            values = np.concatenate([values, observed[index][1]])
        observed[index] = coalitions, values
    error.observed = observed
    return error


def explain_rows(
    run: RowRun,
    plans: Sequence[Plan],
    n_outputs: int,
    advance: Callable[[int], None],
    jobs: Jobs | None = None,
) -> list[RowResult]:
    """All rows in order, each with its plan; rows of one plan are fitted together where columns are alone.

    `advance` hears of evaluations as they are made, and of those that a row could do without when it is
    done, so that the time left is foreseen. What goes wrong carries the rows that were finished.
    """
    groups: list[list[int]] = []
    open_groups: dict[int, list[int]] = {}
    for index, plan in enumerate(plans):
        group = open_groups.get(id(plan))
        if group is None or len(group) >= rows_together(plan, n_outputs):
            group = open_groups[id(plan)] = []
            groups.append(group)
        group.append(index)
    results: dict[int, RowResult] = {}
    heard = [0] * len(plans)

    def hear(index: int, n_evaluations: int) -> None:
        heard[index] += n_evaluations
        advance(n_evaluations)

    try:
        left = _KEPT_BYTES
        for index, result in _in_groups(replace(run, advance=hear), plans, groups, jobs):
            left -= 0 if result.observed is None else result.observed.values.nbytes
            results[index] = result if left > 0 else replace(result, observed=None)
            hear(index, max(0, plans[index].most_evaluations - heard[index]))
    except (*UNFINISHED, KeyboardInterrupt) as stop:
        raise leaving(stop, plans[0], results, {}) from stop.__cause__
    return [results[index] for index in range(len(plans))]


def _in_groups(
    run: RowRun, plans: Sequence[Plan], groups: Sequence[Sequence[int]], jobs: Jobs | None
) -> Iterator[tuple[int, RowResult]]:
    """Rows as they are done: here, or where `jobs` says."""
    if jobs is not None and jobs.splits_rows(len(plans)):
        run, jobs = jobs.inside(run), None
    if jobs is None:
        for group in groups:
            yield from zip(group, run(plans[group[0]], group), strict=True)
        return
    run = replace(run, advance=None)  # it stays here
    yield from jobs.explain(run, plans, [group[0] for group in groups if len(group) == 1])
    observe = jobs.observer(run, plans)
    for group in groups:
        if len(group) > 1:
            yield from zip(group, run(plans[group[0]], group, observe), strict=True)
