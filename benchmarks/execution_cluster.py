"""What ten million rows take: parts measured here, and a simulation of 1, 10 and 100 workers.

    OMP_NUM_THREADS=1 python benchmarks/execution_cluster.py [--parts 5] [--budget 128] [--rows 10000000]

A gradient boosting of 100 trees on 12 features, a background of 20 rows; parts of 10,000 rows go through
`explain(..., out=)` in this process. Their CPU seconds are what a worker with a core of its own takes. The
simulation hands parts, drawn from those measured, to whichever worker is free, after what the engine takes
to hand one over; it knows no slow machines, no network that is full and no worker that dies.
"""

import argparse
import heapq
import tempfile
import time

import numpy as np
from sklearn.ensemble import GradientBoostingRegressor

import polyshap
from polyshap.rows.parts import PART_ROWS

N_FEATURES = 12


def measured(n_parts, budget):
    """CPU seconds of each part."""
    rng = np.random.default_rng(0)
    train = rng.standard_normal((2000, N_FEATURES))
    target = train[:, 0] * train[:, 1] + train[:, 2:].sum(axis=1)
    model = GradientBoostingRegressor(random_state=0).fit(train, target).predict
    rows = rng.standard_normal((n_parts * PART_ROWS, N_FEATURES))
    clock = [0.0]
    with tempfile.TemporaryDirectory() as folder:
        options = {"budget": budget, "random_state": 0}
        # what is learned once is not part of a part
        polyshap.explain(model, rows[:10], train[:20], out=f"{folder}/first", **options)
        clock[0] = time.process_time()
        polyshap.explain(
            model,
            rows,
            train[:20],
            out=f"{folder}/all",
            progress=lambda done, total: clock.append(time.process_time()),
            **options,
        )
    return np.diff(clock)


def makespan(seconds, n_workers, overhead):
    """Seconds until all parts are done, handed out one by one to whoever is free."""
    free = [0.0] * n_workers
    for one in seconds:
        heapq.heappush(free, heapq.heappop(free) + overhead + one)
    return max(free)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--parts", type=int, default=5)
    parser.add_argument("--budget", type=int, default=128)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--overhead", type=float, default=0.003, help="seconds to hand a part over")
    options = parser.parse_args()
    seconds = measured(options.parts, options.budget)
    print(f"CPU seconds of {options.parts} parts of {PART_ROWS:,} rows: {np.round(seconds, 2).tolist()}")
    print(f"{PART_ROWS / seconds.mean():.0f} rows a second and core, {options.budget} calls a row")
    drawn = np.random.default_rng(0).choice(seconds, -(-options.rows // PART_ROWS))
    alone = makespan(drawn, 1, options.overhead)
    for n_workers in (1, 10, 100):
        taken = makespan(drawn, n_workers, options.overhead)
        print(
            f"{options.rows:,} rows on {n_workers} workers: {taken / 3600:.2f} hours, "
            f"{alone / taken / n_workers:.1%} of the workers' time used"
        )


if __name__ == "__main__":
    main()
