"""A real Dask cluster of two processes: the same bits, whoever dies, and nothing hangs."""

import os
import signal
import time
from contextlib import contextmanager

import numpy as np
import pytest

import polyshap
from execution.watchdog import finish, start, wait_for, watchdog
from polyshap.errors import ArgumentError, GameRaisedError, WorkerError

distributed = pytest.importorskip("distributed")

# tornado and dask leave sockets to the garbage collector when a cluster's workers are killed
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning"),
]


@contextmanager
def cluster():
    import dask

    settings = {
        "distributed.nanny.environ": {"OMP_NUM_THREADS": "1"},
        "distributed.scheduler.allowed-failures": 1,  # otherwise a poisonous chunk kills eight workers
        # it may drop one worker's copy of the model between two chunks, which is then loaded once more
        "distributed.scheduler.active-memory-manager.start": False,
    }
    with (
        dask.config.set(settings),
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            silence_logs=50,
        ) as made,
        distributed.Client(made) as connected,
    ):
        yield connected


@pytest.fixture(scope="module")
def client():
    """Shared by the tests that leave the workers alive."""
    with cluster() as connected:
        yield connected


@pytest.fixture
def doomed():
    """A cluster of one's own to kill."""
    with cluster() as connected:
        yield connected


def make_game(folder=None, pause=0.0, kill_at=(), poison=None):
    """A game of 12 players, pickled by value; it ends its worker at the calls in `kill_at`."""
    weights = np.arange(1.0, 13.0)

    def game(z):
        import os
        import time

        time.sleep(pause)
        if folder is not None:
            with open(os.path.join(folder, "calls"), "ab", buffering=0) as log:
                log.write(b"x")
            call = os.path.getsize(os.path.join(folder, "calls"))
            mark = os.path.join(folder, f"died-{call}")
            if call in kill_at and not os.path.exists(mark):
                open(mark, "w").close()
                os.kill(os.getpid(), 9)
        if poison is not None and (z.sum(axis=1) == poison).any():
            os._exit(1)
        return np.cos(z @ weights) + z[:, 0]

    return game


def run(game, **options):
    return polyshap.estimate(game, 12, 400, "polyshap-2", random_state=0, batch_size=10, **options).values


def test_the_same_bits_as_here(client):
    plain = run(make_game())
    assert np.array_equal(run(make_game(), executor=client), plain)
    assert np.array_equal(run(make_game(), executor=client.get_executor(pure=False)), plain)


@pytest.mark.parametrize(
    "moments",
    [
        pytest.param((1,), id="first"),
        pytest.param((20,), id="middle"),
        pytest.param((39,), id="last"),
    ],
)
def test_a_worker_dies(doomed, tmp_path, moments):
    """kill -9 of a busy worker: complete, identical, and a handful of chunks twice."""
    with watchdog(60):
        values = run(make_game(str(tmp_path), kill_at=moments), executor=doomed)
    assert np.array_equal(values, run(make_game()))
    assert list(tmp_path.glob("died-*"))
    assert os.path.getsize(tmp_path / "calls") <= 41 + 8


def test_all_workers_die_at_once(doomed, tmp_path):
    """The model was the result of a task: it is made again with the workers."""
    import threading

    def kill_all():
        while not (tmp_path / "calls").exists() or os.path.getsize(tmp_path / "calls") < 15:
            time.sleep(0.01)
        for pid in doomed.run(os.getpid).values():
            os.kill(pid, signal.SIGKILL)

    killer = threading.Thread(target=kill_all)
    with watchdog(60):
        killer.start()
        values = run(make_game(str(tmp_path), pause=0.05), executor=doomed)
        killer.join()
    assert np.array_equal(values, run(make_game()))


def test_a_chunk_that_always_kills_is_named(doomed):
    with watchdog(120), pytest.raises(WorkerError, match=r"Chunk 0 of 40 ended its worker 3 times"):
        run(make_game(poison=12), executor=doomed)


