"""`explain`: the Shapley values of a model's predictions, row by row."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from polyshap._types import Estimator, FloatArray
from polyshap.calls import call_text
from polyshap.errors import ArgumentError
from polyshap.execution.cache import Cache
from polyshap.execution.options import Execution
from polyshap.execution.progress import ProgressCallback
from polyshap.execution.retries import Retries
from polyshap.explanation import Explanation
from polyshap.games.imputers import Imputer
from polyshap.models.functions import Method
from polyshap.rows.effort import auto_budget
from polyshap.rows.explaining import checked_sharing, explain_prepared
from polyshap.rows.parts import PartWork, explain_parts, is_files, stored_seed
from polyshap.rows.prepared import prepare
from polyshap.tables.players import Groups

__all__ = ["auto_budget", "explain"]


def explain(
    model: Any,
    X: Any,
    background: Any = None,
    *,
    budget: int | str = "auto",
    estimator: str | Estimator = "auto",
    groups: Groups = None,
    outputs: int | str | Sequence[int | str] | None = None,
    imputer: str | Imputer | Any = "marginal",
    tolerance: float | None = None,
    random_state: int | np.random.Generator | None = None,
    batch_size: int | None = None,
    n_jobs: int | None = None,
    executor: Any = None,
    cache: str | Path | Cache | None = None,
    retries: int | Retries | None = None,
    timeout: float | None = None,
    max_concurrency: int | None = None,
    out: str | Path | None = None,
    progress: bool | ProgressCallback | None = None,
    method: Method = "auto",
    weights: Sequence[float] | FloatArray | None = None,
    shared: bool | None = None,
    independent_designs: bool = False,
    max_memory: int = 512 << 20,
    feature_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
) -> Explanation:
    """Explain predictions of a model by Shapley values.

    Row x is a game of its features: the value of a coalition is the mean prediction when the features outside
    of it are filled from `background`.

    Parameters
    ----------
    model : object
        A function on rows, a fitted scikit-learn estimator or pipeline, an XGBoost, LightGBM or CatBoost
        model, a PyTorch module or an ONNX session.
    X : array or DataFrame, shape (n_rows, n_columns)
        The rows to explain, as the model takes them.
    background : array or DataFrame, shape (n_background, n_columns)
        What absent features are filled from, of the same kind and with the same columns as `X`. Not needed
        for imputer="path-dependent".
    budget : int or "auto"
        Coalitions to evaluate for each row at most, both ends included. Each asks the model for one row per
        background row.
    estimator : str or Estimator
        See `polyshap.estimate`.
    groups : mapping, "one-hot" or None
        Columns that enter and leave together: name -> columns. "one-hot" finds indicator columns by prefix.
    outputs : int, str or a sequence of them, optional
        Which outputs to explain; a single one drops the axis.
    imputer : str, Imputer or callable
        "marginal", "baseline", "kmeans-50", "subsample-100", "gaussian", "copula", "path-dependent", or a
        function (row, present) -> synthetic rows.
    tolerance : float, optional
        Stop a row when its largest standard error is below this share of the range.
    random_state : int or numpy.random.Generator, optional
        The values of a row depend on this and the row, never on the other rows.
    batch_size : int, optional
        Synthetic rows handed to the model at a time.
    n_jobs : int, optional
        Processes of an own pool; -1 takes one a core. The values are the same bits for any number.
    executor : object, optional
        A Dask client, any `concurrent.futures.Executor`, or a function that makes one.
    cache : path or Cache, optional
        A folder or file where values are kept batch by batch; a run that was ended goes on from there.
    retries : int or Retries, optional
        Attempts beyond the first for a model that raises now and then; a row that fails alone is named.
    timeout : float, optional
        Seconds that one call of the model may take in a worker process, before that is ended and the
        call made again.
    max_concurrency : int, optional
        Requests in flight of an asynchronous model (async def), each of `batch_size` rows.
    out : path, optional
        A folder for Parquet files of 10,000 rows each, written by the workers; nothing is gathered, and
        another run goes on with the parts that are missing. A `polyshap.rows.parts.Parts` is returned.
        `X` may then be a path or pattern of Parquet files.
    progress : bool, callable or None
        None shows a bar on a terminal; a callable gets (calls done, calls in all at most), where those that
        a row could do without count as done with the row.
    method : {"auto", "predict", "predict_proba", "decision_function"}
    weights : sequence of float, optional
        Of the background rows, for the marginal imputer.
    shared : bool, optional
        Learn the estimator's parameters once, from background rows, and use them for all rows.
    independent_designs : bool
        Draw coalitions for each row anew, so that errors do not repeat when rows are averaged.
    max_memory : int
        Bytes for synthetic rows.
    feature_names, output_names : sequence of str, optional
        For arrays without names, and for models without.

    Returns
    -------
    Explanation

    Examples
    --------
    >>> import numpy as np, polyshap
    >>> weights = np.array([1.0, -2.0, 0.0])
    >>> x = polyshap.explain(lambda rows: rows @ weights, np.ones((2, 3)), np.zeros((1, 3)))
    >>> x.values.round(6).tolist()
    [[1.0, -2.0, 0.0], [1.0, -2.0, 0.0]]
    """
    given = dict(locals())
    if imputer == "path-dependent" and background is None:
        background = X  # only its columns are looked at: the trees hold the weights of their branches
    if out is None and is_files(X):
        raise ArgumentError(f"`X` must be a table unless `out` is given. Got {X!r}. Give out='folder/'.")
    if out is not None and random_state is None:
        random_state = stored_seed(out)
    prepared = prepare(
        model,
        background,
        estimator=estimator,
        groups=groups,
        outputs=outputs,
        imputer=imputer,
        random_state=random_state,
        batch_size=batch_size,
        method=method,
        weights=weights,
        max_memory=max_memory,
        feature_names=feature_names,
        output_names=output_names,
    )
    execution = Execution(n_jobs, executor, cache, retries, timeout, max_concurrency, progress)
    if out is not None:
        if cache is not None:
            raise ArgumentError("`cache` must be left out beside `out`, whose finished parts are kept.")
        share = checked_sharing(shared, independent_designs=independent_designs)
        work = PartWork(
            prepared, budget, tolerance, share, independent_designs, str(Path(out)), execution.asking
        )
        return explain_parts(work, X, execution)  # type: ignore[return-value]
    return explain_prepared(
        prepared,
        X,
        budget=budget,
        tolerance=tolerance,
        execution=execution,
        shared=shared,
        independent_designs=independent_designs,
        call=call_text(explain, given, prepared.seed),
    )
