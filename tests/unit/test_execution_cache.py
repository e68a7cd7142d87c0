"""What was paid for is kept, found again, and never given to the wrong one."""

import os
import pickle
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import polyshap
from polyshap.coalitions import enumerate_all, pack
from polyshap.errors import (
    ArgumentTypeError,
    CacheMismatchError,
    FileFormatError,
    GameShapeError,
    GameValueError,
    PolyshapWarning,
    StorageError,
)
from polyshap.execution.cache import Cache, CachedGame, open_cache
from polyshap.execution.store import ValueStore
from small_games import table_game

N = 9
GAME = table_game(N, seed=0)


class Counted:
    """A game that knows how many coalitions it was asked for."""

    n_players = N

    def __init__(self, game=GAME):
        self.game, self.asked = game, 0

    def __call__(self, coalitions):
        self.asked += len(coalitions)
        return self.game(coalitions)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "values.sqlite"


def run(game, **options):
    return polyshap.estimate(game, N, 100, "polyshap-2", random_state=0, batch_size=20, **options)


def test_nothing_is_asked_twice(path):
    """The second run asks nothing and gives the same bits; also in another process's hands."""
    plain = run(GAME).values
    for expected in (100, 0):
        with ValueStore(path, "model") as store:
            counted = Counted()
            assert np.array_equal(run(CachedGame(counted, store, b"row 0", N)).values, plain)
            assert counted.asked == expected


def test_only_what_is_missing_is_asked(path):
    everything = enumerate_all(N)
    with ValueStore(path, "model") as store:
        counted = Counted()
        cached = CachedGame(counted, store, b"row 0", N)
        cached(everything[:300])
        assert np.array_equal(cached(everything), GAME(everything))
        assert counted.asked == len(everything)


def test_rows_and_outputs_do_not_mix(path):
    """Another row is another game; games of two outputs come back with two."""
    two = Counted(lambda z: np.stack([GAME(z), -GAME(z)], axis=1))
    everything = enumerate_all(N)
    with ValueStore(path, "model") as store:
        CachedGame(Counted(), store, b"row 0", N)(everything)
        first = CachedGame(two, store, b"row 1", N)(everything)
        assert two.asked == len(everything)
        assert first.shape == (len(everything), 2)
    with ValueStore(path, "model") as store:
        again = CachedGame(Counted(), store, b"row 1", N)(everything)
        assert np.array_equal(again, first)


def test_two_stores_share_a_file(path):
    """What one writes the other finds, without opening it again."""
    everything = enumerate_all(N)
    with ValueStore(path, "model") as mine, ValueStore(path, "model") as theirs:
        counted = Counted()
        reader = CachedGame(counted, theirs, b"row", N)
        reader(everything[:10])
        CachedGame(Counted(), mine, b"row", N)(everything)
        reader(everything)
        assert counted.asked == 10


def test_many_may_open_a_new_file_at_once(tmp_path):
    """The switch to write-ahead logging is not waited for by SQLite itself."""

    def open_one(path, gate):
        gate.wait(20)
        ValueStore(path, "model").close()

    for attempt in range(60):
        gate = threading.Barrier(8)
        with ThreadPoolExecutor(8) as pool:
            opened = [pool.submit(open_one, tmp_path / f"{attempt}.sqlite", gate) for _ in range(8)]
        assert [one.exception() for one in opened] == [None] * 8


def test_a_store_travels_by_its_path(path):
    with ValueStore(path, "model") as store:
        store.append(b"row", pack(enumerate_all(3)), np.arange(8.0))
        with pickle.loads(pickle.dumps(store)) as other:
            (batch,) = other.read(b"row")
            assert np.array_equal(batch.values, np.arange(8.0))
            assert not list(other.read(b"row", after=batch.number))


def test_the_finite_values_of_a_bad_batch_are_kept(path):
    """NaN is raised with its coalitions, and is never stored."""
    broken = Counted(lambda z: np.where(z[:, 0] & z[:, 1], np.nan, GAME(z)))
    everything = enumerate_all(N)
    with ValueStore(path, "model") as store:
        with pytest.raises(GameValueError, match="NaN") as caught:
            CachedGame(broken, store, b"row", N)(everything)
        assert caught.value.failed[:, :2].all()
        healed = Counted()
        assert np.array_equal(CachedGame(healed, store, b"row", N)(everything), GAME(everything))
        assert healed.asked == len(everything) // 4


def test_an_answer_of_another_width_is_not_kept(path):
    """A game that forgets an output once does not spoil its cache."""

    def forgets(coalitions):
        values = np.stack([GAME(coalitions), -GAME(coalitions)], axis=1)
        return values[:, :1] if calls.pop() == 3 else values

    calls = list(range(10, 0, -1))
    options = {"cache": Cache(path, "v1")}
    with pytest.raises(GameShapeError, match="2 outputs a coalition first and 1 output a coalition later"):
        run(forgets, **options)
    calls = [0] * 10
    assert run(forgets, **options).values.shape == (N, 2)
    assert len(calls) == 7  # two batches of five were kept


def damage(path, kind):
    if kind == "header":
        with open(path, "r+b") as file:
            file.write(b"\0" * 64)
    elif kind == "pages":
        with open(path, "r+b") as file:
            file.seek(4096)
            file.write(os.urandom(path.stat().st_size - 4096))
    elif kind == "truncated":
        os.truncate(path, 3000)
    else:  # one value, in a file that SQLite finds healthy
        with sqlite3.connect(path) as connection:
            ((answers,),) = connection.execute("SELECT answers FROM batches LIMIT 1")
            connection.execute("UPDATE batches SET answers = ?", (answers[:-1] + b"\x77",))
        connection.close()


