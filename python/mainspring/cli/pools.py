"""``mainspring pools``."""

from __future__ import annotations

import argparse
from typing import Any

from mainspring.cli._console import Console, clean
from mainspring.cli._settings import history_if_any, settings_of
from mainspring.cli._words import duration

__all__ = ["run"]


def run(options: argparse.Namespace, console: Console) -> int:
    """Print the pools and limits with the slots that they have and that are in use."""
    settings = settings_of(options, console)
    history = history_if_any(settings)
    stored = ({}, {}, {}) if history is None else (
        history.pools(), history.limits(), history.ageing())
    pools = _merged(stored[0], settings.pools)
    limits = _merged(stored[1], settings.limits)
    ages: dict[str, float] = {name: step / 1000 for name, step in stored[2].items()}
    entries: list[dict[str, Any]] = [
        *({"kind": "pool", "name": name, "slots": slots, "used": used,
           "ageing_ms": round(ages[name] * 1000) if name in ages else None}
          for name, (slots, used) in pools.items()),
        *({"kind": "limit", "name": name, "slots": slots, "used": used, "ageing_ms": None}
          for name, (slots, used) in limits.items()),
    ]
    if entries:
        console.table(["KIND", "NAME", "SLOTS", "USED", "ORDER"],
                      [_row(entry, ages) for entry in entries], right=[2, 3])
    else:
        console.line("no pools and no limits; [pools] and [limits] of the project file make some")
    console.document({"pools": [each for each in entries if each["kind"] == "pool"],
                      "limits": [each for each in entries if each["kind"] == "limit"]})
    return 0


def _merged(stored: dict[str, Any], project: Any) -> dict[str, tuple[int, int]]:
    """What is in use of each; what only the project file names is not used yet."""
    found = {name: (slots, 0) for name, slots in project.items()}
    found.update({name: (slots, used) for name, (slots, used) in stored.items()})
    return dict(sorted(found.items()))


def _row(entry: dict[str, Any], ages: dict[str, float]) -> list[str]:
    order = "-"
    if entry["kind"] == "pool":
        step = ages.get(entry["name"])
        order = "strict" if step is None else f"one class up each {duration(step)}"
    return [entry["kind"], clean(entry["name"]), str(entry["slots"]), str(entry["used"]), order]
