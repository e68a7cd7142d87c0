"""Fitted tree models of scikit-learn, XGBoost and LightGBM, and stored forests, as a `TreeEnsemble`.

A reader only translates node arrays; what a prediction means stays the library's: raw margins for
boosting, means of leaf values for forests, class probabilities for their classifiers.
"""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from typing import Any

import numpy as np

from polyshap._types import FloatArray
from polyshap.errors import ArgumentError, ArgumentTypeError, FileFormatError, optional_import
from polyshap.games.tree_lightgbm import read_lightgbm
from polyshap.games.tree_sklearn import read_forest, read_gradient_boosting, read_histogram_boosting
from polyshap.games.tree_xgboost import read_xgboost
from polyshap.games.trees import TreeEnsemble

__all__ = ["load_forest", "read_trees"]


def read_trees(model: object) -> TreeEnsemble:
    """The trees of a fitted model.

    Parameters
    ----------
    model : object
        A scikit-learn decision tree, forest, gradient boosting or histogram gradient boosting model; an
        XGBoost or LightGBM model or booster.

    Returns
    -------
    TreeEnsemble
        One output per target, class or margin of the model.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> X = np.array([[0.0], [1.0]])
    >>> read_trees(DecisionTreeRegressor().fit(X, [2.0, 5.0])).predict(X).ravel().tolist()
    [2.0, 5.0]
    """
    for base in type(model).__mro__:
        reader = _READERS.get((base.__module__.partition(".")[0], base.__name__))
        if reader is not None and hasattr(model, "predict"):  # an embedding of scikit-learn is a forest too
            _check_fitted(model)
            return reader(model)
    raise ArgumentTypeError(
        "`model` must be a fitted tree, forest or gradient boosting model of scikit-learn, XGBoost or "
        f"LightGBM. Got {type(model).__module__}.{type(model).__qualname__}. "
        "Explain any other model with `polyshap.explain`, which needs its predictions only."
    )


def _check_fitted(model: object) -> None:
    if not hasattr(model, "fit"):
        return  # a booster is made by training
    validation = optional_import("sklearn.utils.validation", extra="trees", purpose="Reading a model")
    exceptions = optional_import("sklearn.exceptions", extra="trees", purpose="Reading a model")
    try:
        validation.check_is_fitted(model)
    except exceptions.NotFittedError as error:
        raise ArgumentError(f"`model` must be fitted. Got {model!r}. Call its `fit` first.") from error


def load_forest(path: str | PathLike[str]) -> tuple[TreeEnsemble, FloatArray]:
    """A forest stored as npz, and the rows stored with it; a missing value goes right in these files."""
    names = ("feature", "threshold", "left", "right", "w_left", "value", "roots", "x")
    with np.load(path, allow_pickle=False) as file:
        absent = [name for name in names if name not in file]
        if absent:
            raise FileFormatError(
                f"The forest {path} must hold the arrays {', '.join(names)}. It lacks {absent}."
            )
        feature, threshold, left, right, share, value, roots, rows = (file[name] for name in names)
    value = value.reshape(len(feature), -1)
    ensemble = TreeEnsemble(
        feature=feature,
        threshold=threshold,
        left=left,
        right=right,
        left_share=share,
        value=value,
        roots=roots,
        missing_left=np.zeros(len(feature), dtype=bool),
        base=np.zeros(value.shape[1]),
        n_features=rows.shape[1],
    )
    return ensemble, rows


# (package, class) -> reader; subclasses are found through their bases
_READERS: dict[tuple[str, str], Callable[[Any], TreeEnsemble]] = {
    ("sklearn", "BaseDecisionTree"): lambda model: read_forest([model]),
    ("sklearn", "BaseForest"): lambda model: read_forest(model.estimators_),
    ("sklearn", "BaseGradientBoosting"): read_gradient_boosting,
    ("sklearn", "BaseHistGradientBoosting"): read_histogram_boosting,
    ("xgboost", "XGBModel"): read_xgboost,
    ("xgboost", "Booster"): read_xgboost,
    ("lightgbm", "LGBMModel"): read_lightgbm,
    ("lightgbm", "Booster"): read_lightgbm,
}
