"""Permutation sampling: the mean marginal contribution along random orders of the players."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polyshap._types import BoolMatrix, FloatArray, IntArray
from polyshap.coalitions import log_binomial, log_shapley_kernel, unpack
from polyshap.errors import ArgumentError
from polyshap.estimators.enumeration import enumerated, is_full
from polyshap.results import Diagnostics, Estimate, Observations, conclude
from polyshap.sampling import Sample, check_budget, full_sample

__all__ = ["Permutation", "PermutationSample"]

# Rounds without a new coalition after which the rest of the budget goes to swaps.
_MISSES = 20
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
        return _draw_orders(n_players, (budget - 2) // (1 + paired), paired, rng)

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
            estimator=name,
            details={"orders": float(n * (1 + sample.paired)), "swaps": float(len(sample.swaps))},
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
    # exchanged, the players at p and p + 1 contribute by way of the other coalition; half of the change
    change = (path[chain, position] + path[chain, position + 2] - path[chain, position + 1] - values[row]) / 2
    np.add.at(steps, (chain, position), change)
    np.subtract.at(steps, (chain, position + 1), change)
    contributions = np.empty_like(steps)
    np.put_along_axis(contributions, sample.orders[:, :, None], steps, axis=1)
    return contributions


def _draw_orders(n_players: int, units: int, paired: bool, rng: np.random.Generator) -> PermutationSample:
    """Orders until `units` distinct coalitions (or pairs {S, D without S}) are used, then swaps.

    Which orders fit depends on shared coalitions alone, not on who the players are: every order that was
    kept is uniformly distributed.
    """
    number: dict[bytes, int] = {}
    orders: list[IntArray] = []
    rows: list[IntArray] = []
    misses = 0
    while (left := units - len(number)) and misses < _MISSES:
        known = len(number)
        count = min(max(left // (n_players - 1), 1), max(1, _BLOCK // n_players**2))
        drawn = rng.permuted(np.tile(np.arange(n_players), (count, 1)), axis=1)
        keys, flipped = _keys(_prefixes(drawn), paired)
        for order, path, flip in zip(drawn, keys, flipped, strict=True):
            if sum(key not in number for key in path) <= units - len(number):
                numbers = [number.setdefault(key, len(number)) for key in path]
                orders.append(order)
                rows.append(np.where(flip, -1 - np.array(numbers), numbers))
        misses = misses + 1 if len(number) == known else 0
    swaps = _draw_swaps(orders, number, units, paired, rng)
    packed = np.frombuffer(b"".join(number), dtype=np.uint8).reshape(len(number), -1)
    coalitions = unpack(packed, n_players)
    if paired:
        coalitions = np.concatenate([coalitions, ~coalitions])
    # a negative number -1 - u is the complement of unit u
    place = [np.where(array < 0, len(number) - 1 - array, array) for array in (np.array(rows), swaps[:, 2])]
    swaps[:, 2] = place[1]
    return PermutationSample(coalitions, _log_weights(coalitions), paired, np.array(orders), place[0], swaps)


def _draw_swaps(
    orders: list[IntArray], number: dict[bytes, int], units: int, paired: bool, rng: np.random.Generator
) -> IntArray:
    """Neighbours to exchange, in random order, until the budget is used (n_swaps, 3)."""
    swaps = []
    n_positions = len(orders[0]) - 1
    for candidate in rng.permutation(len(orders) * n_positions):
        if len(number) == units:
            break
        chain, position = divmod(int(candidate), n_positions)
        coalition = np.zeros((1, 1, n_positions + 1), dtype=bool)
        coalition[0, 0, orders[chain][:position]] = True
        coalition[0, 0, orders[chain][position + 1]] = True
        keys, flipped = _keys(coalition, paired)
        unit = number.setdefault(keys[0][0], len(number))
        swaps.append((chain, position, -1 - unit if flipped[0, 0] else unit))
    return np.array(swaps, dtype=np.intp).reshape(-1, 3)


def _prefixes(orders: IntArray) -> BoolMatrix:
    """The first 1..n-1 players of each order: (n_orders, n - 1, n)."""
    places = np.argsort(orders, axis=1)
    return np.asarray(places[:, None, :] <= np.arange(orders.shape[1] - 1)[:, None])


def _keys(coalitions: BoolMatrix, paired: bool) -> tuple[list[list[bytes]], NDArray[np.bool_]]:
    """A key of every coalition; a pair has that of the one without player 0, `flipped` where it is not it."""
    flipped = coalitions[:, :, 0] & paired
    packed = np.packbits(coalitions ^ flipped[:, :, None], axis=2)
    return [[key.tobytes() for key in path] for path in packed], flipped


def _log_weights(coalitions: BoolMatrix) -> FloatArray:
    """log mu over the share of the coalitions of each size that the sample holds."""
    n_players = coalitions.shape[1]
    sizes = np.count_nonzero(coalitions, axis=1)
    counts = np.bincount(sizes, minlength=n_players + 1)
    log_share = np.log(counts[sizes]) - log_binomial(n_players, sizes)
    return np.asarray(log_shapley_kernel(n_players, sizes) - log_share)
