"""Trees of LightGBM, from its text model."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyshap.errors import NotAvailableError
from polyshap.games.tree_join import Nodes, cover_share, join_trees, one_column
from polyshap.games.trees import TreeEnsemble

__all__ = ["read_lightgbm"]

# decision_type of a split: bit 0 categorical, bit 1 missing goes left, bits 2 and 3 what counts as missing
_CATEGORICAL, _LEFT, _ZERO, _NAN = 1, 2, 4, 8


def read_lightgbm(model: Any) -> TreeEnsemble:
    """One output a class; raw margins, or the mean over the trees of boosting_type='rf'."""
    booster = model if not hasattr(model, "booster_") else model.booster_
    best = booster.best_iteration
    text = booster.model_to_string(num_iteration=best if best > 0 else None)
    head, *sections = text.partition("\nend of trees")[0].split("\nTree=")
    header = _fields(head)
    n_outputs, n_features = int(header["num_tree_per_iteration"]), int(header["max_feature_idx"]) + 1
    scale = n_outputs / len(sections) if "average_output" in head.splitlines() and sections else 1.0
    zero_is_missing = np.zeros(n_features, dtype=bool)
    nodes = [
        _nodes(_fields(section), index % n_outputs, n_outputs, scale, zero_is_missing)
        for index, section in enumerate(sections)
    ]
    return join_trees(nodes, np.zeros(n_outputs), n_features, zero_is_missing=zero_is_missing)


def _fields(text: str) -> dict[str, str]:
    return {name: value for name, mark, value in (line.partition("=") for line in text.splitlines()) if mark}


def _nodes(
    fields: dict[str, str], output: int, n_outputs: int, scale: float, zero_is_missing: NDArray[np.bool_]
) -> Nodes:
    """The splits first, then the leaves, which LightGBM counts -1, -2, ..."""
    if fields.get("is_linear", "0") != "0":
        raise NotAvailableError("`model` must have constant leaves: fit it with linear_tree=False.")

    def numbers(name: str, kind: type) -> NDArray[Any]:
        return np.array(fields.get(name, "").split(), dtype=kind)

    leaf_value = numbers("leaf_value", float)
    n_leaves, n_splits = len(leaf_value), len(leaf_value) - 1
    kinds = numbers("decision_type", np.intp) if n_splits else np.empty(0, dtype=np.intp)
    if np.any(kinds & _CATEGORICAL):
        raise NotAvailableError(
            "`model` must have no categorical splits. Encode categories as numbers first."
        )
    split_feature, threshold = numbers("split_feature", np.intp), numbers("threshold", float)
    zero_is_missing[split_feature[kinds & _ZERO > 0]] = True
    # without a missing type, LightGBM reads a missing value as zero
    missing_left = np.where(kinds & (_ZERO | _NAN), kinds & _LEFT > 0, threshold >= 0.0)
    rest = np.zeros(n_leaves)
    children = []
    for name in ("left_child", "right_child"):
        child = numbers(name, np.intp)
        children.append(
            np.concatenate([np.where(child < 0, n_splits - 1 - child, child), rest]).astype(np.intp)
        )
    cover = np.concatenate([numbers("internal_count", float), numbers("leaf_count", float)])
    feature = np.concatenate([split_feature, np.full(n_leaves, -1)])
    cover = cover if len(cover) == len(feature) else np.zeros(len(feature))
    return {
        "feature": feature,
        "threshold": np.concatenate([threshold, rest]),
        "left": children[0],
        "right": children[1],
        "left_share": cover_share(cover, feature, *children),
        "value": one_column(np.concatenate([np.zeros(n_splits), leaf_value * scale]), output, n_outputs),
        "missing_left": np.concatenate([missing_left, rest > 0]),
    }
