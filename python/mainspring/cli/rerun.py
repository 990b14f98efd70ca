"""``mainspring rerun``."""

from __future__ import annotations

import argparse

from mainspring.cli._console import Console
from mainspring.cli._load import dag_of_run
from mainspring.cli._settings import apply_pools, history_of, run_of, settings_of
from mainspring.cli._stop import Stop
from mainspring.cli.run import finish, wait_for

__all__ = ["run"]


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
    dag = dag_of_run(settings, history, record, console)
    apply_pools(settings, dag.database)
    made = dag.rerun(record["id"], options.task, downstream=options.downstream, wait=False)
    return finish([wait_for(made, console)], console)
