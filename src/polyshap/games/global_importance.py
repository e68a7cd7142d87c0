"""Global importance: how much of a metric each feature explains over a sample of rows (SAGE).

Absent features are marginalised over a background: v(S) = score(y, mean over b of f(x on S, b elsewhere)),
Covert et al., 2020, "Understanding global feature contributions with additive importance measures".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polyshap._types import BoolMatrix, FloatArray
from polyshap.errors import ArgumentError
from polyshap.games.scores import CLASS_SCORES, Score, as_score, class_numbers
from polyshap.models.functions import Model, as_model
from polyshap.tables.arrays import ArrayTable
from polyshap.tables.frames import FrameTable, read

__all__ = ["GlobalImportance", "global_importance_game"]

# Synthetic rows of a model call.
_ROWS_PER_CALL = 1 << 16


def global_importance_game(
    predict: Any,
    X: Any,
    y: ArrayLike,
    background: Any,
    *,
    score: str | Callable[..., float] = "explained-variance",
    groups: Sequence[Sequence[int]] | None = None,
    classes: Sequence[Any] | None = None,
) -> GlobalImportance:
    """The game of a model's score over a sample of rows.

    Parameters
    ----------
    predict : callable or fitted model
        Rows (m, n_features) -> (m,) or, for class probabilities, (m, n_classes); of a fitted classifier its
        `predict_proba` is taken, of a regressor its `predict`.
    X : array or data frame, shape (n_rows, n_features)
        The sample; the model sees rows of the same kind.
    y : array-like, shape (n_rows,)
    background : array or data frame, shape (n_background, n_features)
        Rows that fill in for absent features; each coalition costs n_rows * n_background predictions.
    score : str or callable
        "explained-variance", "squared-error", "accuracy", "cross-entropy" or the name of a scorer of
        scikit-learn such as "roc_auc", all of which grow as the model gets better; a scorer object; or any
        metric score(y, prediction).
    groups : sequence of sequences of int, optional
        The features of each player; one each by default.
    classes : sequence, optional
        The label of each column of class probabilities, where `predict` is no model that knows them; by
        default the labels in `y`, sorted.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> predict = lambda rows: 2 * rows[:, 0] + rows[:, 1]
    >>> game = global_importance_game(predict, X, predict(X), X[:20])
    >>> game(np.array([[True, True, True]])).round(6).tolist()
    [1.0]
    """
    table = read(background, "background")
    assert isinstance(table, ArrayTable | FrameTable)
    rows = table.aligned(read(X, "X"), "X")
    target = np.asarray(y)
    if len(target) != len(rows):
        raise ArgumentError(
            f"`y` must hold a target for each of the {len(rows)} rows of `X`. Got {len(target)}."
        )
    member = _members(groups, len(rows.names))
    labels = _labels(predict) if classes is None else np.asarray(classes)
    chosen = as_score(score, labels)
    if score in CLASS_SCORES:
        target = class_numbers(target, labels)
    elif score == "explained-variance" and len(np.unique(target)) < 2:
        raise ArgumentError(
            "`y` must hold two different targets for the score 'explained-variance'. Got one. "
            "Use score='squared-error'."
        )
    return GlobalImportance(as_model(predict), rows, target, table, chosen, member)


def _labels(predict: Any) -> NDArray[Any] | None:
    """The classes of a fitted model, or of the one that `predict` is a method of."""
    labels = getattr(getattr(predict, "__self__", predict), "classes_", None)
    return None if labels is None else np.asarray(labels)


def _members(groups: Sequence[Sequence[int]] | None, n_columns: int) -> BoolMatrix:
    """Which features each player has (n_players, n_columns)."""
    features = groups if groups is not None else [(column,) for column in range(n_columns)]
    if sorted(column for group in features for column in group) != list(range(n_columns)):
        raise ArgumentError(f"`groups` must hold each of the {n_columns} features once. Got {groups}.")
    member = np.zeros((len(features), n_columns), dtype=bool)
    for player, group in enumerate(features):
        member[player, list(group)] = True
    return member


@dataclass(frozen=True, eq=False)
class GlobalImportance:
    """The score of a model's marginalised predictions; built by `global_importance_game`."""

    model: Model
    X: ArrayTable | FrameTable
    y: NDArray[Any]
    background: ArrayTable | FrameTable
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
            chosen = np.arange(start, min(start + block, len(self.X)))
            answer = self.model.predict(self._mixed(columns, chosen))
            means.append(answer.reshape(len(chosen), n_fill, -1).mean(axis=1))
        prediction = np.concatenate(means)
        return prediction if prediction.shape[1] > 1 else prediction[:, 0]

    def _mixed(self, columns: NDArray[np.bool_], chosen: NDArray[np.intp]) -> Any:
        """Every chosen row with every background row: its own values in `columns`, else the background's."""
        n_fill = len(self.background)
        own = self.X.take(np.repeat(chosen, n_fill))
        fill = self.background.take(np.tile(np.arange(n_fill), len(chosen)))
        if isinstance(own, ArrayTable):
            return np.where(columns, own.native, fill.native)
        assert isinstance(fill, FrameTable)
        names = own.frame.columns
        series = [
            (own if here else fill).frame.get_column(name) for name, here in zip(names, columns, strict=True)
        ]
        return own.frame.with_columns(*series).to_native()
