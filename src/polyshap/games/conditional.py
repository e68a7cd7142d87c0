"""Conditional removal: absent features drawn given the present ones, under a normal law or its copula.

A draw y of the whole law becomes a draw given x_S by y + Sigma_{.S} Sigma_SS^-1 (x_S - y_S) (Matheron's
rule), so the same draws serve every coalition and every row: only one linear system a coalition is solved.
Laws as in Aas, Jullum and Løland, 2021, "Explaining individual predictions when features are dependent".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import lstsq
from scipy.special import ndtr, ndtri

from polyshap._types import BoolMatrix, FloatArray
from polyshap.errors import ArgumentError, ArgumentTypeError
from polyshap.tables.arrays import Table

__all__ = ["ConditionalRows", "CopulaScores", "GaussianScores", "numeric_matrix"]

# Of the mean variance: keeps a singular covariance solvable and moves conditional means by about as much.
_RIDGE = 1e-8


def numeric_matrix(table: Table, argument: str, imputer: str) -> FloatArray:
    """The table as float64, refused where it holds text or missing values."""
    columns = table.columns()
    text = [
        name for name, column in zip(table.names, columns, strict=True) if column.dtype.kind not in "biuf"
    ]
    if text:
        raise ArgumentTypeError(
            f"`{argument}` must be numeric for the {imputer} imputer. Got {', '.join(text[:5])}. "
            "Use imputer='marginal' or encode these columns."
        )
    matrix = np.stack([np.asarray(column, dtype=float) for column in columns], axis=1)
    if not np.isfinite(matrix).all():
        bad = [table.names[j] for j in np.flatnonzero(~np.isfinite(matrix).all(axis=0))]
        raise ArgumentError(
            f"`{argument}` must hold no missing value for the {imputer} imputer. Got some in "
            f"{', '.join(bad[:5])}. Use imputer='marginal'."
        )
    return matrix


def _covariance(scores: FloatArray) -> FloatArray:
    matrix = np.atleast_2d(np.cov(scores, rowvar=False, bias=len(scores) == 1))
    return np.asarray(
        matrix + _RIDGE * max(float(np.trace(matrix)) / len(matrix), 1e-300) * np.eye(len(matrix))
    )


def _draw(mean: FloatArray, covariance: FloatArray, n: int, rng: np.random.Generator) -> FloatArray:
    eigenvalues, vectors = np.linalg.eigh(covariance)
    noise = rng.standard_normal((n, len(mean)))
    return np.asarray(mean + (noise * np.sqrt(np.maximum(eigenvalues, 0.0))) @ vectors.T)


@dataclass(frozen=True, eq=False)
class GaussianScores:
    """A normal law fitted to the background; its scores are the values themselves."""

    mean: FloatArray
    covariance: FloatArray

    @classmethod
    def of(cls, matrix: FloatArray) -> GaussianScores:
        return cls(matrix.mean(axis=0), _covariance(matrix))

    def draw(self, n: int, rng: np.random.Generator) -> FloatArray:
        return _draw(self.mean, self.covariance, n, rng)

    def forward(self, row: FloatArray) -> FloatArray:
        return row

    def back(self, scores: FloatArray) -> FloatArray:
        return scores


@dataclass(frozen=True, eq=False)
class CopulaScores:
    """Normal scores of the ranks: margins are the background's own, dependence is a normal copula."""

    order: FloatArray  # (n, d), each background column sorted
    covariance: FloatArray

    @classmethod
    def of(cls, matrix: FloatArray) -> CopulaScores:
        order = np.sort(matrix, axis=0)
        made = cls(order, np.eye(matrix.shape[1]))
        return cls(order, _covariance(np.stack([made.forward(row) for row in matrix])))

    def draw(self, n: int, rng: np.random.Generator) -> FloatArray:
        return _draw(np.zeros(len(self.covariance)), self.covariance, n, rng)

    def forward(self, row: FloatArray) -> FloatArray:
        """Middle rank of each value among its column, as a normal quantile; beyond the ends the end's."""
        n = len(self.order)
        below = np.array([np.searchsorted(c, v, "left") for c, v in zip(self.order.T, row, strict=True)])
        upto = np.array([np.searchsorted(c, v, "right") for c, v in zip(self.order.T, row, strict=True)])
        return np.asarray(ndtri(np.clip((below + upto) / 2, 0.5, n - 0.5) / n))

    def back(self, scores: FloatArray) -> FloatArray:
        """Quantiles of the background columns at ndtr(scores), interpolated between order statistics."""
        places = (np.arange(len(self.order)) + 0.5) / len(self.order)
        share = ndtr(scores)
        columns = [np.interp(share[:, j], places, self.order[:, j]) for j in range(share.shape[1])]
        return np.stack(columns, axis=1)


@dataclass(frozen=True, eq=False)
class ConditionalRows:
    """Synthetic rows of one explained row: present features as they are, the others drawn given them."""

    row: FloatArray
    table: Table
    scores: GaussianScores | CopulaScores
    draws: FloatArray
    weights: None = None

    @property
    def n_fills(self) -> int:
        return len(self.draws)

    @property
    def row_bytes(self) -> int:
        return int(8 * self.draws.shape[1])

    def block(self, coalitions: BoolMatrix, fills: slice) -> Any:
        score, draws = self.scores.forward(self.row), self.draws[fills]
        blocks = []
        for present in coalitions:
            rows = self.scores.back(self._given(present, score, draws))
            rows[:, present] = self.row[present]
            blocks.append(rows)
        return self.table.with_columns(list(np.concatenate(blocks).T))

    def _given(self, present: BoolMatrix, score: FloatArray, draws: FloatArray) -> FloatArray:
        if not present.any():
            return draws.copy()
        covariance = self.scores.covariance
        # least squares: a column without variance leaves a singular block
        gain = lstsq(covariance[np.ix_(present, present)], covariance[present], check_finite=False)[0]
        return np.asarray(draws + (score[present] - draws[:, present]) @ gain)
