"""The ten tabular games from raw public tables: encoded, split and fitted as in the paper's experiments."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyshap._types import FloatArray
from polyshap.benchmark.locate import find_file
from polyshap.errors import ArgumentError, FileFormatError, MissingDataError, optional_import
from polyshap.games.tree_models import read_trees
from polyshap.games.trees import TreeEnsemble

__all__ = ["LOADERS", "fit_forest", "load_table_data", "split"]

Table = tuple[FloatArray, FloatArray]

_SEED = 40
_CLASSIFIERS = ("Adult", "Cancer")


@dataclass(frozen=True, eq=False)
class _Columns:
    """A CSV file as columns of text."""

    names: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def text(self, name: str) -> list[str]:
        column = self.names.index(name)
        return [row[column] for row in self.rows]

    def numbers(self, *names: str) -> FloatArray:
        """Columns (n_rows, n_names): missing is NaN, true and false are 1 and 0."""
        return np.array([[_number(item) for item in self.text(name)] for name in names]).T

    def codes(self, *names: str) -> FloatArray:
        """Categories as their position in sorted order, numbers sorted as numbers; missing is NaN."""
        columns = []
        for name in names:
            text = np.array(self.text(name))
            present = ~np.isin(text, list(_MISSING))
            try:
                values: NDArray[Any] = np.array([_number(item) for item in text.tolist()])
            except ValueError:
                values = text
            column = np.full(len(text), np.nan)
            column[present] = np.unique(values[present], return_inverse=True)[1]
            columns.append(column)
        return np.array(columns).T


_MISSING = {"", "?"}
_SPECIAL = {"": np.nan, "?": np.nan, "True": 1.0, "False": 0.0}


def _number(text: str) -> float:
    return _SPECIAL[text] if text in _SPECIAL else float(text)


def _read(name: str) -> _Columns:
    path = find_file(f"tabular/{name}")
    with path.open(newline="", encoding="utf-8") as file:
        rows = [tuple(row) for row in csv.reader(file) if row]
    names, body = rows[0], tuple(rows[1:])
    if any(len(row) != len(names) for row in body):
        raise FileFormatError(f"{path} is damaged: not all of its rows have {len(names)} entries.")
    return _Columns(names, body)


def _housing() -> Table:
    data = _read("california_housing.csv")
    return data.numbers(*(name for name in data.names if name != "MedHouseVal")), _target(data, "MedHouseVal")


def _bike() -> Table:
    data = _read("bike.csv")
    numbers = data.numbers(
        *("hour", "temp", "feel_temp", "humidity", "windspeed"),
        *("year", "month", "holiday", "weekday", "workingday"),
    )
    low, middle, high = np.percentile(numbers, [25, 50, 75], axis=0)
    scale = np.where(high > low, high - low, 1.0)
    return np.hstack([(numbers - middle) / scale, data.codes("season", "weather")]), _target(data, "count")


def _forest_fires() -> Table:
    data = _read("forest_fires.csv")
    numbers = data.numbers("X", "Y", "FFMC", "DMC", "DC", "ISI", "temp", "RH", "wind", "rain")
    months = data.text("month")
    # autumn is the level left out
    seasons = {"spring": "mar apr may", "summer": "jun jul aug", "winter": "dec jan feb"}
    indicators = [[float(month in names.split()) for month in months] for names in seasons.values()]
    return np.hstack([numbers, np.array(indicators).T]), _target(data, "area")


def _adult() -> Table:
    data = _read("adult_census.csv")
    numbers = data.numbers("age", "capital-gain", "capital-loss", "hours-per-week", "fnlwgt")
    numbers = (numbers - numbers.mean(axis=0)) / numbers.std(axis=0)
    codes = data.codes(
        *("workclass", "education", "marital-status", "occupation", "relationship"),
        *("race", "sex", "native-country", "education-num"),
    )
    target = np.array([float(">50K" in item) for item in data.text("class")])
    complete = np.array([not _MISSING & set(row) for row in data.rows])  # dropped after the encoding
    return np.hstack([numbers, codes])[complete], target[complete]


def _estate() -> Table:
    data = _read("real_estate.csv")
    numbers = data.numbers(*(name for name in data.names if name[:2] in ("X2", "X3", "X4", "X5", "X6")))
    date = data.numbers("X1 transaction date")[:, 0]
    month = np.round((date - np.floor(date)) * 12)
    month = np.where((month == 0) | (month == 12), 1, month)
    levels = np.unique(month)[1:]
    return np.hstack([numbers, month[:, None] == levels]), _target(data, "Y house price of unit area")


def _cancer() -> Table:
    datasets = optional_import("sklearn.datasets", extra="demo", purpose="Loading the breast cancer table")
    X, y = datasets.load_breast_cancer(return_X_y=True)
    return X, y.astype(float)


def _synthetic(name: str) -> Table:
    try:
        path = find_file(f"tabular/{name}.npz")
    except MissingDataError:
        datasets = optional_import("shap", extra="compare", purpose=f"Making the table {name}").datasets
        frame, target = getattr(datasets, name)()
        return np.asarray(frame, dtype=float), np.asarray(target, dtype=float)
    with np.load(path, allow_pickle=False) as file:
        return file["X"].astype(float), file["y"].astype(float)


def _nhanes() -> Table:
    X, y = _read("nhanesi_X.csv"), _read("nhanesi_y.csv")
    return X.numbers(*X.names[1:]), _target(y, "y")


def _crime() -> Table:
    data = _read("CommViolPredUnnormalizedData.txt")
    target = data.numbers(data.names[-2])[:, 0]
    features = data.numbers(*data.names[5:-18])
    known = ~np.isnan(target)
    features = features[:, ~np.isnan(features).any(axis=0)]
    return features[known], target[known]


def _target(data: _Columns, name: str) -> FloatArray:
    return data.numbers(name)[:, 0]


LOADERS: Mapping[str, Callable[[], Table]] = MappingProxyType(
    {
        "Housing": _housing,
        "Bike": _bike,
        "Forest": _forest_fires,
        "Adult": _adult,
        "Estate": _estate,
        "Cancer": _cancer,
        "CG60": lambda: _synthetic("corrgroups60"),
        "IL60": lambda: _synthetic("independentlinear60"),
        "NHANES": _nhanes,
        "Crime": _crime,
    }
)


def load_table_data(name: str) -> Table:
    """Features (n_rows, n_features) and target (n_rows,) of a tabular game, encoded as in the paper."""
    if name not in LOADERS:
        raise ArgumentError(f"`name` must be one of {', '.join(LOADERS)}. Got {name!r}.")
    return LOADERS[name]()


def split(X: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Training and test rows: shuffled with seed 40, the last int(0.2 n) are for testing.

    >>> X_train, X_test, y_train, y_test = split(np.arange(10.0)[:, None], np.arange(10.0))
    >>> len(X_train), len(X_test)
    (8, 2)
    """
    order = np.arange(len(X))
    np.random.default_rng(_SEED).shuffle(order)
    train = len(X) - int(0.2 * len(X))
    return X[order[:train]], X[order[train:]], y[order[:train]], y[order[train:]]


def fit_forest(name: str) -> tuple[TreeEnsemble, FloatArray]:
    """A random forest fitted as in the paper, one output, and the test rows.

    Its numbers come near the stored forest's but depend on the version of scikit-learn.
    """
    ensemble = optional_import("sklearn.ensemble", extra="demo", purpose="Fitting the benchmark's forests")
    X_train, X_test, y_train, _ = split(*load_table_data(name))
    classify = name in _CLASSIFIERS
    kind = ensemble.RandomForestClassifier if classify else ensemble.RandomForestRegressor
    model = kind(n_estimators=10, max_depth=10, random_state=_SEED).fit(X_train, y_train)
    trees = read_trees(model)
    # the paper's games compare in double precision, and a missing value always goes right
    as_played = replace(trees, single_precision=False, missing_left=np.zeros_like(trees.missing_left))
    return (as_played.select(1) if classify else as_played), X_test
