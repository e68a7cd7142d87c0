"""The paper's theorem in 20 lines
================================

KernelSHAP fits a linear function to the game, 2-PolySHAP a quadratic one. On pairs of complementary
coalitions both give the same Shapley values (Fumagalli, Witter and Musco, 2026, Theorem 4.1), and so do
orders 3 and 4, orders 5 and 6, and so on: only the odd part of a polynomial bears on the Shapley values.
"""

# %%
import numpy as np

import polyshap
from polyshap.estimators import PolySHAP
from polyshap.frontiers import KAdditive
from polyshap.sampling import Design

table = np.random.default_rng(0).normal(size=2**9)  # a game without any structure


def game(coalitions):
    return table[coalitions @ (1 << np.arange(9))]


def values(order, paired):
    return polyshap.estimate(
        game, 9, 400, PolySHAP(KAdditive(order), Design(paired=paired)), random_state=0
    ).values


# %%
# With pairs the orders come in twos; without pairs each is its own.
for order in (1, 2, 3):
    for paired in (True, False):
        difference = np.abs(values(order, paired) - values(order + 1, paired)).max()
        print(
            f"orders {order} and {order + 1}, {'paired' if paired else 'single'}: differ by {difference:.1e}"
        )
        assert (difference < 1e-9) == (paired and order % 2 == 1)

# %%
# Why, in five lines of algebra: see "How it works" in the documentation.
