"""The call that made an explanation, as text to be shown and run again."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["call_text", "options_text"]

# Longer options, and objects whose text is no Python, stand as three dots.
_LONGEST = 200
_POSITIONAL = ("model", "X", "background")
_PLAIN = (str, int, float, bool, list, tuple, dict, Path, np.integer, np.floating, type(None))


def call_text(function: Callable[..., Any], given: Mapping[str, Any], seed: int) -> str:
    """A call of `polyshap.explain` with the options that are not at their defaults, and the seed.

    >>> from polyshap import explain
    >>> call_text(explain, {"budget": 60, "outputs": "yes", "shared": None}, seed=7)
    "polyshap.explain(model, X, background, budget=60, outputs='yes', random_state=7)"
    """
    background = "" if given.get("background", True) is None else ", background"
    return f"polyshap.explain(model, X{background}{options_text(function, given, seed)})"


def options_text(function: Callable[..., Any], given: Mapping[str, Any], seed: int) -> str:
    """`, name=value` for each option in the order of the signature."""
    text = ""
    for name, parameter in inspect.signature(function).parameters.items():
        if name == "random_state":
            text += f", {name}={seed}"
        elif name in given and name not in _POSITIONAL:
            value = given[name]
            if not (value is parameter.default or (isinstance(value, _PLAIN) and value == parameter.default)):
                text += f", {name}={_written(value)}"
    return text


def _written(value: object) -> str:
    ours = is_dataclass(value) and type(value).__module__.startswith("polyshap.")
    text = repr(value) if ours or isinstance(value, _PLAIN) else "..."
    return text if len(text) <= _LONGEST and "\n" not in text else "..."
