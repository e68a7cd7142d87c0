"""SVARM: Shapley value approximation without requesting marginals, stratified by size."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from polyshap._types import BoolMatrix, FloatArray
from polyshap.coalitions import (
    enumerate_size,
    first_occurrences,
    log_binomial,
    log_shapley_kernel,
)
from polyshap.estimators.enumeration import enumerated, is_full
from polyshap.results import Diagnostics, Estimate, Observations, conclude
from polyshap.sampling import Design, Sample, check_budget, draw

__all__ = ["SVARM"]


@dataclass(frozen=True)
class SVARM:
    """Means of the coalitions with and without a player, one pair of means a size.

    With m+_{i,s} and m-_{i,s} the means of v over the observed coalitions of size s with and without i,

        phi_i = (1/n) (sum_{s=1..n} m+_{i,s} - sum_{s=0..n-1} m-_{i,s})

    (Kolpaczki et al., 2024). Every coalition serves every player. A stratum that was never met takes part
    with the mean of its size, and a size that was never met with the mean over the others; with all strata
    met the estimate is unbiased. The values need not sum to v(D) - v(empty).

    Parameters
    ----------
    design : Design
        How to draw; "leverage" draws all sizes alike. Pairs share what the strata of a player and of its
        absence could learn apart: without them the error is smaller by a third on most games.
    warm_up : bool
        First evaluate all coalitions of size 1 and n - 1, whose strata are then exact, and cover the
        players by a random partition in every other size, so that each stratum is met as early as
        possible. Without it the design alone decides, as in the experiments of Fumagalli et al. (2026).

    Examples
    --------
    >>> import polyshap
    >>> game = lambda z: z[:, 0] * 2.0 + z[:, 1] * z[:, 2]
    >>> polyshap.estimate(game, 3, 8, "svarm", random_state=0).values.round(6).tolist()
    [2.0, 0.5, 0.5]
    """

    design: Design = field(default_factory=lambda: Design(paired=False))
    warm_up: bool = True

    def draw(self, n_players: int, budget: int, rng: np.random.Generator) -> Sample:
        budget = check_budget(budget)
        plain = self.design.replacement or not self.warm_up
        if (
            plain
            or n_players < 4
            or budget < 2 * n_players + 4
            or (n_players < 63 and budget >= 1 << n_players)
        ):
            return draw(self.design, n_players, budget, rng)
        return _warm_sample(self.design, n_players, budget, rng)

    def fit(self, observations: Observations) -> Estimate:
        name = f"SVARM({self.design}, warm_up={self.warm_up})"
        if is_full(observations.sample):
            return enumerated(observations, name)
        values, errors, never_met = _estimate(observations)
        diagnostics = Diagnostics(name, details={"strata_never_met": float(never_met)})
        return conclude(observations, values, diagnostics, standard_errors=errors)


def _warm_sample(design: Design, n_players: int, budget: int, rng: np.random.Generator) -> Sample:
    """The design's sample with whole borders, and a partition as the first coalitions of each size."""
    n, paired = n_players, design.paired
    log_shares = design.log_size_weights(n)
    log_shares[[0, -1]] = -np.inf
    if np.isneginf(log_shares).all():  # a design of the borders alone
        return draw(design, n, budget, rng)
    inner = draw(Design(np.exp(log_shares - log_shares.max()), paired), n, budget - 2 * n, rng)
    units = inner.half if paired else inner.coalitions
    log_weights = inner.log_weights[: len(units)]
    # a pair belongs to the smaller of its sizes
    sizes = np.count_nonzero(units, axis=1)
    units = np.where((paired & (2 * sizes > n))[:, None], ~units, units)
    sizes = np.minimum(sizes, n - sizes) if paired else sizes
    border = enumerate_size(n, 1)
    kept = [border if paired else np.concatenate([border, ~border])]
    weights = [np.full(len(kept[0]), log_shapley_kernel(n, np.array([1]))[0])]
    for size in np.unique(sizes):
        drawn = units[sizes == size]
        kept.append(_with_partition(drawn, int(size), paired, rng))
        weights.append(log_weights[sizes == size])
    coalitions, logs = np.concatenate(kept), np.concatenate(weights)
    if paired:
        coalitions, logs = np.concatenate([coalitions, ~coalitions]), np.tile(logs, 2)
    return Sample(coalitions, logs, paired)


