"""`polyshap explain`, in this process: rows, outputs, formats, what it prints."""

from __future__ import annotations

import json

import numpy as np
import pytest

import polyshap
from polyshap.cli import CONVERGED_NOT, ERROR, OK, USAGE, main


@pytest.fixture
def explain(workshop, monkeypatch, capsys):
    """Run the command in the workshop: exit code, standard output, standard error."""
    monkeypatch.chdir(workshop.folder)

    def run(model, *arguments, data="rows.csv", drop=True):
        target = ["--target-drop", "y"] if drop else []
        code = main(["explain", model, data, *target, *arguments])
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    return run


def test_tables_for_few_rows(explain):
    """Few rows are shown one by one, strongest feature first, with the sum of those left out."""
    code, out, err = explain("scoring:predict", "--rows", "7", "--budget", "16", "--top", "2")
    assert code == OK
    assert err == ""
    lines = out.splitlines()
    assert "1 row, 4 features, 16 coalitions" in lines[0]
    assert lines[2].startswith("row 7: prediction")
    assert lines[-1].startswith("2 others")


def test_many_rows_are_summed_up(explain):
    """More rows than fit on a screen become a mean."""
    code, out, _ = explain("scoring:predict", "--rows", ":12", "--budget", "16")
    assert code == OK
    assert "mean absolute contribution over 12 rows" in out
    # noise does not reach the model: it comes last with nothing
    assert out.splitlines()[-1].split()[:2] == ["noise", "0.000"]


def test_files(explain, workshop, tmp_path):
    """The three formats hold the same values, with the row numbers of the data."""
    pandas = pytest.importorskip("pandas")
    names = [str(tmp_path / f"values.{kind}") for kind in ("npz", "csv", "parquet")]
    out_flags = [flag for name in names for flag in ("--out", name)]
    code, _, err = explain("scoring:predict", "--rows", "5,2", "--budget", "16", *out_flags)
    assert code == OK
    assert err.count("wrote") == 3
    loaded = polyshap.load(names[0])
    csv, parquet = pandas.read_csv(names[1]), pandas.read_parquet(names[2])
    assert csv["row"].tolist() == [5] * 4 + [2] * 4
    np.testing.assert_allclose(csv["value"], loaded.values.ravel(), rtol=1e-12)
    np.testing.assert_array_equal(parquet["value"], loaded.values.ravel())


def test_parquet_and_csv_give_the_same(explain):
    """The content decides how a table is read."""
    found = [explain("scoring:predict", "--rows", "0", "--json", data=f"rows.{kind}")[1]
             for kind in ("csv", "parquet")]  # fmt: skip
    assert found[0] == found[1]


def test_classes(explain):
    """One output drops its axis; all of them keep it."""
    _, out, _ = explain("scoring:two", "--rows", "0", "--json")
    both = json.loads(out)
    _, out, _ = explain("scoring:two", "--rows", "0", "--json", "--class", "1")
    one = json.loads(out)
    assert np.shape(both["values"]) == (1, 4, 2)
    assert np.shape(one["values"]) == (1, 4)
    np.testing.assert_allclose(np.array(both["values"])[..., 1], one["values"])


def test_arrays(explain):
    """A function on arrays gets arrays when asked."""
    code, out, _ = explain("scoring:on_array", "--arrays", "--rows", "0", "--json")
    assert code == OK
    assert json.loads(out)["feature_names"] == ["age", "income", "hours", "noise"]


def test_groups_and_background_file(explain, tmp_path):
    """Groups come from a JSON file, the background from a table of its own; its target may be there."""
    (tmp_path / "groups.json").write_text('{"person": ["age", "income"]}')
    flags = (
        "--groups",
        str(tmp_path / "groups.json"),
        "--background",
        "rows.parquet",
        "--rows",
        "1",
        "--json",
    )
    code, out, _ = explain("scoring:predict", *flags)
    assert code == OK
    assert json.loads(out)["feature_names"] == ["person", "hours", "noise"]


def test_the_seed_decides(explain):
    """Equal seeds give equal bits, background included; other seeds another background."""
    found = [explain("scoring:predict", "--rows", "3", "--json", "--background", "5", "--seed", seed)[1]
             for seed in ("1", "1", "2")]  # fmt: skip
    assert found[0] == found[1] != found[2]


