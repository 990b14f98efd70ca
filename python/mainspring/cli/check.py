"""``mainspring check``."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mainspring.cli._console import Console, clean, clean_block
from mainspring.cli._load import Checked, across, check_dag, load_project
from mainspring.cli._schedule_lints import schedule_lints
from mainspring.cli._settings import settings_of
from mainspring.cli._stop import Stop, as_dict
from mainspring.errors import Problem

if TYPE_CHECKING:
    from mainspring._config import Settings
    from mainspring._project import LoadedFile

__all__ = ["run"]


def run(options: argparse.Namespace, console: Console) -> int:
    """Load every dag file and print everything that is wrong; exit code 1 if anything is."""
    from mainspring._project import shown_path

    settings = settings_of(options, console)
    files = load_project(settings, options.paths)
    if not files and not options.paths:
        places = ", ".join(shown_path(place) for place in settings.dags)
        raise Stop(f"no dag files in {clean(places)}", "'mainspring init' makes a project")
    checked = [check_dag(dag, item.path) for item in files for dag in item.dags]
    problems = [problem for item in files for problem in item.problems]
    problems += [problem for item in checked for problem in item.problems]
    problems += across(checked, whole=not options.paths)

    warnings = [*_zone_warnings(settings, checked), *schedule_lints(checked)]
    for warning in warnings:
        parts = [warning.message, *([warning.hint] if warning.hint else [])]
        console.note(f"{clean(warning.place)}: {clean('; '.join(parts))}")
    _print(files, checked, problems, console)
    console.document(
        {
            "files": [str(item.path) for item in files],
            "dags": [_entry(item) for item in checked],
            "problems": [as_dict(problem) for problem in problems],
            "warnings": [as_dict(warning) for warning in warnings],
        }
    )
    return 1 if problems else 0


def _entry(item: Checked) -> dict[str, object]:
    tasks = None if item.definition is None else len(item.definition["tasks"])
    return {"dag": item.dag.name, "file": str(item.file), "tasks": tasks}


def _zone_warnings(settings: Settings, checked: Sequence[Checked]) -> Iterator[Problem]:
    from mainspring._project import shown_path

    if settings.origins["timezone"] != "default":
        return
    for item in checked:
        fields = item.dag.fields
        named = fields.get("timezone") or _rules_name_zones(fields.get("schedule"))
        if item.definition and fields.get("schedule") and not named:
            message = f"the schedule of {item.dag.name} names no zone, so it counts in UTC"
            hint = "set timezone= in the dag, or timezone in the project file"
            yield Problem("zone_by_default", shown_path(item.file), message, hint)


def _rules_name_zones(schedule: Any) -> bool:
    items = schedule if isinstance(schedule, (list, tuple)) else [schedule]
    return all(getattr(item, "names_zone", False) for item in items)


def _print(
    files: Sequence[LoadedFile],
    checked: Sequence[Checked],
    problems: Sequence[Problem],
    console: Console,
) -> None:
    for item in files:
        if item.trace and console.verbose:
            console.say(clean_block(item.trace).rstrip())
    for problem in problems:
        message = clean_block(problem.message).replace("\n", "\n  ")
        place = console.paint(clean(problem.place), "bold")
        console.line(f"{place}: {message} [{problem.code}]")
        if problem.hint:
            console.line("  hint: " + clean_block(problem.hint).replace("\n", "\n        "))
    good = [item for item in checked if item.definition is not None]
    if problems:
        console.line()
    if console.verbose or not problems:
        rows = [_row(item.file, item) for item in good]
        if rows:
            console.table(["DAG", "TASKS", "FILE"], rows, right=[1])
            console.line()
    count = _counted(len(problems), "problem") if problems else "no problems"
    console.line(f"{_counted(len(files), 'file')}, {_counted(len(checked), 'dag')}, {count}")


def _row(file: Path, item: Checked) -> list[str]:
    from mainspring._project import shown_path

    assert item.definition is not None
    return [item.dag.name, str(len(item.definition["tasks"])), shown_path(file)]


def _counted(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
