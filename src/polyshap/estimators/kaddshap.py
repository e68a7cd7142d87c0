"""k_ADD-SHAP of Pelegrina, Duarte and Grabisch (2023), for comparison."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from math import comb

import numpy as np

from polyshap._types import BoolMatrix, FloatArray
from polyshap.bases import Basis
from polyshap.estimators.polyshap import diagnose
from polyshap.frontiers import Frontier, KAdditive
from polyshap.interactions import Polynomial, bernoulli_numbers, moebius_from_shapley
from polyshap.regression import check_regression, least_squares
from polyshap.results import Estimate, Observations, conclude
from polyshap.sampling import Design, Sample, check_budget, draw

__all__ = ["KAddSHAP"]


@dataclass(frozen=True)
class KAddSHAP:
    """Least squares in the Shapley interaction indices of a k-additive game, the empty set included.

    v(S) = sum over |T| <= k of gamma^{|T|}_{|S intersected with T|} I(T),
    gamma^t_r = sum_{l=0..r} binom(r, l) B_{t-l} with the Bernoulli numbers B (B_1 = -1/2), subject to
    sum_i I({i}) = v(D) - v(empty). The coefficient of the empty set leaves the value of the fit at the
    empty coalition free, where PolySHAP fixes it: on a sample that is not balanced the two differ.

    Parameters
    ----------
    order : int
    design : Design
    """

    order: int = 2
    design: Design = field(default_factory=lambda: Design("kernel", paired=False))

    def draw(self, n_players: int, budget: int, rng: np.random.Generator) -> Sample:
        # what is wrong, or too large, is to be said before a model is called
        check_regression(check_budget(budget), 1 + len(KAdditive(self.order).build(n_players)))
        return draw(self.design, n_players, budget, rng)

    def fit(self, observations: Observations) -> Estimate:
        n_players = observations.n_players
        frontier = KAdditive(self.order).build(n_players)
        basis = interaction_basis(frontier)
        constraint = np.zeros(basis.n_columns)
        constraint[1 : 1 + n_players] = 1.0
        fit = least_squares(
            basis,
            observations.sample.coalitions,
            observations.sample.log_weights,
            observations.centred,
            constraint=constraint,
            totals=observations.total,
        )
        values = fit.coefficients[1 : 1 + n_players]
        # the even part has no equation at the ends, so with all coalitions it may lack one; values never do
        even = 1 + sum(len(block) for order, block in frontier.by_order.items() if order % 2 == 0)
        needed = basis.n_columns - even + min(even, (1 << (n_players - 1)) - 1)
        source = Polynomial(frontier, moebius_from_shapley(frontier, fit.coefficients[1:]))
        return conclude(observations, values, diagnose(f"KAddSHAP({self.order})", fit, needed), source=source)


def interaction_basis(frontier: Frontier) -> Basis:
    """Columns gamma^{|T|}_{|S intersected with T|}: the empty set first, then the frontier's terms."""

    def write(coalitions: BoolMatrix, out: FloatArray) -> None:
        out[0] = 1.0
        start = 1
        for order, players in frontier.by_order.items():
            shared = coalitions[:, players].sum(axis=2)
            out[start : start + len(players)] = _gamma(order)[shared].T
            start += len(players)

    return Basis(1 + len(frontier), write)


@lru_cache
def _gamma(order: int) -> FloatArray:
    """gamma^t_r for r = 0..t."""
    numbers = bernoulli_numbers(order)
    return np.array([sum(comb(r, j) * numbers[order - j] for j in range(r + 1)) for r in range(order + 1)])
