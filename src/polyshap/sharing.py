"""Parameters of the adaptive estimator learned once, from background rows, for all rows of a call.

The values of a row then depend on the seed, the background and the row: the rows explained teach nothing.
One factorisation serves every row and output that share a design.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from polyshap.coalitions import signs
from polyshap.estimators.adaptive import Adaptive
from polyshap.gaussian.fitting import fit_process
from polyshap.results import Observations
from polyshap.selection import prior_parameters

__all__ = ["PILOT_PAIRS", "PILOT_ROWS", "learn_shared", "should_share", "unlearned"]

# Rows and pairs that parameters are learned from: more pairs of a row are not looked at when it learns for
# itself, and 2 to 8 rows together were equally good.
PILOT_ROWS, PILOT_PAIRS = 4, 600
# Learning costs a row about as much as 20,000 evaluations of a cheap model on a background of 100 rows;
# below this many evaluations in all, each row learns for itself.
_SHARE_ABOVE, _FEWEST_ROWS = 20_000, 8
# In units of the values' mean square; 1e2 to 1e6 and 1e-6 to 1e-3 gave nearly the same errors on the five
# workloads of benchmarks/explain_cost.py.
_FREE, _SMALL = 1e4, 1e-4


def should_share(n_rows: int, n_evaluations: int) -> bool:
    """Whether parameters are shared by default: by the numbers of rows and calls, never by a clock.

    >>> should_share(5, 2000), should_share(100, 2000)
    (False, True)
    """
    return n_rows > _FEWEST_ROWS and n_rows * n_evaluations > _SHARE_ABOVE


def learn_shared(base: Adaptive, observed: Sequence[Observations], seen: NDArray[np.bool_]) -> Adaptive:
    """The estimator with parameters learned from pilot rows that were observed on one sample.

    `seen` (n_players,) says which players differ anywhere among them: of the others they say nothing, and
    these get the mean relevance.
    """
    half = observed[0].sample.half
    rows = np.concatenate([signs(half), np.ones((1, half.shape[1]))])
    odd = [np.concatenate([one.odd, one.total[None] / 2]) for one in observed]
    even = [np.concatenate([one.even - one.total / 2, np.zeros((1, len(one.total)))]) for one in observed]
    learned = fit_process(rows, np.concatenate(odd, axis=1), np.concatenate(even, axis=1), None).parameters
    relevances = learned.relevances.copy()
    if seen.any():
        relevances[~seen] = relevances[seen].mean()
    return replace(base, prior=replace(learned, relevances=relevances))


def unlearned(base: Adaptive, n_players: int) -> Adaptive:
    """Parameters for a background of one row, which teaches nothing: equal relevances, order 1 left free.

    With a large variance of order 1 a game whose odd part is linear comes out exactly.
    """
    return replace(base, prior=replace(prior_parameters(n_players), linear=_FREE, nugget=_SMALL))
