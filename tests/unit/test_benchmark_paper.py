"""Tables, figures and the page from records, and the marks beside the published numbers."""

import csv
import errno
import itertools
import math
from pathlib import Path

import pytest

from polyshap.benchmark.cells import collect, judge
from polyshap.benchmark.claims import published_claims
from polyshap.benchmark.command import run as command
from polyshap.benchmark.evidence import read_evidence, same_instances
from polyshap.benchmark.figures import GROUPS, METRICS, write_figures
from polyshap.benchmark.paper import table_markdown, verdicts, write_tables
from polyshap.benchmark.published import published, tolerance
from polyshap.benchmark.records import Record, RecordFile
from polyshap.benchmark.runtime import Timing, write_timings
from polyshap.benchmark.tasks import TASKS

HOUSING = TASKS["Housing"]


def records(method, paired, mse, *, n_instances=30, seeds=(40,), budget=176, seeding="own"):
    """Records of Housing whose mean error is `mse`."""
    metrics = {"mse": mse, "normalised_mse": mse, "precision_at_5": 0.8, "spearman": 0.9}
    return [
        Record(
            "Housing",
            instance,
            method,
            paired,
            budget,
            seed,
            seeding,
            "0.1.0",
            budget,
            {"fit": 0.5},
            (0.0,),
            metrics,
        )
        for instance in range(n_instances)
        for seed in seeds
    ]


def mark(method, paired, mse, **options):
    cells = collect(records(method, paired, mse, **options))
    ((key, cell),) = cells.items()
    return judge(key, cell)


def test_published_figures_are_complete():
    """Both tables of the paper, ten budgets of the measurements, and the spread over seeds."""
    sources = [key[0] for key in published()]
    assert {name: sources.count(name) for name in set(sources)} == {
        "csv": 2217,
        "table": 198,
        "tolerance": 54,
        "figure": 13,
    }
    assert published()["csv", True, "Housing", 176, "polyshap-1"].mean == pytest.approx(7.826659e-6, rel=1e-6)
    assert tolerance(True, "Housing", 176, "polyshap-4") == tolerance(True, "Housing", 176, "polyshap-3")


@pytest.mark.parametrize(
    ("factor", "expected"), [(1.0, "inside"), (math.exp(0.86), "inside"), (math.exp(0.88), "outside"),
                             (math.exp(-0.86), "inside"), (math.exp(-0.88), "better")],
)  # fmt: skip
def test_marks_follow_three_standard_deviations(factor, expected):
    """Paired 1-PolySHAP of Housing: 8.092e-6, standard deviation 0.29 of the logarithm."""
    found, z = mark("polyshap-1", True, 8.092e-6 * factor)
    assert found == expected
    assert z == pytest.approx(math.log(factor) / 0.29)


def test_nothing_follows_from_few_instances_or_partial_frontiers():
    """A mean over two instances, or over an unseeded frontier, is not held against anything."""
    assert mark("polyshap-1", True, 1.0, n_instances=2) == ("open", None)
    assert mark("polyshap-2-50%", True, 1.0) == ("open", None)
    assert mark("adaptive", True, 1.0) == ("open", None)


@pytest.mark.parametrize(
    ("seeding", "sd"),
    [
        ("shared", 3.5355339),  # of the five means below
        ("own", 0.29),  # of 1-PolySHAP: such means spread less than the published one, over one draw for all
    ],
)
def test_baselines_are_held_against_the_measurement_with_a_spread_of_its_kind(seeding, sd):
    """With five shared seeds and more the spread is that of the cell itself, else that of 1-PolySHAP."""
    reference = published()["csv", True, "Housing", 176, "msr"].mean
    spread = [
        records("msr", True, reference * math.exp(s), seeds=(seed,), seeding=seeding)
        for seed, s in enumerate((-2, -1, 0, 1, 7))
    ]
    ((key, cell),) = collect(itertools.chain(*spread)).items()
    assert judge(key, cell)[1] == pytest.approx(1.0 / (sd * math.sqrt(1.2)), rel=1e-6)


@pytest.fixture
def cells():
    """A table column with all that can happen in it."""
    skipped = Record("Housing", 0, "polyshap-3", False, 176, 40, "own", "0.1.0", skipped="no reason")
    return collect(
        [
            *records("polyshap-1", True, 8e-6),
            *records("polyshap-1", True, 8e-4, budget=40),
            *records("adaptive", True, 1e-9),
            *records("polyshap-1", False, 1.0),
            skipped,
        ]
    )


