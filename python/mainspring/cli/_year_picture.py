"""A year of a schedule as a calendar: which days it fires on, and which of them are odd."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from itertools import zip_longest
from typing import NamedTuple

from mainspring._fire_days import LETTERS, days_of
from mainspring._fire_days import letter_of as _letter
from mainspring._fire_marks import Asked, Fire, Mark
from mainspring.cli._console import Console, clean

__all__ = ["Year", "read", "show"]

MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September",
          "October", "November", "December")
STYLES = {"g": "yellow", "f": "yellow", "m": "cyan", "h": "red", "w": "red", "r": "cyan",
          "+": "yellow"}
ACROSS, CELL = 3, 3
FEW, MOST_LINES = 6, 40


class Year(NamedTuple):
    """What a schedule does in a year."""

    year: int
    fires: Counter[date]
    marks: dict[date, dict[str, Mark]]
    usual: set[date]


def read(asked: Asked, year: int, fires: Sequence[Fire], skipped: Sequence[Fire]) -> Year:
    """Gather fires by the day that the clock meant for them shows."""
    return Year(year, *days_of(asked, date(year, 1, 1), date(year, 12, 31), fires, skipped))


def show(year: Year, console: Console) -> None:
    """Print the calendar, what its letters mean, how often it fires, and the odd days."""
    for first in range(1, 13, ACROSS):
        blocks = [list(_month(year, month, console)) for month in range(first, first + ACROSS)]
        empty = " " * (7 * CELL)
        for lines in zip_longest(*blocks, fillvalue=empty):
            console.line("  ".join(lines).rstrip())
        console.line()
    used = {_letter(kinds) for kinds in year.marks.values()} - {""}
    named = {**{letter: word for word, letter in LETTERS.items()}, "+": "several of them"}
    legend = [f"{letter} {word}" for letter, word in named.items() if letter in used]
    if len(year.fires) < (date(year.year + 1, 1, 1) - date(year.year, 1, 1)).days:
        legend.insert(0, ". no fire")
    if legend:
        console.line("  ".join(legend))
    console.line(_counts(year))
    odd = list(_odd(year))
    if odd:
        console.line()
        console.table(["DAY", "FIRES", "MARK", ""], odd[:MOST_LINES], right=[1])
        if len(odd) > MOST_LINES:
            console.line(f"and {len(odd) - MOST_LINES} more; --json has them all")


def _month(year: Year, month: int, console: Console) -> Iterator[str]:
    """Lines of a month, all of one width."""
    yield console.paint(f"{MONTHS[month - 1]:^{7 * CELL}}", "bold")
    yield console.paint("Mo Tu We Th Fr Sa Su ", "dim")
    day = date(year.year, month, 1)
    line, columns = "   " * day.weekday(), day.weekday()
    while day.month == month:
        line, columns = line + _cell(year, day, console), columns + 1
        if columns == 7:
            yield line
            line, columns = "", 0
        day += timedelta(1)
    if columns:
        yield line + "   " * (7 - columns)


def _cell(year: Year, day: date, console: Console) -> str:
    letter = _letter(year.marks.get(day, {}))
    shown = f"{day.day if year.fires[day] else '.':>2}{letter or ' '}"
    style = STYLES.get(letter, "green") if year.fires[day] else "dim"
    return console.paint(shown, style)


def _counts(year: Year) -> str:
    total = year.fires.total() if hasattr(year.fires, "total") else sum(year.fires.values())
    days = len(year.fires)
    if not total:
        return f"it does not fire in {year.year}"
    text = f"{total:,} {'fire' if total == 1 else 'fires'}"
    if total == days:
        return f"{text} in {year.year}"
    text += f" on {days} {'day' if days == 1 else 'days'} in {year.year}"
    usual, often = Counter(year.fires.values()).most_common(1)[0]
    others = sorted(day for day, count in year.fires.items() if count != usual)
    if often == days:
        return f"{text}: {usual:,} a day"
    if len(others) > FEW:
        return text
    listed = ", ".join(f"{year.fires[day]:,} on {day}" for day in others)
    return f"{text}: {usual:,} a day, and {listed}"


def _odd(year: Year) -> Iterator[list[str]]:
    """Days to look at: those it fires on that have a mark, and workdays on which it does not."""
    for day, kinds in sorted(year.marks.items()):
        for kind, mark in kinds.items():
            odd = kind == "workday" or (kind == "skipped" and day not in year.usual)
            if odd or (year.fires[day] and kind != "skipped"):
                fires = f"{year.fires[day]:,}" if year.fires[day] else "none"
                yield [f"{day} {day:%a}", fires, clean(kind), mark.text]
