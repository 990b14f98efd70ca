"""``mainspring backfills``: what was applied, how it stands, and what is to become of it."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from mainspring.cli._console import Console, clean_block
from mainspring.cli._load import named_dag
from mainspring.cli._register import has_scheduler
from mainspring.cli._settings import apply_pools, settings_of
from mainspring.cli._stop import Stop, nearest

if TYPE_CHECKING:
    from mainspring._backfills import Backfill
    from mainspring._dag import Dag

__all__ = ["loaded", "run", "shown"]

CODES = {"SUCCESS": 0, "FAILED": 1, "RUNNING": 0, "PAUSED": 0}
"""Exit codes; of every other state 3."""


def run(options: argparse.Namespace, console: Console) -> int:
    """Print backfills, or one of them, or do something about it."""
    from mainspring import _backfills

    settings = settings_of(options, console)
    if options.backfill is None:
        states = [_state(word) for word in options.state or ()] or None
        found = _backfills.backfills(state=states, database=settings.database)
        console.line(repr(found) if found else "no backfills")
        console.document({"backfills": [document(each) for each in found]})
        return 0
    backfill = _backfills.backfills(options.backfill, database=settings.database)
    if options.verb is None:
        return shown(backfill, console, follow=False)
    dags: list[Dag] = []
    here = options.verb in ("resume", "retry", "cancel") and not backfill.is_decided
    if here:
        dags = loaded(backfill.dags, options, console)
    if options.verb in ("resume", "retry"):
        getattr(backfill, options.verb)(wait=False)
    else:
        getattr(backfill, options.verb)()
    code = shown(backfill, console, follow=here)
    del dags
    return code


def loaded(names: Iterable[str], options: argparse.Namespace, console: Console) -> list[Dag]:
    """The dags of a backfill from the project's files, where no scheduler has them."""
    settings = settings_of(options, console)
    if has_scheduler(settings):
        return []
    dags = [named_dag(settings, name, console)[0] for name in sorted(names)]
    for dag in dags:
        dag.database = settings.database
        apply_pools(settings, dag.database)
    return dags


def shown(backfill: Backfill, console: Console, *, follow: bool) -> int:
    """Wait for a backfill with progress, print how it stands, and give the exit code."""
    if follow:
        backfill.wait(progress=True)
    console.line(clean_block(str(backfill)))
    state = backfill.state
    code = CODES.get(state, 3)
    console.document({**document(backfill), "exit_code": code})
    return code


def document(backfill: Backfill) -> dict[str, Any]:
    """A backfill as data."""
    return {
        "id": backfill.id, "dag": backfill.dag, "from": backfill.from_date,
        "to": backfill.to_date, "state": backfill.state, "counts": backfill.counts,
        "runs": [run.id for run in backfill.runs],
    }


def _state(word: str) -> str:
    from mainspring._backfills import STATES

    upper = word.strip().upper()
    if upper not in STATES:
        raise Stop(f"a backfill is never {word!r}", nearest(upper, STATES), 2)
    return upper
