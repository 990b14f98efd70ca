"""``mainspring db upgrade``."""

from __future__ import annotations

import argparse
import os

from mainspring._place import is_server
from mainspring._place import shown as shown_place
from mainspring.cli._console import Console, clean
from mainspring.cli._settings import settings_of

__all__ = ["run"]


def run(options: argparse.Namespace, console: Console) -> int:
    """Make the database, or bring it to the newest form."""
    settings = settings_of(options, console)
    existed = is_server(settings.database) or os.path.exists(settings.database)
    if not is_server(settings.database):
        os.makedirs(os.path.dirname(settings.database), exist_ok=True)

    from mainspring import _mainspring as core

    before, now = core.migrate(settings.database)
    shown = clean(place := shown_place(settings.database))
    if not existed or before == 0:
        console.line(f"made {shown}, schema {now}")
    elif before == now:
        console.line(f"{shown} has schema {now}, the newest; nothing to do")
    else:
        console.line(f"brought {shown} from schema {before} to {now}")
    console.document({"database": place, "before": before, "now": now})
    return 0
