"""Error and coverage of the adaptive estimator on the public games, measured by the benchmark."""

from __future__ import annotations

import importlib.util
import sys
from collections import defaultdict
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

pytestmark = [pytest.mark.statistical, pytest.mark.data]

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "adaptive_accuracy.py"
LARGEST_BUDGET = 700  # 29 of 55 cells, a few minutes; the script itself measures the others


@pytest.fixture(scope="module")
def accuracy() -> ModuleType:
    spec = importlib.util.spec_from_file_location("adaptive_accuracy", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["adaptive_accuracy"] = module
    spec.loader.exec_module(module)
    if not module.DATA.exists():
        pytest.skip("needs the public tables: set POLYSHAP_DATA")
    return module


@pytest.fixture(scope="module")
def cells(accuracy: ModuleType) -> dict[tuple[str, int], tuple[float, float]]:
    """(game, budget) -> error over the best rival's, and coverage: 5 instances, 3 seeds."""
    best, _, _ = accuracy.anchors_cached()
    found: dict[tuple[str, int], list[dict[str, float]]] = defaultdict(list)
    for game, budget in best:
        if budget <= LARGEST_BUDGET:
            for instance in range(5):
                for seed in range(3):
                    found[game, budget].append(accuracy.measure(game, budget, instance, seed, "sequential"))
    return {
        cell: (
            float(np.mean([line["error"] for line in lines]) / best[cell]),
            float(np.mean([line["covered"] for line in lines])),
        )
        for cell, lines in found.items()
    }


def test_errors_are_far_below_the_best_rival(cells: dict[tuple[str, int], tuple[float, float]]) -> None:
    """Geometric mean over cells at most 0.14; no cell above 1.2 and at most two above 1."""
    ratios = np.array([ratio for ratio, _ in cells.values()])
    print(f"geometric mean {np.exp(np.log(ratios).mean()):.3f}, largest {ratios.max():.2f}")
    assert np.exp(np.log(ratios).mean()) <= 0.14
    assert np.count_nonzero(ratios > 1) <= 2
    assert ratios.max() <= 1.2


def test_intervals_cover_what_they_promise(cells: dict[tuple[str, int], tuple[float, float]]) -> None:
    """Nominal 95 % intervals cover 90 to 99 % in at least 85 % of the cells, and nowhere less than 75 %."""
    covered = np.array([share for _, share in cells.values()])
    inside = np.mean((covered >= 0.90) & (covered <= 0.99))
    print(f"{inside:.2f} of the cells inside the band, smallest {covered.min():.2f}")
    assert inside >= 0.85
    assert covered.min() >= 0.75
