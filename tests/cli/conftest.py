"""Files that a user would have: a table, and a model of each kind."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest


@dataclass(frozen=True)
class Workshop:
    """A folder with data, and the plain linear truth behind its models."""

    folder: Path
    weights: np.ndarray

    def path(self, name: str) -> str:
        return str(self.folder / name)


@pytest.fixture(scope="session")
def workshop(tmp_path_factory) -> Workshop:
    """Sixty rows of four numbers and a target, as csv and parquet, and scoring.py."""
    pandas = pytest.importorskip("pandas")
    folder = tmp_path_factory.mktemp("workshop")
    generator = np.random.default_rng(5)
    weights = np.array([3.0, -2.0, 1.0, 0.0])
    X = generator.normal(size=(60, 4)).round(6)
    table = pandas.DataFrame(X, columns=["age", "income", "hours", "noise"])
    table["y"] = X @ weights
    table.to_csv(folder / "rows.csv", index=False)
    table.to_parquet(folder / "rows.parquet")
    (folder / "scoring.py").write_text(
        "def predict(table):\n"
        "    return 3.0 * table['age'] - 2.0 * table['income'] + table['hours']\n"
        "def on_array(rows):\n"
        "    return rows @ [3.0, -2.0, 1.0, 0.0]\n"
        "def on_two(rows):\n"
        "    return rows @ [1.0, 2.0]\n"
        "def two(table):\n"
        "    import numpy\n"
        "    return numpy.stack([predict(table), -predict(table)], axis=1)\n"
        "def broken(table):\n"
        "    raise KeyError('no such\\nthing')\n"
    )
    return Workshop(folder, weights)


@pytest.fixture(scope="session")
def fitted(workshop):
    """A scikit-learn model that remembers its columns."""
    pandas = pytest.importorskip("pandas")
    linear_model = pytest.importorskip("sklearn.linear_model")
    table = pandas.read_csv(workshop.folder / "rows.csv")
    return linear_model.LinearRegression().fit(table.drop(columns="y"), table["y"])
