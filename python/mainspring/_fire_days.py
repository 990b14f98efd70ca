"""Fires of a schedule by days: how many each has, and what is odd about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import NamedTuple

from mainspring._fire_marks import DAY, Asked, Fire, Mark, marks_of

__all__ = ["LETTERS", "Days", "days_of", "letter_of"]

EPOCH = date(1970, 1, 1)
LETTERS = {"gap": "g", "fold": "f", "merged": "m", "holiday": "h", "workday": "w",
           "skipped": "s", "rolled": "r"}


class Days(NamedTuple):
    """What a schedule does on each day."""

    fires: Counter[date]
    marks: dict[date, dict[str, Mark]]
    """For a day the first mark of each kind; holidays also of days without a fire."""
    usual: set[date]
    """Days that a calendar leaves out for their weekday, which is nothing to look at."""


def days_of(asked: Asked, first: date, last: date, fires: Sequence[Fire],
            skipped: Sequence[Fire]) -> Days:
    """Gather fires by the day that the clock meant for them shows; holidays between two days."""
    counts: Counter[date] = Counter()
    marks: dict[date, dict[str, Mark]] = {}
    usual: set[date] = set()
    alone = asked._replace(holidays=[])
    for fire in [*fires, *skipped]:
        day = EPOCH + timedelta(fire.nominal // DAY)
        counts[day] += fire.skipped is None
        for mark in marks_of(alone, fire)[1]:
            if mark.mark in LETTERS:
                marks.setdefault(day, {}).setdefault(mark.mark, mark)
        if fire.skipped and fire.skipped.schedule:
            excluded = fire.skipped.schedule["rule"]["calendar"].get("exclude", [])
            usual |= set() if str(day) in excluded else {day}
    day = first
    while asked.holidays and day <= last:
        for found in (source.of(day.isoformat()) for source in asked.holidays):
            if found:
                marks.setdefault(day, {}).setdefault(found.mark, found)
        day += timedelta(1)
    return Days(+counts, marks, usual)


def letter_of(kinds: Mapping[str, Mark]) -> str:
    """Return the letter of a day's marks: ``+`` stands for several."""
    letters = [letter for kind, letter in LETTERS.items() if kind in kinds]
    return "+" if len(letters) > 1 else "".join(letters)
