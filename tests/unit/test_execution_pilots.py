"""What is asked before the rows themselves: by the workers, bounded and kept as the rows are."""

import os
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import numpy as np
import pytest

import polyshap
from polyshap.errors import GameRaisedError, InterruptedRun, WorkerError

RNG = np.random.default_rng(0)
ROWS, BACKGROUND = RNG.standard_normal((3, 20)), RNG.standard_normal((6, 20))
OPTIONS = {"budget": 90, "estimator": "adaptive", "shared": True, "random_state": 0, "batch_size": 100}


def model(rows):
    return rows[:, 0] * rows[:, 1] + rows.sum(axis=1)


def logged(file):
    """A model that writes down which process asked for how many rows."""

    def asked(rows):
        with open(file, "a") as log:
            log.write(f"{os.getpid()} {len(rows)}\n")
        return rows[:, 0] * rows[:, 1] + rows.sum(axis=1)

    return asked


@pytest.mark.parametrize("n_jobs", [2, 5])
def test_pilot_rows_are_observed_by_the_workers(tmp_path, n_jobs):
    """Whole rows, or their coalitions where there are more workers; the driver asks for the ends alone."""
    plain = polyshap.explain(model, ROWS, BACKGROUND, **OPTIONS)
    found = polyshap.explain(logged(str(tmp_path / "log")), ROWS, BACKGROUND, n_jobs=n_jobs, **OPTIONS)
    assert np.array_equal(found.values, plain.values)
    asked = [line.split() for line in (tmp_path / "log").read_text().splitlines()]
    here = [int(n_rows) for pid, n_rows in asked if int(pid) == os.getpid()]
    assert sorted(here) == [1, 1, 6, 6]
    assert found.pilot_evaluations == plain.pilot_evaluations > 300


@pytest.mark.parametrize("out", [False, True])
@pytest.mark.parametrize("n_hanging", [1, 6])
def test_a_model_that_hangs_at_once_is_ended(tmp_path, n_hanging, out):
    """On the first row, or on the background: with a time limit these calls are made on a worker."""
    if out:
        pytest.importorskip("pyarrow")

    def hangs(rows):
        if len(rows) == n_hanging:
            time.sleep(3600)
        return rows.sum(axis=1)

    where = {"out": tmp_path} if out else {}
    with pytest.raises(WorkerError, match=r"took longer than 0.3 s, 3 times"):
        polyshap.explain(hangs, ROWS, BACKGROUND, n_jobs=2, timeout=0.3, **where, **OPTIONS)


@pytest.mark.parametrize(
    ("action", "kind", "executor"),
    [
        (ConnectionError("gone"), GameRaisedError, nullcontext),
        (ConnectionError("gone"), GameRaisedError, lambda: ThreadPoolExecutor(2)),
        (KeyboardInterrupt(), InterruptedRun, nullcontext),
    ],
    ids=["raises", "raises in a thread", "Ctrl-C"],
)
def test_what_pilots_saw_is_on_the_exception(action, kind, executor):
    """Background rows are not taken for rows to explain."""
    calls = [0]

    def dies(rows):
        calls[0] += 1
        if calls[0] == 20:
            raise action
        return model(rows)

    with executor() as where, pytest.raises(kind) as caught:
        polyshap.explain(dies, ROWS, BACKGROUND, executor=where, **OPTIONS)
    assert any("learned from background rows" in note for note in caught.value.__notes__)
    assert caught.value.finished_rows == ()
    assert sum(len(values) for _, values in caught.value.observed.values()) >= 90


def test_a_run_of_parts_that_is_complete_asks_for_nothing(tmp_path):
    """What the parts share is learned only where one is missing."""
    pytest.importorskip("pyarrow")
    folder, calls = tmp_path / "out", []

    def counted(rows):
        if (tmp_path / "counts").exists():
            calls.append(len(rows))
        return rows[:, 0] * rows[:, 1] + rows.sum(axis=1)

    options = OPTIONS | {"out": folder}
    first = polyshap.explain(counted, ROWS, BACKGROUND, **options)
    (tmp_path / "counts").touch()
    again = polyshap.explain(counted, ROWS, BACKGROUND, **options)
    assert (first.n_computed, again.n_computed, calls) == (1, 0, [])


@pytest.mark.parametrize("n_jobs", [None, 2, 5])
def test_progress_counts_the_pilots(n_jobs):
    """One count from the first call: what is learned first is part of the forecast, and moves."""
    seen = []
    options = OPTIONS | {"n_jobs": n_jobs, "progress": lambda done, total: seen.append((done, total))}
    x = polyshap.explain(model, ROWS, BACKGROUND, **options)
    assert {forecast for _, forecast in seen} == {x.n_evaluations}
    assert seen[-1][0] == x.n_evaluations
    assert len([done for done, _ in seen if done <= x.pilot_evaluations]) >= 4
