"""What `explain` does about retries, requests in flight and the cache before any row is looked at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from polyshap._types import FloatArray, IntArray
from polyshap.errors import ArgumentError
from polyshap.execution.asynchronous import Concurrent, is_async
from polyshap.execution.batching import Batching
from polyshap.execution.fingerprints import content_digest, fingerprint
from polyshap.execution.options import Execution
from polyshap.execution.retries import Patient
from polyshap.execution.store import ValueStore
from polyshap.models.functions import numbers
from polyshap.rows.jobs import CachedGames
from polyshap.rows.prepared import MaskedGames, Prepared, Task
from polyshap.tables.arrays import ArrayTable
from polyshap.tables.frames import FrameTable

__all__ = ["games_of", "inputs_digest", "outfitted"]

# Rows of a request of an asynchronous model, and requests in flight, unless the user says otherwise.
_REQUEST_ROWS, _CONCURRENCY = 256, 8


@dataclass(frozen=True, eq=False)
class _Numbers:
    """A model's function with its answer as (n, n_outputs)."""

    function: Callable[[Any], Any]

    def __call__(self, rows: Any) -> FloatArray:
        return numbers(self.function(rows), len(rows))


def outfitted(prepared: Prepared, options: Execution) -> Prepared:
    """The same with a model that is asked again when it raises, and by several requests when it is async."""
    function, retries = prepared.model.function, options.attempts
    if is_async(function):
        together = options.max_concurrency or _CONCURRENCY
        n_rows = prepared.batching.batch_size or _REQUEST_ROWS
        model = replace(prepared.model, function=Concurrent(function, numbers, n_rows, together, retries))
        batching = Batching(n_rows * together, prepared.batching.max_memory, prepared.batching.deduplicate)
        return replace(prepared, model=model, batching=batching)
    if options.max_concurrency is not None:
        raise ArgumentError(
            "`max_concurrency` must go with an asynchronous model (async def). Got a plain one: give "
            "executor=ThreadPoolExecutor(8)."
        )
    if retries is None:
        return prepared
    return replace(prepared, model=replace(prepared.model, function=Patient(_Numbers(function), retries)))


def games_of(
    prepared: Prepared, store: ValueStore | None
) -> Callable[[Task], Callable[[int, IntArray], Any]]:
    """Task -> its games, behind the cache where there is one; exact games of trees need none."""

    def cached(task: Task) -> Callable[[int, IntArray], Any]:
        games = task.games
        if store is None or not isinstance(games, MaskedGames):
            return games
        columns = task.table.columns()
        rows = tuple(
            content_digest([column[index : index + 1] for column in columns])
            for index in range(len(task.table))
        )
        identity = inputs_digest(prepared) + content_digest([np.array(games.predict.chosen)])
        return CachedGames(games, store, identity, rows)

    return cached


def inputs_digest(prepared: Prepared) -> bytes:
    """What values depend on beside the model, its outputs and the row: players and what fills them."""
    parts = [content_digest([prepared.players.owner])]
    for value in vars(prepared.filling).values():
        if isinstance(value, ArrayTable | FrameTable):
            parts.append(content_digest(value.columns()))
        elif isinstance(value, np.ndarray):
            parts.append(content_digest([value]))
        else:
            parts.append(fingerprint(value).encode())
    return b"".join(parts)
