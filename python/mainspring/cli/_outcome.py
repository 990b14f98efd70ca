"""How a run ended: the table, the errors, the exit code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from mainspring.cli._console import Console, clean, clean_block
from mainspring.cli._words import (
    RUN_HEAD,
    duration,
    items_by_task,
    items_words,
    run_document,
    run_row,
    span,
    tally,
    task_document,
)

__all__ = ["Outcome", "exit_code", "read_outcome", "show_outcome", "show_range"]

BAD = ("FAILED", "TIMEOUT")


class Outcome(NamedTuple):
    """A run as the history has it when it no longer moves."""

    run: Mapping[str, Any]
    tasks: Sequence[Mapping[str, Any]]
    last: Mapping[int, Mapping[str, Any]]

    @property
    def code(self) -> int:
        """The exit code of this run alone."""
        if any(task["state"] in BAD for task in self.tasks):
            return 1
        return 0 if self.run["state"] == "SUCCESS" else 3

    def document(self) -> dict[str, Any]:
        """The run as programs read it."""
        tasks = []
        for task in self.tasks:
            attempt = self.last.get(task["id"], {})
            error = {key: attempt.get(key) for key in ("error_code", "error_type", "error")}
            tasks.append({**task_document(task), **error})
        return {"run": run_document(self.run), "tasks": tasks}


def read_outcome(history: Any, run_id: int) -> Outcome:
    """Read a run, its tasks and the newest attempt of each."""
    last: dict[int, Mapping[str, Any]] = {}
    for attempt in history.attempts(run_id=run_id):
        known = last.get(attempt["task_run_id"])
        if known is None or known["attempt_no"] < attempt["attempt_no"]:
            last[attempt["task_run_id"]] = attempt
    return Outcome(history.run(run_id), history.task_runs(run_id), last)


def exit_code(outcomes: Sequence[Outcome]) -> int:
    """One code for several runs: a failure counts more than what did not complete."""
    codes = {outcome.code for outcome in outcomes}
    return next((code for code in (1, 3) if code in codes), 0)


def show_outcome(
    outcome: Outcome, console: Console, *, only: Sequence[str] | None = None, limit: int = 200
) -> None:
    """Print the tasks of a run, or only some, and why those that failed did."""
    if console.json:
        return
    run = outcome.run
    items = items_by_task(outcome.tasks)
    tasks = [task for task in outcome.tasks if only is None or task["task"].split("[")[0] in only]
    # Of the items of a mapped task those that failed are shown, and of these the first ones.
    tasks = [task for task in tasks if task["map_index"] is None or task["state"] in BAD]
    before = len(tasks)
    if len(tasks) > limit:  # what went well is not what anybody looks for among thousands
        tasks = [task for task in tasks if task["state"] != "SUCCESS"][:limit]
    rows = [_row(task, outcome.last.get(task["id"]), items) for task in tasks]
    console.table(["TASK", "STATE", "ATTEMPT", "TOOK", "NOTE"], rows, right=[2, 3])
    if len(tasks) < before:
        console.line(f"... {before - len(tasks)} more")
    _show_errors(outcome, console)
    took = duration(span(run["created_at"], run["finished_at"]))
    console.line()
    console.line(
        f"run {run['id']} of {clean(run['dag'])} for {clean(run['biz_date'])}: "
        f"{console.state(run['state'])}, {tally(run['counts'], run['task_count'])}, {took}"
    )
    _show_next(outcome, console)


def _row(task: Mapping[str, Any], attempt: Mapping[str, Any] | None,
         items: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[str]:
    note = ""
    if task["blocked_by_task"]:
        note = f"blocked by {task['blocked_by_task']}"
    elif task["state"] != "SUCCESS" and attempt is not None and attempt["error"] is not None:
        kind = (attempt["error_type"] or attempt["error_code"] or "").rpartition(".")[2]
        note = f"{kind}: {attempt['error']}".strip(": ").split("\n")[0]
    elif items.get(task["task"]):
        note = items_words(items[task["task"]])
    elif task["state"] in (*BAD, "SKIPPED") and task["code"]:
        note = task["code"]
    elif task["type"] == "gate" and task["state"] == "RUNNING":
        note = f"waits for a word: mainspring approve {task['run_id']} {task['task']}"
    return [
        task["task"],
        task["state"],
        str(task["attempt_no"]) if task["attempt_no"] else "-",
        duration(span(task["started_at"], task["finished_at"])),
        note,
    ]


def _show_errors(outcome: Outcome, console: Console, *, most: int = 5) -> None:
    failed = [task for task in outcome.tasks if task["state"] in BAD
              and (not task["mapped"] or task["id"] in outcome.last)]
    for task in failed[:most]:
        attempt = outcome.last.get(task["id"])
        if attempt is None or not (attempt["traceback"] or attempt["error"]):
            continue
        console.line()
        head = f"{task['task']}, attempt {attempt['attempt_no']}"
        console.line(console.paint(clean(head), "bold"))
        text = attempt["traceback"] or attempt["error"]
        console.line(_indented(_shortened(text, console.verbose > 0)))
    if len(failed) > most:
        console.line()
        console.line(f"... and {len(failed) - most} more failed")


def _shortened(text: str, whole: bool, ends: int = 12) -> str:
    """The traceback without its middle: where it came from and where it broke are at the ends."""
    lines = text.rstrip("\n").split("\n")
    if whole or len(lines) <= 2 * ends:
        return "\n".join(lines)
    left_out = len(lines) - 2 * ends
    return "\n".join([*lines[:ends], f"  ... {left_out} lines, all with -v ...", *lines[-ends:]])


def _indented(text: str) -> str:
    return "\n".join("  " + line for line in clean_block(text).split("\n"))


def _show_next(outcome: Outcome, console: Console) -> None:
    number = outcome.run["id"]
    if outcome.code == 1:
        console.line(f"  mainspring logs {number}     what the tasks printed")
        console.line(f"  mainspring rerun {number}    run again what failed, when it is repaired")
    elif outcome.run["state"] == "INTERRUPTED":
        console.line(f"  mainspring run --resume {number}    go on where it stopped")
    elif outcome.code == 3:
        console.line(f"  mainspring rerun {number}    run again what did not succeed")


def show_range(outcomes: Sequence[Outcome], console: Console) -> None:
    """Print several runs as one table, and the errors of those that failed."""
    for outcome in outcomes:
        if outcome.code == 1 and not console.json:
            _show_errors(outcome, console, most=2)
    console.line()
    console.table(RUN_HEAD, [run_row(outcome.run) for outcome in outcomes], right=[0])
