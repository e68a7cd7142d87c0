"""Small models and tables that the tests of `explain` share."""

import numpy as np

RNG = np.random.default_rng(0)
ROWS, BACKGROUND = RNG.random((4, 5)), RNG.random((7, 5))
WIDE, WIDE_BACKGROUND = RNG.random((6, 12)), RNG.random((9, 12))


def smooth(rows):
    rows = np.asarray(rows, dtype=float)
    return rows[:, 0] * rows[:, 1] + np.sin(3 * rows[:, 2]) * rows[:, 3] - rows[:, 4]


def wide(rows):
    return np.stack([smooth(rows[:, :5]) + rows[:, 5:].prod(axis=1), (rows**2).sum(axis=1)], axis=1)


class Calls:
    """A model that counts rows and can be asked whether it was asked."""

    def __init__(self, function):
        self.function, self.n_rows, self.n_calls = function, 0, 0

    def __call__(self, rows):
        self.n_calls += 1
        self.n_rows += len(rows)
        return self.function(rows)
