"""PolySHAP: fit a polynomial with chosen interactions, read the Shapley values off its coefficients."""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass, field

import numpy as np

from polyshap._types import FloatArray
from polyshap.bases import Basis, even_basis, monomial_basis, odd_basis, parity_terms
from polyshap.errors import ArgumentError, RankWarning
from polyshap.frontiers import Frontier, FrontierSpec, KAdditive
from polyshap.interactions import Polynomial, moebius_from_fourier
from polyshap.regression import Fit, check_regression, least_squares
from polyshap.results import Diagnostics, Estimate, Index, Observations, conclude
from polyshap.sampling import Design, Sample, check_budget, draw
from polyshap.shapley import from_fourier, from_moebius

__all__ = ["OddRegression", "PolySHAP"]


@dataclass(frozen=True)
class PolySHAP:
    """Constrained weighted least squares on the monomials of a frontier.

    With v centred at the empty coalition, minimise over the sampled coalitions
    sum_l mu(S_l)/p(S_l) (v(S_l) - sum_T b_T [T in S_l])^2 subject to sum_T b_T = v(D); then
    phi_i = sum over T with i in T of b_T / |T| (Fumagalli, Witter, Musco, ICLR 2026). With singletons
    only it is KernelSHAP; with all terms up to order k the coefficients estimate the Faith-Shapley
    interactions of order k.

    On a paired sample with a downward closed frontier the problem separates into an odd and an even
    part, and only the odd one bears on the Shapley values: then half of the rows and of the columns
    are solved. The even part is solved when interactions are asked for.

    Parameters
    ----------
    frontier : FrontierSpec
    design : Design

    Examples
    --------
    >>> import numpy as np, polyshap
    >>> game = lambda z: z[:, 0] * 2.0 + z[:, 1] * z[:, 2]
    >>> polyshap.estimate(game, 3, 8, PolySHAP(KAdditive(2)), random_state=0).values.round(6).tolist()
    [2.0, 0.5, 0.5]
    """

    frontier: FrontierSpec = field(default_factory=lambda: KAdditive(3))
    design: Design = field(default_factory=Design)

    def draw(self, n_players: int, budget: int, rng: np.random.Generator) -> Sample:
        # what is wrong with it, or too large, is to be said before a model is called
        frontier, budget = self.frontier.build(n_players), check_budget(budget)
        if self.design.paired and frontier.is_downward_closed:
            check_regression(budget // 2, odd_basis(frontier).n_columns)
        else:
            check_regression(budget, len(frontier))
        return draw(self.design, n_players, budget, rng)

    def fit(self, observations: Observations) -> Estimate:
        frontier = self.frontier.build(observations.n_players)
        if observations.sample.paired and frontier.is_downward_closed:
            basis = odd_basis(frontier)
            fit = _fit_odd(observations, basis)
            if fit.rank == basis.n_columns:
                values = from_fourier(frontier.n_players, parity_terms(frontier, 1), fit.coefficients)
                return conclude(
                    observations,
                    values,
                    self._diagnostics(frontier, fit, basis),
                    source=_PairedSource(observations, frontier, fit) if _has_sets(frontier) else None,
                )
        basis = monomial_basis(frontier)
        fit = least_squares(
            basis,
            observations.sample.coalitions,
            observations.sample.log_weights,
            observations.centred,
            constraint=np.ones(len(frontier)),
            totals=observations.total,
        )
        values = from_moebius(frontier, fit.coefficients)
        source = Polynomial(frontier, fit.coefficients) if _has_sets(frontier) else None
        return conclude(observations, values, self._diagnostics(frontier, fit, basis), source=source)

    def _diagnostics(self, frontier: Frontier, fit: Fit, basis: Basis) -> Diagnostics:
        return diagnose(f"PolySHAP({self.frontier!r})", fit, basis.n_columns, n_terms=len(frontier))


@dataclass(frozen=True)
class OddRegression:
    """Least squares on the odd Fourier terms up to an order: equal to paired PolySHAP of that order.

    Parameters
    ----------
    order : int
    design : Design
        Paired.
    """

    order: int = 3
    design: Design = field(default_factory=Design)

    def draw(self, n_players: int, budget: int, rng: np.random.Generator) -> Sample:
        _check_paired(self.design.paired, "design")
        columns = odd_basis(KAdditive(self.order).build(n_players)).n_columns
        check_regression(check_budget(budget) // 2, columns)
        return draw(self.design, n_players, budget, rng)

    def fit(self, observations: Observations) -> Estimate:
        _check_paired(observations.sample.paired, "observations")
        frontier = KAdditive(self.order).build(observations.n_players)
        basis = odd_basis(frontier)
        fit = _fit_odd(observations, basis)
        values = from_fourier(frontier.n_players, parity_terms(frontier, 1), fit.coefficients)
        return conclude(observations, values, diagnose(f"OddRegression({self.order})", fit, basis.n_columns))


def _check_paired(paired: bool, argument: str) -> None:
    if not paired:
        raise ArgumentError(
            f"`{argument}` must be paired: the odd part needs both of a pair. "
            "Use Design(paired=True), or PolySHAP, which takes any sample."
        )


def diagnose(name: str, fit: Fit, n_columns: int, *, n_terms: int | None = None) -> Diagnostics:
    """Diagnostics of a regression; a lack of rank is warned about."""
    notes = warn_of_rank(name, fit, n_columns)
    return Diagnostics(
        estimator=name,
        n_terms=n_terms or n_columns,
        rank=fit.rank,
        condition=fit.condition,
        residual=fit.residual,
        warnings=notes,
    )


def warn_of_rank(name: str, fit: Fit, n_columns: int) -> tuple[str, ...]:
    """The note on a lack of rank, if there is one, which is warned about as well."""
    if fit.rank >= n_columns:
        return ()
    note = (
        f"{name}: {n_columns} unknowns but only {fit.rank} independent equations; the solution of "
        "minimum norm was returned. Raise `budget`, use a smaller frontier, or estimator='adaptive'."
    )
    warnings.warn(note, RankWarning, stacklevel=_outside())
    return (note,)


def _outside() -> int:
    """The level of the first caller outside this package, for the line that a warning names."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("polyshap."):
        frame, level = frame.f_back, level + 1
    return level


def _has_sets(frontier: Frontier) -> bool:
    """Whether there is more than singletons, so that interactions can be told."""
    return len(frontier) > frontier.n_players


def _fit_odd(observations: Observations, basis: Basis) -> Fit:
    """The odd part on the half rows: sum of c_T = v(D)/2 at the grand coalition."""
    sample = observations.sample
    return least_squares(
        basis,
        sample.half,
        sample.log_weights[: len(sample) // 2],
        observations.odd,
        constraint=np.ones(basis.n_columns),
        totals=observations.total / 2,
    )


@dataclass(frozen=True, eq=False)
class _PairedSource:
    """Monomial coefficients of a paired fit; the even part is solved when they are asked for."""

    observations: Observations
    frontier: Frontier
    odd: Fit

    def interactions(self, order: int, index: Index, min_order: int) -> dict[tuple[int, ...], FloatArray]:
        sample = self.observations.sample
        # the polynomial is zero at the empty coalition: its even part equals v(D)/2 at both ends
        even = least_squares(
            even_basis(self.frontier),
            sample.half,
            sample.log_weights[: len(sample) // 2],
            self.observations.even - self.observations.total / 2,
        )
        warn_of_rank("The even part, behind the interactions", even, len(even.coefficients))
        fourier = dict(zip(parity_terms(self.frontier, 1), self.odd.coefficients, strict=True))
        fourier.update(zip(parity_terms(self.frontier, 0), even.coefficients, strict=True))
        moebius = moebius_from_fourier(self.frontier, fourier, n_outputs=self.observations.total.size)
        return Polynomial(self.frontier, moebius).interactions(order, index, min_order)
