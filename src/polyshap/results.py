"""What comes out: observations of a game, and the estimate that follows from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Literal, Protocol

import numpy as np

from polyshap._types import FloatArray
from polyshap.errors import ArgumentError, ArgumentTypeError, NotAvailableError
from polyshap.sampling import Sample

__all__ = ["INDICES", "Diagnostics", "Estimate", "Index", "InteractionSource", "Observations", "conclude"]

Index = Literal["faith-shapley", "moebius", "shapley-taylor", "k-sii", "banzhaf"]
INDICES: tuple[Index, ...] = ("faith-shapley", "moebius", "shapley-taylor", "k-sii", "banzhaf")


class InteractionSource(Protocol):
    """A fit whose interactions can be read off: (n_outputs,) for every term of the wanted orders."""

    def interactions(self, order: int, index: Index, min_order: int) -> dict[tuple[int, ...], FloatArray]: ...


@dataclass(frozen=True, eq=False)
class Observations:
    """A sample with the values of its coalitions, and the values at both ends.

    Attributes
    ----------
    sample : Sample
    values : ndarray, shape (m,) or (m, n_outputs)
        Values of `sample.coalitions`, as the game gave them (not centred).
    empty, grand : ndarray, shape () or (n_outputs,)
    """

    sample: Sample
    values: FloatArray
    empty: FloatArray
    grand: FloatArray

    def __post_init__(self) -> None:
        for name in ("values", "empty", "grand"):
            array = np.asarray(getattr(self, name), dtype=float).view()
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        if len(self.values) != len(self.sample) or self.values.shape[1:] != self.empty.shape:
            raise ArgumentError(
                f"`values` must hold one row for each of the {len(self.sample)} coalitions, in the shape of "
                f"`empty` {self.empty.shape}. Got shape {self.values.shape}."
            )

    @property
    def n_players(self) -> int:
        return self.sample.n_players

    @property
    def n_evaluations(self) -> int:
        """Coalitions evaluated, the two ends included."""
        return len(self.sample) + 2

    @property
    def centred(self) -> FloatArray:
        """Values minus the value of the empty coalition, one column an output: (m, n_outputs)."""
        return (self.values - self.empty).reshape(len(self.values), self.total.size)

    @property
    def total(self) -> FloatArray:
        """v(D) - v(empty), what the players share: (n_outputs,)."""
        return np.atleast_1d(self.grand - self.empty)

    @property
    def odd(self) -> FloatArray:
        """u(S) = (v(S) - v(D without S)) / 2 on the half rows of a paired sample: (m/2, n_outputs)."""
        centred = self.centred
        half = len(centred) // 2
        return (centred[:half] - centred[half:]) / 2

    @property
    def even(self) -> FloatArray:
        """(v(S) + v(D without S)) / 2 - v(empty) on the half rows of a paired sample: (m/2, n_outputs)."""
        centred = self.centred
        half = len(centred) // 2
        return (centred[:half] + centred[half:]) / 2


@dataclass(frozen=True, eq=False)
class Diagnostics:
    """How the fit went. A number that does not apply is None.

    Attributes
    ----------
    estimator : str
    n_terms : int
        Size of the frontier, or of the basis.
    rank : int
        Independent equations for the terms that were solved for: all of them, or on a paired sample those of
        odd order. Fewer than unknowns mean a minimum-norm solution, which `warnings` names.
    condition : float
        Estimated condition number of the solved system.
    residual : float
        Weighted root mean square residual, relative to the observed values.
    converged : bool
        For runs with a tolerance: whether it was met.
    seconds : mapping of str to float
        Time of each stage ("draw", "evaluate", "fit").
    details : mapping of str to number, text or array
        What only this estimator knows (learned relevances, tree engine, ...).
    warnings : tuple of str
    """

    estimator: str
    n_terms: int | None = None
    rank: int | None = None
    condition: float | None = None
    residual: float | None = None
    converged: bool | None = None
    seconds: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    details: Mapping[str, float | str | FloatArray] = field(default_factory=lambda: MappingProxyType({}))
    warnings: tuple[str, ...] = ()

    def __getstate__(self) -> dict[str, object]:
        # read-only views of dictionaries cannot be pickled
        return {**vars(self), "seconds": dict(self.seconds), "details": dict(self.details)}

    def __setstate__(self, state: dict[str, object]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, MappingProxyType(value) if isinstance(value, dict) else value)


@dataclass(frozen=True, eq=False)
class Estimate:
    """Estimated Shapley values of one game.

    Attributes
    ----------
    values : ndarray, shape (n_players,) or (n_players, n_outputs)
    baseline, total : ndarray, shape () or (n_outputs,)
        Value of the empty and of the grand coalition.
    standard_errors : ndarray like `values`, or None where the estimator has none
    n_evaluations : int
        Coalitions evaluated, both ends included.
    diagnostics : Diagnostics
    """

    values: FloatArray
    baseline: FloatArray
    total: FloatArray
    standard_errors: FloatArray | None
    n_evaluations: int
    diagnostics: Diagnostics
    source: InteractionSource | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        for array in (self.values, self.standard_errors):
            if array is not None:
                array.flags.writeable = False

    @property
    def n_players(self) -> int:
        return len(self.values)

    def interactions(
        self, order: int = 2, index: Index = "faith-shapley", *, min_order: int | None = None
    ) -> dict[tuple[int, ...], FloatArray]:
        """Interactions of the fitted game, from the same model calls.

        Parameters
        ----------
        order : int
            The size of the interactions, and the order of indices that depend on it.
        index : {"faith-shapley", "moebius", "shapley-taylor", "k-sii", "banzhaf"}
        min_order : int, optional
            Also return the smaller interactions down to this size; `order` by default.

        Returns
        -------
        dict
            (i, j, ...) -> value, a float or an array (n_outputs,).
        """
        if index not in INDICES:
            raise ArgumentError(f"`index` must be one of {', '.join(INDICES)}. Got {index!r}.")
        lowest = order if min_order is None else min_order
        if not all(isinstance(size, int | np.integer) for size in (order, lowest)):
            raise ArgumentTypeError(
                f"`order` and `min_order` must be integers. Got order={order!r}, min_order={min_order!r}."
            )
        if not 1 <= lowest <= order <= self.n_players:
            raise ArgumentError(
                f"`order` must lie in 1..n_players={self.n_players} and `min_order` in 1..order. "
                f"Got order={order}, min_order={min_order}."
            )
        if self.source is None:
            raise NotAvailableError(
                f"The estimator {self.diagnostics.estimator!r} fits no interactions. "
                "Use estimator='adaptive', 'exact' or 'polyshap-K' with K >= 2."
            )
        found = self.source.interactions(order, index, lowest)
        return {term: value.reshape(self.baseline.shape) for term, value in found.items()}

    def with_diagnostics(self, **changes: object) -> Estimate:
        """A copy whose diagnostics differ in the given fields."""
        return replace(self, diagnostics=replace(self.diagnostics, **changes))  # type: ignore[arg-type]


def conclude(
    observations: Observations,
    values: FloatArray,
    diagnostics: Diagnostics,
    *,
    standard_errors: FloatArray | None = None,
    source: InteractionSource | None = None,
) -> Estimate:
    """Columns (n_players, n_outputs) -> an Estimate in the game's own shape."""
    shape = (observations.n_players, *observations.empty.shape)
    return Estimate(
        values=values.reshape(shape),
        baseline=observations.empty,
        total=observations.grand,
        standard_errors=None if standard_errors is None else standard_errors.reshape(shape),
        n_evaluations=observations.n_evaluations,
        diagnostics=diagnostics,
        source=source,
    )
