"""One loop for every executor: placed by number, deaths repaired, errors at once."""

import os
import threading
import time
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest

from polyshap.errors import ArgumentError, ArgumentTypeError, WorkerError
from polyshap.execution.shipping import packed, unpack, work_shipped
from polyshap.execution.workers import as_workers, run_chunks


class Inline(Executor):
    """Runs at once, in this process; `lose` says which submissions die."""

    max_workers = 2

    def __init__(self, lose=()):
        self.lose, self.submitted = set(lose), 0

    def submit(self, function, /, *args):
        future = Future()
        self.submitted += 1
        if self.submitted in self.lose:
            future.set_exception(type("WorkerCrashedError", (Exception,), {})("gone"))
        else:
            future.set_result(function(*args))
        return future


def square(x):
    return x * x


def collect(work, items, **options):
    workers = as_workers(**options)
    try:
        found = dict(run_chunks(work, items, workers))
    finally:
        workers.close()
    return [found[i] for i in range(len(items))]


@pytest.mark.parametrize(
    "make",
    [lambda: ThreadPoolExecutor(3), lambda: ProcessPoolExecutor(2), Inline],
    ids=["threads", "processes", "other"],
)
def test_results_are_placed_by_number(make):
    with make() as executor:
        assert collect(lambda x: x * x, range(30), executor=executor) == [x * x for x in range(30)]
        assert list(run_chunks(square, [], as_workers(executor=executor))) == []


def test_serial_needs_no_workers():
    assert as_workers() is None
    assert as_workers(n_jobs=1) is None


def test_a_lost_chunk_is_given_out_again():
    executor = Inline(lose=(1, 4, 5))
    assert collect(square, range(6), executor=executor) == [x * x for x in range(6)]
    assert executor.submitted == 9


def test_a_chunk_that_always_kills_is_named():
    """Three tries; the others are done, and the last try of a chunk is made alone."""
    executor = Inline(lose=range(1, 1000))
    with pytest.raises(WorkerError, match="Chunk 0 of 6 ended its worker 3 times"):
        collect(square, range(6), executor=executor)


def test_a_users_exception_comes_at_once_with_its_chunk_and_cause():
    def work(x):
        if x == 3:
            try:
                raise KeyError("inner")
            except KeyError as inner:
                raise ConnectionError("dead", 7) from inner
        return x

    for executor in (Inline(), ThreadPoolExecutor(2)):
        with pytest.raises(ConnectionError, match="dead") as caught:
            collect(work, range(10), executor=executor)
        assert caught.value.args == ("dead", 7)
        assert isinstance(caught.value.__cause__, KeyError)
        assert any("chunk 3 of 10" in note for note in caught.value.__notes__)
        assert any("On the worker" in note and "inner" in note for note in caught.value.__notes__)


class StubbornError(Exception):
    """Cannot be pickled, nor rebuilt from a pickle: raised through a pool it would break it."""

    def __init__(self, one, two):
        super().__init__(f"{one} and {two}")
        self.lock = threading.Lock()  # packages such as tblib teach all exceptions to be rebuilt


def stubborn(x):
    raise StubbornError(x, "more")


def test_an_exception_that_cannot_travel_sends_its_text():
    with ProcessPoolExecutor(1) as executor, pytest.raises(RuntimeError, match="StubbornError: 0 and more"):
        collect(stubborn, range(3), executor=executor)


def die_once(folder):
    """Ends its process the first time it runs there."""

    def work(x):
        mark = os.path.join(folder, "died")
        if x == 2 and not os.path.exists(mark):
            with open(mark, "w"):
                os._exit(1)
        return x

    return work


def test_a_broken_pool_is_made_again(tmp_path):
    """One that was given, and one from a function; the one that was given is not used any more."""
    for number, executor in enumerate((ProcessPoolExecutor(2), lambda: ProcessPoolExecutor(2))):
        folder = tmp_path / str(number)
        folder.mkdir()
        assert collect(die_once(str(folder)), range(12), executor=executor) == list(range(12))
        assert (folder / "died").exists()


