"""The way of the data is visible in the imports, and importing is quick."""

import ast
import importlib
import os
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import polyshap

SOURCE = Path(polyshap.__file__).parent

# Lower layers first; a module may import from its own layer and from lower ones at module level.
LAYERS = (
    ("_types", "errors", "_memory", "_threads", "text_tables"),
    (
        "coalitions",
        "size_classes",
    ),
    ("sampling", "frontiers"),
    ("results",),
    ("regression", "bases", "gaussian", "shapley", "interactions", "walsh"),
    ("execution",),
    ("calls", "tables", "models"),
    ("games",),
    ("estimators",),
    ("estimation",),
    ("explanation", "storage", "rows", "explain", "explainer"),
    ("interop", "plots", "report"),
    ("benchmark",),
    ("command", "cli", "__main__"),
)
RANK = {name: rank for rank, layer in enumerate(LAYERS) for name in layer}


def layer_of(module: str) -> int | None:
    if module == "polyshap":  # the public names, of which explain and Explainer are the highest
        return RANK["explainer"]
    head = module.split(".")[1] if "." in module else ""
    return RANK.get(head, RANK.get(head.rstrip("s")))


def module_level_imports(path: Path) -> list[str]:
    """Modules of this package imported at module level, outside `if TYPE_CHECKING`."""
    found = []
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("polyshap"):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            found += names if node.module == "polyshap" else [node.module]
        elif isinstance(node, ast.Import):
            found += [alias.name for alias in node.names if alias.name.startswith("polyshap")]
    return found


FILES = sorted(path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py")


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_nothing_lower_imports_anything_higher(path):
    """Imports point against the way of the data, never along it."""
    parts = ("polyshap", *path.relative_to(SOURCE).with_suffix("").parts)
    own = layer_of(".".join(parts))
    assert own is not None, f"{path.name} has no layer: give it one in LAYERS"
    for imported in module_level_imports(path):
        rank = layer_of(imported)
        assert rank is not None, f"{imported} has no layer"
        assert rank <= own, f"{path.name} imports {imported} from a higher layer"


@pytest.mark.parametrize(
    "name",
    [
        "polyshap",
        *(
            f"polyshap.{module.name}"
            for module in pkgutil.iter_modules([str(SOURCE)])
            if module.name != "__main__"
        ),
    ],
)
def test_public_names_are_sorted_and_exist(name):
    """`__all__` is there, sorted, and complete; every public object has a docstring."""
    module = importlib.import_module(name)
    assert module.__doc__
    public = module.__all__
    # constants first, then classes, then functions, each in alphabetical order
    order = sorted(public, key=lambda n: (not n.isupper(), not n.lstrip("_")[:1].isupper(), n))
    assert list(public) == order
    for item in public:
        thing = getattr(module, item)
        if callable(thing) and getattr(thing, "__module__", "").startswith("polyshap"):
            assert thing.__doc__, f"{name}.{item} has no docstring"


def test_import_is_light():
    """`import polyshap` loads none of the optional packages."""
    heavy = ("pandas", "polars", "sklearn", "matplotlib", "torch", "shap", "shapiq", "xgboost", "numba")
    script = f"import sys, polyshap; print([m for m in {heavy!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_import_is_quick(tmp_path):
    """Half a second of CPU on a quiet machine: at most twice what numpy and scipy.linalg take alone."""
    # byte code of the package itself is compiled once, as after an installation
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(tmp_path), "PYTHONDONTWRITEBYTECODE": ""}

    def seconds(modules):
        script = f"import time; a = time.process_time(); import {modules}; print(time.process_time() - a)"
        command = [sys.executable, "-c", script]
        runs = [subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
                for _ in range(4)]  # fmt: skip
        return min(float(run.stdout) for run in runs)

    assert seconds("polyshap") < max(0.5, 2 * seconds("numpy, scipy.linalg"))
