"""A cron expression in English."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

from mainspring.cli._cron_fields import WEEKDAYS, Fields, contiguous, step_of

__all__ = ["sentence"]

DAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September",
          "October", "November", "December")
ORDER = ("", "first", "second", "third", "fourth", "fifth")
MOST_TIMES = 6


def sentence(fields: Fields) -> str:
    """When it fires."""
    parts = [_time(fields), _date(fields)]
    if len(fields.months) < 12:
        parts.append(f"in {_listed(fields.months, lambda n: MONTHS[n - 1])}")
    if fields.years is not None:
        parts.append(f"in {_listed(fields.years, str)}")
    text = ", ".join(part for part in parts if part)
    return text[0].upper() + text[1:]


def _time(fields: Fields) -> str:
    seconds, minutes, hours = fields.seconds, fields.minutes, fields.hours
    if len(seconds) * len(minutes) * len(hours) <= MOST_TIMES:
        return "at " + _and([_clock(*time) for time in product(hours, minutes, seconds)])
    parts = []
    if seconds != [0]:
        parts.append(_rhythm(seconds, 60, "second"))
    if len(minutes) < 60 or seconds == [0]:
        parts.append(_rhythm(minutes, 60, "minute"))
    if len(hours) == 24:
        if len(minutes) < 60 and step_of(minutes, 60) is None:
            parts.append("of every hour")
    else:
        step = step_of(hours, 24)
        ordinal = {2: "2nd", 3: "3rd"}.get(step or 0, f"{step}th")
        parts.append(f"of every {ordinal} hour from 00" if step
                     else f"of the {'hour' if len(hours) == 1 else 'hours'} "
                          f"{_listed(hours, lambda n: f'{n:02}')}")
    return " ".join(parts)


def _clock(hour: int, minute: int, second: int) -> str:
    return f"{hour:02}:{minute:02}" + (f":{second:02}" if second else "")


def _rhythm(values: Sequence[int], size: int, word: str) -> str:
    if len(values) == size:
        return f"every {word}"
    step = step_of(values, size)
    if step is not None:
        return f"every {step} {word}s"
    return f"at {word if len(values) == 1 else word + 's'} {_listed(values, str)}"


def _date(fields: Fields) -> str:
    month = fields.month_days and _month_days(fields.month_days)
    week = fields.week_days and _week_days(fields.week_days)
    if month and week:
        return f"on {month} or on {week}" if fields.either else f"on {month} where it is {week}"
    if month or week:
        return f"on {month or week}"
    return "every day"


def _month_days(days: Sequence[int | str]) -> str:
    plain = [day for day in days if isinstance(day, int)]
    parts = []
    if plain:
        parts.append(f"day {_listed(plain, str)} of the month")
    parts += [_month_term(day) for day in days if isinstance(day, str)]
    return _and(parts)


def _month_term(term: str) -> str:
    body, work = term.removesuffix("W"), term.endswith("W")
    if body == "L":
        return "the last weekday (MON-FRI) of the month" if work else "the last day of the month"
    if body.startswith("L-"):
        days = "1 day" if body[2:] == "1" else f"{body[2:]} days"
        day = f"the day {days} before the last of the month"
    else:
        day = f"day {body} of the month"
    return f"the weekday (MON-FRI) nearest to {day}" if work else day


def _week_days(days: Sequence[int | str]) -> str:
    plain = [day for day in days if isinstance(day, int)]
    parts = [_listed(plain, lambda n: DAYS[n])] if plain else []
    for term in days:
        if isinstance(term, str):
            name = DAYS[WEEKDAYS.index(term[:3])]
            which = ORDER[int(term[4])] if "#" in term else "last"
            parts.append(f"the {which} {name} of the month")
    return _and(parts)


def _listed(values: Sequence[int], name: Callable[[int], Any]) -> str:
    if contiguous(values):
        return f"{name(values[0])} to {name(values[-1])}"
    if len(values) > 4 and len({b - a for a, b in zip(values, values[1:], strict=False)}) == 1:
        step = values[1] - values[0]
        return f"{name(values[0])} to {name(values[-1])} in steps of {step}"
    return _and([str(name(value)) for value in values])


def _and(parts: Sequence[str]) -> str:
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} and {parts[-1]}"
