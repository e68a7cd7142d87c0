"""The instances of a task: one game with an output for each of them, and their exact values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from polyshap._types import BoolMatrix, FloatArray
from polyshap.benchmark.locate import find_file
from polyshap.benchmark.tasks import N_INSTANCES, TASKS, Task
from polyshap.errors import ArgumentError, MissingDataError
from polyshap.execution.evaluate import GameFunction
from polyshap.games.tables import TableGame, load_table
from polyshap.games.tree_models import load_forest
from polyshap.games.trees import TreeEnsemble, TreeGame, tree_shapley_values

__all__ = ["Instances", "load_instances"]


@dataclass(frozen=True, eq=False)
class Instances:
    """The instances of a task.

    Attributes
    ----------
    exact : ndarray, shape (n_instances, n_players)
    game : callable
        Instance numbers -> their game, with one output each.
    """

    exact: FloatArray
    game: Callable[[Sequence[int]], GameFunction]

    @property
    def n_players(self) -> int:
        return len(self.exact[0])

    def __len__(self) -> int:
        return len(self.exact)


@dataclass(frozen=True, eq=False)
class _Columns:
    """Some outputs of a table of all values, kept (m, n_outputs) even for one."""

    table: TableGame
    columns: Sequence[int]

    @property
    def n_players(self) -> int:
        return self.table.n_players

    def __call__(self, coalitions: BoolMatrix, /) -> FloatArray:
        return self.table(coalitions)[:, list(self.columns)]


@lru_cache(maxsize=2)
def load_instances(name: str, *, source: str = "auto") -> Instances:
    """The instances of a task.

    Parameters
    ----------
    name : str
    source : {"auto", "stored", "raw"}
        For the games of forests: the stored forest, or a forest fitted on the raw table as the paper
        does; "auto" takes the stored one where it is.
    """
    task = TASKS[name]
    if task.kind != "forest":
        return _stored_tables(task)
    if source not in ("auto", "stored", "raw"):
        raise ArgumentError(f"`source` must be 'auto', 'stored' or 'raw'. Got {source!r}.")
    if source != "raw":
        try:
            return _of_forest(*load_forest(find_file(f"forests/{name}.npz")))
        except MissingDataError:
            if source == "stored":
                raise
    from polyshap.benchmark.raw import fit_forest  # scikit-learn is needed for this alone

    return _of_forest(*fit_forest(name))


def _of_forest(ensemble: TreeEnsemble, rows: FloatArray) -> Instances:
    explained = rows[:N_INSTANCES]
    exact = tree_shapley_values(ensemble, explained)[:, :, 0]
    return Instances(exact, lambda chosen: TreeGame(ensemble, explained[list(chosen)]))


def _stored_tables(task: Task) -> Instances:
    files = [f"games/{task.name.lower()}/{number:02d}.npz" for number in range(1, N_INSTANCES + 1)]
    tables = [np.asarray(load_table(find_file(file)).table) for file in files]
    sizes = {TableGame(table).n_players for table in tables} - {task.n_players}
    if sizes:
        raise ArgumentError(
            f"The tables of {task.name} must be of {task.n_players} players. Got {min(sizes)} in "
            f"{find_file(files[0]).parent}."
        )
    joint = TableGame(np.stack(tables, axis=1))
    return Instances(joint.shapley_values().T, lambda chosen: _Columns(joint, tuple(chosen)))
