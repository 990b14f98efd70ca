"""``mainspring db verify``."""

from __future__ import annotations

import argparse
import json

from mainspring._place import shown
from mainspring.cli._console import Console, clean
from mainspring.cli._settings import history_of, settings_of

__all__ = ["run"]


def run(options: argparse.Namespace, console: Console) -> int:
    """Prove that everything in the database adds up; exit code 1 with the rows that do not."""
    settings = settings_of(options, console)
    history = history_of(settings)
    broken = history.verify()
    console.document({"database": shown(settings.database), "broken": broken})
    if not broken:
        console.line(f"{clean(shown(settings.database))}: everything adds up")
        return 0
    for item in broken:
        rows = item["rows"] if isinstance(item["rows"], list) else [item["rows"]]
        console.error(f"{clean(item['rule'])} [{clean(item['invariant'])}]")
        for row in rows[:20]:
            text = row if isinstance(row, str) else json.dumps(row, ensure_ascii=False, default=str)
            console.say(f"    {clean(text)}")
        if len(rows) > 20:
            console.say(f"    and {len(rows) - 20} more")
    return 1
