"""What `explain` returns: the Shapley values of many rows, read-only, sliced like an array.

`values` is (n_rows, n_players), or (n_rows, n_players, n_outputs) for several outputs; slicing drops the
axes that it fixes, and what is left is an `Explanation` again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyshap._types import FloatArray, IntArray
from polyshap.errors import ArgumentError, NotAvailableError
from polyshap.results import Diagnostics, Estimate, Index

__all__ = ["Explanation", "Fitted", "PlotAccessor"]

_ARRAYS = ("values", "base_values", "predictions", "standard_errors", "row_evaluations")


@dataclass(frozen=True, eq=False)
class Fitted:
    """Where the interactions of one row stand: columns of an estimate over the row's active players."""

    estimate: Estimate
    active: IntArray
    columns: IntArray | int  # a number where the axis of the outputs is dropped

    def output(self, column: int) -> Fitted:
        """One output, without an axis for it."""
        assert not isinstance(self.columns, int)
        return Fitted(self.estimate, self.active, int(self.columns[column]))

    def interactions(
        self, order: int, index: Index, min_order: int | None
    ) -> dict[tuple[int, ...], FloatArray]:
        found = self.estimate.interactions(order, index, min_order=min_order)
        return {
            tuple(int(self.active[i]) for i in term): value[self.columns] for term, value in found.items()
        }


