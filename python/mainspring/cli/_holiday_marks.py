"""What ``--holidays`` names: which days are holidays, and what they are called."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from mainspring._fire_marks import Mark, Source
from mainspring.cli._stop import Stop, nearest
from mainspring.errors import SpecError

if TYPE_CHECKING:
    from mainspring._business import Calendar

__all__ = ["sources_of"]


def sources_of(words: list[str]) -> list[Source]:
    """The sources that the words of the command name."""
    return [_source(word.strip()) for each in words for word in each.split(",")]


def _source(word: str) -> Source:
    if word.lower().endswith(".ics"):
        return _Events(word)
    file, colon, name = word.rpartition(":")
    if colon and file.endswith(".py"):
        return _Closed(_calendar_of(file, name))
    return _Country(word)


class _Country:
    """Holidays and make-up workdays of a country, asked year by year."""

    def __init__(self, code: str) -> None:
        self.code = code.upper()
        self.notes: list[str] = []
        self._years: dict[int, dict[str, Mark]] = {}
        self._year(2024)  # an unknown country or a missing package is told at once

    def of(self, day: str) -> Mark | None:
        return self._year(int(day[:4])).get(day)

    def _year(self, year: int) -> dict[str, Mark]:
        known = self._years.get(year)
        if known is None:
            known = self._years[year] = self._read(year)
        return known

    def _read(self, year: int) -> dict[str, Mark]:
        from mainspring._holidays import days_of

        try:
            days = days_of(self.code, (year, year))
        except SpecError as error:
            problem = error.problems[0]
            if problem.code != "unknown_year":
                raise Stop(f"--holidays: {problem.message}", problem.hint, 2) from None
            self.notes.append(f"holidays of {year} are not marked: {problem.message}")
            return {}
        marks = {day: Mark("holiday", f"{days.names.get(day, '')} ({self.code})".strip())
                 for day in days.holidays}
        # A holiday on a day off is none that anybody works on, and the other way round.
        return marks | {day: Mark("workday", f"made up for {days.names.get(day, 'a holiday')} "
                                             f"({self.code})") for day in days.workdays}


class _Events:
    """The events of an iCalendar file."""

    def __init__(self, path: str) -> None:
        from mainspring import _mainspring as core
        from mainspring._business import _text_of

        self.name = os.path.basename(path)
        self.notes: list[str] = []
        try:
            self._days = core.Calendar.from_ics(self.name, _text_of(path))
        except SpecError as error:
            raise Stop(f"--holidays: {error.problems[0].message}", None, 2) from None

    def of(self, day: str) -> Mark | None:
        return Mark("holiday", f"in {self.name}") if self._days.is_open(day) else None


class _Closed:
    """The days that a calendar of a dag file leaves out."""

    def __init__(self, calendar: Calendar) -> None:
        self.calendar = calendar
        self.notes: list[str] = []

    def of(self, day: str) -> Mark | None:
        first, last = self.calendar.years
        if not first <= int(day[:4]) <= last:
            note = f"calendar {self.calendar.name} knows only {first} to {last}"
            self.notes += [note] if note not in self.notes else []
            return None
        closed = not self.calendar.is_open(day)
        return Mark("holiday", f"closed in {self.calendar.name}") if closed else None


def _calendar_of(file: str, name: str) -> Calendar:
    """The calendar that a file has under this name, or of this name."""
    from mainspring import _project
    from mainspring._business import Calendar

    loaded = _project.load_file(file)
    if loaded.problems:
        raise SpecError(list(loaded.problems))
    module = sys.modules[_project._module_name(Path(file).absolute())]
    found: dict[str, Calendar] = {}
    for variable, value in vars(module).items():
        if isinstance(value, Calendar):
            found |= {variable: value, value.name: value}
    if name not in found:
        raise Stop(f"--holidays: {file} has no calendar {name!r}",
                   nearest(name, found) or "a file makes one with ms.calendar(...)", 2)
    return found[name]
