"""Regularised least squares in the Möbius basis, for comparison."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from types import ModuleType

import numpy as np

from polyshap._memory import check_memory
from polyshap._types import FloatArray
from polyshap.errors import optional_import
from polyshap.estimators.enumeration import enumerated, is_full
from polyshap.frontiers import KAdditive
from polyshap.interactions import Polynomial
from polyshap.results import Diagnostics, Estimate, Observations, conclude
from polyshap.sampling import Design, Sample, check_budget, draw
from polyshap.shapley import from_moebius

__all__ = ["MobiusLasso"]


@dataclass(frozen=True)
class MobiusLasso:
    """Lasso on the monomials up to an order; then phi_i = sum over T with i in T of b_T / |T|.

    In the manner of Mohammadi et al. (2025): sparsity instead of the Shapley kernel. The rows are not
    weighted by the kernel, so interactions above `order` bias the values whatever the budget; the
    estimate converges only when all orders are in. It is here for completeness: prefer `polyshap-K`,
    which is consistent at every order. The penalty has the smallest Bayesian information criterion.

    Parameters
    ----------
    order : int
    design : Design
    """

    order: int = 2
    design: Design = field(default_factory=Design)

    def draw(self, n_players: int, budget: int, rng: np.random.Generator) -> Sample:
        # what is wrong, or too large, is to be said before a model is called
        frontier, budget = KAdditive(self.order).build(n_players), check_budget(budget)
        _linear_models()
        check_memory(
            8 * len(frontier) * (budget + len(frontier)),
            f"The {len(frontier)} terms of MobiusLasso({self.order}) on {budget} coalitions",
            "Use a smaller order, or estimator='adaptive'.",
        )
        return draw(self.design, n_players, budget, rng)

    def fit(self, observations: Observations) -> Estimate:
        name = f"MobiusLasso({self.order})"
        if is_full(observations.sample):
            return enumerated(observations, name)
        n = observations.n_players
        frontier = KAdditive(self.order).build(n)
        rows = np.concatenate([observations.sample.coalitions, np.ones((1, n), dtype=bool)])
        columns = [rows[:, players].all(axis=2) for players in frontier.by_order.values()]
        design = np.concatenate(columns, axis=1).astype(float)
        targets = np.concatenate([observations.centred, observations.total[None]])
        coefficients = np.column_stack([_lasso(design, column) for column in targets.T])
        diagnostics = Diagnostics(
            name,
            n_terms=len(frontier),
            details={"terms_kept": float(np.count_nonzero(coefficients.any(axis=1)))},
        )
        source = Polynomial(frontier, coefficients)
        return conclude(observations, from_moebius(frontier, coefficients), diagnostics, source=source)


def _linear_models() -> ModuleType:
    return optional_import("sklearn.linear_model", extra="trees", purpose="The estimator 'mobius-lasso'")


def _lasso(design: FloatArray, targets: FloatArray) -> FloatArray:
    """Coefficients along the path with the smallest information criterion."""
    linear = _linear_models()
    exceptions = optional_import("sklearn.exceptions", extra="trees", purpose="The estimator 'mobius-lasso'")
    largest = float(np.abs(targets).max())
    if largest == 0.0:
        return np.zeros(design.shape[1])
    scaled = targets / largest
    # from the penalty that keeps nothing down to a ten-thousandth of it
    penalties = np.abs(design.T @ scaled).max() / len(scaled) * np.logspace(0, -4, 40)
    with warnings.catch_warnings():  # the last digits of a coefficient on the path do not matter
        warnings.simplefilter("ignore", exceptions.ConvergenceWarning)
        _, path, _ = linear.lasso_path(design, scaled, alphas=penalties, precompute=True)
    squares = ((scaled[:, None] - design @ path) ** 2).mean(axis=0)
    terms = np.count_nonzero(path, axis=0)
    m = len(scaled)
    criterion = m * np.log(np.maximum(squares, 1e-30)) + terms * np.log(m)
    criterion[terms >= m] = np.inf
    return np.asarray(largest * path[:, int(np.argmin(criterion))])
