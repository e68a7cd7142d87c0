"""Background rows that are observed first, to learn from them what all rows share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from polyshap._types import FloatArray
from polyshap.errors import UNFINISHED
from polyshap.results import Observations
from polyshap.rows.jobs import RowJobs
from polyshap.rows.plans import Plan
from polyshap.rows.rowwise import RowRun, leaving
from polyshap.rows.stages import observations

__all__ = ["Pilots"]

Advance = Callable[[int], None]


@dataclass(frozen=True, eq=False)
class Pilots:
    """Rows of which both ends and the first `n_pairs` pairs of a plan are observed."""

    run: RowRun
    plan: Plan
    n_pairs: int

    def observed(self, n_rows: int, jobs: RowJobs | None, advance: Advance | None) -> list[Observations]:
        """Their observations; `advance` hears of every call, wherever it is made."""
        seen: dict[int, FloatArray] = {}
        try:
            seen.update(self._asked(n_rows, jobs, advance))
        except (*UNFINISHED, KeyboardInterrupt) as stop:
            error = leaving(stop, self.plan, {}, seen)
            error.add_note(
                "Parameters were being learned from background rows: `row` and `observed` count those."
            )
            raise error from stop.__cause__
        return [observations(self.plan.prefix(self.n_pairs), seen[row]) for row in range(n_rows)]

    def _asked(
        self, n_rows: int, jobs: RowJobs | None, advance: Advance | None
    ) -> Iterator[tuple[int, FloatArray]]:
        """Rows with their values, as they are done: here, or where `jobs` says."""
        rows, heard = range(n_rows), [0] * n_rows

        def hear(row: int, n_evaluations: int) -> None:
            heard[row] += n_evaluations
            if advance is not None:
                advance(n_evaluations)

        if jobs is not None and not jobs.splits_rows(n_rows):
            found = jobs.observer(self.run, [self.plan] * n_rows)(self.plan, rows, 0, self.n_pairs)
        else:
            run = replace(self.run if jobs is None else jobs.inside(self.run), advance=hear)
            found = ((row, run.fresh(self.plan, row, 0, self.n_pairs)) for row in rows)
        for row, values in found:
            hear(row, len(values) - heard[row])
            yield row, values
