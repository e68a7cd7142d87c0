"""Observations of one row put together, stage by stage: both ends, first halves, then their complements."""

from __future__ import annotations

import numpy as np

from polyshap._types import BoolMatrix, FloatArray
from polyshap.results import Observations
from polyshap.rows.plans import Plan
from polyshap.sampling import Sample

__all__ = ["both_ends", "merged", "observations"]


def merged(plan: Plan, seen: FloatArray | None, fresh: FloatArray, before: int, count: int) -> FloatArray:
    """Values of earlier stages with those of pairs `before` to `count`."""
    if seen is None:
        return fresh
    if not plan.design.paired:
        return np.concatenate([seen, fresh])
    new, middle = count - before, 2 + before
    return np.concatenate([seen[:middle], fresh[:new], seen[middle:], fresh[new:]])


def both_ends(n_players: int) -> BoolMatrix:
    """The empty and the grand coalition."""
    return np.array([np.zeros(n_players, dtype=bool), np.ones(n_players, dtype=bool)])


def observations(sample: Sample, seen: FloatArray) -> Observations:
    """Values of both ends and the sample as one record."""
    return Observations(sample, seen[2:], seen[0], seen[1])
