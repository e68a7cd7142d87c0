"""Inner loops over trees, compiled by numba; without numba the callers take their numpy routes.

The functions are plain Python over arrays and scalars, so that they can be tested uncompiled. They are
compiled on first use only and cached on disk where the folder allows it.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from polyshap._types import BoolMatrix, FloatArray, IntArray

__all__ = ["ROWS_TOGETHER", "available", "compiled", "shapley_of_leaves", "walk_together", "walk_trees"]

# Rows of a joint walk: one bit each of a signed 64-bit integer, the sign and one more left alone.
ROWS_TOGETHER = 62

Kernel = Callable[..., Any]


@cache
def available() -> bool:
    """Whether numba is installed, and fits the numpy that is."""
    try:
        importlib.import_module("numba")
    except ImportError:  # numba refuses a numpy that is too new for it
        return False
    return True


@cache
def compiled(kernel: Kernel) -> Kernel:
    """The kernel as machine code."""
    import numba

    try:
        return numba.njit(cache=True)(kernel)  # type: ignore[no-any-return]
    except RuntimeError:  # no folder that numba may write its cache to
        return numba.njit(kernel)  # type: ignore[no-any-return]


def walk_trees(
    feature: IntArray,
    left: IntArray,
    right: IntArray,
    left_share: FloatArray,
    value: FloatArray,
    roots: IntArray,
    followed: IntArray,
    coalitions: BoolMatrix,
    out: FloatArray,
) -> None:
    """Add the path-dependent game of one row to `out` (m, n_outputs).

    `followed` is the child that the row takes at each node.
    """
    n_outputs = value.shape[1]
    # one child is walked and the other waits: never more waiting than nodes
    waiting = np.empty(len(feature), dtype=np.int32)
    weights = np.empty(len(feature))
    for i in range(len(coalitions)):
        present = coalitions[i]
        for root in roots:
            node, weight, depth = root, 1.0, 0
            while True:
                while feature[node] >= 0:
                    if present[feature[node]]:
                        node = followed[node]
                        continue
                    share = left_share[node]
                    if share < 1.0:
                        if share <= 0.0:
                            node = right[node]
                            continue
                        waiting[depth] = right[node]
                        weights[depth] = weight * (1.0 - share)
                        depth += 1
                    weight *= share
                    node = left[node]
                for output in range(n_outputs):
                    out[i, output] += weight * value[node, output]
                if depth == 0:
                    break
                depth -= 1
                node, weight = waiting[depth], weights[depth]


def walk_together(
    feature: IntArray,
    left: IntArray,
    right: IntArray,
    left_share: FloatArray,
    value: FloatArray,
    roots: IntArray,
    turns_left: IntArray,
    everyone: int,
    coalitions: BoolMatrix,
    out: FloatArray,
) -> None:
    """Add the path-dependent games of several rows to `out` (n_rows, m, n_outputs), in one walk for all.

    Bit r of `turns_left` says whether row r goes left at a node, and `everyone` has a bit for each row. The
    weight of a path is that of the absent features alone, so rows stay together until a present one parts
    them. Each row's leaves come in the order of `walk_trees`: the sums are the same to the last bit.
    """
    n_outputs = value.shape[1]
    waiting = np.empty(len(feature), dtype=np.int32)
    weights = np.empty(len(feature))
    groups = np.empty(len(feature), dtype=np.int64)
    for i in range(len(coalitions)):
        present = coalitions[i]
        for root in roots:
            node, weight, group, depth = root, 1.0, everyone, 0
            while True:
                while feature[node] >= 0:
                    if present[feature[node]]:
                        to_left, share = group & turns_left[node], 1.0
                        to_right = group ^ to_left
                    else:
                        to_left, to_right, share = group, group, left_share[node]
                    if to_left == 0 or share <= 0.0:
                        node = right[node]
                        continue
                    if to_right != 0 and (present[feature[node]] or share < 1.0):
                        waiting[depth] = right[node]
                        weights[depth] = weight if present[feature[node]] else weight * (1.0 - share)
                        groups[depth] = to_right
                        depth += 1
                    weight *= share
                    group = to_left
                    node = left[node]
                row = 0
                while group:
                    if group & 1:
                        for output in range(n_outputs):
                            out[row, i, output] += weight * value[node, output]
                    step = 1 if group & 255 else 8
                    group >>= step
                    row += step
                if depth == 0:
                    break
                depth -= 1
                node, weight, group = waiting[depth], weights[depth], groups[depth]


def shapley_of_leaves(
    feature: IntArray,
    low: FloatArray,
    high: FloatArray,
    missing: BoolMatrix,
    share: FloatArray,
    value: FloatArray,
    points: FloatArray,
    weights: FloatArray,
    rows: FloatArray,
    out: FloatArray,
) -> None:
    """Add the Shapley values of leaves with k distinct features each to `out` (rows, features, n_outputs).

    With a_g = 1 where the row meets the leaf's condition on g and z_g the share of the cover that does,
    phi_f = value (a_f - z_f) sum_q w_q prod_{g != f} (a_g t_q + z_g (1 - t_q)); a prefix and a suffix
    product give all f at once without a division. Rows with the same a share the result.
    """
    n_leaves, k = feature.shape
    n_points = len(points)
    remembered = k <= 10  # 2^10 patterns of ten numbers: 80 KiB, inside a second-level cache
    n_patterns = 2**k if remembered else 1
    table = np.empty((n_patterns, k))
    known = np.full(n_patterns, -1)
    met = np.empty(k)
    prefix = np.empty((k + 1, n_points))
    factor = np.empty((k, n_points))
    suffix = np.empty(n_points)
    for leaf in range(n_leaves):
        for row in range(len(rows)):
            pattern = 0
            for j in range(k):
                x = rows[row, feature[leaf, j]]
                inside = missing[leaf, j] if np.isnan(x) else low[leaf, j] < x <= high[leaf, j]
                met[j] = 1.0 if inside else 0.0
                if remembered and inside:
                    pattern |= 1 << j
            if known[pattern] != leaf or not remembered:
                known[pattern] = leaf
                prefix[0, :] = 1.0
                for j in range(k):
                    for q in range(n_points):
                        factor[j, q] = met[j] * points[q] + share[leaf, j] * (1.0 - points[q])
                        prefix[j + 1, q] = prefix[j, q] * factor[j, q]
                suffix[:] = weights
                for j in range(k - 1, -1, -1):
                    total = 0.0
                    for q in range(n_points):
                        total += prefix[j, q] * suffix[q]
                        suffix[q] *= factor[j, q]
                    table[pattern, j] = total * (met[j] - share[leaf, j])
            for j in range(k):
                for output in range(value.shape[1]):
                    out[row, feature[leaf, j], output] += table[pattern, j] * value[leaf, output]
