"""Parts: the same numbers however rows are cut, files that are complete or absent, runs that go on."""

import json
import os
import pickle
import subprocess
import sys
import threading
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest

import polyshap
from polyshap.errors import (
    ArgumentError,
    CacheMismatchError,
    FileFormatError,
    GameRaisedError,
    PolyshapWarning,
    StorageError,
    WorkerError,
)
from polyshap.execution import Retries
from polyshap.execution.part_files import PartFolder
from polyshap.rows import parts

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
pandas = pytest.importorskip("pandas")

RNG = np.random.default_rng(0)
NAMES = ["age", "rooms", "price", "floor", "lift"]
ROWS = pandas.DataFrame(RNG.standard_normal((30, 5)), columns=NAMES)
BACKGROUND = pandas.DataFrame(RNG.standard_normal((10, 5)), columns=NAMES)


def model(rows):
    values = np.asarray(rows, dtype=float)
    return values[:, 0] * values[:, 1] + values @ np.arange(1.0, 6.0)


def two(rows):
    return np.stack([model(rows), -model(rows)], axis=1)


OPTIONS = {"budget": 22, "random_state": 0}


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(parts, "PART_ROWS", 8)


@pytest.fixture
def files(tmp_path):
    """Three files with 10 rows each, one of them in two row groups, and a column that no model asks for."""
    folder = tmp_path / "rows"
    folder.mkdir()
    for number in range(3):
        table = ROWS.iloc[10 * number : 10 * number + 10].assign(key=str(number))
        parquet.write_table(
            pyarrow.Table.from_pandas(table), folder / f"{number}.parquet", row_group_size=10 - 4 * number
        )
    return str(folder / "*.parquet")


def gathered(found):
    return pandas.concat([table.to_pandas() for table in found], ignore_index=True)


@pytest.mark.parametrize("estimator", ["auto", "adaptive", "polyshap-2", "permutation"])
def test_files_and_tables_give_the_same_numbers(tmp_path, files, estimator):
    """As one explanation of all rows gives; parts follow the row groups and are never longer than set."""
    options = OPTIONS | {"estimator": estimator, "shared": True}
    whole = polyshap.explain(model, ROWS, BACKGROUND, **options)
    for number, X in enumerate((files, ROWS, [files])):
        found = polyshap.explain(model, X, BACKGROUND, out=tmp_path / str(number), **options)
        table = gathered(found)
        values = table[[f"shap_{name}" for name in NAMES]].to_numpy()
        np.testing.assert_allclose(values, whole.values, rtol=0, atol=1e-12)
        np.testing.assert_allclose(table["prediction"], whole.predictions, atol=1e-12)
        errors = table[[f"error_{name}" for name in NAMES]].to_numpy()
        if whole.standard_errors is None:
            assert np.isnan(errors).all()
        else:
            np.testing.assert_allclose(errors, whole.standard_errors, rtol=0, atol=1e-9)
        assert found.n_rows == 30
        assert all(len(part) <= 8 for part in found)


def test_another_run_computes_what_is_missing(tmp_path, files):
    """To the same bytes, with the same seed although none was given."""
    out = tmp_path / "out"
    first = polyshap.explain(model, files, BACKGROUND, budget=22, out=out)
    before = {file: file.read_bytes() for file in first.files}
    first.files[1].unlink()
    (out / ".part-000001.parquet.77").write_bytes(b"half a part")
    with ProcessPoolExecutor(2) as executor:
        second = polyshap.explain(model, files, BACKGROUND, budget=22, out=out, executor=executor)
    assert (first.n_computed, second.n_computed) == (len(first.files), 1)
    assert {file: file.read_bytes() for file in second.files} == before


