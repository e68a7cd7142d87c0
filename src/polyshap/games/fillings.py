"""What imputers prepare: fillings know their background, and bound to rows they make synthetic ones.

`prepare(background, rng)` of an imputer does what depends on the background alone, `bind(rows)` of a filling
looks at the rows to explain, and `synthetic(i)` is what the model is asked for row i.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from polyshap._types import BoolMatrix, FloatArray
from polyshap.errors import ArgumentError
from polyshap.execution.batching import SyntheticRows
from polyshap.games.conditional import ConditionalRows, CopulaScores, GaussianScores, numeric_matrix
from polyshap.games.masking import BackgroundRows, Words, hashed
from polyshap.tables.arrays import Table

__all__ = [
    "Bound",
    "ConditionalFilling",
    "CustomFilling",
    "CustomRows",
    "Filling",
    "RowFunction",
    "TableFilling",
]

# Words of a background to compare synthetic rows by: 64 MiB.
_MOST_WORDS = 1 << 23


class Bound(Protocol):
    """The rows to explain, ready to be asked about."""

    @property
    def differs(self) -> BoolMatrix:
        """(n_rows, n_columns): False where row and all fills agree, so that the column cannot matter."""

    def synthetic(self, index: int) -> SyntheticRows: ...


class Filling(Protocol):
    """An imputer that knows its background."""

    @property
    def shares_empty(self) -> bool:
        """Whether the empty coalition has the same rows whatever is explained."""

    def bind(self, rows: Table) -> Bound: ...


@dataclass(frozen=True, eq=False)
class TableFilling:
    table: Table
    weights: FloatArray | None
    shares_empty: bool = True

    def bind(self, rows: Table) -> Bound:
        table = self.table.holding(rows)
        filling = replace(self, table=table)
        if len(table) * len(table.names) > _MOST_WORDS:
            return _LargeBound(filling, rows)
        words = hashed(table.codes(table))
        ties = any(len(np.unique(column)) < len(column) for column in words.T)
        return _TableBound(filling, rows, hashed(table.codes(rows)), words, ties)


@dataclass(frozen=True, eq=False)
class _TableBound:
    filling: TableFilling
    rows: Table
    row_words: Words
    background_words: Words
    ties: bool

    @property
    def differs(self) -> BoolMatrix:
        constant = (self.background_words == self.background_words[0]).all(axis=0)
        return np.asarray(~constant | (self.row_words != self.background_words[0]))

    def synthetic(self, index: int) -> BackgroundRows:
        return BackgroundRows(
            self.rows.take([index]),
            self.filling.table,
            self.row_words[index],
            self.background_words,
            self.ties,
            self.filling.weights,
        )


@dataclass(frozen=True, eq=False)
class _LargeBound:
    """A background whose words would be as large as itself: equal synthetic rows are not looked for."""

    filling: TableFilling
    rows: Table

    @property
    def differs(self) -> BoolMatrix:
        table, first = self.filling.table, self.filling.table.take([0])
        base, step = first.codes(first), max(1, _MOST_WORDS // (8 * len(table.names)))
        constant = np.ones(len(table.names), dtype=bool)
        for start in range(0, len(table), step):
            part = table.take(np.arange(start, min(start + step, len(table))))
            constant &= (first.codes(part) == base).all(axis=0)
        return np.asarray(~constant | (first.codes(self.rows) != base))

    def synthetic(self, index: int) -> BackgroundRows:
        nothing = np.empty(0, dtype=np.uint64)
        rows, filling = self.rows.take([index]), self.filling
        return BackgroundRows(rows, filling.table, nothing, nothing, False, filling.weights)


RowFunction = Callable[[Any, BoolMatrix], Any]


@dataclass(frozen=True, eq=False)
class CustomFilling:
    function: RowFunction
    shares_empty: bool = False

    def bind(self, rows: Table) -> _CustomBound:
        first = self.function(rows.take([0]).native, np.ones((1, len(rows.names)), dtype=bool))
        if not hasattr(first, "__len__") or len(first) == 0:
            shown = "none" if hasattr(first, "__len__") else type(first).__name__
            raise ArgumentError(f"`imputer` must return one row or more for a coalition. Got {shown}.")
        return _CustomBound(self.function, rows, len(first))


@dataclass(frozen=True, eq=False)
class _CustomBound:
    function: RowFunction
    rows: Table
    n_fills: int

    @property
    def differs(self) -> BoolMatrix:
        return np.ones((len(self.rows), len(self.rows.names)), dtype=bool)

    def synthetic(self, index: int) -> CustomRows:
        return CustomRows(self.function, self.rows.take([index]), self.n_fills)


@dataclass(frozen=True, eq=False)
class CustomRows:
    """Synthetic rows from a user's function."""

    function: RowFunction
    row: Table
    n_fills: int
    weights: None = None

    @property
    def row_bytes(self) -> int:
        return self.row.row_bytes

    def block(self, coalitions: BoolMatrix, fills: slice) -> Any:
        rows = self.function(self.row.native, coalitions.copy())
        if len(rows) != len(coalitions) * self.n_fills:
            raise ArgumentError(
                f"`imputer` must return {self.n_fills} rows for each coalition, as at its first call. "
                f"Got {len(rows)} for {len(coalitions)} coalitions."
            )
        return rows if (fills.start, fills.stop) == (0, self.n_fills) else rows[fills]


@dataclass(frozen=True, eq=False)
class ConditionalFilling:
    table: Table
    scores: GaussianScores | CopulaScores
    draws: FloatArray
    shares_empty: bool = True

    def bind(self, rows: Table) -> _ConditionalBound:
        filling = replace(self, table=self.table.holding(rows))
        return _ConditionalBound(filling, numeric_matrix(rows, "X", "conditional"), rows)


@dataclass(frozen=True, eq=False)
class _ConditionalBound:
    filling: ConditionalFilling
    matrix: FloatArray
    rows: Table

    @property
    def differs(self) -> BoolMatrix:
        return TableFilling(self.filling.table, None).bind(self.rows).differs

    def synthetic(self, index: int) -> ConditionalRows:
        return ConditionalRows(
            self.matrix[index], self.filling.table, self.filling.scores, self.filling.draws
        )
