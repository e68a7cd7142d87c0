"""The examples: each tells what it shows, is cut into cells, and runs."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("plot_*.py"))
by_example = pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
# CPU seconds an example may take; the half of it on a quiet machine.
_LIMIT = 40


def test_there_are_nine():
    """A gallery that lost an example would pass unseen."""
    assert len(EXAMPLES) == 9


@by_example
def test_an_example_says_what_it_shows(example):
    """A title, a text and cells."""
    text = example.read_text(encoding="utf-8")
    described = ast.get_docstring(ast.parse(text))
    assert described is not None
    assert "\n" in described
    assert text.count("\n# %%") >= 2


@pytest.mark.slow
@by_example
def test_an_example_runs(example, tmp_path):
    """As a user runs it: a process of its own, any folder, no window."""
    environment = os.environ | {"MPLBACKEND": "Agg", "OMP_NUM_THREADS": "1"}
    subprocess.run(
        [sys.executable, "-W", "error::UserWarning", str(example)],
        cwd=tmp_path,
        env=environment,
        check=True,
        capture_output=True,
        timeout=10 * _LIMIT,
    )
