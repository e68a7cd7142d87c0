"""Slow, obvious routes for the adaptive estimator: the prior as a sum over all sets of players."""

from __future__ import annotations

from itertools import chain, combinations
from math import comb, factorial

import numpy as np

from polyshap.gaussian.kernel import CONSTANT_VARIANCE, Parameters


def all_terms(n_players: int) -> list[tuple[int, ...]]:
    return list(chain.from_iterable(combinations(range(n_players), k) for k in range(n_players + 1)))


def characters(rows: np.ndarray, terms: list[tuple[int, ...]]) -> np.ndarray:
    """prod_{i in T} s_i, one column a term."""
    return np.array([[np.prod(row[list(term)]) for term in terms] for row in rows])


def coefficient_variances(parameters: Parameters, *, odd: bool) -> dict[tuple[int, ...], float]:
    """Prior variance of every Fourier coefficient of the odd or of the even part."""
    n_players = parameters.n_players
    ratios = (
        np.ones((1 + len(parameters.scales), n_players)) if parameters.ratios is None else parameters.ratios
    )
    linear = parameters.relevances * ratios[0]
    variances = {}
    for term in all_terms(n_players):
        if (len(term) % 2 == 1) != odd:
            continue
        amount = 0.0
        for index, amplitude in enumerate(parameters.smooth):
            w = parameters.scales[index] * ratios[1 + index] * parameters.relevances
            inside = np.prod([np.sinh(w[i]) for i in term])
            outside = np.prod([np.cosh(w[i]) for i in range(n_players) if i not in term])
            amount += amplitude * inside * outside / np.sinh(w.sum())
        if len(term) == 1:
            amount += parameters.linear * linear[term[0]] / linear.sum()
        if not odd and not term:
            amount += CONSTANT_VARIANCE
        variances[term] = float(amount)
    for index, term in enumerate(parameters.terms if odd else ()):
        assert parameters.term_variances is not None
        variances[term] += float(parameters.term_variances[index])
    return variances


def covariance_by_terms(
    left: np.ndarray, right: np.ndarray, parameters: Parameters, *, odd: bool
) -> np.ndarray:
    variances = coefficient_variances(parameters, odd=odd)
    terms = list(variances)
    weights = np.array([variances[term] for term in terms])
    return (characters(left, terms) * weights) @ characters(right, terms).T


def shapley_of_terms(terms: list[tuple[int, ...]], n_players: int) -> np.ndarray:
    """2 / |T| for the members of each odd term: (n_terms, n_players)."""
    shares = np.zeros((len(terms), n_players))
    for row, term in enumerate(terms):
        for player in term:
            shares[row, player] = 2 / len(term)
    return shares


def shapley_weight(size: int, member: bool, n_players: int) -> float:
    """Weight of v(S) in the Shapley value of a member, or of a non-member, of S."""
    if member:
        return factorial(size - 1) * factorial(n_players - size) / factorial(n_players)
    return -factorial(size) * factorial(n_players - size - 1) / factorial(n_players)


def shapley_of_table(values: np.ndarray, coalitions: np.ndarray) -> np.ndarray:
    """Exact Shapley values from all 2^n values, by the definition."""
    n_players = coalitions.shape[1]
    result = np.zeros(n_players)
    for coalition, value in zip(coalitions, values, strict=True):
        size = int(coalition.sum())
        for player in range(n_players):
            result[player] += shapley_weight(size, bool(coalition[player]), n_players) * value
    return result


def dense_posterior(
    rows: np.ndarray, odd: np.ndarray, parameters: Parameters
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of the Shapley values by conditioning the joint Gaussian of all coefficients."""
    n_players = rows.shape[1]
    variances = coefficient_variances(parameters, odd=True)
    terms = list(variances)
    prior = np.diag([variances[term] for term in terms])
    design = characters(rows, terms)
    noise = np.full(len(rows), parameters.nugget)
    noise[-1] = 0.0
    K = design @ prior @ design.T + np.diag(noise)
    shares = shapley_of_terms(terms, n_players)
    # delta part: a value of its own at each observed pair
    own = np.zeros((len(rows), n_players))
    for index, row in enumerate(rows[:-1]):
        size = int((row > 0).sum())
        for player in range(n_players):
            own[index, player] = 2 * shapley_weight(size, bool(row[player] > 0), n_players)
    cross = design @ prior @ shares + noise[:, None] * own
    smooth = np.einsum("ti,t,ti->i", shares, np.diagonal(prior), shares)
    delta = sum(
        comb(n_players - 1, size - 1) * (2 * shapley_weight(size, True, n_players)) ** 2
        for size in range(1, n_players)
    )
    mean = cross.T @ np.linalg.solve(K, odd)
    reduction = np.einsum("ji,ji->i", cross, np.linalg.solve(K, cross))
    return mean, smooth + parameters.nugget * delta - reduction
