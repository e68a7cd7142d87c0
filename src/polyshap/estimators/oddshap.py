"""OddSHAP: paired odd regression on the interactions that a boosted tree finds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import ceil

import numpy as np

from polyshap.bases import odd_basis
from polyshap.estimators.enumeration import enumerated, is_full
from polyshap.estimators.polyshap import diagnose
from polyshap.estimators.surrogates import Boosting, Engine, fit_trees, installed
from polyshap.frontiers import Frontier
from polyshap.games.tree_binary import binary_fourier
from polyshap.regression import Fit, least_squares
from polyshap.results import Diagnostics, Estimate, Observations, conclude
from polyshap.sampling import Design, Sample, check_budget, draw
from polyshap.shapley import from_fourier

__all__ = ["OddSHAP"]


@dataclass(frozen=True)
class OddSHAP:
    """Least squares on all players and the odd interactions with the largest Fourier coefficients.

    Shapley values depend on the odd part u(S) = (v(S) - v(D without S)) / 2 alone. A boosted tree fitted to
    the observed coalitions is a sparse Fourier polynomial; its odd terms of order three and more, the
    largest first, join the players until there are budget / `calls_per_term` terms, and the odd
    regression of u on those terms gives the values (Fumagalli et al., 2026, "OddSHAP"). A budget below
    `calls_per_term` * n_players leaves the players alone, which is LeverageSHAP, or just the
    budget / `calls_per_term` players with the largest coefficients, the others getting nothing:
    whichever has the smaller error by generalised cross-validation.

    Parameters
    ----------
    calls_per_term : int
        The eta of the paper.
    boosting : Boosting
        Settings of the trees; the paper's are LightGBM's defaults with depth 10.
    engines : sequence of {"lightgbm", "xgboost", "scikit-learn"}
        The first one that is installed is taken; the diagnostics name it.
    """

    calls_per_term: int = 10
    design: Design = field(default_factory=Design)
    boosting: Boosting = field(default_factory=lambda: Boosting(max_depth=10, learning_rate=0.1))
    engines: Sequence[Engine] = ("lightgbm", "xgboost", "scikit-learn")

    def draw(self, n_players: int, budget: int, rng: np.random.Generator) -> Sample:
        installed(self.engines)  # what is missing is to be said before a model is called
        design = Design(self.design.size_weights, paired=True, replacement=self.design.replacement)
        return draw(design, n_players, check_budget(budget), rng)

    def fit(self, observations: Observations) -> Estimate:
        name = f"OddSHAP({self.calls_per_term})"
        if is_full(observations.sample):
            return enumerated(observations, name)
        n, engine = observations.n_players, installed(self.engines)
        values = np.empty((n, observations.total.size))
        chosen = []
        for output in range(observations.total.size):
            supports = self._supports(observations, output, engine)
            fits = [_fit_odd(observations, output, frontier) for frontier in supports]
            scores = [_score(fit, len(observations.sample) // 2) for fit in fits]
            best = int(np.argmin(scores))
            values[:, [output]] = from_fourier(n, supports[best].terms, fits[best].coefficients)
            chosen.append(fits[best])
        return conclude(observations, values, _diagnostics(name, chosen, engine))

    def _supports(self, observations: Observations, output: int, engine: Engine) -> list[Frontier]:
        """Candidates for the terms of the regression, the trees' largest coefficients first."""
        n = observations.n_players
        everyone = [(player,) for player in range(n)]
        n_terms = ceil(observations.n_evaluations / self.calls_per_term)
        found = self._coefficients(observations, output, engine)
        ranked = sorted(found, key=lambda term: (-abs(found[term]), term))
        if n_terms >= n:
            interactions = [term for term in ranked if len(term) > 1][: n_terms - n]
            return [Frontier(n, (*everyone, *sorted(interactions, key=lambda term: (len(term), term))))]
        few = sorted([term for term in ranked if len(term) == 1][:n_terms])
        return [Frontier(n, tuple(everyone)), *([Frontier(n, tuple(few))] if few else [])]

    def _coefficients(
        self, observations: Observations, output: int, engine: Engine
    ) -> dict[tuple[int, ...], float]:
        """The odd Fourier coefficients of trees fitted to the coalitions, both ends among them."""
        n, sample = observations.n_players, observations.sample
        ends = np.array([np.zeros(n, dtype=bool), np.ones(n, dtype=bool)])
        values = np.concatenate([[0.0, observations.total[output]], observations.centred[:, output]])
        trees = fit_trees(engine, self.boosting, np.concatenate([ends, sample.coalitions]), values)
        deepest = max((block.feature.shape[1] for block in trees.blocks), default=0)
        return binary_fourier(trees, range(1, deepest + 1, 2))


def _score(fit: Fit, n_rows: int) -> float:
    """Generalised cross-validation; the constraint leaves one unknown less."""
    unknowns = len(fit.coefficients) - 1
    return fit.residual / (1.0 - unknowns / n_rows) if unknowns < n_rows else np.inf


def _fit_odd(observations: Observations, output: int, frontier: Frontier) -> Fit:
    sample = observations.sample
    return least_squares(
        odd_basis(frontier),
        sample.half,
        sample.log_weights[: len(sample) // 2],
        observations.odd[:, [output]],
        constraint=np.ones(len(frontier)),
        totals=observations.total[[output]] / 2,
    )


def _diagnostics(name: str, fits: Sequence[Fit], engine: Engine) -> Diagnostics:
    """The rank of the output that lacks most of it, the largest of the other numbers."""
    worst = max(fits, key=lambda fit: len(fit.coefficients) - fit.rank)
    return replace(
        diagnose(name, worst, len(worst.coefficients)),
        condition=max(fit.condition for fit in fits),
        residual=max(fit.residual for fit in fits),
        details={
            "engine": engine,
            "terms_by_output": np.array([float(len(fit.coefficients)) for fit in fits]),
        },
    )
