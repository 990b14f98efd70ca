"""A cron expression taken apart: the values of each field, read from its canonical form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from mainspring import _mainspring as core

__all__ = ["Fields", "WEEKDAYS", "contiguous", "fields_of", "raw_fields", "step_of"]

WEEKDAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
HOURS = 24


class Fields(NamedTuple):
    """What matches, field by field. A day field that restricts nothing is ``None``."""

    seconds: list[int]
    minutes: list[int]
    hours: list[int]
    month_days: list[int | str] | None
    """Days, and the terms ``L``, ``L-3``, ``LW``, ``15W``."""
    months: list[int]
    week_days: list[int | str] | None
    """Sunday 0 to Saturday 6, and the terms ``MON#1``, ``FRIL``."""
    years: list[int] | None
    quartz: bool
    either: bool
    """Unix: a date matches when one of the day fields does."""

    @property
    def both(self) -> bool:
        """Whether both day fields restrict, and a date has to match both."""
        return not self.either and self.month_days is not None and self.week_days is not None


def fields_of(rule: core.Rule) -> Fields:
    """The fields of a cron rule."""
    quartz = rule.dialect == "quartz"
    words = rule.canonical.split()
    words = words if quartz else ["0", *words]
    seconds, minutes, hours, month_days, months, week_days = words[:6]
    stars = ("*", "?")
    return Fields(
        _numbers(seconds, 0, 59),
        _numbers(minutes, 0, 59),
        _numbers(hours, 0, HOURS - 1),
        None if month_days in stars else _days(month_days, 1, 31),
        _numbers(months, 1, 12),
        None if week_days in stars else _days(week_days, 0, 6),
        _numbers(words[6], 0, 0) if len(words) > 6 else None,
        quartz,
        not quartz and month_days[0] != "*" and week_days[0] != "*",
    )


def raw_fields(expression: str) -> list[str] | None:
    """The fields as they were written, the second of Quartz first; nothing for a word."""
    words = expression.upper().split()
    if len(words) == 5:
        return ["0", *words]
    return words if len(words) in (6, 7) else None


def _numbers(text: str, low: int, high: int) -> list[int]:
    return [item for item in _days(text, low, high) if isinstance(item, int)]


def _days(text: str, low: int, high: int) -> list[int | str]:
    found: list[int | str] = []
    for item in text.split(","):
        body, _, step = item.partition("/")
        first, dash, last = body.partition("-")
        if body == "*":
            found += range(low, high + 1, int(step or 1))
        elif not _is_value(first) or (dash and not _is_value(last)):
            found.append(item)
        else:
            found += range(_value(first), _value(last if dash else first) + 1)
    return found


def _is_value(text: str) -> bool:
    return text.isdigit() or text in WEEKDAYS


def _value(text: str) -> int:
    return int(text) if text.isdigit() else WEEKDAYS.index(text)


def step_of(values: Sequence[int], size: int) -> int | None:
    """The step of values that go round a clock evenly from 0, such as 15 for 0, 15, 30, 45."""
    if len(values) < 2 or values[0] != 0 or size % len(values):
        return None
    step = size // len(values)
    return step if list(values) == list(range(0, size, step)) else None


def contiguous(values: Sequence[int]) -> bool:
    """Whether these are at least three neighbours."""
    return len(values) > 2 and list(values) == list(range(values[0], values[-1] + 1))
