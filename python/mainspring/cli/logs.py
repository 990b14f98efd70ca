"""``mainspring logs``."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

from mainspring._logread import Owner, read_log, unstamped
from mainspring.cli._console import Console, clean
from mainspring.cli._follow_log import Follower, print_attempt
from mainspring.cli._settings import history_of, run_of, settings_of
from mainspring.cli._stop import Stop, nearest
from mainspring.cli._words import task_document

__all__ = ["run"]


def run(options: argparse.Namespace, console: Console) -> int:
    """Print what the tasks of a run printed, and how each attempt ended."""
    settings = settings_of(options, console)
    history = history_of(settings)
    record = run_of(history, options.run)
    tasks: Sequence[Mapping[str, Any]] = history.task_runs(record["id"])
    if options.task is not None:
        names = [task["task"] for task in tasks]
        if options.task not in names:
            message = f"run {record['id']} has no task {clean(options.task)!r}"
            raise Stop(message, nearest(options.task, names), 2)
        tasks = [task for task in tasks if _is_of(task, options.task)]
    attempts = history.attempts(run_id=record["id"])
    chosen = _chosen(tasks, attempts, options.attempt)
    if options.attempt is not None and not chosen and not options.follow:
        raise Stop(f"there is no attempt {options.attempt} in run {record['id']}", None, 2)

    if options.follow:
        follower = Follower(history, settings.database, record["id"], tasks, console,
                            number=options.attempt, whole=options.task is None)
        code = follower.follow()
        if not console.json:
            return code
        # One document, as without it, when all is known.
        tasks = [task for task in history.task_runs(record["id"])
                 if options.task is None or _is_of(task, options.task)]
        chosen = _chosen(tasks, history.attempts(run_id=record["id"]), options.attempt)

    stamped = console.verbose > 0 and not console.json
    entries, why = [], []
    for name, attempt in chosen:
        text, missing = read_log(attempt, Owner(settings.database, record, name))
        entries.append({**attempt, "task": name, "log": text if stamped else unstamped(text)})
        if missing and missing not in why:
            why.append(missing)
    for entry in entries:
        if not console.json:
            print_attempt(entry["task"], entry, entry["log"], console)
    for missing in why:
        console.note(clean(missing))
    if not entries:
        console.line("no task of this run has started")
    console.document({"run": record["id"], "attempts": [task_document(entry) for entry in entries]})
    return 0


def _is_of(task: Mapping[str, Any], name: str) -> bool:
    """Whether a task run is the one of this name, or an item of the mapped task of this name."""
    own: str = task["task"]
    return own == name or (task["map_index"] is not None and own.rpartition("[")[0] == name)


def _chosen(
    tasks: Sequence[Mapping[str, Any]], attempts: Sequence[Mapping[str, Any]], number: int | None
) -> list[tuple[str, Mapping[str, Any]]]:
    """The attempt asked for of each task, or its newest; in the order in which they began."""
    names = {task["id"]: task["task"] for task in tasks}
    best: dict[int, Mapping[str, Any]] = {}
    for attempt in attempts:
        owner = attempt["task_run_id"]
        if owner not in names or number not in (None, attempt["attempt_no"]):
            continue
        if owner not in best or best[owner]["attempt_no"] < attempt["attempt_no"]:
            best[owner] = attempt
    ordered = sorted(best.values(), key=lambda attempt: (attempt["started_at"], attempt["id"]))
    return [(names[attempt["task_run_id"]], attempt) for attempt in ordered]
