"""The runner: every (task, method, budget, seed, instance) once, in parallel, into a file of records."""

from __future__ import annotations

import signal
import warnings
import zlib
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import as_completed
from dataclasses import dataclass, replace
from os import PathLike
from typing import Literal

import numpy as np
from threadpoolctl import threadpool_limits

import polyshap
from polyshap._types import FloatArray
from polyshap.benchmark.cost import seconds_of
from polyshap.benchmark.data import load_instances
from polyshap.benchmark.methods import build_method, check_methods, skip_reason
from polyshap.benchmark.metrics import mean_squared_error, normalised_error, precision_at, spearman
from polyshap.benchmark.records import Key, Record, RecordFile
from polyshap.benchmark.tasks import N_INSTANCES, Task, check_instances, get_task
from polyshap.errors import ArgumentError, PolyshapWarning
from polyshap.execution.progress import ProgressCallback, track

__all__ = ["Job", "Plan", "Seeding", "expected_seconds", "run"]

Seeding = Literal["own", "shared"]


@dataclass(frozen=True)
class Job:
    """One estimate of one or several instances: with own seeds one, with a shared seed all at once."""

    task: str
    method: str
    paired: bool
    budget: int
    seed: int
    seeding: Seeding
    instances: tuple[int, ...]

    @property
    def keys(self) -> tuple[Key, ...]:
        """The keys of its records."""
        head = (self.method, self.paired, self.budget, self.seed, self.seeding)
        return tuple((self.task, instance, *head) for instance in self.instances)

    def generator(self) -> np.random.Generator:
        """Depends on seed, task, budget and instance, not on the method: methods share coalitions.

        A shared seed is used as it is, as in the paper: all instances get the same coalitions.
        """
        if self.seeding == "shared":
            return np.random.default_rng(self.seed)
        return np.random.default_rng(
            [self.seed, zlib.crc32(self.task.encode()), self.budget, self.instances[0]]
        )


@dataclass(frozen=True)
class Plan:
    """What to run: the product of everything, in the order of the tasks.

    Attributes
    ----------
    tasks : tuple of Task
    methods : tuple of str
        Names of estimators.
    paired : tuple of bool
    n_instances : int
        The first so many of the 30.
    seeds : tuple of int
    seeding : {"own", "shared"}
        Whether each instance draws its own coalitions or all share one seed, as in the paper.
    budgets : "all", "quick", "table" or tuple of int
        All ten budgets of a task, four of them, the one of its column in the paper's tables, or positions.
    """

    tasks: tuple[Task, ...]
    methods: tuple[str, ...]
    paired: tuple[bool, ...] = (True, False)
    n_instances: int = N_INSTANCES
    seeds: tuple[int, ...] = (40,)
    seeding: Seeding = "own"
    budgets: Literal["all", "quick", "table"] | tuple[int, ...] = "all"

    def __post_init__(self) -> None:
        check_methods(self.methods)
        for task in self.tasks:
            get_task(task.name)
        check_instances(self.n_instances)
        for name in ("tasks", "methods", "paired", "seeds"):
            if not getattr(self, name):
                raise ArgumentError(f"`{name}` must hold at least one entry. Got none.")
        if self.seeding not in ("own", "shared"):
            raise ArgumentError(f"`seeding` must be 'own' or 'shared'. Got {self.seeding!r}.")

    def budgets_of(self, task: Task) -> tuple[int, ...]:
        """The budgets of one task."""
        match self.budgets:
            case "all":
                return task.budgets
            case "quick":
                return tuple(sorted({*task.budgets[1:6:2], task.table_budget}))
            case "table":
                return (task.table_budget,)
            case positions:
                return tuple(task.budgets[position] for position in positions)

    def jobs(self) -> Iterator[Job]:
        """Every job."""
        groups: list[tuple[int, ...]] = (
            [tuple(range(self.n_instances))]
            if self.seeding == "shared"
            else [(instance,) for instance in range(self.n_instances)]
        )
        for task in self.tasks:
            for seed in self.seeds:
                for budget in self.budgets_of(task):
                    for method in self.methods:
                        for paired in self.paired:
                            for group in groups:
                                yield Job(task.name, method, paired, budget, seed, self.seeding, group)