@pytest.mark.slow
def test_a_model_that_hangs_is_ended(doomed):
    """As in processes of one's own: the call is made again, and the third time it is an error."""

    def hangs(z):
        if z.all(axis=1).any():
            time.sleep(3600)
        return z.sum(axis=1)

    with watchdog(120), pytest.raises(WorkerError, match=r"took longer than 0.5 s, 3 times") as caught:
        run(hangs, executor=doomed, timeout=0.5)
    assert "in hangs" in str(caught.value)


def test_threads_of_a_cluster_cannot_be_ended():
    """Workers inside this process, and workers with several threads, share their clock and their fate."""
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None, silence_logs=50
        ) as here,
        distributed.Client(here) as inside,
        pytest.raises(ArgumentError, match="`timeout` must go with worker processes"),
    ):
        run(make_game(), executor=inside, timeout=1.0)


def test_the_models_own_exception_comes_through(client):
    def broken(z):
        raise ConnectionError("the line is dead")

    with watchdog(60), pytest.raises(GameRaisedError, match=r"ConnectionError.*the line is dead") as caught:
        run(broken, executor=client)
    assert isinstance(caught.value.__cause__, ConnectionError)
    assert any("chunk" in note for note in caught.value.__notes__)


def test_the_model_is_unpickled_once_a_worker(client, tmp_path):
    """2 MB that count how often they are loaded: no more than workers, however many chunks."""

    class Heavy:
        def __init__(self, log):
            self.log, self.weights = log, np.linspace(0, 1, 250_000)

        def __setstate__(self, state):
            self.__dict__ = state
            with open(self.log, "ab", buffering=0) as file:
                file.write(b"x")

        def __call__(self, z):
            return z @ self.weights[:12]

    log = tmp_path / "loads"
    with watchdog(60):
        run(Heavy(str(log)), executor=client)
    assert log.stat().st_size <= 2


def test_what_cannot_be_pickled_says_so(client):
    import threading

    lock = threading.Lock()
    with pytest.raises(ArgumentError, match="must be picklable to be sent to worker processes"):
        run(lambda z: z.sum(axis=1) * (not lock.locked()), executor=client)


def test_values_are_cached_where_all_workers_are_here(client, tmp_path):
    """The workers of this machine write the cache themselves."""
    calls = tmp_path / "calls"
    options = {"executor": client, "cache": polyshap.execution.Cache(tmp_path / "cache", "v1")}
    plain = run(make_game())
    for _ in range(2):
        with watchdog(60):
            assert np.array_equal(run(make_game(str(tmp_path)), **options), plain)
    assert calls.stat().st_size == 40


def test_rows_give_the_same_bits_too(client):
    """Rows that are fitted together, and rows that are fitted alone on the workers."""
    rng = np.random.default_rng(0)
    rows, background, weights = rng.standard_normal((9, 6)), rng.standard_normal((10, 6)), np.arange(6.0)

    def model(rows):
        return rows @ weights + rows[:, 0] * rows[:, 1]

    for options in ({"estimator": "polyshap-2"}, {"estimator": "adaptive", "shared": False}):
        plain = polyshap.explain(model, rows, background, budget=40, random_state=0, **options)
        with watchdog(60):
            x = polyshap.explain(
                model, rows, background, budget=40, random_state=0, executor=client, **options
            )
        assert np.array_equal(x.values, plain.values)


def test_parts_are_written_by_the_workers(client, tmp_path, monkeypatch):
    """The driver gets the number of rows of each part, and nothing else."""
    pytest.importorskip("pyarrow")
    monkeypatch.setattr(polyshap.rows.parts, "PART_ROWS", 100)
    rows = np.random.default_rng(0).standard_normal((250, 3))
    options = {"budget": 8, "random_state": 0, "out": tmp_path / "out"}

    def model(rows):
        return rows.sum(axis=1)

    with watchdog(120):
        found = polyshap.explain(model, rows, np.zeros((1, 3)), executor=client, **options)
    assert (found.n_rows, found.n_computed, len(found.files)) == (250, 3, 3)
    first = next(iter(found)).to_pandas()
    np.testing.assert_allclose(first[["shap_x0", "shap_x1", "shap_x2"]], rows[:100], atol=1e-9)
    again = polyshap.explain(model, rows, np.zeros((1, 3)), executor=client, **options)
    assert again.n_computed == 0


