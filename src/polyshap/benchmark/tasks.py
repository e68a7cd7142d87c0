"""The games of the benchmark: a table of the 15 games of the paper."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import comb, log10
from types import MappingProxyType
from typing import Literal

import numpy as np

from polyshap.errors import ArgumentError

__all__ = ["N_INSTANCES", "TASKS", "Task", "check_instances", "get_task", "nearest", "select_tasks"]

Kind = Literal["forest", "table", "images"]

N_INSTANCES = 30


@dataclass(frozen=True)
class Task:
    """One game of the benchmark with its 30 instances.

    Attributes
    ----------
    name : str
    n_players : int
    kind : {"forest", "table", "images"}
        A random forest on a public table (path-dependent game of a test row), a stored table of all
        values, or a live image model whose values are stored once computed.
    source : str
        What it is made of.
    """

    name: str
    n_players: int
    kind: Kind
    source: str

    @property
    def budgets(self) -> tuple[int, ...]:
        """The paper's ten budgets, log-spaced from n + 1 to min(2^n, 20000) and rounded.

        >>> TASKS["Housing"].budgets
        (9, 13, 19, 27, 40, 58, 84, 122, 176, 256)
        """
        ends = log10(self.n_players + 1), log10(min(2**self.n_players, 20_000))
        return tuple(np.round(np.logspace(*ends, 10)).astype(int).tolist())

    @property
    def table_budget(self) -> int:
        """The budget of the game's column in the paper's tables: enough for all terms up to an order.

        That order is 4 up to 20 players, 3 up to 40 and 2 beyond.
        """
        order = 4 if self.n_players <= 20 else 3 if self.n_players < 40 else 2
        terms = sum(comb(self.n_players, size) for size in range(order + 1))
        # published budgets were truncated, so the rounded one may be higher by one and still fit
        return min(budget for budget in self.budgets if budget >= terms)


_FOREST = "random forest (10 trees, depth 10) on {}"

TASKS: Mapping[str, Task] = MappingProxyType(
    {
        task.name: task
        for task in (
            Task("Housing", 8, "forest", _FOREST.format("California housing")),
            Task("ViT9", 9, "table", "vision transformer, 3 x 3 patches of ImageNet images"),
            Task("Bike", 12, "forest", _FOREST.format("bike sharing")),
            Task("Forest", 13, "forest", _FOREST.format("forest fires")),
            Task("Adult", 14, "forest", _FOREST.format("adult census")),
            Task("ResNet18", 14, "table", "ResNet18, 14 superpixels of ImageNet images"),
            Task("DistilBERT", 14, "table", "DistilBERT, 14 tokens of film reviews"),
            Task("Estate", 15, "forest", _FOREST.format("real estate valuation")),
            Task("ViT16", 16, "table", "vision transformer, 4 x 4 patches of ImageNet images"),
            Task("CIFAR10", 16, "images", "vision transformer, 8 x 8 pixels of CIFAR-10 images"),
            Task("Cancer", 30, "forest", _FOREST.format("breast cancer")),
            Task("CG60", 60, "forest", _FOREST.format("correlated groups")),
            Task("IL60", 60, "forest", _FOREST.format("independent linear data")),
            Task("NHANES", 79, "forest", _FOREST.format("NHANES I")),
            Task("Crime", 101, "forest", _FOREST.format("communities and crime")),
        )
    }
)


def get_task(name: str) -> Task:
    """The task of that name, in any case.

    >>> get_task("vit16").n_players
    16
    """
    for task in TASKS.values():
        if task.name.lower() == name.lower():
            return task
    raise ArgumentError(f"`tasks` must be among {', '.join(TASKS)}. Got {name!r}.{nearest(name, TASKS)}")


def select_tasks(names: Sequence[str] | None) -> tuple[Task, ...]:
    """The tasks of those names; the 14 that need no live model by default."""
    if names is None:
        return tuple(task for task in TASKS.values() if task.kind != "images")
    return tuple(dict.fromkeys(get_task(name) for name in names))


def check_instances(n_instances: int) -> int:
    """The number of instances asked for, if a task has so many."""
    if not 1 <= n_instances <= N_INSTANCES:
        raise ArgumentError(f"`n_instances` must lie in 1..{N_INSTANCES}. Got {n_instances}.")
    return n_instances


def nearest(name: str, known: Iterable[str]) -> str:
    """A hint with the names most like a wrong one, or nothing."""
    by_lower = {other.lower(): other for other in known}
    found = [by_lower[near] for near in difflib.get_close_matches(name.lower(), by_lower, n=3)]
    return f" Did you mean {' or '.join(map(repr, found))}?" if found else ""
