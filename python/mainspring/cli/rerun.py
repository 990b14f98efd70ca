"""``mainspring rerun``."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from mainspring.cli._console import Console
from mainspring.cli._load import dag_of_run
from mainspring.cli._settings import apply_pools, history_of, run_of, settings_of
from mainspring.cli._stop import Stop
from mainspring.cli.run import finish, wait_for

__all__ = ["run"]


def _is_scheduled(record: Mapping[str, Any]) -> bool:
    """Whether a scheduler that is up decides for the run."""
    node = record["node"] or {}
    return bool(node.get("alive") and node.get("role") == "scheduler")


def _ask(number: int, options: argparse.Namespace, console: Console) -> int:
    """Have the scheduler run it again, and wait for that."""
    from mainspring import _requests
    from mainspring._run import Run
    from mainspring._session import location

    _requests.ask({"kind": "rerun", "run": number, "tasks": options.task,
                   "downstream": options.downstream})
    console.note(f"the scheduler runs {number} again")
    return finish([wait_for(Run(number, location(None)), console)], console)


def run(options: argparse.Namespace, console: Console) -> int:
    """Run again what failed in a run, or the tasks named, here and now."""
    if options.failed and options.task:
        raise Stop("--failed and --task are two different questions", "give one of them", 2)
    settings = settings_of(options, console)
    history = history_of(settings)
    record = run_of(history, options.run)
    if record["state"] == "INTERRUPTED":
        number = record["id"]
        raise Stop(
            f"run {number} was interrupted and has not ended",
            f"mainspring run --resume {number} goes on where it stopped",
        )
    if _is_scheduled(record):
        return _ask(record["id"], options, console)
    dag = dag_of_run(settings, history, record, console)
    apply_pools(settings, dag.database)
    made = dag.rerun(record["id"], options.task, downstream=options.downstream, wait=False)
    return finish([wait_for(made, console)], console)
