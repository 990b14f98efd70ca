"""Schedules under a clock that is moved by hand: the real engine and store, in no time."""

from mainspring._requests import name_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import date, datetime, timedelta
    from types import TracebackType
    from typing import Any

    from mainspring._dag import Dag
    from mainspring._history import Runs
    from mainspring._mainspring import ScheduleDict, SkipDict
    from mainspring._taskrun import TaskRun

SCOPE = "main"
"""What the one scheduler of a database holds."""


def stub(*, takes: "timedelta | str | None" = None, result: "Any" = None, fails: int = 0,
         code: "str | None" = None) -> "dict[str, Any]":
    """Return what :class:`simulated` says in the place of a handler.

    Parameters
    ----------
    takes : timedelta or str, optional
        How long each attempt takes by the simulated clock; no time by default.
    result : optional
        What it returns.
    fails : int, default 0
        So many first attempts of each task run fail.
    code : str, optional
        With this code, as ``retry_on`` names it; ``"STUB"`` by default.

    Examples
    --------
    >>> import mainspring as ms
    >>> dag = ms.Dag.from_graph("nightly", ["load"], schedule="0 2 * * *")
    >>> slow = ms.testing.stub(takes="90m", fails=1)
    >>> with ms.testing.simulated("2026-03-27", [dag], stub={"nightly.load": slow}) as world:
    ...     world.advance("3h")
    ...     [(run.state, run.finished_at) for run in world.runs()]
    [('RUNNING', None)]
    """
    made: dict[str, Any] = {"takes_ms": _millis(takes), "fails": fails, "code": code}
    if made["takes_ms"] < 0 or fails < 0:
        raise ValueError("a stub neither ends before it begins nor fails less than never")
    if result is not None:
        from mainspring._results import to_json_ready

        made["result"] = to_json_ready(result)
    return made


class simulated:  # noqa: N801 - reads as a verb: with simulated():
    """Fire the schedules of dags under a clock that stands until it is moved.

    What runs is the real engine with a real database, which is gone afterwards. Handlers run for
    real, in no time of that clock, unless they are stubbed.

    Parameters
    ----------
    start : datetime, date or str
        What the clock shows first; without a zone it is UTC.
    dags : iterable of Dag, optional
        What fires. They are registered at ``start``, so nothing before it is missed.
    stub : bool or dict, optional
        ``True`` calls no handler: each succeeds at once. A dict names tasks, ``"dag.task"``, each
        with a :func:`stub`; other handlers are called. One of a dag that is registered later is
        looked for when time first moves.
    database : str or path, optional
        A file to keep; by default one that is gone afterwards.

    Raises
    ------
    SpecError
        ``unknown_dag`` and ``unknown_task`` for stubs of what there is not, all at once.

    Examples
    --------
    >>> import mainspring as ms
    >>> with ms.Dag("nightly", schedule="30 2 * * *", timezone="Europe/Berlin") as dag:
    ...     @ms.task
    ...     def load(biz_date) -> str:
    ...         return f"{biz_date}.csv"
    >>> with ms.testing.simulated("2026-03-27", [dag]) as world:
    ...     world.advance("3d")               # there is no 02:30 on 29 March
    ...     for run in world.runs():
    ...         print(run.nominal_at, run.result("load"), run.state)
    2026-03-27 02:30:00+01:00 2026-03-26.csv SUCCESS
    2026-03-28 02:30:00+01:00 2026-03-27.csv SUCCESS
    2026-03-29 03:00:00+02:00 2026-03-28.csv SUCCESS

    As a fixture for pytest:

    >>> def world():                          # decorate it with @pytest.fixture
    ...     with ms.testing.simulated("2026-03-27", [dag]) as world:
    ...         yield world
    """

    def __init__(self, start: "datetime | date | str", dags: "Iterable[Dag]" = (), *,
                 stub: "bool | Mapping[str, Mapping[str, Any]] | None" = None,
                 database: "Any" = None) -> None:
        from mainspring._moment import instant_in

        self._start = instant_in("UTC", start)
        self._dags = list(dags)
        self._stub = stub
        self._database = database

    def __enter__(self) -> "World":
        import tempfile
        from pathlib import Path

        from mainspring import _session

        self._folder = tempfile.TemporaryDirectory(prefix="mainspring-")
        self._before = _session._chosen
        kept = self._database is not None
        where = _session.location(self._database or Path(self._folder.name) / "simulated.db")
        self._world = World(where, self._start, self._stub, durable=kept)
        _session._chosen = where
        _session.clocks[where] = self._world._clock
        try:
            self._world.start()
            self._world.register(*self._dags)
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self._world

    def __exit__(
        self,
        kind: "type[BaseException] | None",
        error: "BaseException | None",
        trace: "TracebackType | None",
    ) -> None:
        from mainspring import _session

        try:
            self._world.stop()
            _session.close(self._world.database)
            _session.stopped.discard(self._world.database)
            _session.clocks.pop(self._world.database, None)
        finally:
            _session._chosen = self._before
            self._folder.cleanup()


