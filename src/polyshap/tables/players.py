"""Players are not columns: which columns move together, and which cannot matter for a row."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from polyshap._types import BoolMatrix, IntArray
from polyshap.errors import ArgumentError, ArgumentTypeError
from polyshap.tables.arrays import Table

__all__ = ["Groups", "Players", "as_players", "one_hot_groups"]

Groups = Mapping[str, Sequence[str | int]] | Literal["one-hot"] | None


@dataclass(frozen=True, eq=False)
class Players:
    """Which player each column belongs to.

    Attributes
    ----------
    names : tuple of str
    owner : ndarray of int, shape (n_columns,)
    """

    names: tuple[str, ...]
    owner: IntArray

    def __len__(self) -> int:
        return len(self.names)

    def columns(self, player: int) -> IntArray:
        return np.flatnonzero(self.owner == player)

    @property
    def are_columns(self) -> bool:
        """Whether player j is column j, so that nothing needs to be spread."""
        return np.array_equal(self.owner, np.arange(len(self.names)))

    def spread(self, coalitions: BoolMatrix, active: IntArray) -> BoolMatrix:
        """Coalitions of the active players (m, n_active) -> present columns (m, n_columns).

        A player who is not active has equal values everywhere: absent is as good as present.
        """
        if len(active) == len(self.names) and self.are_columns:
            return coalitions
        everybody = np.zeros((len(coalitions), len(self.names)), dtype=bool)
        everybody[:, active] = coalitions
        return everybody[:, self.owner]

    def active(self, differs: BoolMatrix) -> BoolMatrix:
        """differs (n_rows, n_columns) -> whether any column of a player differs, (n_rows, n_players)."""
        if self.are_columns:
            return differs
        found = np.zeros((len(self.names), len(differs)), dtype=bool)
        np.logical_or.at(found, self.owner, differs.T)
        return found.T


def as_players(groups: Groups, table: Table) -> Players:
    """Players of a table: the groups, then every column that is in none, in the order of first columns.

    Examples
    --------
    >>> from polyshap.tables.frames import read
    >>> table = read(np.zeros((1, 3)), "background", ["street", "zip", "age"])
    >>> as_players({"address": ["street", "zip"]}, table).names
    ('address', 'age')
    """
    if groups is None:
        return Players(table.names, np.arange(len(table.names)))
    if isinstance(groups, str):
        if groups != "one-hot":
            raise ArgumentError(f"`groups` must be a mapping, 'one-hot' or None. Got {groups!r}.")
        groups = one_hot_groups(table)
    if not isinstance(groups, Mapping):
        raise ArgumentTypeError(
            "`groups` must be a mapping of a name to its columns, such as {'address': ['street', 'zip']}. "
            f"Got {type(groups).__name__}."
        )
    owner_name: dict[int, str] = {}
    for group, members in groups.items():
        if isinstance(members, str) or not len(members):
            raise ArgumentError(f"`groups[{group!r}]` must be a list of columns. Got {members!r}.")
        for member in members:
            column = _column(member, table.names, group)
            if column in owner_name:
                raise ArgumentError(
                    f"`groups` must not overlap. Column {table.names[column]!r} is in "
                    f"{owner_name[column]!r} and in {group!r}."
                )
            owner_name[column] = str(group)
    single = {table.names[column] for column in range(len(table.names)) if column not in owner_name}
    if clash := single & set(owner_name.values()):
        raise ArgumentError(f"`groups` must not be named like a column outside of them. Got {sorted(clash)}.")
    labels = [owner_name.get(column, name) for column, name in enumerate(table.names)]
    names = tuple(dict.fromkeys(labels))
    number = {name: index for index, name in enumerate(names)}
    return Players(names, np.array([number[label] for label in labels]))


def _column(member: str | int, names: Sequence[str], group: str) -> int:
    if isinstance(member, int | np.integer) and not isinstance(member, bool) and str(member) not in names:
        if 0 <= member < len(names):
            return int(member)
        raise ArgumentError(f"`groups[{group!r}]` must hold columns 0..{len(names) - 1}. Got {member}.")
    if str(member) in names:
        return names.index(str(member))
    near = difflib.get_close_matches(str(member), names, n=3)
    hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else f" Columns: {', '.join(names[:20])}."
    raise ArgumentError(f"`groups[{group!r}]` must name columns of the data. Got {member!r}.{hint}")


def one_hot_groups(table: Table) -> dict[str, list[str]]:
    """Indicator columns that share a prefix ("colour_red", "colour=blue") and exclude each other.

    A group needs two columns of zeros and ones or more, at most one of which is on in any row. Levels may
    hold separators themselves ("rooms_2.5"): the shortest prefix whose columns exclude each other counts.
    """
    columns, names = table.columns(), table.names
    candidates: dict[str, list[int]] = {}
    for index, name in enumerate(names):
        if _is_indicator(columns[index]):
            for prefix in _prefixes(name):
                candidates.setdefault(prefix, []).append(index)
    found: dict[str, list[int]] = {}
    for prefix in sorted(candidates, key=len):
        taken = {index for members in found.values() for index in members}
        members = [index for index in candidates[prefix] if index not in taken]
        if len(members) > 1 and np.sum([columns[j].astype(float) for j in members], axis=0).max() <= 1:
            found[prefix] = members
    in_order = sorted(found.items(), key=lambda item: item[1])
    return {prefix: [names[index] for index in members] for prefix, members in in_order}


def _prefixes(name: str) -> list[str]:
    """What stands before each separator; the step in scikit-learn's `step__column_level` is none."""
    start = name.find("__") + 2 if "__" in name else 1
    return [name[: m.start()] for m in re.finditer(r"[=_\[.]", name) if start < m.start() < len(name) - 1]


def _is_indicator(values: NDArray[np.generic]) -> bool:
    return values.dtype.kind in "biuf" and bool(np.isin(values, (0, 1)).all())
