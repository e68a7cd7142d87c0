"""A model and its background, checked once and ready for any rows: the first half of `explain`."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyshap._types import BoolMatrix, Estimator, FloatArray, IntArray
from polyshap.errors import ArgumentError, ArgumentTypeError
from polyshap.execution.batching import Batching, ask, coalition_values
from polyshap.games.fillings import Bound, Filling
from polyshap.games.imputers import Imputer, as_imputer
from polyshap.games.masking import MaskingGame
from polyshap.games.path_dependent import PathDependent, PathDependentGames
from polyshap.models.functions import Method, Model, as_model
from polyshap.tables.arrays import ArrayTable, Table
from polyshap.tables.frames import FrameTable, read
from polyshap.tables.players import Groups, Players, as_players

__all__ = ["MaskedGames", "Outputs", "Prepared", "Task", "prepare"]

_IMPUTER_STREAM = 2

FirstAnswers = tuple[int, FloatArray | None]


@dataclass(frozen=True, eq=False)
class Outputs:
    """Some outputs of a model: rows -> (n, len(chosen)), always of one width."""

    model: Model
    width: int
    chosen: tuple[int, ...]

    def __call__(self, rows: Any) -> FloatArray:
        values = ask(self.model.predict, rows, self.width)
        return values if self.chosen == tuple(range(self.width)) else values[:, self.chosen]


@dataclass(frozen=True, eq=False)
class Prepared:
    """Everything that the rows to explain do not change."""

    model: Model
    background: Table
    players: Players
    filling: Filling | PathDependent
    estimator: str | Estimator
    outputs: int | str | Sequence[int | str] | None
    batching: Batching
    seed: int

    def align(self, X: Any) -> Table:
        """Rows with the columns, order and dtypes of the background."""
        return self.background.aligned(read(X, "X", self._given_names(X)), "X")

    def _given_names(self, X: Any) -> tuple[str, ...] | None:
        width = getattr(X, "shape", (0, 0))[-1]
        return self.background.names if width == len(self.background.names) else None

    def bind(self, table: Table, first: FirstAnswers | None = None) -> Task:
        """Look at the rows; the model is asked for what `first_answers` gives unless that is given."""
        if isinstance(self.filling, PathDependent):
            return self._bind_trees(table, self.filling)
        width, empty = first or self.first_answers(table)
        chosen, names, squeezed = self._outputs(width)
        predict, bound = Outputs(self.model, width, chosen), self.filling.bind(table)
        games = MaskedGames(predict, bound, self.players, self.batching, self.model.rows_per_call)
        return Task(table, self.players, games, self.players.active(bound.differs), empty, names, squeezed)

    def first_answers(self, table: Table) -> FirstAnswers:
        """Outputs of the model, asked for one row, and the value of nobody where all rows have the same."""
        width = ask(self.model.predict, table.take([0]).native).shape[1]
        assert not isinstance(self.filling, PathDependent)
        if not self.filling.shares_empty:
            return width, None
        predict = Outputs(self.model, width, self._outputs(width)[0])
        nobody, rows = np.zeros((1, len(table.names)), dtype=bool), self.filling.bind(table).synthetic(0)
        return width, coalition_values(predict, rows, nobody, self.batching, self.model.rows_per_call)[0]

    def _bind_trees(self, table: Table, filling: PathDependent) -> Task:
        chosen, names, squeezed = self._outputs(filling.ensemble.n_outputs)
        matrix = filling.matrix(table)
        games = PathDependentGames(filling.ensemble.select(chosen), matrix, self.players)
        active = self.players.active(filling.differs(len(table)))
        empty = filling.empty(matrix, chosen)
        return Task(table, self.players, games, active, empty, names, squeezed)

    def _outputs(self, width: int) -> tuple[tuple[int, ...], tuple[str, ...] | None, bool]:
        """Which columns of the predictions, their names, and whether the axis goes."""
        names = self.model.output_names
        if names is not None and len(names) != width:
            if self.model.output_names_given:
                raise ArgumentError(
                    f"`output_names` must hold one name for each of the {width} outputs. Got {len(names)}."
                )
            names = None  # a binary classifier's decision_function has one column for two classes
        labels = names or tuple(f"output {j}" for j in range(width))
        if self.outputs is None:
            return tuple(range(width)), labels if width > 1 else names, width == 1
        single = isinstance(self.outputs, str | int | np.integer)
        if not single and not isinstance(self.outputs, Sequence | np.ndarray):
            raise ArgumentTypeError(
                f"`outputs` must be a name, a number or a list of them. Got {type(self.outputs).__name__}."
            )
        wanted = [self.outputs] if single else list(self.outputs)  # type: ignore[arg-type]
        chosen = []
        for one in wanted:
            if isinstance(one, str) and one in labels:
                chosen.append(labels.index(one))
            elif isinstance(one, int | np.integer) and not isinstance(one, bool) and -width <= one < width:
                chosen.append(int(one) % width)
            else:
                raise ArgumentError(
                    f"`outputs` must name outputs of the model, {', '.join(labels)}, or number them "
                    f"0..{width - 1}. Got {one!r}."
                )
        if not chosen:
            raise ArgumentError("`outputs` must choose at least one output. Got none.")
        return tuple(chosen), tuple(labels[j] for j in chosen), single


@dataclass(frozen=True, eq=False)
class MaskedGames:
    """Rows with their fills: one masking game a row."""

    predict: Outputs
    bound: Bound
    players: Players
    batching: Batching
    rows_per_call: int | None

    @property
    def n_fills(self) -> int:
        return self.bound.synthetic(0).n_fills

    def __call__(self, index: int, members: IntArray) -> MaskingGame:
        rows = self.bound.synthetic(index)
        return MaskingGame(self.predict, rows, self.players, members, self.batching, self.rows_per_call)


@dataclass(frozen=True, eq=False)
class Task:
    """Rows bound to a prepared model.

    Attributes
    ----------
    table : Table
    players : Players
    games : callable
        Row number and players -> their game, with outputs as columns.
    active : ndarray of bool, shape (n_rows, n_players)
    empty : ndarray, shape (n_outputs,), optional
        Value of the empty coalition where all rows have the same.
    output_names : tuple of str, optional
    squeezed : bool
        Whether one output goes without an axis.
    """

    table: Table
    players: Players
    games: MaskedGames | PathDependentGames
    active: BoolMatrix
    empty: FloatArray | None
    output_names: tuple[str, ...] | None
    squeezed: bool

    @property
    def n_outputs(self) -> int:
        if isinstance(self.games, MaskedGames):
            return len(self.games.predict.chosen)
        return self.games.ensemble.n_outputs

    def digests(self) -> tuple[int, ...]:
        """A number for the content of each row, equal in every process."""
        columns = self.table.columns()
        texts = (repr([_plain(column[i]) for column in columns]) for i in range(len(self.table)))
        return tuple(int.from_bytes(hashlib.blake2b(t.encode(), digest_size=8).digest()) for t in texts)

    def display(self) -> NDArray[Any]:
        """What the players hold, (n_rows, n_players): values of columns, text for groups."""
        columns, players = self.table.columns(), self.players
        if players.are_columns:
            kinds = {column.dtype.kind for column in columns}
            if isinstance(self.table, ArrayTable):
                return self.table.native.copy()
            dtype = np.result_type(*columns) if kinds <= set("iuf") else np.dtype(object)
            return np.stack([column.astype(dtype) for column in columns], axis=1)
        out = np.empty((len(self.table), len(players)), dtype=object)
        for player in range(len(players)):
            members = players.columns(player)
            for i in range(len(self.table)):
                out[i, player] = (
                    _plain(columns[members[0]][i])
                    if len(members) == 1
                    else ", ".join(f"{self.table.names[j]}={_plain(columns[j][i])}" for j in members)
                )
        return out


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def prepare(
    model: Any,
    background: Any,
    *,
    estimator: str | Estimator,
    groups: Groups,
    outputs: int | str | Sequence[int | str] | None,
    imputer: str | Imputer | Any,
    random_state: int | np.random.Generator | None,
    batch_size: int | None,
    method: Method,
    weights: Sequence[float] | FloatArray | None,
    max_memory: int,
    feature_names: Sequence[str] | None,
    output_names: Sequence[str] | None,
) -> Prepared:
    """Check and prepare all that does not depend on the rows to explain; the model is not asked."""
    wrapped = as_model(model, method, output_names)
    if background is None:
        raise ArgumentError(
            "`background` must be rows to fill absent features from. Got None. Give some training rows."
        )
    table = read(background, "background", feature_names)
    if feature_names is not None and table.names != tuple(map(str, feature_names)):
        raise ArgumentError(
            "`feature_names` must be left out for a DataFrame, whose columns have names. "
            f"Got {', '.join(map(str, feature_names))}."
        )
    _check_names(wrapped, table)
    seed = _seed(random_state)
    filling: Filling | PathDependent
    if imputer == "path-dependent":
        filling = PathDependent.of(model)
    else:
        rng = np.random.default_rng([seed, _IMPUTER_STREAM])
        filling = as_imputer(imputer, weights).prepare(table, rng)
    return Prepared(
        model=wrapped,
        background=table,
        players=as_players(groups, table),
        filling=filling,
        estimator=estimator,
        outputs=outputs,
        batching=Batching(batch_size, max_memory),
        seed=seed,
    )


def _check_names(model: Model, table: Table) -> None:
    """Columns against the names the model was fitted on."""
    if model.feature_names is None or not isinstance(table, FrameTable):
        return
    names = tuple(map(model.spell, table.names))
    missing = [name for name in model.feature_names if name not in names]
    extra = [name for name in names if name not in model.feature_names]
    if missing or extra:
        raise ArgumentError(
            f"`background` must have the columns that the model was fitted on. Missing: {missing or 'none'}. "
            f"Not known to the model: {extra or 'none'}."
        )
    if model.feature_names != names:
        raise ArgumentError(
            "`background` must have its columns in the order that the model was fitted on: "
            f"{', '.join(model.feature_names)}. Use background[list(names)]."
        )


def _seed(random_state: int | np.random.Generator | None) -> int:
    """One integer that stands for the randomness of a run, so that it can be shown and used again."""
    if isinstance(random_state, bool) or not isinstance(
        random_state, int | np.integer | np.random.Generator | None
    ):
        raise ArgumentError(f"`random_state` must be an integer of 0 or more. Got {random_state!r}.")
    if random_state is None:
        random_state = np.random.default_rng()
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(1 << 31))
    if random_state < 0:
        raise ArgumentError(f"`random_state` must be an integer of 0 or more. Got {random_state}.")
    return int(random_state)