class World:
    """A simulated scheduler with its clock; :class:`simulated` makes it.

    Attributes
    ----------
    database : str
        Where its runs are.
    """

    def __init__(self, database: str, start: int, stub: "Any", *, durable: bool) -> None:
        from mainspring._mainspring import ManualClock

        self.database = database
        self._clock = ManualClock(start)
        self._stub = stub
        self._durable = durable
        self._dags: dict[str, Dag] = {}
        self._session: Any = None
        self._unfound = set() if stub is None or isinstance(stub, bool) else set(stub)

    @property
    def now(self) -> "datetime":
        """What the clock shows, in UTC."""
        from mainspring._time import aware

        return aware(self._clock.now, "UTC")

    def advance(self, by: "timedelta | str | None" = None, *,
                to: "datetime | date | str | None" = None) -> None:
        """Move the clock on, and have everything happen that falls due on the way.

        Parameters
        ----------
        by : timedelta or str, optional
            How far: ``"40d"``, ``"90m"``. A day is 24 hours.
        to : datetime, date or str, optional
            Until when instead; without a zone it is UTC.
        """
        end = self._end(by, to)
        self._find_stubbed(whole=True)
        if self._session is None:
            self._clock.set(end)
        else:
            self._session.core.advance(end)

    def set_back(self, by: "timedelta | str") -> None:
        """Set the clock back while the scheduler is stopped: a machine with a wrong clock."""
        self._refuse_running("the clock of a scheduler never runs backwards")
        self._clock.set(self._clock.now - _millis(by) * 1000)

    def register(self, *dags: "Dag") -> None:
        """Register dags, new or edited, and fire their schedules from now on."""
        for dag in dags:
            self._dags[dag.name] = dag
        self._find_stubbed()
        if self._session is not None:
            self._session.register(*dags)
            self._session.core.serve([(dag.name, dag.handlers()) for dag in dags])
            self._session.core.advance(self._clock.now)

    def remove(self, *dags: "Dag | str") -> None:
        """Remove dags, as if their files were gone; what is open of them goes on."""
        running = self._running()
        names = [name_of(dag) for dag in dags]
        for name in names:
            running.core.schedules(name)  # one that is not registered is a mistake
        running.remove(names)
        for name in names:
            self._dags.pop(name, None)
        self._session.core.advance(self._clock.now)

    def pause(self, dag: "Dag | str", schedule: "str | None" = None) -> None:
        """Pause the schedules of a dag, or one of them. Runs that are there go on."""
        self._running().core.pause(name_of(dag), True, schedule)

    def resume(self, dag: "Dag | str", schedule: "str | None" = None, *,
               missed: "str | None" = None) -> None:
        """Let paused schedules go on.

        Parameters
        ----------
        dag : Dag or str
            Whose schedules.
        schedule : str, optional
            Only the one of this name.
        missed : {"none", "last", "all"}, optional
            Which of the fires that fell into the pause are run; by default none of them.
        """
        self._running().core.pause(name_of(dag), False, schedule, missed)
        self._session.core.advance(self._clock.now)

    def start(self) -> None:
        """Start the scheduler: what is open goes on, and what was missed is made good."""
        from mainspring import _session

        if self._session is not None:
            return
        core = _session.open_core(self.database, "simulated", leads=SCOPE, clock=self._clock,
                                  durable=self._durable)
        if self._stub is True:
            core.stub({}, {})
        elif self._stub:
            core.stub({key: dict(each) for key, each in dict(self._stub).items()})
        _session.stopped.discard(self.database)
        self._session = _session.adopt(self.database, core)
        self._session.simulated = True
        self.register(*self._dags.values())

    def stop(self) -> None:
        """Stop the scheduler in good order; time that passes then is an outage."""
        if self._session is not None:
            from mainspring import _session

            _session.close(self.database)
            _session.stopped.add(self.database)
            self._session = None

    def runs(self, dag: "Dag | str | None" = None) -> "Runs":
        """Return the runs so far, in the order in which they were made."""
        from mainspring._history import Runs
        from mainspring._run import Run
        from mainspring._session import history

        reader = history(self.database)
        rows = [] if reader is None else reader.runs(dag=None if dag is None else name_of(dag))
        return Runs(Run(row["id"], self.database, row) for row in reversed(rows))

    def task_runs(self, dag: "Dag | str | None" = None) -> "list[TaskRun]":
        """Return the task runs so far, run by run."""
        return [each for run in self.runs(dag) for each in run.tasks]

    def skips(self, dag: "Dag | str") -> "list[SkipDict]":
        """Return the records of fires that made no run, newest first: from, to, count, reason."""
        found: list[SkipDict] = self._reader().skips(name_of(dag))
        return found

    def schedules(self, dag: "Dag | str") -> "list[ScheduleDict]":
        """Return the schedules of a dag with how far they have come, and their next fires."""
        found: list[ScheduleDict] = self._reader().schedules(name_of(dag))
        return found

    def _find_stubbed(self, *, whole: bool = False) -> None:
        """Refuse stubs of tasks that their dags do not have; with ``whole`` of dags there are not.

        One that was found once may go with its task when the dag is edited.
        """
        if not self._unfound:
            return
        from mainspring._signature import did_you_mean
        from mainspring.errors import Problem, SpecError

        problems = []
        for key in sorted(self._unfound, key=str):
            name, _, task = str(key).partition(".")
            place = f"stub[{key!r}]"
            if name in self._dags:
                tasks = [node.name for node in self._dags[name].nodes()]
                if task in tasks:
                    self._unfound.discard(key)
                else:
                    problems.append(Problem(
                        "unknown_task", place, f"the dag {name} has no task {task!r}",
                        did_you_mean(task, tasks)))
            elif whole:
                problems.append(Problem(
                    "unknown_dag", place, f"there is no dag {name!r} here",
                    did_you_mean(name, self._dags) or "a stub is named dag.task"))
        if problems:
            raise SpecError(problems)

    def _reader(self) -> "Any":
        return self._running().core

    def _running(self) -> "Any":
        if self._session is None:
            from mainspring.errors import ConflictError

            raise ConflictError("the scheduler is stopped\n  hint: world.start() starts it again")
        return self._session

    def _refuse_running(self, why: str) -> None:
        if self._session is not None:
            from mainspring.errors import ConflictError

            raise ConflictError(f"{why}\n  hint: world.stop() first")

    def _end(self, by: "Any", to: "Any") -> int:
        from mainspring._moment import instant_in

        if (by is None) == (to is None):
            raise TypeError("either how far, or to=when")
        end = self._clock.now + _millis(by) * 1000 if to is None else instant_in("UTC", to)
        if end < self._clock.now:
            raise ValueError(f"the clock shows {self.now} already, and only moves on")
        return end

    def __repr__(self) -> str:
        return f"World(now={self.now.isoformat()}, dags={sorted(self._dags)})"


def _millis(value: "timedelta | str | None") -> int:
    if value is None:
        return 0
    if isinstance(value, str):
        from mainspring._mainspring import duration_ms

        return duration_ms(value)
    if not hasattr(value, "total_seconds"):
        raise TypeError(f"a length of time is a timedelta or text such as '90m', not {value!r}")
    return (value.days * 86_400 + value.seconds) * 1000 + value.microseconds // 1000
