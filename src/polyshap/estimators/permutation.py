"""Permutation sampling: the mean marginal contribution along random orders of the players."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polyshap._types import BoolMatrix, FloatArray, IntArray
from polyshap.coalitions import log_binomial, log_shapley_kernel, row_keys
from polyshap.errors import ArgumentError
from polyshap.estimators.enumeration import enumerated, is_full
from polyshap.results import Diagnostics, Estimate, Observations, conclude
from polyshap.sampling import Sample, check_budget, full_sample

__all__ = ["Permutation", "PermutationSample"]

# Rounds of drawing after which a budget that is nearly all coalitions counts as used up.
_ROUNDS = 100
# Elements of the coalitions of one round: 64 MiB.
_BLOCK = 1 << 26


@dataclass(frozen=True, eq=False)
class PermutationSample(Sample):
    """Distinct coalitions, and the orders of the players that pass through them.

    Attributes
    ----------
    orders : ndarray of int, shape (n_orders, n_players)
    rows : ndarray of int, shape (n_orders, n_players - 1)
        The row of the coalition of the first 1, 2, ..., n_players - 1 players of each order.
    swaps : ndarray of int, shape (n_swaps, 3)
        Order, position p and row: the coalition of that order when players p and p + 1 change places.
    """

    orders: IntArray
    rows: IntArray
    swaps: IntArray


@dataclass(frozen=True)
class Permutation:
    """phi_i = mean over random orders of v(players up to i) - v(players before i) (Castro et al., 2009).

    A coalition that several orders share is evaluated once, so small games get more orders than
    budget / n_players. What is left of the budget when no further order fits buys swaps: one coalition turns
    an order into the order with two neighbours exchanged, which is averaged with it. Both keep the mean
    unbiased and its sum equal to v(D) - v(empty).

    Parameters
    ----------
    antithetic : bool
        Take every order together with its reverse, whose coalitions are the complements
        (Mitchell et al., 2022).

    Examples
    --------
    >>> import polyshap
    >>> game = lambda z: z[:, 0] * 2.0 + z[:, 1] * z[:, 2] * z[:, 3]
    >>> polyshap.estimate(game, 4, 16, "permutation", random_state=0).values.round(6).tolist()
    [2.0, 0.333333, 0.333333, 0.333333]
    """

    antithetic: bool = True

    def draw(self, n_players: int, budget: int, rng: np.random.Generator) -> Sample:
        if n_players < 63 and budget >= 1 << n_players:
            return full_sample(n_players)
        check_budget(budget, n_players + 1, reason="one order of the players")
        paired = self.antithetic and budget - 2 >= 2 * (n_players - 1)
        return _Drawing(n_players, (budget - 2) // (1 + paired), paired).run(rng)

    def fit(self, observations: Observations) -> Estimate:
        sample, name = observations.sample, f"Permutation(antithetic={self.antithetic})"
        if is_full(sample):
            return enumerated(observations, name)
        if not isinstance(sample, PermutationSample):
            raise ArgumentError(
                "`observations` must come from the sample that this estimator draws, which knows the orders. "
                f"Got a {type(sample).__name__}. Draw it with Permutation().draw(...)."
            )
        replicates = _contributions(observations, sample)
        values = replicates.mean(axis=0)
        errors = None
        if (n := len(replicates)) > 1:
            scale = np.abs(replicates).max() or 1.0  # squares must not overflow
            errors = scale * (replicates / scale).std(axis=0, ddof=1) / np.sqrt(n)
        diagnostics = Diagnostics(
            estimator=name, details={"orders": float(n * (1 + sample.paired)), "swaps": float(len(sample.swaps))}
        )
        return conclude(observations, values, diagnostics, standard_errors=errors)


def _contributions(observations: Observations, sample: PermutationSample) -> FloatArray:
    """Marginal contributions by order, or by order and reverse (n_orders, n_players, n_outputs)."""
    total = observations.total
    if sample.paired:
        # the mean over an order and its reverse is the marginal contribution to the odd part
        values = np.concatenate([observations.odd, -observations.odd])
        ends = np.broadcast_to([-total / 2, total / 2], (len(sample.orders), 2, len(total)))
    else:
        values = observations.centred
        ends = np.broadcast_to([0.0 * total, total], (len(sample.orders), 2, len(total)))
    path = np.concatenate([ends[:, :1], values[sample.rows], ends[:, 1:]], axis=1)
    steps = np.diff(path, axis=1)
    chain, position, row = sample.swaps.T
    # exchanged, the players at p and p + 1 contribute over the other coalition of size p + 1; half of the change
    change = (path[chain, position] + path[chain, position + 2] - path[chain, position + 1] - values[row]) / 2
    np.add.at(steps, (chain, position), change)
    np.subtract.at(steps, (chain, position + 1), change)
    contributions = np.empty_like(steps)
    np.put_along_axis(contributions, sample.orders[:, :, None], steps, axis=1)
    return contributions


class _Drawing:
    """Draws orders until the budget is used; the pairs {S, D without S} are its units when paired."""

    def __init__(self, n_players: int, units: int, paired: bool) -> None:
        self.n_players, self.units, self.paired = n_players, units, paired
        self.number: dict[bytes, int] = {}
        self.kept: list[BoolMatrix] = []

    @property
    def left(self) -> int:
        return self.units - len(self.number)

    def run(self, rng: np.random.Generator) -> PermutationSample:
        n = self.n_players
        orders, units = [np.empty((0, n), dtype=np.intp)], [np.empty((0, n - 1), dtype=np.intp)]
        for _ in range(_ROUNDS):
            if not self.left:
                break
            # as many as surely fit; when none surely fits, a few that may share all but the last coalitions
            count = min(max(self.left // (n - 1), 1 if not len(orders[0]) else 8), max(1, _BLOCK // n**2))
            drawn = rng.permuted(np.tile(np.arange(n), (count, 1)), axis=1)
            fitting = self._take(_prefixes(drawn))
            orders.append(drawn[fitting >= 0] if fitting.ndim == 1 else drawn[fitting[:, 0] != 0])
            units.append(fitting[fitting[:, 0] != 0])
        raise NotImplementedError
