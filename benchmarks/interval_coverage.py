"""How many of the adaptive estimator's 95 % intervals hold the exact value, on the public games.

    python benchmarks/interval_coverage.py [GAME ...]

Six instances a game, one seed each, at 3, 10 and 40 calls a player; needs the public tables (see
`polyshap.benchmark.data`).
"""

from __future__ import annotations

import sys

import numpy as np

import polyshap
from polyshap.benchmark.data import load_instances

GAMES = ("Housing", "Bike", "Forest", "Adult", "Estate", "Cancer", "NHANES", "Crime", "ViT9", "ViT16")
GAMES += ("ResNet18", "DistilBERT")
INSTANCES = 6

print(f"{'game':11} players  calls  covered  error")
for name in sys.argv[1:] or GAMES:
    instances = load_instances(name)
    n_players = instances.n_players
    for budget in (3 * n_players, 10 * n_players, 40 * n_players):
        if budget > 0.8 * 2.0**n_players:
            continue
        inside, errors = [], []
        for number in range(INSTANCES):
            exact = np.asarray(instances.exact)[number]
            found = polyshap.estimate(
                instances.game([number]), n_players, budget, "adaptive", random_state=number
            )
            assert found.standard_errors is not None
            off = found.values.ravel() - exact
            inside.append(np.mean(np.abs(off) <= 1.96 * found.standard_errors.ravel()))
            errors.append(np.mean(off**2) / np.mean(exact**2))
        error = np.sqrt(np.mean(errors))
        print(f"{name:11} {n_players:7} {budget:6} {np.mean(inside):8.0%} {error:6.1%}", flush=True)
