"""``mainspring trigger``, ``approve``, ``cancel``, ``pause``, ``resume``: asked of others."""

from __future__ import annotations

import argparse
from typing import Any

from mainspring import _requests
from mainspring.cli._console import Console, clean
from mainspring.cli._params import read_params
from mainspring.cli._settings import history_if_any, settings_of
from mainspring.cli.runs import iso_date

__all__ = ["run"]


def run(options: argparse.Namespace, console: Console) -> int:
    """Ask the scheduler, and print its answer."""
    history = history_if_any(settings_of(options, console))
    request, text = _request(options, history)
    answer = _requests.ask(request, later=getattr(options, "later", False))
    if answer.get("open"):
        text = "no scheduler runs; the next one decides it"
    console.line(f"request {answer['request']}: {clean(text.format(run=answer.get('run')))}")
    console.document(answer)
    return 0


def _request(options: argparse.Namespace, history: Any) -> tuple[dict[str, Any], str]:
    kind = options.ask
    if kind == "trigger":
        known = None if history is None else history.dag(options.dag)
        day = None if options.biz_date is None else iso_date(options.biz_date, "--biz-date")
        only = None if options.only is None else [n.strip() for n in options.only.split(",")]
        at = _requests._micros(options.nominal_at)
        return {"kind": kind, "dag": options.dag, "biz_date": day, "nominal_at": at, "only": only,
                "force": options.force or None,
                "params": read_params(options.param, known) or None}, "run {run} was made"
    if kind == "cancel":
        grace = None if options.grace is None else int(options.grace * 1000)
        return ({"kind": kind, "run": options.run, "tasks": options.task, "grace_ms": grace},
                "run {run} is being canceled")
    if kind == "approve":
        said = "rejected" if options.reject else "approved"
        return ({"kind": kind, "run": options.run, "task": options.task,
                 "reject": options.reject or None, "note": options.note},
                f"{options.task} of run {{run}} is {said}")
    if kind == "pause":
        return {"kind": kind, "dag": options.dag, "schedule": options.schedule}, \
            f"{options.dag} is paused"
    return {"kind": kind, "dag": options.dag, "schedule": options.schedule,
            "missed": options.missed}, f"{options.dag} goes on"