@dataclass(frozen=True, eq=False)
class Explanation:
    """Shapley values of rows.

    Attributes
    ----------
    values : ndarray, shape (n_rows, n_players) or (n_rows, n_players, n_outputs)
        Without the first axis for a single row.
    base_values : ndarray, shape (n_rows,) or (n_rows, n_outputs)
        Value of the empty coalition, the mean prediction over the background.
    predictions : ndarray, shape of `base_values`
        `values` sum to `predictions - base_values`.
    data : ndarray, shape (n_rows, n_players)
        What was explained; a group of columns is shown as text.
    feature_names : tuple of str
        One a player.
    output_names : tuple of str, str or None
        A tuple where `values` has an axis for the outputs, otherwise the name of the one output.
    standard_errors : ndarray like `values`, or None where the estimator has none
    row_evaluations : ndarray of int, shape (n_rows,)
        Coalitions evaluated for each row.
    pilot_evaluations : int
        Coalitions evaluated on background rows to learn shared parameters.
    diagnostics : Diagnostics
    """

    values: FloatArray
    base_values: FloatArray
    predictions: FloatArray
    data: NDArray[Any]
    feature_names: tuple[str, ...]
    output_names: tuple[str, ...] | str | None
    standard_errors: FloatArray | None
    row_evaluations: IntArray
    diagnostics: Diagnostics
    pilot_evaluations: int = 0
    fitted: tuple[Fitted, ...] | None = field(default=None, repr=False)
    again: Callable[[int], Explanation] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        for name in (*_ARRAYS, "data"):
            value = getattr(self, name)
            if value is not None:
                array = np.asarray(value).view()
                array.flags.writeable = False
                object.__setattr__(self, name, array)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "again": None}  # it holds the model

    def __repr__(self) -> str:
        rows = "one row" if self.is_row or len(self) == 1 else f"{len(self)} rows"
        outputs = f", {self.values.shape[-1]} outputs" if self.has_outputs else ""
        errors = "" if self.standard_errors is None else ", with standard errors"
        values = np.array2string(self.values, precision=4, threshold=100, edgeitems=2)
        return (
            f"Explanation of {rows}, {len(self.feature_names)} features{outputs}{errors} "
            f"({self.diagnostics.estimator}, {self.n_evaluations} evaluations)\n{values}"
        )

    @property
    def has_outputs(self) -> bool:
        """Whether the last axis of `values` are the outputs."""
        return isinstance(self.output_names, tuple)

    @property
    def is_row(self) -> bool:
        """Whether this is a single row, without an axis for the rows."""
        return self.values.ndim - self.has_outputs == 1

    @property
    def shape(self) -> tuple[int, ...]:
        return self.values.shape

    @property
    def n_evaluations(self) -> int:
        """Coalitions evaluated in all, both ends and those of the pilot rows included."""
        return int(np.sum(self.row_evaluations)) + self.pilot_evaluations

    def __len__(self) -> int:
        if self.is_row:
            raise TypeError("an Explanation of a single row has no length")
        return len(self.values)

    def __iter__(self) -> Any:
        return (self[index] for index in range(len(self)))

    def __getitem__(self, key: object) -> Explanation:
        """Rows first, outputs last: x[0], x[0:5], x[mask], x[..., "class b"], x[3, "class b"]."""
        rows, output = self._split_key(key)
        result = self
        if output is not None:
            result = result._output(output)
        return result if rows is None else result._rows(rows)

    def _split_key(self, key: object) -> tuple[object, object]:
        if isinstance(key, str):
            return None, key
        if not isinstance(key, tuple):
            return (None, None) if key is Ellipsis else (key, None)
        if len(key) != 2:
            raise ArgumentError(
                f"The index must be rows, or rows and an output, as x[..., 'b']. Got {key!r}."
            )
        rows = None if key[0] is Ellipsis or _is_everything(key[0]) else key[0]
        return rows, key[1]

    def _output(self, key: object) -> Explanation:
        if not isinstance(self.output_names, tuple):
            raise ArgumentError(f"The index must be rows: there is one output. Got the output {key!r}.")
        if isinstance(key, str):
            if key not in self.output_names:
                raise ArgumentError(f"The output must be one of {self.output_names}. Got {key!r}.")
            key = self.output_names.index(key)
        if not isinstance(key, int | np.integer):
            raise ArgumentError(f"The output must be a name or a number. Got {key!r}.")
        column = int(key)
        errors = self.standard_errors
        return replace(
            self,
            values=self.values[..., column],
            base_values=self.base_values[..., column],
            predictions=self.predictions[..., column],
            standard_errors=None if errors is None else errors[..., column],
            output_names=self.output_names[column],
            again=None,
            fitted=None if self.fitted is None else tuple(one.output(column) for one in self.fitted),
        )

    def _rows(self, key: Any) -> Explanation:
        if self.is_row:
            raise ArgumentError(f"The index must be an output: this is a single row. Got {key!r}.")
        changes = {
            name: getattr(self, name)[key] for name in (*_ARRAYS, "data") if getattr(self, name) is not None
        }
        if self.fitted is not None:
            chosen = np.atleast_1d(np.arange(len(self))[key])
            changes["fitted"] = tuple(self.fitted[index] for index in chosen)
        return replace(self, pilot_evaluations=0, again=None, **changes)

    def interactions(
        self,
        row: int | None = None,
        order: int = 2,
        index: Index = "faith-shapley",
        *,
        min_order: int | None = None,
    ) -> dict[tuple[int, ...], FloatArray]:
        """Interactions of one row, from the calls already made.

        Parameters
        ----------
        row : int, optional
            Not needed for an explanation of a single row.
        order, index, min_order : see `Estimate.interactions`

        Returns
        -------
        dict
            (i, j, ...) -> value, a float or an array (n_outputs,); dummies appear in none.
        """
        one = self.row(row)
        if one.fitted is None:
            raise NotAvailableError(
                "Interactions are kept in memory only: this explanation was loaded from a file, or its "
                "estimator gives none. Explain the row again with estimator='adaptive'."
            )
        return one.fitted[0].interactions(order, index, min_order)

    def refine(self, budget: int) -> Explanation:
        """The same rows with more calls; those that were made are not made again.

        Parameters
        ----------
        budget : int
            Coalitions of each row, those of before included.

        Examples
        --------
        >>> import numpy as np, polyshap
        >>> rows, background = np.ones((1, 6)), np.zeros((1, 6))
        >>> x = polyshap.explain(lambda r: r.prod(axis=1), rows, background, budget=20, random_state=0)
        >>> x.refine(40).row_evaluations
        array([40])
        """
        if self.again is None:
            raise NotAvailableError(
                "What was observed is kept in memory, up to 256 MiB, by the explanation that explain() gave: "
                "this one was loaded, sliced or larger. Explain the rows again with cache='folder/'."
            )
        return self.again(budget)

    def row(self, row: int | None = None) -> Explanation:
        """One row; which one may be left out where there is one only."""
        if self.is_row:
            if row not in (None, 0):
                raise ArgumentError(f"`row` must be 0 or left out for a single row. Got {row}.")
            return self
        if row is None and len(self) > 1:
            raise ArgumentError(f"`row` must be one of 0..{len(self) - 1}. Got none. Choose one: row=0.")
        index = 0 if row is None else row
        if not -len(self) <= index < len(self):
            raise ArgumentError(f"`row` must be one of 0..{len(self) - 1}. Got {index}.")
        return self[int(index)]

    def to_frame(self) -> Any:
        """A long pandas DataFrame: row, feature, output, data, value, standard_error, base_value."""
        from polyshap.storage import to_frame

        return to_frame(self)

    def save(self, path: str | Path) -> None:
        """Write one npz file with a JSON part; `polyshap.load` reads it. Interactions are not kept."""
        from polyshap.storage import save

        save(self, path)

    def to_shap(self) -> Any:
        """A `shap.Explanation`, which shap's plots draw, with 95 % bounds."""
        from polyshap.interop.shap import to_shap

        return to_shap(self)

    def to_shapiq(self, row: int | None = None, *, order: int = 1, index: Index = "faith-shapley") -> Any:
        """One row as `shapiq.InteractionValues`; `order` above 1 adds interactions."""
        from polyshap.interop.shapiq import to_shapiq

        return to_shapiq(self.row(row), order=order, index=index)

    @property
    def plot(self) -> PlotAccessor:
        """`x.plot.bar()`, `x.plot.waterfall(ax=ax)`, ...: the functions of `polyshap.plots`."""
        return PlotAccessor(self)

    def report(self, path: str | Path, **options: Any) -> Path:
        """Write one self-contained HTML file; `options` are those of `polyshap.report.write_report`."""
        written: Path = import_module("polyshap.report").write_report(self, path, **options)
        return written


@dataclass(frozen=True, eq=False)
class PlotAccessor:
    """The plots of `polyshap.plots` with the explanation filled in."""

    explanation: Explanation

    def __getattr__(self, name: str) -> partial[Any]:
        plots = import_module("polyshap.plots")
        if name.startswith("_") or name not in plots.__all__:
            raise AttributeError(f"no plot {name!r}; there are {', '.join(plots.__all__)}")
        return partial(getattr(plots, name), self.explanation)

    def __dir__(self) -> list[str]:
        return list(import_module("polyshap.plots").__all__)


def _is_everything(key: object) -> bool:
    return isinstance(key, slice) and key == slice(None)
