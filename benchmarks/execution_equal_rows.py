"""How many predictions are saved by predicting equal synthetic rows once.

    POLYSHAP_DATA=/path/to/data python benchmarks/execution_equal_rows.py [--rows 20] [--workloads bike]

The workloads are those of `explain_cost.py`, each explained with and without looking for equal rows. The
values must not change beyond the last bits, in which models differ between batches of different sizes.
"""

import argparse
import time
from dataclasses import replace

import numpy as np
from explain_cost import WORKLOADS, Timed

import polyshap
from polyshap.rows.explaining import explain_prepared


def explained(work, rows, deduplicate):
    """The explanation, the synthetic rows predicted, and CPU seconds."""
    model = Timed(work.predict)
    prepared = polyshap.Explainer(model, work.background, random_state=0).prepared
    batching = replace(prepared.batching, deduplicate=deduplicate)
    started = time.process_time()
    x = explain_prepared(replace(prepared, batching=batching), rows, budget=work.budget, shared=work.shares)
    return x, model.rows, time.process_time() - started


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=20)
    parser.add_argument("--workloads", nargs="+", choices=WORKLOADS, default=["bike"])
    options = parser.parse_args()
    for name in options.workloads:
        work = WORKLOADS[name]()
        rows = work.rows[: options.rows]
        explained(work, rows[:1], None)  # imports what is imported where it is used
        x, distinct, quick = explained(work, rows, None)
        plain, every, slow = explained(work, rows, False)
        change = np.abs(x.values - plain.values).max()
        print(
            f"{name}: {len(rows)} rows, {distinct:,} of {every:,} synthetic rows predicted, "
            f"{distinct / every:.0%}; {quick:.1f} s of CPU instead of {slow:.1f} s; change {change:.0e}"
        )


if __name__ == "__main__":
    main()
