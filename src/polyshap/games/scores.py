"""Scores of predictions: a few named ones, any metric(y, prediction), and the scorers of scikit-learn.

A scorer asks a fitted model. A game of features has predictions but no model for them, so the scorer is
handed one that answers with these.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyshap._types import FloatArray
from polyshap.errors import ArgumentError, optional_import

__all__ = ["CLASS_SCORES", "SCORES", "Score", "as_score", "as_scorer", "class_numbers"]

Score = Callable[[Any, Any], float]


def _explained_variance(y: NDArray[Any], prediction: FloatArray) -> float:
    """1 - mean squared error / variance of y."""
    return float(1 - np.mean((y - prediction) ** 2) / np.var(y))


def _squared_error(y: NDArray[Any], prediction: FloatArray) -> float:
    return -float(np.mean((y - prediction) ** 2))


def _accuracy(y: NDArray[Any], prediction: FloatArray) -> float:
    return float(np.mean(_probabilities(prediction, y.max() + 1).argmax(axis=1) == y))


def _cross_entropy(y: NDArray[Any], prediction: FloatArray) -> float:
    """Mean log probability of the right class."""
    right = _probabilities(prediction, y.max() + 1)[np.arange(len(y)), y]
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

# These take y as class numbers 0, 1, ...
CLASS_SCORES = ("accuracy", "cross-entropy")


def as_score(score: str | Callable[..., float], classes: NDArray[Any] | None) -> Score:
    """score(y, prediction) of a name or a callable; `classes` names the columns of class probabilities."""
    if isinstance(score, str) and score in SCORES:
        return SCORES[score]
    chosen = as_scorer(score, "score", tuple(SCORES)) if isinstance(score, str) else score
    return _Answering(chosen, classes) if _is_scorer(chosen) else chosen


def as_scorer(name: str, argument: str, others: tuple[str, ...] = ()) -> Callable[..., float]:
    """The scorer of scikit-learn of that name; an unknown one is answered with the nearest names."""
    metrics = optional_import("sklearn.metrics", extra="demo", purpose=f"The {argument} {name!r}")
    known = (*others, *metrics.get_scorer_names())
    if name not in known:
        near = difflib.get_close_matches(name, known, n=3)
        hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
        raise ArgumentError(
            f"`{argument}` must be a callable{''.join(f', {other!r}' for other in others)} or the name of a "
            f"scorer of scikit-learn. Got {name!r}.{hint}"
        )
    scorer: Callable[..., float] = metrics.get_scorer(name)
    return scorer


def _is_scorer(score: Callable[..., float]) -> bool:
    """Whether it wants (estimator, X, y), as scorers do, rather than (y, prediction)."""
    try:
        return next(iter(inspect.signature(score).parameters), "") == "estimator"
    except (TypeError, ValueError):  # compiled functions may have no signature
        return False


def _probabilities(prediction: FloatArray, n_classes: int) -> FloatArray:
    """One column a class; a single number is the probability of the second of two classes."""
    wide = prediction.ndim == 2
    shares = prediction if wide else np.column_stack([1 - prediction, prediction])
    if n_classes > shares.shape[1]:
        what = f"{shares.shape[1]} columns" if wide else "one number a row"
        raise ArgumentError(
            f"`predict` must return a probability for each of the {n_classes} classes. Got {what}. "
            "Use predict_proba."
        )
    return shares


def class_numbers(y: NDArray[Any], classes: NDArray[Any] | None) -> NDArray[np.intp]:
    """The position of each label among the classes; by default 0, 1, ... or the labels in sorted order."""
    if classes is None:
        if y.dtype.kind in "biuf" and (y == y.astype(np.intp)).all() and y.min() >= 0:
            return y.astype(np.intp)
        classes = np.unique(y)
    number = {label: position for position, label in enumerate(classes.tolist())}
    unknown = sorted({str(label) for label in y.tolist() if label not in number})
    if unknown:
        raise ArgumentError(
            f"`y` must hold classes among {', '.join(map(str, classes))}. Got {', '.join(unknown[:5])} too. "
            "Pass `classes`, the label of each column of the prediction."
        )
    return np.array([number[label] for label in y.tolist()], dtype=np.intp)


@dataclass(frozen=True, eq=False)
class _Answering:
    """A scorer of scikit-learn as score(y, prediction)."""

    scorer: Callable[..., float]
    classes: NDArray[Any] | None

    def __call__(self, y: NDArray[Any], prediction: FloatArray) -> float:
        classes = self.classes if self.classes is not None else _implied_classes(y, prediction)
        model = _regressor(prediction) if classes is None else _classifier(prediction, classes)
        return float(self.scorer(model, np.empty((len(y), 0)), y))


def _implied_classes(y: NDArray[Any], prediction: FloatArray) -> NDArray[Any] | None:
    """The labels, where the prediction can only mean classes: a column each, or one number for two."""
    labels = np.unique(y)
    two = prediction.ndim == 1 and y.dtype.kind != "f" and len(labels) == 2
    return labels if two or (prediction.ndim == 2 and y.ndim == 1) else None


def _classifier(prediction: FloatArray, classes: NDArray[Any]) -> Any:
    """A fitted classifier that gives these probabilities, whatever it is asked about."""
    sklearn: Any = optional_import("sklearn.base", extra="demo", purpose="A score of scikit-learn")
    mixin, base = sklearn.ClassifierMixin, sklearn.BaseEstimator
    shares = _probabilities(prediction, len(classes))

    class Answers(mixin, base):  # type: ignore[misc, valid-type]
        classes_ = classes

        def fit(self, X: Any, y: Any) -> Any:
            return self

        def predict_proba(self, X: Any) -> FloatArray:
            return shares

        def predict(self, X: Any) -> NDArray[Any]:
            return np.asarray(classes[shares.argmax(axis=1)])

    return Answers()


def _regressor(prediction: FloatArray) -> Any:
    """A fitted regressor that gives these predictions."""
    sklearn: Any = optional_import("sklearn.base", extra="demo", purpose="A score of scikit-learn")
    mixin, base = sklearn.RegressorMixin, sklearn.BaseEstimator

    class Answers(mixin, base):  # type: ignore[misc, valid-type]
        def fit(self, X: Any, y: Any) -> Any:
            return self

        def predict(self, X: Any) -> FloatArray:
            return prediction

    return Answers()
