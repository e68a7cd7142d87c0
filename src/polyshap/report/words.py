"""What the diagnostics mean, in sentences: warnings first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from polyshap.explanation import Explanation
from polyshap.report.content import Content

__all__ = ["Remark", "figure", "percent", "remarks"]

Level = Literal["warning", "good", "note"]
_ORDER: tuple[Level, ...] = ("warning", "good", "note")
# Shares of the range of predictions: error bars beyond the first are called wide; a gap in the sums beyond
# the second is more than rounding.
_WIDE, _GAP = 0.05, 1e-6
_ILL_CONDITIONED = 1e10
# Below this it would be shown as 0.00 %.
_SHOWN_SHARE = 5e-5
_MOST_NAMES = 8


@dataclass(frozen=True)
class Remark:
    """A sentence, and whether it is good or bad news."""

    level: Level
    text: str


def remarks(x: Explanation, content: Content) -> list[Remark]:
    """Everything worth saying, warnings first."""
    found = [*_given(x), *_accuracy(x, content), *_sums(content), *_fit(x), *_dummies(content)]
    return sorted(found, key=lambda remark: _ORDER.index(remark.level))


def figure(value: float) -> str:
    """Four digits, with thousands apart and a true minus sign.

    >>> figure(12345.678), figure(-0.000123456)
    ('12,346', '−0.0001235')
    """
    size = abs(value)
    text = f"{size:,.0f}" if 1000 <= size < 1e15 else f"{size:.4g}"
    return f"−{text}" if value < 0 else text


def percent(share: float) -> str:
    """Two decimals; what they do not show is said.

    >>> percent(0.0525), percent(1e-6)
    ('5.25 %', 'less than 0.01 %')
    """
    return "less than 0.01 %" if 0 < share < _SHOWN_SHARE else f"{share:.2%}".replace("%", " %")


def _given(x: Explanation) -> Iterator[Remark]:
    for warning in x.diagnostics.warnings:
        yield Remark("warning", warning)
    if x.diagnostics.converged is False:
        yield Remark("warning", "The run stopped before its tolerance was met. Raise the budget.")
    if x.diagnostics.converged:
        yield Remark("good", "The tolerance was met.")


def _accuracy(x: Explanation, content: Content) -> Iterator[Remark]:
    if content.errors is None:
        yield Remark(
            "note",
            f"{x.diagnostics.estimator} gives no error bars, so how accurate these values are is not known "
            "here. The estimators adaptive and permutation give them.",
        )
        return
    if not content.errors.any():
        yield Remark("good", "Every coalition was evaluated: the values are exact for this background.")
        return
    shares = content.errors / content.range
    typical = float(np.median(shares))
    row, feature, output = np.unravel_index(int(shares.argmax()), shares.shape)
    text = (
        f"A typical 95 % error bar is {percent(typical)} of the range of predictions; the widest is "
        f"±{figure(content.errors[row, feature, output])} ({percent(float(shares.max()))}), of "
        f"{content.features[feature]} in row {content.labels[row]}."
    )
    if typical > _WIDE:
        yield Remark("warning", text + " These bars are wide: raise the budget before reading small values.")
    else:
        yield Remark("good", text)
    unclear = float((np.abs(content.values) <= content.errors).mean())
    if unclear >= 0.01:
        yield Remark(
            "note",
            f"{100 * unclear:.0f} % of the contributions cannot be told from zero: their bars hold it.",
        )


def _sums(content: Content) -> Iterator[Remark]:
    gap = np.abs(content.values.sum(axis=1) - (content.predictions - content.base)) / content.range
    if gap.max() > _GAP:
        yield Remark(
            "warning",
            "Contributions do not add up to prediction minus base value: off by "
            f"{percent(float(gap.max()))} of the range in row "
            f"{content.labels[int(gap.max(axis=1).argmax())]}. The estimator is not efficient.",
        )
    else:
        yield Remark("good", "In every row the contributions add up to the prediction minus the base value.")


def _fit(x: Explanation) -> Iterator[Remark]:
    d = x.diagnostics
    if d.condition is not None and d.condition > _ILL_CONDITIONED:
        yield Remark("warning", f"The equations are nearly dependent (condition number {d.condition:.1e}).")
    if d.residual is not None and d.residual >= _SHOWN_SHARE:
        yield Remark("note", f"The fit leaves {percent(d.residual)} of the observed values unexplained.")


def _dummies(content: Content) -> Iterator[Remark]:
    silent = np.flatnonzero(~content.values.any(axis=(0, 2)))
    if len(silent):
        names = ", ".join(content.features[j] for j in silent[:_MOST_NAMES])
        more = f" and {len(silent) - _MOST_NAMES} more" if len(silent) > _MOST_NAMES else ""
        subject = "1 feature changes" if len(silent) == 1 else f"{len(silent)} features change"
        yield Remark("note", f"{subject} no prediction here: {names}{more}.")
