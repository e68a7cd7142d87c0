"""What the commands of `polyshap bench` do."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from polyshap.benchmark import compare as comparing
from polyshap.benchmark import runtime as timing
from polyshap.benchmark.cells import MARKS, CellKey, collect, judge
from polyshap.benchmark.cifar10 import compute_tables
from polyshap.benchmark.evidence import read_evidence
from polyshap.benchmark.figures import write_figures, write_runtime_figure
from polyshap.benchmark.locate import cache_folder
from polyshap.benchmark.methods import PAPER_METHODS, check_methods, is_available
from polyshap.benchmark.page import benchmark_page, page_figures
from polyshap.benchmark.paper import verdicts, write_tables
from polyshap.benchmark.records import read_records
from polyshap.benchmark.run import Plan, expected_seconds, run
from polyshap.benchmark.tasks import N_INSTANCES, select_tasks

__all__ = ["COMPARED_TASKS", "check", "cifar10", "compare", "page", "paper", "runtime"]

_CHECKED = ("polyshap-1", "polyshap-2", "polyshap-3", "polyshap-4", "permutation", "msr", "svarm")
_PAPER_SEED = 40
COMPARED_TASKS = ("Housing", "Adult", "ViT16", "Cancer", "NHANES")


def say(text: str) -> None:
    """A line to the reader."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def duration(seconds: float) -> str:
    """Seconds as a reader says them.

    >>> duration(200.0)
    '3 min'
    """
    for unit, size in (("h", 3600.0), ("min", 60.0)):
        if seconds >= 1.5 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(seconds, 1):.0f} s"


def paper(args: argparse.Namespace) -> int:
    """Run what is missing, then write tables and figures."""
    tasks = select_tasks(args.tasks)
    methods = _methods(args.methods, PAPER_METHODS)
    plan = Plan(
        tasks,
        methods,
        n_instances=2 if args.quick else args.instances,
        seeds=tuple(range(_PAPER_SEED, _PAPER_SEED + args.seeds)),
        seeding="shared" if args.shared_seed else "own",
        budgets="quick" if args.quick else args.budgets,
    )
    records = _run(plan, args)
    cells = collect(record for record in read_records(records) if record.seeding == plan.seeding)
    paths = write_tables(cells, tasks, methods, args.out)
    if not args.no_figures:
        paths += write_figures(cells, tasks, args.out / "figures")
    counts = {mark: len(keys) for mark, keys in verdicts(cells, tasks).items()}
    say("Table cells: " + ", ".join(f"{count} {MARKS[mark]} {mark}" for mark, count in counts.items()))
    say(
        f"Written: {', '.join(map(str, paths[:4]))}" + (f" and {len(paths) - 4} figures" if paths[4:] else "")
    )
    return 0


def check(args: argparse.Namespace) -> int:
    """The cells of the paper's tables over several shared seeds; 1 if one lies outside."""
    tasks = select_tasks(args.tasks)
    plan = Plan(
        tasks,
        _methods(args.methods, _CHECKED),
        seeds=tuple(range(args.seeds)),
        seeding="shared",
        budgets="table",
    )
    records = _run(plan, args)
    cells = collect(record for record in read_records(records) if record.seeding == "shared")
    wanted = {(task.name, method, paired, task.table_budget)
              for task in tasks for method in plan.methods for paired in plan.paired}  # fmt: skip
    outside: list[CellKey] = []
    for key, cell in cells.items():
        if key not in wanted or cell.skipped:
            continue
        mark, z = judge(key, cell)
        task, method, paired, budget = key
        position = "" if z is None else f"{z:+.1f} sd"
        mode = "paired" if paired else "standard"
        say(f"{task:11}{budget:6} {mode:9}{method:12}{cell.geometric_mean:10.3e} {position:>9} {MARKS[mark]}")
        outside += [key] if mark == "outside" else []
    say(f"{len(outside)} cells outside three standard deviations.")
    return 1 if outside else 0


