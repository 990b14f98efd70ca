"""``mainspring next``."""

from __future__ import annotations

import argparse
import os
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from mainspring import _mainspring as core
from mainspring import _moment
from mainspring._schedule import timetable
from mainspring.cli._console import Console, clean
from mainspring.cli._fire_marks import Asked, fire_of
from mainspring.cli._holiday_marks import sources_of
from mainspring.cli._settings import settings_of
from mainspring.cli._stop import Stop, as_dict
from mainspring.cli._year_picture import read, show
from mainspring.errors import Problem, SpecError

if TYPE_CHECKING:
    from mainspring._config import Settings

__all__ = ["is_expression", "run"]

MOST, MOST_OF_A_YEAR = 100_000, 600_000
"""Fires that are listed, and those that are gathered for the picture of a year."""


def run(options: argparse.Namespace, console: Console) -> int:
    """Print when an expression or a dag fires, and what each fire means."""
    settings = settings_of(options, console)
    asked = _asked(options, settings, console)
    rows = _rows(options, asked, console)
    whole = bool(options.year and not options.limit)
    fires = [] if whole and not console.json else [fire_of(asked, *row) for row in rows]
    warnings = [Problem(**each) for each in asked.table.warnings()]  # type: ignore[arg-type]

    console.line(console.paint(f"{clean(asked.name)}  {asked.zone}", "bold"))
    if whole and rows and not console.json:
        show(read(asked, options.year, rows), console)
    elif fires:
        head = ["LOCAL", "UTC", "BIZ DATE", ""]
        console.table(head, [_cells(fire) for fire in fires])
    else:
        console.line(f"it does not fire {f'in {options.year}' if options.year else 'any more'}")
    for warning in warnings:
        console.note(f"{warning.message}; {warning.hint}")
    for text in [note for source in asked.holidays for note in source.notes]:
        console.note(clean(text))
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
    holidays = sources_of(options.holidays)
    if is_expression(options.target):
        zone = options.tz or settings.timezone or "UTC"
        if options.tz:
            _known_zone(zone)
        rule = core.Rule.written(_moment.text_of("schedule", options.target), zone)
        table = core.Timetable([(rule, None, None)])
        return Asked(options.target.strip(), rule.timezone, table, [(rule, table)], holidays)
    from mainspring.cli._load import named_dag

    if options.tz:
        hint = "leave --tz out, or give an expression in place of the dag"
        raise Stop("a dag has the zones of its schedules", hint, 2)
    dag, _ = named_dag(settings, options.target, console)
    table, entries, zone = timetable(dag)
    rules = [(entry[0], core.Timetable([entry])) for entry in entries]
    return Asked(dag.name, zone, table, rules, holidays)


def _known_zone(zone: str) -> None:
    try:
        core.wall_at(zone, 0)
    except SpecError as error:
        raise Stop(f"--tz: {error.problems[0].message}", error.problems[0].hint, 2) from None


def _rows(
    options: argparse.Namespace, asked: Asked, console: Console
) -> list[tuple[int, int, str]]:
    if options.year:
        if options.first:
            raise Stop("--year and --from do not go together", "leave one of them out", 2)
        start, end = (_moment.instant_in(asked.zone, datetime(options.year + more, 1, 1))
                      for more in (0, 1))
        most = MOST if options.limit or console.json else MOST_OF_A_YEAR
        rows = asked.table.between(start, end, min(options.limit or most + 1, most + 1))
        if len(rows) > most:
            raise Stop(f"there are more than {most:,} fires in {options.year}",
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


def _cells(fire: dict[str, Any]) -> list[str]:
    local = datetime.fromisoformat(fire["local"])
    notes = "; ".join(f"{each['mark']}: {each['text']}" for each in fire["marks"])
    return [f"{local:%Y-%m-%d %H:%M:%S %a} {fire['local'][-6:]}", fire["utc"], fire["biz_date"],
            notes]
