"""What the benchmark page rests on: the records of two commands and the times of a third."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from polyshap.benchmark.cells import Cell, CellKey, collect
from polyshap.benchmark.records import Record, read_records
from polyshap.benchmark.runtime import Timing, read_timings
from polyshap.benchmark.tasks import TASKS, Task
from polyshap.errors import ArgumentError

__all__ = ["Evidence", "read_evidence", "same_instances"]


@dataclass(frozen=True, eq=False)
class Evidence:
    """Records, their cells, and times.

    Attributes
    ----------
    records : sequence of Record
        Of `polyshap bench paper`: several budgets, the curves.
    cells : mapping
        Of these records.
    checked : mapping
        Cells of `polyshap bench check`: one budget a game, 30 instances, several seeds; empty without it.
    timings : sequence of Timing
    """

    records: Sequence[Record]
    cells: Mapping[CellKey, Cell]
    checked: Mapping[CellKey, Cell]
    timings: Sequence[Timing]

    @property
    def tasks(self) -> list[Task]:
        """The games that the records are of, in the order of the table of tasks."""
        names = {record.task for record in self.records}
        return [task for task in TASKS.values() if task.name in names]

    @property
    def compared(self) -> Mapping[CellKey, Cell]:
        """What to hold against published numbers: the cells over several seeds where there are any."""
        return self.checked or self.cells


def read_evidence(records: Path, *, check: Path | None = None, runtime: Path | None = None) -> Evidence:
    """Everything from its files."""
    found = list(read_records(records))
    if not found:
        raise ArgumentError(f"`records` must hold at least one record. Got none in {records}.")
    checked = collect(read_records(check)) if check is not None else {}
    return Evidence(found, collect(found), checked, read_timings(runtime) if runtime is not None else [])


def same_instances(records: Iterable[Record], methods: Sequence[str], paired: bool) -> dict[CellKey, Cell]:
    """Cells at the tables' budgets over the instances and seeds that all methods with an answer share."""
    chosen = [
        record
        for record in records
        if record.method in methods
        and record.paired == paired
        and record.skipped is None
        and record.budget == TASKS[record.task].table_budget
    ]
    seen: dict[str, dict[str, set[tuple[int, int]]]] = {}
    for record in chosen:
        by_method = seen.setdefault(record.task, {})
        by_method.setdefault(record.method, set()).add((record.instance, record.seed))
    common = {task: set.intersection(*by_method.values()) for task, by_method in seen.items()}
    return collect(record for record in chosen if (record.instance, record.seed) in common[record.task])
