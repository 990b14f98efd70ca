"""What a schedule is in one line, the same in every command; and how far it has come."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from mainspring._table import duration

if TYPE_CHECKING:
    from mainspring._mainspring import History

__all__ = ["Standing", "paused_in", "span", "standings_of", "words_of"]

WINDOW = 7 * 86_400_000
NO_END = 2**63 - 1


class Standing(NamedTuple):
    """A schedule as the database knows it."""

    paused: bool
    watermark: int | None
    """Each fire up to here is a run, or the record of why it is none."""


def words_of(
    schedule: Mapping[str, Any],
    *,
    zone: bool = True,
    paused: bool | None = None,
    between: str = "  ",
) -> str:
    """A schedule in one line: when, and whatever is not the default.

    Parameters
    ----------
    schedule
        Its definition, as the core resolves it.
    zone
        Whether to name the zone too.
    paused
        Whether it is paused, where somebody knows better than the definition.
    between
        What stands between its parts.
    """
    rule = schedule["rule"]
    name = "" if schedule["name"] == "default" else f"{schedule['name']}: "
    parts = [name + _when(rule["expression"])]
    parts += [rule["timezone"]] if zone else []
    bounds = [f"{word} {rule[key]}" for word, key in (("from", "start_date"), ("to", "end_date"))
              if rule.get(key)]
    parts += [" ".join(bounds)] if bounds else []
    parts += [f"{key} {rule[key]}" for key in ("gap", "fold") if key in rule]
    if "anchor" in rule:
        from mainspring.cli._words import iso

        parts.append(f"counted from {iso(rule['anchor'])}")
    if "calendar" in rule:
        parts.append(f"calendar {rule['calendar']['name']}, on={rule.get('on', 'skip')}")
    if "biz_offset" in schedule:
        parts.append(f"biz_offset {schedule['biz_offset']}")
    if rule.get("jitter_ms"):
        parts.append(f"jitter up to {span(rule['jitter_ms'])}")
    if "missed" in schedule:
        parts.append(f"missed {schedule['missed']}")
    if schedule["missed_window_ms"] not in (WINDOW, NO_END):
        parts.append(f"missed_window {span(schedule['missed_window_ms'])}")
    if "overlap" in schedule:
        parts.append(f"overlap {schedule['overlap']}")
    fired = _fired(schedule["bindings"])
    parts += [fired] if fired else []
    if schedule.get("paused", False) if paused is None else paused:
        parts.append("paused")
    return between.join(parts)


def standings_of(history: History | None, dag: str) -> dict[str, Standing]:
    """How far each schedule of a dag has come, by its name; nothing where it is not known yet."""
    if history is None:
        return {}
    _, rows = history.sql(
        "SELECT schedule.name, schedule.paused, schedule.watermark_at FROM schedule "
        "JOIN dag ON dag.id = schedule.dag_id "
        "WHERE dag.key = ?1 AND schedule.removed_at IS NULL", [dag])
    return {name: Standing(bool(paused), watermark) for name, paused, watermark in rows}


def paused_in(standings: Mapping[str, Standing], schedule: Mapping[str, Any]) -> bool:
    """Whether a schedule is paused: the database says so where it knows it, else the dag."""
    known = standings.get(schedule["name"])
    return known.paused if known else bool(schedule.get("paused"))


def span(millis: int) -> str:
    """A duration as people write it: ``90m``, ``7d``; else in seconds."""
    for unit, size in (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000)):
        if millis and millis % size == 0:
            return f"{millis // size}{unit}"
    return duration(millis / 1000)


def _when(expression: str) -> str:
    """The expression; of many instants the first."""
    instants = expression.split(",")
    if expression.startswith("at ") and len(instants) > 2:
        return f"{instants[0]} and {len(instants) - 1} more"
    return expression


def _fired(bindings: list[Mapping[str, Any]]) -> str:
    tasks = [_with(each["task"], each) for each in bindings if "task" in each]
    if tasks:
        return ("task " if len(tasks) == 1 else "tasks ") + ", ".join(tasks)
    given = [each for each in bindings if each.get("params")]
    return _with("", given[0]).strip() if given else ""


def _with(task: str, binding: Mapping[str, Any]) -> str:
    params = ", ".join(f"{key}={value!r}" for key, value in binding.get("params", {}).items())
    return f"{task} with {params}" if params else task
