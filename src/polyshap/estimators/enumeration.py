"""What every estimator does when all coalitions were observed: enumerate."""

from __future__ import annotations

import numpy as np

from polyshap.estimators.exact import ExactSource, coalition_codes, full_table
from polyshap.results import Diagnostics, Estimate, Observations, conclude
from polyshap.sampling import Sample
from polyshap.shapley import from_table

__all__ = ["enumerated", "is_full"]


def is_full(sample: Sample) -> bool:
    """Whether the sample holds every proper coalition once."""
    n_players = sample.n_players
    if n_players >= 63 or len(sample) != (1 << n_players) - 2:
        return False
    return len(np.unique(coalition_codes(sample))) == len(sample)


def enumerated(observations: Observations, name: str) -> Estimate:
    """Exact values and interactions from a full sample, without error."""
    values = from_table(full_table(observations))
    diagnostics = Diagnostics(estimator=name, residual=0.0)
    return conclude(
        observations,
        values,
        diagnostics,
        standard_errors=np.zeros_like(values),
        source=ExactSource(observations),
    )
