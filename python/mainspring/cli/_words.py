"""Times, durations and policies in the words that people read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

from mainspring._table import duration

__all__ = ["clock", "duration", "iso", "items_by_task", "items_words", "policy", "run_row", "tally"]

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
    # Items of mapped tasks come to those that the run was made with.
    parts = [f"{counts.get('SUCCESS', 0)}/{max(total, sum(counts.values()))}"]
    for word in ("RUNNING", "RETRY_WAIT", "FAILED", "TIMEOUT", "BLOCKED", "CANCELED", "SKIPPED"):
        if counts.get(word):
            parts.append(f"{counts[word]} {word}")
    return ", ".join(parts)


def items_words(items: Sequence[Mapping[str, Any]]) -> str:
    """How far a mapped task came: ``8/10 items, 2 FAILED``."""
    counts: dict[str, int] = {}
    for each in items:
        if each["code"] != "REMOVED":
            counts[each["state"]] = counts.get(each["state"], 0) + 1
    total = sum(counts.values())
    done, *rest = tally(counts, total).split(", ")
    return ", ".join([f"{done} {'item' if total == 1 else 'items'}", *rest])


def items_by_task(tasks: Iterable[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    """The items of each mapped task of a run, by its name."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for each in tasks:
        if each["mapped"]:
            found.setdefault(each["task"], [])
        elif each["map_index"] is not None:
            found.setdefault(each["task"].rpartition("[")[0], []).append(each)
    return found


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
    times = ("first_ready_at", "started_at", "finished_at", "wake_at", "deadline_at", "overdue_at",
             "blocked_until")
    return {key: iso(value) if key in times else value for key, value in task.items()}


def deadline(rule: Mapping[str, int], cancels: bool) -> str:
    """A deadline in words: ``deadline 07:30 one day later, then canceled``."""
    if "after_ms" in rule:
        when = f"{duration(rule['after_ms'] / 1000)} after the nominal time"
    else:
        days, second = rule["days"], rule["second"]
        seconds = f":{second % 60:02}" if second % 60 else ""
        when = f"{second // 3600:02}:{second // 60 % 60:02}{seconds}"
        when += f" {days} days later" if days > 1 else " one day later" if days else ""
    return f"deadline {when}" + (", then canceled" if cancels else "")


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
    for name, count in rules.get("limits", {}).items():
        parts.append(f"limit {name}" + ("" if count == 1 else f" ({count} slots)"))
    if rules.get("max_active"):
        parts.append(f"at most {rules['max_active']} at once")
    if rules.get("deadline"):
        parts.append(deadline(rules["deadline"], rules.get("on_deadline") == "cancel"))
    if rules.get("block_timeout_ms"):
        parts.append(f"blocked at most {duration(rules['block_timeout_ms'] / 1000)}")
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
    parts += _mapping(task.get("map"))
    return "; ".join(parts)


def _mapping(map: Mapping[str, Any] | None) -> list[str]:
    """Over what a task is mapped."""
    if map is None:
        return []
    [(kind, what)] = map["over"].items()
    words = {
        "shards": f"{what} shards",
        "result": f"once for each item of {what}",
        "param": f"once for each item of parameter {what}",
        "items": f"once for each of {len(what) if kind == 'items' else 0} items",
    }
    at_once = map.get("max_active")
    return [words[kind] + (f", {at_once} at once" if at_once else "")]