def test_dry_run_asks_for_no_coalition(explain):
    """The forecast names calls and rows, and nothing is printed as a result."""
    code, out, err = explain("scoring:predict", "--rows", "0:10", "--budget", "12", "--dry-run")
    assert (code, out) == (OK, "")
    assert "120 coalitions (12 a row), 7,200 synthetic rows" in err


def test_dry_run_counts_groups_and_fills_and_checks_options(explain, tmp_path):
    """The forecast is of the run as it was asked for, and a mistake in it is found."""
    (tmp_path / "groups.json").write_text('{"work": ["income", "hours"]}')
    groups = ["--groups", str(tmp_path / "groups.json")]
    code, _, err = explain("scoring:predict", "--rows", "0:2", *groups, "--imputer", "kmeans-5", "--dry-run")
    assert code == OK
    assert "features: 3, background: 5 rows" in err
    assert "16 coalitions (8 a row), 80 synthetic rows" in err
    assert explain("scoring:predict", "--estimator", "kernelshop", "--budget", "9", "--dry-run")[0] == ERROR


def test_report(explain, tmp_path):
    """The page is written, with the call that made it."""
    path = tmp_path / "page.html"
    code, _, _ = explain("scoring:predict", "--rows", "0:4", "--report", str(path))
    assert code == OK
    assert "polyshap explain scoring:predict rows.csv" in path.read_text(encoding="utf-8")


def test_a_page_is_an_output_too(explain, tmp_path):
    """-o with .html writes the report."""
    page = tmp_path / "page.html"
    code, _, err = explain("scoring:predict", "--rows", "0:2", "--budget", "16", "-o", str(page))
    assert code == OK
    assert err.count("wrote") == 1
    assert "polyshap explain scoring:predict" in page.read_text(encoding="utf-8")


def test_a_run_is_resumed(explain, workshop, tmp_path):
    """What was asked is kept: the same command asks for nothing again but the first look at the model."""
    (workshop.folder / "counted.py").write_text(
        "def predict(table):\n"
        "    with open('asked.txt', 'a') as file:\n"
        "        print(len(table), file=file)\n"
        "    return 3.0 * table['age']\n"
    )
    flags = [
        "--rows",
        "0:3",
        "--budget",
        "16",
        "--background",
        "10",
        "--json",
        "--resume",
        str(tmp_path / "kept"),
    ]
    outputs, asked = [], []
    for _ in range(2):
        code, out, err = explain("counted:predict", *flags)
        assert code == OK, err
        outputs.append(out)
        lines = (workshop.folder / "asked.txt").read_text().split()
        asked.append(sum(map(int, lines)))
    assert outputs[0] == outputs[1]
    assert asked[1] - asked[0] < 20 < asked[0]


def test_the_file_of_a_model_is_its_name_in_the_kept_values(explain, fitted, tmp_path):
    """The same file in another session, whatever its name, meets its values; another model does not."""
    joblib = pytest.importorskip("joblib", reason="joblib is not installed")
    paths = [tmp_path / name for name in ("a.joblib", "b.joblib")]
    for path in paths:
        joblib.dump(fitted, path)
    kept = tmp_path / "kept"
    flags = ["--allow-pickle", "--rows", "0:2", "--budget", "16", "--resume", str(kept)]
    for path in paths:
        code, _, err = explain(str(path), *flags)
        assert (code, err) == (OK, "")
    assert len(list(kept.glob("*.sqlite"))) == 1


@pytest.mark.filterwarnings("ignore")  # those of distributed are its own
def test_a_dask_scheduler(explain):
    """The values are those of this process."""
    distributed = pytest.importorskip("distributed", reason="distributed is not installed")
    options = {"n_workers": 1, "processes": False, "dashboard_address": None}
    flags = ["--rows", "0:3", "--budget", "16", "--json"]
    with distributed.LocalCluster(**options) as cluster:
        code, out, err = explain("scoring:predict", *flags, "--scheduler", cluster.scheduler_address)
    assert code == OK, err
    assert out == explain("scoring:predict", *flags)[1]


