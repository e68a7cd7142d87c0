"""Explanations as files (npz with a JSON part, never pickle) and as long tables."""

from __future__ import annotations

import datetime
import json
import struct
import zipfile
import zlib
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from polyshap.errors import FileFormatError, optional_import
from polyshap.explanation import Explanation
from polyshap.results import Diagnostics

__all__ = ["load", "save", "to_frame"]

_FORMAT = "polyshap-explanation"
_VERSION = 1
# what numpy, zipfile and json raise on bytes that are not what they should be; RuntimeError and its
# NotImplementedError where a damaged header asks for a password or for a later version of zip
_DAMAGE = (
    OSError,
    ValueError,
    KeyError,
    TypeError,
    EOFError,
    RuntimeError,
    MemoryError,
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
)
_REQUIRED = ("values", "base_values", "predictions", "row_evaluations")
_DIAGNOSTICS = ("estimator", "n_terms", "rank", "condition", "residual", "converged")


def save(explanation: Explanation, path: str | Path) -> None:
    """Write an explanation; the file has exactly the given name."""
    arrays: dict[str, Any] = {name: np.asarray(getattr(explanation, name)) for name in _REQUIRED}
    if explanation.standard_errors is not None:
        arrays["standard_errors"] = explanation.standard_errors
    diagnostics = explanation.diagnostics
    meta: dict[str, Any] = {
        "format": _FORMAT,
        "version": _VERSION,
        "feature_names": explanation.feature_names,
        "output_names": explanation.output_names,
        "pilot_evaluations": explanation.pilot_evaluations,
        "diagnostics": {name: getattr(diagnostics, name) for name in _DIAGNOSTICS}
        | {"seconds": dict(diagnostics.seconds), "warnings": diagnostics.warnings},
        "details": {},
    }
    for name, value in diagnostics.details.items():
        if isinstance(value, np.ndarray):
            arrays[f"detail:{name}"] = value
        else:
            meta["details"][name] = value
    data = explanation.data
    if data.dtype.kind in "biuf":
        arrays["data"] = data
    else:
        meta["data"] = [_encode(value) for value in data.ravel()]
        meta["data_shape"] = data.shape
    text = json.dumps(meta, default=_plain)
    with open(path, "wb") as file:  # a handle: numpy adds no suffix to its name
        np.savez_compressed(file, meta=np.frombuffer(text.encode(), dtype=np.uint8), **arrays)


def load(path: str | Path) -> Explanation:
    """Read an explanation that `Explanation.save` wrote.

    Raises
    ------
    FileFormatError
        The file is damaged, foreign or from a newer version.
    """
    try:
        with open(path, "rb") as handle:
            if handle.read(2) != b"PK":  # of anything else numpy would say how to unpickle it
                raise ValueError("it is no npz file")
            handle.seek(0)
            with np.load(handle, allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
        meta = json.loads(arrays.pop("meta").tobytes().decode())
    except FileNotFoundError:
        raise
    except _DAMAGE as error:
        raise FileFormatError(
            f"`path` must be a file written by Explanation.save. {str(path)!r} is damaged or foreign: {error}"
        ) from error
    if not isinstance(meta, dict) or meta.get("format") != _FORMAT:
        raise FileFormatError(f"`path` must be a file written by Explanation.save. {str(path)!r} is foreign.")
    try:
        if meta.get("version", 0) > _VERSION:
            raise FileFormatError(
                f"{str(path)!r} has format version {meta['version']}, this polyshap reads up to {_VERSION}. "
                "Upgrade polyshap."
            )
        found = _rebuild(arrays, meta)
        _check_parts(found)
    except FileFormatError:
        raise
    except (KeyError, TypeError, ValueError) as error:
        raise FileFormatError(f"{str(path)!r} is damaged: {error!r}") from error
    return found


def _check_parts(x: Explanation) -> None:
    """Whether shapes agree with each other and with the names."""
    outputs = (len(x.output_names),) if isinstance(x.output_names, tuple) else ()
    players = (len(x.feature_names),)
    rows = x.values.shape[: x.values.ndim - 1 - len(outputs)]
    wanted = {
        "values": rows + players + outputs,
        "base_values": rows + outputs,
        "predictions": rows + outputs,
        "standard_errors": rows + players + outputs,
        "data": rows + players,
        "row_evaluations": rows,
    }
    if not (x.output_names is None or isinstance(x.output_names, str | tuple)) or len(rows) > 1:
        raise ValueError("output_names do not fit")
    for name, shape in wanted.items():
        array = getattr(x, name)
        if array is not None and (array.shape != shape or (name != "data" and array.dtype.kind not in "iuf")):
            raise ValueError(f"{name} has shape {array.shape} and dtype {array.dtype}, not {shape}")


def _rebuild(arrays: dict[str, Any], meta: dict[str, Any]) -> Explanation:
    if "data" in arrays:
        data = arrays["data"]
    else:
        flat = np.empty(len(meta["data"]), dtype=object)
        flat[:] = [_decode(value) for value in meta["data"]]
        data = flat.reshape(meta["data_shape"])
    stored = dict(meta["diagnostics"])
    details = dict(meta["details"])
    details.update({k.partition(":")[2]: v for k, v in arrays.items() if k.startswith("detail:")})
    names = meta["output_names"]
    return Explanation(
        **{name: arrays[name] for name in _REQUIRED},
        data=data,
        feature_names=tuple(meta["feature_names"]),
        output_names=tuple(names) if isinstance(names, list) else names,
        standard_errors=arrays.get("standard_errors"),
        pilot_evaluations=meta["pilot_evaluations"],
        diagnostics=Diagnostics(
            **{name: stored[name] for name in _DIAGNOSTICS},
            seconds=MappingProxyType(stored["seconds"]),
            details=MappingProxyType(details),
            warnings=tuple(stored["warnings"]),
        ),
    )


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} has no JSON form")


def _encode(value: Any) -> Any:
    """Numbers and text as they are; dates tagged; anything else as its text."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, datetime.datetime):
        return {"datetime": value.isoformat()}
    if isinstance(value, datetime.date):
        return {"date": value.isoformat()}
    return str(value)


def _decode(value: Any) -> Any:
    if isinstance(value, dict):
        ((kind, text),) = value.items()
        return getattr(datetime, kind).fromisoformat(text) if kind in ("datetime", "date") else text
    return value


def to_frame(explanation: Explanation) -> Any:
    """One line for each row, feature and output, as a pandas DataFrame."""
    pandas = optional_import("pandas", extra="pandas", purpose="to_frame()")
    x = explanation
    outputs = x.output_names if isinstance(x.output_names, tuple) else (x.output_names,)
    n_players, n_outputs = len(x.feature_names), len(outputs)
    values = x.values.reshape(-1, n_players, n_outputs)
    n_rows = len(values)
    errors = x.standard_errors
    base = np.broadcast_to(x.base_values.reshape(n_rows, 1, n_outputs), values.shape)
    data = np.broadcast_to(x.data.reshape(n_rows, n_players, 1), values.shape)
    table = {
        "row": np.repeat(np.arange(n_rows), n_players * n_outputs),
        "feature": np.tile(np.repeat(np.array(x.feature_names, dtype=object), n_outputs), n_rows),
        "output": np.tile(np.array(outputs, dtype=object), n_rows * n_players),
        "data": data.ravel(),
        "value": values.ravel(),
        "standard_error": np.full(values.size, np.nan) if errors is None else errors.ravel(),
        "base_value": base.ravel(),
    }
    if not x.has_outputs:
        del table["output"]
    return pandas.DataFrame(table)
