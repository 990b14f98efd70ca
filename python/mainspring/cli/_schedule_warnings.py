"""What ``check`` says of schedules as a whole: their dates, calendars, jitter, and one another."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

from mainspring._targets import Part, Target, targets_of
from mainspring.cli._load import Checked
from mainspring.cli._schedule_words import span
from mainspring.errors import Problem

__all__ = ["schedule_warnings", "warnings_of"]

LOOKED_AT = 100
"""Fires whose distances are compared with the jitter."""

SOON = timedelta(days=365)


def schedule_warnings(checked: Iterable[Checked]) -> Iterator[Problem]:
    """The warnings of all dags that are well otherwise."""
    from mainspring._project import shown_path

    now = time.time_ns() // 1000
    for item in checked:
        for code, message, hint in warnings_of(item.definition or {}, item.calendar_ends, now):
            yield Problem(code, shown_path(item.file), f"{item.name}: {message}", hint)


def warnings_of(
    definition: Mapping[str, Any], calendar_ends: Mapping[str, int], now: int
) -> Iterator[tuple[str, str, str]]:
    """What is legal in the schedules of a dag and probably not meant: code, message, hint.

    Parameters
    ----------
    definition
        The dag as the core resolves it.
    calendar_ends
        The last year that each calendar knows.
    now
        The present instant in microseconds.
    """
    targets = targets_of(definition)
    seen: set[str] = set()
    for target in targets:
        yield from _of_target(target)
        for part in target.parts:
            if part.name not in seen:
                seen.add(part.name)
                yield from _of_schedule(part, now)
    parts = [part for target in targets for part in target.parts]
    yield from _of_calendars(parts, calendar_ends, now)
    yield from _same(definition.get("schedules", []), targets)


def _of_target(target: Target) -> Iterator[tuple[str, str, str]]:
    """What the core says of the business dates."""
    for each in target.table.warnings():
        place = f" (task {target.task})" if target.task else ""
        yield each["code"] or "", f"{each['message']}{place}", each["hint"] or ""


def _of_schedule(part: Part, now: int) -> Iterator[tuple[str, str, str]]:
    assert part.schedule is not None
    rule = part.schedule["rule"]
    shown = f"schedule `{part.name}`"
    coming = part.own.next(now, LOOKED_AT)
    # A cron line whose years are over is told of as such.
    if not coming and (part.rule.kind != "cron" or part.rule.next(now)):
        why, hint = "", "take it out"
        if _ended(rule, now):
            why, hint = f": it ended on {rule['end_date']}", "take it out, or give it a later end"
        elif part.raw.next(now):
            why = f": calendar `{rule['calendar']['name']}` is closed whenever it would"
        yield "never_again", f"{shown} never fires again{why}", hint
    jitter = rule.get("jitter_ms", 0)
    closest = min((b[0] - a[0] for a, b in zip(coming, coming[1:], strict=False)), default=None)
    if closest is not None and jitter * 1000 > closest:
        apart = span(closest // 1000)
        yield ("long_jitter",
               f"{shown} spreads its fires over {span(jitter)}, and they are {apart} apart, so "
               "that a later one may run before an earlier one", f"a jitter of at most {apart}")


def _of_calendars(
    parts: Iterable[Part], calendar_ends: Mapping[str, int], now: int
) -> Iterator[tuple[str, str, str]]:
    """Calendars that will soon know no holidays, each once."""
    names = {part.schedule["rule"]["calendar"]["name"]: part.name for part in parts
             if part.schedule and part.calendar is not None and part.own.next(now)}
    for name, used in names.items():
        last = calendar_ends.get(name)
        if last is not None and _at(now) + SOON >= datetime(last + 1, 1, 1, tzinfo=timezone.utc):
            yield ("calendar_ends",
                   f"calendar `{name}` of schedule `{used}` knows no holidays after {last}; later "
                   "days count by their weekday alone",
                   "give it more years, and update the package it is made from")


def _ended(rule: Mapping[str, Any], now: int) -> bool:
    return bool(rule.get("end_date")) and rule["end_date"] < str((_at(now) + timedelta(1)).date())


def _same(
    schedules: Sequence[Mapping[str, Any]], targets: Sequence[Target]
) -> Iterator[tuple[str, str, str]]:
    """Schedules that fire the same at the same instants; all but the first do nothing."""
    rules = {part.name: part.rule for target in targets for part in target.parts}
    first: list[Mapping[str, Any]] = []
    for each in schedules:
        found = next((other for other in first if _alike(each, other, rules)), None)
        if found is None:
            first.append(each)
            continue
        yield ("same_schedule",
               f"schedule `{each['name']}` fires the same as `{found['name']}`, which makes one "
               "run and not two", "take one of them out, or give them different params")


def _alike(a: Mapping[str, Any], b: Mapping[str, Any], rules: Mapping[str, Any]) -> bool:
    def rest(each: Mapping[str, Any]) -> tuple[Any, ...]:
        rule = {key: value for key, value in each["rule"].items()
                if key not in ("expression", "jitter_ms")}
        return rule, sorted(each["bindings"], key=repr)

    one, other = rules[a["name"]], rules[b["name"]]
    times = one.same_times(other) or (one.kind, one.canonical) == (other.kind, other.canonical)
    return times and rest(a) == rest(b)


def _at(micros: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(microseconds=micros)
