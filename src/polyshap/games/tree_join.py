"""From the node arrays of single trees to one ensemble."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from polyshap._types import FloatArray, IntArray
from polyshap.games.trees import TreeEnsemble

__all__ = ["Nodes", "cover_share", "join_trees", "one_column"]

Nodes = dict[str, Any]  # one tree: the node arrays of TreeEnsemble, children counted from 0

_NODE_ARRAYS = ("feature", "threshold", "left", "right", "left_share", "value", "missing_left")


def join_trees(trees: Sequence[Nodes], base: FloatArray, n_features: int, **options: Any) -> TreeEnsemble:
    """Single trees, one after the other, as an ensemble."""
    nothing: Nodes = dict.fromkeys(_NODE_ARRAYS, np.empty(0)) | {"value": np.empty((0, len(base)))}
    joined: Nodes = {
        name: np.concatenate([nothing[name], *(tree[name] for tree in trees)]) for name in _NODE_ARRAYS
    }
    sizes = np.array([len(tree["feature"]) for tree in trees], dtype=np.intp)
    roots = np.cumsum(sizes) - sizes
    inner = joined["feature"] >= 0
    for side in ("left", "right"):
        joined[side] = np.where(inner, joined[side] + np.repeat(roots, sizes), 0).astype(np.intp)
    joined["feature"] = np.where(inner, joined["feature"], -1).astype(np.intp)
    joined["missing_left"] = joined["missing_left"].astype(bool)
    return TreeEnsemble(**joined, roots=roots, base=base, n_features=n_features, **options)


def cover_share(cover: FloatArray, feature: IntArray, left: IntArray, right: IntArray) -> FloatArray:
    """Share of the cover going left; half where a node has none."""
    inner = feature >= 0
    to_left, to_right = cover[np.where(inner, left, 0)], cover[np.where(inner, right, 0)]
    both = np.where(inner, to_left + to_right, 1.0)
    return np.where(inner, np.where(both > 0, to_left / np.where(both > 0, both, 1.0), 0.5), 1.0)


def one_column(values: FloatArray, column: int, n_outputs: int) -> FloatArray:
    """One column of values among zeros (n_nodes, n_outputs)."""
    out = np.zeros((len(values), n_outputs))
    out[:, column] = values
    return out
