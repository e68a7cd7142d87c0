"""The published claims, each with what the records say of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from polyshap.benchmark.cells import Cell, CellKey
from polyshap.benchmark.evidence import Evidence
from polyshap.benchmark.paper import regression_msr_ratios
from polyshap.benchmark.published import published
from polyshap.benchmark.runtime import fit_lines
from polyshap.benchmark.tasks import TASKS, Task

__all__ = ["published_claims"]

# Where the paper finds 3-PolySHAP the best of its family.
_BEST_ON = ("Housing", "Adult", "Estate", "Forest", "Bike")
_LEAST_R_SQUARED = 0.95


def published_claims(evidence: Evidence) -> list[tuple[str, str]]:
    """(claim, what was found) for every claim that the evidence bears on."""
    found = [(claim, look(evidence)) for claim, look in _CLAIMS.items()]
    return [(claim, answer) for claim, answer in found if answer]


def _error(cells: Mapping[CellKey, Cell], task: Task, method: str, paired: bool) -> float | None:
    """The mean squared error at the budget of the game's column, None where there is none."""
    cell = cells.get((task.name, method, paired, task.table_budget))
    return cell.geometric_mean if cell is not None and not cell.skipped else None


def _errors(evidence: Evidence, methods: Sequence[str], paired: bool) -> dict[str, list[float]]:
    """Game -> the errors of all these methods, for the games where all were run."""
    rows = {
        task.name: [_error(evidence.compared, task, method, paired) for method in methods]
        for task in evidence.tasks
    }
    return {name: [e for e in row if e is not None] for name, row in rows.items() if None not in row}


def _count(holds: Mapping[str, bool]) -> str:
    """In how many games something holds, and which are the others."""
    others = [name for name, held in holds.items() if not held]
    text = f"in {len(holds) - len(others)} of {len(holds)} games"
    return f"{text}; not on {', '.join(others)}" if others else text


def _interactions_help(evidence: Evidence) -> str:
    methods = ("polyshap-1", "polyshap-2", "polyshap-3")
    errors = _errors(evidence, methods, False)
    if not errors:
        return ""
    theirs = {
        name: [published()["csv", False, name, TASKS[name].table_budget, method].mean for method in methods]
        for name in errors
    }
    ours, published_too = (
        _count({name: row == sorted(row, reverse=True) for name, row in rows.items()})
        for rows in (errors, theirs)
    )
    return f"{ours} (published: {published_too})"


def _equal(order: int) -> Callable[[Evidence], str]:
    def look(evidence: Evidence) -> str:
        errors = _errors(evidence, (f"polyshap-{order}", f"polyshap-{order + 1}"), True)
        if not errors:
            return ""
        largest = max(abs(first - second) / first for first, second in errors.values())
        how = f"are equal to {largest:.0e} of their size" if largest else "are equal to the last bit"
        return f"the errors {how} in {len(errors)} games"

    return look


def _best_of_the_family(evidence: Evidence) -> str:
    factors = {}
    for task in (TASKS[name] for name in _BEST_ON):
        best = _error(evidence.compared, task, "polyshap-3", True)
        # paired 4-PolySHAP is paired 3-PolySHAP
        rivals = [("polyshap-1", True), *((f"polyshap-{order}", False) for order in (1, 2, 3, 4))]
        others = [_error(evidence.compared, task, *rival) for rival in rivals]
        known = [error for error in others if error is not None]
        if best and known:
            factors[task.name] = min(known) / best
    if not factors:
        return ""
    factor = f"{min(factors.values()):.1f} to {max(factors.values()):.1f}"
    return f"{_count({name: f > 1 for name, f in factors.items()})}; next best / best = {factor}"


def _regression_msr(evidence: Evidence) -> str:
    below: dict[str, list[bool]] = {}
    for _, mode, ratio, _ in regression_msr_ratios(evidence.compared, evidence.tasks):
        below.setdefault(mode, []).append(float(ratio) <= 1)
    return ", ".join(f"{mode} in {sum(held)} of {len(held)} games" for mode, held in below.items())


def _linear(evidence: Evidence) -> str:
    lines = fit_lines(evidence.timings)
    if not lines:
        return ""
    straight = sum(line.r_squared >= _LEAST_R_SQUARED for line in lines)
    least = min(line.r_squared for line in lines)
    return f"R² >= {_LEAST_R_SQUARED} for {straight} of {len(lines)} games and methods; least {least:.3f}"


_CLAIMS: Mapping[str, Callable[[Evidence], str]] = {
    "Standard sampling: each higher order of interactions, 1 to 2 to 3, lowers the error": _interactions_help,
    "Paired KernelSHAP is paired 2-PolySHAP": _equal(1),
    "Paired 3-PolySHAP is paired 4-PolySHAP": _equal(3),
    f"3-PolySHAP, paired, is the best of its family on {', '.join(_BEST_ON)}": _best_of_the_family,
    "RegressionMSR with mended residuals is at or below its published error": _regression_msr,
    "Seconds are linear in the budget": _linear,
}
