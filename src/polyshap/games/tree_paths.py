"""The algebra of a tree's leaves: each leaf is a value times a product of one condition a feature.

With a row, leaf l contributes value_l prod_{f on its path} (met_f if f is present, else share_f), where
met_f says whether the row meets all of the leaf's conditions on f and share_f is the share of the cover
that went that way at those nodes. A product game has its Shapley values in closed form: with
w(a, k) = a! (k - 1 - a)! / k! = int_0^1 t^a (1 - t)^(k - 1 - a) dt,

    phi_f = value (met_f - share_f) int_0^1 prod_{g != f} (met_g t + share_g (1 - t)) dt,

an integral of a polynomial of degree k - 1, for which ceil(k / 2) Gauss-Legendre points are exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from polyshap._types import BoolMatrix, FloatArray, IntArray
from polyshap.games import tree_kernels

__all__ = ["LeafBlock", "leaf_blocks", "leaf_shapley_values"]

# Elements of a block of the numpy route, rows x leaves x features: half a MiB, so that its handful of
# temporaries stays in the processor's cache. 16 times as many take twice the time.
_BLOCK = 1 << 16


@dataclass(frozen=True, eq=False)
class LeafBlock:
    """All leaves whose paths test the same number k of distinct features.

    Attributes
    ----------
    feature : ndarray of int, shape (n_leaves, k)
    low, high : ndarray, shape (n_leaves, k)
        A row meets the conditions on a feature when low < x <= high.
    missing : ndarray of bool, shape (n_leaves, k)
        Whether a missing value meets them.
    share : ndarray, shape (n_leaves, k)
        Product of the shares of the cover over the nodes that test the feature.
    value : ndarray, shape (n_leaves, n_outputs)
    """

    feature: IntArray
    low: FloatArray
    high: FloatArray
    missing: BoolMatrix
    share: FloatArray
    value: FloatArray

    def meets(self, rows: FloatArray) -> NDArray[np.bool_]:
        """Which conditions each row meets: (n_rows, n_leaves, k)."""
        x = rows[:, self.feature]
        return np.where(np.isnan(x), self.missing, (self.low < x) & (x <= self.high))


@dataclass(frozen=True, eq=False)
class _Level:
    """The nodes of one depth over all trees; slots 0..count-1 of each row hold the features seen so far."""

    node: IntArray  # (n,)
    count: IntArray  # (n,)
    feature: IntArray  # (n, depth), -1 where unused
    low: FloatArray
    high: FloatArray
    missing: BoolMatrix
    share: FloatArray

    def __getitem__(self, rows: NDArray[np.generic]) -> _Level:
        return _Level(*(getattr(self, field.name)[rows] for field in fields(self)))


def leaf_blocks(
    feature: IntArray,
    threshold: FloatArray,
    left: IntArray,
    right: IntArray,
    left_share: FloatArray,
    missing_left: NDArray[np.bool_],
    value: FloatArray,
    roots: IntArray,
) -> tuple[LeafBlock, ...]:
    """The leaves of all trees, by the number of features on their paths; a bare root is left out."""
    n = len(roots)
    level = _Level(
        node=np.asarray(roots, dtype=np.intp),
        count=np.zeros(n, dtype=np.intp),
        feature=np.empty((n, 0), dtype=np.intp),
        low=np.empty((n, 0)),
        high=np.empty((n, 0)),
        missing=np.empty((n, 0), dtype=bool),
        share=np.empty((n, 0)),
    )
    leaves: dict[int, list[LeafBlock]] = {}
    while len(level.node):
        is_leaf = feature[level.node] < 0
        for k, block in _finished(level[is_leaf], value):
            leaves.setdefault(k, []).append(block)
        level = _descend(level[~is_leaf], feature, threshold, left, right, left_share, missing_left)
    return tuple(
        LeafBlock(*(np.concatenate([getattr(b, f.name) for b in leaves[k]]) for f in fields(LeafBlock)))
        for k in sorted(leaves)
    )


def _finished(level: _Level, value: FloatArray) -> Iterator[tuple[int, LeafBlock]]:
    for k in np.unique(level.count[level.count > 0]):
        rows = level[level.count == k]
        yield (
            int(k),
            LeafBlock(
                feature=rows.feature[:, :k],
                low=rows.low[:, :k],
                high=rows.high[:, :k],
                missing=rows.missing[:, :k],
                share=rows.share[:, :k],
                value=value[rows.node],
            ),
        )


def _descend(
    level: _Level,
    feature: IntArray,
    threshold: FloatArray,
    left: IntArray,
    right: IntArray,
    left_share: FloatArray,
    missing_left: NDArray[np.bool_],
) -> _Level:
    """Both children of every node, with the node's condition merged into the slot of its feature."""
    n, tested = len(level.node), feature[level.node]
    known = level.feature == tested[:, None]
    slot = np.where(known.any(axis=1), known.argmax(axis=1) if known.size else 0, level.count)
    count = np.maximum(level.count, slot + 1)
    widen = ((0, 0), (0, 1))
    features = np.pad(level.feature, widen, constant_values=-1)
    low = np.pad(level.low, widen, constant_values=-np.inf)
    high = np.pad(level.high, widen, constant_values=np.inf)
    missing = np.pad(level.missing, widen, constant_values=True)
    share = np.pad(level.share, widen, constant_values=1.0)
    each = np.arange(n)
    features[each, slot] = tested
    cut, to_left, fraction = threshold[level.node], missing_left[level.node], left_share[level.node]

    children = []
    for child, goes_left in ((left, True), (right, False)):
        part = _Level(
            np.asarray(child[level.node], dtype=np.intp),
            count,
            features,
            low.copy(),
            high.copy(),
            missing.copy(),
            share.copy(),
        )
        if goes_left:
            part.high[each, slot] = np.minimum(high[each, slot], cut)
        else:
            part.low[each, slot] = np.maximum(low[each, slot], cut)
        part.missing[each, slot] &= to_left == goes_left
        part.share[each, slot] *= fraction if goes_left else 1.0 - fraction
        children.append(part)
    return _Level(
        *(np.concatenate([getattr(child, field.name) for child in children]) for field in fields(_Level))
    )


