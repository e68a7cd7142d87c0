"""Slow and obvious versions of what `explain` does."""

from itertools import combinations
from math import factorial

import numpy as np


def coalition_value(predict, row, background, present, weights=None):
    """v(S): mean over background rows b of f(x on S, b elsewhere), one row at a time."""
    weights = np.full(len(background), 1 / len(background)) if weights is None else np.asarray(weights)
    total = 0.0
    for weight, filler in zip(weights / weights.sum(), background, strict=True):
        mixed = [row[j] if present[j] else filler[j] for j in range(len(row))]
        total = total + weight * np.asarray(predict(np.array([mixed])))[0]
    return total


def shapley_values(predict, row, background, groups=None, weights=None):
    """phi_i by the sum over all coalitions of groups of columns; (n_groups,) or (n_groups, n_outputs)."""
    groups = [[j] for j in range(len(row))] if groups is None else groups
    n = len(groups)

    def value(coalition):
        present = np.zeros(len(row), dtype=bool)
        for player in coalition:
            present[groups[player]] = True
        return coalition_value(predict, row, background, present, weights)

    phi = []
    for player in range(n):
        others = [other for other in range(n) if other != player]
        total = 0.0
        for size in range(n):
            weight = factorial(size) * factorial(n - size - 1) / factorial(n)
            for coalition in combinations(others, size):
                total = total + weight * (value((*coalition, player)) - value(coalition))
        phi.append(total)
    return np.array(phi)
