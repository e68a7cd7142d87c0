"""A model that fails now and then: wait and ask again, and find the row that it cannot answer."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from polyshap._types import FloatArray
from polyshap.errors import ArgumentError, ModelRaisedError, PolyshapError
from polyshap.execution.shipping import deadline

__all__ = ["Patient", "Retries", "as_retries", "part_of", "shown"]


@dataclass(frozen=True)
class Retries:
    """How often and how long to wait for a model that raises.

    The k-th wait is drawn from half to all of min(longest, wait * 2^k) seconds, so that many workers do
    not come back at the same moment.

    Parameters
    ----------
    attempts : int
        Beyond the first.
    wait, longest : float
        Seconds.
    """

    attempts: int = 3
    wait: float = 0.5
    longest: float = 30.0

    def __post_init__(self) -> None:
        if self.attempts < 0 or self.wait < 0 or self.longest < 0:
            raise ArgumentError(f"`retries` must be 0 or more, and so must its waits. Got {self!r}.")

    def pause(self, attempt: int) -> float:
        """Seconds before attempt number `attempt` + 1."""
        return min(self.longest, self.wait * 2.0**attempt) * random.uniform(0.5, 1.0)


def as_retries(retries: int | Retries | None) -> Retries | None:
    """A number of attempts or the record itself; None and 0 raise at once."""
    if isinstance(retries, int) and not isinstance(retries, bool):
        retries = Retries(retries)
    if retries is not None and not isinstance(retries, Retries):
        raise ArgumentError(f"`retries` must be a number of attempts or a Retries. Got {retries!r}.")
    return retries if retries is not None and retries.attempts else None


@dataclass(frozen=True, eq=False)
class Patient:
    """Rows -> (n, n_outputs), asked again when it raises.

    A batch that keeps failing is halved until the row is found that fails alone. If there is none (the
    batch was too large for the service, or it came back), the answers of its parts are put together.
    """

    predict: Callable[[Any], FloatArray]
    retries: Retries
    asked: str = "`model`"
    unit: str = "synthetic row"

    def __call__(self, rows: Any) -> FloatArray:
        try:
            return self._insist(rows)
        except PolyshapError:
            raise
        except Exception as error:
            return self.split(rows, error)

    def split(self, rows: Any, error: Exception) -> FloatArray:
        """Answers of both halves of rows on which `error` was raised."""
        if len(rows) == 1:
            raise ModelRaisedError(
                f"{self.asked} raised {type(error).__name__} on one {self.unit}, {self.retries.attempts + 1} "
                f"times: {error}. It is {shown(rows)}, and in `.rows` of this exception.",
                rows=rows,
            ) from error
        middle = len(rows) // 2
        parts = (part_of(rows, 0, middle), part_of(rows, middle, len(rows)))
        return np.concatenate([self._once(part) for part in parts])

    def _once(self, rows: Any) -> FloatArray:
        """A part of a batch that failed: waits come back only for the row that fails alone."""
        try:
            return self._ask(rows) if len(rows) > 1 else self._insist(rows)
        except PolyshapError:
            raise
        except Exception as error:
            return self.split(rows, error)

    def _insist(self, rows: Any) -> FloatArray:
        for attempt in range(self.retries.attempts):
            try:
                return self._ask(rows)
            except PolyshapError:
                raise  # an answer of the wrong shape will not improve
            except Exception:
                time.sleep(self.retries.pause(attempt))
        return self._ask(rows)

    def _ask(self, rows: Any) -> FloatArray:
        with deadline():  # of each attempt, not of all with their waits
            return self.predict(rows)


def part_of(rows: Any, start: int, stop: int) -> Any:
    """Rows start..stop of an array or a frame."""
    if hasattr(rows, "iloc"):
        return rows.iloc[start:stop]
    if hasattr(rows, "num_columns"):  # a pyarrow table
        return rows.slice(start, stop - start)
    return rows[start:stop]


def shown(rows: Any) -> str:
    """One row as short text."""
    text = str(rows.to_dict("records")[0]) if hasattr(rows, "iloc") else str(rows)
    return " ".join(text.split())[:300]
