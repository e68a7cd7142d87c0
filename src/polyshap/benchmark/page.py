"""The benchmark page of the documentation, written from records."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path

from polyshap.benchmark.cells import MARKS, judge
from polyshap.benchmark.claims import published_claims
from polyshap.benchmark.evidence import Evidence, same_instances
from polyshap.benchmark.figures import draw_figure, write_runtime_figure
from polyshap.benchmark.methods import LABELS, PAPER_METHODS
from polyshap.benchmark.paper import legend, regression_msr_ratios, table_rows
from polyshap.benchmark.runtime import fit_lines
from polyshap.benchmark.tasks import Task

__all__ = ["benchmark_page", "page_figures"]

# figure -> what it shows; the name is (metric, group of methods)
_FIGURES: Mapping[tuple[str, str], str] = {
    (
        "mse",
        "baselines",
    ): "Mean squared error of the methods of this package, paired sampling",
    ("precision_at_5", "baselines"): "Share of the five largest players that are found",
    ("spearman", "baselines"): "Rank correlation with the exact values",
    ("mse", "paired"): "Mean squared error of the PolySHAP family, paired sampling",
    ("mse", "standard"): "Mean squared error of the PolySHAP family, standard sampling",
}
# methods set side by side on the same instances
_SIDE_BY_SIDE = ("adaptive", "regression-msr", "polyshap-3", "polyshap-1", "permutation", "svarm", "msr")
_FEW_PLAYERS = 20  # tables are parted here: wider ones cannot be read


def page_figures(evidence: Evidence, folder: Path) -> dict[str, Path]:
    """Draw the figures of the page as SVG; title -> path."""
    paths = {}
    for (metric, group), title in _FIGURES.items():
        stem = folder / f"benchmark_{metric}_{group}"
        (paths[title],) = draw_figure(evidence.cells, evidence.tasks, group, metric, stem, suffixes=("svg",))
    if evidence.timings:
        stem = folder / "benchmark_runtime"
        lines = fit_lines(evidence.timings)
        (paths["runtime"],) = write_runtime_figure(evidence.timings, lines, stem, suffixes=("svg",))
    return paths


def benchmark_page(evidence: Evidence, figures: Mapping[str, str]) -> str:
    """The page as Markdown; `figures` says where those of `page_figures` are, seen from the page."""
    text = resources.files("polyshap.benchmark").joinpath("page.md").read_text(encoding="utf-8")
    sections = {
        "in short": _in_short(evidence),
        "claims": _claims(evidence),
        "facts": _facts(evidence),
        "side by side": _side_by_side(evidence),
        "curves": _curves(figures),
        "published": _published(evidence),
        "regression-msr": _regression_msr(evidence),
        "seeds": _seeds(evidence),
        "runtime": _runtime(evidence, figures.get("runtime")),
    }
    for name, section in sections.items():
        text = text.replace(f"<!-- {name} -->", section)
    return re.sub(r"\n{3,}", "\n\n", text)


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def _in_short(evidence: Evidence) -> str:
    """Who has the least error on how many games, and how many published cells are met."""
    best = Counter(min(errors, key=errors.__getitem__) for errors in _normalised(evidence).values())
    winners = ", ".join(f"{LABELS.get(method, method)} on {n}" for method, n in best.most_common())
    marks = Counter(judge(key, cell)[0] for key, cell in evidence.compared.items() if not cell.skipped)
    judged = sum(marks.values()) - marks["open"]
    lines = [f"* The least error with pairs, at one budget a game: {winners} of {best.total()} games."]
    if judged:
        lines.append(
            f"* Of {judged} cells with a published counterpart, {marks['inside']} lie within three standard "
            f"deviations of it, {marks['better']} have less error, {marks['outside']} more."
        )
    return "\n".join(lines) + "\n"


def _normalised(evidence: Evidence) -> dict[str, dict[str, float]]:
    """Game -> method -> normalised error with pairs at the table's budget, on the same instances."""
    errors: dict[str, dict[str, float]] = {}
    for (name, method, _, _), cell in same_instances(evidence.records, _SIDE_BY_SIDE, paired=True).items():
        errors.setdefault(name, {})[method] = cell.metrics["normalised_mse"].mean
    return errors


def _claims(evidence: Evidence) -> str:
    claims = published_claims(evidence)
    return _table(("Claim", "Found here"), claims) if claims else ""


def _facts(evidence: Evidence) -> str:
    records = evidence.records
    versions = ", ".join(sorted({record.version for record in records}))
    instances = len({record.instance for record in records})
    seeds = len({record.seed for record in records})
    seeding = " and ".join(sorted({record.seeding for record in records}))
    done = sum(record.skipped is None for record in records)
    minutes = math.ceil(sum(sum(record.seconds.values()) for record in records) / 60)
    text = (
        f"The curves below: polyshap {versions}, {instances} instances of each game, {seeds} "
        f"seed{'s' if seeds > 1 else ''} ({seeding}), {done} estimates that took {minutes} min "
        "one after the other."
    )
    counts = {(cell.n_instances, len(cell.seed_means)) for cell in evidence.checked.values() if cell.metrics}
    most = max(counts, default=None)
    if most is not None:
        text += f" The cells held against published ones: up to {most[0]} instances and {most[1]} seeds."
    return text + "\n"