def test_tables_stand_beside_the_published_numbers(cells, tmp_path):
    """Markdown for readers and CSV for programs, both modes."""
    text = table_markdown(cells, [HOUSING], ["polyshap-1", "adaptive", "svarm"], True)
    assert "| 1-PolySHAP (KernelSHAP) | 8.0e-06 / 7.8e-06 ✓ |" in text
    assert "| Adaptive | 1.0e-09 / – · |" in text
    assert "| SVARM | – / 4.1e-04 |" in text
    paths = write_tables(cells, [HOUSING], ["polyshap-1", "polyshap-3", "adaptive"], tmp_path)
    assert [path.name for path in paths] == ["paired.md", "paired.csv", "standard.md", "standard.csv"]
    with (tmp_path / "paired.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["budget"], row["method"]) for row in rows] == [
        ("40", "polyshap-1"),
        ("176", "polyshap-1"),
        ("176", "adaptive"),
    ]
    assert rows[1]["mark"] == "inside"
    assert float(rows[1]["published_mean"]) == pytest.approx(7.826659e-6, rel=1e-5)
    assert float(rows[1]["table_mean"]) == pytest.approx(
        published()["table", True, "Housing", 176, "polyshap-1"].mean
    )
    with (tmp_path / "standard.csv").open() as file:
        assert [(row["mark"], row["skipped"]) for row in csv.DictReader(file)] == [
            ("outside", ""),
            ("open", "no reason"),
        ]


def test_verdicts_count_the_cells_of_the_tables(cells):
    """Other budgets and skipped cells are not among them."""
    found = {name: [key[1] for key in keys] for name, keys in verdicts(cells, [HOUSING]).items()}
    assert found == {"inside": ["polyshap-1"], "outside": ["polyshap-1"], "better": [], "open": ["adaptive"]}


def test_figures_are_drawn(cells, tmp_path):
    """Each metric for each group of methods as PNG and SVG; the same records give the same file."""
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    paths = write_figures(cells, [HOUSING], tmp_path)
    assert len(paths) == 2 * len(GROUPS) * len(METRICS)
    assert all(path.stat().st_size > 1000 for path in paths)
    assert "Housing" in (tmp_path / "mse_paired.svg").read_text()


@pytest.fixture
def page_records(tmp_path):
    """A file of records with what the page speaks of."""
    path = tmp_path / "records.jsonl"
    with RecordFile.open(path) as file:
        file.append(
            [
                *records("polyshap-1", True, 8e-6),
                *records("polyshap-2", True, 8e-6),
                *records("polyshap-3", True, 1e-7),
                *records("regression-msr", True, 9e-7),
                *records("adaptive", True, 1e-9, n_instances=2),
                *(
                    record
                    for order in (1, 2, 3)
                    for record in records(f"polyshap-{order}", False, 0.1**order)
                ),
            ]
        )
    return path


def test_the_page_is_made_from_records(page_records, tmp_path, capsys):
    """`bench page` writes the numbers of the records into the prose."""
    out = tmp_path / "page.md"
    arguments = [str(page_records), "--check", str(page_records), "--out", str(out), "--no-figures"]
    assert command(["bench", "page", *arguments]) == 0
    text = out.read_text()
    assert "The least error with pairs, at one budget a game: Adaptive on 1 of 1 games." in text
    assert "30 instances of each game, 1 seed (own), 212 estimates that took 2 min" in text
    assert "At or below the published mean in 1 of 1 cells" in text
    assert "| Housing | 176 | paired | 1-PolySHAP (KernelSHAP) | 8.000e-06 | -0.0 | ✓ |" in text
    assert "| Housing | -0.0 ✓ |" in text
    assert "Where our numbers must differ" in text
    assert "<!--" not in text
    assert "page.md" in capsys.readouterr().out


