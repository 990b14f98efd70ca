"""Ask for the plan of a backfill, or of computing something again with what depends on it."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import date, datetime
    from typing import Any

    from mainspring._backfill_plan import Plan
    from mainspring._dag import Dag
    from mainspring.errors import Problem

KINDS = ("missing", "failed", "stale", "all")
"""What ``only`` may name."""

PRIORITY = 7
"""The class of a backfill's task runs, unless theirs is less urgent."""

SHARE = 50
"""Percent of a pool that a backfill holds at most."""

MAX_ACTIVE = 4
"""Runs of a backfill that are open at once."""


def backfill(dag: "Dag | str", start: "date | datetime | str", end: "date | datetime | str", *,
             only: "str | Sequence[str]" = "missing", order: str = "asc",
             max_active: int = MAX_ACTIVE, tasks: "Sequence[Any] | str | None" = None,
             upstream: bool = False, downstream: bool = False,
             params: "Mapping[str, Any] | None" = None, on_failure: str = "continue",
             force: bool = False, priority: "int | str" = PRIORITY, share: int = SHARE,
             dry_run: bool = True, database: "Any" = None) -> "Plan":
    """Return the plan of computing a range of business dates; nothing is started.

    A cell is a task and a business date, by the dag's own schedule, zone and calendar; a dag
    without a schedule has a cell a day, one that follows another dag has its dates. Each cell has
    a reason why it is computed, or why not.

    Parameters
    ----------
    dag : Dag or str
        The dag, or its name where it is registered.
    start, end : date, datetime or str
        First and last business date, both inclusive: dates of the schedule's zone, whatever the
        zone of this machine. An aware datetime is the date that it is there.
    only : str or list of str, default "missing"
        ``"missing"``: what nobody has computed, including what was canceled or is BLOCKED.
        ``"failed"``: what ended as FAILED, TIMEOUT or CANCELED, or is BLOCKED. ``"stale"``: what
        succeeded with another definition than today's, or before an upstream of it. ``"all"``:
        everything. A list takes several.
    order : str, default "asc"
        ``"asc"`` or ``"desc"``: which dates come first where edges leave a choice.
    max_active : int, default 4
        So many of its runs are open at once.
    tasks : list of str, optional
        Only these tasks of the dag.
    upstream : bool, default False
        Whether the cells that those need are computed too, where they are missing, failed or
        stale; across dags, offsets and windows.
    downstream : bool, default False
        Whether the cells that depend on those are computed again, up to now.
    params : dict, optional
        Values for the parameters of its runs.
    on_failure : str, default "continue"
        ``"continue"``, or ``"stop"``: start nothing more once something has failed.
    force : bool, default False
        Whether tasks run that are disabled, or that their ``run_on`` would skip.
    priority : int or str, default 7
        The class of its task runs, 0 to 9, unless their own is less urgent.
    share : int, default 50
        So many percent of the slots of a pool it holds at most.
    dry_run : bool, default True
        False applies the plan at once.
    database : str or path, optional
        Default as :func:`mainspring.use` says.

    Returns
    -------
    Plan
        Look at it; ``plan.apply()`` does exactly this.

    Raises
    ------
    SpecError
        With everything that is wrong: ``bad_date``, ``mixed_zones``, ``bad_range``,
        ``in_future``, ``before_start``, ``too_many``, ``unknown_task``, parameters that do not
        fit.
    NotFoundError
        When no such dag is registered.

    Examples
    --------
    >>> import mainspring as ms
    >>> with ms.Dag("orders", schedule="0 2 * * *") as dag:
    ...     @ms.task
    ...     def extract(): ...
    ...     @ms.task(depends_on=[extract])
    ...     def load(): ...
    >>> with ms.testing.isolated():
    ...     plan = ms.backfill(dag, "2024-01-01", "2024-01-03")
    >>> plan.counts
    {'missing': 6}
    >>> [(str(run.biz_date), run.tasks) for run in plan.runs][:1]
    [('2024-01-01', ('extract', 'load'))]
    """
    name, where = _target(dag, database)
    problems: list[Problem] = []
    ask = {
        "dag": name, **_range(name, start, end, where, problems),
        **_kinds(name, only, problems),
        "order": _choice(name, "order", order, ("asc", "desc"), problems),
        "max_active": _number(name, "max_active", max_active, problems),
        "tasks": _tasks(tasks), "upstream": bool(upstream), "downstream": bool(downstream),
        "on_failure": _choice(name, "on_failure", on_failure, ("continue", "stop"), problems),
        "params": _params(name, params, problems), "force": bool(force),
        "priority": _priority(name, priority, problems),
        "share": _number(name, "share", share, problems),
    }
    return _planned(ask, where, problems, dry_run)


