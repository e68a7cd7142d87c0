"""The runner on a small task: resumable, independent of the processes, honest about what it skips."""

import importlib
import itertools
import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

from polyshap.benchmark import Job, Plan, expected_seconds, read_records, run, select_tasks
from polyshap.benchmark.data import load_instances
from polyshap.benchmark.methods import PAPER_METHODS, skip_reason
from polyshap.benchmark.tasks import TASKS, get_task
from polyshap.errors import ArgumentError, MissingDataError
from polyshap.games import TableGame, save_table, tabulate
from tables import synthetic_games

# the package's `run` is the function
run_module = importlib.import_module("polyshap.benchmark.run")


@pytest.fixture(scope="module")
def small_data(tmp_path_factory):
    """A data folder whose ViT9 tables are synthetic games of nine players."""
    folder = tmp_path_factory.mktemp("data")
    (folder / "games" / "vit9").mkdir(parents=True)
    for number in range(1, 31):
        game = synthetic_games(9, seed=number)["k-additive"]
        save_table(tabulate(game, 9), folder / "games" / "vit9" / f"{number:02d}.npz")
    return folder


@pytest.fixture
def vit9(small_data, monkeypatch):
    """The task on that data; what was loaded from elsewhere is forgotten, before and after."""
    monkeypatch.setenv("POLYSHAP_DATA", str(small_data))
    load_instances.cache_clear()
    yield get_task("ViT9")
    load_instances.cache_clear()


def plan_of(task, **changes):
    options = {"methods": ("polyshap-1", "msr"), "n_instances": 2, "budgets": (2, 5), **changes}
    return Plan((task,), **options)


def without_times(path):
    """The records by key, but for what a clock says."""
    return {record.key: (record.values, record.metrics, record.skipped) for record in read_records(path)}


def test_a_plan_is_run_once(vit9, tmp_path):
    """Every combination has a record, right as to its metrics; a second run computes nothing."""
    path = tmp_path / "records.jsonl"
    plan = plan_of(vit9, seeds=(1, 2))
    assert run(plan, path) == 2 * 2 * 2 * 2 * 2
    before = path.read_bytes()
    assert run(plan, path) == 0
    assert expected_seconds(plan, path) == 0
    assert path.read_bytes() == before
    exact = load_instances("ViT9").exact
    for record in read_records(path):
        errors = np.array(record.values) - exact[record.instance]
        assert record.metrics["mse"] == pytest.approx(np.mean(errors**2))
        assert record.n_evaluations <= record.budget
        assert set(record.seconds) == {"draw", "evaluate", "fit"}


def test_a_shorter_run_goes_on(vit9, tmp_path):
    """Half of the records, a cut line, and the rest: the same as in one go."""
    once, twice = tmp_path / "once.jsonl", tmp_path / "twice.jsonl"
    run(plan_of(vit9), once)
    run(plan_of(vit9, budgets=(2,)), twice)
    twice.write_bytes(twice.read_bytes()[:-7])
    run(plan_of(vit9), twice)
    assert without_times(once) == without_times(twice)


def test_results_do_not_depend_on_the_number_of_processes(vit9, tmp_path):
    """Two processes write the records that one writes."""
    for n_jobs in (1, 2):
        run(plan_of(vit9), tmp_path / f"{n_jobs}.jsonl", n_jobs=n_jobs)
    assert without_times(tmp_path / "1.jsonl") == without_times(tmp_path / "2.jsonl")


def test_processes_get_the_costliest_task_first():
    """What is left for the end is short; a task stays in one piece, for its instances are loaded once."""
    plan = Plan(select_tasks(["Housing", "Crime", "Cancer"]), ("polyshap-1", "msr"), n_instances=2)
    jobs = run_module._longest_first(list(plan.jobs()))
    assert sorted(jobs, key=repr) == sorted(plan.jobs(), key=repr)
    assert [task for task, _ in itertools.groupby(jobs, lambda job: job.task)] == [
        "Crime",
        "Cancer",
        "Housing",
    ]


def test_seeds_are_own_or_shared(vit9, tmp_path, monkeypatch):
    """Own seeds draw anew for each instance, a shared one gives all instances the same coalitions."""
    asked = []  # the coalitions of each estimate, in as many calls as it makes
    original = run_module.polyshap.estimate

    def spy(game, *args, **options):
        calls = []
        result = original(lambda z: calls.append(z.copy()) or game(z), *args, **options)
        asked.append(np.concatenate(calls))
        return result

    monkeypatch.setattr(run_module.polyshap, "estimate", spy)
    options = {"methods": ("polyshap-1",), "paired": (True,), "budgets": (4,)}
    run(plan_of(vit9, **options), tmp_path / "own.jsonl")
    assert len(asked) == 2
    assert not np.array_equal(asked[0], asked[1])
    asked.clear()
    run(plan_of(vit9, **options, seeding="shared"), tmp_path / "shared.jsonl")
    assert len(asked) == 1  # both instances at once
    exact = load_instances("ViT9").exact
    for record in read_records(tmp_path / "shared.jsonl"):
        assert np.sum(record.values) == pytest.approx(exact[record.instance].sum())


def test_methods_share_coalitions(vit9, tmp_path):
    """So that paired 1- and 2-PolySHAP, which are equal in theory, are equal in the records."""
    path = tmp_path / "records.jsonl"
    run(plan_of(vit9, methods=("polyshap-1", "polyshap-2"), paired=(True,), budgets=(7,)), path)
    values = [np.array(record.values) for record in sorted(read_records(path), key=lambda r: r.key)]
    assert values[0] == pytest.approx(values[1], abs=1e-10)