def test_the_page_says_what_came_out_of_the_claims(page_records):
    """Each claim that the records bear on, with the exceptions by name."""
    found = dict(published_claims(read_evidence(page_records)))
    assert [found[claim] for claim in sorted(found)] == [
        "in 1 of 1 games; next best / best = 80.0 to 80.0",
        "the errors are equal to the last bit in 1 games",
        "paired in 1 of 1 games",
        "in 1 of 1 games (published: in 1 of 1 games)",
    ]
    with RecordFile.open(page_records) as file:
        file.append(records("polyshap-3", False, 0.5, seeds=(41,)))
    found = dict(published_claims(read_evidence(page_records)))
    assert "in 0 of 1 games; not on Housing (published: in 1 of 1 games)" in found.values()


def test_methods_are_compared_on_the_same_instances(page_records):
    """With few instances of one method, the others' cells hold these alone."""
    evidence = read_evidence(page_records)
    cells = same_instances(evidence.records, ("polyshap-1", "adaptive"), paired=True)
    assert {key[1]: cell.n_instances for key, cell in cells.items()} == {"polyshap-1": 2, "adaptive": 2}


def test_the_page_shows_its_figures(page_records, tmp_path):
    """SVG files beside the page, the same bytes for the same records, linked from it."""
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    timings = [Timing("Housing", 8, "polyshap-1", 0, m, 0.1, 0.001 * m, 0.1) for m in (10, 20, 40)]
    write_timings(timings, tmp_path / "runtime.csv")
    out = tmp_path / "docs" / "page.md"
    arguments = [str(page_records), "--runtime", str(tmp_path / "runtime.csv"), "--out", str(out)]
    assert command(["bench", "page", *arguments]) == 0
    figures = sorted((out.parent / "assets").iterdir())
    assert len(figures) == 6
    for figure in figures:
        assert f"(assets/{figure.name})" in out.read_text()
    before = [figure.read_bytes() for figure in figures]
    assert command(["bench", "page", *arguments]) == 0
    assert [figure.read_bytes() for figure in figures] == before


def test_errors_of_the_command_are_one_line(tmp_path, capsys):
    """A misspelt game or a damaged file ends with a message and 2, not with a traceback."""
    assert command(["bench", "paper", "--tasks", "Hausing", "--out", str(tmp_path)]) == 2
    assert "Did you mean 'Housing'" in capsys.readouterr().err
    (tmp_path / "records.jsonl").write_text("{}\n")
    assert command(["bench", "paper", "--tasks", "Housing", "--out", str(tmp_path)]) == 2
    assert "damaged at line 1" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("paper", "--jobs", "0"), "`n_jobs` must be at least 1. Got 0."),
        (("paper", "--seeds", "0"), "`seeds` must hold at least one entry."),
        (("paper", "--tasks", ","), "`tasks` must hold at least one entry."),
        (("paper", "--instances", "31"), "`n_instances` must lie in 1..30. Got 31."),
        (("check", "--methods", "polyshap3"), "Did you mean 'polyshap-3'"),
        (("runtime", "--instances", "0"), "`n_instances` must lie in 1..30. Got 0."),
        (("runtime", "--tasks", "Cancre"), "Did you mean 'Cancer'"),
        (("compare", "--instances", "99"), "`n_instances` must lie in 1..30. Got 99."),
    ],
)
def test_arguments_are_checked_before_anything_runs(tmp_path, capsys, arguments, message):
    """Which argument, the rule, and what was given, whatever the command."""
    assert command(["bench", *arguments, "--out", str(tmp_path / "out")]) == 2
    assert message in capsys.readouterr().err


def test_the_page_says_what_is_wrong_with_its_files(page_records, tmp_path, capsys):
    """No records, or a table that holds no times."""
    (tmp_path / "empty.jsonl").write_text("")
    assert command(["bench", "page", str(tmp_path / "empty.jsonl")]) == 2
    assert "`records` must hold at least one record" in capsys.readouterr().err
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    assert command(["bench", "page", str(page_records), "--runtime", str(tmp_path / "other.csv")]) == 2
    assert "other.csv holds no times of `polyshap bench runtime`" in capsys.readouterr().err


def test_a_disk_that_fills_up_under_the_tables_is_clear(page_records, tmp_path, capsys, monkeypatch):
    """The records are there already: the message says to free space and run the command again."""

    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device", "page.md")

    monkeypatch.setattr(Path, "write_text", full)
    arguments = [str(page_records), "--out", str(tmp_path / "page.md"), "--no-figures"]
    assert command(["bench", "page", *arguments]) == 2
    assert "page.md could not be written: No space left on device. Free space" in capsys.readouterr().err
