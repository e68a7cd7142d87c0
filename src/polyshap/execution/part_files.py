"""A folder of Parquet files, one a part: each is there as a whole or not at all, and all are of one run."""

from __future__ import annotations

import json
import os
import time
import uuid
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polyshap._types import FloatArray
from polyshap.errors import (
    CacheMismatchError,
    FileFormatError,
    PolyshapWarning,
    StorageError,
    optional_import,
)

__all__ = ["PartFolder", "parquet"]

_MANIFEST = "manifest.json"


def parquet() -> Any:
    """pyarrow's Parquet module."""
    optional_import("pyarrow", extra="dask", purpose="out=")
    import pyarrow.parquet

    return pyarrow.parquet


@dataclass(frozen=True)
class PartFolder:
    """Where the parts of one run are."""

    path: Path

    def file(self, number: int) -> Path:
        return self.path / f"part-{number:06d}.parquet"

    def about(self) -> dict[str, Any] | None:
        """What the manifest says of the run; None where there is none."""
        manifest = self.path / _MANIFEST
        if not manifest.exists():
            return None
        try:
            found = json.loads(manifest.read_text())
        except (OSError, ValueError) as error:
            raise FileFormatError(
                f"`out` must be a new folder or one with parts of this run. {str(manifest)!r} cannot be "
                f"read: {error}. Give another folder."
            ) from error
        return dict(found)

    def claim(self, about: Mapping[str, Any]) -> None:
        """The folder belongs to the run that `about` describes; that of another one is refused."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            stored = self.about()
            if stored is None:
                self._refuse_parts()
                stored = self._begun(about)
        except OSError as error:
            if isinstance(error, StorageError):
                raise
            raise StorageError(
                f"`out` must be a folder that can be written. {str(self.path)!r} cannot: {error}. "
                "Give another."
            ) from error
        different = [name for name in about if stored.get(name) != about[name]]
        if different:
            raise CacheMismatchError(
                f"`out` must be a new folder or one with parts of this run. {str(self.path)!r} holds parts "
                f"of a run with another {', '.join(different)}. Give another folder, or repeat the options "
                "of that run."
            )

    def _begun(self, about: Mapping[str, Any]) -> dict[str, Any]:
        """The manifest of this run, or of another one that began the folder at the same moment."""
        draft = self._draft(_MANIFEST)
        try:
            draft.write_text(json.dumps(about, indent=1))
            try:
                os.link(draft, self.path / _MANIFEST)
            except FileExistsError:
                pass
            except OSError:  # a file system without links
                os.replace(draft, self.path / _MANIFEST)
        finally:
            draft.unlink(missing_ok=True)
        return self.about() or {}

    def present(self, lengths: Iterable[tuple[int, int]]) -> set[int]:
        """Which of the parts (number, rows) are there; those that are damaged are set aside."""
        found, damaged = set(), []
        for number, n_rows in lengths:
            file = self.file(number)
            if not file.exists():
                continue
            if _n_rows(file) == n_rows:
                found.add(number)
            else:
                os.replace(file, file.with_name(f"{file.name}.damaged-{time.time_ns()}"))
                damaged.append(file.name)
        if damaged:
            warnings.warn(
                f"{len(damaged)} of the parts in {str(self.path)!r} are damaged, first {damaged[0]}. They "
                "were set aside, and are computed again.",
                PolyshapWarning,
                stacklevel=4,
            )
        return found

    def write(self, columns: Mapping[str, FloatArray], number: int) -> None:
        """All of a part or nothing: it gets its name when it is complete."""
        import pyarrow

        file = self.file(number)
        draft = self._draft(file.name)
        try:
            parquet().write_table(pyarrow.table(dict(columns)), draft)
            os.replace(draft, file)
        except OSError as error:
            draft.unlink(missing_ok=True)
            raise StorageError(
                f"`out` must be a folder that can be written from every worker. {str(file)!r} cannot: "
                f"{error}. Parts written before are kept; run again to go on."
            ) from error

    def _draft(self, name: str) -> Path:
        """A name that nobody else takes, on this machine or another that sees the folder."""
        return self.path / f".{name}.{uuid.uuid4().hex}"

    def _refuse_parts(self) -> None:
        if any(self.path.glob("part-*.parquet")):
            raise CacheMismatchError(
                f"`out` must be a new folder or one with parts of this run. {str(self.path)!r} holds parts "
                f"without {_MANIFEST}, so nobody knows of which run. Give another folder."
            )


def _n_rows(file: Path) -> int | None:
    """Rows of a Parquet file, by its footer; None where that cannot be read."""
    import pyarrow

    try:
        return int(parquet().read_metadata(file).num_rows)
    except (OSError, pyarrow.ArrowException):
        return None
