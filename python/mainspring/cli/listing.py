"""``mainspring list``."""

from __future__ import annotations

import argparse
from typing import Any

from mainspring.cli._console import Console, clean, cut
from mainspring.cli._load import Checked, load_apart, project_files
from mainspring.cli._schedule_words import paused_in, standings_of, words_of
from mainspring.cli._settings import history_if_any, settings_of
from mainspring.cli._words import clock, run_document

__all__ = ["run"]

WIDEST = 60
"""Columns for the schedules of a dag; ``show`` has all of it."""


def run(options: argparse.Namespace, console: Console) -> int:
    """Print the dags of the project with the state of their last run."""
    from mainspring._project import shown_path

    settings = settings_of(options, console)
    loaded = load_apart(settings, project_files(settings))
    checked = [dag for _, dags in loaded for dag in dags]
    history = history_if_any(settings)
    entries = [_entry(item, history) for item in checked]
    entries.sort(key=lambda entry: entry["dag"])
    if entries:
        head = ["DAG", "OWNER", "SCHEDULE", "ZONE", "TASKS", "LAST RUN", "STATE"]
        console.table(head, [_row(entry) for entry in entries], right=[4])
    else:
        places = ", ".join(shown_path(place) for place in settings.dags)
        console.line(f"no dags in {clean(places)}; 'mainspring init' makes a project")
    broken = [shown_path(item.file) for item, _ in loaded if item.problems]
    if broken:
        names = clean(", ".join(dict.fromkeys(broken)))
        console.note(f"with problems: {names}; 'mainspring check' says which")
    console.document({"dags": entries, "broken": list(dict.fromkeys(broken))})
    return 0


def _entry(item: Checked, history: Any) -> dict[str, Any]:
    found = history.runs(dag=item.name, limit=1) if history is not None else []
    definition = item.definition or {}
    schedules = definition.get("schedules", [])
    standings = standings_of(history, item.name) if schedules else {}
    return {
        "dag": item.name,
        "file": str(item.file),
        "owner": definition.get("owner"),
        "schedules": [each["rule"]["expression"] for each in schedules],
        "timezones": list(dict.fromkeys(each["rule"]["timezone"] for each in schedules))
        or [definition.get("timezone")],
        "tasks": len(definition["tasks"]) if definition else None,
        "last_run": run_document(found[0]) if found else None,
        "_at": found[0]["created_at"] if found else None,
        "_when": "; ".join(_words(each, paused_in(standings, each)) for each in schedules),
    }


def _words(schedule: dict[str, Any], paused: bool) -> str:
    """A schedule in one line, which may be cut: that it is paused comes first."""
    words = words_of(schedule, zone=False, paused=False, between=", ")
    return f"(paused) {words}" if paused else words


def _row(entry: dict[str, Any]) -> list[str]:
    last = entry["last_run"]
    at, when = entry.pop("_at"), entry.pop("_when")
    return [
        entry["dag"],
        entry["owner"] or "-",
        cut(when, WIDEST) or "-",
        ", ".join(filter(None, entry["timezones"])) or "-",
        "?" if entry["tasks"] is None else str(entry["tasks"]),
        clock(at),
        last["state"] if last else "-",
    ]