def test_tolerance_not_met_is_three(explain, monkeypatch):
    """An explanation that says it did not converge sets the exit code; without a tolerance it does not."""
    import dataclasses

    import polyshap.command.explain as command

    asked = command.Explainer.__call__

    def unfinished(self, X):
        found = asked(self, X)
        stopped = dataclasses.replace(found.diagnostics, converged=False)
        return dataclasses.replace(found, diagnostics=stopped)

    monkeypatch.setattr(command.Explainer, "__call__", unfinished)
    assert explain("scoring:predict", "--rows", "0")[0] == OK
    code, _, err = explain("scoring:predict", "--rows", "0", "--tolerance", "0.01")
    assert code == CONVERGED_NOT
    assert "--budget" in err


BAD = (
    # arguments, data, what the message names
    (("scoring:nothing",), "rows.csv", "no 'nothing'"),
    (("unknown_module:predict",), "rows.csv", "unknown_module"),
    (("missing.json",), "rows.csv", "no file 'missing.json'"),
    (("scoring:predict",), "missing.csv", "no 'missing.csv'"),
    (("scoring:predict", "--rows", "70"), "rows.csv", "0..59"),
    (("scoring:predict", "--rows", "x"), "rows.csv", "0:10"),
    (("scoring:predict", "--rows", "5:5"), "rows.csv", "at least one"),
    (("scoring:predict", "--out", "values.xlsx"), "rows.csv", ".parquet"),
    (("scoring:predict", "--report", "nowhere/a.html"), "rows.csv", "nowhere"),
    (("scoring:predict", "--background", "0"), "rows.csv", "at least 1 row"),
    (("scoring:predict", "--groups", "scoring.py"), "rows.csv", "JSON"),
    (("scoring:predict", "--estimator", "adaptiv"), "rows.csv", "'adaptive'"),
    (("scoring:predict", "--budget", "1"), "rows.csv", "budget"),
    (("scoring:predict", "--target-drop", "z"), "rows.csv", "--target-drop"),
    (("rows.csv",), "rows.csv", "none of these"),
)


@pytest.mark.parametrize(("arguments", "data", "named"), BAD, ids=lambda value: str(value)[:40])
def test_errors_say_what_to_do(explain, arguments, data, named):
    """One line that names the culprit."""
    code, out, err = explain(*arguments, data=data)
    assert (code, out) == (ERROR, "")
    assert len(err.splitlines()) == 1
    assert named in err


def test_debug_shows_the_traceback(explain):
    """--debug lets the exception through."""
    with pytest.raises(polyshap.errors.PolyshapError):
        explain("missing.json", "--debug")


def test_usage(capsys):
    """No command, an unknown one and values out of range are usage; help is not an error."""
    assert main([]) == USAGE
    assert main(["paint"]) == USAGE
    assert main(["explain", "a", "b", "--tolerance", "2"]) == USAGE
    capsys.readouterr()
    for flag, words in (
        (["--budget", "many"], "or auto. Got many"),
        (["--seed", "x"], "must be a whole number. Got x"),
        (["--tol", "small"], "such as 0.01. Got small"),
        (["--n-jobs", "all"], "must be a whole number. Got all"),
    ):
        assert main(["explain", "a", "b", *flag]) == USAGE
        assert words in capsys.readouterr().err
    assert main(["explain", "--help"]) == OK
    assert "examples:" in capsys.readouterr().out


def test_bench_is_mounted(capsys):
    """The benchmark's commands are reached from here."""
    pytest.importorskip("polyshap.benchmark.command")
    assert main(["bench", "--help"]) == OK
    assert "paper" in capsys.readouterr().out


def test_names_cannot_steer_the_terminal(explain, workshop):
    """Escape sequences in column names reach neither tables nor errors."""
    pandas = pytest.importorskip("pandas")
    pandas.DataFrame({"\x1b[2Jage": [1.0, 2.0], "b": [0.0, 1.0]}).to_csv(
        workshop.folder / "steer.csv", index=False
    )
    code, out, err = explain("scoring:on_two", "--arrays", data="steer.csv", drop=False)
    assert code == OK
    assert "\x1b" not in out + err
    code, out, err = explain("scoring:predict", "--target-drop", "z", data="steer.csv", drop=False)
    assert code == ERROR
    assert "\x1b" not in out + err
