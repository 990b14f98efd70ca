"""Rules as a dag has them, the business dates of their fires, and text rendered for one of them."""

from mainspring._rule import MOST

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import date, datetime
    from typing import Any

    from mainspring import _mainspring
    from mainspring._business import Calendar
    from mainspring._dag import Dag
    from mainspring._rule import Rule


def written(rule: "Rule", core: "_mainspring.Rule", options: "dict[str, Any]") -> "dict[str, Any]":
    """Return what a dag keeps of a rule: its text, and its options."""
    from mainspring._mainspring import first_instant
    from mainspring._moment import instant_in, refuse, shown_in

    kept = dict(options)
    if "anchor" in kept:
        kept["anchor"] = instant_in(rule.timezone, kept["anchor"])
    if core.kind == "cron":
        return {"expression": rule.expression, **kept}
    if core.kind == "every":
        return {"expression": f"every {rule.expression}", **kept}
    texts = []
    for at, wall in core.between(-(2**63), 2**63 - 1):
        shown = shown_in(rule.timezone, [at])[0]
        if first_instant(rule.timezone, wall) != at:
            refuse("not_a_schedule", "schedule", f"{shown.isoformat()} is not the first time that "
                   "the clock shows this", "a dag fires at whole seconds, the first of two")
        texts.append(shown.replace(tzinfo=None).isoformat())
    return {"expression": f"at {','.join(texts)}", **kept}


def schedule_field(value: "Any", spec: "dict[str, Any]") -> "Any":
    """Return the ``schedule`` of a dag as the core reads it; rules become plain data.

    A dag that names no zone takes that of its rules, where they have one in common.
    """
    from mainspring._dag_schedule import Schedule
    from mainspring._rule import Rule

    items = value if isinstance(value, (list, tuple)) else [value]
    if not any(isinstance(item, (Rule, Schedule)) for item in items):
        return value
    made: list[Any] = []
    zones = set()
    for item in items:
        if isinstance(item, Schedule):
            made += item._specs()
        else:
            made += item._schedules() if isinstance(item, Rule) else [item]
        rule = item.rule if isinstance(item, Schedule) else item
        zones.add(rule.timezone if isinstance(rule, Rule) and rule.names_zone else None)
    if "timezone" not in spec and len(zones) == 1 and None not in zones:
        spec["timezone"] = zones.pop()
    return made


def timetable(
    schedule: "Rule | Dag | str",
    biz_offset: "int | str | None" = None,
    calendar: "Calendar | None" = None,
) -> "tuple[_mainspring.Timetable, str]":
    """Return the core's timetable of a schedule, or of a dag as a whole, and its zone."""
    from mainspring import _mainspring as core
    from mainspring._definition import Definition
    from mainspring._moment import refuse, text_of, zone_or_default
    from mainspring._rule import Rule

    offset = None if biz_offset is None else str(biz_offset)
    days = None if calendar is None else calendar._core
    if isinstance(schedule, Definition):
        from mainspring._targets import targets_of

        targets = targets_of(core.check_dag(schedule.spec()), offset, days)
        if not targets:
            refuse("no_schedule", schedule.name, "the dag has no schedule",
                   "it runs when asked; give it schedule=")
        if targets[0].task is not None:
            refuse("no_schedule", schedule.name, "only tasks of the dag have schedules",
                   "it runs when asked; 'mainspring next' shows when its tasks fire")
        return targets[0].table, targets[0].parts[0].rule.timezone
    if isinstance(schedule, str):
        rule = core.Rule.written(text_of("schedule", schedule), zone_or_default(None))
    elif isinstance(schedule, Rule):
        rule = schedule._core
    else:
        refuse("wrong_type", "schedule", f"expected a schedule, found {type(schedule).__name__}",
               "ms.cron(...), ms.every(...), ms.at(...), their text, or a dag")
    return core.Timetable([(rule, None, None)], offset, days), rule.timezone


