"""Rows that live in Spark or Ray: one explainer, one model, one table, and what must come out."""

import numpy as np
import pandas

import polyshap

NAMES = ["age", "rooms", "price", "floor", "lift"]
_RNG = np.random.default_rng(0)
BACKGROUND = pandas.DataFrame(_RNG.standard_normal((10, 5)), columns=NAMES)
ROWS = pandas.DataFrame(_RNG.standard_normal((60, 5)), columns=NAMES).assign(id=range(60))


def explainer(**options):
    """The model is defined inside, so that it travels by value: workers do not see this file."""

    def model(rows):
        values = np.asarray(rows, dtype=float)
        return values[:, 0] * values[:, 1] + values @ np.arange(1.0, 6.0)

    return polyshap.Explainer(model, BACKGROUND, **({"budget": 22, "random_state": 0} | options))


def assert_same(found, wanted):
    """Rows by their key, up to the last bits of rows that are fitted together."""
    found = found.sort_values("id", ignore_index=True)
    assert list(found.columns) == list(wanted.columns)
    np.testing.assert_allclose(found.to_numpy(float), wanted.to_numpy(float), rtol=0, atol=1e-12)
