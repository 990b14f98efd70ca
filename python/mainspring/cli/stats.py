"""``mainspring stats``."""

from __future__ import annotations

import argparse

from mainspring import _stats
from mainspring.cli._console import Console
from mainspring.cli._settings import history_of, settings_of

__all__ = ["run"]


def run(options: argparse.Namespace, console: Console) -> int:
    """Print how tasks fare, by month."""
    history_of(settings_of(options, console))
    found = _stats.stats(options.dag)
    if found:
        head = [name.upper() for name in _stats.HEAD]
        console.table(head, [each.cells() for each in found], right=(2, 3, 4, 5, 6))
    else:
        console.line("nothing has ended yet")
    console.document({"stats": [each.document() for each in found]})
    return 0
