"""What was remembered: runs of the past, and a few words about this installation."""

from mainspring._place import shown
from mainspring._run import Run
from mainspring._session import history, location, rows, session
from mainspring._table import shown_duration, text_table
from mainspring.errors import NotFoundError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date, timedelta
    from typing import Any

STATES = ("RUNNING", "SUCCESS", "FAILED", "CANCELED", "INTERRUPTED")
HEAD = ("run", "dag", "biz_date", "state", "tasks", "duration", "created")


class Runs(list[Run]):
    """A list of runs that shows itself as a table; its times are those of this machine's clock.

    Examples
    --------
    >>> import mainspring as ms
    >>> with ms.testing.isolated():
    ...     _ = ms.Dag.from_graph("abc", ["a", "b"]).run("2013-01-15")
    ...     runs = ms.runs()
    ...     len(runs), runs[0].state
    (1, 'SUCCESS')
    """

    def _cells(self) -> "list[list[Any]]":
        return [[run.id, run.dag, run.biz_date, run.state, len(run), shown_duration(run.duration),
                 f"{run.created_at.astimezone():%Y-%m-%d %H:%M:%S}"] for run in self]

    def __repr__(self) -> str:
        return text_table(HEAD, self._cells()) if self else "Runs([])"

    __str__ = __repr__

    def _repr_html_(self) -> str:
        from mainspring._runsview import runs_html

        return runs_html(self, HEAD, self._cells())


def runs(
    dag: "Any" = None,
    *,
    state: "str | Sequence[str] | None" = None,
    since: "date | str | None" = None,
    until: "date | str | None" = None,
    limit: int = 50,
    database: "Any" = None,
) -> Runs:
    """Return past and present runs, the newest first.

    Parameters
    ----------
    dag : str or Dag, optional
        Only of this dag.
    state : str or list of str, optional
        Only in these states: RUNNING, SUCCESS, FAILED, CANCELED, INTERRUPTED.
    since, until : date or str, optional
        First and last business date, both inclusive.
    limit : int, default 50
        At most so many.
    database : str or path, optional
        Where to read; default as :func:`mainspring.use` says.

    Returns
    -------
    Runs
        A list of :class:`Run`; empty where there is no database yet.

    Examples
    --------
    >>> import mainspring as ms
    >>> with ms.testing.isolated():
    ...     ms.runs(state="FAILED")
    Runs([])
    """
    reader = history(database)
    if reader is None:
        return Runs()
    where = location(database)
    states = [state] if isinstance(state, str) else list(state) if state is not None else None
    for each in states or ():
        if each not in STATES:
            from mainspring._signature import did_you_mean

            hint = did_you_mean(each, STATES)
            raise ValueError(f"a run is never {each!r}" + (f"\n  hint: {hint}" if hint else ""))
    found = reader.runs(
        dag=dag if dag is None or isinstance(dag, str) else dag.name,
        states=states,
        biz_date_from=None if since is None else str(since),
        biz_date_to=None if until is None else str(until),
        limit=limit,
    )
    return Runs(Run(row["id"], where, row) for row in found)


def run(id: int, *, database: "Any" = None) -> Run:
    """Return one run by its id.

    Parameters
    ----------
    id : int
        Number of the run.
    database : str or path, optional
        Where to read; default as :func:`mainspring.use` says.

    Raises
    ------
    NotFoundError
        When there is no such run.

    Examples
    --------
    >>> import mainspring as ms
    >>> with ms.testing.isolated():
    ...     _ = ms.Dag.from_graph("abc", ["a"]).run("2013-01-15")
    ...     ms.run(1)
    Run(1, dag='abc', biz_date='2013-01-15', state='SUCCESS')
    """
    found = Run(id, location(database))
    if found._reader().run(id) is None:
        raise NotFoundError(f"there is no run {id} in {shown(found.database)}\n"
                            "  hint: ms.runs() lists what there is")
    return found


