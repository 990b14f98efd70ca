"""``mainspring disable``, ``enable``: whether runs take a task."""

from __future__ import annotations

import argparse

from mainspring import _enabled
from mainspring.cli._console import Console, clean
from mainspring.cli._settings import settings_of

__all__ = ["run"]


def run(options: argparse.Namespace, console: Console) -> int:
    """Disable or enable a task, and say how it stands."""
    settings = settings_of(options, console)
    enabled = options.verb == "enable"
    change = _enabled.enable if enabled else _enabled.disable
    changed = change(options.task, database=settings.database)
    console.line(f"{clean(options.task)} is {'' if changed else 'already '}{options.verb}d")
    console.document({"task": options.task, "enabled": enabled, "changed": changed})
    return 0
