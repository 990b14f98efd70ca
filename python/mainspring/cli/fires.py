"""``mainspring next``."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, NamedTuple

from mainspring import _mainspring as core
from mainspring import _moment
from mainspring._schedule import timetable
from mainspring.cli._console import Console, clean
from mainspring.cli._settings import settings_of
from mainspring.cli._stop import Stop, as_dict
from mainspring.cli._words import iso
from mainspring.errors import Problem, SpecError

if TYPE_CHECKING:
    from mainspring._config import Settings

__all__ = ["is_expression", "run"]

MOST = 100_000
DAY, SECOND = 86_400, 1_000_000


class Asked(NamedTuple):
    """What the words of the command name."""

    name: str
    """The expression, or the dag."""
    zone: str
    table: core.Timetable
    rules: list[tuple[core.Rule, core.Timetable]]
    """Each rule, and its own fires between its first and last dates."""


def run(options: argparse.Namespace, console: Console) -> int:
    """Print when an expression or a dag fires, and what each fire means."""
    settings = settings_of(options, console)
    asked = _asked(options, settings, console)
    rows = _rows(options, asked)
    fires = [_fire(asked, *row) for row in rows]
    warnings = [Problem(**each) for each in asked.table.warnings()]  # type: ignore[arg-type]

    console.line(console.paint(f"{clean(asked.name)}  {asked.zone}", "bold"))
    if fires:
        head = ["LOCAL", "UTC", "BIZ DATE", ""]
        console.table(head, [_cells(fire) for fire in fires])
    else:
        year = f" in {options.year}" if options.year else " any more"
        console.line(f"it does not fire{year}")
    if options.year:
        console.line(f"{len(fires)} {'fire' if len(fires) == 1 else 'fires'} in {options.year}")
    for warning in warnings:
        console.note(f"{warning.message}; {warning.hint}")
    console.document({
        "name": asked.name,
        "timezone": asked.zone,
        "schedules": [{"expression": rule.canonical, "timezone": rule.timezone}
                      for rule, _ in asked.rules],
        "fires": fires,
        "warnings": [as_dict(warning) for warning in warnings],
    })
    return 0


def is_expression(target: str) -> bool:
    """Whether a word of the command is a schedule's text and not the name of a dag or file."""
    if os.path.isfile(target):
        return False
    return target.strip().startswith("@") or any(letter in target.strip() for letter in " \t")


def _asked(options: argparse.Namespace, settings: Settings, console: Console) -> Asked:
    if is_expression(options.target):
        zone = options.tz or settings.timezone or "UTC"
        if options.tz:
            _known_zone(zone)
        rule = core.Rule.written(_moment.text_of("schedule", options.target), zone)
        table = core.Timetable([(rule, None, None)])
        return Asked(options.target.strip(), rule.timezone, table, [(rule, table)])
    from mainspring.cli._load import named_dag

    if options.tz:
        hint = "leave --tz out, or give an expression in place of the dag"
        raise Stop("a dag has the zones of its schedules", hint, 2)
    dag, _ = named_dag(settings, options.target, console)
    table, entries, zone = timetable(dag)
    rules = [(entry[0], core.Timetable([entry])) for entry in entries]
    return Asked(dag.name, zone, table, rules)


def _known_zone(zone: str) -> None:
    try:
        core.wall_at(zone, 0)
    except SpecError as error:
        raise Stop(f"--tz: {error.problems[0].message}", error.problems[0].hint, 2) from None


def _rows(options: argparse.Namespace, asked: Asked) -> list[tuple[int, int, str]]:
    if options.year:
        if options.first:
            raise Stop("--year and --from do not go together", "leave one of them out", 2)
        start, end = (_moment.instant_in(asked.zone, datetime(options.year + more, 1, 1))
                      for more in (0, 1))
        limit = min(options.limit or MOST + 1, MOST + 1)
        rows = asked.table.between(start, end, limit)
        if len(rows) > MOST:
            raise Stop(f"there are more than {MOST:,} fires in {options.year}",
                       "-n 10 shows the first ten of the year", 2)
        return rows
    limit = options.limit or 10
    if limit > MOST:
        raise Stop(f"{limit:,} fires are too many to show", f"at most {MOST:,}", 2)
    return asked.table.next(_after(options.first, asked.zone), limit)


def _after(text: str | None, zone: str) -> int:
    if text is None:
        return _moment.instant_in(zone, datetime.now(timezone.utc))
    try:
        # What is asked for from an instant on has the fire at that instant.
        return _moment.instant_in(zone, text) - 1
    except SpecError as error:
        raise Stop(f"--from: {error.problems[0].message}", error.problems[0].hint, 2) from None


def _fire(asked: Asked, at: int, nominal: int, biz_date: str) -> dict[str, Any]:
    firing = [rule for rule, own in asked.rules if own.between(at, at + 1, 1)]
    zone = firing[0].timezone if firing else asked.zone
    return {
        "local": _moment.shown_in(zone, [at])[0].isoformat(),
        "utc": iso(at),
        "nominal": _wall(nominal),
        "biz_date": biz_date,
        "marks": _marks(zone, firing, at, nominal),
    }


def _marks(
    zone: str, firing: Sequence[core.Rule], at: int, nominal: int
) -> list[dict[str, str]]:
    marks = []
    if core.wall_at(zone, at) != nominal:
        marks.append({"mark": "gap", "text": f"the clock jumps over {_wall(nominal)}"})
    twice = core.instants_of(zone, nominal)
    if len(twice) == 2:
        which = "first" if twice[0] == at else "second"
        marks.append({"mark": "fold", "text": f"the {which} of two {_wall(nominal)[11:]}"})
    if len(firing) > 1:
        marks.append({"mark": "merged", "text": f"{len(firing)} schedules, one run"})
    times = max((_merged(zone, rule, at) for rule in firing), default=0)
    if times > 1:
        marks.append({"mark": "merged", "text": f"{times} times of the clock, one run"})
    return marks


def _merged(zone: str, rule: core.Rule, at: int) -> int:
    """How many times of the clock a run at the end of a gap stands for."""
    first, last = core.wall_at(zone, at - 1) + 1, core.wall_at(zone, at)
    if rule.kind != "cron" or rule.every_hour or not 0 < last - first < DAY:
        return 0
    # The same times on a clock without gaps.
    plain = core.Rule.cron(rule.canonical, "UTC")
    return plain.count(first * SECOND, last * SECOND + 1)


def _wall(seconds: int) -> str:
    return _moment.shown_in("UTC", [seconds * SECOND])[0].replace(tzinfo=None).isoformat()


def _cells(fire: dict[str, Any]) -> list[str]:
    local = datetime.fromisoformat(fire["local"])
    notes = "; ".join(f"{each['mark']}: {each['text']}" for each in fire["marks"])
    return [f"{local:%Y-%m-%d %H:%M:%S %a} {fire['local'][-6:]}", fire["utc"], fire["biz_date"],
            notes]
