"""``mainspring runs``."""

from __future__ import annotations

import argparse
from datetime import date

from mainspring.cli._console import Console, clean
from mainspring.cli._settings import history_if_any, settings_of
from mainspring.cli._stop import Stop, nearest
from mainspring.cli._words import RUN_HEAD, run_document, run_row

__all__ = ["run"]

RUN_STATES = ("RUNNING", "SUCCESS", "FAILED", "CANCELED", "INTERRUPTED")


def run(options: argparse.Namespace, console: Console) -> int:
    """Print runs, the newest first."""
    states = [_state(word) for word in options.state or ()] or None
    day = None if options.biz_date is None else iso_date(options.biz_date, "--biz-date")
    settings = settings_of(options, console)
    history = history_if_any(settings)
    found = []
    if history is not None:
        if options.dag is not None and history.dag(options.dag) is None:
            raise Stop(
                f"no dag {clean(options.dag)!r} was ever run",
                nearest(options.dag, history.dags()),
            )
        found = history.runs(
            dag=options.dag,
            states=states,
            biz_date_from=day,
            biz_date_to=day,
            limit=options.limit,
        )
    if found:
        console.table(RUN_HEAD, [run_row(each) for each in found], right=[0])
    else:
        console.line("no runs" if history is not None else "nothing was run yet")
    console.document({"runs": [run_document(each) for each in found]})
    return 0


def _state(word: str) -> str:
    upper = word.strip().upper()
    if upper not in RUN_STATES:
        raise Stop(f"a run is never {clean(word)!r}", nearest(upper, RUN_STATES), 2)
    return upper


def iso_date(text: str, option: str) -> str:
    """A date as ISO text; also ``yyyymmdd``."""
    digits = text.replace("-", "")
    try:
        if len(digits) != 8 or not digits.isascii() or text.count("-") not in (0, 2):
            raise ValueError
        return date(int(digits[:4]), int(digits[4:6]), int(digits[6:])).isoformat()
    except ValueError:
        hint = "a date is written 2013-01-15"
        raise Stop(f"{option} is no date: {clean(text)!r}", hint, 2) from None
