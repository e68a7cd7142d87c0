"""About how long an estimate takes, for the order of the hours and the time left; not a measurement."""

from __future__ import annotations

from polyshap.benchmark.methods import build_method, count_terms
from polyshap.benchmark.tasks import Task
from polyshap.estimators.polyshap import PolySHAP

__all__ = ["seconds_of"]

# Seconds on one core of a shared machine, measured.
_OVERHEAD = 2e-3
_EVALUATION = {"forest": 1e-5, "table": 5e-7, "images": 5e-7}  # of one coalition of one instance
_DRAWING = 1e-6  # of one coalition
_FLOPS = 5e10  # of dense linear algebra
# seconds of a fit at budget m: (constant, per coalition, per squared coalition), of one instance
_FITS = {
    "regression-msr": (0.04, 3e-5, 0.0),
    "adaptive": (0.1, 1e-3, 1e-7),  # 1.2 s at 850, 5 s at 4100, 50 s at 20,000
    "proxyspex": (0.5, 1e-4, 0.0),
    "oddshap": (0.5, 1e-4, 0.0),
}


def seconds_of(task: Task, method: str, paired: bool, budget: int, n_instances: int) -> float:
    """Expected seconds of one joint estimate of `n_instances` on one core."""
    evaluated = budget * (_DRAWING + n_instances * _EVALUATION[task.kind])
    constant, slope, square = _FITS.get(method, (0.0, 1e-6, 0.0))
    fit = n_instances * (constant + slope * budget + square * budget**2)
    fit += _regression(task, method, paired, budget)
    return _OVERHEAD + evaluated + fit


def _regression(task: Task, method: str, paired: bool, budget: int) -> float:
    estimator = build_method(method, paired)
    if not isinstance(estimator, PolySHAP):
        return 0.0
    terms, odd = count_terms(estimator.frontier, task.n_players)
    rows, columns = (budget / 2, odd) if paired else (budget, terms)
    return float(2 * rows * columns**2 / _FLOPS)
