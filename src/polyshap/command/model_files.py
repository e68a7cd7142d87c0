"""A model from a file or from `module:function`, recognised by content and never run without leave.

Native files (XGBoost, LightGBM, CatBoost) and ONNX hold numbers only. A pickle can run any program when it is
read, so it needs `allow_pickle`; skops names its types, and those that it does not know need `trust`.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import pickle
import re
import sys
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from polyshap.command.pickles import COMPRESSED, pickle_globals
from polyshap.errors import ArgumentError, FileFormatError, optional_import
from polyshap.models.functions import as_model

__all__ = ["LoadedModel", "Permissions", "load_model"]

_HEAD = 4096  # bytes that are looked at to recognise a file
_REFERENCE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")
# first fields of an ONNX protobuf: the version as a varint, then one of its other fields
_ONNX = re.compile(rb"\x08[\x01-\x40][\x12\x1a\x22\x28\x32\x3a\x42]")


@dataclass(frozen=True)
class Permissions:
    """What the user allows: reading a pickle, and types in a skops file."""

    allow_pickle: bool = False
    trust: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class LoadedModel:
    """A model with what its file says about the data it takes.

    Attributes
    ----------
    model : object
    kind : str
        For messages: "XGBoost file", "skops file", ...
    columns : tuple of str, optional
        Names of the columns that it was fitted on, in its order.
    wants_array : bool
        Whether it was fitted on an array without names.
    levels : mapping of str to list
        Levels of its categorical columns, where the file holds them.
    spell : callable
        How the model writes the name of a column.
    """

    model: Any
    kind: str
    columns: tuple[str, ...] | None = None
    wants_array: bool = False
    levels: Mapping[str, list[Any]] = field(default_factory=dict)
    spell: Callable[[str], str] = str

    def spelled(self, names: Sequence[str]) -> LoadedModel:
        """With the columns named as in these names of a table."""
        theirs = {self.spell(name): name for name in names}
        return replace(
            self,
            columns=None if self.columns is None else tuple(theirs.get(one, one) for one in self.columns),
            levels={theirs.get(name, name): levels for name, levels in self.levels.items()},
        )


def load_model(reference: str, permissions: Permissions | None = None) -> LoadedModel:
    """Read a model; the content of the file decides, not its suffix.

    Parameters
    ----------
    reference : str
        A file, or `module:function`.
    permissions : Permissions, optional

    Raises
    ------
    FileFormatError
        Not a model, damaged, or one that may not be read without leave.

    Examples
    --------
    >>> load_model("math:sqrt").model(4)
    2.0
    """
    permissions = permissions or Permissions()
    path = Path(reference)
    if path.is_dir():
        raise FileFormatError(f"MODEL must be a file or module:function. {reference!r} is a folder.")
    if not path.exists():
        if _REFERENCE.fullmatch(reference):
            return _imported(reference)
        raise ArgumentError(
            f"MODEL must be an existing file or module:function. There is no file {reference!r}."
        )
    with path.open("rb") as file:
        head = file.read(_HEAD)
    for fits, load in _FORMATS:
        if fits(head):
            return load(path, permissions)
    raise FileFormatError(
        f"MODEL must be a joblib, pickle, skops, XGBoost, LightGBM, CatBoost or ONNX file, or "
        f"module:function. {reference!r} is none of these: it begins with {head[:12]!r}."
    )


def _imported(reference: str) -> LoadedModel:
    """`module:function`, with the working directory on the path as for `python -m`."""
    module_name, _, attributes = reference.partition(":")
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found: Any = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        raise ArgumentError(
            f"MODEL module {module_name!r} could not be imported: {error}. "
            "Run from its folder, or install it."
        ) from error
    for name in attributes.split("."):
        if not hasattr(found, name):
            raise ArgumentError(f"MODEL must name something in the module. {module_name!r} has no {name!r}.")
        found = getattr(found, name)
    return _described(found, "module:function")


def _described(model: Any, kind: str, **known: Any) -> LoadedModel:
    """With the columns, and the levels of categories, that the model itself remembers."""
    wrapped = as_model(model)
    columns = known.pop("columns", wrapped.feature_names)
    fitted_on_array = columns is None and hasattr(model, "n_features_in_") and kind != "module:function"
    return LoadedModel(
        model,
        kind,
        columns,
        known.pop("wants_array", fitted_on_array),
        levels=_levels(model),
        spell=wrapped.spell,
    )


def _levels(model: Any) -> dict[str, list[Any]]:
    """Levels of the categorical columns of a booster, or of the one in a wrapper with fit and predict."""
    try:
        booster = model.get_booster() if hasattr(model, "get_booster") else getattr(model, "booster_", model)
    except Exception:  # not fitted: the model says so itself when it is asked
        return {}
    library = type(booster).__module__.partition(".")[0]
    found = {"xgboost": _xgboost_levels, "lightgbm": _lightgbm_levels}.get(library)
    return {} if found is None or type(booster).__name__ != "Booster" else found(booster)


def _load_pickle(path: Path, permissions: Permissions) -> LoadedModel:
    if not permissions.allow_pickle:
        names = pickle_globals(path)
        shown = ", ".join(names[:40]) + (f" and {len(names) - 40} more" if len(names) > 40 else "")
        raise FileFormatError(
            f"{str(path)!r} is a pickle (joblib, pickle or cloudpickle): reading it can run any program. "
            f"It would import: {shown or 'nothing'}. "
            "If you trust where it comes from, add --allow-pickle; ONNX and native files need no such leave."
        )
    joblib = importlib.import_module("joblib") if importlib.util.find_spec("joblib") else None
    try:
        if joblib is not None:
            return _described(joblib.load(path), "pickle")
        with path.open("rb") as file:
            return _described(pickle.load(file), "pickle")
    except (pickle.UnpicklingError, EOFError, KeyError, IndexError, ValueError) as error:
        raise FileFormatError(f"{str(path)!r} is a damaged pickle: {error}") from error
    except (ImportError, AttributeError) as error:
        raise FileFormatError(
            f"{str(path)!r} needs something that is not here: {error}. Install what the model was made with."
        ) from error


def _load_zip(path: Path, permissions: Permissions) -> LoadedModel:
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except zipfile.BadZipFile as error:
        raise FileFormatError(f"{str(path)!r} is a damaged zip file: {error}") from error
    if "schema.json" not in names:
        hint = "a PyTorch file" if any(name.endswith("data.pkl") for name in names) else "another zip file"
        raise FileFormatError(
            f"{str(path)!r} is {hint}, not a skops model. Write a function that loads it and predicts, and "
            "give module:function as MODEL."
        )
    skops = optional_import("skops.io", extra="cli", purpose="A skops file")
    unknown = [name for name in skops.get_untrusted_types(file=path) if name not in permissions.trust]
    if unknown:
        flags = " ".join(f"--trust {name}" for name in unknown)
        raise FileFormatError(
            f"{str(path)!r} holds types that skops does not trust by itself: {', '.join(unknown)}. "
            f"If you trust them, add: {flags}"
        )
    return _described(skops.load(path, trusted=list(permissions.trust)), "skops file")


def _load_xgboost(path: Path, permissions: Permissions) -> LoadedModel:
    xgboost = optional_import("xgboost", extra="trees", purpose="An XGBoost file")
    booster = xgboost.Booster()
    # from memory: for a file XGBoost goes by the suffix
    _read(lambda: booster.load_model(bytearray(path.read_bytes())), path, "XGBoost")
    return _described(booster, "XGBoost file", wants_array=not booster.feature_names)


def _xgboost_levels(booster: Any) -> dict[str, list[Any]]:
    """Levels of categorical columns; files of versions before 3.1 hold none."""
    if "c" not in (booster.feature_types or ()) or not hasattr(booster, "get_categories"):
        return {}
    found = booster.get_categories(export_to_arrow=True).to_arrow() or ()
    return {str(name): levels.to_pylist() for name, levels in found if levels is not None}


def _load_lightgbm(path: Path, permissions: Permissions) -> LoadedModel:
    lightgbm = optional_import("lightgbm", extra="trees", purpose="A LightGBM file")
    if b"end of trees" not in path.read_bytes():  # LightGBM would end the process
        raise FileFormatError(f"{str(path)!r} is a damaged LightGBM file: it ends before its last tree.")
    booster = _read(lambda: lightgbm.Booster(model_file=str(path)), path, "LightGBM")
    return _described(booster, "LightGBM file", wants_array=as_model(booster).feature_names is None)


def _lightgbm_levels(booster: Any) -> dict[str, list[Any]]:
    # a numeric column has its range there, "[-1:3]", a categorical one its codes, "0:1:2"
    infos = re.search(r"^feature_infos=(.*)$", booster.model_to_string(), re.MULTILINE)
    kinds = infos[1].split() if infos else []
    named = zip(booster.feature_name(), kinds, strict=False)
    categorical = [name for name, kind in named if kind[:1] not in ("[", "n")]
    levels = booster.pandas_categorical or []
    return dict(zip(categorical, levels, strict=True)) if len(categorical) == len(levels) else {}


def _load_catboost(path: Path, permissions: Permissions) -> LoadedModel:
    catboost = optional_import("catboost", extra="catboost", purpose="A CatBoost file")
    with path.open("rb") as file:
        written = "json" if file.read(1) == b"{" else "cbm"
    model = _read(lambda: catboost.CatBoost().load_model(str(path), written), path, "CatBoost")
    loss = str((model.get_all_params() or {}).get("loss_function", ""))
    if loss in ("Logloss", "CrossEntropy", "MultiClass", "MultiClassOneVsAll"):
        model = catboost.CatBoostClassifier().load_model(str(path), written)
    return _described(model, "CatBoost file")


def _load_onnx(path: Path, permissions: Permissions) -> LoadedModel:
    runtime = optional_import("onnxruntime", extra="onnx", purpose="An ONNX file")
    providers = ["CPUExecutionProvider"]
    session = _read(lambda: runtime.InferenceSession(str(path), providers=providers), path, "ONNX")
    inputs = [one.name for one in session.get_inputs()]
    many = len(inputs) > 1
    return _described(session, "ONNX file", columns=tuple(inputs) if many else None, wants_array=not many)


def _read(load: Callable[[], Any], path: Path, kind: str) -> Any:
    """The library's own error, in one line and with the file's name."""
    try:
        return load()
    except Exception as error:
        first = str(error).strip().splitlines() or [type(error).__name__]
        raise FileFormatError(f"{str(path)!r} is a damaged {kind} file: {first[0]}") from error


def _is_pickle(head: bytes) -> bool:
    binary = head[:1] == b"\x80" and head[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05")
    # protocols 0 and 1 have no header: a mark or an import, and text
    text = re.match(rb"\(?[cidl][A-Za-z_][\w.]*\n|\((?:dp|lp|i)|ccopy_reg\n", head) is not None
    return binary or text or any(head.startswith(magic) for magic, _ in COMPRESSED)


def _is_xgboost(head: bytes) -> bool:
    return head.lstrip()[:1] == b"{" and b"learner" in head


def _is_catboost(head: bytes) -> bool:
    """Its binary form, or its JSON, which begins with one of its own keys."""
    json = re.match(rb'\s*\{\s*"(ctr_data|features_info|model_info|oblivious_trees|trees)"', head)
    return head.startswith(b"CBM1") or json is not None


Loader = Callable[[Path, Permissions], LoadedModel]

# the first row that fits is taken
_FORMATS: Sequence[tuple[Callable[[bytes], bool], Loader]] = (
    (lambda head: head.startswith(b"PK\x03\x04"), _load_zip),
    (_is_xgboost, _load_xgboost),
    (lambda head: head.startswith((b"tree\n", b"tree\r\n")), _load_lightgbm),
    (_is_catboost, _load_catboost),
    (_is_pickle, _load_pickle),
    (lambda head: _ONNX.match(head) is not None, _load_onnx),
)
