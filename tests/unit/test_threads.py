"""BLAS threads are bounded for small systems, whoever else solves one at the same time.

The number of threads belongs to the process, so each test is a script in a process of its own with two.
"""

import os
import subprocess
import sys

import pytest

BEGIN = """
import threading
import numpy as np
import scipy.linalg
from threadpoolctl import threadpool_info
import polyshap
from polyshap._threads import bounded_threads

def blas_threads():
    return {one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"}

if blas_threads() != {2}:
    raise SystemExit(f"skip: BLAS has {blas_threads()} threads")
"""


def run(script):
    two = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "2")
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + script],
        env={**os.environ, **two}, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    if done.stderr.startswith("skip"):
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stderr


def test_large_systems_keep_their_threads():
    """Only small systems are bounded, and the limit ends with them."""
    run("""
with bounded_threads(10):
    assert blas_threads() == {1}
    with bounded_threads(10):
        assert blas_threads() == {1}
    assert blas_threads() == {1}
assert blas_threads() == {2}
with bounded_threads(10_000):
    assert blas_threads() == {2}
""")


@pytest.mark.parametrize("alive", [False, True], ids=["ended", "alive"])
def test_the_first_to_leave_does_not_lift_the_limit_of_another(alive):
    """Two threads overlap: the limit holds until the last has left, and then it is lifted."""
    run(f"""
entered, leave, left, end = (threading.Event() for _ in range(4))

def first():
    with bounded_threads(10):
        entered.set()
        leave.wait(10)
    left.set()
    if {alive}:
        end.wait(10)

thread = threading.Thread(target=first)
thread.start()
assert entered.wait(10)
with bounded_threads(10):
    leave.set()
    assert left.wait(10)
    if not {alive}:
        thread.join(10)
    assert blas_threads() == {{1}}
assert blas_threads() == {{2}}
end.set()
""")


def test_rows_on_threads_have_the_bits_of_rows_in_turn():
    """Fits that overlap in time give what they give one after the other."""
    run("""
from concurrent.futures import ThreadPoolExecutor

rng = np.random.default_rng(0)
rows, background = rng.standard_normal((16, 12)), rng.standard_normal((4, 12))

def model(rows):
    return np.tanh(rows).sum(axis=1) * rows[:, 0]

here = polyshap.explain(model, rows, background, budget=120, random_state=0)
with ThreadPoolExecutor(4) as executor:
    there = polyshap.explain(model, rows, background, budget=120, random_state=0, executor=executor)
assert np.array_equal(here.values, there.values)
""")


@pytest.mark.parametrize("small", [1000, 100])
def test_workers_have_the_bits_of_a_run_here(small):
    """A model that multiplies matrices, and fits that count as small or large: one thread here as there."""
    run(f"""
from concurrent.futures import ThreadPoolExecutor
polyshap._threads._SMALL = {small}
rng = np.random.default_rng(0)
rows, background = rng.standard_normal((2, 12)), rng.standard_normal((3, 12))
first, second, last = rng.standard_normal((12, 64)), rng.standard_normal((64, 64)), rng.standard_normal(64)

def model(rows):
    assert blas_threads() == {{1}}
    return np.tanh(np.tanh(rows @ first) @ second) @ last

def explain(**where):
    return polyshap.explain(model, rows, background, budget=500, random_state=0, shared=False, **where)

here = explain(estimator="adaptive")
for where in ({{"n_jobs": 2}}, {{"executor": ThreadPoolExecutor(2)}}):
    there = explain(estimator="adaptive", **where)
    assert np.array_equal(here.values, there.values)
    assert np.array_equal(here.standard_errors, there.standard_errors)
polyshap.estimate(lambda z: model(z.astype(float)), 12, 60)
assert blas_threads() == {{2}}
""")


def test_a_limit_that_cannot_be_set_holds_nobody_up():
    """What goes wrong in the thread that sets it is reported there, and the work goes on."""
    run("""
import polyshap._threads as threads

def broken():
    raise RuntimeError("no library answers")

failures = []
threading.excepthook = lambda one: failures.append(one.exc_value)
whole, threads._controller = threads._controller, broken
with bounded_threads(10):
    assert blas_threads() == {2}
assert [str(one) for one in failures] == ["no library answers"]
threads._controller = whole
with bounded_threads(10):
    assert blas_threads() == {1}
""")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_of_a_bounded_process_starts_anew():
    """A fork while a limit is held neither waits for its lock nor for its thread."""
    run("""
import os
with bounded_threads(10):
    child = os.fork()
    if child == 0:
        with bounded_threads(10):
            os._exit(0 if blas_threads() == {1} else 1)
    assert os.waitpid(child, 0)[1] == 0
assert blas_threads() == {2}
""")
