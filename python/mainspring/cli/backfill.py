"""``mainspring backfill``, ``mainspring reprocess``: the plan, and applying it."""

from __future__ import annotations

import argparse
from typing import Any

from mainspring.cli._console import Console, clean_block
from mainspring.cli._params import read_params
from mainspring.cli._register import register_project
from mainspring.cli._settings import history_if_any, settings_of
from mainspring.cli._stop import Stop

__all__ = ["run"]


def run(options: argparse.Namespace, console: Console) -> int:
    """Compute a plan, or read one that was saved; print it, and apply it if that is asked for."""
    settings = settings_of(options, console)
    plan = _plan(options, settings, console)
    console.line(clean_block(repr(plan).removesuffix("\nplan.apply() does exactly this")))
    if options.save:
        plan.save(options.save)
        console.note(f"the plan is in {options.save}; --apply --plan-file {options.save} does it")
    if not options.apply:
        console.document(_document(plan))
        return 0
    from mainspring._backfill_apply import apply_from_command_line

    code: int = apply_from_command_line(plan, options, console)
    return code


def _plan(options: argparse.Namespace, settings: Any, console: Console) -> Any:
    from mainspring import _backfill
    from mainspring._backfill_plan import Plan

    if options.plan_file:
        return Plan.load(options.plan_file, database=settings.database)
    given: dict[str, Any] = {
        "order": options.order, "max_active": options.max_active,
        "on_failure": options.on_failure, "force": options.force, "priority": _class(options),
        "share": options.share, "database": settings.database,
    }
    if options.verb == "reprocess":
        if not options.target:
            raise Stop("which task is to be computed again?", "mainspring reprocess DAG.TASK", 2)
        register_project(settings, options.target.partition(".")[0], console)
        history = history_if_any(settings)
        known = None if history is None else history.dag(options.target.partition(".")[0])
        given["params"] = read_params(options.param, known) or None
        return _backfill.reprocess(options.target, options.biz_date, start=options.first,
                                   end=options.last, **given)
    if not options.target or not options.first or not options.last:
        raise Stop("a backfill needs a dag and a range of dates",
                   "mainspring backfill DAG --from 2024-01-01 --to 2024-01-31", 2)
    register_project(settings, options.target, console)
    history = history_if_any(settings)
    known = None if history is None else history.dag(options.target)
    given["params"] = read_params(options.param, known) or None
    return _backfill.backfill(
        options.target, options.first, options.last, only=_list(options.only) or "missing",
        tasks=_list(options.tasks), upstream=options.upstream, downstream=options.downstream,
        **given)


def _list(text: str | None) -> list[str] | None:
    return None if text is None else [word.strip() for word in text.split(",") if word.strip()]


def _class(options: argparse.Namespace) -> int | str:
    text: str = options.priority
    return int(text) if text.isdecimal() else text


def _document(plan: Any) -> dict[str, Any]:
    estimate = plan.estimate
    seconds = [None if each is None else each.total_seconds() for each in estimate[:2]]
    return {
        "ask": plan.head["ask"], "hash": plan.hash, "counts": plan.counts,
        "runs": [{"dag": run.dag, "biz_date": run.biz_date, "nominal_at": run.nominal_at,
                  "tasks": list(run.tasks), "group": run.group} for run in plan.runs],
        "cells": [{"dag": cell.dag, "task": cell.task, "biz_date": cell.biz_date,
                   "nominal_at": cell.nominal_at, "reason": cell.reason} for cell in plan.cells],
        "conflicts": [conflict._asdict() for conflict in plan.conflicts],
        "estimate": {"p50_s": seconds[0], "p90_s": seconds[1],
                     "no_history": list(estimate.no_history)},
    }
