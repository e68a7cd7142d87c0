"""Names cut to the room that there is, and still told apart."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

__all__ = ["LONGEST_NAME", "cut", "distinct"]

LONGEST_NAME = 26


def cut(name: object, limit: int = LONGEST_NAME) -> str:
    """A name on one line, cut in its middle so that both ends stay.

    >>> cut("a_very_long_name_of_a_measured_quantity_in_mm")
    'a_very_long_nam…tity_in_mm'
    """
    text = "".join(one if one.isprintable() else " " for one in str(name))
    if len(text) <= limit:
        return text
    tail = (limit - 1) * 3 // 7
    return f"{text[: limit - 1 - tail]}…{text[-tail:]}"


def distinct(names: Sequence[str], limit: int = LONGEST_NAME) -> list[str]:
    """Names cut as by `cut`; those that would look alike keep the part in which they differ.

    >>> distinct(["temperature at 9 in the morning", "temperature at 17 in the morning"], 20)
    ['temperatu…9… morning', 'temperat…17… morning']
    """
    short = [cut(name, limit) for name in names]
    alike: dict[str, list[int]] = {}
    for place, text in enumerate(short):
        alike.setdefault(text, []).append(place)
    for places in alike.values():
        group = [str(names[place]) for place in places]
        if len(set(group)) == 1:
            continue
        begin = _common_start(group)
        end = _common_start([name[len(begin) :][::-1] for name in group])[::-1]
        for place, name in zip(places, group, strict=True):
            middle = name[len(begin) : len(name) - len(end)]
            room = max(0, limit - len(middle) - 2)
            head, tail = begin[: (room + 1) // 2], end[len(end) - min(len(end), room // 2) :]
            short[place] = cut(f"{head}…{middle}…{tail}", max(limit, len(middle) + 2))
    return short


def _common_start(texts: Sequence[str]) -> str:
    shortest = min(texts, key=len)
    same = (len({text[place] for text in texts}) == 1 for place in range(len(shortest)))
    return shortest[: sum(takewhile(bool, same))]
