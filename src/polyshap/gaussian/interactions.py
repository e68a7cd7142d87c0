"""Interactions of the posterior mean, of any order and index, in closed form and by quadrature.

Let f be the posterior mean and c_R its Fourier coefficients. The derivative of its multilinear extension for
the players of T at the point where everybody is present with probability p is

    M_T(p) = 2^|T| sum_{R containing T} c_R (2p - 1)^(|R| - |T|),

and every index is a linear functional of M_T: M_T(0) is the Möbius coefficient, M_T(1/2) the Banzhaf
interaction, and with |T| = s and order k

    Shapley-Taylor, s = k      k integral (1-p)^(k-1) M_T(p) dp,   the Möbius coefficient for s < k
    Faith-Shapley              (k+s-1)! / ((s-1)! (k-s)! (k-1)!)
                               x integral D^(k-s)[p^k (1-p)^(k-1)] M_T(p) / p dp
    k-SII                      sum_r B_r / r! integral M_T^(r)(p) dp, r = 0..k-s, B_1 = -1/2.

For a kernel section at s', with x = 2p - 1, the sum over R is a product,
2^|T| prod_{i in T} t_i (s'_i - x t_i) / (1 - x^2 t_i^2) prod_k (1 + x t_k s'_k), of which the odd part of the
game takes the terms of odd |R| and the even part the others: the functional is made odd or even in x.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from itertools import combinations
from math import factorial

import numpy as np
from numpy.polynomial import Polynomial as Powers
from numpy.polynomial import legendre

from polyshap._types import FloatArray, IntArray
from polyshap.gaussian.fitting import Fitted
from polyshap.gaussian.kernel import even_kernel, term_columns
from polyshap.gaussian.linear import factorise
from polyshap.gaussian.sections import log_constant
from polyshap.interactions import Table, bernoulli_numbers, moebius_transform
from polyshap.results import Index, InteractionSource, Observations

__all__ = ["ProcessSource", "functional", "source_of"]

# Nodes beyond the degree gain nothing; 64 hold every order that a learned prior gives any weight.
_MAX_NODES = 64
_BLOCK = 1 << 22


def source_of(fitted: Fitted, observations: Observations) -> InteractionSource:
    """Interactions of the posterior mean or, once every coalition was seen, of the game itself."""
    if not fitted.complete:
        return ProcessSource(fitted)
    n_players, values = observations.n_players, observations.centred
    table = np.zeros((1 << n_players, values.shape[1]))
    table[-1] = observations.total
    if n_players > 1:
        numbers = observations.sample.coalitions @ (1 << np.arange(n_players))
        table[numbers] = values
    return Table(moebius_transform(table))


@dataclass(frozen=True, eq=False)
class ProcessSource:
    """The interactions of a fitted process; what only the delta part explains belongs to no interaction."""

    fitted: Fitted

    def interactions(self, order: int, index: Index, min_order: int) -> dict[tuple[int, ...], FloatArray]:
        n_players = self.fitted.process.rows.shape[1]
        alpha, beta = self.fitted.process.solve(self.fitted.odd), self._even_weights()
        found: dict[tuple[int, ...], FloatArray] = {}
        for size in range(min_order, order + 1):
            terms = np.array(list(combinations(range(n_players), size)))
            nodes, weights = functional(index, size, order, n_players)
            values = self._smooth(terms, alpha, nodes, _part(weights, size % 2 == 1))
            values += self._smooth(terms, beta, nodes, _part(weights, size % 2 == 0))
            values += self._own(terms, alpha, nodes, weights)
            found.update(zip(map(tuple, terms.tolist()), values * self.fitted.scale, strict=True))
        return found

    def _even_weights(self) -> FloatArray:
        """K^-1 e under the prior of the even part."""
        rows, p = self.fitted.process.rows, self.fitted.parameters
        matrix = even_kernel(rows, rows, p)
        np.einsum("ii->i", matrix)[:-1] += p.nugget
        return factorise(matrix).solve(self.fitted.even)

    def _smooth(
        self, terms: IntArray, alpha: FloatArray, nodes: FloatArray, weights: FloatArray
    ) -> FloatArray:
        """The kernel's part: (n_terms, k)."""
        p, rows = self.fitted.parameters, self.fitted.process.rows
        values = np.zeros((len(terms), alpha.shape[1]))
        block = max(1, _BLOCK // len(rows))
        for amplitude, w in p.components:
            t = np.tanh(w)
            for x, weight in zip(nodes, weights, strict=True):
                if weight == 0.0:
                    continue
                xt = x * t
                log_product = rows @ np.arctanh(xt) + 0.5 * np.log1p(-(xt**2)).sum() + log_constant(w)
                inner = alpha * (np.exp(log_product) * (weight * amplitude))[:, None]
                factors = 2 * t * (rows - xt) / (1 - xt**2)
                for begin in range(0, len(terms), block):
                    part = terms[begin : begin + block]
                    columns = reduce(np.multiply, (factors[:, part[:, k]] for k in range(part.shape[1])))
                    values[begin : begin + block] += columns.T @ inner
        return values

    def _own(self, terms: IntArray, alpha: FloatArray, nodes: FloatArray, weights: FloatArray) -> FloatArray:
        """The linear part and the terms singled out: finitely many coefficients."""
        p, rows = self.fitted.parameters, self.fitted.process.rows
        linear = p.linear * p.linear_shares[:, None] * (rows.T @ alpha)
        coefficients: dict[tuple[int, ...], FloatArray] = {
            (player,): linear[player] for player in range(len(linear))
        }
        if p.term_variances is not None:
            own = p.term_variances[:, None] * (term_columns(rows, p.terms).T @ alpha)
            for term, value in zip(p.terms, own, strict=True):
                coefficients[term] = coefficients.get(term, 0.0) + value
        size = terms.shape[1]
        place: Mapping[tuple[int, ...], int] = {tuple(t): i for i, t in enumerate(terms.tolist())}
        values = np.zeros((len(terms), alpha.shape[1]))
        for term, value in coefficients.items():
            power = float(weights @ nodes ** (len(term) - size)) if len(term) >= size else 0.0
            for part in combinations(term, size):
                values[place[part]] += 2.0**size * power * value
        return values


def functional(index: Index, size: int, order: int, n_players: int) -> tuple[FloatArray, FloatArray]:
    """Nodes x in [-1, 1] and weights with which an index is sum_q weight_q M_T((x_q + 1) / 2).

    The functional is applied to Legendre polynomials; a polynomial's Legendre coefficients are
    (2n + 1) / 2 times its Gauss-Legendre sums against them.
    """
    n_nodes = min(n_players + 1, _MAX_NODES)
    nodes, mass = legendre.leggauss(n_nodes)
    table = legendre.legvander(nodes, n_nodes - 1)
    on_basis = np.array([_ON_POLYNOMIAL[index](_Legendre(n), size, order, n) for n in range(n_nodes)])
    return nodes, mass * (table @ (on_basis * (2 * np.arange(n_nodes) + 1) / 2))


@dataclass(frozen=True, eq=False)
class _Legendre:
    """One Legendre polynomial of x = 2p - 1: what a functional may ask of it."""

    degree: int

    def at(self, x: float) -> float:
        return float(legendre.legval(x, np.eye(self.degree + 1)[-1]))

    def integral(self, weight: Powers) -> float:
        """Integral over p in [0, 1] of weight(p) times the polynomial."""
        nodes, mass = legendre.leggauss((self.degree + weight.degree()) // 2 + 1)
        basis = legendre.legval(nodes, np.eye(self.degree + 1)[-1])
        return float(0.5 * (mass * weight((nodes + 1) / 2)) @ basis)

    def derivative_integral(self, times: int) -> float:
        """Integral over p in [0, 1] of the derivative in p, taken so many times."""
        if times == 0:
            return 1.0 if self.degree == 0 else 0.0
        series = np.eye(self.degree + 1)[-1]
        lower = legendre.legder(series, times - 1)
        return float((legendre.legval(1.0, lower) - legendre.legval(-1.0, lower)) * 2.0 ** (times - 1))


def _moebius(basis: _Legendre, size: int, order: int, degree: int) -> float:
    return basis.at(-1.0)


def _banzhaf(basis: _Legendre, size: int, order: int, degree: int) -> float:
    return basis.at(0.0)


def _shapley_taylor(basis: _Legendre, size: int, order: int, degree: int) -> float:
    if size < order:
        return basis.at(-1.0)
    return basis.integral(order * Powers([1.0, -1.0]) ** (order - 1))


def _faith_shapley(basis: _Legendre, size: int, order: int, degree: int) -> float:
    whole = Powers([0.0, 1.0]) ** order * Powers([1.0, -1.0]) ** (order - 1)
    derived = whole.deriv(order - size) if order > size else whole
    weight = Powers(derived.coef[1:])  # divided by p: the constant is zero
    constant = factorial(order + size - 1) / (
        factorial(size - 1) * factorial(order - size) * factorial(order - 1)
    )
    return constant * basis.integral(weight)


def _k_sii(basis: _Legendre, size: int, order: int, degree: int) -> float:
    numbers = bernoulli_numbers(order)
    return sum(
        numbers[r] / factorial(r) * basis.derivative_integral(r) for r in range(min(order - size, degree) + 1)
    )


_ON_POLYNOMIAL: Mapping[Index, Callable[[_Legendre, int, int, int], float]] = {
    "moebius": _moebius,
    "banzhaf": _banzhaf,
    "shapley-taylor": _shapley_taylor,
    "faith-shapley": _faith_shapley,
    "k-sii": _k_sii,
}


def _part(weights: FloatArray, even: bool) -> FloatArray:
    """The part of a functional that sees even, or odd, powers of x; nodes are symmetric about 0."""
    return (weights + (1.0 if even else -1.0) * weights[::-1]) / 2
