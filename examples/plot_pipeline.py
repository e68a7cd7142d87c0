"""A scikit-learn pipeline with categories
=======================================

A pipeline takes a DataFrame with text and numbers. It is explained in the columns that go in: a category is
one feature, however many indicators the encoder makes of it.
"""

# %%
# Data and model
# --------------
import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import polyshap

rng = np.random.default_rng(0)
n = 400
loans = pd.DataFrame(
    {
        "income": rng.lognormal(10, 0.5, n).round(),
        "amount": rng.lognormal(9, 0.6, n).round(),
        "years": rng.integers(1, 20, n),
        "purpose": rng.choice(["car", "house", "study", "travel"], n),
        "contract": pd.Categorical(rng.choice(["permanent", "fixed", "none"], n)),
    }
)
burden = loans["amount"] / loans["income"] + 0.6 * (loans["contract"] == "none") + 0.2 * rng.normal(size=n)
repaid = np.where(burden < 0.6, "repaid", "failed")

encode = make_column_transformer((OneHotEncoder(), ["purpose", "contract"]), remainder="passthrough")
model = make_pipeline(encode, RandomForestClassifier(n_estimators=30, random_state=0)).fit(loans, repaid)

# %%
# Explain
# -------
# The background is what absent columns are filled from. Five columns have 32 coalitions, so all are asked for
# and the values are exact. `outputs` picks one class.
x = polyshap.explain(model, loans.head(20), loans.tail(60), outputs="repaid", random_state=0)
print(x.to_frame().head(5).to_string(index=False))
assert np.allclose(x.values.sum(axis=1), x.predictions - x.base_values)

# %%
# One row
# -------
# The bars lead from the mean probability to the one of this loan.
x.plot.waterfall(row=0)

# %%
# All rows
# --------
x.plot.beeswarm()
