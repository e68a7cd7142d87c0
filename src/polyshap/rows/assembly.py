"""Results of rows put together as one explanation."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType

import numpy as np

from polyshap._types import FloatArray, IntArray
from polyshap.explanation import Explanation
from polyshap.results import Diagnostics
from polyshap.rows.prepared import Prepared, Task
from polyshap.rows.rowwise import RowResult

__all__ = ["assemble"]


def assemble(
    prepared: Prepared,
    task: Task,
    results: Sequence[RowResult],
    *,
    details: dict[str, float | str | FloatArray],
    seconds: dict[str, float],
    rows: IntArray | None = None,
) -> Explanation:
    """One explanation of all results, or of those of `rows` of the task."""
    values = np.stack([one.values for one in results])
    errors = None
    if all(one.standard_errors is not None for one in results):
        errors = np.stack([one.standard_errors for one in results if one.standard_errors is not None])
    base, grand = np.stack([one.empty for one in results]), np.stack([one.grand for one in results])
    names: tuple[str, ...] | str | None = task.output_names
    if task.squeezed:
        values, base, grand = values[..., 0], base[:, 0], grand[:, 0]
        errors = None if errors is None else errors[..., 0]
        names = task.output_names[0] if task.output_names else None
    warned = tuple(dict.fromkeys(note for one in results for note in one.diagnostics.warnings))
    named = max(results, key=lambda one: one.n_evaluations).diagnostics
    kept = [one.fitted for one in results if one.fitted is not None]
    fitted = (
        tuple(one.output(0) if task.squeezed else one for one in kept) if len(kept) == len(results) else None
    )
    return Explanation(
        values=values,
        base_values=base,
        predictions=grand,
        data=task.display() if rows is None else task.display()[rows],
        feature_names=prepared.players.names,
        output_names=names,
        standard_errors=errors,
        row_evaluations=np.array([one.n_evaluations for one in results]),
        diagnostics=Diagnostics(
            named.estimator,
            n_terms=named.n_terms,
            rank=named.rank,
            condition=named.condition,
            residual=named.residual,
            converged=_all_converged(results),
            seconds=MappingProxyType(seconds),
            details=MappingProxyType(details),
            warnings=warned,
        ),
        fitted=fitted,
    )


def _all_converged(results: Sequence[RowResult]) -> bool | None:
    known = [one.converged for one in results if one.converged is not None]
    return all(known) if known else None
