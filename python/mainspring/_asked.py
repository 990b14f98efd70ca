"""What ``ms.history`` is asked, checked and in the form that the core reads."""

from mainspring._moment import date_of, instant_in, refuse, text_of, zone_or_default
from mainspring._session import clocks, location
from mainspring._signature import did_you_mean
from mainspring.errors import NotFoundError, Problem, SpecError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LEVELS = {"attempt": "attempt", "task_run": "task run", "run": "run"}


def asked(*, level: "Any", task: "Any", since: "Any", until: "Any", outcome: "Any", state: "Any",
          trigger: "Any", columns: "Any", limit: "Any", now: "Any",
          database: "Any") -> "dict[str, Any]":
    """Return what needs no look into the database."""
    _check_options(level, task, outcome, state)
    word, words = ("outcome", outcome) if level == "attempt" else ("state", state)
    return {
        "columns": None if columns is None else _texts("columns", columns),
        "tasks": _texts("task", task),
        "words": _texts(word, words),
        "triggers": _texts("trigger", trigger),
        "limit": _limit(limit),
        **_bounds(since, until, now, location(database)),
    }


def narrowed(reader: "Any", level: str, dag: "Any", asked: "dict[str, Any]") -> "dict[str, Any]":
    """Return it with the dag and the tasks, which there are."""
    found = dict(asked)
    found["dag"], one = _named(reader, dag)
    if one is None:
        _check_tasks(reader, found["dag"], found["tasks"])
        return found
    if level == "run":
        refuse("wrong_option", "dag", "a run is of a whole dag, and not of one task",
               f"ms.history({found['dag']!r}, level='run'), or level='task_run'")
    if found["tasks"] not in ([], [one]):
        refuse("wrong_option", "task", f"the dag says {one!r} already", "name the task once")
    found["tasks"] = [one]
    return found


def _named(reader: "Any", dag: "Any") -> "tuple[str | None, str | None]":
    from mainspring._stats import _named as named

    if dag is not None and not isinstance(dag, str) and not isinstance(
            getattr(dag, "name", None), str):
        refuse("wrong_type", "dag", f"expected a dag or its name, found {type(dag).__name__}")
    return named(reader, text_of("dag", dag) if isinstance(dag, str) else dag)


def _check_tasks(reader: "Any", dag: "str | None", tasks: "list[str]") -> None:
    if not tasks:
        return
    from mainspring._session import rows

    known = {row["name"] for row in rows(
        reader, "SELECT task.name AS name, dag.key AS dag FROM task "
                "JOIN dag ON dag.id = task.dag_id") if dag in (None, row["dag"])}
    for task in tasks:
        if task not in known:
            hint = did_you_mean(task, sorted(known))
            where = "" if dag is None else f" of {dag}"
            raise NotFoundError(f"no task {task!r}{where} was ever run"
                                + (f"\n  hint: {hint}" if hint else ""))


def _check_options(level: "Any", task: "Any", outcome: "Any", state: "Any") -> None:
    if not isinstance(level, str) or level not in LEVELS:
        refuse("unknown_choice", "level", f"a level is never {level!r}",
               did_you_mean(str(level), list(LEVELS)))
    if level == "run" and task is not None:
        refuse("wrong_option", "task", "a run is of a whole dag, and not of one task",
               "level='task_run' has a row for each task")
    if level == "attempt" and state is not None:
        refuse("wrong_option", "state", "an attempt has an outcome, and no state",
               "outcome=..., or level='task_run'")
    if level != "attempt" and outcome is not None:
        refuse("wrong_option", "outcome", f"a {LEVELS[level]} has a state, and no outcome",
               "state=..., or level='attempt'")


def _texts(place: str, value: "Any") -> "list[str]":
    if value is None:
        return []
    if isinstance(value, str):
        return [text_of(place, value)]
    try:
        items = list(value)
    except TypeError:
        refuse("wrong_type", place, f"expected text or a list of texts, found "
                                    f"{type(value).__name__}")
    return [text_of(place, item) for item in items]


def _limit(limit: "Any") -> "int | None":
    if limit is None:
        return None
    if isinstance(limit, bool) or not isinstance(limit, int) or not 0 <= limit < 2**32:
        refuse("bad_limit", "limit", f"a number of rows, from 0 on, and not {limit!r}")
    return limit


def _bounds(since: "Any", until: "Any", now: "Any", database: str) -> "dict[str, Any]":
    """What the two say, as the core asks for it."""
    names = {"since": ("biz_date_from", "begin"), "until": ("biz_date_to", "end")}
    found: "dict[str, Any]" = {}
    for place, value in (("since", since), ("until", until)):
        if value is None:
            continue
        try:
            day, at = _bound(value, now, database)
        except SpecError as error:
            why = error.problems[0]
            raise SpecError(Problem(why.code, place, why.message, why.hint)) from None
        found[names[place][0]], found[names[place][1]] = day, at
    for low, high in (("biz_date_from", "biz_date_to"), ("begin", "end")):
        first, last = found.get(low), found.get(high)
        if first is not None and last is not None and first > last:
            refuse("empty_range", "since", f"{since!s:.40} is after {until!s:.40}",
                   "the earlier one is since, the later one until")
    return found


def _bound(value: "Any", now: "Any", database: str) -> "tuple[str | None, int | None]":
    """A business date, or microseconds since 1970 in UTC."""
    from datetime import datetime, timedelta

    day = date_of(value)
    if day is not None:
        return day, None
    if isinstance(value, str):
        text = text_of("", value).strip()
        if not _is_dated(text):
            from mainspring._mainspring import duration_ms

            return None, _now(now, database) - 1000 * duration_ms(text)
        if "T" not in text.upper() and ":" not in text:
            return _date(text), None
        value = text
    if isinstance(value, timedelta):
        if value < timedelta(0):
            refuse("duration_out_of_range", "", f"the duration {value} is negative",
                   "it is counted back from now")
        return None, _now(now, database) - value // timedelta(microseconds=1)
    if not isinstance(value, (str, datetime)):
        refuse("wrong_type", "", f"expected a date, a datetime or a length of time, found "
                                 f"{type(value).__name__}", "such as '2013-01-15' or '30d'")
    try:
        return None, instant_in(zone_or_default(None), value)
    except OverflowError:
        refuse("bad_date", "", f"{value!s:.40} is too far away")


def _is_dated(text: str) -> bool:
    return text[:4].isdigit() and text[4:5] == "-"


def _date(text: str) -> str:
    from datetime import date

    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        refuse("bad_date", "", f"{text[:40]!r} is no date", "a date is written 2013-01-15")


def _now(now: "Any", database: str) -> int:
    if now is not None:
        return instant_in(zone_or_default(None), now)
    clock = clocks.get(database)
    if clock is not None:
        return clock.now
    import time

    return time.time_ns() // 1000
