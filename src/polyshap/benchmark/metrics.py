"""How far estimated values are from exact ones: the measures of the paper, and summaries over instances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata

from polyshap._types import FloatArray

__all__ = ["Summary", "mean_squared_error", "normalised_error", "precision_at", "spearman", "summarise"]


def mean_squared_error(values: FloatArray, exact: FloatArray) -> float:
    """sum_i (phi_hat_i - phi_i)^2 / n, in the units of the game squared.

    >>> mean_squared_error(np.array([1.0, 2.0]), np.array([1.0, 4.0]))
    2.0
    """
    return float(np.mean((values - exact) ** 2))


def normalised_error(values: FloatArray, exact: FloatArray) -> float:
    """The mean squared error over the mean of the squared exact values; NaN where those are all zero.

    >>> normalised_error(np.array([0.0, 0.0]), np.array([1.0, 4.0]))
    1.0
    """
    scale = float(np.mean(exact**2))
    return mean_squared_error(values, exact) / scale if scale > 0 else float("nan")


def precision_at(values: FloatArray, exact: FloatArray, k: int = 5) -> float:
    """The share of the k players of largest |phi| that are among the k of largest |phi_hat|.

    Players of equal magnitude rank by their number, in both.

    >>> precision_at(np.array([3.0, -2.0, 1.0]), np.array([3.0, 1.0, -2.0]), k=2)
    0.5
    """
    k = min(k, len(exact))
    top = [set(np.argsort(-np.abs(vector), kind="stable")[:k].tolist()) for vector in (values, exact)]
    return len(top[0] & top[1]) / k


def spearman(values: FloatArray, exact: FloatArray) -> float:
    """Rank correlation of the signed values, ties at their mean rank; NaN where one of them is constant.

    >>> spearman(np.array([1.0, 2.0, 3.0]), np.array([10.0, 30.0, 20.0]))
    0.5
    """
    first, second = (rankdata(vector) - (len(vector) + 1) / 2 for vector in (values, exact))
    scale = float(np.sqrt((first @ first) * (second @ second)))
    return float(first @ second) / scale if scale > 0 else float("nan")


@dataclass(frozen=True)
class Summary:
    """Mean over instances with its standard error, sd (with n - 1) / sqrt(n), and quartiles."""

    n: int
    mean: float
    sem: float
    q1: float
    median: float
    q3: float


def summarise(numbers: Sequence[float]) -> Summary:
    """Summary of the numbers that are not NaN; quartiles interpolate linearly.

    >>> summarise([1.0, 3.0])
    Summary(n=2, mean=2.0, sem=1.0, q1=1.5, median=2.0, q3=2.5)
    """
    finite = np.array([number for number in numbers if not np.isnan(number)])
    if len(finite) == 0:
        return Summary(0, *[float("nan")] * 5)
    sem = float(finite.std(ddof=1) / np.sqrt(len(finite))) if len(finite) > 1 else float("nan")
    quartiles = np.percentile(finite, [25, 50, 75]).tolist()
    return Summary(len(finite), float(finite.mean()), sem, *quartiles)
