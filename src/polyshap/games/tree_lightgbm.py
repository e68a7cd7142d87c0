"""Trees of LightGBM, from its text model."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyshap.errors import NotAvailableError
from polyshap.games.tree_join import cover_share
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
    trees = [_fields(section) for section in sections]
    if any(tree.get("is_linear", "0") != "0" for tree in trees):
        raise NotAvailableError("`model` must have constant leaves: fit it with linear_tree=False.")
    scale = n_outputs / len(trees) if "average_output" in head.splitlines() and trees else 1.0

    def numbers(name: str, kind: type) -> NDArray[Any]:
        return np.array(" ".join(tree.get(name, "") for tree in trees).split(), dtype=kind)

    # the splits of all trees first, then the leaves of all trees, which LightGBM counts -1, -2, ...
    n_leaves = np.array([int(tree["num_leaves"]) for tree in trees], dtype=np.intp)
    n_splits = n_leaves - 1
    first_split, first_leaf = np.cumsum(n_splits) - n_splits, n_splits.sum() + np.cumsum(n_leaves) - n_leaves
    feature, threshold = numbers("split_feature", np.intp), numbers("threshold", float)
    kinds = numbers("decision_type", np.intp)
    if np.any(kinds & _CATEGORICAL):
        raise NotAvailableError(
            "`model` must have no categorical splits. Encode categories as numbers first."
        )
    n_leaf, tree_of_split = int(n_leaves.sum()), np.repeat(np.arange(len(trees)), n_splits)

    def children(name: str) -> NDArray[np.intp]:
        child = numbers(name, np.intp)[: len(feature)]  # a tree of one leaf may list a child
        placed = np.where(
            child < 0, first_leaf[tree_of_split] - 1 - child, first_split[tree_of_split] + child
        )
        return np.concatenate([placed, np.zeros(n_leaf, dtype=np.intp)])

    left, right = children("left_child"), children("right_child")
    feature = np.concatenate([feature, np.full(n_leaf, -1)])
    cover = np.concatenate([numbers("internal_count", float), numbers("leaf_count", float)])
    value = np.zeros((len(feature), n_outputs))
    output_of_leaf = np.repeat(np.arange(len(trees)) % n_outputs, n_leaves)
    value[np.arange(len(kinds), len(feature)), output_of_leaf] = scale * numbers("leaf_value", float)
    zero_is_missing = np.zeros(n_features, dtype=bool)
    zero_is_missing[feature[: len(kinds)][kinds & _ZERO > 0]] = True
    # without a missing type, LightGBM reads a missing value as zero
    missing_left = np.where(kinds & (_ZERO | _NAN), kinds & _LEFT > 0, threshold >= 0.0)
    return TreeEnsemble(
        feature=feature,
        threshold=np.concatenate([threshold, np.zeros(n_leaf)]),
        left=left,
        right=right,
        left_share=cover_share(cover, feature, left, right),
        value=value,
        roots=np.where(n_splits > 0, first_split, first_leaf),
        missing_left=np.concatenate([missing_left, np.zeros(n_leaf, dtype=bool)]),
        base=np.zeros(n_outputs),
        n_features=n_features,
        zero_is_missing=zero_is_missing,
    )


def _fields(text: str) -> dict[str, str]:
    return {name: value for name, mark, value in (line.partition("=") for line in text.splitlines()) if mark}
