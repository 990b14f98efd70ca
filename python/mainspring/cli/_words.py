"""Times, durations and policies in the words that people read."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from typing import Any

from mainspring._table import duration

__all__ = ["clock", "duration", "iso", "policy", "run_row", "tally"]

PRIORITY = {0: "urgent", 2: "high", 5: "normal", 7: "low", 9: "idle"}
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def clock(micros: int | None) -> str:
    """An instant as the wall clock of this machine shows it."""
    if micros is None:
        return "-"
    return (EPOCH + timedelta(microseconds=micros)).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def iso(micros: int | None) -> str | None:
    """An instant as programs read it, in UTC."""
    if micros is None:
        return None
    return (EPOCH + timedelta(microseconds=micros)).isoformat().replace("+00:00", "Z")


def span(begin: int | None, end: int | None) -> float | None:
    """Seconds between two instants."""
    return None if begin is None or end is None else max(0, end - begin) / 1_000_000


def tally(counts: Mapping[str, int], total: int) -> str:
    """How far a run came: ``3/5, 1 FAILED``."""
    parts = [f"{counts.get('SUCCESS', 0)}/{total}"]
    for word in ("RUNNING", "RETRY_WAIT", "FAILED", "TIMEOUT", "BLOCKED", "CANCELED", "SKIPPED"):
        if counts.get(word):
            parts.append(f"{counts[word]} {word}")
    return ", ".join(parts)


def run_row(run: Mapping[str, Any]) -> list[str]:
    """A run as a row of a table, under `RUN_HEAD`."""
    return [
        str(run["id"]),
        run["dag"],
        run["biz_date"] or "-",
        run["state"],
        tally(run["counts"], run["task_count"]),
        run["trigger"],
        clock(run["created_at"]),
        duration(span(run["created_at"], run["finished_at"])),
    ]


RUN_HEAD = ["RUN", "DAG", "BIZ DATE", "STATE", "TASKS", "TRIGGER", "BEGUN", "TOOK"]


def run_document(run: Mapping[str, Any]) -> dict[str, Any]:
    """A run as programs read it: instants as ISO text."""
    times = ("nominal_at", "interval_start", "interval_end", "created_at", "finished_at")
    return {key: iso(value) if key in times else value for key, value in run.items()}


def task_document(task: Mapping[str, Any]) -> dict[str, Any]:
    """A task run or an attempt as programs read it."""
    times = ("first_ready_at", "started_at", "finished_at", "wake_at")
    return {key: iso(value) if key in times else value for key, value in task.items()}


def policy(task: Mapping[str, Any]) -> str:
    """What is not the default in a task's policy."""
    rules = task["policy"]
    parts = []
    attempts = rules.get("max_attempts")
    if attempts is not None and attempts > 1:
        grows = "" if rules["retry_backoff"] == "FIXED" else ", growing"
        every = duration(rules["retry_interval_ms"] / 1000)
        parts.append(f"{attempts} attempts, {every} apart{grows}")
    elif attempts == 1:
        parts.append("1 attempt")
    if rules.get("retry_on"):
        parts.append("retries on " + ", ".join(rules["retry_on"]))
    if rules.get("timeout_ms"):
        parts.append(f"timeout {duration(rules['timeout_ms'] / 1000)}")
    if rules["priority"] != 5:
        level = rules["priority"]
        parts.append(f"priority {PRIORITY.get(level, level)}")
    if rules.get("pool"):
        slots = "" if rules["slots"] == 1 else f" ({rules['slots']} slots)"
        parts.append(f"pool {rules['pool']}{slots}")
    if not rules["idempotent"]:
        parts.append("not idempotent")
    if rules.get("preemptible"):
        parts.append("preemptible")
    if task.get("poll_ms"):
        parts.append(f"polled every {duration(task['poll_ms'] / 1000)}")
    if rules.get("not_before"):
        parts.append(f"not before {rules['not_before']}")
    if rules.get("run_on"):
        on = rules["run_on"]
        days = on["rule"] if "rule" in on else f"calendar {on['calendar']['name']}"
        parts.append(f"{'biz date' if on.get('biz_date') else 'runs'} on {days}")
    return "; ".join(parts)