def _with_partition(drawn: BoolMatrix, size: int, paired: bool, rng: np.random.Generator) -> BoolMatrix:
    """As many distinct coalitions of one size as `drawn`, the first ones covering all players."""
    count, n = drawn.shape
    order = rng.permutation(n)
    smaller = min(size, n - size)
    part = np.zeros((-(-n // smaller), n), dtype=bool)
    for row, start in enumerate(range(0, n, smaller)):
        chosen = order[start : start + smaller]
        rest = rng.permutation(order[:start])[: smaller - len(chosen)]  # the last part is filled up
        part[row, np.concatenate([chosen, rest])] = True
    if 2 * size > n:
        part = ~part
    every = np.concatenate([part, drawn])
    if paired and 2 * size == n:  # S and its complement are one pair
        every = np.where(every[:, :1], every, ~every)
    return every[first_occurrences(every)][:count]


def _estimate(observations: Observations) -> tuple[FloatArray, FloatArray | None, int]:
    """Values and standard errors (n_players, n_outputs), and the number of strata that were never met."""
    n, sample, total = observations.n_players, observations.sample, observations.total
    if n == 1 or not len(sample):
        return np.tile(total / n, (n, 1)), None, 2 * n * (n - 1)
    centred = observations.centred
    scale = np.abs(centred).max() or 1.0  # squares must not overflow
    sums = _sum_by_size(sample, centred / scale)
    # about the mean of the size: a stratum that was never met then has the mean 0
    without = sums.met - sums.count
    difference = sums.first / np.maximum(sums.count, 1) + sums.first / np.maximum(without, 1)
    factor = (n - 1) / n / max(int(np.count_nonzero(sums.met)), 1)
    values = total / n + scale * factor * difference.sum(axis=0)
    if sample.paired:  # m+ of size s and m- of size n - s are means over the same pairs, of 2 u
        odd = np.concatenate([observations.odd, -observations.odd]) * 2.0
        scale = np.abs(odd).max() or 1.0
        sums = _sum_by_size(sample, odd / scale)
        variances = _variances(sums.count, sums.first, sums.second, _log_strata(n, 1))
    else:
        rest = (without, -sums.first, sums.second_of_size - sums.second)
        variances = np.concatenate(
            [
                _variances(sums.count, sums.first, sums.second, _log_strata(n, 1)),
                _variances(*rest, _log_strata(n, 0)),
            ]
        )
    errors = scale * factor * np.sqrt(_fill(variances).sum(axis=0))
    never_met = np.count_nonzero(sums.count == 0) + np.count_nonzero(without == 0)
    return values, errors if np.isfinite(errors).all() else None, int(never_met)


@dataclass(frozen=True, eq=False)
class _Sums:
    """By size s = 1..n-1 (first axis), over the coalitions of that size that hold player i."""

    met: FloatArray  # (n - 1, 1, 1) coalitions of the size
    count: FloatArray  # (n - 1, n, 1)
    first: FloatArray  # (n - 1, n, n_outputs) sum of the values less the mean of the size
    second: FloatArray  # the same squared
    second_of_size: FloatArray  # (n - 1, 1, n_outputs) squares over all coalitions of the size


def _sum_by_size(sample: Sample, values: FloatArray) -> _Sums:
    n, k = sample.n_players, values.shape[1]
    rows = np.argsort(sample.sizes, kind="stable")
    bounds = np.searchsorted(sample.sizes[rows], np.arange(1, n + 1))
    count, sums, whole = np.zeros((n - 1, n, 1)), np.zeros((n - 1, n, 2 * k)), np.zeros((n - 1, 1, k))
    for index, (start, stop) in enumerate(pairwise(bounds)):
        if start < stop:
            part = rows[start:stop]
            members = sample.coalitions[part].astype(float)
            about = values[part] - values[part].mean(axis=0)
            count[index, :, 0] = members.sum(axis=0)
            sums[index] = members.T @ np.concatenate([about, about**2], axis=1)
            whole[index, 0] = (about**2).sum(axis=0)
    met = np.diff(bounds).astype(float).reshape(-1, 1, 1)
    return _Sums(met, count, sums[:, :, :k], sums[:, :, k:], whole)


def _variances(
    count: FloatArray, first: FloatArray, second: FloatArray, log_strata: FloatArray
) -> FloatArray:
    """Variance of the mean of each stratum, drawn without repeats; NaN where its spread is unknown."""
    most = np.maximum(count, 2)
    spread = np.maximum(second - first**2 / most, 0.0) / (most - 1) / most
    # a stratum of one coalition that was met is known exactly
    left = np.maximum(-np.expm1(np.minimum(np.log(np.maximum(count, 1)) - log_strata, 0.0)), 0.0)
    left = np.where(left < 1e-9, 0.0, left)
    known = (count >= 2) | ((count == 1) & (left == 0.0))
    return np.where(known, np.where(left == 0.0, 0.0, spread * left), np.nan)


def _fill(variances: FloatArray) -> FloatArray:
    """Unknown spreads take the largest known one of the same player."""
    unknown = np.isnan(variances)
    if not unknown.any():
        return variances
    most = np.where(unknown, -np.inf, variances).max(axis=0)
    return np.where(unknown, np.where(most < 0, np.nan, most), variances)


def _log_strata(n_players: int, members: int) -> FloatArray:
    """log of the number of coalitions of each size 1..n-1 that hold a player (1) or lack it (0)."""
    return log_binomial(n_players - 1, np.arange(1, n_players) - members).reshape(-1, 1, 1)
