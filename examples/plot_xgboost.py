"""XGBoost, and the closed form for trees
========================================

A boosted forest has two games. Filling absent features from a background works for any model. The trees' own
game instead follows both branches at a node whose feature is absent, weighted by how much training data went
there; it needs no background, and its Shapley values have a closed form to compare with.
"""

# %%
# A model on the breast cancer data, 30 features
# ----------------------------------------------
import numpy as np
from sklearn.datasets import load_breast_cancer
from xgboost import XGBClassifier

import polyshap
from polyshap.games.tree_models import read_trees
from polyshap.games.trees import TreeGame, tree_shapley_values

data = load_breast_cancer()
model = XGBClassifier(n_estimators=30, max_depth=3, random_state=0, n_jobs=1)
model.fit(data.data, data.target)

# %%
# From the predictions alone
# --------------------------
# Explained are probabilities, with standard errors, from 200 coalitions of 30 features.
x = polyshap.explain(
    model,
    data.data[:4],
    data.data[100:130],
    outputs=1,
    feature_names=data.feature_names.tolist(),
    budget=200,
    random_state=0,
)
first = x[0]
for player in np.argsort(-np.abs(first.values))[:5]:
    error = 1.96 * first.standard_errors[player]
    print(f"{first.feature_names[player]:22} {first.values[player]:+.4f} ± {error:.4f}")
x.plot.waterfall(row=0)

# %%
# The trees' own game
# -------------------
# In margins (log-odds). Its exact values cost no call; an estimate from 300 calls can be held against them.
trees = read_trees(model)
exact = tree_shapley_values(trees, data.data[0])[0, :, 0]
estimate = polyshap.estimate(TreeGame(trees, data.data[0]), 30, 300, random_state=0)
error = np.sqrt(np.mean((estimate.values - exact) ** 2) / np.mean(exact**2))
print(f"error of the estimate: {error:.2%} of the values' size")
assert error < 0.2
