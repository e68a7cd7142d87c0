"""Runs that are killed, interrupted, or short of disk: nothing that was paid for is lost."""

import os
import signal
import subprocess

import numpy as np
import pytest

import polyshap
from execution.watchdog import finish, start, wait_for, watchdog
from polyshap.errors import GameRaisedError, GameShapeError, GameValueError

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs signals and groups of processes")

# A game that writes down what it is asked, one byte a coalition, and is slow enough to be killed.
GAME = """
import sys, time
import numpy as np
import polyshap

folder = sys.argv[1]
with open(folder + "/pause", "w") as file:
    file.write(sys.argv[2])
options = eval(sys.argv[3])

def game(z):
    with open(folder + "/asked", "ab", buffering=0) as log:
        log.write(b"x" * len(z))
    with open(folder + "/pause") as file:  # not a variable: it would belong to the model's fingerprint
        time.sleep(float(file.read()))
    return np.cos(z @ np.arange(1.0, 13.0)) + z[:, 0]

def run(**more):
    return polyshap.estimate(game, 12, 400, "polyshap-2", random_state=0, batch_size=10, **options, **more)
"""
SAVE = "\nnp.save(folder + '/values.npy', run().values)"


def asked(folder):
    path = folder / "asked"
    return path.stat().st_size if path.exists() else 0


def plain(tmp_path):
    """Values of an undisturbed run."""
    folder = tmp_path / "plain"
    folder.mkdir()
    finish(start(GAME + SAVE, folder, 0, "{}"))
    return np.load(folder / "values.npy")


@pytest.mark.parametrize(
    "extra",
    ["", pytest.param(", n_jobs=2", marks=pytest.mark.slow)],
    ids=["serial", "two processes"],
)
def test_a_killed_run_goes_on_where_it_was(tmp_path, extra):
    """SIGKILL at any moment; the next run repeats at most the batches that were out, to the same bits."""
    options = f"dict(cache=folder + '/cache'{extra})"
    out = 4 if extra else 1  # batches that can be out at a time
    kills = 0
    for moment in (40, 130, 250):
        process = start(GAME + SAVE, tmp_path, 0.05, options)
        wait_for(lambda moment=moment: asked(tmp_path) >= moment, process)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        kills += 1
    finish(start(GAME + SAVE, tmp_path, 0.0, options))
    assert asked(tmp_path) <= 400 + kills * 10 * out
    assert np.array_equal(np.load(tmp_path / "values.npy"), plain(tmp_path))
    before = asked(tmp_path)
    finish(start(GAME + SAVE, tmp_path, 0.0, options))
    assert asked(tmp_path) == before


def test_two_processes_share_a_cache(tmp_path):
    """Both run at once; neither breaks the other, and a third asks nothing."""
    options = "dict(cache=folder + '/cache')"
    for process in [start(GAME + SAVE, tmp_path, 0.01, options) for _ in range(2)]:
        finish(process)
    assert 400 <= asked(tmp_path) <= 800
    before = asked(tmp_path)
    finish(start(GAME + SAVE, tmp_path, 0.0, options))
    assert asked(tmp_path) == before


@pytest.mark.parametrize(
    "options",
    ["dict()", pytest.param("dict(n_jobs=2)", marks=pytest.mark.slow)],
    ids=["serial", "two processes"],
)
def test_ctrl_c_stops_within_a_batch_and_keeps_the_values(tmp_path, options):
    script = GAME + (
        "\ntry:\n    run()\n"
        "except KeyboardInterrupt as error:\n"
        "    z, v = error.observed[0]\n"
        "    assert np.array_equal(np.cos(z @ np.arange(1.0, 13.0)) + z[:, 0], v)\n"
        "    print(type(error).__name__, len(v))\n"
    )
    process = start(script, tmp_path, 0.3, options)
    wait_for(lambda: asked(tmp_path) >= 60, process)
    before = asked(tmp_path)
    os.killpg(process.pid, signal.SIGINT)  # what a terminal does: to the whole group
    name, seen = finish(process, 30).split()
    assert name == "InterruptedRun"
    assert int(seen) >= before - 40
    assert asked(tmp_path) <= before + 40


def nothing(z):
    raise ConnectionError("the line is dead")


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        (nothing, GameRaisedError, "raised ConnectionError on coalitions 999..999: the line is dead"),
        (lambda z: np.full(len(z), np.nan), GameValueError, "NaN or infinity for 1 of 1 coalitions"),
        (lambda z: np.zeros(2 * len(z)), GameShapeError, r"must return shape \(1,\)"),
        (lambda z: np.zeros((len(z), 2)), GameShapeError, "one number a coalition first and 2 outputs"),
        (lambda z: ["garbage"] * len(z), GameShapeError, "must return numbers"),
        (lambda z: None, GameShapeError, r"must return shape \(1,\)"),
    ],
    ids=["raises", "NaN", "too many", "wider", "words", "nothing"],
)
def test_garbage_at_call_one_thousand(tmp_path, answer, kind, words):
    """999 values are on the exception and in the cache; the next run asks for the other 501."""
    calls = [0]

    def game(z):
        calls[0] += 1
        return answer(z) if calls[0] == 1000 else np.cos(z @ np.arange(1.0, 13.0))

    def run(**options):
        return polyshap.estimate(game, 12, 1500, "polyshap-2", random_state=0, batch_size=1, **options)

    for options in ({}, {"cache": polyshap.execution.Cache(tmp_path, "a game")}):
        calls[0] = 0
        with pytest.raises(kind, match=words) as caught:
            run(**options)
        coalitions, values = caught.value.observed[0]
        assert np.array_equal(values, np.cos(coalitions @ np.arange(1.0, 13.0)))
        assert len(values) == 999
    assert np.array_equal(run(**options).values, run().values)
    assert calls[0] == 1000 + 501 + 1500


