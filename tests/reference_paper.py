"""The sampler of the paper's experiments, to the last draw: slow, and only to replay published numbers."""

from itertools import combinations
from math import comb

import numpy as np

from polyshap.coalitions import log_shapley_kernel, sizes_of
from polyshap.results import Observations
from polyshap.sampling import Sample


class PaperSampler:
    """Sizes with equal shares, without repeats; the generator goes on from one budget to the next."""

    def __init__(self, n_players: int, paired: bool, seed: int = 40) -> None:
        self.n_players, self.paired = n_players, paired
        self.rng = np.random.default_rng(seed)

    def draw(self, budget: int) -> Sample:
        """The proper coalitions of one call, weighted as there: repeats counted as if they were allowed."""
        n = self.n_players
        rows, open_sizes, share = self._border(budget - 2)
        n_listed = len(rows)
        seen: set[tuple[int, ...]] = set()
        while len(open_sizes) and len(rows) < budget - 2:
            size = int(self.rng.choice(open_sizes, size=1, p=share)[0])
            drawn = tuple(sorted(self.rng.choice(n, size=size, replace=False).tolist()))
            other = tuple(sorted(set(range(n)) - set(drawn)))
            pair = (drawn, other) if self.paired and n - size in open_sizes else (drawn,)
            for coalition in pair:
                if coalition not in seen and len(rows) < budget - 2:
                    seen.add(coalition)
                    rows.append(coalition)
        coalitions = np.zeros((len(rows), n), dtype=bool)
        for row, members in enumerate(rows):
            coalitions[row, list(members)] = True
        shares = dict(zip(open_sizes.tolist(), share.tolist(), strict=True))
        weights = [1.0] * n_listed + [
            comb(n, len(row)) / (shares[len(row)] * (len(rows) - n_listed)) for row in rows[n_listed:]
        ]
        log_weights = log_shapley_kernel(n, sizes_of(coalitions)) + np.log(weights)
        return Sample(coalitions, log_weights, paired=False)  # pairs are not in the order of a paired one

    def _border(self, left: int) -> tuple[list[tuple[int, ...]], np.ndarray, np.ndarray]:
        """Coalitions of the sizes listed in full, the other sizes, and the share of each of those."""
        n = self.n_players
        # these divisions in this order: their last bits decide ties
        share = np.ones(n + 1) / (n + 1)
        share /= share.sum()
        share = share[1:n] / share[1:n].sum()
        sizes, listed = np.arange(1, n), []
        while len(sizes):
            full = np.array(
                [left * part >= comb(n, int(size)) for size, part in zip(sizes, share, strict=True)]
            )
            if not full.any():
                break
            listed += sizes[full].tolist()
            left -= sum(comb(n, int(size)) for size in sizes[full])
            sizes, share = sizes[~full], share[~full] / share[~full].sum()
        listed.sort(key=lambda size: -abs(n / 2 - size))
        rows = [members for size in listed for members in combinations(range(n), size)]
        return rows, sizes, share


def replay(game, n_players: int, paired: bool, budgets: list[int]) -> Observations:
    """The game at the coalitions of the last budget, after the draws of all before it."""
    sampler = PaperSampler(n_players, paired)
    sample = [sampler.draw(budget) for budget in budgets][-1]
    ends = game(np.array([[False] * n_players, [True] * n_players]))
    return Observations(sample, game(sample.coalitions), *ends)