def leaf_shapley_values(blocks: tuple[LeafBlock, ...], rows: FloatArray, n_outputs: int) -> FloatArray:
    """Exact Shapley values of the sum of all leaves: (n_rows, n_features, n_outputs)."""
    result = np.zeros((*rows.shape, n_outputs))
    for block in blocks:
        k = block.feature.shape[1]
        points, weights = np.polynomial.legendre.leggauss((k + 1) // 2)
        points, weights = (points + 1.0) / 2.0, weights / 2.0
        if tree_kernels.available():
            arrays = (block.feature, block.low, block.high, block.missing, block.share, block.value)
            kernel = tree_kernels.compiled(tree_kernels.shapley_of_leaves)
            kernel(*map(np.ascontiguousarray, arrays), points, weights, rows, result)
            continue
        step = max(1, _BLOCK // (len(block.feature) * k))
        for start in range(0, len(rows), step):
            _add_block(block, points, weights, rows[start : start + step], result[start : start + step])
    return result


def _add_block(
    block: LeafBlock, points: FloatArray, weights: FloatArray, rows: FloatArray, out: FloatArray
) -> None:
    """The same with numpy, all leaves and some rows at once."""
    met = block.meets(rows).transpose(2, 0, 1).astype(float)  # (k, rows, n_leaves)
    share = block.share.T[:, None]
    total = np.zeros_like(met)
    for point, weight in zip(points, weights, strict=True):
        factor = met * point + share * (1.0 - point)
        after = [np.full(met.shape[1:], weight)]
        for j in range(len(met) - 1, 0, -1):
            after.append(after[-1] * factor[j])
        before = np.ones(met.shape[1:])
        for j in range(len(met)):
            total[j] += before * after.pop()
            before *= factor[j]
    total *= met - share
    players = block.feature.T.ravel()
    for output in range(block.value.shape[1]):
        parts = total * block.value[:, output]
        for row in range(len(rows)):
            out[row, :, output] += np.bincount(players, parts[:, row].ravel(), minlength=out.shape[1])
