"""Words and numbers in plots."""

from __future__ import annotations

from datetime import date
from typing import Any

import numpy as np

from polyshap._types import IntArray
from polyshap.plots.canvas import View, short_names, shorten
from polyshap.tables.columns import is_missing
from polyshap.text_tables import date_text

__all__ = ["feature_labels", "plain_number", "signed", "value_text"]


def signed(value: float, scale: float) -> str:
    """Three digits of the largest number beside it, with its sign; zero has none.

    >>> signed(-0.5, 1.0), signed(0.5, 1.0), signed(-0.001, 1.0)
    ('−0.50', '+0.50', '0.00')
    """
    text = plain_number(value, scale)
    return f"+{text}" if value > 0 and text.strip("0.") else text


def plain_number(value: float, scale: float) -> str:
    """Three digits of the largest number beside it, with a true minus sign where it is not zero.

    >>> plain_number(0.123456, 20.0), plain_number(-0.5, 1.0), plain_number(-1e-17, 1.0)
    ('0.1', '−0.50', '0.00')
    """
    digits = 2 - int(np.floor(np.log10(scale))) if scale > 0 and np.isfinite(scale) else 2
    text = f"{abs(value):.{digits}f}" if 0 <= digits <= 6 else f"{abs(value):.3g}"
    return f"−{text}" if value < 0 and text.strip("0.") else text


def value_text(value: Any) -> str:
    """A feature's value, short."""
    if is_missing(value):
        return "missing"
    if isinstance(value, float | np.floating):
        return f"{value:.4g}".replace("-", "−")
    if isinstance(value, int | np.integer):
        return str(value).replace("-", "−")
    if isinstance(value, date | np.datetime64):
        return date_text(value)
    return str(value)


def feature_labels(seen: View, row: int, players: IntArray) -> list[str]:
    """Labels `name = value`, or names alone where there is no data; each part cut by itself."""
    names = short_names([seen.names[player] for player in players])
    if seen.data is None:
        return names
    values = (shorten(value_text(seen.data[row, player]), 16) for player in players)
    return [f"{name} = {value}" for name, value in zip(names, values, strict=True)]
