"""Groups of columns
==================

Columns that belong together enter and leave together. There are fewer players, the same budget goes further,
and nobody has to add up the parts of one thing.
"""

# %%
# Thirty measurements are ten
# ---------------------------
# The breast cancer data hold for each of ten properties of a cell nucleus its mean, its standard error and
# its worst value.
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier

import polyshap

data = load_breast_cancer()
names = data.feature_names.tolist()
model = HistGradientBoostingClassifier(max_iter=30, random_state=0).fit(data.data, data.target)
properties = [name.removeprefix("mean ") for name in names[:10]]
groups = {what: [f"mean {what}", f"{what} error", f"worst {what}"] for what in properties}

# %%
# With and without
# ----------------
rows, background = data.data[:3], data.data[100:125]
options = {"outputs": 1, "feature_names": names, "random_state": 0}
single = polyshap.explain(model, rows, background, budget=128, **options)
grouped = polyshap.explain(model, rows, background, budget=128, groups=groups, **options)
print("players", single.values.shape[1], "and", grouped.values.shape[1])
print(
    "largest standard error",
    single.standard_errors.max().round(4),
    "and",
    grouped.standard_errors.max().round(4),
)

# %%
# The value of a group is not the sum of its members' values: the sum depends on how the members share with
# all others.
of_group = single.values.reshape(3, 3, 10).sum(axis=1)
for what, value, added in zip(properties, grouped.values[0], of_group[0], strict=True):
    print(f"{what:18} {value:+.3f} as a group, {added:+.3f} added up")
assert np.allclose(grouped.values.sum(axis=1), of_group.sum(axis=1))  # both share the same difference

# %%
grouped.plot.bar(row=0)
