"""`Explainer`: a model and its background held together, for the habit of shap."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from polyshap._types import Estimator, FloatArray
from polyshap.calls import options_text
from polyshap.errors import ArgumentError, PolyshapWarning
from polyshap.execution.cache import Cache
from polyshap.execution.options import Execution
from polyshap.execution.progress import ProgressCallback
from polyshap.execution.retries import Retries
from polyshap.explanation import Explanation
from polyshap.games.imputers import Imputer
from polyshap.models.functions import Method
from polyshap.rows.explaining import checked_sharing, explain_prepared
from polyshap.rows.outfit import outfitted
from polyshap.rows.parts import columns_of, native, part_columns
from polyshap.rows.planning import shared_plan
from polyshap.rows.plans import Plan
from polyshap.rows.prepared import Prepared, prepare
from polyshap.tables.players import Groups

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
    background: Any = None
    budget: int | str = "auto"
    estimator: str | Estimator = "auto"
    groups: Groups = None
    outputs: int | str | Sequence[int | str] | None = None
    imputer: str | Imputer | Any = "marginal"
    tolerance: float | None = None
    random_state: int | np.random.Generator | None = None
    batch_size: int | None = None
    n_jobs: int | None = None
    executor: Any = None
    cache: str | Path | Cache | None = None
    retries: int | Retries | None = None
    timeout: float | None = None
    max_concurrency: int | None = None
    progress: bool | ProgressCallback | None = None
    method: Method = "auto"
    weights: Sequence[float] | FloatArray | None = None
    shared: bool | None = None
    independent_designs: bool = False
    max_memory: int = 512 << 20
    feature_names: Sequence[str] | None = None
    output_names: Sequence[str] | None = None

    def __post_init__(self) -> None:
        if not self._goes_without_background:
            _ = self.prepared  # what is wrong shows at once

    @property
    def _goes_without_background(self) -> bool:
        return self.background is None and self.imputer == "path-dependent"

    @cached_property
    def prepared(self) -> Prepared:
        """The checked model and background."""
        return self._prepare(self.background)

    def _prepare(self, background: Any) -> Prepared:
        return prepare(
            self.model,
            background,
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

    @cached_property
    def _asked(self) -> Prepared:
        """With a model that is asked again when it raises, and by several requests when it is async."""
        return outfitted(self.prepared, self._execution)

    @property
    def _execution(self) -> Execution:
        return Execution(
            self.n_jobs,
            self.executor,
            self.cache,
            self.retries,
            self.timeout,
            self.max_concurrency,
            self.progress,
        )

    def __call__(self, X: Any, *, budget: int | str | None = None) -> Explanation:
        """Explain rows; one row as a vector gives an explanation of a single row."""
        single = isinstance(X, np.ndarray) and X.ndim == 1
        rows = X[None] if single else X
        prepared = self._prepare(rows) if self._goes_without_background else self.prepared
        found = explain_prepared(
            prepared,
            rows,
            budget=self.budget if budget is None else budget,
            tolerance=self.tolerance,
            execution=self._execution,
            shared=self.shared,
            independent_designs=self.independent_designs,
            call=self._written(budget, prepared.seed),
        )
        return found[0] if single else found

    def _written(self, budget: int | str | None, seed: int) -> str:
        """The call as text."""
        options = options_text(type(self), self.get_params(), seed)
        called = "(X)" if budget is None else f"(X, budget={budget!r})"
        background = "" if self.background is None else ", background"
        return f"polyshap.Explainer(model{background}{options}){called}"

    def partition(self, frame: Any, *, keep: Sequence[str] = ()) -> Any:
        """Rows in, values out: for `mapInPandas`, `map_partitions`, `map_batches` and the like.

        The values do not depend on how the rows are cut into parts. An explainer is pickled with what the
        parts share.

        Parameters
        ----------
        frame : DataFrame, array or iterator of DataFrames
            With the columns of the background; for an iterator the answer is one too.
        keep : sequence of str
            Columns to carry along, such as a key.

        Returns
        -------
        DataFrame or array
            `shap_<feature>`, `error_<feature>` (standard errors, NaN where unknown), `base_value` and
            `prediction`; with `|<output>` behind each for several outputs.

        Examples
        --------
        >>> import numpy as np, polyshap
        >>> explainer = polyshap.Explainer(lambda rows: rows.sum(axis=1), np.zeros((1, 2)), random_state=0)
        >>> explainer.partition(np.ones((1, 2))).round(6).tolist()  # 2 values, 2 errors, base, prediction
        [[1.0, 1.0, 0.0, 0.0, 0.0, 2.0]]
        """
        if isinstance(frame, Iterator):
            return (self.partition(part, keep=keep) for part in frame)
        if len(frame) == 0:
            return native({name: np.empty(0) for name in self._part_columns}, frame, keep)
        names = list(self.prepared.background.names)
        rows = frame[names] if hasattr(frame, "columns") and not hasattr(frame, "column") else frame
        if hasattr(frame, "column") and hasattr(frame, "select"):  # a pyarrow table
            rows = frame.select(names)
        found = explain_prepared(
            self.prepared,
            rows,
            budget=self.budget,
            tolerance=self.tolerance,
            execution=self._execution.asking,
            shared=self._shared_plan,
            independent_designs=self.independent_designs,
        )
        return native(columns_of(found), frame, keep)

    def spark_schema(self, keep: Mapping[str, str] = MappingProxyType({})) -> str:
        """The columns of `partition` as Spark's schema text; `keep` gives the types of those carried along.

        >>> import numpy as np, polyshap
        >>> explainer = polyshap.Explainer(lambda rows: rows[:, 0], np.zeros((1, 1)))
        >>> explainer.spark_schema({"id": "bigint"})
        '`id` bigint, `shap_x0` double, `error_x0` double, `base_value` double, `prediction` double'
        """
        kinds = dict(keep) | dict.fromkeys(self._part_columns, "double")
        return ", ".join(f"`{name.replace('`', '``')}` {kind}" for name, kind in kinds.items())

    @cached_property
    def _part_columns(self) -> tuple[str, ...]:
        task = self._asked.bind(self.prepared.background.take([0]))
        outputs = None if task.squeezed else task.output_names
        return part_columns(self.prepared.players.names, outputs)

    @cached_property
    def _shared_plan(self) -> Plan | bool:
        share = checked_sharing(self.shared, independent_designs=self.independent_designs)
        return shared_plan(self._asked, self.budget, self.tolerance, share)

    def __getstate__(self) -> dict[str, Any]:
        _ = self._shared_plan  # learned here once, not by every worker
        return {**vars(self), "executor": None, "n_jobs": None, "cache": None, "progress": False}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

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
        return np.array(self(X, budget=nsamples).values)  # the caller's own, to be changed at will

    @cached_property
    def expected_value(self) -> float | FloatArray:
        """Value of the empty coalition: the mean prediction over the background, one for each output."""
        task = self._asked.bind(self.prepared.background.take([0]))
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
        if unknown := sorted(params.keys() - self.get_params().keys()):
            raise ArgumentError(
                f"`params` must be options of an explainer, {', '.join(self.get_params())}. "
                f"Got {', '.join(unknown)}."
            )
        return type(self)(**(self.get_params() | params))
