"""Boosted trees fitted to observed coalitions: one table of engines, whichever is installed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Literal

import numpy as np

from polyshap._types import BoolMatrix, FloatArray
from polyshap.errors import MissingDependencyError
from polyshap.games.tree_lightgbm import read_lightgbm
from polyshap.games.tree_sklearn import read_histogram_boosting
from polyshap.games.tree_xgboost import read_xgboost
from polyshap.games.trees import TreeEnsemble

__all__ = ["Boosting", "Engine", "fit_trees", "installed"]

# The largest value that an engine sees: gains, in squared units, are then far above such thresholds.
_LARGEST = 1e6

# Leaves of a scikit-learn tree: all of XGBoost's default depth, and no more where trees are deeper.
_LEAVES = 64

Engine = Literal["xgboost", "lightgbm", "scikit-learn"]


@dataclass(frozen=True)
class Boosting:
    """Settings of a boosted tree ensemble; the defaults are XGBoost's."""

    n_trees: int = 100
    max_depth: int = 6
    learning_rate: float = 0.3


def installed(preference: Sequence[Engine]) -> Engine:
    """The first of the engines that is installed."""
    for engine in preference:
        if find_spec({"scikit-learn": "sklearn"}.get(engine, engine)) is not None:
            return engine
    raise MissingDependencyError(
        f"This estimator needs one of {', '.join(preference)}; none is installed. "
        'Install them with `pip install "polyshap[trees]"`.'
    )


def fit_trees(engine: Engine, settings: Boosting, coalitions: BoolMatrix, values: FloatArray) -> TreeEnsemble:
    """One ensemble fitted to `values` (m,), as exact node arrays."""
    # Single precision overflows in some units, and XGBoost makes no split that gains less than 1e-6: on
    # values of about 1 that ends the boosting early (twice the error of regression-msr on Bike).
    scale = (float(np.abs(values).max(initial=0.0)) or 1.0) / _LARGEST
    ensemble = _ENGINES[engine](settings, coalitions, values / scale)
    return replace(ensemble, value=ensemble.value * scale, base=ensemble.base * scale)


def _fit_xgboost(settings: Boosting, coalitions: BoolMatrix, values: FloatArray) -> TreeEnsemble:
    import xgboost

    model = xgboost.XGBRegressor(
        n_estimators=settings.n_trees,
        max_depth=settings.max_depth,
        learning_rate=settings.learning_rate,
        n_jobs=1,
        random_state=0,
    )
    return read_xgboost(model.fit(coalitions.astype(np.float32), values))


def _fit_lightgbm(settings: Boosting, coalitions: BoolMatrix, values: FloatArray) -> TreeEnsemble:
    import lightgbm

    parameters = {
        "objective": "regression",
        "max_depth": settings.max_depth,
        "learning_rate": settings.learning_rate,
        "num_threads": 1,
        "deterministic": True,
        "force_row_wise": True,
        "seed": 0,
        "verbose": -1,
    }
    data = lightgbm.Dataset(coalitions.astype(np.float32), values, params={"verbose": -1})
    return read_lightgbm(
        lightgbm.train(parameters, data, num_boost_round=settings.n_trees, keep_training_booster=True)
    )


def _fit_sklearn(settings: Boosting, coalitions: BoolMatrix, values: FloatArray) -> TreeEnsemble:
    from sklearn.ensemble import HistGradientBoostingRegressor

    model = HistGradientBoostingRegressor(  # the rest as in XGBoost's defaults
        max_iter=settings.n_trees,
        max_depth=settings.max_depth,
        learning_rate=settings.learning_rate,
        max_leaf_nodes=min(2**settings.max_depth, _LEAVES),
        min_samples_leaf=1,
        l2_regularization=1.0,
        early_stopping=False,
        random_state=0,
    )
    return read_histogram_boosting(model.fit(coalitions.astype(float), values))


_ENGINES: dict[Engine, Callable[[Boosting, BoolMatrix, FloatArray], TreeEnsemble]] = {
    "xgboost": _fit_xgboost,
    "lightgbm": _fit_lightgbm,
    "scikit-learn": _fit_sklearn,
}
