"""A model, a background and one row make a game: absent features are filled from the background.

    v(S) = sum_b w_b f(x on S, b elsewhere)

the interventional (marginal) game of Janzing et al., 2020, "Feature relevance quantification in explainable
AI: a causal problem"; with one background row it is baseline Shapley.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyshap._types import BoolMatrix, FloatArray, IntArray
from polyshap.execution.batching import Batching, Predict, SyntheticRows, coalition_values, comparable
from polyshap.tables.arrays import Table
from polyshap.tables.players import Players

__all__ = ["BackgroundRows", "MaskingGame", "hashed"]

Words = NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class MaskingGame:
    """The game of one row: coalitions of its active players -> mean predictions (m, n_outputs).

    Attributes
    ----------
    predict : callable
        Rows -> (n, n_outputs).
    rows : SyntheticRows
        The explained row with every way to fill what is absent.
    players : Players
    active : ndarray of int, shape (n_active,)
        Players that can matter for this row; coalitions are over these.
    """

    predict: Predict
    rows: SyntheticRows
    players: Players
    active: IntArray
    batching: Batching
    rows_per_call: int | None = None

    @property
    def n_players(self) -> int:
        return len(self.active)

    @property
    def batch_size(self) -> int:
        """Coalitions kept together: those of one call, or those among which equal rows are looked for."""
        n_fills, block = self.rows.n_fills, self.batching.coalitions_per_block(self.rows.n_fills)
        nobody = np.zeros((1, len(self.players.owner)), dtype=bool)
        if comparable(self.rows) and self.rows.keys(nobody) is not None:
            return block
        return min(
            block, max(1, self.batching.rows_per_call(self.rows.row_bytes, self.rows_per_call) // n_fills)
        )

    def __call__(self, coalitions: BoolMatrix) -> FloatArray:
        present = self.players.spread(coalitions, self.active)
        return coalition_values(self.predict, self.rows, present, self.batching, self.rows_per_call)


@dataclass(frozen=True, eq=False)
class BackgroundRows:
    """Absent features come from the rows of a background table.

    A row of words, one a value, makes equal rows comparable without building them: the key of (S, b) is
    sum over S of h(x_i) plus sum outside S of h(b_i) modulo 2^64, one matrix product for all.
    """

    row: Table
    background: Table
    row_words: Words
    background_words: Words
    has_ties: bool
    weights: FloatArray | None = None

    @property
    def n_fills(self) -> int:
        return len(self.background)

    @property
    def row_bytes(self) -> int:
        return self.background.row_bytes

    def block(self, coalitions: BoolMatrix, fills: slice) -> Any:
        whole = (fills.start, fills.stop) == (0, self.n_fills)
        background = self.background if whole else self.background.take(np.arange(fills.start, fills.stop))
        return background.block(self.row, coalitions)

    def pick(self, coalitions: BoolMatrix, which: IntArray, fill: IntArray) -> Any:
        return self.background.mix(self.row, coalitions[which], fill)

    def keys(self, coalitions: BoolMatrix) -> Words | None:
        # one fill: active players differ from it and coalitions differ from each other, so no two rows agree
        if self.n_fills == 1 or not (self.has_ties or (self.row_words == self.background_words).any()):
            return None
        change = self.background_words - self.row_words
        return (~coalitions).astype(np.uint64) @ change.T


def hashed(codes: Words) -> Words:
    """Codes (n, d) to words that look random, different in every column (the splitmix64 finaliser)."""
    column = np.arange(1, codes.shape[1] + 1, dtype=np.uint64)
    words = np.add(codes, np.multiply(column, 0x9E3779B97F4A7C15, dtype=np.uint64), dtype=np.uint64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        words = np.multiply(words ^ np.right_shift(words, shift), factor, dtype=np.uint64)
    return np.asarray(words ^ np.right_shift(words, 31))
