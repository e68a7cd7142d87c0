"""Trees of scikit-learn: single trees, forests, gradient boosting, histogram gradient boosting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from polyshap._types import FloatArray
from polyshap.errors import NotAvailableError
from polyshap.games.tree_join import Nodes, cover_share, join_trees, one_column
from polyshap.games.trees import TreeEnsemble

__all__ = ["read_forest", "read_gradient_boosting", "read_histogram_boosting"]


def _sklearn_nodes(tree: Any, value: FloatArray) -> Nodes:
    feature, left, right = tree.feature, tree.children_left, tree.children_right
    return {
        "feature": feature,
        "threshold": tree.threshold,
        "left": left,
        "right": right,
        "left_share": cover_share(tree.weighted_n_node_samples, feature, left, right),
        "value": value,
        "missing_left": np.asarray(tree.missing_go_to_left),
    }


def _sklearn_values(estimator: Any) -> FloatArray:
    """Leaf means (n_nodes, n_targets), or class probabilities (n_nodes, n_classes)."""
    value = np.asarray(estimator.tree_.value, dtype=float)
    if not hasattr(estimator, "classes_"):
        return value[:, :, 0]
    if value.shape[1] > 1:
        raise NotAvailableError(
            f"`model` must have one target when it is a classifier. Got {value.shape[1]}. "
            "Fit one model a target."
        )
    return np.asarray(value[:, 0] / value[:, 0].sum(axis=1, keepdims=True))


def read_forest(trees: Sequence[Any]) -> TreeEnsemble:
    nodes = [_sklearn_nodes(tree.tree_, _sklearn_values(tree) / len(trees)) for tree in trees]
    base = np.zeros(nodes[0]["value"].shape[1])
    return join_trees(nodes, base, int(trees[0].n_features_in_), single_precision=True)


def read_gradient_boosting(model: Any) -> TreeEnsemble:
    if not (model.init is None or model.init == "zero" or _is_constant(model.init)):
        raise NotAvailableError("`model` must start from a constant: fit it with init=None or init='zero'.")
    stages = np.asarray(model.estimators_)
    n_outputs = stages.shape[1]
    nodes = [
        _sklearn_nodes(tree.tree_, one_column(model.learning_rate * tree.tree_.value[:, 0, 0], k, n_outputs))
        for stage in stages
        for k, tree in enumerate(stage)
    ]
    # what the model adds to its trees depends on `init` and `loss`: it is read off one prediction
    start = join_trees(nodes, np.zeros(n_outputs), int(model.n_features_in_), single_precision=True)
    probe = np.zeros((1, start.n_features))
    raw = model.predict(probe) if not hasattr(model, "classes_") else model.decision_function(probe)
    return join_trees(
        nodes, np.reshape(raw, -1) - start.predict(probe)[0], start.n_features, single_precision=True
    )


def _is_constant(init: Any) -> bool:
    """Whether it is a dummy of scikit-learn that predicts the same for every row, each time."""
    dummy = type(init).__module__ == "sklearn.dummy"
    return dummy and init.strategy not in ("stratified", "uniform")


def read_histogram_boosting(model: Any) -> TreeEnsemble:
    if getattr(model, "is_categorical_", None) is not None and np.any(model.is_categorical_):
        raise NotAvailableError(
            "`model` must have no categorical splits. Encode categories as numbers first."
        )
    base = np.asarray(model._baseline_prediction, dtype=float).reshape(-1)
    nodes = []
    for stage in model._predictors:
        for k, predictor in enumerate(stage):
            table = predictor.nodes
            leaf = table["is_leaf"].astype(bool)
            feature = np.where(leaf, -1, table["feature_idx"])
            left, right = table["left"].astype(np.intp), table["right"].astype(np.intp)
            nodes.append(
                {
                    "feature": feature,
                    "threshold": table["num_threshold"],
                    "left": left,
                    "right": right,
                    "left_share": cover_share(table["count"].astype(float), feature, left, right),
                    "value": one_column(np.where(leaf, table["value"], 0.0), k, len(base)),
                    "missing_left": table["missing_go_to_left"],
                }
            )
    return join_trees(nodes, base, int(model.n_features_in_))
