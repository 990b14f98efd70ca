"""``mainspring status`` and ``mainspring health``."""

from __future__ import annotations

import argparse
import json
from typing import Any

from mainspring.cli._console import Console, clean
from mainspring.cli._settings import history_if_any, settings_of
from mainspring.cli._words import clock, duration

__all__ = ["run"]

OPEN_RUNS = """
SELECT state, count(*) AS runs FROM run WHERE finished_at IS NULL GROUP BY state
"""
OPEN_TASKS = """
SELECT state, count(*) AS task_runs FROM task_run WHERE finished_at IS NULL GROUP BY state
"""
PAUSED = """
SELECT dag.key AS dag, schedule.name AS schedule FROM schedule JOIN dag ON dag.id = schedule.dag_id
WHERE schedule.paused = 1 AND schedule.removed_at IS NULL AND dag.removed_at IS NULL
ORDER BY dag.key, schedule.position
"""
GATES = """
SELECT task_run.run_id AS run, dag.key AS dag, task.name AS task, run.biz_date AS biz_date,
    task_run.started_at AS since, task_version.definition AS doc
FROM task_run JOIN task ON task.id = task_run.task_id JOIN dag ON dag.id = task.dag_id
JOIN task_version ON task_version.id = task_run.task_version_id
JOIN run ON run.id = task_run.run_id
WHERE task_run.finished_at IS NULL AND task_run.state = 'RUNNING' AND task_version.type = 'gate'
ORDER BY task_run.id
"""
REQUESTS = "SELECT count(*) AS requests FROM request WHERE decided_at IS NULL"

LATE = 30.0
"""Seconds after which output that is not brought is worth a line."""

STUCK = """
SELECT task_run.run_id AS run, task.key AS task, attempt.attempt_no AS attempt, attempt.outcome,
    attempt_lease.pool, attempt_lease.slots
FROM attempt_lease
JOIN attempt ON attempt.task_run_id = attempt_lease.task_run_id
    AND attempt.attempt_no = attempt_lease.attempt_no
JOIN task_run ON task_run.id = attempt_lease.task_run_id
JOIN task ON task.id = task_run.task_id
WHERE attempt.finished_at IS NOT NULL
ORDER BY attempt_lease.task_run_id
"""


def run(options: argparse.Namespace, console: Console) -> int:
    """Say whether a scheduler lives, and what is open; exit 3 when none does."""
    settings = settings_of(options, console)
    history = history_if_any(settings)
    leader = None
    if history is not None:
        from mainspring._requests import leader as leader_of

        leader = leader_of()
    alive = bool(leader and leader["alive"])
    if options.quiet:
        return 0 if alive else 3
    facts = {**_facts(), "unreadable": history.unreadable()} if history is not None else {}
    if settings.logs is not None or facts:
        from mainspring._shipper import behind

        facts["logs"] = {"place": settings.logs, **behind(settings.database)}
    _print(leader, facts, console)
    console.document({"scheduler": leader, "alive": alive, **facts})
    return 0 if alive else 3


def _facts() -> dict[str, Any]:
    from mainspring._history import sql

    return {
        "runs": {row["state"]: row["runs"] for row in sql(OPEN_RUNS)},
        "task_runs": {row["state"]: row["task_runs"] for row in sql(OPEN_TASKS)},
        "paused": sql(PAUSED),
        "gates": [{**gate, "doc": json.loads(gate["doc"]).get("doc")} for gate in sql(GATES)],
        "open_requests": sql(REQUESTS)[0]["requests"],
        "stuck": sql(STUCK),
    }


def _print(leader: Any, facts: dict[str, Any], console: Console) -> None:
    if leader is None:
        console.line("scheduler  none has run for this database; 'mainspring up' starts one")
    elif leader["alive"]:
        console.line(f"scheduler  process {leader['pid']} on {clean(leader['host'])}, "
                     f"up since {clock(leader['started_at'])}, last seen "
                     f"{clock(leader['heartbeat_at'])}, version {leader['version']}")
    else:
        console.line(f"scheduler  gone: process {leader['pid']} on {clean(leader['host'])}, "
                     f"last seen {clock(leader['heartbeat_at'])}; 'mainspring up' starts another")
    for name in ("runs", "task_runs"):
        counts = facts.get(name) or {}
        shown = ", ".join(f"{count} {state}" for state, count in counts.items())
        console.line(f"{name.replace('_', ' '):9}  {shown or 'none open'}")
    for row in facts.get("paused") or []:
        console.line(f"paused     {clean(row['dag'])}, schedule {clean(row['schedule'])}")
    for row in facts.get("stuck") or []:
        slots = "1 slot" if row["slots"] == 1 else f"{row['slots']} slots"
        where = "" if row["pool"] is None else f" of pool {clean(row['pool'])}"
        console.line(f"stuck      run {row['run']}: attempt {row['attempt']} of "
                     f"{clean(row['task'])} RUNNING (kill failed), recorded as {row['outcome']}; "
                     f"it keeps {slots}{where}")
    for row in facts.get("unreadable") or []:
        run = "" if row["run"] is None else f", run {row['run']}"
        why, _, hint = row["why"].partition("\n")
        console.line(f"unreadable dag {clean(row['dag'])}{run}: {clean(why)}")
        if hint:
            console.line(f"         {clean(hint)}")
    for row in facts.get("gates") or []:
        doc = (row["doc"] or "").split("\n")[0]
        console.line(f"gate       {clean(row['dag'])}.{clean(row['task'])} for {row['biz_date']} "
                     f"waits since {clock(row['since'])}{': ' if doc else ''}{clean(doc)}")
        console.line(f"           mainspring approve {row['run']} {clean(row['task'])}")
    _print_logs(facts.get("logs") or {}, console)
    if facts.get("open_requests"):
        console.line(f"requests   {facts['open_requests']} not decided yet")


def _print_logs(logs: dict[str, Any], console: Console) -> None:
    """What is not where the setting `logs` says; that of the last seconds is as it should be."""
    if not logs.get("attempts") or (not logs["why"] and logs["seconds"] < LATE):
        return
    count = "1 attempt" if logs["attempts"] == 1 else f"{logs['attempts']} attempts"
    console.line(f"logs       {count}, {logs['bytes']:,} bytes are not brought yet, for "
                 f"{duration(logs['seconds'])}; they are in their files")
    for each in logs["why"]:
        console.line(f"           {clean(each['why'])}, since {clock(int(each['since'] * 1e6))}")
        if each["hint"]:
            console.line(f"           {clean(each['hint'])}")