@pytest.mark.slow
def test_a_killed_worker_costs_one_chunk(tmp_path):
    """kill -9 of a busy worker: the pool is made again and the bits are those of the serial run."""
    script = GAME + (
        "\nimport os\n"
        "def dying(z, run=[0]):\n"
        "    mark = folder + '/died'\n"
        "    if asked() > 100 and not os.path.exists(mark):\n"
        "        open(mark, 'w').close()\n"
        "        os.kill(os.getpid(), 9)\n"
        "    return game(z)\n"
        "def asked():\n"
        "    path = folder + '/asked'\n"
        "    return os.path.getsize(path) if os.path.exists(path) else 0\n"
        "e = polyshap.estimate(dying, 12, 400, 'polyshap-2', random_state=0, batch_size=10, n_jobs=2)\n"
        "np.save(folder + '/values.npy', e.values)\n"
    )
    finish(start(script, tmp_path, 0.0, "{}"))
    assert (tmp_path / "died").exists()
    assert asked(tmp_path) <= 400 + 4 * 10
    assert np.array_equal(np.load(tmp_path / "values.npy"), plain(tmp_path))


@pytest.mark.slow
def test_a_model_that_hangs_is_ended(tmp_path):
    """In C or in Python: its process ends, the call is made again, the third time it is an error."""
    script = GAME + (
        "\nimport os\n"
        "def hanging(z):\n"
        "    if z[:, :3].all(axis=1).any():\n"
        "        time.sleep(3600)\n"
        "    return game(z)\n"
        "try:\n"
        "    polyshap.estimate(hanging, 12, 100, 'polyshap-1', random_state=0, batch_size=10, n_jobs=2,"
        " timeout=0.5)\n"
        "except polyshap.errors.WorkerError as error:\n"
        "    print(error)\n"
    )
    out = finish(start("import polyshap.errors" + script, tmp_path, 0.0, "{}"))
    assert "took longer than 0.5 s, 3 times" in out
    assert "in hanging" in out


def test_waits_between_attempts_do_not_count_as_time_of_a_call(tmp_path):
    """A service that fails twice and answers at once: the limit is for each call."""
    rng = np.random.default_rng(0)
    rows, background = rng.standard_normal((2, 5)), rng.standard_normal((4, 5))
    folder = str(tmp_path)

    def flaky(rows):
        mark = os.path.join(folder, f"asked-{len(rows)}")
        with open(mark, "a") as log:
            log.write("x")
        if os.path.getsize(mark) <= 2:
            raise ConnectionError("busy")
        return rows.sum(axis=1)

    with watchdog(120):
        x = polyshap.explain(
            flaky,
            rows,
            background,
            budget=32,  # all coalitions: exact
            random_state=0,
            n_jobs=2,
            timeout=1.0,
            retries=polyshap.execution.Retries(3, wait=1.2),
        )
    np.testing.assert_allclose(x.values, rows - background.mean(axis=0), atol=1e-9)


def test_a_read_only_folder_is_said_before_anything_is_asked(tmp_path):
    """As an ordinary user: root may write everywhere."""
    if os.geteuid() == 0 and not hasattr(os, "setuid"):
        pytest.skip("cannot become an ordinary user")
    cache = tmp_path / "cache"
    cache.mkdir()
    cache.chmod(0o555)
    log = tmp_path / "log"
    log.mkdir()
    for folder in (tmp_path, *tmp_path.parents[:2], log):
        folder.chmod(0o777)
    script = (
        "import os, cloudpickle\nif os.geteuid() == 0:\n    os.setgid(65534); os.setuid(65534)\n"
        + GAME
        + "\ntry:\n    run()\nexcept polyshap.errors.StorageError as error:\n    print(error)\n"
    )
    out = finish(start(f"import polyshap.errors\n{script}", log, 0.0, f"dict(cache={str(cache)!r})"))
    assert "must be a place that can be written" in out
    assert asked(log) == 0


def test_a_full_disk_costs_the_cache_not_the_run(tmp_path):
    """A file system of 1 MiB: the values come out right, with a warning; what was written is used."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip("needs the right to mount a small file system")
    try:
        (disk / "ballast").write_bytes(b"x" * 960_000)
        options = f"dict(cache={str(disk)!r} + '/cache')"
        process = start(GAME + SAVE, tmp_path, 0.0, options)
        _, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        assert "cannot be written any more" in err
        assert np.array_equal(np.load(tmp_path / "values.npy"), plain(tmp_path))
        (disk / "ballast").unlink()
        before = asked(tmp_path)
        finish(start(GAME + SAVE, tmp_path, 0.0, options))
        assert before < asked(tmp_path) + 400
    finally:
        subprocess.run(["umount", str(disk)], check=True)
