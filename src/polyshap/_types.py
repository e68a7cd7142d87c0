"""Array aliases and the two protocols of the package: what a game is and what an estimator is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from polyshap.results import Estimate, Observations
    from polyshap.sampling import Sample

__all__ = ["BoolMatrix", "Estimator", "FloatArray", "Game", "IntArray", "StagedEstimator"]

BoolMatrix = NDArray[np.bool_]
FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]


@runtime_checkable
class Game(Protocol):
    """A cooperative game: a callable on a boolean matrix that knows its number of players.

    Rows of `coalitions` (m, n_players) are coalitions; the answer is (m,) or (m, n_outputs).
    A game must neither keep nor change its input.
    """

    n_players: int

    def __call__(self, coalitions: BoolMatrix, /) -> FloatArray: ...


@runtime_checkable
class Estimator(Protocol):
    """Which coalitions to observe, and what follows from their values; nothing is remembered between."""

    def draw(self, n_players: int, budget: int, rng: np.random.Generator) -> Sample: ...

    def fit(self, observations: Observations) -> Estimate: ...


@runtime_checkable
class StagedEstimator(Estimator, Protocol):
    """An estimator that may ask for more once it has seen some: new coalitions, or None when it is done.

    `rng` is in the state that `draw` got it in, at every call.
    """

    def extend(self, observations: Observations, budget: int, rng: np.random.Generator) -> Sample | None: ...
