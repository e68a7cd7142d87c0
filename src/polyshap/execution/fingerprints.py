"""What a model or a table is known by: hashes that are equal where the content is, in every process.

Pickling alone does not do. It knows functions and classes of importable modules by their names, so that an
edit of the file goes unseen, and gives classes of a script a new name in every session. Here the code of the
user's own functions and classes counts, wherever it stands, with all that it uses; that of installed packages
does not.
"""

from __future__ import annotations

import dis
import functools
import hashlib
import io
import os
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyshap.errors import ArgumentError

__all__ = ["content_digest", "fingerprint", "hashed"]

# what a function does; its file and lines change when something above it is edited
_CODE = (
    "co_code", "co_names", "co_varnames", "co_freevars", "co_flags",
    "co_argcount", "co_posonlyargcount", "co_kwonlyargcount",
)  # fmt: skip
# of a class: what Python puts there itself, and what is the same again in the functions made from it
_NOT_CODE = {
    "__abstractmethods__", "__annotations__", "__dataclass_fields__", "__dataclass_params__", "__dict__",
    "__doc__", "__firstlineno__", "__module__", "__static_attributes__", "__weakref__", "_abc_impl",
}  # fmt: skip
_INSTALLED = {"dist-packages", "site-packages"}
_STDLIB = tuple(os.path.normcase(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib"))
_Reduced = tuple[type, tuple[()], Any]


def fingerprint(thing: Any) -> str:
    """The hash of an object's content, the code of the user's own functions and classes included."""
    buffer = io.BytesIO()
    try:
        _pickler(buffer).dump(thing)
        return hashed(buffer.getvalue())
    except Exception as error:
        raise ArgumentError(
            f"`cache` must know which model it holds, and {type(thing).__name__} has no fingerprint: it "
            f"cannot be pickled ({error}). Give "
            "cache=polyshap.execution.Cache(path, fingerprint='name and version')."
        ) from error


def hashed(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def content_digest(arrays: Iterable[NDArray[Any]]) -> bytes:
    """A hash of what arrays hold, the same in every process."""
    digest = hashlib.blake2b(digest_size=16)
    for array in arrays:
        plain = array.dtype.kind in "biufMm"
        data = np.ascontiguousarray(array).tobytes() if plain else repr(array.tolist()).encode()
        digest.update(f"{array.dtype.str if plain else 'objects'}{array.shape}{len(data)}".encode())
        digest.update(data)
    return digest.digest()


def _pickler(buffer: io.BytesIO) -> Any:
    """A pickler whose output nobody reads: it only has to differ where things do."""
    import cloudpickle  # imported where it is used: it takes a tenth of the time of `import polyshap`

    class Pickler(cloudpickle.Pickler):  # type: ignore[misc]
        def reducer_override(self, thing: Any) -> Any:
            if isinstance(thing, CodeType):
                return _reduced(_of_code(thing))
            if isinstance(thing, FunctionType) and _is_own(thing):
                return _reduced(_of_function(thing))
            if isinstance(thing, type) and _is_own(thing):
                return _reduced(_of_class(thing))
            if isinstance(thing, functools._lru_cache_wrapper) and _is_own(thing):
                return _reduced(thing.__wrapped__)
            return super().reducer_override(thing)

    return Pickler(buffer, protocol=5)


def _reduced(state: Any) -> _Reduced:
    """The state comes after the object is known to the pickler, so a function may use itself."""
    return object, (), (state,)


def _is_own(thing: Any) -> bool:
    """Whether code is the user's: not of an installed package, or not to be found there by its name."""
    module = sys.modules.get(getattr(thing, "__module__", None) or "")
    if module is None or not _is_installed(module):
        return True
    found: Any = module
    for name in thing.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is not thing


@functools.cache
def _is_installed(module: ModuleType) -> bool:
    """Whether a module comes with Python or a package; not so a script, a notebook, a file of the user's."""
    name = module.__name__
    if name.partition(".")[0] in ("polyshap", "builtins"):
        return True
    file = getattr(module, "__file__", None)
    if file is None:
        return name not in ("__main__", "__mp_main__")
    return os.path.normcase(file).startswith(_STDLIB) or not _INSTALLED.isdisjoint(Path(file).parts)


def _of_code(code: CodeType) -> tuple[Any, ...]:
    return (*(getattr(code, name) for name in _CODE), [_in_order(one) for one in code.co_consts])


def _of_function(function: FunctionType) -> tuple[Any, ...]:
    """Its code, its defaults, and what it sees around itself."""
    cells = [_content(cell) for cell in function.__closure__ or ()]
    around = {
        name: function.__globals__[name] for name in _globals(function.__code__) & function.__globals__.keys()
    }
    names = set(_names(function.__code__))
    used = [(name, _used(around[name], names)) for name in sorted(around)]
    return function.__code__, function.__defaults__, function.__kwdefaults__, cells, used


def _content(cell: Any) -> Any:
    try:
        return _in_order(cell.cell_contents)
    except ValueError:  # not filled yet
        return None


def _used(value: Any, names: set[str]) -> Any:
    """A global as a function uses it: of a module of the user's, the functions and data it may take."""
    if isinstance(value, ModuleType) and not _is_installed(value):
        return [(name, _in_order(vars(value)[name])) for name in sorted(names & vars(value).keys())]
    return _in_order(value)


def _in_order(value: Any) -> Any:
    """Sets of text have another order in every process."""
    return ("set", sorted(value, key=repr)) if type(value) in (set, frozenset) else value


def _of_class(kind: type) -> tuple[Any, ...]:
    members = ((name, value) for name, value in sorted(vars(kind).items()) if name not in _NOT_CODE)
    return kind.__qualname__, kind.__bases__, [(name, _member(value)) for name, value in members]


def _member(value: Any) -> Any:
    """What stands in a class, without the wrappers that cannot be pickled."""
    if isinstance(value, staticmethod | classmethod):
        return type(value).__name__, value.__func__
    if isinstance(value, property):
        return value.fget, value.fset, value.fdel
    if isinstance(value, functools.cached_property):
        return value.func
    return _in_order(value)


def _parts(code: CodeType) -> Iterator[CodeType]:
    """The code and that of the functions inside of it."""
    yield code
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield from _parts(one)


def _names(code: CodeType) -> Iterator[str]:
    return (name for part in _parts(code) for name in part.co_names)


def _globals(code: CodeType) -> set[str]:
    return {
        instruction.argval
        for part in _parts(code)
        for instruction in dis.get_instructions(part)
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME")
    }
