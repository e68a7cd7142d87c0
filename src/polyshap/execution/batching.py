"""From coalitions to predictions: synthetic rows in batches that fit the memory, each different row once.

The grid of batches follows from the shapes, `batch_size` and `max_memory`, never from a clock or from
workers: models differ in their last bits between batch sizes, and equal grids keep results reproducible.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, TypeGuard

import numpy as np
from numpy.typing import NDArray

from polyshap._threads import one_blas_thread
from polyshap._types import BoolMatrix, FloatArray, IntArray
from polyshap.errors import ArgumentError, ArgumentTypeError, GameShapeError, ModelValueError
from polyshap.execution.shipping import deadline

__all__ = ["Batching", "ComparableRows", "Predict", "SyntheticRows", "ask", "coalition_values", "comparable"]

Predict = Callable[[Any], FloatArray]

# Nanoseconds a row at 2,000, 16,000, 64,000 and 262,000 rows a call (benchmarks/explain_cost.py --calibrate):
# boosting on 12 columns 597, 415, 463, 658; a network on 64 columns 606, 803, 1016, 880; a numpy function of
# 40 columns 104, 176, 286, 452. Small calls cost more than their rows, large ones leave the cache.
_FEWEST, _MOST = 1 << 14, 1 << 16
_TARGET_BYTES = 1 << 22
# Coalition-background pairs compared at a time when equal rows are looked for, and the bytes each needs:
# its key, the sorting permutation, the inverse, and a prediction.
_PAIRS = 1 << 19
_PAIR_BYTES = 48
# Looking for equal rows costs about 0.2 microseconds a row; it is left where it saves less than this share.
_WORTH = 0.9


@dataclass(frozen=True)
class Batching:
    """How much to hand to the model at a time.

    Parameters
    ----------
    batch_size : int, optional
        Synthetic rows a call; by default 16,384 to 65,536, by the bytes of a row.
    max_memory : int
        Bytes that synthetic rows may take, copies on the way included.
    deduplicate : bool, optional
        Predict equal synthetic rows once; by default where a probe shows that it pays.
    """

    batch_size: int | None = None
    max_memory: int = 512 << 20
    deduplicate: bool | None = None

    def __post_init__(self) -> None:
        for name in ("batch_size", "max_memory"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, int | np.integer):
                raise ArgumentTypeError(f"`{name}` must be a whole number. Got {value!r}.")
        if self.batch_size is not None and self.batch_size < 1:
            raise ArgumentError(f"`batch_size` must be at least 1. Got {self.batch_size}.")
        if self.max_memory < 1 << 20:
            raise ArgumentError(f"`max_memory` must be at least 1 MiB (1,048,576). Got {self.max_memory}.")

    def rows_per_call(self, row_bytes: int, cap: int | None = None) -> int:
        """Synthetic rows to build and predict at a time."""
        if self.batch_size is not None:
            wanted = self.batch_size
        else:
            wanted = min(max(_TARGET_BYTES // row_bytes, _FEWEST), _MOST)
        # the rows, their gathered parts and the model's own copy
        affordable = self.max_memory // (4 * row_bytes)
        return max(1, min(wanted, affordable, cap or wanted))

    def coalitions_per_block(self, n_fills: int) -> int:
        """Coalitions among which equal rows are looked for; those of one call where its size was given."""
        if self.batch_size is not None:
            return max(1, self.batch_size // n_fills)
        return max(1, min(_PAIRS, self.max_memory // (4 * _PAIR_BYTES)) // n_fills)


class SyntheticRows(Protocol):
    """What the model is asked for one explained row: each coalition with each way to fill it."""

    @property
    def n_fills(self) -> int: ...
    @property
    def weights(self) -> FloatArray | None:
        """Of the fills, summing to 1; None for equal ones."""

    @property
    def row_bytes(self) -> int: ...
    def block(self, coalitions: BoolMatrix, fills: slice) -> Any:
        """Rows of every coalition with these fills, coalition by coalition."""


class ComparableRows(SyntheticRows, Protocol):
    """Synthetic rows of which equal ones can be told without building them."""

    def pick(self, coalitions: BoolMatrix, which: IntArray, fill: IntArray) -> Any:
        """Row u: coalition `which[u]` with fill `fill[u]`."""

    def keys(self, coalitions: BoolMatrix) -> NDArray[np.uint64] | None:
        """(m, n_fills) words, equal where the rows are; None where no two rows can be."""


def comparable(rows: SyntheticRows) -> TypeGuard[ComparableRows]:
    """Whether equal rows can be told; asked for every row, and isinstance of a protocol takes 20 us."""
    return hasattr(rows, "keys")


def coalition_values(
    predict: Predict, rows: SyntheticRows, coalitions: BoolMatrix, batching: Batching, cap: int | None = None
) -> FloatArray:
    """Mean prediction over the fills of each coalition, (m, n_outputs)."""
    n_rows = batching.rows_per_call(rows.row_bytes, cap)
    if comparable(rows) and _should_deduplicate(rows, coalitions, batching, n_rows):
        size = batching.coalitions_per_block(rows.n_fills)
        parts = [
            _distinct_block(predict, rows, coalitions[start : start + size], n_rows)
            for start in range(0, len(coalitions), size)
        ]
    elif rows.n_fills <= n_rows:
        parts = list(_whole_coalitions(predict, rows, coalitions, n_rows))
    else:
        parts = [_one_coalition(predict, rows, coalitions[i : i + 1], n_rows) for i in range(len(coalitions))]
    return np.concatenate(parts)


def ask(predict: Predict, rows: Any, n_outputs: int | None = None) -> FloatArray:
    """Predictions (n, n_outputs), finite and of the expected width: the only call of a user's model."""
    with one_blas_thread(), deadline():
        values = predict(rows)
    if n_outputs is not None and values.shape[1] != n_outputs:
        raise GameShapeError(
            f"`model` must return the same number of outputs every time. Got {n_outputs} first and "
            f"{values.shape[1]} later."
        )
    if not np.isfinite(values).all():
        bad = np.flatnonzero(~np.isfinite(values).all(axis=1))
        raise ModelValueError(
            f"`model` must return finite numbers. Got NaN or infinity for {len(bad)} of {len(values)} "
            f"synthetic rows, first for {_shown(rows, bad[0])}. They are in `.rows` of this exception.",
            rows=_chosen_rows(rows, bad),
        )
    return values