def reprocess(task: "Any", biz_date: "date | datetime | str | None" = None, *,
              start: "date | datetime | str | None" = None,
              end: "date | datetime | str | None" = None, order: str = "asc",
              max_active: int = MAX_ACTIVE, params: "Mapping[str, Any] | None" = None,
              on_failure: str = "continue", force: bool = False,
              priority: "int | str" = PRIORITY, share: int = SHARE, dry_run: bool = True,
              database: "Any" = None) -> "Plan":
    """Return the plan of computing a task again for a date, and all that depends on that.

    The cells of the task are computed whatever there is; those that look at them follow, through
    offsets and windows, in this dag and in others, up to now.

    Parameters
    ----------
    task : str
        ``"dag.task"``.
    biz_date : date, datetime or str, optional
        The date; or a range with ``start`` and ``end``.
    start, end : date, datetime or str, optional
        First and last business date, both inclusive.
    order, max_active, params, on_failure, force, priority, share, dry_run, database
        As :func:`mainspring.backfill` has them.

    Returns
    -------
    Plan
        Of the same kind as that of a backfill.

    Raises
    ------
    SpecError
        As :func:`mainspring.backfill`.
    NotFoundError
        When no such dag is registered.

    Examples
    --------
    >>> import mainspring as ms
    >>> with ms.Dag("ods", schedule="0 2 * * *") as ods:
    ...     @ms.task
    ...     def orders(): ...
    >>> with ms.Dag("dwd", schedule="0 3 * * *") as dwd:
    ...     @ms.task(depends_on=[ms.dep("ods.orders", window=(-2, 0))])
    ...     def three_days(): ...
    >>> with ms.testing.isolated():
    ...     _ = ods.run("2024-01-05")
    ...     _ = ms.backfill(dwd, "2024-01-05", "2024-01-05")
    ...     plan = ms.reprocess("ods.orders", "2024-01-05")
    >>> [(cell.task, str(cell.biz_date), cell.reason) for cell in plan.cells]
    ... # doctest: +NORMALIZE_WHITESPACE
    [('three_days', '2024-01-05', 'downstream'), ('three_days', '2024-01-06', 'downstream'),
     ('three_days', '2024-01-07', 'downstream'), ('orders', '2024-01-05', 'forced')]
    """
    from mainspring.errors import Problem, SpecError

    problems: list[Problem] = []
    key = task if isinstance(task, str) else getattr(task, "key", None)
    name, dot, own = str(key).partition(".")
    if key is None or not dot or not own:
        raise SpecError(Problem("bad_task", "task", f"{task!r} is no task of a dag",
                                "write it as 'dag.task'"))
    if biz_date is not None and (start is not None or end is not None):
        problems.append(Problem("bad_range", f"{key}.biz_date",
                                "a date and a range are two different questions",
                                "give biz_date, or start and end"))
    if biz_date is None and (start is None or end is None):
        problems.append(Problem("bad_range", f"{key}.biz_date", "no date is given",
                                "give biz_date, or start and end"))
    first = biz_date if biz_date is not None else start
    last = biz_date if biz_date is not None else end
    _, where = _target(name, database)
    ask = {
        "dag": name,
        **(_range(name, first, last, where, problems) if not problems else _ANY),
        "only": "all", "order": _choice(name, "order", order, ("asc", "desc"), problems),
        "max_active": _number(name, "max_active", max_active, problems),
        "tasks": [own], "upstream": False, "downstream": True,
        "on_failure": _choice(name, "on_failure", on_failure, ("continue", "stop"), problems),
        "params": _params(name, params, problems), "force": bool(force), "reprocess": True,
        "priority": _priority(name, priority, problems),
        "share": _number(name, "share", share, problems),
    }
    return _planned(ask, where, problems, dry_run)


def plan_of(ask: "dict[str, Any]", where: "Any") -> "Plan":
    """Return the plan of a question as the world is now."""
    from mainspring._backfill_plan import Plan
    from mainspring._mainspring import plan_backfill
    from mainspring._requests import asker
    from mainspring._session import location, opened

    given = {name: value for name, value in ask.items() if value is not None}
    session = opened(location(where))
    core = plan_backfill(asker(where) if session is None else session.core, given)
    return Plan(core, where)


_ANY = {"from": "2000-01-01", "to": "2000-01-01"}
"""A range in place of one that is no range, to find what else is wrong."""

_OF_RANGE = ("in_future", "before_start", "bad_range", "too_many")


def _planned(ask: "dict[str, Any]", where: "Any", problems: "list[Problem]",
             dry_run: bool) -> "Plan":
    """Ask; with all that is wrong at once."""
    from mainspring.errors import SpecError

    if problems:
        try:
            plan_of(ask, where)
        except SpecError as error:
            found = {str(each) for each in problems}
            problems += [each for each in error.problems
                         if each.code not in _OF_RANGE and str(each) not in found]
        raise SpecError(problems)
    plan = plan_of(ask, where)
    if not dry_run:
        plan.apply()
    return plan


def _target(dag: "Any", database: "Any") -> "tuple[str, Any]":
    """Return the name of a dag, which is registered if it is one of this process."""
    if isinstance(dag, str):
        return dag, database
    from mainspring._session import session

    where = dag.database if database is None else database
    session(where).register(dag)
    return dag.name, where


