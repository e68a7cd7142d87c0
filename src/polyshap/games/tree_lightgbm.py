"""Trees of LightGBM, from its dumped model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyshap.errors import NotAvailableError
from polyshap.games.tree_join import Nodes, cover_share, join_trees, one_column
from polyshap.games.trees import TreeEnsemble

__all__ = ["read_lightgbm"]


def read_lightgbm(model: Any) -> TreeEnsemble:
    booster = model if not hasattr(model, "booster_") else model.booster_
    best = booster.best_iteration
    dump = booster.dump_model(num_iteration=best if best > 0 else None)
    n_outputs, n_features = dump["num_tree_per_iteration"], dump["max_feature_idx"] + 1
    trees = dump["tree_info"]
    scale = n_outputs / len(trees) if dump.get("average_output") and trees else 1.0
    zero_is_missing = np.zeros(n_features, dtype=bool)
    nodes = [
        _lightgbm_nodes(tree["tree_structure"], index % n_outputs, n_outputs, scale, zero_is_missing)
        for index, tree in enumerate(trees)
    ]
    return join_trees(nodes, np.zeros(n_outputs), n_features, zero_is_missing=zero_is_missing)


def _walk(node: Nodes) -> Iterator[Nodes]:
    """All nodes, each before its children, the left subtree first."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        if "left_child" in node:
            waiting += [node["right_child"], node["left_child"]]


def _lightgbm_nodes(
    structure: Nodes, output: int, n_outputs: int, scale: float, zero_is_missing: NDArray[np.bool_]
) -> Nodes:
    listed = list(_walk(structure))
    number = {id(node): index for index, node in enumerate(listed)}
    n = len(listed)
    feature, left, right = (np.full(n, fill, dtype=np.intp) for fill in (-1, 0, 0))
    threshold, cover, value, missing_left = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n, dtype=bool)
    for index, node in enumerate(listed):
        if "left_child" not in node:
            if "leaf_coeff" in node:
                raise NotAvailableError("`model` must have constant leaves: fit it with linear_tree=False.")
            value[index], cover[index] = node["leaf_value"] * scale, node.get("leaf_count", 0)
            continue
        if node["decision_type"] != "<=":
            raise NotAvailableError(
                "`model` must have no categorical splits. Encode categories as numbers first."
            )
        feature[index], threshold[index] = node["split_feature"], node["threshold"]
        cover[index] = node["internal_count"]
        left[index], right[index] = number[id(node["left_child"])], number[id(node["right_child"])]
        # without a missing type, LightGBM reads a missing value as zero
        missing_left[index] = (
            node["threshold"] >= 0.0 if node["missing_type"] == "None" else node["default_left"]
        )
        zero_is_missing[node["split_feature"]] |= node["missing_type"] == "Zero"
    return {
        "feature": feature,
        "threshold": threshold,
        "left": left,
        "right": right,
        "left_share": cover_share(cover, feature, left, right),
        "value": one_column(value, output, n_outputs),
        "missing_left": missing_left,
    }