@pytest.mark.parametrize("kind", ["header", "pages", "truncated", "value"])
def test_a_damaged_file_is_set_aside(path, kind):
    """It is reported, kept under another name, and nothing in it is used."""
    everything = enumerate_all(N)
    with ValueStore(path, "model") as store:
        for start in range(0, len(everything), 100):
            CachedGame(Counted(), store, b"row", N)(everything[start : start + 100])
    damage(path, kind)
    counted = Counted()

    def use():
        with ValueStore(path, "model") as store:
            return CachedGame(counted, store, b"row", N)(everything)

    with pytest.warns(PolyshapWarning, match=r"is damaged.*set aside as 'values.sqlite.damaged-"):
        result = use()
    assert np.array_equal(result, GAME(everything))
    assert counted.asked == len(everything)
    assert len(list(path.parent.glob("values.sqlite.damaged-*"))) in (1, 2, 3)
    with ValueStore(path, "model") as store:
        again = Counted()
        CachedGame(again, store, b"row", N)(everything)
        assert again.asked == 0


def test_other_files_are_left_alone(tmp_path):
    """A table or another program's database given by mistake is refused, not renamed."""
    table = tmp_path / "rows.csv"
    table.write_text("a,b\n1,2\n")
    with pytest.raises(FileFormatError, match="something else"):
        ValueStore(table, "model")
    foreign = tmp_path / "other.db"
    with sqlite3.connect(foreign) as connection:
        connection.execute("CREATE TABLE mine (x)")
    connection.close()
    with pytest.raises(FileFormatError, match="another program"):
        ValueStore(foreign, "model")
    assert table.exists()
    assert foreign.exists()


def test_the_wrong_model_is_refused(path):
    """A file belongs to one model; its own name for it is another way to say so."""
    open_cache(path, lambda x: x + 1, "first").close()
    with pytest.raises(CacheMismatchError, match=r"values of this model.*first.*second"):
        open_cache(path, lambda x: x + 2, "second")
    named = path.with_name("named.sqlite")
    open_cache(Cache(named, fingerprint="v1"), lambda x: x + 1).close()
    open_cache(Cache(named, fingerprint="v1"), lambda x: x + 2).close()
    with pytest.raises(CacheMismatchError):
        open_cache(Cache(named, fingerprint="v2"), lambda x: x + 1)


def test_a_folder_has_a_file_for_each_model(tmp_path):
    """A second model in it is warned about, as it may be the first one with another fingerprint."""
    folder = tmp_path / "deep" / "cache"
    open_cache(folder, lambda x: x + 1).close()
    open_cache(folder, lambda x: x + 1).close()  # on another line, but the same code
    with pytest.warns(PolyshapWarning, match="values of 1 other model and none of"):
        open_cache(folder, lambda x: x + 2).close()
    open_cache(folder, lambda x: x + 2).close()
    assert len(list(folder.glob("*.sqlite"))) == 2


def test_what_a_cache_must_be():
    with pytest.raises(ArgumentTypeError, match="a path or a Cache"):
        open_cache(3, None)


def test_a_full_disk_stops_the_writing_not_the_run(path):
    """The values are right, the warning says what is not kept, whole batches stay readable."""
    rng = np.random.default_rng(0)
    with ValueStore(path, "model") as store:
        store._connection.execute("PRAGMA max_page_count = 20")

        def write():
            for number in range(50):
                store.append(b"row", rng.integers(0, 256, (200, 4), dtype=np.uint8), np.full(200, number))

        with pytest.warns(PolyshapWarning, match="cannot be written any more.*full") as seen:
            write()
        assert len(seen) == 1
        numbers = [batch.values[0] for batch in store.read(b"row")]
    assert numbers == list(range(len(numbers)))
    assert 0 < len(numbers) < 50


@pytest.mark.parametrize(
    ("method", "error", "words"),
    [
        ("fetchall", sqlite3.OperationalError("disk I/O error"), "cannot be read any more.*asked for again"),
        ("fetchall", sqlite3.DatabaseError("malformed"), "cannot be used any more"),
        ("execute", sqlite3.OperationalError("disk I/O error"), "cannot be (read|written) any more"),
    ],
)
def test_a_cache_that_fails_costs_the_cache_not_the_run(path, monkeypatch, method, error, words):
    """The disk goes away: values are right, nothing that was finished is lost, and it is said."""

    class Failing:
        def __init__(self, connection):
            self.connection = connection

        def execute(self, *arguments):
            if method == "execute":
                raise error
            self.cursor = self.connection.execute(*arguments)
            return self

        def fetchall(self):
            raise error

        def __enter__(self):
            return self.connection.__enter__()

        def __exit__(self, *exception):
            return self.connection.__exit__(*exception)

        def close(self):
            self.connection.close()

    def denied(*names):
        raise PermissionError("read-only")

    with ValueStore(path, "model") as store:
        run(CachedGame(Counted(), store, b"row 0", N))
        store._connection = Failing(store._connection)
        monkeypatch.setattr("os.replace", denied)
        with pytest.warns(PolyshapWarning, match=words):
            found = run(CachedGame(Counted(), store, b"row 0", N))
    assert np.array_equal(found.values, run(GAME).values)


def test_a_place_that_cannot_be_written(tmp_path):
    """Said before anything is asked."""
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(StorageError, match="must be a place that can be written"):
        open_cache(blocked / "cache", lambda x: x)