def biz_dates(
    schedule: "Rule | Dag | str",
    start: "date | str",
    end: "date | str",
    biz_offset: "int | str | None" = None,
    calendar: "Calendar | None" = None,
) -> "list[tuple[date, datetime]]":
    """Return the business dates of a range, each with the instant of its run.

    Parameters
    ----------
    schedule : Rule, Dag or str
        A rule, what a dag's schedule may be, or a dag with its own dates and offset.
    start, end : date or str
        First and last business date, both inclusive.
    biz_offset : int or str, optional
        Days from the nominal local date to the business date, ``"-1 workday"``, or
        ``"interval_start"``: the date of the fire before. By default -1 where the schedule fires
        at most once a day, else ``"interval_start"``.
    calendar : Calendar, optional
        Whose days are workdays; Monday to Friday by default.

    Returns
    -------
    list of (date, datetime)
        In the order of the fires. A run that is carried over a gap keeps its date.

    Raises
    ------
    SpecError
        ``bad_range`` where the range ends before it begins, ``too_many`` beyond a million fires.

    Examples
    --------
    >>> import mainspring as ms
    >>> weekdays = ms.cron("30 8 * * MON-FRI", timezone="Asia/Shanghai")
    >>> for day, fire in ms.biz_dates(weekdays, "2024-01-05", "2024-01-08", "-1 workday"):
    ...     print(day, fire)
    2024-01-05 2024-01-08 08:30:00+08:00
    2024-01-08 2024-01-09 08:30:00+08:00
    """
    table, zone = timetable(schedule, biz_offset, calendar)
    known = iso_date if calendar is None else calendar._known
    rows = table.backfill(known(start), known(end), MOST + 1)
    if len(rows) > MOST:
        from mainspring._moment import refuse

        refuse("too_many", "biz_dates", f"there are more than {MOST:,} fires",
               "ask for fewer days at a time")
    return list(_dated(rows, zone))


def _dated(
    rows: "list[tuple[int, int, str]]", zone: str
) -> "Iterator[tuple[date, datetime]]":
    from mainspring._moment import shown_in
    from mainspring._time import day

    fires = shown_in(zone, [at for at, _, _ in rows])
    for (_, _, biz_date), fire in zip(rows, fires, strict=True):
        yield day(biz_date), fire


def iso_date(value: "Any") -> str:
    """Return a date as ISO text; the core reads it."""
    from mainspring._moment import date_of, refuse

    text = date_of(value)
    if text is None and not isinstance(value, str):
        refuse("wrong_type", "biz_date", f"expected a date, found {type(value).__name__}")
    return text or value


def render(
    text: str,
    *,
    nominal_at: "datetime | date | str",
    timezone: "str | None" = None,
    biz_date: "date | str | None" = None,
    interval_start: "datetime | date | str | None" = None,
    params: "Mapping[str, Any] | None" = None,
) -> str:
    """Return a text with its placeholders filled in, as a run of this instant gets it.

    Parameters
    ----------
    text : str
        With ``${yesterday:yyyyMMdd}``, ``${biz_date - 1M}``, ``$[add_months(yyyyMMdd,-1)]`` or
        ``${params.x}``. ``$${`` and ``$$[`` stand for ``${`` and ``$[``.
    nominal_at : datetime, date or str
        The instant that the run is meant for; a naive one is what the zone's clock shows, also
        inside a gap.
    timezone : str, optional
        IANA zone of the schedule; by default that of ``nominal_at`` where it is a ``ZoneInfo``,
        else the project's, or UTC.
    biz_date : date or str, optional
        The day the data belongs to; by default the day before the nominal date.
    interval_start : datetime, date or str, optional
        Where the data interval begins, for texts that ask for it.
    params : dict, optional
        Values for ``${params.x}``.

    Raises
    ------
    SpecError
        With everything wrong: ``unknown_name``, ``syntax``, ``out_of_range``, ``too_long``.

    Examples
    --------
    >>> import mainspring as ms
    >>> ms.render("dt=${yesterday} month=${yesterday:yyyyMM}", nominal_at="2024-03-01T02:00")
    'dt=2024-02-29 month=202402'
    """
    from mainspring._mainspring import render as core
    from mainspring._moment import instant_in, moment, text_of, wall_of, zone_or_default

    at = moment(nominal_at)
    zone = zone_or_default(getattr(at.tzinfo, "key", None) if timezone is None else timezone)
    aware = at.tzinfo is not None and at.utcoffset() is not None
    return core(
        text_of("text", text),
        zone,
        instant_in(zone, at),
        None if aware else wall_of(at),
        None if biz_date is None else iso_date(biz_date),
        None if interval_start is None else instant_in(zone, interval_start),
        {name: str(value) for name, value in (params or {}).items()},
    )
