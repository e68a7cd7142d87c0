"""Values of games in one SQLite file: written batch by batch, shared by processes, never trusted blindly.

A batch is one row of the table: the packed coalitions, their values, and a checksum over both. It is
written in one transaction of a write-ahead log, so a process killed at any moment leaves whole batches.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from polyshap._types import FloatArray
from polyshap.errors import CacheMismatchError, FileFormatError, PolyshapWarning, StorageError

__all__ = ["Batch", "ValueStore"]

Packed = NDArray[np.uint8]

_APPLICATION = 0x504F4C59  # "POLY" in the header of the file: other programs' databases are left alone
_VERSION = 1
_HEADER = b"SQLite format 3\x00"
_SUFFIXES = (".sqlite", ".sqlite3", ".db")
# seconds to wait while another process writes its batch
_BUSY = 60.0
# Seconds between attempts where SQLite does not wait by itself.
_PAUSE = 0.01
_TABLES = (
    "CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS batches ("
    "number INTEGER PRIMARY KEY, game BLOB NOT NULL, coalitions BLOB NOT NULL, n_values INTEGER NOT NULL, "
    "n_outputs INTEGER NOT NULL, answers BLOB NOT NULL, checksum BLOB NOT NULL)",
    "CREATE INDEX IF NOT EXISTS batches_of_game ON batches (game, number)",
)


@dataclass(frozen=True, eq=False)
class Batch:
    """Coalitions of one game (m, n_bytes) with their values (m,) or (m, n_outputs)."""

    number: int
    packed: Packed
    values: FloatArray


class ValueStore:
    """The file of one model. It can be pickled; every process opens the file for itself.

    Parameters
    ----------
    path : Path
    fingerprint : str
        Of the model whose values the file holds; another one is refused.
    label : str
        The model's name, for messages.
    """

    def __init__(self, path: Path, fingerprint: str, label: str = "the model") -> None:
        self.path, self.fingerprint, self.label = Path(path), fingerprint, label
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._process = os.getpid()
        self._reads = self._writes = True
        with self._lock:
            self._connect()

    def __getstate__(self) -> dict[str, object]:
        return {"path": self.path, "fingerprint": self.fingerprint, "label": self.label}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__init__(**state)  # type: ignore[misc]

    def __enter__(self) -> ValueStore:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        with self._lock:
            if self._connection is not None and self._process == os.getpid():
                self._connection.close()
            self._connection = None

    def read(self, game: bytes, after: int = 0) -> Iterator[Batch]:
        """Batches of a game, those with a larger number than `after`."""
        query = (
            "SELECT number, coalitions, n_values, n_outputs, answers, checksum FROM batches "
            "WHERE game = ? AND number > ? ORDER BY number"
        )
        if not self._reads:
            return
        try:
            with self._ready() as connection:
                rows = connection.execute(query, (game, after)).fetchall()
            found = [self._checked(game, row) for row in rows]
        except sqlite3.OperationalError as error:
            self._reads = False
            self._warn("read", "what it holds is asked for again", error)
        except sqlite3.DatabaseError as error:
            self._start_again(error)
        else:
            yield from found

    def append(self, game: bytes, packed: Packed, values: FloatArray) -> None:
        """Write one batch. A disk that is full stops the writing, with a warning, not the run."""
        if not self._writes:
            return
        coalitions, answers = packed.tobytes(), np.ascontiguousarray(values, dtype=float).tobytes()
        n_outputs = 0 if values.ndim == 1 else values.shape[1]
        row = (game, coalitions, len(values), n_outputs, answers, _checksum(game, coalitions, answers))
        try:
            self._keep(row)
        except (sqlite3.OperationalError, StorageError) as error:
            self._writes = False
            self._warn("written", "values from here on are not kept. Batches written before are whole", error)

    def _keep(self, row: tuple[object, ...]) -> None:
        """Insert a row; where the file turns out to be damaged, into a new one."""
        try:
            with self._ready() as connection:
                self._insert(connection, row)
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError as error:
            self._start_again(error)
            if self._writes:
                with self._ready() as connection:
                    self._insert(connection, row)

    def _warn(self, done: str, result: str, error: Exception) -> None:
        """A cache that fails in the middle costs the cache, not the run."""
        warnings.warn(
            f"The cache {str(self.path)!r} cannot be {done} any more ({error}): the run goes on, but "
            f"{result}.",
            PolyshapWarning,
            stacklevel=5,
        )

    @staticmethod
    def _insert(connection: sqlite3.Connection, row: tuple[object, ...]) -> None:
        with connection:  # commits, or rolls back
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(
                "INSERT INTO batches (game, coalitions, n_values, n_outputs, answers, checksum) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                row,
            )

    @contextmanager
    def _ready(self) -> Iterator[sqlite3.Connection]:
        """The connection of this process; one made before a fork is left alone."""
        with self._lock:
            if self._process != os.getpid():
                self._connection, self._process = None, os.getpid()
            if self._connection is None:
                self._connect()
            assert self._connection is not None
            yield self._connection

    def _connect(self) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise self._unusable(error) from error
        try:
            self._connection = self._open()
        except sqlite3.OperationalError as error:
            raise self._unusable(error) from error
        except sqlite3.DatabaseError as error:
            self._set_aside(error)
            self._connection = self._open()

    def _open(self) -> sqlite3.Connection:
        self._refuse_foreign_file()
        connection = sqlite3.connect(self.path, timeout=_BUSY, isolation_level=None, check_same_thread=False)
        try:
            _write_ahead(connection)
            # a killed process loses nothing; a power cut may lose the last batches, never more
            connection.execute("PRAGMA synchronous = NORMAL")
            self._identify(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _refuse_foreign_file(self) -> None:
        """A file that never was a cache must not be renamed, whatever it is."""
        if not self.path.exists() or self.path.suffix in _SUFFIXES:
            return
        with open(self.path, "rb") as file:
            start = file.read(len(_HEADER))
        if start and start != _HEADER:
            raise FileFormatError(
                f"`cache` must be a folder or a cache file (.sqlite). {str(self.path)!r} is something else."
            )

    def _identify(self, connection: sqlite3.Connection) -> None:
        """Whose file it is; an empty one becomes ours, in one step that no other process can enter."""
        about = {"version": str(_VERSION), "fingerprint": self.fingerprint, "model": self.label}
        with connection:
            connection.execute("BEGIN IMMEDIATE")
            (application,) = connection.execute("PRAGMA application_id").fetchone()
            (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
            if application != _APPLICATION and tables:
                raise FileFormatError(
                    f"`cache` must be a folder or a cache file. {str(self.path)!r} is a database of another "
                    "program."
                )
            connection.execute(f"PRAGMA application_id = {_APPLICATION}")
            for table in _TABLES:
                connection.execute(table)
            connection.executemany("INSERT OR IGNORE INTO about VALUES (?, ?)", about.items())
        stored = dict(connection.execute("SELECT name, value FROM about"))
        if int(stored["version"]) > _VERSION:
            raise FileFormatError(
                f"The cache {str(self.path)!r} has version {stored['version']}, this polyshap reads up to "
                f"{_VERSION}. Upgrade polyshap."
            )
        if stored["fingerprint"] != self.fingerprint:
            raise CacheMismatchError(
                f"`cache` must hold values of this model. {str(self.path)!r} holds those of "
                f"{stored['model']} with the fingerprint {stored['fingerprint'][:16]}; {self.label} has "
                f"{self.fingerprint[:16]}. Give another file or a folder. If it is the same model, name it "
                "yourself on every run: cache=polyshap.execution.Cache(path, fingerprint='name and version')."
            )

    def _checked(self, game: bytes, row: tuple[int, bytes, int, int, bytes, bytes]) -> Batch:
        number, coalitions, n_values, n_outputs, answers, checksum = row
        if checksum != _checksum(game, coalitions, answers):
            raise sqlite3.DatabaseError(f"the checksum of batch {number} is wrong")
        packed = np.frombuffer(coalitions, dtype=np.uint8).reshape(n_values, -1)
        shape = (n_values, n_outputs) if n_outputs else (n_values,)
        return Batch(number, packed, np.frombuffer(answers).reshape(shape))

    def _start_again(self, error: sqlite3.DatabaseError) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection = None
            try:
                self._set_aside(error)
            except StorageError as failure:
                self._reads = self._writes = False
                self._warn("used", "nothing is read from it nor kept", failure)

    def _set_aside(self, error: sqlite3.DatabaseError) -> None:
        """Rename a damaged file and its log, and say so."""
        moved = self.path.with_name(f"{self.path.name}.damaged-{time.time_ns()}")
        try:
            os.replace(self.path, moved)
        except OSError as failure:
            raise self._unusable(failure) from error
        for log in ("-wal", "-shm"):
            with suppress(OSError):
                os.replace(f"{self.path}{log}", f"{moved}{log}")
        warnings.warn(
            f"The cache {str(self.path)!r} is damaged ({error}). None of it is used; it was set aside as "
            f"{moved.name!r} and a new one begun.",
            PolyshapWarning,
            stacklevel=5,
        )

    def _unusable(self, error: Exception) -> StorageError:
        return StorageError(
            f"`cache` must be a place that can be written. {str(self.path)!r} cannot: {error}. "
            "Give another folder."
        )


def _checksum(game: bytes, coalitions: bytes, answers: bytes) -> bytes:
    digest = hashlib.blake2b(game, digest_size=16)
    digest.update(len(coalitions).to_bytes(8))
    digest.update(coalitions)
    digest.update(answers)
    return digest.digest()


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Switch to write-ahead logging; SQLite does not wait by itself where two processes switch at once."""
    deadline = time.monotonic() + _BUSY
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
        time.sleep(_PAUSE)
