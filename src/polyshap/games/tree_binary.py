"""Trees whose features are players, present (1) or absent (0): polynomials in closed form.

A leaf whose path wants the players P present and the players N absent is the game
value [P inside S] [S and N disjoint].
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from polyshap._types import BoolMatrix, FloatArray, IntArray
from polyshap.coalitions import log_factorials
from polyshap.games.trees import TreeEnsemble

__all__ = ["binary_fourier", "binary_shapley_values"]


@dataclass(frozen=True, eq=False)
class _Literals:
    """Leaves that k players decide: which players (n_leaves, k), and whether each must be present."""

    player: IntArray
    present: BoolMatrix
    value: FloatArray  # (n_leaves, n_outputs)


def _literals(ensemble: TreeEnsemble) -> Iterable[_Literals]:
    ends = np.stack([np.zeros(ensemble.n_features), np.ones(ensemble.n_features)])
    for block in ensemble.blocks:
        absent, present = block.meets(ends)
        # a leaf that needs what neither 0 nor 1 meets is never reached; what both meet is no condition
        alive = (absent | present).all(axis=1)
        decided = (absent != present) & alive[:, None]
        counts = decided.sum(axis=1)
        for k in np.unique(counts[alive & (counts > 0)]):
            rows = np.flatnonzero(alive & (counts == k))
            columns = np.argsort(~decided[rows], axis=1, kind="stable")[:, :k]
            yield _Literals(
                np.take_along_axis(block.feature[rows], columns, axis=1),
                np.take_along_axis(present[rows], columns, axis=1),
                block.value[rows],
            )


def binary_shapley_values(ensemble: TreeEnsemble) -> FloatArray:
    """Exact Shapley values of S -> prediction at the indicator of S: (n_players, n_outputs).

    With a = |P| and b = |N|, a leaf gives value (a - 1)! b! / (a + b)! to each player of P and
    -value a! (b - 1)! / (a + b)! to each of N.
    """
    values = np.zeros((ensemble.n_features, ensemble.n_outputs))
    for leaves in _literals(ensemble):
        k = leaves.present.shape[1]
        table = log_factorials(k)
        a = leaves.present.sum(axis=1, keepdims=True)
        b = k - a
        gain = np.exp(table[np.maximum(a - 1, 0)] + table[b] - table[k])
        loss = np.exp(table[a] + table[np.maximum(b - 1, 0)] - table[k])
        share = np.where(leaves.present, gain, -loss)
        np.add.at(values, leaves.player, share[:, :, None] * leaves.value[:, None, :])
    return values


def binary_fourier(ensemble: TreeEnsemble, orders: Iterable[int]) -> dict[tuple[int, ...], float]:
    """Fourier coefficients of a one-output ensemble: prediction = sum_T c_T prod_{i in T} s_i, s = +-1.

    With k = |P| + |N|, a leaf adds value 2^{-k} (-1)^{|T and N|} to every T inside P and N.
    """
    found: dict[tuple[int, ...], float] = {}
    leaves = list(_literals(ensemble))
    for order in sorted(set(orders)):
        terms, parts = [], []
        for block in leaves:
            k = block.player.shape[1]
            sign = np.where(block.present, 1.0, -1.0)
            weight = block.value[:, 0] / 2.0**k
            for chosen in combinations(range(k), order):
                columns = list(chosen)
                terms.append(block.player[:, columns])
                parts.append(weight * sign[:, columns].prod(axis=1))
        if terms:
            found.update(_sum_terms(np.concatenate(terms), np.concatenate(parts), ensemble.n_features))
    return found


def _sum_terms(terms: NDArray[np.intp], parts: FloatArray, n_players: int) -> dict[tuple[int, ...], float]:
    """Add up the parts of equal terms (n, order)."""
    terms = np.sort(terms, axis=1)
    if terms.shape[1] * np.log2(max(n_players, 2)) < 62:
        # one number a term is sorted much faster than a row
        powers = n_players ** np.arange(terms.shape[1])[::-1]
        _, first, inverse = np.unique(terms @ powers, return_index=True, return_inverse=True)
    else:
        _, first, inverse = np.unique(terms, axis=0, return_index=True, return_inverse=True)
    sums = np.bincount(inverse.ravel(), weights=parts)
    return dict(zip(map(tuple, terms[first].tolist()), sums.tolist(), strict=True))
