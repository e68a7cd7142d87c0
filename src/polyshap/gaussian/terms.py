"""Terms that the data single out: sparse Bayes on top of the kernel.

Under the covariance K let q_T = chi_T' K^-1 u and s_T = chi_T' K^-1 chi_T for chi_T = prod_{i in T} s_i. A
variance gamma of its own for the coefficient of T raises the marginal likelihood if q^2 > s, most at
gamma = (q^2 - s) / s^2 (Tipping and Faul 2003). Among N candidates the largest q^2 / s is about 2 log N by
chance alone, so a term must exceed that. The best candidates by q^2 are taken, and the greedy ascent runs in
the small space that they span: K is not factorised along the way.
"""

from __future__ import annotations

from dataclasses import replace
from math import comb

import numpy as np
from numpy.typing import NDArray

from polyshap._types import FloatArray
from polyshap.gaussian.kernel import Parameters, term_columns
from polyshap.gaussian.linear import Solver

__all__ = ["single_out"]

_CANDIDATES = 200
_STEPS = 400
_LEAST_GAIN = 1e-2  # nats of log likelihood


def single_out(parameters: Parameters, rows: FloatArray, factor: Solver, odd: FloatArray) -> Parameters:
    """The parameters with a variance of its own for each order-1 and order-3 term that demands one.

    Rows (n + 1, d), the factor of their covariance and one column of values (n + 1, 1).
    """
    n_players = rows.shape[1]
    alpha = factor.solve(odd)[:, 0]
    terms = tuple((player,) for player in range(n_players)) + _best_triples(rows, alpha)
    columns = term_columns(rows, terms)
    gram = columns.T @ factor.solve(columns)
    n_candidates = n_players + comb(n_players, 3)
    # single players are few and nearly certain to matter: no threshold beyond q^2 > s
    threshold = np.where([len(term) == 1 for term in terms], 1.0, 2 * np.log(n_candidates))
    variances = _sparse_variances(gram, columns.T @ alpha, threshold)
    kept = np.flatnonzero(variances)
    if not len(kept):
        return parameters
    return replace(parameters, terms=tuple(terms[index] for index in kept), term_variances=variances[kept])


def _best_triples(rows: FloatArray, alpha: FloatArray) -> tuple[tuple[int, ...], ...]:
    """The triples with the largest q^2: one product of size d x n x d a player."""
    n_players = rows.shape[1]
    players: list[NDArray[np.intp]] = []
    scores: list[FloatArray] = []
    for first in range(n_players - 2):
        rest = rows[:, first + 1 :]
        products = (rest * (alpha * rows[:, first])[:, None]).T @ rest
        second, third = np.triu_indices(n_players - first - 1, 1)
        score = products[second, third] ** 2
        best = np.argsort(-score, kind="stable")[:_CANDIDATES]
        triple = np.stack([np.full(len(best), -1), second[best], third[best]], axis=1)
        players.append(triple + first + 1)
        scores.append(score[best])
    if not players:
        return ()
    best = np.argsort(-np.concatenate(scores), kind="stable")[:_CANDIDATES]
    return tuple(map(tuple, np.concatenate(players)[best].tolist()))


def _sparse_variances(gram: FloatArray, q: FloatArray, threshold: FloatArray) -> FloatArray:
    """Greedy ascent of the marginal likelihood by one variance at a time; gram = X' K^-1 X, q = X' K^-1 u."""
    gram, q = gram.copy(), q.copy()
    variances = np.zeros(len(q))
    for _ in range(_STEPS):
        active = variances > 0
        diagonal = np.diagonal(gram)
        # what s and q would be without the term's own variance
        without = np.where(active, np.maximum(1 - variances * diagonal, 1e-12), 1.0)
        s, own = diagonal / without, q / without
        wanted = own**2 > s * np.where(active, 1.0, threshold)
        best = np.where(wanted, np.maximum(own**2 - s, 0.0) / s**2, 0.0)
        gain = _log_gain(best, own, s) - _log_gain(variances, own, s)
        index = int(np.argmax(gain))
        if gain[index] < _LEAST_GAIN:
            break
        change = best[index] - variances[index]
        column = gram[:, index].copy()
        weight = change / (1 + change * gram[index, index])
        q -= column * (weight * q[index])
        gram -= weight * np.outer(column, column)
        variances[index] = best[index]
    return variances


def _log_gain(variance: FloatArray, q: FloatArray, s: FloatArray) -> FloatArray:
    """Log likelihood gained by a variance over none."""
    scaled = variance * s
    return np.asarray(0.5 * (q**2 * variance / (1 + scaled) - np.log1p(scaled)))
