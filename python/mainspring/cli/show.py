"""``mainspring show``."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mainspring._graph import layers, upstreams
from mainspring.cli._console import Console, clean, pad, width
from mainspring.cli._load import check_dag, named_dag
from mainspring.cli._schedule_words import paused_in, standings_of, words_of
from mainspring.cli._settings import history_if_any, history_of, run_of, settings_of
from mainspring.cli._stop import Stop, nearest
from mainspring.cli._words import (
    clock,
    duration,
    iso,
    items_by_task,
    items_words,
    policy,
    run_document,
    span,
    tally,
    task_document,
)
from mainspring.errors import SpecError

if TYPE_CHECKING:
    from mainspring._config import Settings

__all__ = ["run"]

NEXT = 3
"""Fires to come that are shown of each schedule."""


def run(options: argparse.Namespace, console: Console) -> int:
    """Print the tasks of a dag in layers: each waits only for tasks of layers above it."""
    settings = settings_of(options, console)
    dag, file = named_dag(settings, options.dag, console)
    checked = check_dag(dag, file)
    if checked.definition is None:
        raise SpecError(list(checked.problems))
    definition = checked.definition

    if options.items is not None and options.run is None:
        raise Stop("--items are those of a run", "give --run as well, such as --run last", 2)
    record, states = None, {}
    if options.run is not None:
        history = history_of(settings)
        record = run_of(history, options.run, definition["key"])
        if record["dag"] != definition["key"]:
            raise Stop(f"run {record['id']} is one of dag {clean(record['dag'])!r}", None, 2)
        states = {task["task"]: task for task in history.task_runs(record["id"])}
        if options.items is not None:
            return _show_items(record, options.items, items_by_task(states.values()), console)

    schedules = _schedules(definition, settings)
    if not console.json:
        _print_head(definition, str(file), schedules, console)
        if record is not None:
            _print_run(record, console)
        _print_layers(definition, states, console)
    console.document(
        {
            "file": str(file),
            "dag": definition,
            "schedules": [{key: each[key] for key in each if key != "_shown"}
                          for each in schedules],
            "layers": [[task["name"] for task in layer] for layer in layers(definition)],
            "run": None if record is None else run_document(record),
            "task_runs": [task_document(task) for task in states.values()],
        }
    )
    return 0


def _schedules(definition: Mapping[str, Any], settings: Settings) -> list[dict[str, Any]]:
    """Each schedule in words, with its next fires, and how far it has come where that is known."""
    import time

    from mainspring import _moment
    from mainspring._targets import targets_of

    found: dict[str, dict[str, Any]] = {}
    parts = [part for target in targets_of(definition) for part in target.parts]
    standings = standings_of(history_if_any(settings), definition["key"]) if parts else {}
    now = time.time_ns() // 1000
    for part in parts:
        schedule = part.schedule
        if schedule is None or schedule["name"] in found:
            continue
        known = standings.get(schedule["name"])
        coming = [at for at, _, _ in part.own.next(now, NEXT)]
        zone = schedule["rule"]["timezone"]
        paused = paused_in(standings, schedule)
        found[schedule["name"]] = {
            "name": schedule["name"],
            "words": words_of(schedule, paused=paused),
            "paused": paused,
            "next": [iso(at) for at in coming],
            "watermark": iso(known.watermark) if known else None,
            "_shown": [f"{at:%Y-%m-%d %H:%M %a}" for at in _moment.shown_in(zone, coming)],
        }
    order = [schedule["name"] for schedule in definition.get("schedules", [])]
    return [found[name] for name in order if name in found]


def _schedule_facts(schedules: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    for each in schedules:
        yield "schedule", each["words"]
        if each["paused"]:
            yield "", "  paused: nothing fires until it is resumed"
        elif each["_shown"]:
            yield "", f"  next {', '.join(each['_shown'])}"
        else:
            yield "", "  it does not fire any more"
        if each["watermark"]:
            yield "", f"  fired or skipped up to {each['watermark']}"
    if not schedules:
        yield "schedule", "none; it runs when asked"


def _print_head(definition: Mapping[str, Any], file: str, schedules: Sequence[Mapping[str, Any]],
                console: Console) -> None:
    from mainspring._project import shown_path

    console.line(console.paint(clean(definition["key"]), "bold"))
    facts = [("file", shown_path(file))]
    facts += [("owner", definition["owner"])] if definition.get("owner") else []
    facts += [("labels", ", ".join(definition["labels"]))] if definition.get("labels") else []
    facts += _schedule_facts(schedules)
    for key, value in facts:
        console.line(f"  {key:9} {clean(value)}")
    doc = (definition.get("doc") or "").strip().split("\n")[0]
    if doc:
        console.line(f"  {clean(doc)}")


def _print_run(record: Mapping[str, Any], console: Console) -> None:
    text = f"{record['id']}  {console.state(record['state'])}  {clean(record['biz_date'])}"
    console.line(f"  run       {text}  {clock(record['created_at'])}")
    console.line(f"  tasks     {tally(record['counts'], record['task_count'])}")


MOST_ITEMS = 200
"""Items of a mapped task that are shown."""


def _show_items(record: Mapping[str, Any], name: str,
                items: Mapping[str, Sequence[Mapping[str, Any]]], console: Console) -> int:
    """Print the items of a mapped task, those that did not succeed first where there are many."""
    if name not in items:
        raise Stop(f"run {record['id']} has no mapped task {clean(name)!r}",
                   nearest(name, list(items)), 2)
    found = list(items[name])
    console.line(f"{console.paint(clean(name), 'bold')}  {items_words(found)}")
    shown = found
    if len(found) > MOST_ITEMS:
        shown = sorted(found, key=lambda each: each["state"] in ("SUCCESS", "SKIPPED"))[:MOST_ITEMS]
    rows = [[each["task"], each["state"], str(each["attempt_no"] or "-"),
             duration(span(each["started_at"], each["finished_at"])), each["code"] or "",
             each["item"] or ""] for each in shown]
    console.table(["ITEM", "STATE", "ATTEMPT", "TOOK", "CODE", "GIVEN"], rows, right=[2, 3])
    if len(shown) < len(found):
        console.line(f"... {len(found) - len(shown)} more")
    console.document({"run": run_document(record),
                      "items": [task_document(each) for each in found]})
    return 0


def _print_layers(
    definition: Mapping[str, Any], states: Mapping[str, Mapping[str, Any]], console: Console
) -> None:
    names = [clean(task["name"]) for task in definition["tasks"]]
    column = min(max(map(width, names), default=0), 40)
    items = items_by_task(states.values())
    for number, layer in enumerate(layers(definition), 1):
        console.line(f"layer {number}")
        for task in layer:
            line = _task_line(definition, task, states, column, items, console)
            console.line("  " + line.rstrip())


def _task_line(
    definition: Mapping[str, Any],
    task: Mapping[str, Any],
    states: Mapping[str, Mapping[str, Any]],
    column: int,
    items: Mapping[str, Sequence[Mapping[str, Any]]],
    console: Console,
) -> str:
    parts = [pad(clean(task["name"]), column)]
    if states:
        state = states.get(task["name"])
        word = state["state"] if state else "-"
        parts.append(console.state(word) + " " * max(0, 10 - len(word)))
        if task.get("map"):
            parts.append(items_words(items.get(task["name"], [])))
        if state and state.get("blocked_by_task"):
            parts.append(f"blocked by {clean(state['blocked_by_task'])}")
        elif state and state["state"] == "SKIPPED" and state["code"]:
            parts.append(clean(state["code"]))
        elif state and state["type"] == "gate" and state["state"] == "RUNNING":
            parts.append(f"say yes: mainspring approve {state['run_id']} {clean(state['task'])}")
        if state and state.get("overdue_at"):
            parts.append("late: its deadline has passed")
    parts.append(_arrows(upstreams(definition, task)))
    rules = policy(task)
    if rules:
        parts.append(console.paint(f"[{clean(rules)}]", "dim"))
    return "  ".join(part for part in parts if part)


def _arrows(ups: Sequence[tuple[str, bool]]) -> str:
    if not ups:
        return ""
    shown = ", ".join(clean(name) for name, _ in ups[:6])
    more = f" and {len(ups) - 6} more" if len(ups) > 6 else ""
    return f"<- {shown}{more}"
