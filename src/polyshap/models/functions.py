"""Any model as one function: rows -> (n, n_outputs) float64.

`as_model` looks at the library a model comes from (by the module of its classes, so nothing is imported) and
at its methods. It never changes the model and never keeps its rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from polyshap._types import FloatArray
from polyshap.errors import ArgumentError, ArgumentTypeError, GameShapeError
from polyshap.models.networks import TORCH_ROWS, onnx_function, torch_function

__all__ = ["METHODS", "Method", "Model", "as_model", "numbers"]

Method = Literal["auto", "predict", "predict_proba", "decision_function"]
METHODS: tuple[Method, ...] = ("auto", "predict", "predict_proba", "decision_function")
RawFunction = Callable[[Any], Any]


@dataclass(frozen=True, eq=False)
class Model:
    """A model behind one function.

    Attributes
    ----------
    function : callable
        Rows as the model takes them -> whatever it returns.
    name : str
        For tables and reports, for example "RandomForestClassifier.predict_proba".
    output_names : tuple of str, optional
        Names of the outputs where the model knows them (classes).
    feature_names : tuple of str, optional
        Columns the model was fitted on, in its order.
    rows_per_call : int, optional
        Most rows to hand over at a time, where the model needs much memory for each.
    output_names_given : bool
        Whether the names are the user's, so that a wrong number of them is a mistake.
    spell : callable
        How the model writes the name of a column: LightGBM puts underscores for spaces.
    """

    function: RawFunction
    name: str
    output_names: tuple[str, ...] | None = None
    feature_names: tuple[str, ...] | None = None
    rows_per_call: int | None = None
    output_names_given: bool = False
    spell: Callable[[str], str] = str

    def predict(self, rows: Any) -> FloatArray:
        """Predictions (n, n_outputs) of n rows."""
        return numbers(self.function(rows), len(rows))


def numbers(answer: Any, n_rows: int) -> FloatArray:
    """A model's answer as float64 (n_rows, n_outputs); text and wrong shapes are refused."""
    for method in ("detach", "cpu", "toarray", "to_numpy"):  # torch twice, sparse matrices, frames
        if not isinstance(answer, np.ndarray) and hasattr(answer, method):
            answer = getattr(answer, method)()
    if isinstance(answer, np.ma.MaskedArray):
        answer = np.ma.filled(answer.astype(float), np.nan)
    try:
        array = np.asarray(answer)
        if answer is None or array.dtype.kind in "cMSU":
            raise ValueError("not numbers")
        values = array.astype(float)
    except (TypeError, ValueError) as error:
        shown = str(answer).replace("\n", " ")[:60]
        raise GameShapeError(
            f"`model` must return numbers. Got {shown}. "
            "Explain a probability or a score: method='predict_proba' or 'decision_function'."
        ) from error
    if values.ndim == 0 and n_rows == 1:
        values = values.reshape(1)
    if values.ndim not in (1, 2) or len(values) != n_rows or values.size == 0:
        raise GameShapeError(
            f"`model` must return shape ({n_rows},) or ({n_rows}, n_outputs) for {n_rows} rows. "
            f"Got shape {values.shape}."
        )
    return values.reshape(n_rows, -1)


def as_model(model: Any, method: Method = "auto", output_names: Sequence[str] | None = None) -> Model:
    """Wrap a callable, a fitted estimator or pipeline, a booster, a torch module or an ONNX session.

    Parameters
    ----------
    model : object
    method : {"auto", "predict", "predict_proba", "decision_function"}
        "auto" takes `predict_proba` of a classifier, its `decision_function` where it has no
        probabilities, and `predict` otherwise.
    output_names : sequence of str, optional

    Examples
    --------
    >>> as_model(lambda rows: rows.sum(axis=1)).predict(np.ones((2, 3))).tolist()
    [[3.0], [3.0]]
    """
    if method not in METHODS:
        raise ArgumentError(f"`method` must be one of {', '.join(METHODS)}. Got {method!r}.")
    if isinstance(model, type) and any(hasattr(model, name) for name in METHODS[1:]):
        raise ArgumentTypeError(
            f"`model` must be a fitted model. Got the class {model.__name__}: make and fit one."
        )
    build = next((build for fits, build in _ADAPTERS if fits(model)), None)
    if build is None:
        raise ArgumentTypeError(
            "`model` must be a function on rows, or have predict or predict_proba. "
            f"Got {type(model).__name__}."
        )
    if method not in ("auto", "predict") and build not in _WITH_METHODS:
        raise ArgumentError(
            f"`method` must be left out for a model that is asked in one way only, {type(model).__name__}. "
            f"Got {method!r}."
        )
    wrapped = build(model, method)
    if output_names is None:
        return wrapped
    given = [output_names] if isinstance(output_names, str) else output_names
    return replace(wrapped, output_names=tuple(map(str, given)), output_names_given=True)


def _is(library: str, *classes: str) -> Callable[[Any], bool]:
    """Whether an object's class, or one it derives from, is of that name and library."""

    def fits(model: Any) -> bool:
        return any(
            kind.__module__.partition(".")[0] == library and (not classes or kind.__name__ in classes)
            for kind in type(model).__mro__
        )

    return fits


