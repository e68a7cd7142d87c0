"""Columns of the regressions: monomials, and the odd and the even Fourier terms of a frontier."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from polyshap._types import BoolMatrix, FloatArray, IntArray
from polyshap.coalitions import signs
from polyshap.frontiers import Frontier

__all__ = ["Basis", "even_basis", "monomial_basis", "odd_basis", "parity_terms"]

# A basis writes its columns for a block of coalitions (rows, n_players) into (n_columns, rows).
Columns = Callable[[BoolMatrix, FloatArray], None]


@dataclass(frozen=True)
class Basis:
    """Columns of a design matrix: how many, and how to write them, transposed, as (n_columns, rows).

    Fourier columns of odd order name their players too, in blocks (n_terms, order).
    """

    n_columns: int
    write: Columns
    odd: tuple[IntArray, ...] | None = None


def monomial_basis(frontier: Frontier) -> Basis:
    """Column T is 1 where all players of T are present (the Möbius basis)."""
    return Basis(len(frontier), _products(frontier.by_order, lambda part: part.astype(float, order="C")))


def odd_basis(frontier: Frontier) -> Basis:
    """Fourier columns prod_{i in T} s_i of the frontier's terms of odd order, s = +-1."""
    odd = {order: players for order, players in frontier.by_order.items() if order % 2}
    return Basis(sum(map(len, odd.values())), _products(odd, signs), tuple(odd.values()))


def even_basis(frontier: Frontier) -> Basis:
    """Fourier columns minus one of the terms of even order: zero at the empty and the grand coalition."""
    even = {order: players for order, players in frontier.by_order.items() if order % 2 == 0}
    products = _products(even, signs)

    def write(coalitions: BoolMatrix, out: FloatArray) -> None:
        products(coalitions, out)
        out -= 1.0

    return Basis(sum(map(len, even.values())), write)


def parity_terms(frontier: Frontier, parity: int) -> tuple[tuple[int, ...], ...]:
    """The terms behind the columns of `odd_basis` (parity 1) or `even_basis` (parity 0)."""
    return tuple(term for term in frontier.terms if len(term) % 2 == parity)


def _products(by_order: dict[int, IntArray], code: Callable[[BoolMatrix], FloatArray]) -> Columns:
    def write(coalitions: BoolMatrix, out: FloatArray) -> None:
        coded = code(coalitions.T)  # (n_players, rows): a player's row is contiguous, so gathers are copies
        start = 0
        for players in by_order.values():
            columns = out[start : start + len(players)]
            np.take(coded, players[:, 0], axis=0, out=columns)
            for position in range(1, players.shape[1]):
                columns *= coded[players[:, position]]
            start += len(players)

    return write
