"""Workers are worth it: a model of 5 ms a batch on one process and on two."""

import time
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest

import polyshap


def waits(rows):
    """5 ms whatever the number of rows, without a core of its own: the test holds on a busy machine too."""
    time.sleep(0.005)
    return rows.sum(axis=1) + rows[:, 0] * rows[:, 1]


@pytest.mark.slow
def test_two_processes_are_nearly_twice_as_fast_as_one():
    """At least 1.7 times, with the same bits; benchmarks/execution_throughput.py computes."""
    rng = np.random.default_rng(0)
    rows, background = rng.standard_normal((30, 10)), rng.standard_normal((10, 10))

    def timed(**where):
        started = time.perf_counter()
        x = polyshap.explain(
            waits,
            rows,
            background,
            budget=202,
            estimator="polyshap-2",
            batch_size=50,
            random_state=0,
            **where,
        )
        return time.perf_counter() - started, x.values

    alone, plain = timed()
    with ProcessPoolExecutor(2) as executor:
        timed(executor=executor)  # starts the processes
        together, values = min((timed(executor=executor) for _ in range(2)), key=lambda pair: pair[0])
    assert np.array_equal(values, plain)
    assert alone / together >= 1.7
