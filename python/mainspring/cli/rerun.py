"""``mainspring rerun``."""

from __future__ import annotations

import argparse

from mainspring.cli._console import Console
from mainspring.cli._load import named_dag
from mainspring.cli._outcome import read_outcome
from mainspring.cli._settings import history_of, run_of, settings_of
from mainspring.cli._stop import Stop
from mainspring.cli.run import finish

__all__ = ["run"]


def run(options: argparse.Namespace, console: Console) -> int:
    """Run again what failed in a run, or the tasks named, here and now."""
    if options.failed and options.task:
        raise Stop("--failed and --task are two different questions", "give one of them", 2)
    settings = settings_of(options, console)
    history = history_of(settings, must=True)
    assert history is not None
    record = run_of(history, options.run)
    dag, _ = named_dag(settings, record["dag"], console)
    dag.database = None  # where the run is
    made = dag.rerun(record["id"], options.task, downstream=options.downstream)
    return finish([read_outcome(history, made.id)], console)