def test_a_method_skips_with_a_reason(vit9, tmp_path):
    """Too small a budget is a record with the reason, not a gap."""
    path = tmp_path / "records.jsonl"
    run(plan_of(vit9, methods=("polyshap-3",), budgets=(2,)), path)
    assert {record.skipped for record in read_records(path)} == {"129 terms need a budget of at least 129"}


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("polyshap-3", True, 30, 4750), "4090 odd terms need 4090 pairs, so a budget of 8182"),
        (("polyshap-3", False, 30, 4750), None),
        (("polyshap-3", True, 60, 20_000), "all terms of this order are run for at most 30 players"),
        (("polyshap-4", True, 30, 20_000), "all terms of this order are run for at most 20 players"),
        (("polyshap-3-log", True, 60, 10_508), None),
        (("adaptive", False, 30, 4750), "adaptive draws coalitions in pairs only"),
        (("polyshap-4", True, 8, 256), None),
    ],
)
def test_reasons_to_skip(arguments, reason):
    """The paper's limits, and fits without enough equations."""
    assert skip_reason(*arguments) == reason


def test_unknown_names_get_the_nearest(vit9):
    """A misspelt game or estimator is answered with what was probably meant."""
    with pytest.raises(ArgumentError, match=r"Got 'Housin'. Did you mean 'Housing'"):
        select_tasks(["Housin"])
    with pytest.raises(ArgumentError, match=r"Got 'permutatoin'. Did you mean 'permutation'"):
        Plan((vit9,), ("permutatoin",))
    with pytest.raises(ArgumentError, match=r"`n_instances` must lie in 1..30"):
        plan_of(vit9, n_instances=31)
    assert select_tasks(["ViT9", "vit9"]) == (vit9,)  # once is enough


def test_missing_data_says_what_to_do(monkeypatch, tmp_path):
    """Where it was looked for, and where to put it."""
    monkeypatch.setenv("POLYSHAP_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    load_instances.cache_clear()
    with pytest.raises(
        MissingDataError, match=r"01.npz.*polyshap bench cifar10 MODEL IMAGES.*set POLYSHAP_DATA"
    ):
        load_instances("CIFAR10")
    with pytest.raises(
        MissingDataError, match=r"vit9/01.npz is in none.*github.com/mmschlk/shapiq.*put it at"
    ):
        load_instances("ViT9")
    load_instances.cache_clear()


def test_a_failing_estimate_keeps_what_was_done(vit9, tmp_path, monkeypatch):
    """An error in the middle leaves the records before it."""
    path = tmp_path / "records.jsonl"
    counter = itertools.count()
    original = run_module.execute
    monkeypatch.setattr(run_module, "execute", lambda job: original(job) if next(counter) < 3 else 1 / 0)
    with pytest.raises(ZeroDivisionError):
        run(plan_of(vit9), path)
    assert len(list(read_records(path))) == 3


def group_is_alive(group):
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="no process groups on this platform")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_leaves_a_file_that_goes_on(vit9, small_data, tmp_path, n_jobs):
    """An interruption ends the run and its processes with 130; the file can be read and continued."""
    path = tmp_path / "records.jsonl"
    script = textwrap.dedent(
        f"""
        from polyshap.benchmark.command import run
        raise SystemExit(run(["bench", "paper", "--tasks", "ViT9", "--methods", "polyshap-1,polyshap-3",
            "--records", {str(path)!r}, "--out", {str(tmp_path)!r}, "--jobs", "{n_jobs}", "--seeds", "50"]))
        """
    )
    environment = {**os.environ, "POLYSHAP_DATA": str(small_data)}
    process = subprocess.Popen(
        [sys.executable, "-c", script], env=environment, start_new_session=True, stderr=subprocess.PIPE
    )
    deadline = time.monotonic() + 100
    while not (path.exists() and path.stat().st_size > 2000) and time.monotonic() < deadline:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)  # what a terminal does
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"run the same command to go on" in errors
    assert len(list(read_records(path))) > 0
    while group_is_alive(process.pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not group_is_alive(process.pid)  # no worker is left


def test_tasks_are_those_of_the_paper():
    """Fifteen games; budgets rise from n + 1 to at most 20,000 and all coalitions."""
    assert len(TASKS) == 15
    for task in TASKS.values():
        assert len(task.budgets) == 10
        assert task.budgets[0] == task.n_players + 1
        assert task.budgets[-1] == min(2**task.n_players, 20_000)
        assert task.table_budget in task.budgets


def test_jobs_name_their_records():
    """A joint job has a key for each of its instances."""
    job = Job("ViT9", "msr", True, 24, 40, "shared", (0, 3))
    assert [key[:2] for key in job.keys] == [("ViT9", 0), ("ViT9", 3)]
    assert set(PAPER_METHODS) >= {"permutation", "polyshap-3", "adaptive"}


def test_tables_of_data_are_checked(small_data, tmp_path, monkeypatch):
    """A stored table of another size is found out when it is used, not later."""
    folder = tmp_path / "games" / "vit9"
    folder.mkdir(parents=True)
    for number in range(1, 31):
        save_table(TableGame(np.zeros(2**8)), folder / f"{number:02d}.npz")
    monkeypatch.setenv("POLYSHAP_DATA", str(tmp_path))
    load_instances.cache_clear()
    with pytest.raises(ArgumentError, match=r"ViT9 .* 9 players.* Got 8"):
        load_instances("ViT9")
    load_instances.cache_clear()
