"""Maximum sample reuse, and unbiased KernelSHAP: two roads to the same numbers."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from polyshap._types import FloatArray, IntArray
from polyshap.coalitions import log_binomial
from polyshap.estimators.enumeration import enumerated, is_full
from polyshap.results import Diagnostics, Estimate, Observations, conclude
from polyshap.sampling import Design, Sample, check_budget, draw

__all__ = ["MSR", "UnbiasedKernelSHAP", "reuse_all"]

# A share of a size that is left below this is rounding of the binomial coefficient: all of it was drawn.
_WHOLE = 1e-9


@dataclass(frozen=True)
class MSR:
    """Every coalition counts for every player, weighted by its inverse inclusion probability.

    With mu(S) = 1 / binom(n - 2, |S| - 1) and inclusion probabilities p(S),

        phi_i = (v(D) - v(empty)) / n + 1/(n - 1) sum_S mu(S)/p(S) (v(S) - v(empty)) ([i in S] - |S|/n),

    the Shapley value as a sum over all coalitions, estimated by Horvitz and Thompson (Wang and Jia, 2023,
    for the Banzhaf value; Fumagalli et al., 2023, for all semivalues). Unbiased, and the values sum to
    v(D) - v(empty). Standard errors come from the strata of the design: sizes, or pairs of sizes.

    Parameters
    ----------
    design : Design
        Paired, with sizes in proportion to the Shapley kernel: a quarter to a third less error than with
        equal shares of all sizes on forests of 14 to 101 features, and more so than without pairs.

    Examples
    --------
    >>> import polyshap
    >>> game = lambda z: z[:, 0] * 2.0 + z[:, 1] * z[:, 2]
    >>> polyshap.estimate(game, 3, 8, "msr", random_state=0).values.round(6).tolist()
    [2.0, 0.5, 0.5]
    """

    design: Design = field(default_factory=lambda: Design("kernel"))

    def draw(self, n_players: int, budget: int, rng: np.random.Generator) -> Sample:
        return draw(self.design, n_players, check_budget(budget), rng)

    def fit(self, observations: Observations) -> Estimate:
        name = f"MSR({self.design})"
        if is_full(observations.sample):
            return enumerated(observations, name)
        errors = _standard_errors(observations)
        return conclude(observations, reuse_all(observations), Diagnostics(name), standard_errors=errors)


@dataclass(frozen=True)
class UnbiasedKernelSHAP:
    """KernelSHAP with its matrix A = E[z z'] known instead of estimated (Covert and Lee, 2021).

    phi = A^{-1} (b - 1 (1'A^{-1} b - v(D)) / (1'A^{-1} 1)), b the estimate of E[z v(z)], both under the
    Shapley kernel. It is the same estimator as `MSR`.

    Parameters
    ----------
    design : Design
    """

    design: Design = field(default_factory=lambda: Design("kernel"))

    def draw(self, n_players: int, budget: int, rng: np.random.Generator) -> Sample:
        return draw(self.design, n_players, check_budget(budget), rng)

    def fit(self, observations: Observations) -> Estimate:
        name = f"UnbiasedKernelSHAP({self.design})"
        if is_full(observations.sample):
            return enumerated(observations, name)
        n, sample, total = observations.n_players, observations.sample, observations.total
        if n == 1:
            return conclude(observations, total[None], Diagnostics(name))
        b = (np.exp(sample.log_weights)[:, None] * sample.coalitions).T @ observations.centred
        # sum over S of mu(S) z_i z_j: binom(n, s) mu(s) = n (n - 1) / (s (n - s)), of which s/n holds a
        # player and s (s - 1) / (n (n - 1)) two
        sizes = np.arange(1, n)
        one, two = np.sum((n - 1) / (n - sizes)), np.sum((sizes - 1) / (n - sizes))
        A = np.full((n, n), two) + (one - two) * np.eye(n)
        solved = np.linalg.solve(A, np.column_stack([b, np.ones(n)]))
        free, ones = solved[:, :-1], solved[:, -1:]
        values = free - ones * (free.sum(axis=0) - total) / ones.sum()
        return conclude(
            observations, values, Diagnostics(name), standard_errors=_standard_errors(observations)
        )


def reuse_all(observations: Observations) -> FloatArray:
    """The estimate of `MSR` (n_players, n_outputs)."""
    n, sample = observations.n_players, observations.sample
    equal = np.tile(observations.total / n, (n, 1))
    if n == 1 or not len(sample):
        return equal
    weighted = np.exp(sample.log_weights)[:, None] * observations.centred
    mean = sample.sizes @ weighted / n
    values = equal + (sample.coalitions.astype(float).T @ weighted - mean) / (n - 1)
    # they sum to the total up to rounding, which grows with the weights and the players: share it out
    return np.asarray(values + (observations.total - values.sum(axis=0)) / n)


def _standard_errors(observations: Observations) -> FloatArray | None:
    """Collapsed strata: the spread of the contributions of one size, of several where a size has one unit."""
    sample, n = observations.sample, observations.n_players
    n_units = len(sample) // (1 + sample.paired)
    if n_units < 2:
        return None
    # contributions of the units: 2 u(S) of a pair is v(S) - v(D without S), and the sizes' parts agree
    values = 2 * observations.odd if sample.paired else observations.centred
    sizes = sample.sizes[:n_units]
    scale = np.abs(values).max() or 1.0  # squares must not overflow
    weighted = np.exp(sample.log_weights[:n_units])[:, None] * (values / scale) / (n - 1)
    stratum = np.minimum(sizes, n - sizes) if sample.paired else sizes
    rows = np.argsort(stratum, kind="stable")
    starts, factors = _groups(stratum[rows], n, sample.paired)
    centred = (sample.coalitions[:n_units] - sizes[:, None] / n)[rows]
    counts = np.diff([*starts, n_units])
    errors = np.empty((n, values.shape[1]))
    for output in range(values.shape[1]):
        parts = centred * weighted[rows, output, None]
        means = np.add.reduceat(parts, starts, axis=0) / counts[:, None]
        parts -= np.repeat(means, counts, axis=0)
        parts *= parts
        errors[:, output] = np.sqrt(factors @ np.add.reduceat(parts, starts, axis=0))
    return scale * errors


def _groups(stratum: IntArray, n_players: int, paired: bool) -> tuple[IntArray, FloatArray]:
    """Where each group of strata starts, and (1 - sampling fraction) g / (g - 1) for its g units."""
    _, first, counts = np.unique(stratum, return_index=True, return_counts=True)
    starts: list[int] = []
    for start, count in zip(first.tolist(), counts.tolist(), strict=True):
        # a lone unit joins the group before it, and a lone first one the group after it
        if not starts or (count > 1 and (len(starts) != 1 or start - starts[-1] > 1)):
            starts.append(start)
    bounds = [*starts, len(stratum)]
    factors = []
    for start, stop in pairwise(bounds):
        size = int(stratum[start])
        log_units = float(log_binomial(n_players, size)) - np.log(2.0) * (paired and 2 * size == n_players)
        whole = stratum[start] == stratum[stop - 1]
        left = -np.expm1(min(np.log(stop - start) - log_units, 0.0)) if whole else 1.0
        left = left if left > _WHOLE else 0.0
        factors.append(left * (stop - start) / max(stop - start - 1, 1))
    return np.array(starts), np.array(factors)
