"""``mainspring next``."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from mainspring import _mainspring as core
from mainspring import _moment
from mainspring._fire_marks import Asked, Fire, fire_of, fires_of, skipped_between
from mainspring._targets import Part, Target, targets_of
from mainspring.cli._console import Console, clean
from mainspring.cli._holiday_marks import sources_of
from mainspring.cli._schedule_words import paused_in, standings_of, words_of
from mainspring.cli._settings import history_if_any, settings_of
from mainspring.cli._stop import Stop, as_dict
from mainspring.cli._year_picture import read, show
from mainspring.errors import Problem, SpecError

if TYPE_CHECKING:
    from mainspring._config import Settings

__all__ = ["is_expression", "run"]

MOST, MOST_OF_A_YEAR = 100_000, 600_000
"""Fires that are listed, and those that are gathered for the picture of a year."""
LAST, YEAR = 2**63 - 1, 366 * 86_400_000_000


def run(options: argparse.Namespace, console: Console) -> int:
    """Print when an expression or a dag fires, and what each fire means."""
    settings = settings_of(options, console)
    asked = _asked(options, settings, console)
    fires, skipped = _fires(options, asked, console)
    whole = bool(options.year and not options.limit)
    listed = [] if whole and not console.json else sorted(fires + skipped, key=_order)
    entries = [(fire.skipped is None, fire_of(asked, fire)) for fire in listed]
    schedules = list(_schedules(asked, settings))

    console.line(console.paint(f"{clean(asked.name)}  {asked.zone}", "bold"))
    for each in schedules:
        if "words" in each:
            console.line(f"  {clean(each['words'])}")
    drawn = whole and bool(fires or skipped) and not console.json
    if drawn:
        show(read(asked, options.year, fires, skipped), console)
    elif entries:
        several = any(target.task for target in asked.targets)
        head = ["LOCAL", "UTC", "BIZ DATE", *(["TASK"] if several else []), ""]
        console.table(head, [_cells(entry, several) for _, entry in entries])
    if not fires and not drawn:
        console.line(f"it does not fire {f'in {options.year}' if options.year else 'any more'}")
    warnings = [Problem(**each)  # type: ignore[arg-type]
                for target in asked.targets for each in target.table.warnings()]
    for warning in warnings:
        console.note(f"{warning.message}; {warning.hint}")
    for text in [note for source in asked.holidays for note in source.notes]:
        console.note(clean(text))
    console.document({
        "name": asked.name,
        "timezone": asked.zone,
        "schedules": schedules,
        "fires": [entry for runs, entry in entries if runs],
        "skipped": [entry for runs, entry in entries if not runs],
        "warnings": [as_dict(warning) for warning in warnings],
    })
    return 0


def _order(fire: Fire) -> int:
    return fire.at


def _schedules(asked: Asked, settings: Settings) -> Iterator[dict[str, Any]]:
    """The schedules behind the fires as programs read them, those of a dag with their words."""
    standings = None
    seen = set()
    for part in (part for target in asked.targets for part in target.parts):
        if part.schedule is None:
            yield {"expression": part.rule.canonical, "timezone": part.rule.timezone}
        elif part.name not in seen:
            seen.add(part.name)
            if standings is None:
                standings = standings_of(history_if_any(settings), asked.name)
            paused = paused_in(standings, part.schedule)
            yield {
                "expression": part.rule.canonical,
                "timezone": part.rule.timezone,
                "name": part.name,
                "paused": paused,
                "words": words_of(part.schedule, paused=paused),
            }


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
        alone = Target(None, [Part(rule, table, table)], table)
        return Asked(options.target.strip(), rule.timezone, [alone], holidays)
    from mainspring.cli._load import named_dag, resolved

    if options.tz:
        hint = "leave --tz out, or give an expression in place of the dag"
        raise Stop("a dag has the zones of its schedules", hint, 2)
    dag, _ = named_dag(settings, options.target, console)
    targets = targets_of(resolved(dag))
    if not targets:
        _moment.refuse("no_schedule", dag.name, "the dag has no schedule",
                       "it runs when asked; give it schedule=")
    return Asked(dag.name, targets[0].parts[0].rule.timezone, targets, holidays)


def _known_zone(zone: str) -> None:
    try:
        core.wall_at(zone, 0)
    except SpecError as error:
        raise Stop(f"--tz: {error.problems[0].message}", error.problems[0].hint, 2) from None


def _fires(
    options: argparse.Namespace, asked: Asked, console: Console
) -> tuple[list[Fire], list[Fire]]:
    """The fires that are asked for, and what is skipped between them."""
    if options.year:
        if options.first:
            raise Stop("--year and --from do not go together", "leave one of them out", 2)
        start, end = (_moment.instant_in(asked.zone, datetime(options.year + more, 1, 1))
                      for more in (0, 1))
        most = MOST if options.limit or console.json else MOST_OF_A_YEAR
        fires = fires_of(asked, start, end, min(options.limit or most + 1, most + 1))
        if len(fires) > most:
            raise Stop(f"there are more than {most:,} fires in {options.year}",
                       "-n 10 shows the first ten of the year", 2)
    else:
        most, end = MOST, LAST
        limit = options.limit or 10
        if limit > MOST:
            raise Stop(f"{limit:,} fires are too many to show", f"at most {MOST:,}", 2)
        start = _after(options.first, asked.zone) + 1
        fires = fires_of(asked, start, end, limit)
    if options.limit or not options.year:
        # Behind the last fire that is shown nothing is said of others either.
        end = fires[-1].at if fires else min(end, start + YEAR)
    skipped = skipped_between(asked, start, end, most)
    return fires, skipped if fires or options.year else skipped[:options.limit or 10]


def _after(text: str | None, zone: str) -> int:
    if text is None:
        return _moment.instant_in(zone, datetime.now(timezone.utc))
    try:
        # What is asked for from an instant on has the fire at that instant.
        return _moment.instant_in(zone, text) - 1
    except SpecError as error:
        raise Stop(f"--from: {error.problems[0].message}", error.problems[0].hint, 2) from None


def _cells(fire: dict[str, Any], several: bool) -> list[str]:
    local = datetime.fromisoformat(fire["local"])
    notes = "; ".join(each["text"] if each["mark"] == "skipped" else
                      f"{each['mark']}: {each['text']}" for each in fire["marks"])
    return [f"{local:%Y-%m-%d %H:%M:%S %a} {fire['local'][-6:]}", fire["utc"],
            fire["biz_date"] or "skipped", *([fire.get("task", "-")] if several else []), notes]
