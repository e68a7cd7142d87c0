"""How absent features are filled: one small frozen record an imputer, and the table of their names.

`prepare(background, rng)` does what depends on the background alone, `bind(rows)` looks at the rows to
explain, and `synthetic(i)` is what the model is asked for row i.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from polyshap._types import BoolMatrix, FloatArray
from polyshap.errors import ArgumentError, ArgumentTypeError
from polyshap.execution.batching import SyntheticRows
from polyshap.frames import Table
from polyshap.games.conditional import ConditionalRows, CopulaScores, GaussianScores, numeric_matrix
from polyshap.games.masking import BackgroundRows, Words, hashed

__all__ = [
    "Baseline",
    "Bound",
    "Copula",
    "Custom",
    "Filling",
    "Gaussian",
    "Imputer",
    "KMeans",
    "Marginal",
    "Subsample",
    "as_imputer",
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


@runtime_checkable
class Imputer(Protocol):
    """How absent features are filled."""

    def prepare(self, background: Table, rng: np.random.Generator) -> Filling: ...


@dataclass(frozen=True, eq=False)
class _TableFilling:
    table: Table
    weights: FloatArray | None
    shares_empty: bool = True

    def bind(self, rows: Table) -> Bound:
        if len(self.table) * len(self.table.names) > _MOST_WORDS:
            return _LargeBound(self, rows)
        words = hashed(self.table.codes())
        ties = any(len(np.unique(column)) < len(column) for column in words.T)
        return _TableBound(self, rows, hashed(self.table.codes(rows)), words, ties)


@dataclass(frozen=True, eq=False)
class _TableBound:
    filling: _TableFilling
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

    filling: _TableFilling
    rows: Table

    @property
    def differs(self) -> BoolMatrix:
        table, first = self.filling.table, self.filling.table.take([0])
        base, step = first.codes(), max(1, _MOST_WORDS // (8 * len(table.names)))
        constant = np.ones(len(table.names), dtype=bool)
        for start in range(0, len(table), step):
            part = table.take(np.arange(start, min(start + step, len(table))))
            constant &= (first.codes(part) == base).all(axis=0)
        return np.asarray(~constant | (first.codes(self.rows) != base))

    def synthetic(self, index: int) -> BackgroundRows:
        nothing = np.empty(0, dtype=np.uint64)
        rows, filling = self.rows.take([index]), self.filling
        return BackgroundRows(rows, filling.table, nothing, nothing, False, filling.weights)


@dataclass(frozen=True, eq=False)
class Marginal:
    """Every background row, averaged.

    Parameters
    ----------
    weights : sequence of float, optional
        One for each background row; they are scaled to sum to 1.
    """

    weights: Sequence[float] | FloatArray | None = None

    def prepare(self, background: Table, rng: np.random.Generator) -> _TableFilling:
        return _TableFilling(background, _checked_weights(self.weights, len(background)))


@dataclass(frozen=True)
class Baseline:
    """One background row stands for absence."""

    def prepare(self, background: Table, rng: np.random.Generator) -> _TableFilling:
        if len(background) != 1:
            raise ArgumentError(
                f"`background` of the baseline imputer must be one row. Got {len(background)} rows. "
                "Give one row, such as the medians, or use imputer='marginal'."
            )
        return _TableFilling(background, None)


@dataclass(frozen=True)
class Subsample:
    """A seeded sample of background rows."""

    n_rows: int = 100

    def prepare(self, background: Table, rng: np.random.Generator) -> _TableFilling:
        if len(background) <= self.n_rows:
            return _TableFilling(background, None)
        chosen = np.sort(rng.choice(len(background), size=_positive(self.n_rows, "n_rows"), replace=False))
        return _TableFilling(background.take(chosen), None)


@dataclass(frozen=True)
class KMeans:
    """Background rows nearest to the centres of k clusters, weighted by the clusters' sizes.

    The centres themselves would be rows that no data set holds: each is replaced by its nearest member.
    """

    n_clusters: int = 50

    def prepare(self, background: Table, rng: np.random.Generator) -> _TableFilling:
        from scipy.cluster.vq import kmeans2

        matrix = numeric_matrix(background, "background", "kmeans")
        if len(matrix) <= _positive(self.n_clusters, "n_clusters"):
            return _TableFilling(background, None)
        spread = matrix.std(axis=0)
        scaled = (matrix - matrix.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
        centres, label = kmeans2(scaled, self.n_clusters, minit="++", rng=rng, missing="warn")
        sizes = np.bincount(label, minlength=self.n_clusters)
        kept = np.flatnonzero(sizes)
        nearest = []
        for cluster in kept:
            members = np.flatnonzero(label == cluster)
            nearest.append(members[((scaled[members] - centres[cluster]) ** 2).sum(axis=1).argmin()])
        return _TableFilling(background.take(np.array(nearest)), sizes[kept] / sizes.sum())


@dataclass(frozen=True)
class Gaussian:
    """Absent features are drawn from a normal distribution given the present ones (numeric columns)."""

    n_samples: int = 100

    def prepare(self, background: Table, rng: np.random.Generator) -> _ConditionalFilling:
        matrix = numeric_matrix(background, "background", "gaussian")
        return _conditional(background, GaussianScores.of(matrix), self.n_samples, rng)


@dataclass(frozen=True)
class Copula:
    """Like `Gaussian` on the ranks of each column, so that margins keep their shape."""

    n_samples: int = 100

    def prepare(self, background: Table, rng: np.random.Generator) -> _ConditionalFilling:
        matrix = numeric_matrix(background, "background", "copula")
        return _conditional(background, CopulaScores.of(matrix), self.n_samples, rng)


def _conditional(
    background: Table, scores: GaussianScores | CopulaScores, n_samples: int, rng: np.random.Generator
) -> _ConditionalFilling:
    draws = scores.draw(_positive(n_samples, "n_samples"), rng)
    return _ConditionalFilling(background, scores, draws)


@dataclass(frozen=True, eq=False)
class _ConditionalFilling:
    table: Table
    scores: GaussianScores | CopulaScores
    draws: FloatArray
    shares_empty: bool = True

    def bind(self, rows: Table) -> _ConditionalBound:
        return _ConditionalBound(self, numeric_matrix(rows, "X", "conditional"), rows)


@dataclass(frozen=True, eq=False)
class _ConditionalBound:
    filling: _ConditionalFilling
    matrix: FloatArray
    rows: Table

    @property
    def differs(self) -> BoolMatrix:
        return _TableFilling(self.filling.table, None).bind(self.rows).differs

    def synthetic(self, index: int) -> ConditionalRows:
        return ConditionalRows(
            self.matrix[index], self.filling.table, self.filling.scores, self.filling.draws
        )


RowFunction = Callable[[Any, BoolMatrix], Any]


@dataclass(frozen=True, eq=False)
class Custom:
    """One's own function of the explained row (a table of one row) and present columns (m, n_columns).

    It returns the synthetic rows, the same number for every coalition, coalition by coalition.
    """

    function: RowFunction
    shares_empty: bool = False

    def prepare(self, background: Table, rng: np.random.Generator) -> _CustomFilling:
        return _CustomFilling(self.function)


@dataclass(frozen=True, eq=False)
class _CustomFilling:
    function: RowFunction
    shares_empty: bool = False

    def bind(self, rows: Table) -> _CustomBound:
        first = self.function(rows.take([0]).native, np.ones((1, len(rows.names)), dtype=bool))
        if len(first) == 0:
            raise ArgumentError("`imputer` must return one row or more for a coalition. Got none.")
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


_NAMES: dict[str, Callable[..., Imputer]] = {
    "baseline": Baseline,
    "copula": Copula,
    "gaussian": Gaussian,
    "kmeans": KMeans,
    "marginal": Marginal,
    "subsample": Subsample,
}


def as_imputer(imputer: object, weights: Sequence[float] | FloatArray | None = None) -> Imputer:
    """The imputer behind a name ("kmeans-20" asks for 20 rows), an object or a function.

    >>> as_imputer("kmeans-20")
    KMeans(n_clusters=20)
    """
    if isinstance(imputer, str):
        match = re.fullmatch(r"([a-z]+)(?:-(\d+))?", imputer)
        name, count = match.groups() if match else (imputer, None)
        if name not in _NAMES or (count and name in ("marginal", "baseline")):
            raise ArgumentError(
                f"`imputer` must be one of {', '.join(sorted(_NAMES))}, path-dependent, a function or an "
                f"Imputer. Got {imputer!r}."
            )
        if weights is not None and name != "marginal":
            raise ArgumentError(f"`weights` must go with imputer='marginal'. Got imputer={imputer!r}.")
        if name == "marginal":
            return Marginal(weights)
        return _NAMES[name](int(count)) if count else _NAMES[name]()
    if weights is not None:
        raise ArgumentError("`weights` must go with imputer='marginal'. Got an imputer of your own.")
    if isinstance(imputer, Imputer):
        return imputer
    if callable(imputer):
        return Custom(imputer)
    raise ArgumentTypeError(f"`imputer` must be a name, a function or an Imputer. Got {imputer!r}.")


def _checked_weights(weights: Sequence[float] | FloatArray | None, n_rows: int) -> FloatArray | None:
    if weights is None:
        return None
    array: NDArray[np.float64] = np.asarray(weights, dtype=float)
    if array.shape != (n_rows,):
        raise ArgumentError(
            f"`weights` must hold one number for each of the {n_rows} background rows. Got {array.shape}."
        )
    if not np.isfinite(array).all() or (array < 0).any() or array.sum() == 0:
        raise ArgumentError(
            f"`weights` must be finite, not negative and not all zero. Got a minimum of {array.min()}."
        )
    return np.asarray(array / array.sum())


def _positive(value: int, name: str) -> int:
    if value < 1:
        raise ArgumentError(f"`{name}` must be at least 1. Got {value}.")
    return int(value)
