"""Records of one cell (task, method, paired, budget) summed up and held against the published figures."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from polyshap.benchmark.metrics import Summary, summarise
from polyshap.benchmark.published import Figure, published, tolerance
from polyshap.benchmark.records import Record
from polyshap.benchmark.tasks import N_INSTANCES

__all__ = ["MARKS", "Cell", "CellKey", "Mark", "collect", "judge"]

CellKey = tuple[str, str, bool, int]  # task, method, paired, budget
Mark = Literal["inside", "outside", "better", "open"]

MARKS: Mapping[Mark, str] = {"inside": "✓", "outside": "✗", "better": "▼", "open": "·"}

# Deviations allowed, and the spread taken where none was measured: that of the widest cell of section 3.
N_SD = 3.0
_DEFAULT_SD = 0.45
_ENOUGH_SEEDS = 5


@dataclass(frozen=True, eq=False)
class Cell:
    """The records of one cell.

    Attributes
    ----------
    metrics : mapping of str to Summary
        Over all instances and seeds.
    seed_means : tuple of float
        The mean squared error over the instances, one for each seed.
    shared : bool
        Whether all instances of a seed had the same coalitions, as in the published runs.
    n_instances : int
    skipped : str, optional
        The reason, where nothing was computed.
    """

    metrics: Mapping[str, Summary]
    seed_means: tuple[float, ...]
    shared: bool
    n_instances: int
    seconds: float
    skipped: str | None

    @property
    def geometric_mean(self) -> float:
        """Of the means of the seeds."""
        return float(np.exp(np.mean(np.log(self.seed_means)))) if min(self.seed_means) > 0 else 0.0


def collect(records: Iterable[Record]) -> dict[CellKey, Cell]:
    """All cells of the records."""
    groups: dict[CellKey, list[Record]] = {}
    for record in records:
        groups.setdefault((record.task, record.method, record.paired, record.budget), []).append(record)
    return {key: _cell(group) for key, group in groups.items()}


def _cell(group: list[Record]) -> Cell:
    done = [record for record in group if record.skipped is None]
    if not done:
        return Cell({}, (), False, 0, 0.0, group[0].skipped)
    metrics = {name: summarise([record.metrics[name] for record in done]) for name in sorted(done[0].metrics)}
    by_seed: dict[int, list[float]] = {}
    for record in done:
        by_seed.setdefault(record.seed, []).append(record.metrics["mse"])
    seconds = float(np.mean([sum(record.seconds.values()) for record in done]))
    n_instances = len({record.instance for record in done})
    means = tuple(float(np.mean(errors)) for errors in by_seed.values())
    shared = all(record.seeding == "shared" for record in done)
    return Cell(metrics, means, shared, n_instances, seconds, None)


def _own_sd(cell: Cell) -> float | None:
    """The spread over this cell's seeds, at least 0.1, if there are enough and they are as the published one.

    Where every instance draws its own coalitions the mean over them spreads much less than a published one.
    """
    if not cell.shared or len(cell.seed_means) < _ENOUGH_SEEDS or min(cell.seed_means) <= 0:
        return None
    return max(float(np.std(np.log(cell.seed_means), ddof=1)), 0.1)


def judge(key: CellKey, cell: Cell) -> tuple[Mark, float | None]:
    """How a cell compares with the published one, and its distance in standard deviations.

    The reference is the geometric mean over 20 seeds where it was measured, else the published
    measurement; the standard deviation is that of the logarithm of a mean over 30 instances, measured for
    the authors' code, else over the seeds of the cell, else that of 1-PolySHAP. Partial
    frontiers of the paper were drawn without a seed, and with fewer instances nothing follows.
    """
    method = key[1]
    if cell.skipped or cell.n_instances < N_INSTANCES or "%" in method or method.endswith("log"):
        return "open", None
    reference, sd = _reference(key, cell)
    if reference is None or reference.mean <= 0 or cell.geometric_mean <= 0:
        return "open", None
    z = math.log(cell.geometric_mean / reference.mean) / sd
    return ("better" if z < -N_SD else "outside" if z > N_SD else "inside"), z


def _reference(key: CellKey, cell: Cell) -> tuple[Figure | None, float]:
    task, method, paired, budget = key
    measured = tolerance(paired, task, budget, method)
    if measured is not None and measured.sd is not None:
        return measured, measured.sd
    nearby = tolerance(paired, task, budget, "polyshap-1")
    sd = _own_sd(cell) or (nearby.sd if nearby is not None else None) or _DEFAULT_SD
    # the published measurement is one draw, ours a mean over seeds: their variances add
    sd *= math.sqrt(1 + 1 / len(cell.seed_means))
    return published().get(("csv", paired, task, budget, method)), sd
