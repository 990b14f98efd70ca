"""``mainspring asset ready``: somebody outside says that an asset is ready."""

from __future__ import annotations

import argparse

from mainspring import _edge
from mainspring.cli._console import Console, clean
from mainspring.cli._settings import settings_of
from mainspring.cli.runs import iso_date

__all__ = ["run"]


def run(options: argparse.Namespace, console: Console) -> int:
    """Declare an asset ready for a business date."""
    settings = settings_of(options, console)
    day = iso_date(options.biz_date, "--biz-date")
    changed = _edge.asset(options.asset).declare(day, database=settings.database)
    how = "is ready" if changed else "was declared ready before"
    console.line(f"asset {clean(options.asset)} of {day} {how}")
    console.document({"asset": options.asset, "biz_date": str(day), "changed": changed})
    return 0
