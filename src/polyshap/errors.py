"""Everything that polyshap raises on purpose.

PolyshapError
├── ArgumentError        (ValueError)    an argument breaks a rule
│   ├── BudgetError                      too few or too many model calls asked for
│   └── CacheMismatchError               a cache that holds the values of another model
├── ArgumentTypeError    (TypeError)     an argument of the wrong kind
├── GameError            (RuntimeError)  the game failed; what was paid for is on the exception
│   ├── GameRaisedError                  it raised; the original exception is chained
│   │   └── ModelRaisedError             a model did, on a row that is named
│   ├── GameShapeError                   it returned the wrong shape or kind of array
│   └── GameValueError                   it returned NaN or infinity
│       └── ModelValueError              a model did; its synthetic rows are on the exception
├── MemoryNeededError    (MemoryError)   a result that cannot fit, with the bytes it needs
├── FileFormatError      (ValueError)    a damaged or foreign file
├── MissingDataError     (FileNotFoundError) public data that is not here: what to download, and where to
├── MissingDependencyError (ImportError) an optional package, with its pip line
├── NotAvailableError    (NotImplementedError) a result that this fit cannot give
├── StorageError         (OSError)       a file that could not be written; what it held is kept
└── WorkerError          (RuntimeError)  a worker died again and again; the chunk is named

InterruptedRun           (KeyboardInterrupt) Ctrl-C; what was paid for is on the exception

PolyshapWarning          (UserWarning)
└── RankWarning                          fewer independent equations than unknowns
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from polyshap._types import BoolMatrix, FloatArray

__all__ = [
    "UNFINISHED",
    "ArgumentError",
    "ArgumentTypeError",
    "BudgetError",
    "CacheMismatchError",
    "FileFormatError",
    "GameError",
    "GameRaisedError",
    "GameShapeError",
    "GameValueError",
    "InterruptedRun",
    "MemoryNeededError",
    "MissingDataError",
    "MissingDependencyError",
    "ModelRaisedError",
    "ModelValueError",
    "NotAvailableError",
    "PolyshapError",
    "PolyshapWarning",
    "RankWarning",
    "StorageError",
    "UnfinishedRun",
    "WorkerError",
    "optional_import",
]


class PolyshapError(Exception):
    """The root of the tree."""


class ArgumentError(PolyshapError, ValueError):
    """An argument breaks a rule; the message names it, the rule, what was given and what to do."""


class BudgetError(ArgumentError):
    """Too few model calls for what was asked."""


class CacheMismatchError(ArgumentError):
    """A cache that holds the values of another model."""


class ArgumentTypeError(PolyshapError, TypeError):
    """An argument of the wrong kind."""


class UnfinishedRun:
    """What a run of many rows leaves on the exception that ended it.

    Attributes
    ----------
    row : int, optional
        The row that was being explained.
    explanation : Explanation, optional
        Of the rows that were finished before.
    finished_rows : tuple of int
        Which rows those are.
    observed : mapping
        For rows that were not finished: row -> (coalitions, values).
    results : mapping
        The finished rows as they came out: row -> result.
    """

    row: int | None = None
    explanation: Any = None
    finished_rows: tuple[int, ...] = ()
    observed: Mapping[int, tuple[BoolMatrix, FloatArray]] = MappingProxyType({})
    results: Mapping[int, Any] = MappingProxyType({})


class GameError(UnfinishedRun, PolyshapError, RuntimeError):
    """The game failed part-way; nothing that it answered before is lost.

    Attributes
    ----------
    coalitions : ndarray of bool, shape (n_seen, n_players)
        The coalitions that were evaluated before the failure.
    values : ndarray of float, shape (n_seen,) or (n_seen, n_outputs)
        Their values, in the same order.
    failed : ndarray of bool, shape (n_failed, n_players)
        The coalitions that were asked for when it failed, or those with a bad value.
    """

    def __init__(
        self,
        message: str,
        *,
        coalitions: BoolMatrix | None = None,
        values: FloatArray | None = None,
        failed: BoolMatrix | None = None,
    ) -> None:
        super().__init__(message)
        self.coalitions = coalitions
        self.values = values
        self.failed = failed


class GameRaisedError(GameError):
    """The game raised; the original exception is the `__cause__`."""


class GameShapeError(GameError, ValueError):
    """The game returned an array of the wrong shape or kind."""


class GameValueError(GameError, ValueError):
    """The game returned NaN or infinity."""


class ModelRaisedError(GameRaisedError):
    """A model raised, on a row that is known.

    Attributes
    ----------
    rows : array or DataFrame
        The synthetic row, as the model got it.
    """

    def __init__(self, message: str, *, rows: object = None) -> None:
        super().__init__(message)
        self.rows = rows


class ModelValueError(GameValueError):
    """A model returned NaN or infinity.

    Attributes
    ----------
    rows : array or DataFrame
        The synthetic rows that it failed on, as the model got them.
    """

    def __init__(self, message: str, *, rows: object = None) -> None:
        super().__init__(message)
        self.rows = rows


class MemoryNeededError(PolyshapError, MemoryError):
    """A result that cannot fit; the message names the memory it needs."""


class FileFormatError(PolyshapError, ValueError):
    """A file that is damaged, foreign or from a newer version."""


class MissingDataError(PolyshapError, FileNotFoundError):
    """Public data that is not here; the message says what to download and where to put it."""


class StorageError(PolyshapError, OSError):
    """A file that could not be written; what it held before is kept."""


class WorkerError(UnfinishedRun, PolyshapError, RuntimeError):
    """A chunk of work whose worker died, or did not answer in time, again and again."""


class InterruptedRun(UnfinishedRun, KeyboardInterrupt):
    """Ctrl-C during a run; not an `Exception`, so that loops which go on after failures stop too."""


class MissingDependencyError(PolyshapError, ImportError):
    """An optional package is not installed; the message holds the pip line."""


class NotAvailableError(PolyshapError, NotImplementedError):
    """A result that this fit cannot give; the message names an estimator that can."""


class PolyshapWarning(UserWarning):
    """The root of polyshap's warnings."""


class RankWarning(PolyshapWarning):
    """Fewer independent equations than unknowns: the minimum-norm solution was returned."""


# what can end a run of many rows and carry what was done
UNFINISHED = (GameError, WorkerError, InterruptedRun)


def optional_import(module: str, *, extra: str, purpose: str) -> ModuleType:
    """Import an optional package where it is used, or say how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise MissingDependencyError(
            f"{purpose} needs the package `{package}`, which is not installed. "
            f'Install it with `pip install "polyshap[{extra}]"`.'
        ) from error
