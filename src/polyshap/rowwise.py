"""Many rows of one model: games, designs and fits, row by row or together.

A design is data-free and drawn once for each number of active players, so all rows share it. A row's own
values never depend on which other rows are explained.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from polyshap._types import BoolMatrix, Estimator, FloatArray, Game, IntArray
from polyshap.errors import GameError
from polyshap.estimation import choose
from polyshap.estimators.exact import Exact
from polyshap.estimators.kaddshap import KAddSHAP
from polyshap.estimators.polyshap import OddRegression, PolySHAP
from polyshap.execution.evaluate import evaluate
from polyshap.explanation import Fitted
from polyshap.results import Diagnostics, Estimate, Observations
from polyshap.sampling import Sample

__all__ = ["GameOfRow", "RowResult", "RowRun", "digest"]

# Estimators that treat each column of values alone: many rows may be fitted at once.
_COLUMNWISE = (Exact, KAddSHAP, OddRegression, PolySHAP)
_DESIGN_STREAM, _ROW_STREAM = 1, 4

GameOfRow = Callable[[int], tuple[Game, IntArray]]


@dataclass(frozen=True, eq=False)
class RowResult:
    """Values of one row over all players, (n_players, n_outputs)."""

    values: FloatArray
    standard_errors: FloatArray | None
    empty: FloatArray
    grand: FloatArray
    n_evaluations: int
    fitted: Fitted
    diagnostics: Diagnostics


@dataclass(frozen=True, eq=False)
class RowRun:
    """How every row of one call is explained; picklable when the model is.

    Attributes
    ----------
    game_of : callable
        Row number -> (game of its active players, their numbers).
    n_players : int
    budget : int
    estimator : str or Estimator
    seed : int
    digests : sequence of int, optional
        Content of each row, which seeds a design of its own; None shares one design.
    """

    game_of: GameOfRow
    n_players: int
    budget: int
    estimator: str | Estimator
    seed: int
    digests: tuple[int, ...] | None = None
    _samples: dict[tuple[int, int], Sample] = field(default_factory=dict, repr=False)

    def estimator_for(self, n_active: int) -> Estimator:
        return choose(self.estimator, n_active, self.budget)

    def sample_for(self, index: int, n_active: int) -> Sample:
        """The design of that many players, and of this row where rows have their own."""
        own = () if self.digests is None else (_ROW_STREAM, self.digests[index])
        key = (n_active, 0 if self.digests is None else self.digests[index])
        if key not in self._samples:
            if self.digests is not None:
                self._samples.clear()
            rng = np.random.default_rng([self.seed, _DESIGN_STREAM, n_active, *own])
            self._samples[key] = self.estimator_for(n_active).draw(n_active, self.budget, rng)
        return self._samples[key]

    def observe(self, index: int) -> tuple[Observations, IntArray]:
        """Both ends and the sample of one row; (m, n_outputs) whatever the number of outputs."""
        game, active = self.game_of(index)
        sample = self.sample_for(index, len(active))
        ends = np.zeros((2, len(active)), dtype=bool)
        ends[1] = True
        values = evaluate(
            game, np.concatenate([ends, sample.coalitions]), batch_size=getattr(game, "batch_size", None)
        )
        return Observations(sample, values[2:], values[0], values[1]), active

    def explain(self, index: int) -> RowResult:
        """One row with parameters of its own."""
        observations, active = self.observe(index)
        if len(active) == 0:
            return self._trivial(observations)
        estimate = self.estimator_for(len(active)).fit(observations)
        columns = np.arange(estimate.values.shape[1])
        return self._result(estimate, active, columns, observations)
