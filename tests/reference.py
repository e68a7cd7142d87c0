"""Slow, obvious versions of the formulas: the second, independent route of every test."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import combinations, permutations
from math import comb, factorial

import numpy as np

SetGame = Callable[[frozenset[int]], float]


def subsets(players):
    """All subsets of a collection, smaller ones first."""
    players = sorted(players)
    return [frozenset(part) for size in range(len(players) + 1) for part in combinations(players, size)]


def as_set_game(game, n_players: int) -> SetGame:
    """A boolean-matrix game with one output as a function of sets."""

    def value(coalition: frozenset[int]) -> float:
        row = np.zeros((1, n_players), dtype=bool)
        row[0, list(coalition)] = True
        return float(np.ravel(game(row))[0])

    return value


def shapley_by_permutations(value: SetGame, n_players: int) -> np.ndarray:
    """The mean marginal contribution over all orders."""
    total = np.zeros(n_players)
    for order in permutations(range(n_players)):
        seen: frozenset[int] = frozenset()
        for player in order:
            total[player] += value(seen | {player}) - value(seen)
            seen = seen | {player}
    return total / factorial(n_players)


def moebius(value: SetGame, n_players: int) -> dict[frozenset[int], float]:
    """a(T) = sum over S inside T of (-1)^(|T|-|S|) v(S)."""
    return {
        term: sum((-1) ** (len(term) - len(part)) * value(part) for part in subsets(term))
        for term in subsets(range(n_players))
    }


def shapley_from_moebius(coefficients: dict[frozenset[int], float], n_players: int) -> np.ndarray:
    """phi_i = sum over T with i in T of a(T)/|T|."""
    values = np.zeros(n_players)
    for term, coefficient in coefficients.items():
        for player in term:
            values[player] += coefficient / len(term)
    return values


def discrete_derivative(value: SetGame, term: frozenset[int], context: frozenset[int]) -> float:
    """Delta_S v(T) = sum over L inside S of (-1)^(|S|-|L|) v(T with L)."""
    return sum((-1) ** (len(term) - len(part)) * value(context | part) for part in subsets(term))


def shapley_interaction(value: SetGame, n_players: int, term: frozenset[int]) -> float:
    """Grabisch and Roubens 1999: the weighted mean of discrete derivatives."""
    rest = frozenset(range(n_players)) - term
    n, s = n_players, len(term)
    return sum(
        factorial(n - len(context) - s)
        * factorial(len(context))
        / factorial(n - s + 1)
        * discrete_derivative(value, term, context)
        for context in subsets(rest)
    )


def banzhaf_interaction(value: SetGame, n_players: int, term: frozenset[int]) -> float:
    """The plain mean of discrete derivatives."""
    rest = frozenset(range(n_players)) - term
    return float(np.mean([discrete_derivative(value, term, context) for context in subsets(rest)]))


def shapley_taylor(value: SetGame, n_players: int, term: frozenset[int], order: int) -> float:
    """Sundararajan et al. 2020, equation 3: derivatives at the empty set below the order, means at it."""
    if len(term) < order:
        return discrete_derivative(value, term, frozenset())
    rest = frozenset(range(n_players)) - term
    return (
        order
        / n_players
        * sum(
            discrete_derivative(value, term, context) / comb(n_players - 1, len(context))
            for context in subsets(rest)
        )
    )


def bernoulli_number(j: int) -> Fraction:
    """B_0 = 1, B_1 = -1/2, by the defining recursion."""
    numbers = [Fraction(1)]
    for m in range(1, j + 1):
        numbers.append(-sum(comb(m + 1, k) * numbers[k] for k in range(m)) / Fraction(m + 1))
    return numbers[j]


def k_sii(value: SetGame, n_players: int, order: int) -> dict[frozenset[int], float]:
    """Bordt and von Luxburg 2023, by their recursion over orders."""
    plain = {
        term: shapley_interaction(value, n_players, term)
        for term in subsets(range(n_players))
        if 1 <= len(term) <= order
    }
    current: dict[frozenset[int], float] = {}
    for k in range(1, order + 1):
        for term in list(current):
            rest = frozenset(range(n_players)) - term
            missing = k - len(term)
            correction = sum(plain[term | frozenset(part)] for part in combinations(sorted(rest), missing))
            current[term] += float(bernoulli_number(missing)) * correction
        current |= {term: plain[term] for term in plain if len(term) == k}
    return current


def faith_shapley(value: SetGame, n_players: int, order: int) -> dict[frozenset[int], float]:
    """Tsai et al. 2023: the Shapley-weighted least squares polynomial through both ends, all coalitions."""
    terms = [term for term in subsets(range(n_players)) if 1 <= len(term) <= order]
    proper = [part for part in subsets(range(n_players)) if 0 < len(part) < n_players]
    return constrained_polynomial(value, n_players, terms, proper, np.ones(len(proper)))


def constrained_polynomial(value: SetGame, n_players: int, terms, coalitions, repeats) -> dict:
    """PolySHAP's problem by its KKT system, one row a coalition, weights mu(S) times `repeats`."""
    empty, full = value(frozenset()), value(frozenset(range(n_players)))
    design = np.array([[float(term <= coalition) for term in terms] for coalition in coalitions])
    design = design.reshape(len(coalitions), len(terms))
    weights = np.array([1 / comb(n_players - 2, len(coalition) - 1) for coalition in coalitions]) * repeats
    targets = np.array([value(coalition) - empty for coalition in coalitions])
    ones = np.ones(len(terms))
    top = np.hstack([design.T @ (weights[:, None] * design), ones[:, None]])
    system = np.vstack([top, np.append(ones, 0.0)])
    right = np.append(design.T @ (weights * targets), full - empty)
    solution = np.linalg.lstsq(system, right, rcond=None)[0]
    return dict(zip(terms, solution[:-1].tolist(), strict=True))
