"""Normal equations of Fourier columns by one transform of the weights.

A product of two columns is a column: chi_T chi_U = chi_{T xor U}. So all entries of the normal equations,

    G[T, U] = sum_l w_l chi_T(S_l) chi_U(S_l) = F(T xor U),   F(V) = sum_l w_l chi_V(S_l),

are read off the Walsh-Hadamard transform F of the weights, a table of 2^n numbers. Where T and U are odd,
T xor U is even and blind to complements: then 2^(n-1) numbers suffice.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.linalg import hadamard

from polyshap._types import BoolMatrix, FloatArray, IntArray

__all__ = ["odd_gram", "pays"]

# Bits that one matrix product transforms: matrices of 32 x 32 stay in the first-level cache.
_BITS = 5
# Columns of the result that are looked up together, so that their keys stay small.
_COLUMNS = 64
# In multiplications of the plain product, an entry of the table costs 200 and a look-up 70 (measured: 5 ms
# instead of 60 for 20 players, 2,500 rows and 1,160 columns).
_ENTRY, _LOOK_UP = 200, 70


def pays(n_players: int, n_rows: int, n_columns: int) -> bool:
    """Whether the table is cheaper than the plain product, and its three copies smaller than the design."""
    table, design = 1 << (n_players - 1), n_rows * n_columns
    cost = _ENTRY * table + _LOOK_UP * n_columns**2 // 2
    return 3 * table <= design and cost < design * n_columns // 2


def odd_gram(coalitions: BoolMatrix, weights: FloatArray, terms: Sequence[IntArray]) -> FloatArray:
    """The lower triangle of G (p, p) for the players of odd terms, in blocks (n_terms, order)."""
    n_players = coalitions.shape[1]
    powers = np.append(1 << np.arange(n_players - 1), 0)  # the last player's bit does not matter where
    absent = coalitions ^ coalitions[:, -1:]  # each coalition stands for the one of its pair without it
    sums = np.bincount(absent @ powers, weights, minlength=1 << (n_players - 1))
    table = _transform(sums.astype(float, copy=False))
    keys = np.concatenate([powers[players].sum(axis=1) for players in terms])
    gram = np.zeros((len(keys), len(keys)), order="F")
    for start in range(0, len(keys), _COLUMNS):
        columns = keys[start : start + _COLUMNS]
        gram[start:, start : start + len(columns)] = table[(columns[:, None] ^ keys[start:])].T
    return gram


def _transform(table: FloatArray) -> FloatArray:
    """F(V) = sum over codes c of table(c) (-1)^{|V and c|}."""
    n_bits = len(table).bit_length() - 1
    for start in range(0, n_bits, _BITS):
        kernel = hadamard(1 << min(_BITS, n_bits - start), dtype=float)
        if start == 0:
            table = table.reshape(-1, len(kernel)) @ kernel
        else:
            table = kernel @ table.reshape(-1, len(kernel), 1 << start)
    return table.ravel()