def test_poison_is_told_from_its_neighbours():
    """In a pool that breaks as a whole every chunk in flight is lost; only the guilty one is named."""

    def work(x):
        if x == 5:
            os._exit(1)
        return x

    done = {}
    results = run_chunks(work, range(9), as_workers(executor=lambda: ProcessPoolExecutor(2)))
    with pytest.raises(WorkerError, match="Chunk 5 of 9 ended its worker 3 times"):
        done.update(results)
    # others that were lost as often wait to run alone too, and some of them come after the guilty one
    assert len(done) >= 4
    assert all(x == value != 5 for x, value in done.items())


class Counts:
    """Writes a line whenever it is unpickled."""

    def __init__(self, log):
        self.log, self.weight = log, np.arange(1000.0)

    def __setstate__(self, state):
        self.__dict__ = state
        with open(self.log, "a") as file:
            file.write("x")

    def __call__(self, x):
        return float(self.weight[x])


def test_the_model_is_unpickled_once_a_worker(tmp_path):
    log = tmp_path / "loads"
    with ProcessPoolExecutor(2) as executor:
        collect(Counts(str(log)), range(40), executor=executor)
    assert len(log.read_text()) <= 2


def test_a_worker_without_the_file_asks_for_the_bytes():
    """Workers of other machines see no files of this one: the hash, then the bytes, then never again."""
    shipment = packed(lambda x: x + 1)
    elsewhere = type(shipment)(shipment.digest, path="/nowhere/at/all")
    assert type(work_shipped(elsewhere, 1)).__name__ == "NotShipped"
    assert work_shipped(shipment, 1).value == 2
    assert work_shipped(elsewhere, 5).value == 6
    assert unpack(shipment.data)(1) == 2


def test_a_full_disk_here_sends_the_bytes(monkeypatch):
    """The model has no room in the temporary folder: it travels with the first task of each worker."""

    def full(self, data):
        raise OSError(28, "No space left on device")

    with ProcessPoolExecutor(2) as executor:
        monkeypatch.setattr("pathlib.Path.write_bytes", full)
        assert collect(square, range(9), executor=executor) == [x * x for x in range(9)]


def test_a_time_limit_never_ends_this_process():
    """An executor of unknown kind may run its tasks here, where only the whole program could be ended."""
    with pytest.raises(ArgumentError, match=r"`timeout` must go with worker processes.*in this process"):
        list(run_chunks(square, range(3), as_workers(executor=Inline()), seconds=1.0))


def test_what_cannot_be_pickled_gets_advice():
    lock = threading.Lock()
    with pytest.raises(ArgumentError, match=r"must be picklable.*ThreadPoolExecutor"):
        collect(lambda x: lock, range(3), executor=Inline())
    with ThreadPoolExecutor(2) as executor:
        assert collect(lambda x: lock.locked(), range(3), executor=executor) == [False] * 3


def test_bad_arguments():
    for wrong in (0, -2, 1.5, True):
        with pytest.raises(ArgumentError, match="`n_jobs`"):
            as_workers(n_jobs=wrong)
    with pytest.raises(ArgumentError, match="left out beside `executor`"):
        as_workers(n_jobs=2, executor=Inline())
    with pytest.raises(ArgumentTypeError, match="a Dask Client, an Executor or a function"):
        as_workers(executor=3)


def test_a_broken_executor_of_unknown_kind_says_what_to_give():
    class Broken(Inline):
        def submit(self, function, /, *args):
            future = Future()
            future.set_exception(type("BrokenExecutor", (Exception,), {})("all gone"))
            return future

    with pytest.raises(WorkerError, match=r"cannot be made again here.*executor=lambda"):
        collect(square, range(3), executor=Broken())


def test_workers_that_never_live_end_the_run():
    """A model that kills on loading must not loop for ever."""

    class Dead(Inline):
        def submit(self, function, /, *args):
            raise type("BrokenExecutor", (Exception,), {})("dead on arrival")

    with pytest.raises(WorkerError, match="without finishing a chunk"):
        collect(square, range(3), executor=Dead)


def test_leaving_the_loop_ends_the_processes():
    """A caller who stops listening does not wait for what hangs."""

    def work(x):
        time.sleep(0.0 if x == 0 else 60.0)
        return os.getpid()

    started = time.monotonic()
    results = run_chunks(work, range(6), as_workers(executor=lambda: ProcessPoolExecutor(2)))
    _, pid = next(results)
    results.close()
    assert time.monotonic() - started < 30
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
