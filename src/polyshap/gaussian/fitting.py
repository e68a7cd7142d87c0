"""From odd and even values to Shapley values with errors: learn, single terms out, condition, average."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from polyshap._threads import bounded_threads
from polyshap._types import FloatArray
from polyshap.gaussian.averaging import laplace_draws
from polyshap.gaussian.kernel import Parameters
from polyshap.gaussian.likelihood import Hyperprior, Learned, learn, unpack
from polyshap.gaussian.posterior import Posterior, posterior
from polyshap.gaussian.sections import delta_sections
from polyshap.gaussian.terms import single_out

__all__ = ["Fitted", "error_factor", "fit_process", "forecast_pairs", "learning_columns"]

_DRAWS = 16
# Averaging pays below about 10 calls a player; it costs d + 5 gradients, so only while those are cheap.
_AVERAGE_PAIRS_PER_PLAYER, _AVERAGE_PAIRS = 5, 160
# With fewer pairs than this many a player the relevances are held closer together.
_SCARCE_PAIRS_PER_PLAYER, _SCARCE_DEVIATION = 2.5, 0.8
# With more pairs than this many a player, a player may matter to one component and not to another: errors
# x 0.91 at 40 and x 0.81 at 150 calls a player, no gain at 10.
_AMPLE_PAIRS_PER_PLAYER, _RATIO_DEVIATION = 7.5, 0.5
# Of values of unit scale: far above rounding, far below what a prior could notice.
_DIGITS = 10
# Columns that parameters are learned from where there are more.
_COLUMNS = 8


@dataclass(frozen=True, eq=False)
class Fitted:
    """Everything that follows from one set of observations.

    Attributes
    ----------
    values, standard_errors : ndarray, shape (n_players, k)
        In units of the game.
    parameters : Parameters
        The most likely ones, for values of unit scale.
    scale : ndarray, shape (k,)
    process : Posterior
    odd, even : ndarray, shape (n + 1, k)
        Of unit scale, the grand coalition last.
    complete : bool
        Whether every coalition was observed.
    """

    values: FloatArray
    standard_errors: FloatArray
    parameters: Parameters
    scale: FloatArray
    process: Posterior
    odd: FloatArray
    even: FloatArray
    complete: bool
    n_draws: int
    n_iterations: int
    log_likelihood: float


def fit_process(
    rows: FloatArray,
    odd: FloatArray,
    even: FloatArray,
    prior: Parameters | None,
    *,
    device: str | None = None,
) -> Fitted:
    """Sign rows (n + 1, d) and values (n + 1, k), the grand coalition last, in units of the game."""
    n_half, n_players = len(rows) - 1, rows.shape[1]
    scale = _scale(odd, even)
    safe = np.where(scale > 0, scale, 1.0)
    odd, even = odd / safe, even / safe
    # searches see rounded values: a game in other units takes the very same steps
    seen, seen_even = odd.round(_DIGITS), even.round(_DIGITS)
    hyperprior = Hyperprior()
    if n_half < _SCARCE_PAIRS_PER_PLAYER * n_players:
        hyperprior = replace(hyperprior, deviation=_SCARCE_DEVIATION)
    if n_half > _AMPLE_PAIRS_PER_PLAYER * n_players and odd.shape[1] == 1:
        hyperprior = replace(hyperprior, ratio_deviation=_RATIO_DEVIATION)
    columns = learning_columns(scale)
    learned = None
    if prior is None:
        with bounded_threads(min(n_half, hyperprior.n_rows)):
            learned = learn(rows, seen[:, columns], seen_even[:, columns], hyperprior)
    parameters = learned.parameters if learned is not None else prior
    assert parameters is not None
    averaged = (
        learned is not None
        and 0 < n_half <= min(_AVERAGE_PAIRS, _AVERAGE_PAIRS_PER_PLAYER * n_players)
        and odd.shape[1] == 1
    )
    complete = n_players < 63 and n_half == (1 << (n_players - 1)) - 1
    with bounded_threads(len(rows)):
        process = posterior(rows, parameters, device=device)
        if learned is not None and odd.shape[1] == 1 and not averaged:
            process = _with_terms(process, odd, device)
        if complete:
            values = delta_sections(rows[:-1]).T @ odd[:-1] + _end_share(n_players) * odd[-1]
            errors = np.zeros_like(values)
        else:
            values, errors = _plain(process, odd, shared=prior is not None or odd.shape[1] > 1)
            errors *= error_factor(process.parameters, n_half)
        if averaged and learned is not None and not complete:
            values = _averaged(learned, rows, odd, (seen, seen_even), hyperprior)
    # the solve meets the constraint up to rounding; what is left is spread evenly
    values += (2 * odd[-1] - values.sum(axis=0)) / n_players
    return Fitted(
        values=values * scale,
        standard_errors=errors * scale,
        parameters=process.parameters,
        scale=scale,
        process=process,
        odd=odd,
        even=even,
        complete=complete,
        n_draws=_DRAWS if averaged and not complete else 1,
        n_iterations=0 if learned is None else learned.n_iterations,
        log_likelihood=float("nan") if learned is None else learned.log_likelihood,
    )


def learning_columns(scale: FloatArray) -> slice | FloatArray:
    """At most 8 columns that are not zero, evenly spread; all if all are zero."""
    known = np.flatnonzero(scale > 0)
    if not len(known):
        return slice(0, 1)
    return np.asarray(
        known[np.unique(np.linspace(0, len(known) - 1, min(len(known), _COLUMNS)).round().astype(int))]
    )


def forecast_pairs(fitted: Fitted, wanted: FloatArray) -> int:
    """Pairs needed for the wanted standard errors, by a power law through half of the sample and all."""
    errors = float((fitted.standard_errors.max(axis=0) / np.maximum(wanted, np.finfo(float).tiny)).max())
    rows, n_half = fitted.process.rows, len(fitted.process.rows) - 1
    if errors <= 1 or n_half < 4:
        return n_half
    subset = np.append(np.arange(n_half // 2), n_half)
    with bounded_threads(len(subset)):
        before = posterior(rows[subset], fitted.parameters).variance.max()
    now = fitted.process.variance.max()
    # variance falls at least as fast as 1 / n in the long run: the delta part alone does
    slope = max(0.5, 0.5 * np.log2(before / now)) if 0 < now < before else 0.5
    return int(np.ceil(n_half * min(errors, 1e6) ** (1 / slope)))


def _scale(odd: FloatArray, even: FloatArray) -> FloatArray:
    """Root mean square of the odd values or, where they are all zero, of the even ones about their mean."""
    centred = even - even.mean(axis=0)
    largest = np.abs(odd).max(axis=0)
    other = np.abs(centred).max(axis=0)
    source = np.where(largest > 0, odd, centred)
    unit = np.where(largest > 0, largest, other)
    safe = np.where(unit > 0, unit, 1.0)
    return np.asarray(safe * np.sqrt(((source / safe) ** 2).mean(axis=0)) * (unit > 0))


def _end_share(n_players: int) -> float:
    """Weight of u(D) in every Shapley value when all coalitions are listed: 2 (d-1)! 0! / d!."""
    return 2.0 / n_players


def _with_terms(process: Posterior, odd: FloatArray, device: str | None) -> Posterior:
    parameters = single_out(process.parameters, process.rows, process.factor, odd)
    if parameters is process.parameters:
        return process
    rows = process.rows
    del process  # one n x n matrix at a time
    return posterior(rows, parameters, device=device)


def _plain(process: Posterior, odd: FloatArray, *, shared: bool) -> tuple[FloatArray, FloatArray]:
    """Means and standard errors (d, k); with shared parameters each column has an amplitude of its own."""
    alpha = process.solve(odd)
    errors = np.repeat(np.sqrt(process.variance)[:, None], odd.shape[1], axis=1)
    if shared:
        errors *= np.sqrt(np.einsum("jk,jk->k", alpha, odd) / len(odd))
    return process.values(alpha), errors


def error_factor(parameters: Parameters, n_half: int) -> float:
    """What standard errors are multiplied with: the effective order, as far as pairs are still unseen.

    A Gaussian prior is sure of itself where a game has a few large terms of high order among many small ones.
    Over the public games the errors were about this many times those that the most likely parameters promise.
    """
    unseen = 1 - n_half * 2.0 ** (1 - parameters.n_players)
    return 1 + (parameters.effective_order - 1) * unseen


def _averaged(
    learned: Learned,
    rows: FloatArray,
    odd: FloatArray,
    seen: tuple[FloatArray, FloatArray],
    hyperprior: Hyperprior,
) -> FloatArray:
    """Posterior means averaged over parameters that the sample leaves possible."""
    values = np.zeros((rows.shape[1], odd.shape[1]))
    for theta in laplace_draws(learned, rows, *seen, hyperprior, _DRAWS):
        process = posterior(rows, unpack(theta, rows.shape[1], hyperprior.scales), variances=False)
        values += process.values(process.solve(odd)) / _DRAWS
    return values
