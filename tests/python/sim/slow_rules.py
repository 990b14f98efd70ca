"""Fires of a rule, worked out day by day with ``zoneinfo``: slow, plain, and none of our code.

It reads what the worlds of these tests are made of: cron lines of five and six fields, macros,
steps of elapsed time. It trusts its input.
"""

from __future__ import annotations

import calendar
from datetime import date, datetime, timedelta, timezone
from functools import cache
from zoneinfo import ZoneInfo

SECOND = timedelta(seconds=1)
DAY = timedelta(days=1)
MONTHS = "JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC".split()
WEEKDAYS = "SUN MON TUE WED THU FRI SAT".split()
MACROS = {
    "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0", "@daily": "0 0 * * *", "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}


def numbers(field, low, high, names=()):
    """The numbers that a field of an ordinary kind stands for."""
    found = set()
    for item in field.split(","):
        body, _, step = item.partition("/")
        if body in ("*", "?", ""):
            first, last = low, high
        else:
            start, dash, end = body.partition("-")
            first = number(start, low, names)
            last = number(end, low, names) if dash else (high if step else first)
        walk = list(range(first, last + 1)) if first <= last else (
            [*range(first, high + 1), *range(low, last + 1)])
        found.update(walk[:: int(step or 1)])
    return found


def number(text, low, names):
    return names.index(text.upper()) + low if text.upper() in names else int(text)


class Line:
    """A cron line: on which dates it fires, and at which wall times of them."""

    def __init__(self, text):
        fields = MACROS.get(text.lower(), text).upper().split()
        self.quartz = len(fields) > 5
        if not self.quartz:
            fields = ["0", *fields]
        second, minute, hour, self.dom, month, self.dow, *year = fields
        self.seconds = numbers(second, 0, 59)
        self.minutes = numbers(minute, 0, 59)
        self.hours = numbers(hour, 0, 23)
        self.months = numbers(month, 1, 12, MONTHS)
        self.years = numbers(year[0], 1970, 2199) if year else None
        self.every_hour = len(self.hours) == 24
        self.times = sorted(
            timedelta(hours=h, minutes=m, seconds=s)
            for h in self.hours for m in self.minutes for s in self.seconds)

    def on(self, day):
        """Whether it fires on a date."""
        if day.month not in self.months or self.years is not None and day.year not in self.years:
            return False
        dom = any(self.is_day(item, day) for item in self.dom.split(","))
        dow = any(self.is_weekday(item, day) for item in self.dow.split(","))
        either = not self.quartz and self.dom[0] not in "*?" and self.dow[0] not in "*?"
        return dom or dow if either else dom and dow

    def is_day(self, item, day):
        last = date(day.year, day.month, calendar.monthrange(day.year, day.month)[1])
        workday, counted = item[-1] == "W", item.rstrip("W")
        if counted[:1] == "L":
            wanted = last.day - int(counted[2:] or 0)
        elif workday:
            wanted = int(counted)
        else:
            return day.day in numbers(item, 1, 31)
        if not 1 <= wanted <= last.day:
            return False
        meant = day.replace(day=wanted)
        return day == (nearest_workday(meant) if workday else meant)

    def is_weekday(self, item, day):
        ours = (day.weekday() + 1) % 7  # Sunday is 0
        first = 1 if self.quartz else 0
        last_of_month = day.month != (day + 7 * DAY).month
        if "#" in item:
            which, _, nth = item.partition("#")
            return number(which, first, WEEKDAYS) % 7 == (ours + first) % 7 and (
                (day.day - 1) // 7 + 1 == int(nth))
        if item[-1:] == "L" and len(item) > 1:
            return number(item[:-1], first, WEEKDAYS) % 7 == (ours + first) % 7 and last_of_month
        if item == "L":
            return ours == 6
        # Unix writes Sunday as 0 or as 7; a range may end with the 7.
        high = 7 if self.quartz or "7" in item else 6
        return any(n % 7 == (ours + first) % 7 for n in numbers(item, first, high, WEEKDAYS))


def nearest_workday(day):
    """The day from Monday to Friday that is nearest, in the same month."""
    if day.weekday() < 5:
        return day
    moves = (-1, 1, -2, 2)
    near = [day + move * DAY for move in moves]
    return next(each for each in near if each.weekday() < 5 and each.month == day.month)


def instants(wall, zone):
    """The instants at which the clocks of a zone show a wall time: none, one or two."""
    found = {wall.replace(tzinfo=zone, fold=fold).astimezone(timezone.utc) for fold in (0, 1)}
    return sorted(each for each in found if shown(each, zone) == wall)


def shown(instant, zone):
    return instant.astimezone(zone).replace(tzinfo=None, fold=0)


@cache
def exists(day, zone):
    """Whether any clock of a zone ever shows a date."""
    midnight = datetime(day.year, day.month, day.day)
    return any(instants(midnight + hour * timedelta(hours=1), zone) for hour in range(24))


@cache
def after_gap(wall, zone):
    """The first instant after the gap in which a wall time would lie."""
    late = wall.replace(tzinfo=zone, fold=0).astimezone(timezone.utc)
    early = wall.replace(tzinfo=zone, fold=1).astimezone(timezone.utc)
    before = early.astimezone(zone).utcoffset()
    while early < late and late.astimezone(zone).utcoffset() != before:
        middle = early + ((late - early) // 2 // SECOND) * SECOND
        if middle == early:
            return late
        if middle.astimezone(zone).utcoffset() == before:
            early = middle
        else:
            late = middle
    return late


def of_line(text, zone_name, first, last, days=None):
    """The fires of a line on dates from ``first`` to ``last``: instant to nominal date.

    ``days`` says which become others: it gives the date on which a date's fires are, or none.
    """
    line, zone = Line(text), ZoneInfo(zone_name)
    found = {}
    day = first
    while day <= last:
        on = (days(day) if days else day) if line.on(day) else None
        for time in line.times if on else ():
            wall = datetime(on.year, on.month, on.day) + time
            at = instants(wall, zone)
            if line.every_hour:
                fires = at
            else:
                fires = at[:1] or ([after_gap(wall, zone)] if exists(on, zone) else [])
            for fire in fires:
                found.setdefault(fire, on)
        day += DAY
    return found


def of_steps(step, anchor, zone_name, first, last):
    """The fires of a step of elapsed time that is counted from an instant."""
    zone = ZoneInfo(zone_name)
    fire, found = anchor, {}
    while shown(fire, zone).date() <= last:
        if shown(fire, zone).date() >= first:
            found[fire] = shown(fire, zone).date()
        fire += step
    return found
