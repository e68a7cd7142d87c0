"""What every estimator does when all coalitions were observed: enumerate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from polyshap._types import FloatArray, IntArray
from polyshap.errors import ArgumentError
from polyshap.interactions import Table, moebius_transform
from polyshap.results import Diagnostics, Estimate, Index, Observations, conclude
from polyshap.sampling import Sample
from polyshap.shapley import from_table

__all__ = ["enumerated", "is_full"]


def is_full(sample: Sample) -> bool:
    """Whether the sample holds every proper coalition once."""
    n_players = sample.n_players
    if n_players >= 63 or len(sample) != (1 << n_players) - 2:
        return False
    seen = np.zeros(1 << n_players, dtype=bool)
    seen[_codes(sample)] = True
    return int(np.count_nonzero(seen)) == len(sample)


def enumerated(observations: Observations, name: str) -> Estimate:
    """Exact values from a full sample, without error, and interactions of every order."""
    table = full_table(observations)
    values = from_table(table)
    return conclude(
        observations,
        values,
        Diagnostics(name, n_terms=len(table) - 1, rank=len(table) - 1, residual=0.0),
        standard_errors=np.zeros_like(values),
        source=_TableSource(observations),
    )


@dataclass(frozen=True, eq=False)
class _TableSource:
    """The Möbius transform is made when interactions are asked for."""

    observations: Observations

    def interactions(self, order: int, index: Index, min_order: int) -> dict[tuple[int, ...], FloatArray]:
        moebius = moebius_transform(full_table(self.observations))
        return Table(moebius).interactions(order, index, min_order)


def full_table(observations: Observations) -> FloatArray:
    """All centred values (2^n, n_outputs), player i being bit i of the row number."""
    n_players, sample = observations.n_players, observations.sample
    if not is_full(sample):
        raise ArgumentError(
            f"`observations` must hold each of the {(1 << n_players) - 2} proper coalitions once. "
            f"Got {len(sample)} rows. Draw the sample with this estimator."
        )
    table = np.zeros((1 << n_players, observations.total.size))
    table[_codes(sample)] = observations.centred
    table[-1] = observations.total
    return table


def _codes(sample: Sample) -> IntArray:
    """The row number of every coalition in binary counting order."""
    octets = np.packbits(sample.coalitions, axis=1, bitorder="little")
    codes = np.zeros(len(sample), dtype=np.intp)
    for place, octet in enumerate(octets.T):
        codes |= octet.astype(np.intp) << (8 * place)
    return codes
