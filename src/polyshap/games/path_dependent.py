"""Trees without a background: absent features follow both branches, weighted by the training data.

The game of one row is `polyshap.games.trees.TreeGame`; here its features become players.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from polyshap._types import BoolMatrix, FloatArray, IntArray
from polyshap.errors import ArgumentTypeError
from polyshap.games.tree_models import read_trees
from polyshap.games.trees import TreeEnsemble, tree_game_values
from polyshap.tables.arrays import Table
from polyshap.tables.players import Players

__all__ = ["PathDependent", "PathDependentGame", "PathDependentGames"]


@dataclass(frozen=True, eq=False)
class PathDependent:
    """The trees of a model with some of their outputs: margins of boosting, means or shares of forests."""

    ensemble: TreeEnsemble

    @classmethod
    def of(cls, model: Any) -> PathDependent:
        return cls(read_trees(model))

    def matrix(self, rows: Table) -> FloatArray:
        """Rows as the trees compare them; missing values stay."""
        columns = rows.columns()
        text = [
            name for name, column in zip(rows.names, columns, strict=True) if column.dtype.kind not in "biuf"
        ]
        if text:
            raise ArgumentTypeError(
                f"`X` must be numeric for imputer='path-dependent'. Got {', '.join(text[:5])}. "
                "Use imputer='marginal', which asks the model as it is."
            )
        return np.stack([column.astype(float) for column in columns], axis=1)

    def differs(self, n_rows: int) -> BoolMatrix:
        """A feature that no tree tests cannot matter."""
        used = np.zeros(self.ensemble.n_features, dtype=bool)
        used[self.ensemble.feature[self.ensemble.feature >= 0]] = True
        return np.tile(used, (n_rows, 1))

    def empty(self, matrix: FloatArray, outputs: tuple[int, ...]) -> FloatArray:
        nobody = np.zeros((1, self.ensemble.n_features), dtype=bool)
        return np.asarray(tree_game_values(self.ensemble.select(outputs), matrix[:1], nobody)[0, 0])


@dataclass(frozen=True, eq=False)
class PathDependentGames:
    """Rows of a tree model: one game a row, without a background."""

    ensemble: TreeEnsemble
    matrix: FloatArray
    players: Players
    n_fills: int = 0

    def __call__(self, index: int, members: IntArray) -> PathDependentGame:
        return PathDependentGame(self.ensemble, self.matrix[index], self.players, members)


@dataclass(frozen=True, eq=False)
class PathDependentGame:
    """The game of one row over some of the players: coalitions -> (m, n_outputs)."""

    ensemble: TreeEnsemble
    row: FloatArray
    players: Players
    members: IntArray

    @property
    def n_players(self) -> int:
        return len(self.members)

    def __call__(self, coalitions: BoolMatrix) -> FloatArray:
        present = self.players.spread(coalitions, self.members)
        return np.asarray(tree_game_values(self.ensemble, self.row[None], present)[0])
