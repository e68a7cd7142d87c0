"""From coefficients to Shapley values, and exact Shapley values by enumeration."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np

from polyshap._types import FloatArray
from polyshap.coalitions import log_factorials
from polyshap.frontiers import Frontier

__all__ = ["enumeration_weights", "from_fourier", "from_moebius", "from_table"]


def from_moebius(frontier: Frontier, coefficients: FloatArray) -> FloatArray:
    """phi_i = sum over the terms T with i in T of b_T / |T|: (n_terms, k) -> (n_players, k)."""
    return _shares(frontier.n_players, frontier.terms, coefficients)


def from_fourier(n_players: int, terms: Sequence[tuple[int, ...]], coefficients: FloatArray) -> FloatArray:
    """phi_i = 2 * sum over the odd terms T with i in T of c_T / |T|."""
    odd = [row for row, term in enumerate(terms) if len(term) % 2]
    return _shares(n_players, [terms[row] for row in odd], 2.0 * coefficients[odd])


def _shares(n_players: int, terms: Sequence[tuple[int, ...]], coefficients: FloatArray) -> FloatArray:
    """Every term shares its coefficient equally among its members."""
    sizes = np.fromiter(map(len, terms), dtype=np.intp, count=len(terms))
    members = np.fromiter(chain.from_iterable(terms), dtype=np.intp, count=int(sizes.sum()))
    values = np.zeros((n_players, coefficients.shape[1]))
    np.add.at(values, members, np.repeat(coefficients / np.maximum(sizes, 1)[:, None], sizes, axis=0))
    return values


def enumeration_weights(n_players: int) -> tuple[FloatArray, FloatArray]:
    """Weights of v(S) in phi_i by size 0..n: (s-1)!(n-s)!/n! for i in S, and s!(n-s-1)!/n! for the others."""
    table = log_factorials(n_players)
    with_player = np.zeros(n_players + 1)
    with_player[1:] = np.exp(table[:-1] + table[:-1][::-1] - table[n_players])
    without_player = np.zeros(n_players + 1)
    without_player[:-1] = with_player[1:]  # s!(n-s-1)! is the weight of size s + 1
    return with_player, without_player


def from_table(table: FloatArray) -> FloatArray:
    """Exact Shapley values of a game given by all its values, player i being bit i of the row number.

    phi_i = sum_S w(S) (v(S with i) - v(S)), two weighted copies of the table and one sum a player.

    Parameters
    ----------
    table : ndarray, shape (2^n, k)

    Returns
    -------
    ndarray, shape (n, k)
    """
    n_players = len(table).bit_length() - 1
    sizes = popcounts(n_players)
    with_player, without_player = enumeration_weights(n_players)
    values = np.empty((n_players, table.shape[1]))
    for output in range(table.shape[1]):
        # each differs from the other by one size; weigh once, then sum the two halves of every bit
        joined = (table[:, output] - table[0, output]) * with_player[sizes]
        left = (table[:, output] - table[0, output]) * without_player[sizes]
        for player in range(n_players):
            shape = (-1, 2, 1 << player)
            values[player, output] = joined.reshape(shape)[:, 1].sum() - left.reshape(shape)[:, 0].sum()
    return values


def popcounts(n_players: int) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    """The number of members of every coalition, in binary counting order."""
    counts = np.zeros(1 << n_players, dtype=np.uint8)
    for player in range(n_players):
        half = 1 << player
        counts[half : 2 * half] = counts[:half] + 1
    return counts