def _chosen_rows(rows: Any, index: IntArray) -> Any:
    return rows.iloc[index] if hasattr(rows, "iloc") else rows[index]


def _shown(rows: Any, index: int) -> str:
    row = _chosen_rows(rows, np.array([index]))
    return " ".join(str(row.to_dict("records") if hasattr(row, "iloc") else row).split())[:300]


def _mean(predictions: FloatArray, n_fills: int, weights: FloatArray | None) -> FloatArray:
    """(m * n_fills, k) -> weighted means (m, k)."""
    if n_fills == 1:
        return predictions
    cube = predictions.reshape(-1, n_fills, predictions.shape[1])
    if weights is None:
        return np.asarray(cube.mean(axis=1))
    return np.asarray(weights @ cube)


def _whole_coalitions(
    predict: Predict, rows: SyntheticRows, coalitions: BoolMatrix, n_rows: int
) -> Iterator[FloatArray]:
    size = n_rows // rows.n_fills
    for start in range(0, len(coalitions), size):
        answer = ask(predict, rows.block(coalitions[start : start + size], slice(0, rows.n_fills)))
        yield _mean(answer, rows.n_fills, rows.weights)


def _one_coalition(predict: Predict, rows: SyntheticRows, one: BoolMatrix, n_rows: int) -> FloatArray:
    """A background larger than a batch: weighted sums of its parts."""
    total: FloatArray | float = 0.0
    for start in range(0, rows.n_fills, n_rows):
        part = slice(start, min(start + n_rows, rows.n_fills))
        answer = ask(predict, rows.block(one, part))
        weights = 1 / rows.n_fills if rows.weights is None else rows.weights[part, None]
        total = total + (weights * answer).sum(axis=0)
    return np.asarray(total)[None]


def _distinct_block(predict: Predict, rows: ComparableRows, block: BoolMatrix, n_rows: int) -> FloatArray:
    """Each different row is predicted once and its prediction spread over all that equal it."""
    keys = rows.keys(block)
    assert keys is not None
    _, first, inverse = np.unique(keys.ravel(), return_index=True, return_inverse=True)
    which, fill = np.divmod(first, rows.n_fills)
    answers = [
        ask(predict, rows.pick(block, which[start : start + n_rows], fill[start : start + n_rows]))
        for start in range(0, len(first), n_rows)
    ]
    return _mean(np.concatenate(answers)[inverse], rows.n_fills, rows.weights)


def _should_deduplicate(
    rows: ComparableRows, coalitions: BoolMatrix, batching: Batching, n_rows: int
) -> bool:
    """Whether equal rows are frequent enough among those of the first batch."""
    if batching.deduplicate is False or rows.n_fills * _PAIR_BYTES > batching.max_memory // 4:
        return False
    probe = rows.keys(coalitions[: max(1, n_rows // rows.n_fills)])
    if probe is None:
        return False
    return batching.deduplicate is True or len(np.unique(probe)) < _WORTH * probe.size
