"""A plan is applied: by the scheduler that serves its dags, or in this process."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any

    from mainspring._backfill_plan import Plan
    from mainspring._backfills import Backfill
    from mainspring._session import Session
    from mainspring.cli._console import Console

UNSERVED = ("the scheduler does not know the dag", "was removed")
"""How a scheduler refuses a plan of dags that it does not serve."""


def apply(plan: "Plan", *, wait: bool = True, progress: "bool | None" = None,
          scheduler: "bool | None" = None) -> "Backfill":
    """Do exactly what a plan says, or refuse and say what has changed since.

    Parameters
    ----------
    plan : Plan
        What to do.
    wait : bool, default True
        Whether to return only when it has ended. Ctrl-C then stops it cleanly.
    progress : bool, optional
        Whether to show how far it is; by default where somebody looks.
    scheduler : bool, optional
        Whether a scheduler does it; by default that of the database, if it lives and serves the
        dag, and otherwise this process.

    Returns
    -------
    Backfill
        What it has become.

    Raises
    ------
    ConflictError
        When the plan computes nothing, would be another one now, was applied already, or an open
        backfill has one of its cells. Nothing was started then.
    """
    from mainspring._backfills import Backfill
    from mainspring._session import location
    from mainspring.errors import ConflictError

    if not len(plan):
        raise ConflictError("nothing is to be done: the plan computes no cell\n"
                            "  hint: only='all' computes again what is there")
    where = location(plan._database)
    if scheduler is not False:
        asked = _ask(plan, where, must=bool(scheduler))
        if asked is not None:
            backfill = Backfill(asked, where)
            if wait:
                backfill.wait(progress=progress)
            return backfill
    backfill = Backfill(_here(plan, where), where)
    if wait:
        backfill.wait(progress=progress)
    return backfill


def _ask(plan: "Plan", where: str, *, must: bool) -> "int | None":
    """Have the scheduler do it; None where there is none that serves the dag."""
    import os

    from mainspring._place import is_server
    from mainspring._requests import _user, answered, asker
    from mainspring._session import opened
    from mainspring.errors import ConflictError, NotFoundError

    here = opened(where)
    is_there = is_server(where) or os.path.exists(where)
    if not must and (not is_there or (here is not None and here.simulated)):
        return None
    try:
        who = asker(where)
        leader = who.leader()
    except NotFoundError:
        if must:
            raise
        return None
    if leader is None or not leader["alive"] or leader["pid"] == os.getpid():
        if must:
            raise ConflictError("no scheduler lives that would do it\n"
                                "  hint: `mainspring up` starts one")
        return None
    from mainspring._mainspring import ask_backfill

    try:
        answer = answered(who, ask_backfill(who, plan._core, _user()))
    except ConflictError as error:
        if not must and any(text in str(error) for text in UNSERVED):
            return None
        raise
    return int(answer["backfill"])


def _here(plan: "Plan", where: str) -> int:
    from mainspring._mainspring import apply_backfill
    from mainspring._requests import _user
    from mainspring._session import session

    here = session(where)
    dags = {each["dag"] for each in plan.head["sets"]}
    return apply_backfill(here.core, plan._core, handlers_of(here, dags), _user())


def handlers_of(here: "Session", dags: "set[str]") -> "dict[str, Any]":
    """What runs the handlers of these dags in this process."""
    from mainspring.errors import NotFoundError

    found: dict[str, Any] = {}
    for name in sorted(dags):
        dag = here.dag(name)
        if dag is None:
            raise NotFoundError(
                f"this process does not have the dag {name}, and can call none of its handlers\n"
                f"  hint: define or import it here first, or have `mainspring up` do it")
        here.register(dag)
        found[name] = dag.handlers()
    return found


def apply_from_command_line(plan: "Plan", options: "argparse.Namespace",
                            console: "Console") -> int:
    """Do what a plan says, and show how it goes; the exit code of the command."""
    from mainspring.cli.backfills import loaded, shown

    if not len(plan):
        console.note("nothing was begun: the plan computes no cell")
        console.document({"id": None, "exit_code": 0})
        return 0
    dags = loaded({each["dag"] for each in plan.head["sets"]}, options, console)
    backfill = apply(plan, wait=False)
    console.note(f"backfill {backfill.id} was begun")
    code = shown(backfill, console, follow=True)
    del dags  # they are held as long as somebody calls their handlers
    return code
