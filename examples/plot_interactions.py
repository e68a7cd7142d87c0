"""Interactions
=============

A Shapley value shares what features do together. Interactions show it, and they come from the calls that were
made for the values.
"""

# %%
# A model with known interactions
# -------------------------------
import numpy as np

import polyshap

names = ["rain", "wind", "heat", "hour", "holiday", "school", "price", "event"]


def model(rows):
    """Visitors of a museum: rain drives people in, unless the wind is strong; schools come on weekdays."""
    rain, wind, _heat, hour, holiday, school, price, event = rows.T
    return (
        5 * rain
        - 4 * rain * wind
        + 2 * hour
        + 3 * school * (1 - holiday)
        - price
        + 6 * event * holiday * hour
    )


rng = np.random.default_rng(0)
background = rng.integers(0, 2, size=(40, 8)).astype(float)
row = np.ones((1, 8))

# %%
# Values and pairs from 150 of 256 coalitions
# -------------------------------------------
# Triples are the largest sets that this model knows, so PolySHAP of order 3 finds everything.
x = polyshap.explain(
    model, row, background, estimator="polyshap-3", budget=150, feature_names=names, random_state=0
)
pairs = x.interactions(0, order=2)
for pair in sorted(pairs, key=lambda pair: -abs(pairs[pair]))[:4]:
    print(" and ".join(names[player] for player in pair), f"{float(pairs[pair]):+.2f}")

# %%
# Against all coalitions
# ----------------------
exact = polyshap.explain(model, row, background, budget=256, feature_names=names).interactions(0, order=2)
assert max(abs(pairs[pair] - exact[pair]) for pair in exact) < 1e-8

# %%
# "heat" is in no term of the model, and in none of the pairs.
assert all(abs(value) < 1e-8 for pair, value in pairs.items() if names.index("heat") in pair)

# %%
x.plot.interaction_heatmap(row=0)

# %%
x.plot.interaction_network(row=0)
