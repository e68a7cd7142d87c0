"""The pip lines in messages name extras that the package has."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import polyshap


def test_every_extra_that_a_message_names_exists():
    """`pip install "polyshap[name]"` must install something."""
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    source = Path(polyshap.__file__).parent
    named = {
        name: path.name
        for path in source.rglob("*.py")
        for name in re.findall(r'extra="([a-z]+)"', path.read_text(encoding="utf-8"))
    }
    assert named
    missing = {name: file for name, file in named.items() if name not in project["optional-dependencies"]}
    assert not missing
