"""Parameters of the adaptive estimator learned once, from background rows, for all rows of a call.

The values of a row then depend on the seed, the background and the row: the rows explained teach nothing.
One factorisation serves every row and output that share a design.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from polyshap._types import FloatArray
from polyshap.coalitions import signs
from polyshap.estimators.adaptive import Adaptive
from polyshap.estimators.polyshap import PolySHAP
from polyshap.frontiers import KAdditive
from polyshap.gaussian.fitting import fit_process
from polyshap.gaussian.selection import prior_parameters
from polyshap.results import Estimate, Index, Observations, conclude
from polyshap.sampling import Sample

__all__ = ["PILOT_PAIRS", "PILOT_ROWS", "OneRowBackground", "learn_shared", "should_share"]

# Rows and pairs that parameters are learned from: more pairs of a row are not looked at when it learns for
# itself, and 2 to 8 rows together were equally good.
PILOT_ROWS, PILOT_PAIRS = 4, 600
# Learning costs a row about as much as 20,000 evaluations of a cheap model on a background of 100 rows;
# below this many evaluations in all, each row learns for itself.
_SHARE_ABOVE, _FEWEST_ROWS = 20_000, 8
# A feature that did little for the pilot rows may do more for others. Floors of 0.1 and 0.3 of the mean
# changed the mean squared error by factors of 0.18 and 0.02 (bike), 0.95 and 0.90 (crime), 0.92 and 0.88
# (cancer); 0.3 by 0.53 (digits).
_FLOOR = 0.3
# In units of the values' mean square; 1e2 to 1e6 and 1e-6 to 1e-3 gave nearly the same errors on the five
# workloads of benchmarks/explain_cost.py.
_FREE, _SMALL = 1e4, 1e-4
# Half of the digits: what is left of an odd part that is linear up to the rounding of the model.
_ROUNDING = 1e-10
_CHOSEN_PAIRS = 1000


def should_share(n_rows: int, n_evaluations: int) -> bool:
    """Whether parameters are shared by default: by the numbers of rows and calls, never by a clock.

    >>> should_share(5, 2000), should_share(100, 2000)
    (False, True)
    """
    return n_rows > _FEWEST_ROWS and n_rows * n_evaluations > _SHARE_ABOVE


def learn_shared(base: Adaptive, observed: Sequence[Observations], seen: NDArray[np.bool_]) -> Adaptive:
    """The estimator with parameters learned from pilot rows that were observed on one sample.

    `seen` (n_players,) says which players differ anywhere among them: of the others they say nothing, and
    these get the mean relevance; none gets much less.
    """
    half = observed[0].sample.half
    rows = np.concatenate([signs(half), np.ones((1, half.shape[1]))])
    odd = [np.concatenate([one.odd, one.total[None] / 2]) for one in observed]
    even = [np.concatenate([one.even - one.total / 2, np.zeros((1, len(one.total)))]) for one in observed]
    learned = fit_process(rows, np.concatenate(odd, axis=1), np.concatenate(even, axis=1), None).parameters
    relevances = learned.relevances.copy()
    mean = relevances[seen].mean() if seen.any() else relevances.mean()
    relevances = np.where(seen, np.maximum(relevances, _FLOOR * mean), mean)
    return replace(base, prior=replace(learned, relevances=relevances))


@dataclass(frozen=True)
class OneRowBackground:
    """For a background of one row, which teaches nothing: columns of values are fitted without learning.

    Where the odd part is linear, as for every model without interactions of three or more features, least
    squares on single players is exact, and says so by its residual. Elsewhere it is the adaptive estimator
    with equal relevances and a free order 1.
    """

    base: Adaptive

    def draw(self, n_players: int, budget: int, rng: np.random.Generator) -> Sample:
        # the choice of coalitions gained nothing over leverage there
        many = budget > 2 * _CHOSEN_PAIRS
        return (replace(self.base, design="leverage") if many else self.base).draw(n_players, budget, rng)

    def fit(self, observations: Observations) -> Estimate:
        half = observations.sample.half
        if len(half) < 2 * observations.n_players:
            return self.smooth(observations.n_players).fit(observations)
        linear = PolySHAP(KAdditive(1)).fit(observations)
        columns = linear.values.reshape(observations.n_players, -1)
        residual = np.abs(observations.odd - signs(half) @ columns / 2).max(axis=0)
        exact = residual <= _ROUNDING * np.abs(observations.odd).max(axis=0)
        errors = np.broadcast_to(residual * exact, columns.shape)
        source = _Smooth(self, observations)
        if exact.all():
            return conclude(
                observations, columns.copy(), linear.diagnostics, standard_errors=errors.copy(), source=source
            )
        found = self.smooth(observations.n_players).fit(observations)
        values, spread = (
            np.where(exact, ours, theirs.reshape(columns.shape))
            for ours, theirs in ((columns, found.values), (errors, _known(found.standard_errors)))
        )
        return conclude(observations, values, found.diagnostics, standard_errors=spread, source=source)

    def smooth(self, n_players: int) -> Adaptive:
        return replace(self.base, prior=replace(prior_parameters(n_players), linear=_FREE, nugget=_SMALL))


@dataclass(frozen=True, eq=False)
class _Smooth:
    """Interactions stand in the smooth fit, which is made when they are asked for."""

    estimator: OneRowBackground
    observations: Observations

    def interactions(self, order: int, index: Index, min_order: int) -> dict[tuple[int, ...], FloatArray]:
        fitted = self.estimator.smooth(self.observations.n_players).fit(self.observations)
        return fitted.interactions(order, index, min_order=min_order)


def _known(errors: FloatArray | None) -> FloatArray:
    assert errors is not None  # the adaptive estimator always has them
    return errors
