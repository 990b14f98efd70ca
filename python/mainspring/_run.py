"""``Run``: one run of a dag, as the database remembers it."""

from mainspring._place import shown
from mainspring._session import history, opened, session
from mainspring._table import MOST_ROWS, shown_duration, text_table
from mainspring._taskrun import Attempt, TaskRun
from mainspring._time import day, instant, span
from mainspring.errors import HandlerError, NotFoundError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import date, datetime, timedelta
    from typing import Any

    from mainspring._gantt import Gantt
    from mainspring._mainspring import RunDict, TaskRunDict

HEAD = ("task", "state", "attempts", "duration", "error")
ENDED = ("SUCCESS", "FAILED", "CANCELED", "INTERRUPTED")
_PLACES = {state: place for place, state in enumerate((
    "FAILED", "TIMEOUT", "RUNNING", "RETRY_WAIT", "CANCELED", "BLOCKED"))}


class Run:
    """One run of a dag; ``dag.run()`` returns it and :func:`mainspring.runs` lists them.

    It is a view of the database: while the run is live, what it says is what holds now.

    Attributes
    ----------
    id : int
        Number of the run in its database.
    dag : str
        Name of the dag.
    state : str
        RUNNING, SUCCESS, FAILED or CANCELED; INTERRUPTED when its process is gone.
    biz_date : datetime.date
        The day the data belongs to.
    nominal_at, interval_start, interval_end : datetime.datetime
        Aware, in the run's zone.
    duration : datetime.timedelta
        From its creation to its end, or so far.
    results : dict
        Task name to what it returned, for the tasks that succeeded.

    Examples
    --------
    >>> import mainspring as ms
    >>> with ms.Dag("letters") as dag:
    ...     @ms.task
    ...     def one() -> int:
    ...         return 1
    ...     @ms.task
    ...     def double(number: int) -> int:
    ...         return 2 * number
    ...     _ = double(one())
    >>> with ms.testing.isolated():
    ...     run = dag.run("2013-01-15")
    ...     print(repr(run), run.results, run["double"].state)
    Run(1, dag='letters', biz_date='2013-01-15', state='SUCCESS') {'one': 1, 'double': 2} SUCCESS
    """

    def __init__(self, id: int, database: str, row: "RunDict | None" = None) -> None:
        self.id = id
        self.database = database
        self._row = row
        self._rows: "list[TaskRunDict] | None" = None
        self._attempts: "dict[int, list[Attempt]] | None" = None

    def _reader(self) -> "Any":
        reader = history(self.database)
        if reader is None:
            raise NotFoundError(f"there is no database at {shown(self.database)}")
        return reader

    def _load(self) -> "RunDict":
        row = self._row
        if row is None or row["state"] not in ENDED:
            row = self._row = self._reader().run(self.id)
            self._rows = self._attempts = None
            if row is None:
                raise NotFoundError(f"there is no run {self.id} in {shown(self.database)}")
        return row

    def refresh(self) -> "Run":
        """Forget what was read, so that the next question reads the database again."""
        self._row = self._rows = self._attempts = None
        return self

    @property
    def dag(self) -> str:
        return self._load()["dag"]

    @property
    def state(self) -> str:
        return self._load()["state"]

    @property
    def trigger(self) -> str:
        """What made it: manual, schedule, backfill and so on."""
        return self._load()["trigger"]

    @property
    def biz_date(self) -> "date":
        return day(self._load()["biz_date"])

    @property
    def timezone(self) -> str:
        """IANA name of its zone."""
        return (self._row or self._load())["timezone"]

    @property
    def nominal_at(self) -> "datetime":
        row = self._load()
        return instant(row["nominal_at"], row["timezone"])  # type: ignore[return-value]

    @property
    def interval_start(self) -> "datetime":
        row = self._load()
        return instant(row["interval_start"], row["timezone"])  # type: ignore[return-value]

    @property
    def interval_end(self) -> "datetime":
        row = self._load()
        return instant(row["interval_end"], row["timezone"])  # type: ignore[return-value]

    @property
    def created_at(self) -> "datetime":
        """When it was asked for."""
        row = self._load()
        return instant(row["created_at"], row["timezone"])  # type: ignore[return-value]

    @property
    def finished_at(self) -> "datetime | None":
        """When nothing in it could move any more."""
        row = self._load()
        return instant(row["finished_at"], row["timezone"])

    @property
    def duration(self) -> "timedelta":
        row = self._load()
        return span(row["created_at"], row["finished_at"])  # type: ignore[return-value]

    @property
    def params(self) -> "dict[str, Any]":
        """Values of its parameters."""
        return self._load()["params"]

    @property
    def counts(self) -> "dict[str, int]":
        """How many task runs are in each state."""
        return self._load()["counts"]

    # Its tasks

    def _task_rows(self) -> "list[TaskRunDict]":
        self._load()
        if self._rows is None:
            self._rows = self._reader().task_runs(self.id)
        return self._rows

    @property
    def tasks(self) -> "list[TaskRun]":
        """Its task runs, in the order of the dag; a mapped task is one, and has ``items``."""
        return [TaskRun(self, row) for row in self._task_rows() if row["map_index"] is None]

    def __getitem__(self, task: "Any") -> TaskRun:
        name = task if isinstance(task, str) else getattr(task, "name", task)
        rows = self._task_rows()
        for row in rows:
            if row["task"] == name:
                return TaskRun(self, row)
        from mainspring._signature import did_you_mean

        hint = did_you_mean(str(name), [row["task"] for row in rows[:1000]])
        raise NotFoundError(f"run {self.id} of {self.dag} has no task {name!r}"
                            + (f"\n  hint: {hint}" if hint else ""))

    def __iter__(self) -> "Iterator[TaskRun]":
        return iter(self.tasks)

    def __len__(self) -> int:
        return self._load()["task_count"]

    def __bool__(self) -> bool:
        return True

    def __contains__(self, task: object) -> bool:
        name = getattr(task, "name", task)
        return any(row["task"] == name for row in self._task_rows())

    def result(self, task: "Any") -> "Any":
        """Return what a task returned, as it was stored.

        Raises
        ------
        NotFoundError
            When there is no such task, or it has no result.
        """
        return self[task].result

    @property
    def results(self) -> "dict[str, Any]":
        return {each.task: each.result for each in self.tasks if each.state == "SUCCESS"}

    def items_of(self, task: str) -> "list[TaskRun]":
        """Return the items of a mapped task, in the order of its list."""
        start = f"{task}["
        found = [row for row in self._task_rows()
                 if row["map_index"] is not None and row["task"].startswith(start)]
        found.sort(key=lambda row: row["map_index"] or 0)
        return [TaskRun(self, row) for row in found]

    def attempts_of(self, task_run_id: int) -> "list[Attempt]":
        """Return the attempts of a task run; all of the run are read at once."""
        self._load()
        if self._attempts is None:
            from mainspring._logread import Owner

            found: dict[int, list[Attempt]] = {}
            names = {row["id"]: row["task"] for row in self._task_rows()}
            run = self._load()
            for row in self._reader().attempts(run_id=self.id):
                owner = Owner(self.database, run, names.get(row["task_run_id"], ""))
                attempt = Attempt(row, self.timezone, owner)
                found.setdefault(row["task_run_id"], []).append(attempt)
            self._attempts = found
        return self._attempts.get(task_run_id, [])

    def result_of(self, task_run_id: int) -> "Any":
        """Return the stored result of a task run."""
        return self._reader().result(task_run_id)

    def exception_of(self, task: str) -> "BaseException | None":
        """Return the author's exception of a task, if it failed in this process."""
        from mainspring._describe import authors_frames

        here = opened(self.database)
        error = None if here is None else here.core.exception(self.id, task)
        if error is not None:
            error.__traceback__ = authors_frames(error.__traceback__)
        return error

    def explain(self, task: "Any") -> str:
        """Say in words why a task is in its state, and what it waits for."""
        found = self[task]
        return session(self.database).core.explain(self.id, found.task)

    def gantt(self) -> "Gantt":
        """Return its Gantt chart: tasks down, time across, each attempt a bar.

        A notebook shows it as a picture; ``print`` shows it with letters. Times are in the run's
        zone; a thin line before a bar is time that the task waited though it was ready, or waited
        for its retry. Items of a mapped task are one bar. Of a live run it is what holds now.

        Returns
        -------
        Gantt
            Also with ``_repr_svg_()``, a picture for a file of its own.

        Examples
        --------
        >>> import mainspring as ms
        >>> with ms.Dag("sums") as dag:
        ...     @ms.task
        ...     def one() -> int:
        ...         return 1
        >>> with ms.testing.isolated():
        ...     print(dag.run("2013-01-15").gantt())
        run 1 of sums for 2013-01-15: SUCCESS in ...
        one  ...S...
        """
        from mainspring._gantt import Gantt

        return Gantt(self)

    # Verbs

    def raise_for_failure(self) -> "Run":
        """Raise when it did not succeed; else return the run, so that calls can be chained.

        Raises
        ------
        HandlerError
            ``__cause__`` is the author's own exception, with the traceback of the author's code.

        Examples
        --------
        >>> import mainspring as ms
        >>> with ms.Dag("sums") as dag:
        ...     @ms.task
        ...     def divide(by: int = 0) -> float:
        ...         return 1 / by
        >>> with ms.testing.isolated():
        ...     try:
        ...         dag.run("2013-01-15").raise_for_failure()
        ...     except ms.HandlerError as error:
        ...         print(repr(error.__cause__))
        ZeroDivisionError('division by zero')
        """
        state = self.state
        if state in ("SUCCESS", "RUNNING"):
            return self
        failed = [each for each in self.tasks if each.state in ("FAILED", "TIMEOUT")]
        failed.sort(key=lambda each: each._row["finished_at"] or 0)
        lines = [f"run {self.id} of {self.dag} for {self.biz_date} is {state}"]
        lines += [f"  {each.task}: {each.error or each.state}" for each in failed[:10]]
        if len(failed) > 10:
            lines.append(f"  and {len(failed) - 10} more")
        error = HandlerError("\n".join(lines), run=self, failures=failed)
        raise error from (failed[0].exception if failed else None)

    def wait(self, timeout: "float | None" = None, *, progress: "bool | None" = False) -> bool:
        """Wait until nothing in it can move, or for ``timeout`` seconds.

        Ctrl-C cancels a run of this process; it leaves a run of another process alone.

        Returns
        -------
        bool
            Whether it has ended.
        """
        from mainspring._launch import look_on, watch

        here = opened(self.database)
        if here is None or self.id not in here.known:
            return look_on(self, timeout)
        return watch(here, self, progress, timeout)

    def cancel(self, tasks: "Any" = None, *, grace: "float | None" = None) -> "Run":
        """Cancel it, or some of its tasks; ``grace`` seconds until a handler is given up."""
        from mainspring._launch import _names

        names = None if tasks is None else _names(tasks)
        import os

        here = opened(self.database)
        mine = here is not None and self.id in here.known
        if not mine and (self._load()["node"] or {}).get("pid") != os.getpid():
            from mainspring._requests import cancel

            cancel(self, names, grace=grace, database=self.database)
            return self.refresh()
        session(self.database).core.cancel(self.id, tasks=names, grace=grace)
        return self.refresh()

    def approve(self, task: "Any", *, reject: bool = False, note: "str | None" = None) -> "Run":
        """Say yes at a gate that waits, or no with ``reject=True``; ``note`` is kept with it.

        Raises
        ------
        ConflictError
            When nobody's word is awaited there, not yet or not any more.
        NotFoundError
            When it has no such task.
        """
        import os

        from mainspring._requests import _user, approve

        name = self[task].task
        here = opened(self.database)
        mine = here is not None and self.id in here.known
        if not mine and (self._load()["node"] or {}).get("pid") != os.getpid():
            approve(self, name, reject=reject, note=note, database=self.database)
        else:
            session(self.database).core.approve(self.id, name, reject, note, _user())
        return self.refresh()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Run):
            return NotImplemented
        return (self.id, self.database) == (other.id, other.database)

    def __hash__(self) -> int:
        return hash((self.id, self.database))

    def __repr__(self) -> str:
        row = self._load()
        return (f"Run({self.id}, dag={row['dag']!r}, biz_date={row['biz_date']!r}, "
                f"state={row['state']!r})")

    def _title(self) -> str:
        row = self._load()
        bad = [f", {row['counts'][state]} {state}" for state in _PLACES if row["counts"].get(state)]
        return (f"run {self.id} of {row['dag']} for {row['biz_date']}: {row['state']} "
                f"in {shown_duration(self.duration)}{''.join(bad)}")

    def _looked_for(self) -> "list[TaskRun]":
        tasks = self.tasks
        if len(tasks) > MOST_ROWS:  # what went well is not what anybody looks for among many
            tasks.sort(key=lambda each: _PLACES.get(each.state, len(_PLACES)))
        return tasks

    def __str__(self) -> str:
        rows = [each.cells() for each in self._looked_for()]
        return f"{self._title()}\n{text_table(HEAD, rows)}"

    def _repr_html_(self) -> str:
        from mainspring._dagview import run_html

        return run_html(self, self._title(), HEAD, self._looked_for())
