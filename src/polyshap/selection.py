"""Which pairs to observe: greedily those that tell most about the Shapley values under a prior.

With R_c = cov(phi, u_c) and V_c = var(u_c), both conditional on the pairs already taken, take the pair with
the largest |R_c|^2 / V_c, the drop of the summed variance of the Shapley values, and condition on it: a
pivoted Cholesky factorisation that keeps the factor's columns, never the covariance of the pool.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from polyshap._types import BoolMatrix, FloatArray, IntArray
from polyshap.coalitions import enumerate_all, first_occurrences, random_coalitions, row_keys, signs
from polyshap.gaussian.kernel import Parameters, odd_kernel
from polyshap.gaussian.sections import delta_sections, smooth_sections
from polyshap.sampling import Design, draw

__all__ = ["candidate_pool", "chosen_half", "greedy", "prior_parameters"]

# Beyond this many picks the choice gained nothing over leverage (4,000 calls and more).
MAX_PICKS = 1000
_MAX_POOL = 2200
_SEED = 20260


def prior_parameters(n_players: int, total: float = 2.0) -> Parameters:
    """The prior of a game of which nothing is known: equal relevances."""
    one = np.ones(1)
    return Parameters(
        1.0, np.exp(-1.0) * one, float(np.exp(-4.0)), np.full(n_players, total / n_players), one
    )


def canonical(coalitions: BoolMatrix) -> BoolMatrix:
    """Of each pair the coalition with player 0, so that pairs can be compared."""
    return coalitions ^ ~coalitions[:, :1]


def candidate_pool(n_players: int, n_pool: int, rng: np.random.Generator) -> BoolMatrix:
    """Distinct halves of pairs: half of middle size, a quarter uniform, a quarter by leverage."""
    if n_players <= 20 and (1 << (n_players - 1)) - 1 <= n_pool:
        return enumerate_all(n_players)[1 : 1 << (n_players - 1)]
    middle = random_coalitions(np.full(n_pool // 2, n_players // 2), n_players, rng)
    uniform = rng.random((n_pool // 4, n_players)) < 0.5
    leverage = draw(Design(), n_players, 2 * (n_pool - n_pool // 2 - n_pool // 4) + 2, rng).half
    pool = np.concatenate([middle, uniform, leverage])
    sizes = np.count_nonzero(pool, axis=1)
    pool = pool[(sizes > 0) & (sizes < n_players)]
    return pool[first_occurrences(canonical(pool))]


def greedy(
    pool: BoolMatrix, seen: BoolMatrix, n_picks: int, parameters: Parameters, dtype: type = np.float32
) -> IntArray:
    """Rows of `pool` that tell most about the Shapley values, in the order of their gain.

    `seen` (n, d) are pairs already observed, given by one half; the grand coalition counts as seen.
    """
    n_players = pool.shape[1]
    rows = signs(pool)
    known = np.concatenate([np.ones((1, n_players)), signs(seen)])
    n_picks = min(n_picks, len(pool))
    parameters_total = float(parameters.linear + parameters.smooth.sum() + parameters.nugget)
    factor = np.empty((len(pool), len(known) + n_picks), dtype=dtype)
    sections = smooth_sections(rows, parameters) + parameters.nugget * delta_sections(rows)
    variance = np.full(len(pool), parameters_total)
    if len(known):
        matrix = odd_kernel(known, known, parameters)
        diagonal = np.einsum("ii->i", matrix)
        diagonal[1:] += parameters.nugget
        diagonal += 1e-10 * parameters_total
        lower = np.linalg.cholesky(matrix)
        from scipy.linalg import solve_triangular

        cross = solve_triangular(lower, odd_kernel(known, rows, parameters), lower=True)
        seen_sections = smooth_sections(known, parameters)
        seen_sections[1:] += parameters.nugget * delta_sections(known[1:])
        sections -= cross.T @ solve_triangular(lower, seen_sections, lower=True)
        variance -= np.einsum("jc,jc->c", cross, cross)
        factor[:, : len(known)] = cross.T
    sections, variance = sections.astype(dtype), variance.astype(dtype)
    weights = (rows * parameters.relevances).astype(dtype)
    rows = rows.astype(dtype)
    gain = np.einsum("ci,ci->c", sections, sections)
    floor = dtype(1e-6 * parameters_total)
    picks = np.empty(n_picks, dtype=np.intp)
    for step in range(n_picks):
        pick = int(np.argmax(gain / np.maximum(variance, floor)))
        picks[step] = pick
        width = len(known) + step
        b = (rows @ weights[pick])[None]
        column = _kernel_of(b, parameters)[0]
        column -= factor[:, :width] @ factor[pick, :width]
        column /= np.sqrt(max(variance[pick], floor))
        column = column.astype(dtype)
        factor[:, width] = column
        section = sections[pick] / np.sqrt(max(variance[pick], floor))
        gain += column * (column * (section @ section) - 2 * (sections @ section))
        sections -= column[:, None] * section
        variance -= column**2
        gain[pick], variance[pick] = -np.inf, 1.0
    return picks


def _kernel_of(b: FloatArray, parameters: Parameters) -> FloatArray:
    from polyshap.gaussian.kernel import hyperbolic

    total = parameters.total_relevance
    kernel = b * (parameters.linear / total)
    for amplitude, scale in zip(parameters.smooth, parameters.scales, strict=True):
        kernel += amplitude * hyperbolic(scale * b, scale * total)[0]
    return kernel


@lru_cache(maxsize=64)
def canonical_half(n_players: int, n_pairs: int, total: float = 2.0) -> BoolMatrix:
    """The chosen design for (players, pairs): singles first, then greedily, the remainder by leverage."""
    rng = np.random.default_rng(_SEED)
    limit = (1 << (n_players - 1)) - 1 if n_players < 60 else None
    n_pairs = n_pairs if limit is None else min(n_pairs, limit)
    singles = np.eye(n_players, dtype=bool)[:n_pairs]
    if n_players == 2:
        singles = singles[:1]
    parameters = prior_parameters(n_players, total)
    n_greedy = min(n_pairs - len(singles), MAX_PICKS)
    half = singles
    if n_greedy > 0:
        pool = candidate_pool(n_players, min(4 * n_pairs + 50, _MAX_POOL), rng)
        pool = pool[~np.isin(row_keys(canonical(pool)), row_keys(canonical(singles)))]
        half = np.concatenate([half, pool[greedy(pool, singles, n_greedy, parameters)]])
    missing = n_pairs - len(half)
    budget = 2 * n_pairs + 2
    while missing > 0:
        extra = draw(Design(), n_players, budget, rng).half
        extra = extra[~np.isin(row_keys(canonical(extra)), row_keys(canonical(half)))]
        extra = extra[rng.permutation(len(extra))[:missing]]
        half = np.concatenate([half, extra])
        missing = n_pairs - len(half)
        budget = min(budget * 2, 1 << n_players) if n_players < 60 else budget
    half.flags.writeable = False
    return half


def chosen_half(n_players: int, n_pairs: int, rng: np.random.Generator, total: float = 2.0) -> BoolMatrix:
    """The chosen design with its players relabelled at random: all of them are alike to it."""
    return canonical_half(n_players, n_pairs, total)[:, rng.permutation(n_players)]