def runtime(args: argparse.Namespace) -> int:
    """Time the stages, fit the lines, write CSV and figure."""
    tasks = [task.name for task in select_tasks(args.tasks or timing.RUNTIME_TASKS)]
    methods = _methods(args.methods, timing.RUNTIME_METHODS)
    timings = list(
        timing.measure(tasks, methods, n_instances=args.instances, live=not args.no_live, progress=say)
    )
    timing.write_timings(timings, args.out / "runtime.csv")
    lines = timing.fit_lines(timings)
    for line in lines:
        say(
            f"{line.game:11}{line.method:15}{line.slope * 1e3:9.3f} s per 1000 evaluations, "
            f"R^2 {line.r_squared:.3f}, {line.evaluation_share:.0%} of it in the game"
        )
    paths = write_runtime_figure(timings, lines, args.out / "runtime")
    say(f"Written: {args.out / 'runtime.csv'}, {', '.join(map(str, paths))}")
    return 0


def compare(args: argparse.Namespace) -> int:
    """Our estimators against those of installed packages."""
    tasks = select_tasks(args.tasks or COMPARED_TASKS)
    methods = _methods(
        args.methods, ("leverageshap", "polyshap-3", "regression-msr", "permutation", "adaptive")
    )
    others = comparing.installed_others()
    missing = sorted({package for label, (package, _) in comparing.OTHERS.items() if label not in others})
    if missing:
        say(f"Not installed and left out: {', '.join(missing)}. `pip install {' '.join(missing)}` adds them.")
    rows = list(comparing.compare(tasks, methods, n_instances=args.instances, progress=say))
    comparing.write_comparison(rows, args.out / "compare.csv")
    (args.out / "compare.md").write_text(comparing.comparison_markdown(rows), encoding="utf-8")
    say(f"Written: {args.out / 'compare.csv'}, {args.out / 'compare.md'}")
    return 0


def page(args: argparse.Namespace) -> int:
    """Write the benchmark page of the documentation."""
    found = read_evidence(args.records, check=args.check, runtime=args.runtime)
    paths = [args.out]
    args.out.parent.mkdir(parents=True, exist_ok=True)
    figures = {}
    if not args.no_figures:
        figures = page_figures(found, args.figures or args.out.parent / "assets")
        paths += figures.values()
    links = {name: os.path.relpath(path, args.out.parent) for name, path in figures.items()}
    args.out.write_text(benchmark_page(found, links), encoding="utf-8")
    say(f"Written: {', '.join(map(str, paths))}")
    return 0


def cifar10(args: argparse.Namespace) -> int:
    """Compute the tables of the CIFAR-10 game."""
    folder = args.out or cache_folder() / "games" / "cifar10"
    compute_tables(
        args.model,
        args.data,
        folder,
        n_instances=args.instances,
        device=args.device,
        batch_size=args.batch_size,
        progress=say,
    )
    if args.instances == N_INSTANCES:
        say(f"Now `polyshap bench paper --tasks CIFAR10` uses the tables in {folder}.")
    return 0


def _methods(given: tuple[str, ...] | None, usual: tuple[str, ...]) -> tuple[str, ...]:
    if given is not None:
        return check_methods(given)
    absent = [name for name in usual if not is_available(name)]
    if absent:
        say(f"Not available here and left out: {', '.join(absent)}.")
    return tuple(name for name in usual if name not in absent)


def _run(plan: Plan, args: argparse.Namespace) -> Path:
    """Say how long it takes, run what is missing; the file of records."""
    records: Path = args.records or args.out / "records.jsonl"
    seconds = expected_seconds(plan, records, args.jobs)
    processes = f"{args.jobs} process{'es' if args.jobs > 1 else ''}"
    say(f"About {duration(seconds)} with {processes}; records in {records}.")
    written = run(plan, records, n_jobs=args.jobs)
    say(f"{written} records written.")
    return records
