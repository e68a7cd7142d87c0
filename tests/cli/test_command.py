"""The real command, in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import polyshap


def run(*arguments: str, folder=None):
    environment = os.environ | {"OMP_NUM_THREADS": "1", "COLUMNS": "100"}
    return subprocess.run(
        [sys.executable, "-m", "polyshap", *arguments],
        capture_output=True, text=True, cwd=folder, env=environment, timeout=120, check=False,
    )  # fmt: skip


def test_version():
    """The version is that of the package."""
    done = run("--version")
    assert (done.returncode, done.stdout.strip()) == (0, f"polyshap {polyshap.__version__}")


def test_demo_is_quick_and_shows_the_best_estimator_last():
    """The demonstration ends well, in at most ten seconds of CPU on a quiet machine."""
    pytest.importorskip("sklearn")
    before = os.times()
    done = run("demo")
    after = os.times()
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    table = {line.split()[0]: line.split()[1:] for line in done.stdout.splitlines() if "%" in line}
    errors = {name: [float(cell.strip("()%")) for cell in table[name]] for name in ("adaptive", "kernelshap")}
    assert len(errors["adaptive"]) == 3
    assert all(a < k for a, k in zip(errors["adaptive"], errors["kernelshap"], strict=True))
    assert table["exact"] == ["0.00%"]
    assert spent < 20  # twice the promise, for a machine that others use too


def test_explain_json_holds_exact_values_and_nothing_else_on_stdout(workshop):
    """A linear function of a module in the working directory; the values are weight times distance."""
    done = run("explain", "scoring:predict", "rows.csv", "--target-drop", "y", "--rows", "0:3",
               "--background", "20", "--budget", "16", "--json", folder=workshop.folder)  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["feature_names"] == ["age", "income", "hours", "noise"]
    assert found["rows"] == [0, 1, 2]
    values, data = np.array(found["values"]), np.array(found["data"])
    assert values.shape == (3, 4)
    distance = np.diff(data[:, :3], axis=0) * workshop.weights[:3]
    np.testing.assert_allclose(np.diff(values[:, :3], axis=0), distance, atol=1e-8)
    np.testing.assert_allclose(
        values.sum(axis=1), np.array(found["predictions"]) - found["base_values"], rtol=1e-9
    )
    assert found["n_evaluations"] == 48


def test_usage_is_two_and_names_the_flag(workshop):
    """A wrong flag is a matter of usage."""
    done = run("explain", "scoring:predict", "rows.csv", "--budget", "zero", folder=workshop.folder)
    assert done.returncode == 2
    assert "--budget" in done.stderr


def test_an_error_is_one_line(workshop):
    """No traceback, whatever the model does."""
    done = run("explain", "scoring:broken", "rows.csv", "--target-drop", "y", folder=workshop.folder)
    assert done.returncode == 1
    assert done.stdout == ""
    assert len(done.stderr.strip().splitlines()) == 1
    assert "no such" in done.stderr
