"""``mainspring history``."""

from __future__ import annotations

import argparse
import csv
import json

from mainspring import _arrow
from mainspring.cli._console import Console
from mainspring.cli._settings import settings_of

__all__ = ["run"]

SCREEN = 20
"""Rows of a table for people, where no number is given."""


def run(options: argparse.Namespace, console: Console) -> int:
    """Print the history as a table, as CSV or as lines of JSON."""
    settings_of(options, console)
    states = [word.strip().upper() for word in options.state or ()] or None
    limit = options.limit
    for_people = options.format == "table" and not console.json
    table = _arrow.history(
        options.dag,
        level=options.level,
        since=options.since,
        until=options.until,
        outcome=states if options.level == "attempt" else None,
        state=states if options.level != "attempt" else None,
        trigger=options.trigger,
        columns=None if options.columns is None else options.columns.split(","),
        limit=SCREEN if for_people and limit is None else limit,
    )
    if for_people:
        head, rows = table.screen(len(table))
        if rows:
            console.table([name.upper() for name in head], rows)
        else:
            console.line("nothing like that was run yet")
    elif console.json:
        console.document({"history": list(table.documents())})
    elif options.format == "csv":
        lines = csv.writer(console.out, lineterminator="\n")
        lines.writerow(table.columns)
        lines.writerows(each.values() for each in table.documents())
    else:
        for each in table.documents():
            print(json.dumps(each, ensure_ascii=False), file=console.out)
    return 0