DRIVER = """
import sys, time
import numpy as np
import distributed
import polyshap
from polyshap.rows import parts

address, folder, out = sys.argv[1:]
parts.PART_ROWS = 20
rows = np.random.default_rng(0).standard_normal((160, 3))

def model(rows):
    import time
    with open(folder + "/pause") as file:
        time.sleep(float(file.read()))
    return rows.sum(axis=1) + rows[:, 0] * rows[:, 1]

def run(client):
    return polyshap.explain(model, rows, np.zeros((1, 3)), budget=8, random_state=0, out=out, executor=client)

if __name__ == "__main__":
    if address == "here":
        found = run(None)
    else:
        with distributed.Client(address) as client:
            found = run(client)
    print(found.n_computed)
"""


def test_a_killed_driver_goes_on_with_the_parts_that_are_missing(client, tmp_path):
    """kill -9 of the driver; the next one computes the rest alone, and all bytes are those of a run here."""
    pytest.importorskip("pyarrow")
    pause, out = tmp_path / "pause", tmp_path / "out"
    address = client.scheduler.address
    pause.write_text("0.01")
    first = start(DRIVER, address, tmp_path, out)
    wait_for(lambda: len(list(out.glob("part-*"))) >= 2, first)
    os.killpg(first.pid, signal.SIGKILL)
    first.communicate()
    pause.write_text("0")
    time.sleep(1)  # parts that were being written when the driver went
    there = {file.name for file in out.glob("part-*")}
    assert 2 <= len(there) < 8
    assert int(finish(start(DRIVER, address, tmp_path, out))) == 8 - len(there)
    assert int(finish(start(DRIVER, "here", tmp_path, tmp_path / "plain"))) == 8
    names = [f"part-{number:06d}.parquet" for number in range(8)]
    assert [(out / name).read_bytes() for name in names] == [
        (tmp_path / "plain" / name).read_bytes() for name in names
    ]


def test_the_driver_does_not_grow_with_the_rows(client, tmp_path):
    """At most 30 MB between the first and the last of 20 parts."""
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    import psutil

    n_rows, n_columns = 20 * polyshap.rows.parts.PART_ROWS // 5, 3
    values = np.random.default_rng(0).standard_normal((n_rows, n_columns))
    table = pyarrow.table({f"x{j}": values[:, j] for j in range(n_columns)})
    parquet.write_table(table, tmp_path / "rows.parquet", row_group_size=n_rows // 20)
    resident = []

    def model(rows):
        return rows.sum(axis=1)

    with watchdog(300):
        found = polyshap.explain(
            model,
            str(tmp_path / "rows.parquet"),
            np.zeros((1, n_columns)),
            budget=8,
            random_state=0,
            executor=client,
            out=tmp_path / "out",
            progress=lambda done, total: resident.append(psutil.Process().memory_info().rss),
        )
    assert (found.n_rows, len(resident)) == (n_rows, 20)
    assert max(resident) - resident[0] < 30e6


def test_any_partitioning_gives_the_same_numbers(client):
    """An explainer goes to the workers as an argument, and rows in parts of any size."""
    rng = np.random.default_rng(0)
    rows, background = rng.standard_normal((30, 5)), rng.standard_normal((10, 5))

    def model(rows):
        return rows[:, 0] * rows[:, 1] + rows.sum(axis=1)

    explainer = polyshap.Explainer(model, background, budget=22, random_state=0)
    whole = explainer.partition(rows)
    for size in (1, 7, 30):
        cut = [rows[start : start + size] for start in range(0, len(rows), size)]
        with watchdog(60):
            found = client.gather(client.map(explainer.partition, cut, pure=False))
        np.testing.assert_allclose(np.concatenate(found), whole, rtol=0, atol=1e-12)
