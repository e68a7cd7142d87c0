"""Interactions of pairs as a matrix, for the plots that show them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from polyshap._types import FloatArray, IntArray
from polyshap.explanation import Explanation
from polyshap.plots.canvas import Result, view
from polyshap.results import Index

__all__ = ["Pairs", "pairs"]


@dataclass(frozen=True, eq=False)
class Pairs:
    """Interactions of the features that interact most.

    Attributes
    ----------
    matrix : ndarray, shape (n, n)
        Symmetric, zero on the diagonal.
    main : ndarray, shape (n,)
        Shapley values, the mean over the rows.
    names : tuple of str
    title : str
    """

    matrix: FloatArray
    main: FloatArray
    names: tuple[str, ...]
    title: str


def pairs(
    result: Result, row: int | None, limit: int, index: Index, names: Sequence[str] | None = None
) -> Pairs:
    """Of one row, or the mean over all of them; at most `limit` features, by the size of their pairs."""
    whole = isinstance(result, Explanation) and not result.is_row and row is None and len(result) > 1
    if isinstance(result, Explanation):
        chosen = list(result) if whole else [result.row(row)]
        seen = view(result if whole else chosen[0], names)
        found = [one.interactions(order=2, index=index) for one in chosen]
    else:
        seen, found = view(result, names), [result.interactions(2, index)]
    n_players = len(seen.names)
    matrix = np.zeros((n_players, n_players))
    for terms in found:
        for (i, j), value in terms.items():
            matrix[i, j] += float(value) / len(found)
    matrix += matrix.T
    order = _strongest(matrix, limit)
    title = f"{index} interactions" + (f", mean of {len(found)} rows" if len(found) > 1 else "")
    main = seen.values.mean(axis=0)[order]
    return Pairs(matrix[np.ix_(order, order)], main, tuple(seen.names[j] for j in order), title)


def _strongest(matrix: FloatArray, limit: int) -> IntArray:
    """Features by the size of all of their interactions."""
    return np.argsort(-np.abs(matrix).sum(axis=0), kind="stable")[: max(2, limit)]
