"""What a fire of a schedule means: its local time, its business date, and what is odd about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from typing import Any, NamedTuple, Protocol

from mainspring import _mainspring as core
from mainspring import _moment
from mainspring._targets import Part, Target

__all__ = ["DAY", "SECOND", "Asked", "Fire", "Mark", "Source", "fire_of", "fires_of", "marks_of",
           "skipped_between", "wall"]

DAY, SECOND = 86_400, 1_000_000
EPOCH = date(1970, 1, 1)


class Mark(NamedTuple):
    """What is to be said about a fire or a day."""

    mark: str
    text: str


class Source(Protocol):
    """Something that knows days."""

    notes: list[str]
    """What it does not know, gathered while it is asked."""

    def of(self, day: str) -> Mark | None:
        """Return the mark of a day, given as ISO text."""


class Asked(NamedTuple):
    """Whose fires are looked at."""

    name: str
    """The expression, or the dag."""
    zone: str
    targets: list[Target]
    """The dag and its tasks that fire by themselves, or the expression alone."""
    holidays: list[Source]


class Fire(NamedTuple):
    """A fire of a target, or fires of one day that its calendar forbids."""

    target: Target
    at: int
    nominal: int
    """What the clock shows for it, in seconds."""
    biz_date: str | None
    """None where it does not run."""
    skipped: Part | None = None
    """The schedule that does not run it."""
    number: int = 1
    """How many of them are skipped on that day."""


def fires_of(asked: Asked, start: int, end: int, limit: int) -> list[Fire]:
    """The first fires from one instant, included, to another, not included, of all targets."""
    found = [Fire(target, *row) for target in asked.targets
             for row in target.table.between(start, end, limit)]
    return sorted(found, key=lambda fire: fire.at)[:limit]


def skipped_between(asked: Asked, start: int, end: int, limit: int) -> list[Fire]:
    """What does not run because a calendar is closed, one for each day of a schedule."""
    return [fire for target in asked.targets for part in target.parts
            if part.calendar is not None and part.says("on", "skip") == "skip"
            for fire in _skipped(target, part, start, end, limit)]


def _skipped(target: Target, part: Part, start: int, end: int, limit: int) -> Iterator[Fire]:
    calendar = part.calendar
    day, found = None, None
    for at, nominal, _ in part.raw.between(start, end, limit):
        if nominal // DAY != day:
            if found:
                yield found
            day, found = nominal // DAY, None
            if calendar and not calendar.is_open(str(EPOCH + timedelta(day))):
                found = Fire(target, at, nominal, None, part)
        elif found:
            found = found._replace(number=found.number + 1)
    if found:
        yield found


def fire_of(asked: Asked, fire: Fire) -> dict[str, Any]:
    """A fire as programs read it."""
    zone, marks = marks_of(asked, fire)
    jitter = max((part.schedule["rule"].get("jitter_ms", 0) for part in _firing(fire)
                  if part.schedule), default=0)
    made: dict[str, Any] = {
        "local": _moment.shown_in(zone, [fire.at])[0].isoformat(),
        "utc": _utc(fire.at),
        "nominal": wall(fire.nominal),
        "biz_date": fire.biz_date,
        "marks": [mark._asdict() for mark in marks],
    }
    if fire.target.task is not None:
        made["task"] = fire.target.task
    if jitter:
        made["due_by"] = _utc(fire.at + jitter * 1000)
    if fire.skipped:
        made["count"] = fire.number
    return made


def marks_of(asked: Asked, fire: Fire) -> tuple[str, list[Mark]]:
    """The zone of the rule that fires at an instant, and what is to be said about it."""
    firing = _firing(fire)
    zone = firing[0].rule.timezone if firing else asked.zone
    if fire.skipped:
        marks = [_skip_mark(fire, fire.skipped)]
    else:
        marks = [*_clock_marks(zone, firing, fire), *_calendar_marks(firing, fire)]
    for source in asked.holidays:
        found = source.of(wall(fire.nominal)[:10])
        marks += [found] if found else []
    return zone, marks


def _firing(fire: Fire) -> list[Part]:
    """The schedules that fire at the instant."""
    parts = fire.target.parts
    if fire.skipped:
        return [fire.skipped]
    if len(parts) == 1:
        return parts
    return [part for part in parts if part.own.between(fire.at, fire.at + 1, 1)]


def _skip_mark(fire: Fire, part: Part) -> Mark:
    many = f", {fire.number:,} fires of that day" if fire.number > 1 else ""
    return Mark("skipped", f"closed in {_calendar(part)}{many}")


def _calendar(part: Part) -> str:
    return str(part.schedule["rule"]["calendar"]["name"]) if part.schedule else ""


def _calendar_marks(firing: Sequence[Part], fire: Fire) -> Iterator[Mark]:
    for part in firing:
        on = part.says("on", "skip")
        if part.calendar is None or on == "skip" or part.raw.between(fire.at, fire.at + 1, 1):
            continue
        ask = part.rule.next if on == "previous" else part.rule.prev
        origin = [wall(nominal)[:10] for _, nominal in ask(fire.at, 1)]
        place = f" from {origin[0]}" if origin else ""
        yield Mark("rolled", f"here{place}, closed in {_calendar(part)}")


def _clock_marks(zone: str, firing: Sequence[Part], fire: Fire) -> Iterator[Mark]:
    at, nominal = fire.at, fire.nominal
    if core.wall_at(zone, at) != nominal:
        yield Mark("gap", f"the clock jumps over {wall(nominal)}")
    twice = core.instants_of(zone, nominal)
    if len(twice) == 2:
        which = "first" if twice[0] == at else "second"
        yield Mark("fold", f"the {which} of two {wall(nominal)[11:]}")
    runs = _runs(firing, fire.target.task)
    if len(firing) > runs:
        made = "one run" if runs == 1 else f"{runs} runs, each with its params"
        yield Mark("merged", f"{len(firing)} schedules, {made}")
    elif runs > 1:
        yield Mark("apart", f"{runs} runs, each with its params")
    times = max((_merged(zone, part, at) for part in firing), default=0)
    if times > 1:
        yield Mark("merged", f"{times} times of the clock, one run")


def _runs(firing: Sequence[Part], task: str | None) -> int:
    """How many runs of a target there are at one instant: one for each set of values."""
    given = [each.get("params", {}) for part in firing if part.schedule
             for each in part.schedule["bindings"] if each.get("task") == task]
    return len({repr(sorted(params.items())) for params in given}) or 1


def _merged(zone: str, part: Part, at: int) -> int:
    """How many times of the clock a run at the end of a gap stands for."""
    rule = part.rule
    first, last = core.wall_at(zone, at - 1) + 1, core.wall_at(zone, at)
    if rule.kind != "cron" or rule.every_hour or not 0 < last - first < DAY:
        return 0
    if part.says("gap", "carry") != "carry":
        return 0
    # The same times on a clock without gaps.
    plain = core.Rule.cron(rule.canonical, "UTC")
    return plain.count(first * SECOND, last * SECOND + 1)


def _utc(micros: int) -> str:
    return _moment.shown_in("UTC", [micros])[0].isoformat().replace("+00:00", "Z")


def wall(seconds: int) -> str:
    """A wall time as ISO text."""
    return _moment.shown_in("UTC", [seconds * SECOND])[0].replace(tzinfo=None).isoformat()
