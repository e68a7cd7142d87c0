"""The adaptive estimator: all interactions of all orders at once, with error bars.

The Shapley values are those of a Gaussian process on the odd half of the game whose player relevances are
learned from the sample; see `polyshap.gaussian` and the page "adaptive" of the documentation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal

import numpy as np

from polyshap._threads import bounded_threads
from polyshap._types import BoolMatrix, FloatArray
from polyshap.coalitions import first_occurrences, log_shapley_kernel, signs
from polyshap.errors import ArgumentError
from polyshap.gaussian.fitting import Fitted, fit_process, forecast_pairs
from polyshap.gaussian.interactions import source_of
from polyshap.gaussian.kernel import Parameters
from polyshap.gaussian.selection import chosen_half, extend_half, n_pairs_in_all
from polyshap.results import Diagnostics, Estimate, Observations, conclude
from polyshap.sampling import Design, Sample, check_budget, check_players, draw, full_sample

__all__ = ["Adaptive", "DesignName"]

DesignName = Literal["chosen", "leverage", "sequential"]
_DESIGNS: tuple[DesignName, ...] = ("chosen", "leverage", "sequential")

# The sequential design looks at the values twice; three and four looks were no better.
_LOOKS = (0.5, 0.75, 1.0)
# With a tolerance, the sample grows by half each time: the last batch overshoots by that much at most.
_GROWTH = 1.5


@dataclass(frozen=True)
class Adaptive:
    """Every interaction of every order at once, as much of each as the sample supports.

    Parameters
    ----------
    design : {"chosen", "leverage", "sequential"}
        Which pairs to observe: those that tell most under a prior that knows no game (the same for every
        row of a model), by leverage, or those that tell most under what the first half of them taught.
    tolerance : float, optional
        Stop at this largest standard error, relative to |v(D) - v(empty)|.
    absolute : bool
        Read `tolerance` in units of the game instead.
    prior : Parameters, optional
        Parameters learned elsewhere, from other rows of the same model: nothing is learned.
    device : str, optional
        An accelerator of PyTorch, "cuda" say, for the one large factorisation; needs the package torch.
    progress : callable, optional
        With a tolerance, called after each batch with the calls made and a forecast of the calls needed.

    Examples
    --------
    >>> import polyshap
    >>> def game(coalitions):
    ...     return coalitions[:, 0] + 2.0 * coalitions[:, 1] * coalitions[:, 2]
    >>> estimate = polyshap.estimate(game, n_players=8, budget=40, estimator=Adaptive(), random_state=0)
    >>> (estimate.values.round(2) + 0.0).tolist()
    [1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    """

    design: DesignName = "sequential"
    tolerance: float | None = None
    absolute: bool = False
    prior: Parameters | None = None
    device: str | None = None
    progress: Callable[[int, int], None] | None = None

    def __post_init__(self) -> None:
        if self.design not in _DESIGNS:
            raise ArgumentError(f"`design` must be one of {', '.join(_DESIGNS)}. Got {self.design!r}.")
        if self.tolerance is not None and not self.tolerance > 0:
            raise ArgumentError(f"`tolerance` must be positive. Got {self.tolerance}.")

    def draw(self, n_players: int, budget: int, rng: np.random.Generator) -> Sample:
        """Distinct pairs of coalitions, the first batch where there are more; an odd call is left unused."""
        n_players, budget = check_players(n_players), check_budget(budget)
        n_pairs = _pairs(n_players, budget)
        first = next((stage for stage in self._stages(n_players, n_pairs) if stage > 0), 0)
        if n_pairs and first == n_pairs_in_all(n_players):
            return full_sample(n_players)
        return _paired(self._ordered(n_players, n_pairs, rng)[:first])

    def extend(self, observations: Observations, budget: int, rng: np.random.Generator) -> Sample | None:
        """The next batch given what was observed, None when finished; `rng` as it was when `draw` got it."""
        n_players, half = observations.n_players, _checked_half(observations.sample)
        stages = [stage for stage in self._stages(n_players, _pairs(n_players, budget)) if stage > len(half)]
        if self.tolerance is not None:
            fitted = self._fitted(observations)
            wanted = self._wanted(observations)
            if self.progress is not None:
                needed = forecast_pairs(fitted, wanted)
                self.progress(observations.n_evaluations, 2 * min(needed, n_pairs_in_all(n_players)) + 2)
            if _met(fitted.standard_errors, wanted):
                return None
        if not stages:
            return None
        if self.design != "sequential":
            return _paired(self._ordered(n_players, _pairs(n_players, budget), rng)[len(half) : stages[0]])
        fitted = fitted if self.tolerance is not None else self._fitted(observations)
        # a stream of its own for each batch: the pool of the next one must differ
        stream = np.random.default_rng([int(rng.integers(1 << 62)), len(half)])
        with bounded_threads(len(half)):
            extended = extend_half(half, stages[0] - len(half), fitted.parameters, stream)
        return _paired(extended[len(half) :])

    def fit(self, observations: Observations) -> Estimate:
        """Learn the prior from the observations and condition it on them."""
        fitted = self._fitted(observations)
        diagnostics = _diagnostics(fitted)
        if self.tolerance is not None:
            met = _met(fitted.standard_errors, self._wanted(observations))
            diagnostics = replace(diagnostics, converged=met)
        return conclude(
            observations,
            fitted.values,
            diagnostics,
            standard_errors=fitted.standard_errors,
            source=source_of(fitted, observations),
        )

    def _fitted(self, observations: Observations) -> Fitted:
        half = _checked_half(observations.sample)
        rows = np.concatenate([signs(half), np.ones((1, observations.n_players))])
        total = observations.total
        odd = np.concatenate([observations.odd, total[None] / 2])
        even = np.concatenate([observations.even - total / 2, np.zeros((1, len(total)))])
        return fit_process(rows, odd, even, self.prior, device=self.device)

    def _stages(self, n_players: int, n_pairs: int) -> list[int]:
        """Pairs observed after each batch, rising to `n_pairs`."""
        stages = [n_pairs]
        if self.tolerance is not None:
            grown, stages = min(n_players, n_pairs), []
            while grown < n_pairs:
                stages.append(grown)
                grown = int(np.ceil(_GROWTH * grown))
            stages.append(n_pairs)
        elif self.design == "sequential" and n_pairs < n_pairs_in_all(n_players):
            stages = [max(round(look * n_pairs), min(n_players, n_pairs)) for look in _LOOKS]
        return stages

    def _ordered(self, n_players: int, n_pairs: int, rng: np.random.Generator) -> BoolMatrix:
        """One half of each pair of the whole design, in the order of observation."""
        if n_pairs == 0:
            return np.empty((0, n_players), dtype=bool)
        if self.design == "leverage":
            half = draw(Design(), n_players, 2 * n_pairs + 2, rng).half
            return half if self.tolerance is None else half[rng.permutation(len(half))]
        return chosen_half(n_players, n_pairs, rng)

    def _wanted(self, observations: Observations) -> FloatArray:
        """The tolerance in units of each output."""
        unit = np.ones_like(observations.total) if self.absolute else np.abs(observations.total)
        return unit * (self.tolerance or 0.0)


def _pairs(n_players: int, budget: int) -> int:
    return max(0, min((budget - 2) // 2, n_pairs_in_all(n_players)))


def _paired(half: BoolMatrix) -> Sample:
    coalitions = np.concatenate([half, ~half])
    sizes = np.count_nonzero(coalitions, axis=1)
    return Sample(coalitions, log_shapley_kernel(half.shape[1], sizes), paired=True)


def _met(standard_errors: FloatArray, wanted: FloatArray) -> bool:
    return bool((standard_errors.max(axis=0) <= wanted).all())


def _checked_half(sample: Sample) -> BoolMatrix:
    half = sample.half
    if not sample.paired or len(sample) % 2 or not np.array_equal(sample.coalitions[len(half) :], ~half):
        raise ArgumentError(
            "`observations` of the adaptive estimator must be of a paired sample: row i and row i + m/2 are "
            "complements. Got an unpaired one. Draw it with paired=True."
        )
    if len(first_occurrences(sample.coalitions)) < len(sample):
        raise ArgumentError(
            "`observations` of the adaptive estimator must hold each coalition once. Got repeats. "
            "Draw without replacement."
        )
    return half


def _diagnostics(fitted: Fitted) -> Diagnostics:
    p = fitted.parameters
    details: dict[str, float | str | FloatArray] = {
        "relevances": p.relevances,
        "scale": fitted.scale,
        "effective_order": p.effective_order,
        "nugget": p.nugget,
        "singled_out": float(len(p.terms)),
        "draws": float(fitted.n_draws),
        "iterations": float(fitted.n_iterations),
        "log_likelihood": fitted.log_likelihood,
    }
    return Diagnostics("adaptive", details=MappingProxyType(details))
