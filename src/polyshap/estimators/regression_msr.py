"""Regression MSR: a boosted tree explains most of the game, maximum sample reuse the rest of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from polyshap._types import FloatArray
from polyshap.estimators.enumeration import enumerated, is_full
from polyshap.estimators.msr import reuse_all
from polyshap.estimators.surrogates import Boosting, Engine, fit_trees, installed
from polyshap.games.tree_binary import binary_shapley_values
from polyshap.results import Diagnostics, Estimate, Observations, conclude
from polyshap.sampling import Design, Sample, check_budget, draw

__all__ = ["RegressionMSR"]


@dataclass(frozen=True)
class RegressionMSR:
    """phi(v) = phi(g) + phi(v - g) with a boosted tree ensemble g fitted to the observed coalitions.

    phi(g) is exact, in closed form over the leaves; phi(v - g) is estimated by `MSR` from the residuals of
    the same observed coalitions, each with its own (Witter et al., 2025). Whatever the trees missed is
    therefore corrected, so the estimate converges to the Shapley values.

    Parameters
    ----------
    design : Design
        Sizes in equal shares. `Design("root-kernel")`, 1 / sqrt(s (n - s)) for size s, is what Witter et al.
        draw: over 14 games and four budgets it has 1.05 times the error, 1.2 to 1.4 times on forests of 30
        features and more, and 0.7 times on rough games of 9 to 16 players at 10 calls a player.
    boosting : Boosting
        The settings of the trees; XGBoost's defaults.
    engines : sequence of {"xgboost", "lightgbm", "scikit-learn"}
        The first one that is installed is taken; the diagnostics name it.
    """

    design: Design = field(default_factory=Design)
    boosting: Boosting = field(default_factory=Boosting)
    engines: Sequence[Engine] = ("xgboost", "scikit-learn", "lightgbm")

    def draw(self, n_players: int, budget: int, rng: np.random.Generator) -> Sample:
        installed(self.engines)  # what is missing is to be said before a model is called
        return draw(self.design, n_players, check_budget(budget), rng)

    def fit(self, observations: Observations) -> Estimate:
        name = f"RegressionMSR({self.design})"
        if is_full(observations.sample):
            return enumerated(observations, name)
        engine = installed(self.engines)
        n = observations.n_players
        ends = np.array([np.zeros(n, dtype=bool), np.ones(n, dtype=bool)])
        rows = np.concatenate([ends, observations.sample.coalitions])
        total = observations.total
        values = np.concatenate([[0.0 * total, total], observations.centred])
        residuals, explained = np.empty_like(values), np.empty((n, len(total)))
        for output in range(len(total)):
            trees = fit_trees(engine, self.boosting, rows, values[:, output])
            explained[:, output] = binary_shapley_values(trees)[:, 0]
            residuals[:, output] = values[:, output] - trees.predict(rows)[:, 0]
        left = _with_values(observations, residuals)
        variance = np.var(values, axis=0).sum()
        diagnostics = Diagnostics(
            name,
            residual=float(np.sqrt(np.var(residuals, axis=0).sum() / variance)) if variance > 0 else 0.0,
            details={"engine": engine},
        )
        return conclude(observations, explained + reuse_all(left), diagnostics)


def _with_values(observations: Observations, values: FloatArray) -> Observations:
    """The same coalitions with other values: both ends first, then the sample (m + 2, n_outputs)."""
    return replace(observations, values=values[2:], empty=values[0], grand=values[1])
