"""To shapiq and back: our explanations as its interaction values, our estimators inside its explainers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from polyshap._types import Estimator, FloatArray
from polyshap.errors import ArgumentError, optional_import
from polyshap.estimation import estimate
from polyshap.explanation import Explanation
from polyshap.results import Index

shapiq: Any = optional_import("shapiq", extra="shapiq", purpose="polyshap.interop.shapiq")

__all__ = ["PolyshapApproximator", "to_shapiq"]

# shapiq's name of an index -> ours; without interactions all but Banzhaf are Shapley values
_INDICES: dict[str, Index] = {
    "SV": "faith-shapley",
    "FSII": "faith-shapley",
    "STII": "shapley-taylor",
    "k-SII": "k-sii",
    "BII": "banzhaf",
    "Moebius": "moebius",
}
ShapiqIndex = Literal["SV", "FSII", "STII", "k-SII", "BII"]


def to_shapiq(explanation: Explanation, *, order: int = 1, index: Index = "faith-shapley") -> Any:
    """`shapiq.InteractionValues` of one row and one output."""
    if not explanation.is_row or explanation.has_outputs:
        raise ArgumentError(
            "`explanation` must be of one row and one output. "
            f"Got shape {explanation.shape}. Index it first: x[0, 'class b']."
        )
    players = range(len(explanation.feature_names))
    found: dict[tuple[int, ...], float]
    if order == 1 and index != "banzhaf":
        found = {(player,): float(explanation.values[player]) for player in players}
        name = "SV"
    else:
        found = {(player,): 0.0 for player in players}  # dummies stand in no interaction
        fitted = explanation.interactions(order=order, index=index, min_order=1)
        found |= {term: float(value) for term, value in fitted.items()}
        name = next(theirs for theirs, ours in _INDICES.items() if ours == index and theirs != "SV")
    return _interaction_values(
        found,
        name,
        order,
        len(players),
        baseline=float(explanation.base_values),
        budget=explanation.n_evaluations,
    )


def _interaction_values(
    found: dict[tuple[int, ...], float],
    index: str,
    order: int,
    n_players: int,
    *,
    baseline: float,
    budget: int,
    min_order: int = 0,
) -> Any:
    values = {(): baseline, **found} if min_order == 0 else found
    terms = sorted(values, key=lambda term: (len(term), term))
    return shapiq.InteractionValues(
        values=np.array([values[term] for term in terms]),
        index=index,
        max_order=order,
        n_players=n_players,
        min_order=min_order,
        interaction_lookup={term: place for place, term in enumerate(terms)},
        estimated=True,
        estimation_budget=budget,
        baseline_value=baseline,
    )


class PolyshapApproximator(shapiq.approximator.Approximator):  # type: ignore[misc]
    """An approximator for shapiq's explainers that estimates with polyshap.

    Parameters
    ----------
    n : int
        Number of players.
    max_order : int
    index : {"SV", "FSII", "STII", "k-SII", "BII"}
    estimator : str or Estimator
        Any of polyshap's; interactions need one that fits them.
    random_state : int, optional

    Examples
    --------
    >>> approximator = PolyshapApproximator(3, random_state=0)
    >>> round(approximator.approximate(8, lambda z: z[:, 0] + 2.0 * z[:, 1])[(1,)], 6)
    2.0
    """

    valid_indices: tuple[str, ...] = ("SV", "FSII", "STII", "k-SII", "BII")

    def __init__(
        self,
        n: int,
        max_order: int = 1,
        index: ShapiqIndex = "SV",
        *,
        estimator: str | Estimator = "auto",
        random_state: int | None = None,
    ) -> None:
        if index == "SV" and max_order != 1:
            raise ArgumentError(f"`max_order` must be 1 for index 'SV'. Got {max_order}.")
        super().__init__(n, max_order, index, random_state=random_state)
        self.estimator = estimator

    def approximate(self, budget: int, game: Callable[[Any], FloatArray], *args: Any, **kwargs: Any) -> Any:
        """Estimate within `budget` evaluations of `game`."""
        found = estimate(
            game, self.n, int(budget), self.estimator, random_state=self._random_state, batch_size=None
        )
        values: dict[tuple[int, ...], float]
        if self.index == "SV":
            values = {(player,): float(found.values[player]) for player in range(self.n)}
        else:
            fitted = found.interactions(self.max_order, _INDICES[self.index], min_order=1)
            values = {term: float(value) for term, value in fitted.items()}
        return _interaction_values(
            values,
            self.index,
            self.max_order,
            self.n,
            baseline=float(found.baseline),
            budget=found.n_evaluations,
        )
