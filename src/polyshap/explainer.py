"""`Explainer`: a model and its background held together, for the habit of shap."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from polyshap._types import Estimator, FloatArray
from polyshap.errors import PolyshapWarning
from polyshap.execution.progress import ProgressCallback
from polyshap.explain import explain_prepared
from polyshap.explanation import Explanation
from polyshap.games.imputers import Imputer
from polyshap.models import Method
from polyshap.players import Groups
from polyshap.prepared import Prepared, prepare

__all__ = ["Explainer"]


@dataclass(frozen=True, eq=False)
class Explainer:
    """A model with its background; calling it explains rows. The options are those of `polyshap.explain`.

    Examples
    --------
    >>> import numpy as np, polyshap
    >>> explainer = polyshap.Explainer(lambda rows: rows.sum(axis=1), np.zeros((1, 3)))
    >>> explainer(np.ones((2, 3))).values.round(6).tolist()
    [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]
    >>> explainer.expected_value
    0.0
    """

    model: Any
    background: Any
    budget: int | str = "auto"
    estimator: str | Estimator = "auto"
    groups: Groups = None
    outputs: int | str | Sequence[int | str] | None = None
    imputer: str | Imputer | Any = "marginal"
    tolerance: float | None = None
    random_state: int | np.random.Generator | None = None
    batch_size: int | None = None
    progress: bool | ProgressCallback | None = None
    method: Method = "auto"
    weights: Sequence[float] | FloatArray | None = None
    shared: bool | None = None
    independent_designs: bool = False
    max_memory: int = 512 << 20
    feature_names: Sequence[str] | None = None
    output_names: Sequence[str] | None = None

    def __post_init__(self) -> None:
        _ = self.prepared  # what is wrong shows at once

    @cached_property
    def prepared(self) -> Prepared:
        """The checked model and background."""
        return prepare(
            self.model,
            self.background,
            estimator=self.estimator,
            groups=self.groups,
            outputs=self.outputs,
            imputer=self.imputer,
            random_state=self.random_state,
            batch_size=self.batch_size,
            method=self.method,
            weights=self.weights,
            max_memory=self.max_memory,
            feature_names=self.feature_names,
            output_names=self.output_names,
        )

    def __call__(self, X: Any, *, budget: int | str | None = None) -> Explanation:
        """Explain rows; one row as a vector gives an explanation of a single row."""
        single = isinstance(X, np.ndarray) and X.ndim == 1
        found = explain_prepared(
            self.prepared,
            X[None] if single else X,
            budget=self.budget if budget is None else budget,
            tolerance=self.tolerance,
            progress=self.progress,
            shared=self.shared,
            independent_designs=self.independent_designs,
        )
        return found[0] if single else found

    def shap_values(
        self, X: Any, nsamples: int | str = "auto", l1_reg: object = None, silent: bool = True
    ) -> FloatArray:
        """The values alone, as shap's KernelExplainer returns them: (n_rows, n_players[, n_outputs]).

        `nsamples` is the budget. `l1_reg` is ignored with a warning: no feature is dropped here.
        """
        if l1_reg not in (None, False, "num_features(0)"):
            warnings.warn(
                "`l1_reg` is ignored: no feature needs to be dropped for a fit from few calls. Leave it out.",
                PolyshapWarning,
                stacklevel=2,
            )
        return self(X, budget=nsamples).values

    @cached_property
    def expected_value(self) -> float | FloatArray:
        """Value of the empty coalition: the mean prediction over the background, one for each output."""
        task = self.prepared.bind(self.prepared.background.take([0]))
        empty = task.empty
        if empty is None:  # an imputer whose fills depend on the row
            everybody = np.arange(task.active.shape[1])
            empty = task.games(0, everybody)(np.zeros((1, len(everybody)), dtype=bool))[0]
        return float(empty[0]) if task.squeezed else empty

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The options by name, as scikit-learn's estimators give them."""
        return {one.name: getattr(self, one.name) for one in fields(self)}

    def set_params(self, **params: Any) -> Explainer:
        """A new explainer with other options; this one stays as it is."""
        return type(self)(**(self.get_params() | params))
