"""Start a run, wait for it, and stop it cleanly at Ctrl-C."""

from mainspring._context import current
from mainspring._host import holds_loop
from mainspring._run import Run
from mainspring._session import Session, history, session
from mainspring.errors import (
    AttemptCanceled,
    AttemptTimeout,
    ConflictError,
    MainspringError,
    Problem,
    SpecError,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from mainspring._dag import Dag

GRACE = 0.8
"""Seconds that handlers have to stop after Ctrl-C."""

LOOK = 0.1
"""Seconds between two looks at a run of another process."""

LAST_WAIT = 0.95
"""Seconds from Ctrl-C until it is raised, whatever a handler does."""

INSIDE_STEP = 0.1
"""Seconds that a task which waits for a run waits in native code at a time."""


def launch(dag: "Dag", biz_date: "Any", *, params: "Any", nominal_at: "Any", slot: "Any",
           only: "Any", wait: bool, progress: "bool | None", executor: str = "inline",
           force: bool = False) -> Run:
    """Run a dag here and now; see ``Dag.run``."""
    if wait:
        _may_wait()
    request = _request(dag, biz_date, params, nominal_at, slot, only)
    if force:
        request["force"] = True
    here = session(dag.database)
    here.register(dag)
    handlers = handlers_of(here, dag, executor)
    run = None
    try:
        run = Run(here.core.submit(dag.name, handlers, request), here.database)
        here.known.add(run.id)
        if wait:
            _follow(here, run, progress, None)
        return run
    except KeyboardInterrupt as stop:
        if run is None:
            # Others hold the database, perhaps for long: the end must not wait for that.
            here.abandon()
        for each in [run] if run is not None else _unknown(here, dag):
            _stop(here, each, stop)
        raise


def preview(dag: "Dag", task: "Any", biz_date: "Any", *, params: "Any", nominal_at: "Any",
            slot: "Any" = None) -> "dict[str, Any]":
    """What a run would get; see ``Dag.render``."""
    import time

    from mainspring._mainspring import preview as core

    request = _request(dag, biz_date, params, nominal_at, slot, None)
    name = None if task is None else _names(task)[0]
    dag.check()
    return core(dag.spec(), name, request, time.time_ns() // 1000)


def handlers_of(here: Session, dag: "Dag", executor: str) -> "Any":
    """What runs a dag's handlers: functions of this process, or the file that others import."""
    if executor == "inline":
        return dag.handlers()
    if executor != "process":
        raise ValueError(f"there is no executor {executor!r}\n  hint: 'inline' or 'process'")
    from mainspring._processes import file_of, fingerprint

    file = file_of(dag)
    here.use_processes()
    return dag.name, file, fingerprint(file)


def _unknown(here: Session, dag: "Dag") -> "list[Run]":
    """Runs that were made here just as Ctrl-C came, before anybody knew their ids."""
    import os

    reader = history(here.database)
    rows = [] if reader is None else reader.runs(dag=dag.name, states=["RUNNING"], limit=16)
    mine = [row for row in rows if (row["node"] or {}).get("pid") == os.getpid()]
    return [Run(row["id"], here.database) for row in mine if row["id"] not in here.known]


def resume(dag: "Dag", run: "Any", *, wait: bool, progress: "bool | None",
           executor: str = "inline") -> Run:
    """Take up a run whose process is gone; see ``Dag.resume``."""
    if wait:
        _may_wait()
    here = session(dag.database)
    found = _as_run(run, here)
    here.register(dag)
    handlers = handlers_of(here, dag, executor)
    return _again(here, found, lambda: here.core.resume(found.id, handlers), wait, progress)


def rerun(dag: "Dag", run: "Any", tasks: "Any", *, downstream: bool, wait: bool,
          progress: "bool | None", executor: str = "inline") -> Run:
    """Run again what failed or was named; see ``Dag.rerun``."""
    if wait:
        _may_wait()
    here = session(dag.database)
    found = _as_run(run, here)
    here.register(dag)
    names = None if tasks is None else _names(tasks)
    handlers = handlers_of(here, dag, executor)

    def begin() -> None:
        here.core.rerun(found.id, handlers, tasks=names, downstream=downstream)

    return _again(here, found, begin, wait, progress)


def _again(here: Session, run: Run, begin: "Callable[[], None]", wait: bool,
           progress: "bool | None") -> Run:
    try:
        begin()
        here.known.add(run.id)
        run.refresh()
        if wait:
            _follow(here, run, progress, None)
        return run
    except KeyboardInterrupt as stop:
        _stop(here, run, stop)
        raise


def watch(here: Session, run: Run, progress: "bool | None" = None,
          timeout: "float | None" = None) -> bool:
    """Wait until a run ends or the time is over, with progress; Ctrl-C cancels the run."""
    try:
        return _follow(here, run, progress, timeout)
    except KeyboardInterrupt as stop:
        _stop(here, run, stop)
        raise


def _follow(here: Session, run: Run, progress: "bool | None", timeout: "float | None") -> bool:
    if current.get() is not None:
        return _wait_inside(here, run, timeout)
    try:
        if progress is False or (progress is None and not _somebody_looks()):
            return here.core.wait(run.id, timeout)
        from mainspring._progress import follow

        return follow(here.core, run, always=bool(progress), timeout=timeout)
    finally:
        run.refresh()


def _may_wait() -> None:
    """Refuse to hold up the event loop on which coroutine handlers make progress."""
    if current.get() is not None and holds_loop():
        raise ConflictError(
            "a coroutine handler cannot wait for a run: "
            "nothing else on its event loop could go on\n"
            "  hint: run = await asyncio.to_thread(dag.run, ...)"
        )


def _wait_inside(here: Session, run: Run, timeout: "float | None") -> bool:
    """Wait inside a task, which holds a slot meanwhile: not for a slot that can never come."""
    import time

    _may_wait()
    end = None if timeout is None else time.monotonic() + timeout
    stuck = 0
    me = object()
    here.waiting_inside.add(me)
    try:
        # Step by step, so that a stop of the task that waits arrives here.
        while not here.core.wait(run.id, INSIDE_STEP):
            if end is not None and time.monotonic() >= end:
                return False
            stuck = stuck + 1 if here.is_stuck(run.id) else 0
            if stuck >= 3:
                here.core.cancel(run.id, grace=GRACE)
                raise ConflictError(
                    f"run {run.id} of {run.dag} cannot start: all {here.slots} slots are held by "
                    "tasks that wait for a run themselves\n"
                    "  hint: more slots, or one dag of all those tasks"
                )
        return True
    except (AttemptCanceled, AttemptTimeout):
        here.core.cancel(run.id, grace=GRACE)
        raise
    finally:
        here.waiting_inside.discard(me)
        run.refresh()


def look_on(run: Run, timeout: "float | None") -> bool:
    """Wait for a run that another process drives, by looking at the database."""
    import time

    end = None if timeout is None else time.monotonic() + timeout
    while run.state == "RUNNING":
        left = LOOK if end is None else min(LOOK, end - time.monotonic())
        if left <= 0:
            return False
        time.sleep(left)
    return True


def _stop(here: Session, run: Run, stop: KeyboardInterrupt) -> None:
    import time

    began = time.monotonic()
    try:
        here.core.cancel(run.id, grace=GRACE)
        ended = here.core.wait(run.id, max(0.05, LAST_WAIT - (time.monotonic() - began)))
    except KeyboardInterrupt as second:
        here.abandon()
        _note(second, f"run {run.id} was left while it was being canceled")
        raise second from None
    except MainspringError:
        return  # it was not live yet, or no longer
    if ended and run.refresh().state == "CANCELED":
        _note(stop, f"run {run.id} was canceled; dag.rerun({run.id}) runs what did not finish")
    elif ended:
        _note(stop, f"run {run.id} had ended already: {run.state}")
    else:
        here.abandon()
        _note(stop, f"run {run.id} is being canceled, but a task does not stop: it waits in "
              "native code, which Python cannot interrupt")


def _note(error: BaseException, text: str) -> None:
    if hasattr(error, "add_note"):
        error.add_note(text)
    elif not error.args:
        error.args = (text,)


def _somebody_looks() -> bool:
    from mainspring._progress import in_notebook, on_terminal

    return in_notebook() or on_terminal()


def _as_run(run: "Any", here: Session) -> Run:
    if isinstance(run, Run):
        return run
    if isinstance(run, int) and not isinstance(run, bool):
        return Run(run, here.database)
    raise TypeError(f"a run, or its id, and not {run!r}")


def _names(tasks: "Any") -> "list[str]":
    single = isinstance(tasks, str) or not isinstance(tasks, (list, tuple, set, frozenset))
    return [each if isinstance(each, str) else each.name for each in ([tasks] if single else tasks)]


def _request(dag: "Dag", biz_date: "Any", params: "Any", nominal_at: "Any", slot: "Any",
             only: "Any") -> "dict[str, Any]":
    request: dict[str, Any] = {}
    problems: list[Problem] = []
    if biz_date is not None:
        request["biz_date"] = _date_text(dag, biz_date, problems)
    if nominal_at is not None:
        request["nominal_at"] = _instant(dag, nominal_at, problems)
    if params:
        request["params"] = _params(dag, params, problems)
    if only is not None:
        request["only"] = _names(only)
    if problems:
        raise SpecError(problems)
    if slot is not None:
        from mainspring._slot import nominal_of

        request["nominal_at"] = nominal_of(dag, request.get("biz_date"), nominal_at, slot)
    return request


def _date_text(dag: "Dag", value: "Any", problems: "list[Problem]") -> "str | None":
    if isinstance(value, str):
        return value
    if hasattr(value, "hour") and hasattr(value, "date"):
        value = value.date()
    if hasattr(value, "isoformat") and hasattr(value, "year"):
        return str(value.isoformat())
    problems.append(Problem("bad_date", f"{dag.name}.biz_date", f"{value!r} is no date",
                            "give a datetime.date, or text yyyy-mm-dd"))
    return None


def _instant(dag: "Dag", value: "Any", problems: "list[Problem]") -> "Any":
    from datetime import datetime

    from mainspring._time import micros_of, readable

    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(readable(value))
        except ValueError:
            value = None
    if isinstance(value, datetime) and value.tzinfo is not None:
        return micros_of(value)
    problems.append(Problem(
        "bad_nominal_at", f"{dag.name}.nominal_at", "it must be an instant: a datetime with a zone",
        "datetime(2013, 1, 15, 2, 30, tzinfo=ZoneInfo('America/New_York'))",
    ))
    return None


def _params(dag: "Dag", params: "Any", problems: "list[Problem]") -> "dict[str, Any]":
    from mainspring._results import to_json_ready

    found: dict[str, Any] = {}
    for name, value in dict(params).items():
        try:
            found[str(name)] = to_json_ready(value)
        except (TypeError, ValueError) as error:
            problems.append(Problem("bad_parameter", f"{dag.name}.params.{name}", f"it {error}"))
    return found
