"""Parameters drawn from the Laplace approximation: few calls leave them uncertain, and it shows."""

from __future__ import annotations

import numpy as np

from polyshap._types import FloatArray
from polyshap.gaussian.likelihood import Hyperprior, Learned, bounds, objective

__all__ = ["laplace_draws"]

_STEP = 1e-3  # of log parameters: forward differences of the gradient
_SEED = 1


def laplace_draws(
    learned: Learned,
    rows: FloatArray,
    odd: FloatArray,
    even: FloatArray,
    hyperprior: Hyperprior,
    n_draws: int,
) -> FloatArray:
    """Draws of theta around its optimum, (n_draws, n_parameters), in pairs of opposite sign.

    The Hessian is taken by differences of the gradient. In units of the prior's standard deviations its
    eigenvalues are at least 1, what the prior alone would give: the likelihood only ever adds certainty.
    """
    n_players = rows.shape[1]
    _, deviation = hyperprior.moments(n_players)

    def gradient(theta: FloatArray) -> FloatArray:
        return objective(theta, rows=rows, odd=odd, even=even, hyperprior=hyperprior)[1]

    centre = gradient(learned.theta)
    hessian = np.empty((len(centre), len(centre)))
    for index in range(len(centre)):
        moved = learned.theta.copy()
        moved[index] += _STEP
        hessian[index] = (gradient(moved) - centre) / _STEP
    hessian = (hessian + hessian.T) / 2 * np.outer(deviation, deviation)
    precision, axes = np.linalg.eigh(hessian)
    normal = np.random.default_rng(_SEED).normal(size=(n_draws // 2, len(centre)))
    steps = (np.concatenate([normal, -normal]) / np.sqrt(np.maximum(precision, 1.0))) @ axes.T * deviation
    lower, upper = bounds(n_players, hyperprior)
    return np.asarray(np.clip(learned.theta + steps, lower, upper))
