"""What of a dag fires by itself, the dag or a task of it, each with its schedules and their rules.

A run belongs to one of these targets, and takes its business date and interval from the schedules
of that one together.
"""

from typing import NamedTuple

from mainspring import _mainspring as core

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

__all__ = ["Part", "Target", "calendar_of", "rule_of", "targets_of"]

WEEKDAYS = ("MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN")


class Part(NamedTuple):
    """One schedule of a target."""

    rule: core.Rule
    raw: core.Timetable
    """What it would fire if its calendar, where it has one, were open every day."""
    own: core.Timetable
    """What it fires."""
    schedule: "Mapping[str, Any] | None" = None
    """Its definition; none for an expression by itself."""
    calendar: "core.Calendar | None" = None

    @property
    def name(self) -> str:
        return str(self.schedule["name"]) if self.schedule else ""

    def says(self, field: str, default: str) -> str:
        """A word of its rule, such as what it does in a gap."""
        return str(self.schedule["rule"].get(field, default)) if self.schedule else default


class Target(NamedTuple):
    """A dag, or a task that fires by itself."""

    task: "str | None"
    parts: "list[Part]"
    table: core.Timetable
    """Its schedules together, with its business dates."""


def targets_of(
    definition: "Mapping[str, Any]",
    biz_offset: "str | None" = None,
    calendar: "core.Calendar | None" = None,
) -> "list[Target]":
    """Return what of a dag fires: the dag first, then tasks in the order of their schedules.

    Parameters
    ----------
    definition : dict
        The dag as the core resolves it.
    biz_offset, calendar : optional
        Other business dates than its own.
    """
    by_target: dict[str | None, list[Any]] = {}
    for schedule in definition.get("schedules", []):
        for task in dict.fromkeys(each.get("task") for each in schedule["bindings"]):
            by_target.setdefault(task, []).append(schedule)
    ordered = sorted(by_target.items(), key=lambda item: item[0] is not None)
    return [
        Target(task, [_part(each) for each in schedules],
               _table(definition["timezone"], schedules, biz_offset, calendar))
        for task, schedules in ordered
    ]


def rule_of(written: "Mapping[str, Any]") -> core.Rule:
    """Return the rule of a schedule's definition, without its calendar and its dates."""
    text, zone = written["expression"].strip(), written["timezone"]
    gap, fold = written.get("gap", "carry"), written.get("fold", "first")
    if text.startswith("at "):
        return core.Rule.written(text, zone)
    if not text.startswith("every "):
        return core.Rule.cron(text, zone, gap, fold)
    anchor = written.get("anchor")
    if anchor is None and written.get("start_date"):
        # As the core counts: from the first day of the schedule, so that an edit shifts nothing.
        from mainspring._moment import instant_in

        anchor = instant_in(zone, written["start_date"])
    return core.Rule.every(text[6:].strip(), anchor, zone, gap, fold)


def calendar_of(written: "Mapping[str, Any]") -> core.Calendar:
    """Return the calendar of a schedule's definition."""
    open_days = ",".join(WEEKDAYS[number] for number in written.get("weekdays", []))
    rule = core.Rule.cron(f"0 0 * * {open_days}", "UTC") if open_days else None
    made = core.Calendar(written["name"], rule)
    return made.exclude(written.get("exclude", [])).include(written.get("include", []))


def _part(schedule: "Mapping[str, Any]") -> Part:
    written = schedule["rule"]
    rule = rule_of(written)
    raw = core.Timetable([(rule, written.get("start_date"), written.get("end_date"))])
    if "calendar" not in written:
        return Part(rule, raw, raw, schedule)
    own = _table(written["timezone"], [schedule], None, None)
    return Part(rule, raw, own, schedule, calendar_of(written["calendar"]))


def _table(
    zone: str,
    schedules: "Sequence[Mapping[str, Any]]",
    biz_offset: "str | None",
    calendar: "core.Calendar | None",
) -> core.Timetable:
    """The schedules of one target as the core joins them."""
    written = []
    for number, each in enumerate(schedules):
        fields = {**each["rule"], "name": f"s{number}"}
        if "biz_offset" in each:
            fields["biz_offset"] = each["biz_offset"]
        written.append(fields)
    spec = {"name": "target", "timezone": zone, "schedule": written,
            "tasks": [{"name": "task", "type": "noop"}]}
    return core.Timetable.of_dag(spec, biz_offset, calendar)
