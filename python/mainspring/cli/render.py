"""``mainspring render``."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from mainspring.cli._console import Console, clean, clean_block
from mainspring.cli._load import check_dag, named_dag
from mainspring.cli._params import read_params
from mainspring.cli._settings import settings_of
from mainspring.cli._stop import Stop
from mainspring.cli._words import iso
from mainspring.cli.run import instant_of
from mainspring.cli.runs import iso_date
from mainspring.errors import SpecError

__all__ = ["run"]

TIMES = ("nominal_at", "interval_start", "interval_end")


def run(options: argparse.Namespace, console: Console) -> int:
    """Print every text with a placeholder, before and after."""
    from mainspring._launch import preview

    if options.biz_date is None and options.nominal_at is None:
        raise Stop("for which day?", "mainspring render DAG.TASK --biz-date 2024-02-29", 2)
    day = None if options.biz_date is None else iso_date(options.biz_date, "--biz-date")
    at: datetime | None = None
    if options.nominal_at is not None:
        at = instant_of(options.nominal_at)
    if options.slot is not None and (day is None or at is not None):
        raise Stop("--slot is one of a business date", "give it with --biz-date alone", 2)
    name, dot, task = options.task.partition(".")
    if not name or (dot and not task):
        raise Stop(f"{clean(options.task)!r} names no task", "DAG.TASK, or DAG for all", 2)
    settings = settings_of(options, console)
    target = name if options.file is None else f"{options.file}:{name}"
    dag, file = named_dag(settings, target, console)
    checked = check_dag(dag, file)
    if checked.definition is None:
        raise SpecError(list(checked.problems))
    params = read_params(options.param, checked.definition)
    found = preview(dag, task or None, day, params=params or None, nominal_at=at,
                    slot=options.slot)

    for key in TIMES:
        found[key] = iso(found[key])
    if not console.json:
        _print(found, console)
    console.document(found)
    return 0


def _print(found: Mapping[str, Any], console: Console) -> None:
    head = f"{clean(found['dag'])} for {found['biz_date']}"
    console.line(console.paint(head, "bold") + f"  {found['nominal_at']}  {found['timezone']}")
    if not found["texts"]:
        console.line("no text has a placeholder")
    last = None
    for row in found["texts"]:
        if row["task"] != last:
            console.line(clean(row["task"]))
            last = row["task"]
        after = row["after"]
        console.line(f"  {clean(row['field'])}")
        _block("- ", row["before"], console)
        _block("+ ", after if isinstance(after, str) else _json(after), console)


def _block(mark: str, text: str, console: Console) -> None:
    for line in clean_block(text).split("\n"):
        console.line(f"    {mark}{line}".rstrip())


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
