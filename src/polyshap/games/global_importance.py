"""Global importance: how much of a metric each feature explains over a sample of rows (SAGE).

Absent features are marginalised over a background: v(S) = score(y, mean over b of f(x on S, b elsewhere)),
Covert et al., 2020, "Understanding global feature contributions with additive importance measures".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polyshap._types import BoolMatrix, FloatArray
from polyshap.errors import ArgumentError, ArgumentTypeError

__all__ = ["SCORES", "GlobalImportance", "global_importance_game"]

Score = Callable[[Any, Any], float]

# Synthetic rows of a model call.
_ROWS_PER_CALL = 1 << 16


def _explained_variance(y: NDArray[Any], prediction: NDArray[Any]) -> float:
    """1 - mean squared error / variance of y."""
    return float(1 - np.mean((y - prediction) ** 2) / np.var(y))


def _squared_error(y: NDArray[Any], prediction: NDArray[Any]) -> float:
    return -float(np.mean((y - prediction) ** 2))


def _accuracy(y: NDArray[Any], prediction: NDArray[Any]) -> float:
    found = prediction.argmax(axis=1) if prediction.ndim == 2 else prediction > 0.5
    return float(np.mean(found == y))


def _cross_entropy(y: NDArray[Any], prediction: NDArray[Any]) -> float:
    """Mean log probability of the right class."""
    both = prediction if prediction.ndim == 2 else np.column_stack([1 - prediction, prediction])
    right = both[np.arange(len(y)), y.astype(np.intp)]
    return float(np.mean(np.log(np.maximum(right, np.finfo(float).tiny))))


# All of them grow as the model gets better: a risk enters with a minus.
SCORES: Mapping[str, Score] = MappingProxyType(
    {
        "explained-variance": _explained_variance,
        "squared-error": _squared_error,
        "accuracy": _accuracy,
        "cross-entropy": _cross_entropy,
    }
)


def global_importance_game(
    predict: Callable[[NDArray[Any]], Any],
    X: ArrayLike,
    y: ArrayLike,
    background: ArrayLike,
    *,
    score: str | Score = "explained-variance",
    groups: Sequence[Sequence[int]] | None = None,
) -> GlobalImportance:
    """The game of a model's score over a sample of rows.

    Parameters
    ----------
    predict : callable
        Rows (m, n_features) -> (m,) or, for class probabilities, (m, n_classes).
    X, y : array-like
        The sample and its targets; for "accuracy" and "cross-entropy" classes are 0, 1, ...
    background : array-like, shape (n_background, n_features)
        Rows that fill in for absent features; each coalition costs n_rows * n_background predictions.
    score : {"explained-variance", "squared-error", "accuracy", "cross-entropy"} or callable
        score(y, prediction), any scikit-learn metric. The named ones grow as the model gets better.
    groups : sequence of sequences of int, optional
        The features of each player; one each by default.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> predict = lambda rows: 2 * rows[:, 0] + rows[:, 1]
    >>> game = global_importance_game(predict, X, predict(X), X[:20])
    >>> game(np.array([[True, True, True]])).round(6).tolist()
    [1.0]
    """
    if not callable(predict):
        raise ArgumentTypeError(f"`predict` must be a callable on rows. Got {type(predict).__name__}.")
    rows, fill, target = np.asarray(X), np.asarray(background), np.asarray(y)
    if rows.ndim != 2 or fill.ndim != 2 or rows.shape[1] != fill.shape[1] or len(rows) != len(target):
        raise ArgumentError(
            "`X` and `background` must be matrices with as many columns, and `y` must have a target for "
            f"each row of `X`. Got shapes {rows.shape}, {fill.shape}, {target.shape}."
        )
    if isinstance(score, str) and score not in SCORES:
        raise ArgumentError(f"`score` must be a callable or one of {', '.join(SCORES)}. Got {score!r}.")
    features = groups if groups is not None else [(column,) for column in range(rows.shape[1])]
    owned = sorted(column for group in features for column in group)
    if owned != list(range(rows.shape[1])):
        raise ArgumentError(f"`groups` must hold each of the {rows.shape[1]} features once. Got {groups}.")
    member = np.zeros((len(features), rows.shape[1]), dtype=bool)
    for player, group in enumerate(features):
        member[player, list(group)] = True
    return GlobalImportance(
        predict, rows, target, fill, SCORES[score] if isinstance(score, str) else score, member
    )


@dataclass(frozen=True, eq=False)
class GlobalImportance:
    """The score of a model's marginalised predictions; built by `global_importance_game`."""

    predict: Callable[[NDArray[Any]], Any]
    X: NDArray[Any]
    y: NDArray[Any]
    background: NDArray[Any]
    score: Score
    member: BoolMatrix

    @property
    def n_players(self) -> int:
        return len(self.member)

    def __call__(self, coalitions: BoolMatrix, /) -> FloatArray:
        present = coalitions @ self.member
        return np.array([self.score(self.y, self._marginalised(columns)) for columns in present])

    def _marginalised(self, columns: NDArray[np.bool_]) -> FloatArray:
        """Mean prediction over the background for each row, in blocks of rows of bounded size."""
        n_fill = len(self.background)
        block = max(1, _ROWS_PER_CALL // n_fill)
        means = []
        for start in range(0, len(self.X), block):
            rows = self.X[start : start + block]
            mixed = np.where(columns, rows[:, None], self.background).reshape(-1, self.X.shape[1])
            answer = np.asarray(self.predict(mixed), dtype=float)
            means.append(answer.reshape(len(rows), n_fill, *answer.shape[1:]).mean(axis=1))
        return np.concatenate(means)
