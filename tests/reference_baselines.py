"""Slow, obvious versions of tree games and baseline estimators."""

from __future__ import annotations

from itertools import combinations
from math import comb, factorial

import numpy as np


def walk(ensemble, node: int, row: np.ndarray, present: np.ndarray) -> np.ndarray:
    """The expected value below a node: the row decides where its feature is present, else the cover does."""
    feature = ensemble.feature[node]
    if feature < 0:
        return ensemble.value[node]
    left, right = int(ensemble.left[node]), int(ensemble.right[node])
    if present[feature]:
        x = row[feature]
        goes_left = ensemble.missing_left[node] if np.isnan(x) else x <= ensemble.threshold[node]
        return walk(ensemble, left if goes_left else right, row, present)
    share = ensemble.left_share[node]
    return share * walk(ensemble, left, row, present) + (1 - share) * walk(ensemble, right, row, present)


def tree_game_values(ensemble, row: np.ndarray, coalitions: np.ndarray) -> np.ndarray:
    """Path-dependent values (m, n_outputs) by recursion from every root."""
    prepared = ensemble.prepare(row)[0]
    return np.array(
        [
            ensemble.base + sum(walk(ensemble, int(root), prepared, present) for root in ensemble.roots)
            for present in coalitions
        ]
    )


def shapley_by_subsets(value, n_players: int) -> np.ndarray:
    """phi_i = sum over S without i of |S|! (n - |S| - 1)! / n! (v(S with i) - v(S)), v of a boolean row."""
    phi = np.zeros(n_players)
    for player in range(n_players):
        others = [other for other in range(n_players) if other != player]
        for size in range(n_players):
            weight = factorial(size) * factorial(n_players - size - 1) / factorial(n_players)
            for chosen in combinations(others, size):
                row = np.zeros(n_players, dtype=bool)
                row[list(chosen)] = True
                before = value(row)
                row[player] = True
                phi[player] += weight * (value(row) - before)
    return phi


def fourier_by_enumeration(value, n_players: int) -> dict[tuple[int, ...], float]:
    """c_T = 2^{-n} sum_S v(S) prod_{i in T} s_i."""
    rows = np.array([[bool(code >> i & 1) for i in range(n_players)] for code in range(1 << n_players)])
    values = np.array([value(row) for row in rows])
    coded = np.where(rows, 1.0, -1.0)
    terms = [term for size in range(n_players + 1) for term in combinations(range(n_players), size)]
    return {term: float(np.mean(values * coded[:, list(term)].prod(axis=1))) for term in terms}


def permutation_mean(observations, orders: np.ndarray) -> np.ndarray:
    """Mean marginal contributions along full orders, coalition by coalition."""
    pair = observations.sample.coalitions, observations.values
    known = {tuple(row): value for row, value in zip(*pair, strict=True)}
    n = observations.n_players
    known[(False,) * n], known[(True,) * n] = float(observations.empty), float(observations.grand)
    total = np.zeros(n)
    for order in orders:
        present = np.zeros(n, dtype=bool)
        for player in order:
            before = known[tuple(present)]
            present[player] = True
            total[player] += known[tuple(present)] - before
    return total / len(orders)


def msr_by_definition(observations) -> np.ndarray:
    """sum_S w_i(S)/p(S) (v(S) - v(empty)), w the weights of the Shapley value and p from the sample."""
    n = observations.n_players
    phi = np.full(n, float(observations.total[0]) / n)
    for row, log_weight, value in zip(
        observations.sample.coalitions,
        observations.sample.log_weights,
        observations.centred[:, 0],
        strict=True,
    ):
        size = int(row.sum())
        inclusion = (1 / comb(n - 2, size - 1)) / np.exp(log_weight)
        for player in range(n):
            if row[player]:
                weight = factorial(size - 1) * factorial(n - size) / factorial(n)
            else:
                weight = -factorial(size) * factorial(n - size - 1) / factorial(n)
            phi[player] += weight / inclusion * value
    return phi


def svarm_by_definition(observations) -> np.ndarray:
    """(1/n) (sum of means with the player - sum of means without it), stratum by stratum."""
    n = observations.n_players
    rows = np.concatenate(
        [np.zeros((1, n), dtype=bool), observations.sample.coalitions, np.ones((1, n), dtype=bool)]
    )
    values = np.concatenate([[0.0], observations.centred[:, 0], observations.total])
    sizes = rows.sum(axis=1)
    phi = np.zeros(n)
    for player in range(n):
        for size in range(n + 1):
            at_size = sizes == size
            if size > 0:
                phi[player] += values[at_size & rows[:, player]].mean()
            if size < n:
                phi[player] -= values[at_size & ~rows[:, player]].mean()
    return phi / n
