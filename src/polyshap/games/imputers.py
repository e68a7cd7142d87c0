"""How absent features are filled: one small frozen record an imputer, and the table of their names."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from polyshap._types import FloatArray
from polyshap.errors import ArgumentError, ArgumentTypeError
from polyshap.games.conditional import CopulaScores, GaussianScores, numeric_matrix
from polyshap.games.fillings import ConditionalFilling, CustomFilling, Filling, RowFunction, TableFilling
from polyshap.tables.arrays import Table

__all__ = [
    "Baseline",
    "Copula",
    "Custom",
    "Gaussian",
    "Imputer",
    "KMeans",
    "Marginal",
    "Subsample",
    "as_imputer",
]


@runtime_checkable
class Imputer(Protocol):
    """How absent features are filled."""

    def prepare(self, background: Table, rng: np.random.Generator) -> Filling: ...


@dataclass(frozen=True, eq=False)
class Marginal:
    """Every background row, averaged.

    Parameters
    ----------
    weights : sequence of float, optional
        One for each background row; they are scaled to sum to 1.
    """

    weights: Sequence[float] | FloatArray | None = None

    def prepare(self, background: Table, rng: np.random.Generator) -> TableFilling:
        return TableFilling(background, _checked_weights(self.weights, len(background)))


@dataclass(frozen=True)
class Baseline:
    """One background row stands for absence."""

    def prepare(self, background: Table, rng: np.random.Generator) -> TableFilling:
        if len(background) != 1:
            raise ArgumentError(
                f"`background` of the baseline imputer must be one row. Got {len(background)} rows. "
                "Give one row, such as the medians, or use imputer='marginal'."
            )
        return TableFilling(background, None)


@dataclass(frozen=True)
class Subsample:
    """A seeded sample of background rows."""

    n_rows: int = 100

    def prepare(self, background: Table, rng: np.random.Generator) -> TableFilling:
        if len(background) <= self.n_rows:
            return TableFilling(background, None)
        chosen = np.sort(rng.choice(len(background), size=_positive(self.n_rows, "n_rows"), replace=False))
        return TableFilling(background.take(chosen), None)


@dataclass(frozen=True)
class KMeans:
    """Background rows nearest to the centres of k clusters, weighted by the clusters' sizes.

    The centres themselves would be rows that no data set holds: each is replaced by its nearest member.
    """

    n_clusters: int = 50

    def prepare(self, background: Table, rng: np.random.Generator) -> TableFilling:
        from scipy.cluster.vq import kmeans2

        matrix = numeric_matrix(background, "background", "kmeans")
        if len(matrix) <= _positive(self.n_clusters, "n_clusters"):
            return TableFilling(background, None)
        spread = matrix.std(axis=0)
        scaled = (matrix - matrix.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
        centres, label = kmeans2(scaled, self.n_clusters, minit="++", rng=rng, missing="warn")
        sizes = np.bincount(label, minlength=self.n_clusters)
        kept = np.flatnonzero(sizes)
        nearest = []
        for cluster in kept:
            members = np.flatnonzero(label == cluster)
            nearest.append(members[((scaled[members] - centres[cluster]) ** 2).sum(axis=1).argmin()])
        return TableFilling(background.take(np.array(nearest)), sizes[kept] / sizes.sum())


@dataclass(frozen=True)
class Gaussian:
    """Absent features are drawn from a normal distribution given the present ones (numeric columns)."""

    n_samples: int = 100

    def prepare(self, background: Table, rng: np.random.Generator) -> ConditionalFilling:
        matrix = numeric_matrix(background, "background", "gaussian")
        return _conditional(background, GaussianScores.of(matrix), self.n_samples, rng)


@dataclass(frozen=True)
class Copula:
    """Like `Gaussian` on the ranks of each column, so that margins keep their shape."""

    n_samples: int = 100

    def prepare(self, background: Table, rng: np.random.Generator) -> ConditionalFilling:
        matrix = numeric_matrix(background, "background", "copula")
        return _conditional(background, CopulaScores.of(matrix), self.n_samples, rng)


def _conditional(
    background: Table, scores: GaussianScores | CopulaScores, n_samples: int, rng: np.random.Generator
) -> ConditionalFilling:
    draws = scores.draw(_positive(n_samples, "n_samples"), rng)
    return ConditionalFilling(background, scores, draws)


@dataclass(frozen=True, eq=False)
class Custom:
    """One's own function of the explained row (a table of one row) and present columns (m, n_columns).

    It returns the synthetic rows, the same number for every coalition, coalition by coalition.
    """

    function: RowFunction
    shares_empty: bool = False

    def prepare(self, background: Table, rng: np.random.Generator) -> CustomFilling:
        return CustomFilling(self.function)


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
    if any(kind.__module__.startswith("shap.") for kind in type(imputer).__mro__):
        raise ArgumentTypeError(
            "`imputer` must be given a shap masker as polyshap.interop.shap.from_masker(masker). "
            f"Got {type(imputer).__name__} itself."
        )
    if callable(imputer):
        return Custom(imputer)
    raise ArgumentTypeError(f"`imputer` must be a name, a function or an Imputer. Got {imputer!r}.")


def _checked_weights(weights: Sequence[float] | FloatArray | None, n_rows: int) -> FloatArray | None:
    if weights is None:
        return None
    try:
        array: NDArray[np.float64] = np.asarray(weights, dtype=float)
    except (TypeError, ValueError) as error:
        raise ArgumentTypeError(f"`weights` must be numbers. Got {weights!r:.60}.") from error
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
