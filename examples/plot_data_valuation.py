"""Data valuation
===============

Players need not be features. Here they are blocks of training data, and the value of a coalition is the
accuracy of a model trained on its blocks: who contributed what to the result?
"""

# %%
# Twelve sources, two of them with wrong labels
# ---------------------------------------------
import numpy as np
from sklearn.datasets import load_iris
from sklearn.naive_bayes import GaussianNB

import polyshap
from polyshap import plots
from polyshap.games.data_valuation import data_valuation_game

rng = np.random.default_rng(0)
X, y = load_iris(return_X_y=True)
order = rng.permutation(len(X))
train, test = order[:60], order[60:]
owner = np.arange(60) % 12  # five examples each
labels = y[train].copy()
for source in (3, 8):
    labels[owner == source] = rng.permutation((labels[owner == source] + 1) % 3)

# %%
# The game
# --------
# The players are the sources; the value of a coalition is the accuracy of a model fitted to its examples. No
# coalition is fitted twice.
game = data_valuation_game(
    GaussianNB(var_smoothing=1e-2), X[train], labels, X[test], y[test], groups=owner, empty_value=1 / 3
)

# %%
# From 300 of 4,096 trainings
# ---------------------------
estimate = polyshap.estimate(game, game.n_players, 300, random_state=0)
names = [f"source {number}" for number in range(12)]
for place in np.argsort(estimate.values):
    error = 1.96 * estimate.standard_errors[place]
    print(f"{names[place]:10} {estimate.values[place]:+.3f} ± {error:.3f}")
worst = set(np.argsort(estimate.values)[:2].tolist())
assert worst == {3, 8}

# %%
plots.bar(estimate, names=names)
