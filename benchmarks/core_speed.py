"""Speed of PolySHAP against shapiq's PolySHAP on a free game, one thread, CPU seconds.

shapiq 1.8 needs Python 3.12: run this in an environment with `polyshap` and `shapiq` both installed,

    OMP_NUM_THREADS=1 python benchmarks/core_speed.py

Floors: d=20, m=5,000, k=3 paired at least 15 times faster; d=60, m=5,000, k=2 unpaired at least 4 times.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import time
import warnings

import numpy as np
from shapiq.approximator import PolySHAP as ShapiqPolySHAP

import polyshap
from polyshap.coalitions import enumerate_all
from polyshap.frontiers import KAdditive
from polyshap.sampling import Design, draw

REPEATS = 3


def free_game(n_players: int):
    """A product of pairs: a few vector operations, next to nothing beside the solve."""
    weights = np.linspace(-1, 1, n_players)
    return lambda coalitions: (coalitions @ weights) ** 2


def cpu_seconds(action) -> float:
    """The best of a few runs."""
    best = np.inf
    for _ in range(REPEATS):
        start = time.process_time()
        action()
        best = min(best, time.process_time() - start)
    return best


def compare(n_players: int, budget: int, order: int, *, paired: bool, floor: float) -> None:
    game = free_game(n_players)
    ours = polyshap.estimators.PolySHAP(KAdditive(order), Design(paired=paired))
    uniform_sizes = np.ones(n_players + 1)

    def run_ours():
        return polyshap.estimate(game, n_players, budget, ours, random_state=0)

    def run_theirs():
        approximator = ShapiqPolySHAP(
            n_players,
            max_order=order,
            pairing_trick=paired,
            sampling_weights=uniform_sizes,
            random_state=0,
        )
        return approximator.approximate(budget, lambda z: game(np.asarray(z, dtype=bool)))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fast, slow = cpu_seconds(run_ours), cpu_seconds(run_theirs)
    kind = "paired" if paired else "single"
    print(
        f"d={n_players} m={budget} k={order} {kind}: polyshap {fast:.3f} s, shapiq {slow:.3f} s, "
        f"{slow / fast:.1f} times faster (floor {floor:g})"
    )


def pieces() -> None:
    """The other floors of the core: sampling, frontiers, exact values."""
    rng = np.random.default_rng(0)
    for n_players, floor in ((101, 0.15), (2000, 3.0)):
        seconds = max(
            cpu_seconds(lambda d=n_players, p=paired: draw(Design(paired=p), d, 10_000, rng))
            for paired in (True, False)
        )
        print(f"10,000 coalitions of {n_players} players: {seconds:.3f} s (floor {floor:g})")
    print(f"frontier d=101, k=3: {cpu_seconds(lambda: KAdditive(3).build(101).by_order):.3f} s (floor 1)")
    exact = cpu_seconds(lambda: polyshap.estimate(free_game(20), 20, 1 << 20, "exact"))
    print(f"exact, d=20: {exact:.2f} s (floor 5), coalitions alone {enumerate_all(20).nbytes / 1e6:.0f} MB")


if __name__ == "__main__":
    pieces()
    compare(20, 5000, 3, paired=True, floor=15)
    compare(60, 5000, 2, paired=False, floor=4)