def _has_methods(model: Any) -> bool:
    return not isinstance(model, type) and any(hasattr(model, name) for name in METHODS[1:])


def _estimator(model: Any, method: Method) -> Model:
    """Anything with scikit-learn's methods: its own estimators, pipelines, and the boosters' wrappers."""
    chosen = method if method != "auto" else _best_method(model)
    if not hasattr(model, chosen):
        offered = [name for name in METHODS[1:] if hasattr(model, name)]
        raise ArgumentError(
            f"`method` must be a method of the model. {type(model).__name__} has {', '.join(offered)}. "
            f"Got {chosen!r}."
        )
    predict = getattr(model, chosen)
    classes = getattr(model, "classes_", None) if chosen != "predict" else None
    function, names = _flatten_outputs(predict, classes)
    seen = getattr(model, "feature_names_in_", None) if _is("sklearn")(model) else None
    return Model(
        function,
        f"{type(model).__name__}.{chosen}",
        names,
        None if seen is None else tuple(map(str, seen)),
        spell=_underscored if _is("lightgbm")(model) else str,
    )


def _bound_method(model: Any, method: Method) -> Model:
    """`model.predict_proba` given in place of the model: the same with its names."""
    return _estimator(model.__self__, model.__name__)


def _is_bound_method(model: Any) -> bool:
    owner = getattr(model, "__self__", None)
    return getattr(model, "__name__", "") in METHODS[1:] and _is("sklearn")(owner)


def _best_method(model: Any) -> Method:
    if hasattr(model, "predict_proba"):
        return "predict_proba"
    is_classifier = getattr(model, "_estimator_type", None) == "classifier" or hasattr(model, "classes_")
    return "decision_function" if is_classifier and hasattr(model, "decision_function") else "predict"


def _flatten_outputs(predict: RawFunction, classes: Any) -> tuple[RawFunction, tuple[str, ...] | None]:
    """Names of the classes; a list with one matrix a target becomes one wide matrix."""
    if classes is None:
        return predict, None
    if isinstance(classes, list):
        names = tuple(f"{target}={value}" for target, own in enumerate(classes) for value in own)
        return lambda rows: np.concatenate(predict(rows), axis=1), names
    return predict, tuple(map(str, classes))


def _xgboost_booster(model: Any, method: Method) -> Model:
    def predict(rows: Any) -> Any:
        if isinstance(rows, np.ndarray) and not model.feature_names:
            return model.inplace_predict(rows)
        import xgboost

        names = model.feature_names if isinstance(rows, np.ndarray) else None
        return model.predict(xgboost.DMatrix(rows, enable_categorical=True, feature_names=names))

    names = tuple(model.feature_names) if model.feature_names else None
    return Model(predict, "xgboost.Booster", None, names)


def _lightgbm_booster(model: Any, method: Method) -> Model:
    def predict(rows: Any) -> Any:
        # polars frames: LightGBM reads their columns as arrow
        return model.predict(rows.to_arrow() if hasattr(rows, "to_arrow") else rows)

    # it goes by the order of columns, so a frame's names are checked against its own
    names = tuple(model.feature_name())
    unnamed = all(re.fullmatch(r"Column_\d+", name) for name in names)
    return Model(predict, "lightgbm.Booster", None, None if unnamed else names, spell=_underscored)


def _underscored(name: str) -> str:
    return name.replace(" ", "_")


def _catboost_model(model: Any, method: Method) -> Model:
    """CatBoost reads numpy and pandas; a plain CatBoost object is scored raw."""
    wrapped = _estimator(model, method)
    predict = wrapped.function

    def converted(rows: Any) -> Any:
        return predict(rows.to_pandas() if hasattr(rows, "to_pandas") else rows)

    return Model(converted, wrapped.name, wrapped.output_names, tuple(model.feature_names_ or ()) or None)


def _torch_module(model: Any, method: Method) -> Model:
    return Model(torch_function(model), f"torch {type(model).__name__}", rows_per_call=TORCH_ROWS)


def _onnx_session(model: Any, method: Method) -> Model:
    return Model(onnx_function(model), "ONNX session")


# the first row that fits is taken; every library's own class comes before the duck types
_ADAPTERS: tuple[tuple[Callable[[Any], bool], Callable[[Any, Method], Model]], ...] = (
    (lambda model: isinstance(model, Model), lambda model, method: model),
    (_is("xgboost", "Booster"), _xgboost_booster),
    (_is("lightgbm", "Booster"), _lightgbm_booster),
    (_is("catboost", "CatBoost"), _catboost_model),
    (_is("torch", "Module"), _torch_module),
    (_is("onnxruntime", "InferenceSession"), _onnx_session),
    (_has_methods, _estimator),
    (_is_bound_method, _bound_method),
    (callable, lambda model, method: Model(model, getattr(model, "__name__", type(model).__name__))),
)
_WITH_METHODS = (_estimator, _catboost_model)
