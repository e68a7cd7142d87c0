"""Exact Shapley values from all 2^n coalitions."""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np

from polyshap._types import FloatArray
from polyshap.errors import ArgumentError, MemoryNeededError
from polyshap.interactions import Table, moebius_transform
from polyshap.results import Diagnostics, Estimate, Index, Observations, conclude
from polyshap.sampling import Sample, check_budget, full_sample
from polyshap.shapley import from_table

__all__ = ["Exact", "ExactSource", "coalition_codes"]


@dataclass(frozen=True)
class Exact:
    """Enumerate every coalition: phi_i = sum_S |S|! (n-|S|-1)! / n! (v(S with i) - v(S)).

    It needs a budget of 2^n. Interactions of every order and index come from the Möbius transform.
    """

    def draw(self, n_players: int, budget: int, rng: np.random.Generator) -> Sample:
        _check_memory(n_players)
        check_budget(budget, 1 << n_players, reason="2^n_players, every coalition once")
        return full_sample(n_players)

    def fit(self, observations: Observations) -> Estimate:
        table = full_table(observations)
        diagnostics = Diagnostics(
            estimator="Exact()", n_terms=len(table) - 1, rank=len(table) - 1, residual=0.0
        )
        return conclude(
            observations,
            from_table(table),
            diagnostics,
            standard_errors=np.zeros((observations.n_players, table.shape[1])),
            source=ExactSource(observations),
        )


@dataclass(frozen=True, eq=False)
class ExactSource:
    """Interactions from all values; the Möbius transform is made when they are asked for."""

    observations: Observations

    def interactions(self, order: int, index: Index, min_order: int) -> dict[tuple[int, ...], FloatArray]:
        moebius = moebius_transform(full_table(self.observations))
        return Table(moebius).interactions(order, index, min_order)


def full_table(observations: Observations) -> FloatArray:
    """All centred values (2^n, n_outputs), player i being bit i of the row number."""
    n_players = observations.n_players
    codes = coalition_codes(observations.sample)
    expected = (1 << n_players) - 2
    if len(codes) != expected or not _all_distinct(codes, 1 << n_players):
        raise ArgumentError(
            f"`observations` must hold each of the {expected} proper coalitions once. "
            f"Got {len(codes)} rows. Draw the sample with this estimator."
        )
    table = np.zeros((1 << n_players, observations.total.size))
    table[codes] = observations.centred
    table[-1] = observations.total
    return table


def _all_distinct(codes: np.ndarray[tuple[int], np.dtype[np.int64]], limit: int) -> bool:
    seen = np.zeros(limit, dtype=bool)
    seen[codes] = True
    return int(np.count_nonzero(seen)) == len(codes)


def coalition_codes(sample: Sample) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The row number of every coalition in binary counting order."""
    octets = np.packbits(sample.coalitions, axis=1, bitorder="little")
    codes = np.zeros(len(sample), dtype=np.int64)
    for place, octet in enumerate(octets.T):
        codes |= octet.astype(np.int64) << (8 * place)
    return codes


def _check_memory(n_players: int) -> None:
    """Coalitions twice (drawn, and in the batch list), values three times, keys once."""
    needed = (1 << n_players) * (2 * n_players + 5 * 8)
    available = _available_memory()
    if needed > available:
        raise MemoryNeededError(
            f"Exact values of {n_players} players need 2^{n_players} evaluations and about "
            f"{needed / 2**30:,.1f} GiB; {available / 2**30:,.1f} GiB are free. "
            "Group features, or use estimator='adaptive' with a smaller budget."
        )


def _available_memory() -> int:
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # not on this platform
        return 4 << 30
