"""Shapley values of kernel sections and of the delta part, and their prior variance.

For a term sinh(sum_i w_i s_i s'_i) / sinh(W), t = tanh(w) and C = prod_i cosh(w_i) / sinh(W), the Shapley
value of player i of the section at s' is, with 1/|T| written as an integral,

    C t_i s'_i integral_{-1}^{1} prod_{k != i} (1 + x t_k s'_k) dx,

a polynomial in x, integrated by Gauss-Legendre. log prod_k (1 + x t_k s_k) =
sum_k [log(1 - x^2 t_k^2) / 2 + s_k artanh(x t_k)] is one matrix product, and s / (1 + x s t) =
(s - x t) / (1 - x^2 t^2) makes "k != i" another one.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

from polyshap._types import FloatArray
from polyshap.coalitions import log_binomial
from polyshap.gaussian.kernel import Parameters, term_columns

__all__ = ["delta_sections", "delta_variance", "log_constant", "prior_variance", "smooth_sections"]

_MAX_NODES = 40


def smooth_sections(signs: FloatArray, parameters: Parameters) -> FloatArray:
    """cov(phi_i, u(s_j)) without the delta term: sign rows (n, d) -> (n, d)."""
    p = parameters
    sections = signs * (2 * p.linear * p.linear_shares)
    for amplitude, w in p.components:
        t = np.tanh(w)
        x, weights = _nodes(p.n_players)
        xt = x[:, None] * t
        products = np.exp(signs @ np.arctanh(xt).T + (0.5 * np.log1p(-(xt**2)).sum(axis=1) + log_constant(w)))
        products *= amplitude * weights
        plain = t / (1 - xt**2)
        sections += signs * (products @ plain) - products @ (plain * xt)
    if p.term_variances is not None:
        columns = term_columns(signs, p.terms) * p.term_variances
        sections += columns @ _term_shares(p)
    return np.asarray(sections)


def prior_variance(parameters: Parameters) -> FloatArray:
    """var(phi_i) without the delta term: (d,)."""
    p = parameters
    variance = 4 * p.linear * p.linear_shares
    for amplitude, w in p.components:
        t = np.tanh(w)
        x, weights = _nodes(p.n_players)
        xy = np.outer(x, x).ravel()
        mass = np.outer(weights, weights).ravel()
        factors = np.log1p(xy[:, None] * t)
        products = mass * np.exp(factors.sum(axis=1) + log_constant(w))
        variance = variance + amplitude * t * (products @ (1 / (1 + xy[:, None] * t)))
    if p.term_variances is not None:
        variance = variance + p.term_variances @ _term_shares(p) ** 2
    return np.asarray(variance)


def _term_shares(parameters: Parameters) -> FloatArray:
    """2 / |T| for the members of each term, (n_terms, d)."""
    shares = np.zeros((len(parameters.terms), parameters.n_players))
    for index, term in enumerate(parameters.terms):
        shares[index, list(term)] = 2 / len(term)
    return shares


def delta_sections(signs: FloatArray) -> FloatArray:
    """cov(phi_i, u(s_j)) of the delta part for delta = 1: proper sign rows (n, d) -> (n, d).

    2 (s-1)! (d-s)! / d! for a member and -2 s! (d-s-1)! / d! for the others.
    """
    n_players = signs.shape[1]
    sizes = np.count_nonzero(signs > 0, axis=1)
    member, other = _size_weights(n_players)
    return np.asarray(np.where(signs > 0, member[sizes - 1][:, None], -other[sizes - 1][:, None]))


def delta_variance(n_players: int) -> float:
    """Variance of phi_i from the delta part for delta = 1: squared weights summed over all pairs."""
    sizes = np.arange(1, n_players)
    member, _ = _size_weights(n_players)
    # every pair has one coalition with player i: those of size s number binom(d-1, s-1)
    return float((np.exp(log_binomial(n_players - 1, sizes - 1)) * member**2).sum())


def _size_weights(n_players: int) -> tuple[FloatArray, FloatArray]:
    s = np.arange(1, n_players, dtype=float)
    whole = gammaln(n_players + 1)
    member = 2 * np.exp(gammaln(s) + gammaln(n_players - s + 1) - whole)
    other = 2 * np.exp(gammaln(s + 1) + gammaln(n_players - s) - whole)
    return member, other


def _nodes(n_players: int) -> tuple[FloatArray, FloatArray]:
    """Gauss-Legendre on [-1, 1], exact for degree d - 1 up to 78 players."""
    x, weights = np.polynomial.legendre.leggauss(min(n_players // 2 + 2, _MAX_NODES))
    return x, weights


def log_constant(w: FloatArray) -> float:
    """log of prod cosh(w_i) / sinh(W)."""
    log_cosh = np.logaddexp(w, -w) - np.log(2.0)
    total = float(w.sum())
    return float(log_cosh.sum() - total - np.log(-np.expm1(-2 * total)) + np.log(2.0))
