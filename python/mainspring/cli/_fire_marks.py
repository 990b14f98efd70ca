"""What a fire of a schedule means: its local time, its business date, and what is odd about it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from mainspring import _mainspring as core
from mainspring import _moment
from mainspring.cli._holiday_marks import Mark, Source
from mainspring.cli._words import iso

__all__ = ["DAY", "SECOND", "Asked", "fire_of", "marks_of", "wall"]

DAY, SECOND = 86_400, 1_000_000


class Asked(NamedTuple):
    """What the words of the command name."""

    name: str
    """The expression, or the dag."""
    zone: str
    table: core.Timetable
    rules: list[tuple[core.Rule, core.Timetable]]
    """Each rule, and its own fires between its first and last dates."""
    holidays: list[Source]


def fire_of(asked: Asked, at: int, nominal: int, biz_date: str) -> dict[str, Any]:
    """A fire as programs read it."""
    zone, marks = marks_of(asked, at, nominal)
    return {
        "local": _moment.shown_in(zone, [at])[0].isoformat(),
        "utc": iso(at),
        "nominal": wall(nominal),
        "biz_date": biz_date,
        "marks": [mark._asdict() for mark in marks],
    }


def marks_of(asked: Asked, at: int, nominal: int) -> tuple[str, list[Mark]]:
    """The zone of the rule that fires at an instant, and what is to be said about it."""
    rules = asked.rules
    firing = [rule for rule, own in rules if len(rules) == 1 or own.between(at, at + 1, 1)]
    zone = firing[0].timezone if firing else asked.zone
    marks = [*_clock_marks(zone, firing, at, nominal)]
    for source in asked.holidays:
        found = source.of(wall(nominal)[:10])
        marks += [found] if found else []
    return zone, marks


def _clock_marks(
    zone: str, firing: Sequence[core.Rule], at: int, nominal: int
) -> Sequence[Mark]:
    marks = []
    if core.wall_at(zone, at) != nominal:
        marks.append(Mark("gap", f"the clock jumps over {wall(nominal)}"))
    twice = core.instants_of(zone, nominal)
    if len(twice) == 2:
        which = "first" if twice[0] == at else "second"
        marks.append(Mark("fold", f"the {which} of two {wall(nominal)[11:]}"))
    if len(firing) > 1:
        marks.append(Mark("merged", f"{len(firing)} schedules, one run"))
    times = max((_merged(zone, rule, at) for rule in firing), default=0)
    if times > 1:
        marks.append(Mark("merged", f"{times} times of the clock, one run"))
    return marks


def _merged(zone: str, rule: core.Rule, at: int) -> int:
    """How many times of the clock a run at the end of a gap stands for."""
    first, last = core.wall_at(zone, at - 1) + 1, core.wall_at(zone, at)
    if rule.kind != "cron" or rule.every_hour or not 0 < last - first < DAY:
        return 0
    # The same times on a clock without gaps.
    plain = core.Rule.cron(rule.canonical, "UTC")
    return plain.count(first * SECOND, last * SECOND + 1)


def wall(seconds: int) -> str:
    """A wall time as ISO text."""
    return _moment.shown_in("UTC", [seconds * SECOND])[0].replace(tzinfo=None).isoformat()
