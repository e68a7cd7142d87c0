"""How much faster two worker processes are than one, for a model that takes 5 ms a batch.

    python benchmarks/execution_throughput.py [--rows 30] [--milliseconds 5] [--jobs 2] [--sleep]

The pool is started and has the model before the clock runs. Prints wall and CPU seconds of each run; the
ratio of the walls is the speed-up. With --sleep the model waits instead of computing, as a remote one does.
The last line is what the machine allows at the moment: the same number of model calls in bare processes. On
busy cores that is less than the number of processes.
"""

import argparse
import resource
import time

import loky
import numpy as np

import polyshap


def make_model(milliseconds, sleep):
    """A model whose every call takes the same time, whatever the number of rows."""

    def model(rows):
        if sleep:
            time.sleep(milliseconds / 1000)
        else:
            until = time.thread_time() + milliseconds / 1000
            while time.thread_time() < until:
                pass
        return rows.sum(axis=1) + rows[:, 0] * rows[:, 1]

    return model


def measured(run):
    def cpu():
        both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        return sum(one.ru_utime + one.ru_stime for one in both)

    wall, spent = time.perf_counter(), cpu()
    values = run().values
    return time.perf_counter() - wall, cpu() - spent, values


def bare(executor, model, n_calls, jobs):
    """Seconds of so many calls on so many processes, without polyshap."""

    def calls(n):
        rows = np.zeros((50, 10))
        for _ in range(n):
            model(rows)

    started = time.perf_counter()
    for future in [executor.submit(calls, n_calls // jobs) for _ in range(jobs)]:
        future.result()
    return time.perf_counter() - started


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=30)
    parser.add_argument("--milliseconds", type=float, default=5.0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--sleep", action="store_true")
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    rows, background = rng.standard_normal((options.rows, 10)), rng.standard_normal((10, 10))
    model = make_model(options.milliseconds, options.sleep)

    def explain(**where):
        return polyshap.explain(
            model,
            rows,
            background,
            budget=202,
            estimator="polyshap-2",
            batch_size=50,
            random_state=0,
            **where,
        )

    serial = measured(explain)
    executor = loky.ProcessPoolExecutor(options.jobs)
    explain(executor=executor)
    parallel = measured(lambda: explain(executor=executor))
    spent = serial[0] if options.sleep else serial[1]
    n_calls = round(1000 * spent / options.milliseconds)
    alone, together = (bare(executor, model, n_calls, jobs) for jobs in (1, options.jobs))
    executor.shutdown()
    assert np.array_equal(serial[2], parallel[2])
    print(f"one process: {serial[0]:.2f} s, {serial[1]:.2f} s of CPU")
    print(
        f"{options.jobs} processes: {parallel[0]:.2f} s, "
        f"{serial[0] / parallel[0]:.2f} times as fast; the same bits"
    )
    print(
        f"bare processes: {alone:.2f} s on one, {together:.2f} s on {options.jobs}, "
        f"{alone / together:.2f} times as fast"
    )


if __name__ == "__main__":
    main()
