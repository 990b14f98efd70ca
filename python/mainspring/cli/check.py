"""``mainspring check``."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mainspring.cli._console import Console, clean, clean_block
from mainspring.cli._load import Checked, across, load_apart, project_files
from mainspring.cli._schedule_lints import schedule_lints
from mainspring.cli._schedule_warnings import schedule_warnings
from mainspring.cli._settings import history_if_any, settings_of
from mainspring.cli._stop import Stop, as_dict
from mainspring.errors import Problem

if TYPE_CHECKING:
    from mainspring._config import Settings
    from mainspring._loader import Loaded

__all__ = ["run"]


def run(options: argparse.Namespace, console: Console) -> int:
    """Load every dag file and print everything that is wrong; exit code 1 if anything is."""
    from mainspring._project import shown_path

    settings = settings_of(options, console)
    left_out: list[str] = []
    files = project_files(settings, options.paths, left_out)
    if not files and not options.paths:
        places = ", ".join(shown_path(place) for place in settings.dags)
        raise Stop(f"no dag files in {clean(places)}", "'mainspring init' makes a project")
    loaded = load_apart(settings, files)
    checked = [dag for _, dags in loaded for dag in dags]
    problems = [problem for item, _ in loaded for problem in item.problems]
    problems += across(checked, whole=not options.paths)
    problems += _unreadable(settings, checked)

    warnings = [note for item, _ in loaded for note in item.notes]
    warnings += [*_zone_warnings(settings, checked), *schedule_lints(checked)]
    warnings += schedule_warnings(checked)
    for warning in warnings:
        parts = [warning.message, *([warning.hint] if warning.hint else [])]
        console.note(f"{clean(warning.place)}: {clean('; '.join(parts))}")
    if console.verbose and left_out:
        places = ", ".join(map(shown_path, left_out))
        console.note(f"left out, because they do not mention mainspring: {clean(places)}")
    _print([item for item, _ in loaded], checked, problems, console)
    console.document(
        {
            "files": [str(file) for file in files],
            "left_out": left_out,
            "dags": [_entry(item) for item in checked],
            "problems": [as_dict(problem) for problem in problems],
            "warnings": [as_dict(warning) for warning in warnings],
        }
    )
    return 1 if problems else 0


def _unreadable(settings: Settings, checked: Sequence[Checked]) -> Iterator[Problem]:
    """What the database has of these dags and a scheduler could not read."""
    history = history_if_any(settings)
    names = {item.name for item in checked}
    for row in history.unreadable() if history is not None and names else ():
        if row["dag"] in names:
            why, _, hint = row["why"].partition("\n  hint: ")
            place = row["dag"] if row["run"] is None else f"{row['dag']}, run {row['run']}"
            yield Problem("unreadable", place, f"what the database has of it cannot be read: {why}",
                          hint or "`mainspring db verify` says what else does not add up")


def _entry(item: Checked) -> dict[str, object]:
    tasks = None if item.definition is None else len(item.definition["tasks"])
    return {"dag": item.name, "file": str(item.file), "tasks": tasks}


def _zone_warnings(settings: Settings, checked: Sequence[Checked]) -> Iterator[Problem]:
    from mainspring._project import shown_path

    if settings.origins["timezone"] != "default":
        return
    for item in checked:
        if item.definition and item.zone_by_default:
            message = f"the schedule of {item.name} names no zone, so it counts in UTC"
            hint = "set timezone= in the dag, or timezone in the project file"
            yield Problem("zone_by_default", shown_path(item.file), message, hint)


def _print(
    files: Sequence[Loaded],
    checked: Sequence[Checked],
    problems: Sequence[Problem],
    console: Console,
) -> None:
    for item in files:
        if item.output:  # what a file prints is its author's, and goes where prints go
            print(clean_block(item.output), end="", flush=True)
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
    return [item.name, str(len(item.definition["tasks"])), shown_path(file)]


def _counted(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
