"""The interface of a table, and arrays behind it.

A table is read once, compared with the background once, and from then on only mixed: synthetic row u takes
its columns from the explained row where `present[u]` says so and from background row `fill[u]` elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from polyshap._types import BoolMatrix, FloatArray, IntArray
from polyshap.errors import ArgumentError, ArgumentTypeError
from polyshap.tables.columns import Words, bits, object_codes, suited

__all__ = ["ArrayTable", "Table", "filled", "mixed_kinds"]


class Table(Protocol):
    """Rows of one user, as an array or as a frame."""

    @property
    def names(self) -> tuple[str, ...]: ...
    @property
    def native(self) -> Any: ...
    @property
    def row_bytes(self) -> int: ...
    def __len__(self) -> int: ...
    def take(self, rows: Sequence[int] | IntArray) -> Table:
        """These rows, in this order."""

    def mix(self, row: Table, present: BoolMatrix, fill: IntArray) -> Any:
        """Synthetic rows (u, n_columns), as the model takes them: `row` where present, else self[fill]."""

    def block(self, row: Table, present: BoolMatrix) -> Any:
        """Every coalition with every background row, coalition by coalition."""

    def codes(self, other: Table) -> Words:
        """Numbers for `other`, equal to those of self.codes(self) in a column exactly where the values are.

        Both must have been made alike, by `aligned` and `holding`.
        """

    def holding(self, rows: Table) -> Table:
        """This background with a dtype that can hold these rows too, for which it was aligned."""

    def columns(self) -> tuple[NDArray[Any], ...]:
        """Each column as an array, for display and for statistics."""

    def with_columns(self, columns: Sequence[FloatArray]) -> Any:
        """A native table like this one with other numbers, as near as its dtypes can hold them."""

    def aligned(self, rows: Table, argument: str) -> Table:
        """`rows` as the model takes them, made like this background, or a message on what does not fit."""


@dataclass(frozen=True, eq=False)
class ArrayTable:
    """A numpy array (n_rows, n_columns) of one dtype."""

    native: NDArray[Any]
    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.native)

    @property
    def row_bytes(self) -> int:
        return int(self.native.itemsize * self.native.shape[1])

    def take(self, rows: Sequence[int] | IntArray) -> ArrayTable:
        return ArrayTable(self.native[np.asarray(rows, dtype=np.intp)], self.names)

    def mix(self, row: Table, present: BoolMatrix, fill: IntArray) -> NDArray[Any]:
        return filled(row.native, self.native.take(fill, axis=0), present)

    def block(self, row: Table, present: BoolMatrix) -> NDArray[Any]:
        return filled(row.native, self.native[None], present[:, None, :]).reshape(-1, self.native.shape[1])

    def codes(self, other: Table) -> Words:
        own, asked = self.native, other.native
        return object_codes([*own.T], [*asked.T]) if own.dtype.kind in "OUS" else bits(asked)

    def holding(self, rows: Table) -> ArrayTable:
        wanted = rows.native.dtype
        return self if wanted == self.native.dtype else ArrayTable(self.native.astype(wanted), self.names)

    def columns(self) -> tuple[NDArray[Any], ...]:
        return tuple(self.native.T)

    def with_columns(self, columns: Sequence[FloatArray]) -> NDArray[Any]:
        kind = self.native.dtype
        return np.asarray(suited(np.stack(columns, axis=1), kind.name).astype(kind))

    def aligned(self, rows: Table, argument: str) -> ArrayTable:
        """`rows` with the dtype of this background, or with one that both fit into."""
        if not isinstance(rows, ArrayTable):
            raise mixed_kinds(rows, argument)
        if len(rows.names) != len(self.names):
            raise ArgumentError(
                f"`{argument}` must have the {len(self.names)} columns of `background`. "
                f"Got {len(rows.names)} columns."
            )
        given, wanted = rows.native.dtype, self.native.dtype
        if {given.kind, wanted.kind} - set("biuf"):
            if not np.can_cast(given, wanted, "same_kind"):
                raise ArgumentTypeError(
                    f"`{argument}` must have the dtype of `background`, {wanted}. Got {given}."
                )
            common = np.result_type(given, wanted)
        else:  # single precision stays, fractions and large whole numbers are kept
            common = wanted if wanted.kind == "f" else np.result_type(given, wanted)
        return ArrayTable(rows.native.astype(common, copy=False), self.names)


def filled(row: NDArray[Any], background: NDArray[Any], present: NDArray[np.bool_]) -> NDArray[Any]:
    """`row` where present and `background` elsewhere, of one dtype; shapes broadcast.

    By the bits b ^ (mask & (x ^ b)), which takes a quarter of the time of numpy.where on 4,000 rows of 40
    numbers, and is as exact.
    """
    kind = background.dtype
    if kind.kind not in "biufMm" or kind.itemsize not in (1, 2, 4, 8):
        return np.where(present, row, background)
    words = np.dtype(f"u{kind.itemsize}")
    below = background.view(words)
    change = row.view(words) ^ below
    mask = np.negative(present.astype(words))
    made = mask & change if mask.shape != change.shape else np.bitwise_and(mask, change, out=change)
    made ^= below
    return np.asarray(made.view(kind))


def mixed_kinds(rows: Table, argument: str) -> ArgumentTypeError:
    return ArgumentTypeError(
        f"`{argument}` and `background` must be of one kind, both arrays or frames of one library. Got "
        f"{type(rows.native).__module__.partition('.')[0]} {type(rows.native).__name__} for `{argument}`."
    )
