"""Trees of XGBoost, from its JSON model."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from polyshap.errors import NotAvailableError
from polyshap.games.tree_join import Nodes, cover_share, join_trees, one_column
from polyshap.games.trees import TreeEnsemble

__all__ = ["read_xgboost"]


def read_xgboost(model: Any) -> TreeEnsemble:
    import xgboost

    booster = model if isinstance(model, xgboost.Booster) else model.get_booster()
    if booster.attr("best_iteration") is not None and booster is not model:
        booster = booster[: int(booster.attr("best_iteration")) + 1]  # as the scikit-learn interface predicts
    learner = json.loads(bytes(booster.save_raw("json")))["learner"]
    machine = learner["gradient_booster"]
    if machine["name"] == "gblinear":
        raise NotAvailableError(
            "`model` must be made of trees. Got booster='gblinear', whose coefficients do."
        )
    scales = machine.get("weight_drop")
    machine = machine.get("gbtree", machine)["model"]
    n_outputs = max(int(learner["learner_model_param"]["num_class"]), 1)
    n_outputs = max(n_outputs, int(learner["learner_model_param"].get("num_target", 1)))
    n_features = int(learner["learner_model_param"]["num_feature"])
    nodes = [
        _xgboost_nodes(tree, output, n_outputs, 1.0 if scales is None else scales[index])
        for index, (tree, output) in enumerate(zip(machine["trees"], machine["tree_info"], strict=True))
    ]
    trees = join_trees(nodes, np.zeros(n_outputs), n_features, single_precision=True)
    # base_score goes through the objective's link, which the file only names: read it off one prediction
    probe = np.zeros((1, n_features))
    names = {"feature_names": booster.feature_names, "feature_types": booster.feature_types}
    margin = booster.predict(xgboost.DMatrix(probe, **names), output_margin=True)
    base = np.reshape(margin, -1).astype(float) - trees.predict(probe)[0]
    # the scikit-learn interface makes a number missing before the booster sees it, which does not know
    missing = np.float32(getattr(model, "missing", np.nan))
    return join_trees(nodes, base, n_features, single_precision=True, missing_value=float(missing))


def _xgboost_nodes(tree: Nodes, output: int, n_outputs: int, scale: float) -> Nodes:
    if int(tree["tree_param"]["size_leaf_vector"]) > 1:
        raise NotAvailableError(
            "`model` must have one tree an output: fit with multi_strategy='one_output_per_tree'."
        )
    if np.any(np.asarray(tree["split_type"]) != 0):
        raise NotAvailableError(
            "`model` must have no categorical splits. Encode categories as numbers first."
        )
    left, right = np.asarray(tree["left_children"]), np.asarray(tree["right_children"])
    feature = np.where(left >= 0, tree["split_indices"], -1)
    number = np.asarray(tree["split_conditions"], dtype=np.float32)
    return {
        "feature": feature,
        # XGBoost sends x < t left; the largest float32 below t makes that x <= threshold
        "threshold": np.nextafter(number, np.float32(-np.inf)).astype(float),
        "left": left,
        "right": right,
        "left_share": cover_share(np.asarray(tree["sum_hessian"], dtype=float), feature, left, right),
        "value": one_column(np.where(feature < 0, scale * number.astype(float), 0.0), output, n_outputs),
        "missing_left": np.asarray(tree["default_left"]),
    }