def test_a_folder_belongs_to_one_run(tmp_path, files):
    out = tmp_path / "out"
    polyshap.explain(model, files, BACKGROUND, out=out, **OPTIONS)
    for changes, name in (
        ({"budget": 20}, "budget"),
        ({"random_state": 1}, "random_state"),
        ({"estimator": "polyshap-1"}, "estimator"),
    ):
        with pytest.raises(CacheMismatchError, match=f"another {name}"):
            polyshap.explain(model, files, BACKGROUND, out=out, **(OPTIONS | changes))
    with pytest.raises(CacheMismatchError, match="another model"):
        polyshap.explain(two, files, BACKGROUND, out=out, **OPTIONS)
    with pytest.raises(CacheMismatchError, match="another rows"):
        polyshap.explain(model, ROWS, BACKGROUND, out=out, **OPTIONS)


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"X": ROWS + 1}, "rows"),
        ({"background": BACKGROUND + 1}, "background or imputer"),
        ({"imputer": "gaussian-10"}, "background or imputer"),
        ({"weights": np.arange(1.0, 11.0)}, "background or imputer"),
        ({"outputs": 1}, "outputs"),
        ({"independent_designs": True}, "independent_designs"),
        ({"groups": {"a": NAMES[:2], "b": NAMES[2:]}}, "features"),
    ],
)
def test_what_changes_the_numbers_makes_another_run(tmp_path, changes, name):
    """Parts of one run never stand beside those of another, though these have as many rows."""
    options = {"X": ROWS, "background": BACKGROUND, "out": tmp_path, "outputs": 0} | OPTIONS
    polyshap.explain(two, **options)
    with pytest.raises(CacheMismatchError, match=f"another [^.]*{name}"):
        polyshap.explain(two, **(options | changes))


def test_rows_of_a_file_that_changed_are_another_run(tmp_path, files):
    """Other numbers in the same places, though nothing else of the file is another."""
    out = tmp_path / "out"
    polyshap.explain(model, files, BACKGROUND, out=out, **OPTIONS)
    file = tmp_path / "rows" / "0.parquet"
    table = pandas.read_parquet(file)
    pyarrow_table = pyarrow.Table.from_pandas(table.iloc[::-1])
    parquet.write_table(pyarrow_table, file, row_group_size=10)
    with pytest.raises(CacheMismatchError, match="another rows"):
        polyshap.explain(model, files, BACKGROUND, out=out, **OPTIONS)


def test_what_changes_no_number_goes_on(tmp_path, files):
    """How often to try, where to run, how much at a time."""
    out = tmp_path / "out"
    polyshap.explain(model, files, BACKGROUND, out=out, **OPTIONS)
    for more in ({"retries": 2}, {"batch_size": 7}, {"max_memory": 1 << 24}):
        assert polyshap.explain(model, files, BACKGROUND, out=out, **OPTIONS, **more).n_computed == 0


def test_a_model_that_cannot_be_told_from_others_is_said(tmp_path):
    """Without a fingerprint nobody can refuse another version of it."""
    lock = threading.Lock()
    with pytest.warns(PolyshapWarning, match=r"cannot be pickled, so parts of another version"):
        found = polyshap.explain(
            lambda rows: model(rows) * (not lock.locked()), ROWS, BACKGROUND, out=tmp_path, **OPTIONS
        )
    assert found.n_rows == 30


def test_two_runs_that_begin_a_folder_at_once(tmp_path):
    """The second to write the manifest is the one that is refused; nothing of the first is overwritten."""
    folder = PartFolder(tmp_path)
    real = PartFolder._refuse_parts

    def meanwhile(self):
        PartFolder._refuse_parts = real
        folder.claim({"random_state": 1})

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PartFolder, "_refuse_parts", meanwhile)
        with pytest.raises(CacheMismatchError, match="another random_state"):
            folder.claim({"random_state": 2})
    assert folder.about() == {"random_state": 1}
    assert [one.name for one in tmp_path.iterdir()] == ["manifest.json"]


@pytest.mark.parametrize("where", ["out", "partition"])
def test_asynchronous_and_flaky_models(tmp_path, where):
    """Retries and requests in flight go along to the parts, and to what they share."""
    calls = []

    async def flaky(rows):
        calls.append(len(rows))
        if len(calls) in (1, 4, 9):
            raise ConnectionError("busy")
        return model(rows)

    options = OPTIONS | {"retries": Retries(2, wait=0.0), "max_concurrency": 2}
    if where == "out":
        table = gathered(polyshap.explain(flaky, ROWS, BACKGROUND, out=tmp_path, **options))
    else:
        table = polyshap.Explainer(flaky, BACKGROUND, **options).partition(ROWS)
    plain = polyshap.explain(model, ROWS, BACKGROUND, shared=True, **OPTIONS)
    assert len(calls) > 9
    np.testing.assert_allclose(table[[f"shap_{name}" for name in NAMES]], plain.values, atol=1e-12)


def test_independent_designs_are_independent_in_parts_too(tmp_path):
    options = OPTIONS | {"independent_designs": True}
    plain = polyshap.explain(model, ROWS, BACKGROUND, **options)
    table = gathered(polyshap.explain(model, ROWS, BACKGROUND, out=tmp_path, **options))
    np.testing.assert_allclose(table[[f"shap_{name}" for name in NAMES]], plain.values, atol=1e-12)


