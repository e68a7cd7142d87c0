"""Peak memory of large games against the bound they were given.

    python benchmarks/execution_memory.py [background | coalitions | parts [--rows 10000000]]

* background: 10^6 background rows of 100 columns, max_memory 256 MiB;
* coalitions: 10^5 coalitions of 1,000 players, max_memory 256 MiB;
* parts: many trivial rows, explained and written as Parquet by one worker process; the driver's own peak.

Each case runs in a process of its own. The peak counts from what the process held with its inputs; for
`coalitions` the sample itself (one byte a player) is an input that is made inside.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np

BOUND = 256 << 20
MIB = 1 << 20


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


class Peak:
    """The largest resident size while a block runs, sampled every 2 ms."""

    def __enter__(self):
        self.value, self.on = resident(), True
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()
        return self

    def watch(self):
        while self.on:
            self.value = max(self.value, resident())
            time.sleep(0.002)

    def __exit__(self, *exception):
        self.on = False
        self.thread.join()


def model(rows):
    return rows[:, 0] * rows[:, 1] + rows[:, 2]


def background():
    """One row against a background of 800 MB."""
    import polyshap

    rng = np.random.default_rng(0)
    table = rng.standard_normal((1_000_000, 100))
    rows = rng.standard_normal((1, 100))
    before = resident()
    with Peak() as peak:
        polyshap.explain(
            model, rows, table, budget=12, estimator="permutation", groups=dict(zip(
                "abcde", np.split(np.arange(100), 5), strict=True)), max_memory=BOUND, random_state=0,
        )  # fmt: skip
    return "10^6 x 100 background", peak.value - before, 0


def coalitions():
    """One row of 1,000 features, 100,000 evaluations."""
    import polyshap

    rng = np.random.default_rng(0)
    rows, table = rng.standard_normal((1, 1000)), rng.standard_normal((1, 1000))
    before = resident()
    with Peak() as peak:
        polyshap.explain(
            model, rows, table, budget=100_000, estimator="permutation", max_memory=BOUND, random_state=0
        )
    return "10^5 coalitions x 1,000 players", peak.value - before, 100_000 * 1000


def write_rows(file, n_rows, seed):
    import pyarrow
    import pyarrow.parquet as parquet

    values = np.random.default_rng(seed).standard_normal((n_rows, 3))
    table = pyarrow.table({f"x{j}": values[:, j] for j in range(3)})
    parquet.write_table(table, file, row_group_size=100_000)


def parts(n_rows):
    """Trivial rows in parts on one worker, which also makes the files they are in."""
    import loky
    import pyarrow.parquet  # noqa: F401  counts as an import of the driver

    import polyshap

    before, grown = resident(), []
    weights = np.arange(3.0)

    def note(done, total):
        if done * 10 // total > len(grown):
            grown.append(resident() - before)

    with tempfile.TemporaryDirectory() as folder, loky.ProcessPoolExecutor(1) as executor:
        size = min(n_rows, 500_000)
        for number in range(n_rows // size):
            executor.submit(write_rows, f"{folder}/{number:04d}.parquet", size, number).result()
        with Peak() as peak:
            started = time.perf_counter()
            found = polyshap.explain(
                lambda rows: rows @ weights, f"{folder}/*.parquet", np.zeros((1, 3)), budget=8,
                out=f"{folder}/out", executor=executor, random_state=0, progress=note,
            )  # fmt: skip
            seconds = time.perf_counter() - started
    print(f"{found.n_rows:,} rows in {len(found.files):,} parts, {seconds:.1f} s")
    print("MiB above the imports after each tenth:", *(round(one / MIB) for one in grown))
    return f"driver of {n_rows:,} rows in parts", peak.value - before, 0


CASES = {"background": background, "coalitions": coalitions, "parts": parts}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("case", nargs="?", choices=CASES)
    parser.add_argument("--rows", type=int, default=200_000, help="of the case parts")
    options = parser.parse_args()
    if options.case is None:
        for case in CASES:
            subprocess.run([sys.executable, __file__, case, f"--rows={options.rows}"], check=True)
        return
    name, peak, inputs = parts(options.rows) if options.case == "parts" else CASES[options.case]()
    if options.case == "parts":
        print(f"{name}: {peak / MIB:.0f} MiB above the imports (at most 300)")
        return
    allowed = 1.3 * BOUND + inputs
    print(
        f"{name}: peak {peak / MIB:.0f} MiB above the inputs; bound {BOUND / MIB:.0f} MiB, "
        f"1.3 x bound + sample {allowed / MIB:.0f} MiB: {'within' if peak <= allowed else 'EXCEEDED'}"
    )


if __name__ == "__main__":
    main()
