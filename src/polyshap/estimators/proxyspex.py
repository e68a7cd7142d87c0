"""ProxySPEX: the few large Fourier coefficients of a boosted tree, refitted to the sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import product

import numpy as np

from polyshap._types import BoolMatrix, FloatArray
from polyshap.coalitions import signs
from polyshap.estimators.enumeration import enumerated, is_full
from polyshap.estimators.surrogates import Boosting, Engine, fit_trees, installed
from polyshap.games.tree_binary import binary_fourier
from polyshap.games.trees import TreeEnsemble
from polyshap.interactions import Fourier
from polyshap.results import Diagnostics, Estimate, Observations, conclude
from polyshap.sampling import Design, Sample, check_budget, draw
from polyshap.shapley import from_fourier

__all__ = ["ProxySPEX"]

Coefficients = dict[tuple[int, ...], float]

# The grid of the paper, and the penalties of its ridge regression.
_DEPTHS, _RATES, _TREES, _FOLDS = (3, 5), (0.01, 0.1), (500, 1000), 5
_PENALTIES = np.logspace(-6, 6, 100)


@dataclass(frozen=True)
class ProxySPEX:
    """Fourier coefficients of boosted trees, those with 95 % of the energy refitted by ridge regression.

    Coalitions are drawn uniformly; the trees are chosen by five-fold cross-validation over depth, rate
    and number; then phi_i = 2 sum over the odd terms T with i in T of c_T / |T| (Butler et al., 2025,
    "ProxySPEX"). The values need not sum to v(D) - v(empty), and what the trees do not find is lost.

    Parameters
    ----------
    energy : float
        Share of the sum of squared coefficients to keep.
    tune : bool
        Cross-validate as in the paper (21 fits); otherwise `boosting` is used as it stands.
    boosting : Boosting
    engines : sequence of {"lightgbm", "xgboost", "scikit-learn"}
        The first one that is installed is taken; the diagnostics name it.
    """

    energy: float = 0.95
    tune: bool = True
    boosting: Boosting = field(default_factory=lambda: Boosting(500, max_depth=5, learning_rate=0.1))
    design: Design = field(default_factory=lambda: Design("uniform", paired=False))
    engines: Sequence[Engine] = ("lightgbm", "xgboost", "scikit-learn")

    def draw(self, n_players: int, budget: int, rng: np.random.Generator) -> Sample:
        installed(self.engines)  # what is missing is to be said before a model is called
        return draw(self.design, n_players, check_budget(budget), rng)

    def fit(self, observations: Observations) -> Estimate:
        name = f"ProxySPEX(energy={self.energy}, tune={self.tune})"
        if is_full(observations.sample):
            return enumerated(observations, name)
        n, engine = observations.n_players, installed(self.engines)
        ends = np.array([np.zeros(n, dtype=bool), np.ones(n, dtype=bool)])
        rows = np.concatenate([ends, observations.sample.coalitions])
        total = observations.total
        targets = np.concatenate([[0.0 * total, total], observations.centred])
        values, kept = np.empty((n, total.size)), []
        for output in range(total.size):
            trees = self._trees(engine, rows, targets[:, output])
            deepest = max((block.feature.shape[1] for block in trees.blocks), default=0)
            found = binary_fourier(trees, range(1, deepest + 1))
            refitted = _refit(_largest(found, self.energy, n), rows, targets[:, output])
            values[:, [output]] = from_fourier(n, list(refitted), np.array([*refitted.values()])[:, None])
            kept.append(refitted)
        diagnostics = Diagnostics(name, n_terms=max(map(len, kept)), details={"engine": engine})
        return conclude(observations, values, diagnostics, source=Fourier(n, tuple(kept)))

    def _trees(self, engine: Engine, rows: BoolMatrix, values: FloatArray) -> TreeEnsemble:
        chosen = self.boosting
        if self.tune and len(rows) >= 2 * _FOLDS:
            grid = [Boosting(max(_TREES), *pair) for pair in product(_DEPTHS, _RATES)]
            errors = [_validate(engine, settings, rows, values) for settings in grid]
            best = int(np.argmin([min(row) for row in errors]))
            chosen = replace(grid[best], n_trees=_TREES[int(np.argmin(errors[best]))])
        return fit_trees(engine, chosen, rows, values)


def _validate(engine: Engine, settings: Boosting, rows: BoolMatrix, values: FloatArray) -> list[float]:
    """Squared error on held-out folds after each number of trees of the grid, from one fit a fold."""
    scale = np.abs(values).max() or 1.0  # squares must not overflow
    errors = np.zeros(len(_TREES))
    for fold in range(_FOLDS):
        held = np.zeros(len(rows), dtype=bool)
        held[fold * len(rows) // _FOLDS : (fold + 1) * len(rows) // _FOLDS] = True
        trees = fit_trees(engine, settings, rows[~held], values[~held])
        for index, count in enumerate(_TREES):
            first = replace(trees, roots=trees.roots[:count])
            errors[index] += (((first.predict(rows[held])[:, 0] - values[held]) / scale) ** 2).sum()
    return [float(error) for error in errors]


def _largest(found: Coefficients, energy: float, n_players: int) -> list[tuple[int, ...]]:
    """The fewest terms that hold the share of the energy; all of them where they are few."""
    ranked = sorted(found, key=lambda term: (-abs(found[term]), term))
    if len(ranked) <= n_players:
        return ranked
    size = np.abs([found[term] for term in ranked])
    held = np.cumsum((size / (size[0] or 1.0)) ** 2)
    return ranked[: int(np.searchsorted(held, energy * held[-1])) + 1]


def _refit(terms: list[tuple[int, ...]], rows: BoolMatrix, values: FloatArray) -> Coefficients:
    """Ridge regression on the terms and a constant; the penalty with the least leave-one-out error."""
    coded = signs(rows)
    design = np.column_stack(
        [np.ones(len(rows)), *(coded[:, term].prod(axis=1) for term in map(list, terms))]
    )
    scale = np.abs(values).max() or 1.0
    squares, basis = np.linalg.eigh(design.T @ design)
    squares = np.maximum(squares, 0.0)
    rotated = design @ basis
    shrunk = 1.0 / (squares[:, None] + _PENALTIES)  # (p, n_penalties)
    projected = rotated.T @ (values / scale)
    residuals = (values / scale)[:, None] - rotated @ (projected[:, None] * shrunk)
    leverage = np.minimum(rotated**2 @ shrunk, 1.0 - 1e-12)
    best = int(np.argmin(((residuals / (1.0 - leverage)) ** 2).sum(axis=0)))
    coefficients = scale * (basis @ (projected * shrunk[:, best]))
    return dict(zip(terms, coefficients[1:].tolist(), strict=True))
