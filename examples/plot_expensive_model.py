"""An expensive model: stop early, pay once
=========================================

When a call costs seconds or money, two things help: stop as soon as the error bars are small enough, and keep
every answer, so that a run that was ended, or is repeated with a larger budget, does not pay again.
"""

# %%
# A slow simulation
# -----------------
# A dozen parameters; each run is counted.
import tempfile
from pathlib import Path

import numpy as np

import polyshap
from polyshap import plots
from polyshap.execution.cache import Cache

calls = 0
rates = np.linspace(0.2, 1.5, 12)


def simulate(rows):
    """An oscillator driven by twelve inputs, run for two hundred steps."""
    global calls
    calls += len(rows)
    position, speed = np.zeros(len(rows)), np.zeros(len(rows))
    for step in range(200):
        push = (rows * np.sin(rates * step / 10)).sum(axis=1)
        speed = 0.9 * speed + 0.1 * np.tanh(push) - 0.05 * position
        position = position + speed
    return position


rng = np.random.default_rng(0)
background, rows = rng.normal(size=(5, 12)), rng.normal(size=(4, 12))

# %%
# Stop when the errors are small
# ------------------------------
# `tolerance` is a share of the distance between the prediction and the base value. Coalitions are asked
# for in stages, and rows leave as they are done.
x = polyshap.explain(simulate, rows, background, budget=1000, tolerance=0.03, random_state=0)
print("coalitions for each row", x.row_evaluations, "within the tolerance:", x.diagnostics.converged)

# %%
# Pay once
# --------
# With `cache` every answer is kept in a file. The name of the model is given: a function of a session
# has no lasting one.
folder = tempfile.TemporaryDirectory()
cache = Cache(Path(folder.name) / "values", fingerprint="oscillator, version 1")
options = {"budget": 200, "random_state": 0, "cache": cache}
calls = 0
first = polyshap.explain(simulate, rows, background, **options)
print("first run:", calls, "simulations")
calls = 0
again = polyshap.explain(simulate, rows, background, **options)
print("the same once more:", calls, "simulations")
assert calls < 20  # a look at the shape of the answers, and the mean over the background
assert (again.values == first.values).all()

# %%
# How the estimate settles
# ------------------------
series = [
    polyshap.explain(simulate, rows[:1], background, budget=budget, random_state=0, cache=cache)
    for budget in (50, 100, 200, 400)
]
plots.convergence(series)
folder.cleanup()
