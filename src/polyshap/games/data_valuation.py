"""What training data is worth: players are training points or groups, the value is a metric of the refit.

For nearest-neighbour models the values are known in closed form, which checks the general way.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polyshap._types import BoolMatrix, FloatArray, IntArray
from polyshap.errors import ArgumentError, ArgumentTypeError, optional_import
from polyshap.games.scores import as_scorer
from polyshap.games.wrappers import Remembered, remembered

__all__ = ["DataValuation", "NeighbourGame", "data_valuation_game", "neighbour_shapley_values"]

Metric = Callable[[Any, Any, Any], float]
OnError = Literal["raise", "empty"]

# Elements of the largest matrix of distances: 32 MiB.
_BLOCK = 1 << 22


def data_valuation_game(
    model: Any,
    X: Any,
    y: ArrayLike,
    X_test: Any,
    y_test: ArrayLike,
    *,
    groups: Sequence[Hashable] | None = None,
    metric: str | Metric | None = None,
    empty_value: float = 0.0,
    on_error: OnError = "raise",
    n_jobs: int | None = None,
) -> Remembered:
    """The game of the training data: v(S) = metric of the model refitted on the rows of S.

    Parameters
    ----------
    model : scikit-learn estimator
        Cloned for every fit; give it a `random_state`, or the same coalition has several values.
    X, y : array, data frame or sparse matrix, and array-like
        Training rows; the model is fitted on rows of the same kind.
    X_test, y_test : the same
        What the metric is taken on.
    groups : sequence, optional
        The player each training row belongs to; every row its own by default.
    metric : str or callable, optional
        The name of a scorer of scikit-learn, or metric(model, X_test, y_test); the model's `score` by
        default.
    empty_value : float
        The value of no data, and of data that cannot be fitted (a classifier needs two classes).
    on_error : {"raise", "empty"}
        What a ValueError of the model means, such as that of five nearest neighbours among three rows: an
        end with that message, or data worth `empty_value`.
    n_jobs : int, optional
        Processes that refit in parallel; 1 by default.

    Returns
    -------
    Remembered
        Values are kept: no coalition is fitted twice.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> X, y = np.arange(6.0)[:, None], np.array([0.0, 1.0, 2.0, 3.0, 4.0, 50.0])
    >>> game = data_valuation_game(LinearRegression(), X, y, X, np.arange(6.0), groups=[0, 0, 0, 1, 1, 2])
    >>> game(np.array([[True, True, False]])).round(6).tolist()
    [1.0]
    """
    if not (hasattr(model, "fit") and (metric is not None or hasattr(model, "score"))):
        raise ArgumentTypeError(
            f"`model` must have the methods `fit` and `score`. Got {type(model).__name__}. "
            "Pass `metric` for a model without `score`."
        )
    if on_error not in ("raise", "empty"):
        raise ArgumentError(f"`on_error` must be 'raise' or 'empty'. Got {on_error!r}.")
    if n_jobs is not None and n_jobs < 1:
        raise ArgumentError(f"`n_jobs` must be at least 1. Got {n_jobs}.")
    rows, target = _checked_rows(X, y, "X", "y")
    test_rows, test_target = _checked_rows(X_test, y_test, "X_test", "y_test")
    scorer = as_scorer(metric, "metric") if isinstance(metric, str) else metric or _score
    owner = _owners(groups, len(target))
    game = DataValuation(
        model, rows, target, test_rows, test_target, owner, scorer, empty_value, on_error, n_jobs or 1
    )
    return remembered(game, game.n_players)


def _checked_rows(X: Any, y: ArrayLike, rows_name: str, target_name: str) -> tuple[Any, NDArray[Any]]:
    """Frames as they are, sparse matrices by rows, anything else as an array; with their targets."""
    if hasattr(X, "tocsr"):
        rows: Any = X.tocsr()
    else:
        rows = X if hasattr(X, "columns") else np.asarray(X)
    target = np.asarray(y)
    if rows.shape[0] != len(target) or len(target) == 0:
        raise ArgumentError(
            f"`{rows_name}` and `{target_name}` must have as many rows, at least one. "
            f"Got {rows.shape[0]} and {len(target)}."
        )
    return rows, target


def _take(rows: Any, chosen: IntArray) -> Any:
    """Some rows of an array, a sparse matrix or a frame."""
    if hasattr(rows, "iloc"):
        return rows.iloc[chosen]
    if not hasattr(rows, "columns"):
        return rows[chosen]
    import narwhals as nw

    return nw.from_native(rows, eager_only=True)[chosen].to_native()


def _score(model: Any, X: Any, y: Any) -> float:
    return float(model.score(X, y))


@dataclass(frozen=True, eq=False)
class DataValuation:
    """The metric of a model refitted on the rows of a coalition; built by `data_valuation_game`."""

    model: Any
    X: Any
    y: NDArray[Any]
    X_test: Any
    y_test: NDArray[Any]
    owner: IntArray
    metric: Metric = field(repr=False)
    empty_value: float
    on_error: OnError
    n_jobs: int

    @property
    def n_players(self) -> int:
        return int(self.owner.max()) + 1

    def __call__(self, coalitions: BoolMatrix, /) -> FloatArray:
        if self.n_jobs == 1:
            return np.array([self.value(row) for row in coalitions])
        from loky import get_reusable_executor

        workers = get_reusable_executor(max_workers=self.n_jobs)
        # a few tasks a process: the data travels once with each
        blocks = np.array_split(coalitions, min(len(coalitions), 4 * self.n_jobs))
        return np.array([value for part in workers.map(self.values, blocks) for value in part])

    def values(self, coalitions: BoolMatrix) -> list[float]:
        """The values of some coalitions, one after the other."""
        return [self.value(row) for row in coalitions]

    def value(self, coalition: NDArray[np.bool_]) -> float:
        """Refit on the rows of a coalition; `empty_value` where there is nothing to fit."""
        base = optional_import("sklearn.base", extra="demo", purpose="Data valuation")
        chosen = np.flatnonzero(coalition[self.owner])
        target = self.y[chosen]
        if not len(chosen) or (base.is_classifier(self.model) and len(np.unique(target)) < 2):
            return self.empty_value
        try:
            fitted = base.clone(self.model).fit(_take(self.X, chosen), target)
            return float(self.metric(fitted, self.X_test, self.y_test))
        except ValueError as error:
            if self.on_error == "empty":
                return self.empty_value
            raise ArgumentError(
                f"The model cannot be fitted or scored on {len(chosen)} of {len(self.y)} training rows: "
                f"{error}. Use `groups` of more rows, or on_error='empty' to give such data `empty_value`."
            ) from error


def _owners(groups: Sequence[Hashable] | None, n_rows: int) -> IntArray:
    """The player of each row; groups are numbered in the order in which they first appear."""
    if groups is None:
        return np.arange(n_rows)
    if len(groups) != n_rows:
        raise ArgumentError(f"`groups` must name a group for each of the {n_rows} rows. Got {len(groups)}.")
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(group, len(numbers)) for group in groups], dtype=np.intp)


@dataclass(frozen=True, eq=False)
class NeighbourGame:
    """The utility of a K-nearest-neighbour classifier, players being training points.

    v(S) = mean over test points of 1/K times the number of the min(K, |S|) nearest points of S that have
    the right label (Jia et al., 2019, "Efficient task-specific data valuation for nearest neighbor
    algorithms").

    Parameters
    ----------
    right : ndarray of bool, shape (n_test, n_players)
        Whether the point has the label of the test point, nearest point first.
    order : ndarray of int, shape (n_test, n_players)
        The points by distance, nearest first.
    n_neighbors : int

    Examples
    --------
    >>> game = NeighbourGame.of([[0.0], [1.0], [2.0]], [0, 1, 0], [[0.1]], [0], n_neighbors=1)
    >>> game(np.array([[True, True, True], [False, True, True]])).tolist()
    [1.0, 0.0]
    """

    right: NDArray[np.bool_]
    order: IntArray
    n_neighbors: int

    @classmethod
    def of(
        cls, X: ArrayLike, y: ArrayLike, X_test: ArrayLike, y_test: ArrayLike, n_neighbors: int = 5
    ) -> NeighbourGame:
        """From points (n, n_features) with labels; distances are Euclidean, ties go to the first point."""
        points, labels = np.asarray(X, dtype=float), np.asarray(y)
        asked, wanted = np.asarray(X_test, dtype=float), np.asarray(y_test)
        if n_neighbors < 1:
            raise ArgumentError(f"`n_neighbors` must be at least 1. Got {n_neighbors}.")
        if (points.ndim, asked.ndim) != (2, 2) or (len(points), len(asked)) != (len(labels), len(wanted)):
            raise ArgumentError(
                "`X` and `X_test` must be matrices with as many rows as `y` and `y_test`. Got shapes "
                f"{points.shape}, {labels.shape}, {asked.shape}, {wanted.shape}."
            )
        if not len(points) or not len(asked) or points.shape[1] != asked.shape[1]:
            raise ArgumentError(
                "`X` and `X_test` must have as many columns, and at least one row each. Got shapes "
                f"{points.shape} and {asked.shape}."
            )
        order = _by_distance(points, asked)
        return cls(labels[order] == wanted[:, None], order, n_neighbors)

    @property
    def n_players(self) -> int:
        return len(self.order[0])

    def __call__(self, coalitions: BoolMatrix, /) -> FloatArray:
        values = np.zeros(len(coalitions))
        for right, order in zip(self.right, self.order, strict=True):
            present = coalitions[:, order]
            near = present & (np.cumsum(present, axis=1) <= self.n_neighbors)
            values += (near & right).sum(axis=1)
        return values / (len(self.order) * self.n_neighbors)

    def shapley_values(self) -> FloatArray:
        """The exact values (n_players,) in O(n log n) a test point.

        From the farthest point on, with the points by distance and r_j whether the j-th is right:
        s_n = r_n min(K, n) / (K n), s_j = s_{j+1} + (r_j - r_{j+1}) / K min(K, j) / j (Jia et al., 2019,
        theorem 1, for any n).
        """
        n, K = self.n_players, self.n_neighbors
        right = self.right.astype(float)
        rank = np.arange(1, n)
        steps = (right[:, :-1] - right[:, 1:]) / K * np.minimum(K, rank) / rank
        last = right[:, -1:] * min(K, n) / (K * n)
        by_distance = np.concatenate([steps, last], axis=1)[:, ::-1].cumsum(axis=1)[:, ::-1]
        values = np.zeros(n)
        np.add.at(values, self.order, by_distance)
        return values / len(self.order)


def _by_distance(points: FloatArray, asked: FloatArray) -> IntArray:
    """The points by their distance to each asked one (n_asked, n_points), nearest first."""
    from scipy.spatial.distance import cdist

    block = max(1, _BLOCK // len(points))
    parts = [
        np.argsort(cdist(asked[start : start + block], points, "sqeuclidean"), axis=1, kind="stable")
        for start in range(0, len(asked), block)
    ]
    return np.concatenate(parts)


def neighbour_shapley_values(
    X: ArrayLike, y: ArrayLike, X_test: ArrayLike, y_test: ArrayLike, *, n_neighbors: int = 5
) -> FloatArray:
    """Exact data values for a K-nearest-neighbour classifier, without a single refit.

    Examples
    --------
    >>> neighbour_shapley_values([[0.0], [1.0]], [0, 1], [[0.1]], [0], n_neighbors=1).tolist()
    [1.0, 0.0]
    """
    return NeighbourGame.of(X, y, X_test, y_test, n_neighbors).shapley_values()