def test_what_is_not_ours_in_the_folder(tmp_path, files):
    """Parts of an unknown run are refused, so is a manifest that cannot be read; neither is changed."""
    out = tmp_path / "out"
    out.mkdir()
    (out / "part-000000.parquet").write_bytes(b"somebody's")
    with pytest.raises(CacheMismatchError, match=r"holds parts without manifest.json"):
        polyshap.explain(model, files, BACKGROUND, out=out, **OPTIONS)
    (out / "manifest.json").write_text('{"random_')
    with pytest.raises(FileFormatError, match=r"manifest.json.*cannot be read"):
        polyshap.explain(model, files, BACKGROUND, out=out, **OPTIONS)
    assert sorted(one.name for one in out.iterdir()) == ["manifest.json", "part-000000.parquet"]


def test_a_damaged_part_is_set_aside_and_made_again(tmp_path, files):
    """Cut off, or with another number of rows: reported, kept under another name, computed anew."""
    out = tmp_path / "out"
    first = polyshap.explain(model, files, BACKGROUND, out=out, **OPTIONS)
    before = [file.read_bytes() for file in first.files]
    os.truncate(first.files[0], 50)
    first.files[1].write_bytes(before[2])
    with pytest.warns(PolyshapWarning, match="2 of the parts.*are damaged"):
        second = polyshap.explain(model, files, BACKGROUND, out=out, **OPTIONS)
    assert second.n_computed == 2
    assert [file.read_bytes() for file in second.files] == before
    assert len(list(out.glob("*.damaged-*"))) == 2


def refuses(rows):
    values = model(rows)
    if (np.asarray(rows, dtype=float)[:, 2] == ROWS["price"][12]).any():
        raise ConnectionError("the line is dead")
    return values


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_a_part_that_fails_is_named(tmp_path, files, n_jobs):
    """By its file and rows, with the row that failed; parts that were done stay."""
    with pytest.raises(GameRaisedError, match="the line is dead") as caught:
        polyshap.explain(refuses, files, BACKGROUND, out=tmp_path / "out", n_jobs=n_jobs, **OPTIONS)
    assert caught.value.row == 2
    assert any("rows 0..5 of " in note and "1.parquet" in note for note in caught.value.__notes__)
    again = polyshap.explain(model, ROWS, BACKGROUND, out=tmp_path / "other", **OPTIONS)
    assert again.n_computed == 4


def test_a_part_that_ends_its_worker_is_named(tmp_path, files):
    def dies(rows):
        if (np.asarray(rows, dtype=float)[:, 2] == ROWS["price"][12]).any():
            os._exit(1)
        return model(rows)

    with pytest.raises(WorkerError, match=r"Chunk 2 \(rows 0..5 of .*1.parquet.*\) ended its worker 3 times"):
        polyshap.explain(dies, files, BACKGROUND, out=tmp_path / "out", n_jobs=2, **OPTIONS)


def test_bad_places(tmp_path, files):
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(StorageError, match="`out` must be a folder that can be written"):
        polyshap.explain(model, files, BACKGROUND, out=blocked / "out", **OPTIONS)
    with pytest.raises(ArgumentError, match="matches none"):
        polyshap.explain(model, str(tmp_path / "no*.parquet"), BACKGROUND, out=tmp_path / "out", **OPTIONS)
    with pytest.raises(ArgumentError, match="Give out='folder/'"):
        polyshap.explain(model, files, BACKGROUND, **OPTIONS)
    with pytest.raises(ArgumentError, match="`cache` must be left out"):
        polyshap.explain(model, files, BACKGROUND, out=tmp_path / "o", cache=tmp_path / "c", **OPTIONS)


@pytest.mark.parametrize("estimator", ["auto", "polyshap-2"])
def test_partitions_do_not_matter(estimator):
    """Any cut, and an explainer that was pickled, give what one call gives; empty partitions are fine."""
    explainer = polyshap.Explainer(two, BACKGROUND, budget=22, estimator=estimator)
    whole = explainer.partition(ROWS, keep=["age"])
    travelled = pickle.loads(pickle.dumps(explainer))
    for cuts in ([5, 6, 20], [1], list(range(1, 30)), [0, 30]):
        frames = [ROWS.iloc[a:b] for a, b in zip([0, *cuts], [*cuts, 30], strict=True)]
        cut = [travelled.partition(frame, keep=["age"]) for frame in frames]
        assert all(list(one.columns) == list(whole.columns) for one in cut)
        joined = pandas.concat([one for one in cut if len(one)], ignore_index=True)
        np.testing.assert_allclose(joined.to_numpy(float), whole.to_numpy(float), rtol=0, atol=1e-12)
    streamed = list(travelled.partition(iter([ROWS.iloc[:3], ROWS.iloc[3:]])))
    assert [len(one) for one in streamed] == [3, 27]
    assert list(whole["age"]) == list(ROWS["age"])


