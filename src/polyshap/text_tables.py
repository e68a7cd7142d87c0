"""Tables, numbers, dates and bars as text."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from datetime import date

import numpy as np

__all__ = ["bar", "date_text", "number", "printable", "text_table"]

_BAR = 20  # characters


def text_table(header: Sequence[str], lines: Sequence[Sequence[str]], left: Collection[int] = (0,)) -> str:
    """Columns of equal width, numbers to the right; control characters in a cell become spaces.

    Examples
    --------
    >>> print(text_table(("name", "calls"), [("a", "10"), ("long", "2")]))
    name  calls
    a        10
    long      2
    """
    cells = [[printable(cell) for cell in line] for line in (header, *lines)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if j in left else cell.rjust(width)
            for j, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in cells
    )


def number(value: float, scale: float, *, signed: bool = False) -> str:
    """Four digits of the largest number beside it, the same decimals for all.

    Examples
    --------
    >>> number(0.123456, scale=20.0), number(1.5, scale=0.01, signed=True)
    ('0.12', '+1.50000')
    """
    digits = 3 - math.floor(math.log10(scale)) if scale > 0 and math.isfinite(scale) else 3
    if digits > 12 or digits < -6:
        return f"{value:{'+' if signed else ''}.3e}"
    return f"{value:{'+' if signed else ''}.{max(0, digits)}f}"


def bar(share: float) -> str:
    """A bar for a share of the largest, with its sign at the end.

    >>> bar(-0.2)
    '----'
    """
    length = round(min(1.0, abs(share)) * _BAR)
    return ("+" if share >= 0 else "-") * length


def printable(text: str) -> str:
    """Text from a file on one line, unable to move the cursor or to colour the terminal.

    >>> printable("a\\x1b[2Jb")
    'a [2Jb'
    """
    return "".join(one if one.isprintable() else " " for one in text)


def date_text(value: date | np.datetime64) -> str:
    """A date, with its time only where there is one, to the minute.

    Examples
    --------
    >>> from datetime import datetime
    >>> date_text(datetime(2024, 5, 1)), date_text(datetime(2024, 5, 1, 14, 30))
    ('2024-05-01', '2024-05-01 14:30')
    """
    plain = np.datetime_as_string(value) if isinstance(value, np.datetime64) else value.isoformat()
    day, _, time = plain.partition("T")
    return f"{day} {time[:5]}" if time[:5].strip("0:") else day