def _range(name: str, start: "Any", end: "Any", where: "Any",
           problems: "list[Problem]") -> "dict[str, str]":
    """Return the first and the last date, as the schedule's zone has them."""
    from mainspring.errors import Problem

    read = [_date(name, word, value, where, problems)
            for word, value in (("start", start), ("end", end))]
    kinds = {kind for _, kind in read}
    if kinds >= {"naive", "aware"}:
        problems.append(Problem(
            "mixed_zones", f"{name}.start", "one end of it has a zone and the other has none",
            "dates such as 2024-02-29, which are those of the schedule's zone"))
    first, last = read[0][0], read[1][0]
    if first is None or last is None:
        return _ANY
    if first > last:
        problems.append(Problem("bad_range", f"{name}.start",
                                f"the range ends ({last}) before it begins ({first})",
                                "swap the two dates"))
        return _ANY
    return {"from": first, "to": last}


def _date(name: str, word: str, value: "Any", where: "Any",
          problems: "list[Problem]") -> "tuple[str | None, str]":
    """Return a date as ISO text, and whether it was a date, or a naive or an aware time."""
    from datetime import date, datetime

    from mainspring._time import readable
    from mainspring.errors import Problem

    found = value
    if isinstance(value, str):
        text = value.strip()
        try:
            if len(text) == 10 and text[4] == text[7] == "-":
                return date.fromisoformat(text).isoformat(), "date"
            if len(text) > 10 and text[4] == text[7] == "-" and text[10] in "T ":
                found = datetime.fromisoformat(readable(text))
        except ValueError:
            found = value
    if isinstance(found, datetime):
        if found.tzinfo is None or found.utcoffset() is None:
            return found.date().isoformat(), "naive"
        from mainspring._time import zone_of

        return found.astimezone(zone_of(_zone(name, where))).date().isoformat(), "aware"
    if isinstance(found, date):
        return found.isoformat(), "date"
    problems.append(Problem("bad_date", f"{name}.{word}", f"{value!r} is not a date",
                            "dates are written yyyy-mm-dd, such as 2024-02-29"))
    return None, "date"


def _zone(name: str, where: "Any") -> str:
    """Return the zone in which the dates of a registered dag are reckoned."""
    from mainspring._session import history, location

    reader = history(location(where))
    known = None if reader is None else reader.dag(name)
    if known is None:
        return "UTC"
    schedules = known.get("schedules") or []
    zones = [each["rule"]["timezone"] for each in schedules]
    return str(zones[0] if zones else known["timezone"])


def _kinds(name: str, only: "Any", problems: "list[Problem]") -> "dict[str, Any]":
    words = [only] if isinstance(only, str) else list(only)
    words = [_choice(name, "only", word, KINDS, problems) for word in words]
    if not words:
        from mainspring.errors import Problem

        problems.append(Problem("no_kinds", f"{name}.only", "no kind of cells is named",
                                f"one or several of {', '.join(KINDS)}"))
        words = ["missing"]
    kinds = [kind for kind in KINDS if kind in words]
    return {"only": kinds[0], "also": kinds[1:] or None}


def _choice(name: str, word: str, value: "Any", choices: "Sequence[str]",
            problems: "list[Problem]") -> str:
    if value in choices:
        return str(value)
    from difflib import get_close_matches

    from mainspring.errors import Problem

    near = get_close_matches(str(value), choices, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"one of {', '.join(choices)}"
    problems.append(Problem("unknown_choice", f"{name}.{word}", f"{value!r} is not a choice", hint))
    return choices[0]


def _number(name: str, word: str, value: "Any", problems: "list[Problem]") -> int:
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31:
        return min(value, 255) if word == "share" else value
    from mainspring.errors import Problem

    problems.append(Problem("wrong_type", f"{name}.{word}", f"{value!r} is no number of them",
                            "a whole number from 1 up"))
    return 1


def _priority(name: str, value: "Any", problems: "list[Problem]") -> int:
    words = {"URGENT": 0, "HIGH": 2, "NORMAL": 5, "LOW": 7, "IDLE": 9}
    if isinstance(value, str) and value.upper() in words:
        return words[value.upper()]
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 9:
        return value
    from mainspring.errors import Problem

    problems.append(Problem("out_of_range", f"{name}.priority", f"{value!r} is no class",
                            f"0 to 9, or {', '.join(words)}"))
    return PRIORITY


def _tasks(tasks: "Any") -> "list[str] | None":
    if tasks is None:
        return None
    from mainspring._launch import _names

    return _names(tasks)


def _params(name: str, params: "Any", problems: "list[Problem]") -> "dict[str, Any] | None":
    if not params:
        return None
    from mainspring._results import to_json_ready
    from mainspring.errors import Problem

    found: dict[str, Any] = {}
    for key, value in dict(params).items():
        try:
            found[str(key)] = to_json_ready(value)
        except (TypeError, ValueError) as error:
            problems.append(Problem("bad_parameter", f"{name}.params.{key}", f"it {error}"))
    return found