def sql(text: str, *parameters: "Any", database: "Any" = None) -> "list[dict[str, Any]]":
    """Answer an SQL statement that only reads.

    Besides the tables there are the views ``v_runs``, ``v_task_instance``,
    ``v_execution_history``, ``v_task_definition``, ``v_task_dependency``, ``v_task``,
    ``v_dependency``, ``v_schedule``, ``v_execution`` and ``v_tasks``. Use this and not Python's
    own ``sqlite3`` in the same process: two SQLite libraries in one process take each other's
    locks away.

    Parameters
    ----------
    text : str
        One statement; ``?`` stands for a parameter.
    *parameters : None, bool, int, float or str
        Values of the parameters, in their order.
    database : str or path, optional
        Where to read; default as :func:`mainspring.use` says.

    Returns
    -------
    list of dict
        One a row, by column name; ``pandas.DataFrame`` and ``polars.DataFrame`` take it as it is.
        Instants are microseconds UTC. Empty where there is no database yet.

    Raises
    ------
    StoreError
        When the statement is wrong, or would write.

    Examples
    --------
    >>> import mainspring as ms
    >>> with ms.testing.isolated():
    ...     _ = ms.Dag.from_graph("abc", ["a", "b"]).run("2013-01-15")
    ...     ms.sql("SELECT state, count(*) AS n FROM task_run GROUP BY state")
    [{'state': 'SUCCESS', 'n': 2}]
    """
    reader = history(database)
    return [] if reader is None else rows(reader, text, *parameters)


def pool(name: str, slots: int, *, ageing: "str | timedelta | None" = None,
         database: "Any" = None) -> None:
    """Make a pool, or change how many slots it has and in which order they are given out.

    Parameters
    ----------
    name : str
        As ``@task(pool=...)`` names it.
    slots : int
        How many slots its live attempts may hold together.
    ageing : str or timedelta, optional
        How long a wait makes up for one class of priority: with ``"30m"`` a task that has waited
        an hour stands two classes higher. Without it the order is strict, as it is unless the
        project says otherwise: urgent work without end then keeps the rest waiting without end.
    database : str or path, optional
        Default as :func:`mainspring.use` says.

    Examples
    --------
    >>> import mainspring as ms
    >>> with ms.testing.isolated():
    ...     ms.pool("warehouse", 4)
    """
    core, step = session(database).core, _step(ageing)
    core.set_pool(name, _slots("a pool", slots))
    core.set_ageing(name, step)


def limit(name: str, slots: int, *, database: "Any" = None) -> None:
    """Make a limit, or change how many slots it has.

    A limit bounds what tasks do at once whatever their dags and pools: calls of one vendor,
    connections to one database. A task names the limits whose slots it uses, besides those of its
    pool; an attempt holds them from its start until its thread or process tree is gone.

    Parameters
    ----------
    name : str
        As ``@task(limits=...)`` names it.
    slots : int
        How many slots its live attempts may hold together.
    database : str or path, optional
        Default as :func:`mainspring.use` says.

    Raises
    ------
    ValueError
        When ``slots`` is no number from 0 on.

    Examples
    --------
    >>> import mainspring as ms
    >>> with ms.testing.isolated():
    ...     ms.limit("vendor-api", 3)
    ...     with ms.Dag("calls") as dag:
    ...         @ms.task(limits=["vendor-api"])
    ...         def call() -> str:
    ...             return "done"
    ...     dag.run("2013-01-15").result("call")
    'done'
    """
    session(database).core.set_limit(name, _slots("a limit", slots))


def _slots(what: str, slots: "Any") -> int:
    if isinstance(slots, bool) or not isinstance(slots, int) or not 0 <= slots < 2**31:
        raise ValueError(f"{what} has a number of slots, from 0 on, and not {slots!r}")
    return slots


def _step(ageing: "str | timedelta | None") -> "int | None":
    if ageing is None:
        return None
    from mainspring._config_values import ValueProblem, milliseconds

    try:
        step = (milliseconds(ageing) or 0 if isinstance(ageing, str)
                else round(ageing.total_seconds() * 1000))
    except ValueProblem as problem:
        raise ValueError(f"ageing {problem}") from None
    if step <= 0:
        raise ValueError(f"ageing must be longer than nothing, and not {ageing!r}")
    return step


def show_versions() -> None:
    """Print what a report of a problem should contain.

    Examples
    --------
    >>> import mainspring as ms
    >>> ms.show_versions()
    mainspring: ...
    """
    import platform
    import sys

    import mainspring
    from mainspring import _mainspring

    print(f"mainspring: {mainspring.__version__}")
    print(f"core:       {_mainspring.__version__}")
    print(f"python:     {sys.version.split()[0]} ({sys.implementation.name})")
    print(f"platform:   {platform.platform()}")
    print(f"database:   {shown(location(None))}")
