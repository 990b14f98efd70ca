"""``mainspring config show``."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from mainspring._place import shown
from mainspring.cli._console import Console, clean
from mainspring.cli._settings import settings_of

if TYPE_CHECKING:
    from mainspring._config import Settings

__all__ = ["run"]


def run(options: argparse.Namespace, console: Console) -> int:
    """Each setting, its value and where it came from."""
    settings = settings_of(options, console)
    values = list(_values(settings))
    console.table(
        ["KEY", "VALUE", "FROM"],
        [[key, _shown(value), origin] for key, value, origin in values],
    )
    if settings.file is None:
        console.line()
        console.line("no project file; 'mainspring init' makes one")
    console.document(
        {
            "file": settings.file,
            "root": settings.root,
            "values": {key: {"value": value, "from": origin} for key, value, origin in values},
        }
    )
    return 0


def _values(settings: Settings) -> Iterator[tuple[str, Any, str]]:
    for key, origin in settings.origins.items():
        table, _, name = key.partition(".")
        value: Any = getattr(settings, table)
        if name:
            value = value[name]
            if table == "pools" and name in settings.pool_ageing:
                value = f"{value}, ageing {settings.pool_ageing[name]}"
        elif key == "dags":
            value = list(value)
        elif key in ("busy_wait", "load_timeout", "logs_keep"):
            value = f"{value:g}s"
        elif key == "log_limit":
            value = f"{value:,} bytes"
        if key == "database":
            value = shown(value)
        yield key, value, origin


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return clean(", ".join(map(str, value)))
    return clean(json.dumps(value, ensure_ascii=False, default=str))
