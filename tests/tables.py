"""Synthetic games with exact values in closed form, and where the public data is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from polyshap.benchmark.locate import data_folders
from polyshap.games import (
    AirportGame,
    LinearPairwiseGame,
    ProductGame,
    UnanimityGame,
    WeightedVotingGame,
    random_k_additive,
)


def symmetric(n_players, seed):
    """A symmetric matrix with a zero diagonal."""
    upper = np.triu(np.random.default_rng(seed).normal(size=(n_players, n_players)), 1)
    return upper + upper.T


def synthetic_games(n_players, seed):
    """One game of each kind with that many players."""
    rng = np.random.default_rng(seed)
    n_terms = min(3 * n_players, 2**n_players - 1)
    return {
        "unanimity": UnanimityGame(n_players, [(), (0,), range(n_players)], [0.5, 2.0, -3.0]),
        "k-additive": random_k_additive(n_players, min(4, n_players), n_terms, random_state=seed),
        "airport": AirportGame(rng.exponential(size=n_players).round(1)),  # rounding makes ties
        "linear and pairwise": LinearPairwiseGame(rng.normal(size=n_players), symmetric(n_players, seed)),
        "product": ProductGame(
            1 + rng.normal(size=n_players) / n_players**0.5, 1 + rng.normal(size=n_players) / n_players**0.5
        ),
        "voting": WeightedVotingGame(rng.integers(1, 9, n_players), quota=2 * n_players),
    }


KINDS = tuple(synthetic_games(4, seed=0))


def data_folder() -> Path:
    """The folder of public data, or the test is skipped with the reason."""
    for folder in data_folders():
        if (folder / "forests").is_dir():
            return folder
    pytest.skip("the public data is not here: set POLYSHAP_DATA to its folder")
