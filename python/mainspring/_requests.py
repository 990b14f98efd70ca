"""Ask a scheduler that is another process: trigger, cancel, approve, rerun, pause, resume."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import date, datetime
    from typing import Any

    from mainspring._dag import Dag
    from mainspring._mainspring import LeaderDict
    from mainspring._run import Run

ANSWER = 30.0
"""Seconds to wait for the answer of a scheduler that lives."""

STEP = 0.03
"""Seconds between two looks for it."""


def asker(database: "Any" = None) -> "Any":
    """Return whom to ask about a database; NotFoundError where there is none."""
    import os

    from mainspring._mainspring import Asker
    from mainspring._place import is_server, opening
    from mainspring._session import location
    from mainspring.errors import NotFoundError

    where = location(database)
    if not is_server(where) and not os.path.exists(where):
        raise NotFoundError(f"there is no database {where}\n"
                            "  hint: `mainspring up` makes one, and schedules")
    return Asker(where, **opening(where))


def ask(request: "dict[str, Any]", *, database: "Any" = None, later: bool = False,
        wait: float = ANSWER) -> "dict[str, Any]":
    """Ask, and wait for the answer: {"run": ...} or an error.

    Raises
    ------
    ConflictError
        When it was refused, or nobody lives who would decide.
    StoreError
        When there was no answer in time; the request stays and may be decided yet.
    """
    who = asker(database)
    number = who.ask({name: value for name, value in request.items() if value is not None},
                     by=_user(), later=later)
    return answered(who, number, later=later, wait=wait)


def answered(who: "Any", number: int, *, later: bool = False,
             wait: float = ANSWER) -> "dict[str, Any]":
    """Wait for the answer to a request; see :func:`ask`."""
    import time

    from mainspring.errors import ConflictError, StoreError

    end = time.monotonic() + wait
    while True:
        answer: dict[str, Any] | None = who.answer(number)
        if answer is not None:
            break
        if later:
            leader = who.leader()
            if leader is None or not leader["alive"]:
                return {"request": number, "open": True}
        if time.monotonic() >= end:
            raise StoreError(f"request {number} was not answered within {wait:g} s\n"
                             "  hint: it stays open; `mainspring status` shows the scheduler")
        time.sleep(STEP)
    if answer.get("refused"):
        raise ConflictError(answer["refused"])
    return {"request": number, **answer}


def trigger(dag: "Dag | str", biz_date: "date | str | None" = None, *,
            params: "Mapping[str, Any] | None" = None,
            nominal_at: "datetime | str | None" = None,
            only: "Sequence[str] | None" = None, force: bool = False,
            database: "Any" = None) -> "Run":
    """Ask the scheduler for a run of a dag, and return it when it is made.

    Parameters
    ----------
    dag : Dag or str
        The dag, which the scheduler serves.
    biz_date : date or str, optional
        The day its data belongs to; by default as the request's own instant has it.
    params : dict, optional
        Values for its parameters.
    nominal_at : datetime or str, optional
        The instant it is meant for.
    only : list of str, optional
        Only these tasks.
    force : bool, default False
        Whether tasks run that are disabled, or that their ``run_on`` would skip.
    database : str or path, optional
        Default as :func:`mainspring.use` says.

    Raises
    ------
    ConflictError
        When it is refused, or no scheduler lives.
    NotFoundError
        When there is no database.
    """
    from mainspring._run import Run
    from mainspring._session import location

    answer = ask({
        "kind": "trigger", "dag": name_of(dag), "biz_date": _iso(biz_date),
        "nominal_at": _micros(nominal_at), "params": dict(params) if params else None,
        "only": list(only) if only is not None else None, "force": force or None,
    }, database=database)
    return Run(answer["run"], location(database))


def cancel(run: "Run | int", tasks: "Sequence[str] | None" = None, *,
           grace: "float | None" = None, database: "Any" = None) -> None:
    """Ask whoever decides for a run to end it, or some of its tasks.

    Parameters
    ----------
    run : Run or int
        The run, or its id.
    tasks : list of str, optional
        Only these.
    grace : float, optional
        Seconds that live attempts have; default each task's own.
    database : str or path, optional
        Default as :func:`mainspring.use` says.

    Raises
    ------
    ConflictError
        When it is refused, or its process is gone.
    """
    number = run if isinstance(run, int) else run.id
    ask({"kind": "cancel", "run": number, "tasks": list(tasks) if tasks is not None else None,
         "grace_ms": None if grace is None else int(grace * 1000)}, database=database)


def approve(run: "Run | int", task: "Any", *, reject: bool = False, note: "str | None" = None,
            database: "Any" = None) -> None:
    """Say yes or no at a gate of a run, to whoever decides for it.

    Parameters
    ----------
    run : Run or int
        The run, or its id.
    task : str or Task
        The gate.
    reject : bool, default False
        Whether the word is no: the gate is then FAILED with the code REJECTED.
    note : str, optional
        What else is to be remembered.
    database : str or path, optional
        Default as :func:`mainspring.use` says.

    Raises
    ------
    ConflictError
        When nobody's word is awaited there, not yet or not any more; or no process lives that
        decides for the run.
    NotFoundError
        When there is no such run.
    """
    number = run if isinstance(run, int) else run.id
    ask({"kind": "approve", "run": number, "task": task if isinstance(task, str) else task.name,
         "reject": reject or None, "note": note}, database=database)


def pause(dag: "Dag | str", schedule: "str | None" = None, *, database: "Any" = None) -> None:
    """Ask the scheduler to make no new runs of a dag's schedules; those that are there go on.

    Parameters
    ----------
    dag : Dag or str
        Whose schedules.
    schedule : str, optional
        Only the one of this name.
    database : str or path, optional
        Default as :func:`mainspring.use` says.

    Raises
    ------
    ConflictError
        When it is refused, or no scheduler lives.
    """
    ask({"kind": "pause", "dag": name_of(dag), "schedule": schedule}, database=database)


def resume(dag: "Dag | str", schedule: "str | None" = None, *, missed: "str | None" = None,
           database: "Any" = None) -> None:
    """Ask the scheduler to let paused schedules go on.

    Parameters
    ----------
    dag : Dag or str
        Whose schedules.
    schedule : str, optional
        Only the one of this name.
    missed : {"none", "last", "all"}, optional
        Which fires of the pause are run; by default none of them. The others are recorded.
    database : str or path, optional
        Default as :func:`mainspring.use` says.

    Raises
    ------
    ConflictError
        When it is refused, or no scheduler lives.
    """
    ask({"kind": "resume", "dag": name_of(dag), "schedule": schedule, "missed": missed},
        database=database)


def leader(database: "Any" = None) -> "LeaderDict | None":
    """Return the scheduler of a database: its host, process id, heartbeat, and whether it lives."""
    found: LeaderDict | None = asker(database).leader()
    return found


def name_of(dag: "Dag | str") -> str:
    """Return the name of a dag that may be given by name."""
    return dag if isinstance(dag, str) else dag.name


def _iso(value: "Any") -> "str | None":
    if value is None or isinstance(value, str):
        return value
    return str(value.date().isoformat() if hasattr(value, "hour") else value.isoformat())


def _micros(value: "Any") -> "int | None":
    if value is None:
        return None
    from mainspring._moment import instant_in

    return instant_in("UTC", value)


def _user() -> str:
    import getpass
    import socket

    try:
        who = getpass.getuser()
    except (KeyError, OSError):
        who = "?"
    return f"{who}@{socket.gethostname()}"