def test_partitions_of_other_libraries():
    """The answer is of the kind of the question."""
    polars = pytest.importorskip("polars")
    wanted = polyshap.Explainer(model, BACKGROUND, **OPTIONS).partition(ROWS).to_numpy()
    for rows, background in (
        (ROWS.to_numpy(), BACKGROUND.to_numpy()),
        (polars.from_pandas(ROWS), polars.from_pandas(BACKGROUND)),
        (pyarrow.Table.from_pandas(ROWS), pyarrow.Table.from_pandas(BACKGROUND)),
    ):
        found = polyshap.Explainer(lambda rows: model(np.column_stack([*rows]) if hasattr(
            rows, "num_columns") else rows), background, **OPTIONS).partition(rows)  # fmt: skip
        assert type(found) is type(rows)
        # sums in another order, and a fit that started from them: other last bits, amplified
        np.testing.assert_allclose(np.asarray(found, dtype=float), wanted, atol=1e-4)


def test_the_schema_for_spark_names_the_columns():
    explainer = polyshap.Explainer(two, BACKGROUND, output_names=["a", "b`c"], **OPTIONS)
    schema = explainer.spark_schema({"age": "double"})
    names = [part.rsplit(" ", 1)[0].strip("`").replace("``", "`") for part in schema.split(", ")]
    assert names == list(explainer.partition(ROWS, keep=["age"]).columns)
    assert "`prediction|b``c` double" in schema


def test_arrays_read_their_columns_in_order(tmp_path, files):
    """A background without names takes all columns of the files, as they stand."""
    folder = tmp_path / "plain"
    folder.mkdir()
    parquet.write_table(pyarrow.Table.from_pandas(ROWS), folder / "rows.parquet")
    found = polyshap.explain(
        model, str(folder / "*.parquet"), BACKGROUND.to_numpy(), out=tmp_path / "out", **OPTIONS
    )
    whole = polyshap.explain(model, ROWS.to_numpy(), BACKGROUND.to_numpy(), shared=True, **OPTIONS)
    np.testing.assert_allclose(gathered(found).to_numpy()[:, :5], whole.values, atol=1e-12)


def test_a_killed_run_leaves_whole_parts(tmp_path, files):
    """kill -9 of the run in the middle of a part: what is there is readable, the rest is done by the next."""
    out = tmp_path / "out"
    script = (
        "import sys, os, polyshap, numpy as np, pandas\n"
        "from polyshap.rows import parts\n"
        "parts.PART_ROWS = 8\n"
        "files, out = sys.argv[1:]\n"
        "background = pandas.DataFrame(np.zeros((1, 5)), columns=" + repr(NAMES) + ")\n"
        "def model(rows):\n"
        "    if os.path.exists(out + '/part-000002.parquet'):\n"
        "        os.kill(os.getpid(), 9)\n"
        "    return np.asarray(rows, dtype=float).sum(axis=1)\n"
        "polyshap.explain(model, files, background, budget=22, out=out)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, files, str(out)], check=False, timeout=120)
    assert done.returncode == -9
    assert len(list(out.glob("part-*.parquet"))) == 3
    assert sum(parquet.read_table(file).num_rows for file in out.glob("part-*.parquet")) > 0
    assert json.loads((out / "manifest.json").read_text())["budget"] == 22
    assert os.path.exists(out / "manifest.json")


def test_parts_may_have_designs_of_their_own(tmp_path):
    """Rows with designs of their own share nothing in parts either; asking for both is refused."""
    options = OPTIONS | {"budget": 24, "independent_designs": True}
    found = polyshap.explain(model, ROWS, BACKGROUND, out=tmp_path / "a", **options)
    whole = polyshap.explain(model, ROWS, BACKGROUND, **options)
    assert gathered(found)["shap_age"].to_numpy() == pytest.approx(whole.values[:, 0], abs=1e-12)
    with pytest.raises(ArgumentError, match="`shared` must be left out"):
        polyshap.explain(model, ROWS, BACKGROUND, out=tmp_path / "b", shared=True, **options)