def run(
    plan: Plan | Iterable[Job],
    path: str | PathLike[str],
    *,
    n_jobs: int = 1,
    progress: bool | ProgressCallback | None = None,
) -> int:
    """Compute what the file does not hold yet; the number of records written.

    Parameters
    ----------
    plan : Plan or iterable of Job
    path : path
        The file of records, one JSON line each. A line cut by an interruption is repaired, and a record
        that is there is not computed again.
    n_jobs : int
        Processes; the records do not depend on it, only their order in the file does.
    progress : bool or callable, optional
        A bar with the time left, by default on a terminal, or callback(seconds done, seconds in all).
    """
    _check_jobs(n_jobs)
    with RecordFile.open(path) as file:
        jobs = _missing(plan.jobs() if isinstance(plan, Plan) else plan, file.keys)
        total = round(sum(map(seconds_of_job, jobs)) * 1000)
        written = 0
        with track(total, progress, unit="ms") as advance:
            for job, records in _results(jobs, n_jobs):
                fresh = [record for record in records if record.key not in file.keys]
                file.append(fresh)
                written += len(fresh)
                advance(round(seconds_of_job(job) * 1000))
    return written


def expected_seconds(plan: Plan | Iterable[Job], path: str | PathLike[str], n_jobs: int = 1) -> float:
    """About how long `run` will take for what the file does not hold yet."""
    _check_jobs(n_jobs)
    with RecordFile.open(path) as file:
        jobs = _missing(plan.jobs() if isinstance(plan, Plan) else plan, file.keys)
    return sum(map(seconds_of_job, jobs)) / n_jobs


def _check_jobs(n_jobs: int) -> None:
    if n_jobs < 1:
        raise ArgumentError(f"`n_jobs` must be at least 1. Got {n_jobs}.")


def seconds_of_job(job: Job) -> float:
    """Expected seconds of a job on one core; next to nothing where it will be skipped."""
    task = get_task(job.task)
    if skip_reason(job.method, job.paired, task.n_players, job.budget):
        return 1e-4
    return seconds_of(task, job.method, job.paired, job.budget, len(job.instances))


def execute(job: Job) -> list[Record]:
    """The records of one job."""
    task = get_task(job.task)
    blank = [
        Record(
            job.task,
            instance,
            job.method,
            job.paired,
            job.budget,
            job.seed,
            job.seeding,
            polyshap.__version__,
        )
        for instance in job.instances
    ]
    reason = skip_reason(job.method, job.paired, task.n_players, job.budget)
    if reason is not None:
        return [replace(record, skipped=reason) for record in blank]
    instances = load_instances(job.task)
    estimator = build_method(job.method, job.paired)
    assert estimator is not None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PolyshapWarning)
        estimate = polyshap.estimate(
            instances.game(job.instances),
            task.n_players,
            job.budget,
            estimator,
            random_state=job.generator(),
        )
    seconds = {stage: time / len(blank) for stage, time in estimate.diagnostics.seconds.items()}
    return [
        replace(
            record,
            n_evaluations=estimate.n_evaluations,
            seconds=seconds,
            values=tuple(estimate.values[:, column].tolist()),
            metrics=measure(estimate.values[:, column], instances.exact[record.instance]),
            warnings=estimate.diagnostics.warnings,
        )
        for column, record in enumerate(blank)
    ]


def measure(values: FloatArray, exact: FloatArray) -> dict[str, float]:
    """The metrics of a record."""
    return {
        "mse": mean_squared_error(values, exact),
        "normalised_mse": normalised_error(values, exact),
        "precision_at_5": precision_at(values, exact),
        "spearman": spearman(values, exact),
    }


def _missing(jobs: Iterable[Job], keys: frozenset[Key]) -> list[Job]:
    return [job for job in jobs if not keys.issuperset(job.keys)]


def _results(jobs: Sequence[Job], n_jobs: int) -> Iterator[tuple[Job, list[Record]]]:
    """Jobs with their records as they finish; a failure or an interruption stops the processes at once."""
    if n_jobs == 1:
        for job in jobs:
            with threadpool_limits(1):
                records = execute(job)
            yield job, records
        return
    from loky import ProcessPoolExecutor

    executor = ProcessPoolExecutor(max_workers=n_jobs, initializer=_prepare_worker)
    try:
        waiting = {executor.submit(execute, job): job for job in _longest_first(jobs)}
        for future in as_completed(waiting):
            yield waiting[future], future.result()
    except BaseException:
        executor.shutdown(wait=False, kill_workers=True)
        raise
    executor.shutdown()


def _longest_first(jobs: Sequence[Job]) -> list[Job]:
    """Whole tasks, the costliest first, so that no process works on alone at the end."""
    cost: dict[str, float] = {}
    for job in jobs:
        cost[job.task] = cost.get(job.task, 0.0) + seconds_of_job(job)
    return sorted(jobs, key=lambda job: -cost[job.task])


def _prepare_worker() -> None:
    """One thread a process, and Ctrl-C is for the parent alone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threadpool_limits(1)
