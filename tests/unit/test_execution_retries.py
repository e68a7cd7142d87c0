"""A flaky model is asked again; a row that fails every time is found and named."""

import multiprocessing
import os
import threading

import numpy as np
import pytest

from polyshap.errors import ArgumentError, GameShapeError, ModelRaisedError
from polyshap.execution.asynchronous import Concurrent, is_async
from polyshap.execution.retries import Patient, Retries, as_retries
from polyshap.models.functions import numbers

QUICK = Retries(attempts=3, wait=0.0)
ROWS = np.arange(40.0).reshape(20, 2)


def total(rows):
    return rows.sum(axis=1, keepdims=True)


class Flaky:
    """Raises on calls whose number is in `bad`, and on rows that hold `poison`."""

    def __init__(self, bad=(), poison=None):
        self.bad, self.poison, self.calls = bad, poison, 0

    def __call__(self, rows):
        self.calls += 1
        if self.calls in self.bad or (self.poison is not None and (rows == self.poison).any()):
            raise ConnectionError("try later")
        return total(rows)


def test_a_call_that_fails_is_made_again():
    model = Flaky(bad=(1, 2))
    assert np.array_equal(Patient(model, QUICK)(ROWS), total(ROWS))
    assert model.calls == 3


def test_the_row_that_fails_is_named():
    """Halving needs about two calls a level, and the exception holds the row alone."""
    model = Flaky(poison=26.0)
    with pytest.raises(ModelRaisedError, match=r"raised ConnectionError on one.*4 times.*26") as caught:
        Patient(model, QUICK)(ROWS)
    assert caught.value.rows.tolist() == [[26.0, 27.0]]
    assert isinstance(caught.value.__cause__, ConnectionError)
    assert model.calls <= 4 + 2 * 5 + 4


def test_rows_of_frames_are_named_too():
    pandas = pytest.importorskip("pandas")
    pyarrow = pytest.importorskip("pyarrow")
    frame = pandas.DataFrame({"a": range(9)})

    def model(rows):
        values = np.asarray(rows["a"])
        if 7 in values:
            raise OSError("no")
        return values[:, None]

    with pytest.raises(ModelRaisedError, match=r"\{'a': 7\}"):
        Patient(model, QUICK)(frame)
    with pytest.raises(ModelRaisedError) as caught:
        Patient(model, QUICK)(pyarrow.Table.from_pandas(frame))
    assert caught.value.rows["a"].to_pylist() == [7]


def test_a_batch_too_large_is_answered_in_parts():
    """A service with a limit of 6 rows answers all the same."""

    def model(rows):
        if len(rows) > 6:
            raise ValueError("payload too large")
        return total(rows)

    assert np.array_equal(Patient(model, QUICK)(ROWS), total(ROWS))


def test_answers_of_the_wrong_shape_are_not_asked_for_again():
    calls = []

    def model(rows):
        calls.append(len(rows))
        raise GameShapeError("wrong shape")

    with pytest.raises(GameShapeError):
        Patient(model, QUICK)(ROWS)
    assert calls == [20]


def test_waits_grow_and_differ():
    """From half to all of wait * 2^k, and never above the longest."""
    retries = Retries(wait=1.0, longest=5.0)
    for attempt, top in enumerate((1.0, 2.0, 4.0, 5.0, 5.0)):
        pauses = [retries.pause(attempt) for _ in range(200)]
        assert top / 2 <= min(pauses) < 0.6 * top
        assert 0.9 * top < max(pauses) <= top
    assert as_retries(None) is None
    assert as_retries(0) is None
    assert as_retries(2) == Retries(2)
    for wrong in (-1, "3", True):
        with pytest.raises(ArgumentError, match="`retries`"):
            as_retries(wrong)


def concurrent(function, **options):
    settings = {"n_rows": 3, "max_concurrency": 4} | options
    return Concurrent(function, numbers, **settings)


def test_requests_run_together_up_to_the_limit():
    import asyncio

    flying, most = 0, 0

    async def model(rows):
        nonlocal flying, most
        flying += 1
        most = max(most, flying)
        await asyncio.sleep(0.01)
        flying -= 1
        return rows.sum(axis=1)

    assert np.array_equal(concurrent(model)(ROWS), total(ROWS))
    assert most == 4
    assert is_async(model)
    assert not is_async(total)


def test_one_event_loop_for_all_calls():
    """Sessions of HTTP clients belong to the loop that they were opened in."""
    import asyncio

    loops = set()

    async def model(rows):
        loops.add(id(asyncio.get_running_loop()))
        return rows.sum(axis=1)

    async def notebook():  # a caller whose own loop runs
        return concurrent(model)(ROWS)

    for _ in range(2):
        concurrent(model)(ROWS)
    assert np.array_equal(asyncio.run(notebook()), total(ROWS))
    assert len(loops) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_has_a_loop_of_its_own():
    """The parent's loop runs in a thread that does not come along."""

    _ask_anew()
    process = multiprocessing.get_context("fork").Process(target=_ask_anew)
    process.start()
    process.join(30)
    process.kill()
    assert process.exitcode == 0


async def _summed(rows):
    return rows.sum(axis=1)


def _ask_anew():
    assert np.array_equal(concurrent(_summed)(ROWS), total(ROWS))


def test_failing_requests_are_retried_split_and_named():
    model = Flaky(bad=(2, 5))

    async def flaky(rows):
        return model(rows)

    assert np.array_equal(concurrent(flaky, retries=QUICK)(ROWS), total(ROWS))
    poison = Flaky(poison=26.0)

    async def poisoned(rows):
        return poison(rows)

    with pytest.raises(ModelRaisedError, match="26") as caught:
        concurrent(poisoned, retries=QUICK)(ROWS)
    assert caught.value.rows.tolist() == [[26.0, 27.0]]
    with pytest.raises(ConnectionError):
        concurrent(poisoned)(ROWS)


def test_the_loop_is_a_daemon():
    """An interpreter that ends does not wait for it."""
    names = {thread.name: thread.daemon for thread in threading.enumerate()}
    assert names.get("polyshap requests", True)
