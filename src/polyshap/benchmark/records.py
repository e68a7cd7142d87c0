"""Benchmark records: one JSON line for each estimate, in a file that survives interruptions."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from os import PathLike
from pathlib import Path
from typing import IO

from polyshap.errors import ArgumentError, FileFormatError, StorageError

__all__ = ["Key", "Record", "RecordFile", "read_records"]

Key = tuple[str, int, str, bool, int, int, str]


@dataclass(frozen=True)
class Record:
    """One estimate of one instance of a task, or the reason why there is none.

    Attributes
    ----------
    task, instance, method, paired, budget, seed, seeding
        What was asked for; together the key. `seeding` is "own" or "shared".
    version : str
        Of polyshap.
    n_evaluations : int
    seconds : dict
        "draw", "evaluate" and "fit"; a shared run of several instances is split evenly.
    values : tuple of float
    metrics : dict
        "mse", "normalised_mse", "precision_at_5", "spearman"; NaN is stored as null.
    skipped : str, optional
        The reason; then there are no values.
    """

    task: str
    instance: int
    method: str
    paired: bool
    budget: int
    seed: int
    seeding: str
    version: str
    n_evaluations: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    values: tuple[float, ...] = ()
    metrics: dict[str, float] = field(default_factory=dict)
    skipped: str | None = None
    warnings: tuple[str, ...] = ()

    @property
    def key(self) -> Key:
        """What makes two records the same."""
        return (self.task, self.instance, self.method, self.paired, self.budget, self.seed, self.seeding)

    def to_line(self) -> str:
        """One JSON line without its end."""
        content = asdict(self)
        content["metrics"] = {
            name: None if math.isnan(number) else number for name, number in self.metrics.items()
        }
        return json.dumps(content, separators=(",", ":"), allow_nan=False)

    @classmethod
    def from_line(cls, line: str) -> Record:
        """The inverse of `to_line`; ValueError, TypeError or KeyError for anything else."""
        content = json.loads(line)
        if not isinstance(content, dict) or content.keys() - _FIELDS:
            raise ValueError("not a benchmark record")
        metrics = {
            name: math.nan if number is None else number for name, number in content["metrics"].items()
        }
        return cls(
            **{
                **content,
                "metrics": metrics,
                "values": tuple(content["values"]),
                "warnings": tuple(content["warnings"]),
            }
        )


_FIELDS = {item.name for item in fields(Record)}


@dataclass(frozen=True, eq=False)
class RecordFile:
    """An open file of records: what it holds already, and `append`."""

    path: Path
    keys: frozenset[Key]
    stream: IO[bytes]

    def append(self, records: Iterable[Record]) -> None:
        """Write records and hand them to the system; on failure the file ends with the last whole line."""
        left = memoryview("".join(record.to_line() + "\n" for record in records).encode())
        before = self.stream.tell()
        try:
            # a nearly full disk takes a part of what it is given, and complains the next time only
            while left:
                left = left[self.stream.write(left) :]
        except OSError as error:
            self.stream.truncate(before)
            raise StorageError(
                f"The records could not be written to {self.path}: {error.strerror or error}. What was "
                "computed before is kept. Free space and run the same command again: it goes on from there."
            ) from error

    @classmethod
    @contextmanager
    def open(cls, path: str | PathLike[str]) -> Iterator[RecordFile]:
        """Open for appending; a line cut by an interruption is dropped.

        A second process with the same file would write the same records twice: the file is locked where
        the platform can.
        """
        target = Path(path)
        if target.exists() and not target.is_file():
            raise ArgumentError(f"`records` must be a file. Got {target}, which is a folder or a device.")
        target.parent.mkdir(parents=True, exist_ok=True)
        # unbuffered: a failed write leaves nothing behind that a later flush could repeat
        with target.open("ab", buffering=0) as stream:
            _lock(stream, target)
            stream.truncate(_whole_lines(target))
            stream.seek(0, 2)
            yield cls(target, frozenset(record.key for record in read_records(target)), stream)


def read_records(path: str | PathLike[str]) -> Iterator[Record]:
    """The records of a file; a cut last line is passed over, damage anywhere else is an error."""
    with Path(path).open("rb") as stream:
        for number, line in enumerate(stream, start=1):
            if not line.endswith(b"\n"):
                return
            try:
                yield Record.from_line(line.decode())
            except (ValueError, TypeError, KeyError, AttributeError) as error:
                raise FileFormatError(
                    f"{path} is damaged at line {number}: {error}. Remove that line, or the file, and run "
                    "the same command again: only what is missing is computed."
                ) from error


def _whole_lines(path: Path) -> int:
    """The length of the file up to its last line end."""
    content = path.read_bytes()
    return content.rfind(b"\n") + 1


def _lock(stream: IO[bytes], path: Path) -> None:
    try:
        import fcntl
    except ImportError:  # not on this platform
        return
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise StorageError(
            f"{path} is in use by another run. Wait for it, or write to another file."
        ) from error
