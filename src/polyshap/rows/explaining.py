"""Rows explained with what was prepared from model and background: the second half of `explain`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from polyshap._types import FloatArray
from polyshap.errors import UNFINISHED, ArgumentError, GameError, InterruptedRun, WorkerError
from polyshap.execution.options import Execution
from polyshap.execution.progress import track
from polyshap.explanation import Explanation
from polyshap.results import Observations
from polyshap.rows.assembly import assemble
from polyshap.rows.effort import checked_effort
from polyshap.rows.jobs import RowJobs
from polyshap.rows.outfit import games_of, outfitted
from polyshap.rows.planning import Planner
from polyshap.rows.plans import Plan, plan_for
from polyshap.rows.prepared import Prepared, Task
from polyshap.rows.refining import KnownGames, refined_plan
from polyshap.rows.rowwise import RowRun, explain_rows
from polyshap.rows.sharing import should_share

__all__ = ["checked_sharing", "explain_prepared"]

Shared = TypeVar("Shared", bound=bool | Plan | None)


def explain_prepared(
    prepared: Prepared,
    X: Any,
    *,
    budget: int | str = "auto",
    tolerance: float | None = None,
    execution: Execution | None = None,
    shared: bool | Plan | None = None,
    independent_designs: bool = False,
    observed: Sequence[Observations] | None = None,
    call: str | None = None,
) -> Explanation:
    """Explain rows; the options are those of `polyshap.explain`, checked before the model is asked."""
    started = time.perf_counter()
    n_calls, tolerance = checked_effort(budget, tolerance, prepared)
    options = Execution() if execution is None else execution
    options.check()
    table = prepared.align(X)
    shared = checked_sharing(shared, independent_designs=independent_designs)
    if shared is None:
        shared = should_share(len(table), n_calls)
    blind = bool(shared) and len(prepared.background) == 1
    planner = Planner(prepared, n_calls, tolerance, without_learning=blind)
    planner.plan(np.arange(len(prepared.players)))  # what is wrong with budget and estimator shows here
    kept = options.store(prepared.model.function, prepared.model.name)
    ready = outfitted(prepared, options)
    with kept as store, options.workers() as workers:
        jobs = None if workers is None else RowJobs(workers, options.timeout)
        planner = replace(planner, prepared=ready, games_of=games_of(ready, store), jobs=jobs)
        task = planner.bind(table)
        planner, unlearned = _with_shared(planner, shared)
        pilot_evaluations = 0 if unlearned is None else planner.pilot_calls(unlearned)
        digests = task.digests() if independent_designs else [None] * len(table)
        plans = [planner.plan_row(row, digest) for row, digest in zip(task.active, digests, strict=True)]
        games = planner.games_of(task)
        if observed is not None:
            plans, games = _refined(plans, observed), KnownGames(games, observed)
        run = RowRun(games, task.active, task.empty, tolerance)
        details = _details(planner, task, call)
        n_calls_at_most = pilot_evaluations + sum(plan.most_evaluations for plan in plans)
        try:
            with track(n_calls_at_most, options.progress) as advance:
                if unlearned is not None:
                    learned = planner.learned(unlearned, advance)
                    planner = replace(planner, shared=learned)
                    plans = [learned if plan is unlearned else plan for plan in plans]
                results = explain_rows(run, plans, task.n_outputs, advance, jobs)
        except UNFINISHED as error:
            _explain_finished(error, ready, task, details)
            raise
    seconds = {"total": time.perf_counter() - started}
    found = assemble(ready, task, results, details=details, seconds=seconds)
    found = replace(found, pilot_evaluations=pilot_evaluations)
    values = [one.observed for one in results if one.observed is not None]
    if len(values) < len(results):  # more than is kept
        return found
    again = _Again(prepared, X, n_calls, options, planner.shared or False, independent_designs, values, found)
    return replace(found, again=again)


def checked_sharing(shared: Shared, *, independent_designs: bool) -> Shared | bool:
    """Whether rows share parameters, as far as it was said; rows with designs of their own do not."""
    if shared and independent_designs:
        raise ArgumentError(
            "`shared` must be left out beside `independent_designs`, where each row learns for itself. "
            f"Got {shared!r}."
        )
    return False if independent_designs else shared


def _with_shared(planner: Planner, shared: bool | Plan) -> tuple[Planner, Plan | None]:
    """With the plan that rows share, and that plan once more if its parameters are still to be learned."""
    if isinstance(shared, Plan):
        if shared.budget != planner.budget:  # a design of the new size for what was learned
            shared = plan_for(shared.estimator, shared.players, planner.budget, planner.prepared.seed)
        return replace(planner, shared=shared), None
    unlearned = planner.to_share() if shared else None
    return replace(planner, shared=unlearned), unlearned


def _details(planner: Planner, task: Task, call: str | None) -> dict[str, float | str | FloatArray]:
    """What the diagnostics say about the whole run."""
    found: dict[str, float | str | FloatArray] = {
        "model": planner.prepared.model.name,
        "budget": float(planner.budget),
        "random_state": float(planner.prepared.seed),
        "n_background": float(task.games.n_fills),
        "parameters": "shared" if planner.shared is not None else "own",
    }
    if planner.tolerance is not None:
        found["tolerance"] = planner.tolerance
    if call is not None:
        found["call"] = call
    return found


@dataclass(frozen=True, eq=False)
class _Again:
    """The same rows with a larger budget: what `Explanation.refine` calls."""

    prepared: Prepared
    X: Any
    budget: int
    execution: Execution
    shared: bool | Plan
    independent_designs: bool
    observed: Sequence[Observations]
    found: Explanation

    def __call__(self, budget: int) -> Explanation:
        if budget < self.budget:
            raise ArgumentError(f"`budget` must be at least that of before, {self.budget}. Got {budget}.")
        call = self.found.diagnostics.details.get("call")
        more = explain_prepared(
            self.prepared,
            self.X,
            budget=budget,
            execution=self.execution,
            shared=self.shared,
            independent_designs=self.independent_designs,
            observed=self.observed,
            call=None if call is None else f"{call}.refine({budget})",
        )
        return replace(more, pilot_evaluations=self.found.pilot_evaluations)


def _refined(plans: Sequence[Plan], observed: Sequence[Observations]) -> list[Plan]:
    """Plans with the pairs observed before; rows that share both share the new one."""
    made: dict[tuple[int, int], Plan] = {}
    for plan, one in zip(plans, observed, strict=True):
        made.setdefault((id(plan), id(one.sample)), refined_plan(plan, one))
    return [made[id(plan), id(one.sample)] for plan, one in zip(plans, observed, strict=True)]


def _explain_finished(
    error: GameError | WorkerError | InterruptedRun,
    prepared: Prepared,
    task: Task,
    details: dict[str, float | str | FloatArray],
) -> None:
    """The rows that were done before a run ended, as an explanation on its exception."""
    error.finished_rows = rows = tuple(sorted(error.results))
    if rows:
        done = [error.results[row] for row in rows]
        error.explanation = assemble(prepared, task, done, details=details, seconds={}, rows=np.array(rows))