def _side_by_side(evidence: Evidence) -> str:
    by_game = _normalised(evidence)
    methods = [method for method in _SIDE_BY_SIDE if any(method in errors for errors in by_game.values())]
    rows = []
    for task in evidence.tasks:
        errors = by_game.get(task.name, {})
        least = min(errors, key=errors.__getitem__, default=None)
        entries = [f"{errors[method]:.0e}" if method in errors else "" for method in methods]
        entries = [f"**{e}**" if m == least else e for m, e in zip(methods, entries, strict=True)]
        rows.append([task.name, str(task.n_players), str(task.table_budget), *entries])
    header = ("Game", "Players", "Budget", *(LABELS.get(method, method) for method in methods))
    return _table(header, rows)


def _curves(figures: Mapping[str, str]) -> str:
    return "\n".join(f"![{title}]({figures[title]})\n" for title in _FIGURES.values() if title in figures)


def _published(evidence: Evidence) -> str:
    cells = evidence.compared
    methods = [name for name in PAPER_METHODS if any(key[1] == name for key in cells)]
    few = [task for task in evidence.tasks if task.n_players <= _FEW_PLAYERS]
    many = [task for task in evidence.tasks if task.n_players > _FEW_PLAYERS]
    parts = [f"{legend(cells)}\n"]
    for paired, title in ((True, "Paired sampling"), (False, "Standard sampling")):
        parts.append(f"### {title}\n")
        parts += [table_rows(cells, tasks, methods, paired) for tasks in (few, many) if tasks]
    return "\n".join(parts)


def _regression_msr(evidence: Evidence) -> str:
    rows = regression_msr_ratios(evidence.compared, evidence.tasks)
    if not rows:
        return ""
    below = sum(float(ratio) <= 1 for _, _, ratio, _ in rows)
    return (
        "### RegressionMSR against the published code\n\n"
        f"At or below the published mean in {below} of {len(rows)} cells.\n\n"
        + _table(("Game", "Sampling", "Ours / published", "Expected of mended residuals"), rows)
        + "\n"
    )


def _seeds(evidence: Evidence) -> str:
    """Positions in standard deviations, one row a game, and all cells in a box to open."""
    if not evidence.checked:
        return ""
    tables = [_positions(evidence, paired) for paired in (True, False)]
    return (
        "### Over several seeds\n\nDistance of the geometric mean over seeds from the authors' code, in "
        "standard deviations of the logarithm of one seed's mean; minus is less error.\n\n"
        "Paired sampling:\n\n"
        f"{tables[0]}\nStandard sampling:\n\n{tables[1]}\n"
        '??? note "All cells"\n\n'
        + "".join(f"    {line}\n" for line in _all_cells(evidence).splitlines())
        + "\n"
    )


def _positions(evidence: Evidence, paired: bool) -> str:
    keys = {key for key, cell in evidence.checked.items() if key[2] == paired and not cell.skipped}
    methods = [name for name in PAPER_METHODS if any(key[1] == name for key in keys)]

    def entry(task: Task, method: str) -> str:
        key = (task.name, method, paired, task.table_budget)
        mark, z = judge(key, evidence.checked[key]) if key in keys else ("open", None)
        return "" if z is None else f"{z:+.1f} {MARKS[mark]}"

    rows = [[task.name, *(entry(task, method) for method in methods)] for task in evidence.tasks]
    open_columns = [j for j in range(1, len(methods) + 1) if not any(row[j] for row in rows)]
    kept = [j for j in range(len(methods) + 1) if j not in open_columns]
    header = ["Game", *(LABELS.get(method, method) for method in methods)]
    return _table([header[j] for j in kept], [[row[j] for j in kept] for row in rows])


def _all_cells(evidence: Evidence) -> str:
    rows = []
    for key, cell in evidence.checked.items():
        if cell.skipped:
            continue
        mark, z = judge(key, cell)
        task, method, paired, budget = key
        mode, label = "paired" if paired else "standard", LABELS.get(method, method)
        position = "" if z is None else f"{z:+.1f}"
        rows.append([task, str(budget), mode, label, f"{cell.geometric_mean:.3e}", position, MARKS[mark]])
    return _table(("Game", "Budget", "Sampling", "Method", "Geometric mean", "sd", " "), rows)


def _runtime(evidence: Evidence, figure: str | None) -> str:
    lines = fit_lines(evidence.timings)
    if not lines:
        return ""
    rows = [
        [
            line.game,
            LABELS.get(line.method, line.method),
            f"{line.slope * 1e3:.3f}",
            f"{line.intercept:.3f}",
            f"{line.r_squared:.3f}",
            f"{line.evaluation_share:.0%}",
        ]
        for line in lines
    ]
    picture = f"![Seconds against the budget]({figure})\n\n" if figure else ""
    return (
        "## Runtime\n\nSeconds of one paired estimate on one thread: a straight line in the budget, fitted "
        "to the least time of the instances at each budget. digits-vit is a small vision transformer that is "
        "asked live, the other games are forests.\n\n"
        + picture
        + _table(("Game", "Method", "s per 1000 evaluations", "Intercept (s)", "R²", "In the game"), rows)
        + "\n"
    )
