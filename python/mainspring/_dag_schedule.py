"""``schedule``: a rule with what it fires, and what becomes of its fires."""

from mainspring._rule import Rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import date, datetime, timedelta
    from typing import Any

    from mainspring._business import Calendar
    from mainspring._targets import Target


class Schedule:
    """A rule with what it fires and how; :func:`schedule` makes it.

    ``print(schedule)`` shows its next fires, with the calendar and for which business dates;
    ``repr(schedule)`` is the same whatever the time.

    Attributes
    ----------
    rule : Rule
        When it fires.
    calendar : Calendar or None
        The days on which it may.
    options : dict
        What else was given.

    Examples
    --------
    >>> import mainspring as ms
    >>> ms.schedule("0 2 * * *", timezone="Asia/Shanghai", missed="last")
    schedule(cron('0 2 * * *', timezone='Asia/Shanghai'), missed='last')
    """

    __slots__ = ("calendar", "options", "rule")

    def __init__(self, rule: Rule, calendar: "Calendar | None",
                 options: "dict[str, Any]") -> None:
        self.rule = rule
        self.calendar = calendar
        self.options = options

    def _specs(self) -> "list[dict[str, Any]]":
        """As the core reads it."""
        from mainspring._spec import policy

        made = self.rule._schedules()
        options = {name: value for name, value in self.options.items() if value is not None}
        for name in ("start_date", "end_date"):
            if name in options:
                options[name] = _day(options[name])
        given = {name: options.pop(name) for name in ("jitter", "missed_window")
                 if hasattr(options.get(name), "total_seconds")}
        options.update({f"{name}_ms": policy({"timeout": value})["timeout_ms"]
                        for name, value in given.items()})
        if "tasks" in options:
            options["tasks"] = _bound(options["tasks"])
        if self.calendar is not None:
            options["calendar"] = self.calendar._core.definition()
        return [{**each, **options} for each in made]

    def __repr__(self) -> str:
        given = {name: value for name, value in self.options.items() if value is not None}
        if self.calendar is not None:
            given["calendar"] = self.calendar
        return ", ".join([f"schedule({self.rule!r}",
                          *(f"{name}={value!r}" for name, value in given.items())]) + ")"

    def __str__(self) -> str:
        rows = self._coming()
        lines = [f"  {fire:%Y-%m-%d %H:%M:%S %z}  for {day}" for fire, day in rows]
        return "\n".join([repr(self), *(lines or ["  it does not fire any more"])])

    def _repr_html_(self) -> str:
        import time

        from mainspring._fire_calendar import calendar_html

        rows = [[str(fire), f"{fire:%a}", day] for fire, day in self._coming()]
        return calendar_html(repr(self), self.rule.timezone, self._target(), self.calendar,
                             time.time_ns() // 1000, ["next fires", "", "business date"], rows)

    def _coming(self) -> "list[tuple[datetime, str]]":
        """The next fires as a dag would have them with this schedule alone, and their dates."""
        import time

        from mainspring._moment import shown_in

        rows = self._target().table.next(time.time_ns() // 1000, 5)
        fires = shown_in(self.rule.timezone, [at for at, _, _ in rows])
        return list(zip(fires, (day for _, _, day in rows), strict=True))

    def _target(self) -> "Target":
        """What a dag with this schedule alone fires."""
        from mainspring._mainspring import check_dag
        from mainspring._targets import targets_of

        made = [{key: value for key, value in each.items() if key not in ("tasks", "params")}
                for each in self._specs()]
        spec = {"name": "schedule", "timezone": self.rule.timezone, "schedule": made,
                "tasks": [{"name": "task", "type": "noop"}]}
        return targets_of(check_dag(spec))[0]


def schedule(
    rule: "Rule | str",
    *,
    timezone: "str | None" = None,
    name: "str | None" = None,
    renamed_from: "str | None" = None,
    start_date: "date | str | None" = None,
    end_date: "date | str | None" = None,
    calendar: "Calendar | None" = None,
    on: "str | None" = None,
    jitter: "timedelta | str | None" = None,
    biz_offset: "int | str | None" = None,
    missed: "str | None" = None,
    missed_window: "timedelta | str | None" = None,
    overlap: "str | None" = None,
    tasks: "Sequence[Any] | Mapping[Any, Mapping[str, Any]] | None" = None,
    params: "Mapping[str, Any] | None" = None,
    paused: "bool | None" = None,
) -> Schedule:
    """Return a schedule for a dag: a rule, with what it fires and what becomes of its fires.

    A dag takes one or a list: ``ms.Dag(..., schedule=[ms.schedule(...), ...])``. Two of them at one
    instant make one run, unless their ``params`` differ.

    Parameters
    ----------
    rule : Rule or str
        What :func:`cron` and its like make, or their text: ``"0 2 * * *"``, ``"every 6h"``.
    timezone : str, optional
        IANA zone, for a rule given as text; by default that of the dag.
    name : str, optional
        Stable name inside the dag, by which it is the same one after an edit. By default
        ``default``, ``default_2`` and so on, in the order in which they stand.
    renamed_from : str, optional
        The name that it had before, so that it goes on where that one was.
    start_date, end_date : date or str, optional
        First and last nominal local date, both inclusive; by default those of the dag.
    calendar : Calendar, optional
        The days on which it may fire.
    on : {"skip", "next", "previous"}
        What happens on the other days: no run but a record; or it runs on the next or previous
        open day, at most once a day.
    jitter : timedelta or str, optional
        Each fire is due later by a part of this, the same for the same fire at all times. Nominal
        times do not change by it.
    biz_offset : int or str, optional
        From the nominal to the business date: days, ``"-1 workday"`` of the calendar, or
        ``"interval_start"``. The first schedule of a dag that says so speaks for all of them.
    missed : {"all", "last", "none"}
        Which fires of an outage are run when it is over. Each that is not is recorded.
    missed_window : timedelta or str, optional
        How old such a fire may be; default seven days.
    overlap : {"queue", "skip"}
        What a fire does while ``max_active_runs`` runs are live: it waits, or is recorded as
        skipped.
    tasks : list or dict, optional
        The tasks that it fires by themselves, each in a run of its own, in place of the dag; a dict
        gives each values for its parameters.
    params : dict, optional
        Values for the parameters of its runs.
    paused : bool, optional
        Whether it is paused when it is first registered. Later ``pause`` and ``resume`` decide.

    Raises
    ------
    SpecError
        As :func:`cron` for the rule; the rest is told by :meth:`Dag.check`, all at once.

    Examples
    --------
    >>> import mainspring as ms
    >>> office = ms.calendar("office", exclude=["2024-12-25", "2024-12-26"])
    >>> dag = ms.Dag.from_graph("report", ["send"], timezone="Europe/Berlin", schedule=ms.schedule(
    ...     "0 7 * * *", calendar=office, on="next", biz_offset="-1 workday"))
    >>> for day, fire in ms.biz_dates(dag, "2024-12-24", "2024-12-27"):
    ...     print(day, fire)
    2024-12-24 2024-12-27 07:00:00+01:00
    2024-12-27 2024-12-30 07:00:00+01:00
    """
    from mainspring._when import at, cron, every

    if isinstance(rule, str):
        text = rule.strip()
        if text.startswith("every "):
            made = every(text[6:].strip(), timezone=timezone)
        elif text.startswith("at "):
            made = at([each.strip() for each in text[3:].split(",")], timezone=timezone)
        else:
            made = cron(rule, timezone=timezone)
    elif isinstance(rule, Rule):
        made = rule
    else:
        raise TypeError(f"a schedule is made of a rule or its text, and not of {rule!r}")
    return Schedule(made, calendar, {
        "name": name, "renamed_from": renamed_from, "start_date": start_date,
        "end_date": end_date, "on": on, "jitter": jitter, "biz_offset": biz_offset,
        "missed": missed, "missed_window": missed_window, "overlap": overlap, "tasks": tasks,
        "params": params, "paused": paused,
    })


def _day(value: "Any") -> "Any":
    if hasattr(value, "hour") and hasattr(value, "date"):
        value = value.date()
    return value.isoformat() if hasattr(value, "isoformat") else value


def _bound(tasks: "Any") -> "list[Any]":
    """Tasks by name, with their values where they have some."""
    if isinstance(tasks, dict):
        return [{"task": _name(task), "params": dict(params)} for task, params in tasks.items()]
    single = isinstance(tasks, str) or not isinstance(tasks, (list, tuple))
    return [each if isinstance(each, dict) else _name(each)
            for each in ([tasks] if single else tasks)]


def _name(task: "Any") -> str:
    return task if isinstance(task, str) else str(task.name)
