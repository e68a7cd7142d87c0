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
# Any function on a boolean matrix will do: here it trains once for each coalition.
def accuracy(coalitions):
    values = np.empty(len(coalitions))
    for index, members in enumerate(coalitions):
        chosen = members[owner]
        classes = np.unique(labels[chosen])
        if len(classes) < 2:
            values[index] = np.mean(y[test] == classes[0]) if len(classes) else 1 / 3
        else:
            model = GaussianNB(var_smoothing=1e-2).fit(X[train][chosen], labels[chosen])
            values[index] = np.mean(model.predict(X[test]) == y[test])
    return values


# %%
# From 300 of 4,096 trainings
# ---------------------------
estimate = polyshap.estimate(accuracy, 12, 300, random_state=0)
names = [f"source {number}" for number in range(12)]
for place in np.argsort(estimate.values):
    error = 1.96 * estimate.standard_errors[place]
    print(f"{names[place]:10} {estimate.values[place]:+.3f} ± {error:.3f}")
worst = set(np.argsort(estimate.values)[:2].tolist())
assert worst == {3, 8}

# %%
plots.bar(estimate, names=names)
