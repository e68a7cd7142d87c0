"""The benchmark: the games of the paper, a runner with resumable records, tables and figures."""

from polyshap.benchmark.data import load_instances
from polyshap.benchmark.records import Record, read_records
from polyshap.benchmark.run import Job, Plan, expected_seconds, run
from polyshap.benchmark.tasks import TASKS, Task, select_tasks

__all__ = [
    "TASKS",
    "Job",
    "Plan",
    "Record",
    "Task",
    "expected_seconds",
    "load_instances",
    "read_records",
    "run",
    "select_tasks",
]
