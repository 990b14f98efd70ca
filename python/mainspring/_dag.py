"""``Dag``: tasks whose runs belong together, and the verbs that run them."""

from mainspring._definition import Definition, defined
from mainspring._task import decorate, noop
from mainspring.errors import Problem, SpecError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import date, datetime
    from typing import Any

    from mainspring._dag_schedule import Schedule
    from mainspring._history import Runs
    from mainspring._rule import Rule
    from mainspring._run import Run


class Dag(Definition):
    """A named group of tasks whose runs belong together.

    Parameters
    ----------
    name : str
        Stable name: letters of any script, digits, ``_`` and ``-``.
    schedule : str, Rule, Schedule or list, optional
        When it fires: a cron line, ``"@daily"``, ``"every 6h"``, what :func:`mainspring.cron`
        and its like make, zone included, or :func:`mainspring.schedule` with all that can be said
        about it. Without one it runs when asked.
    timezone : str, optional
        IANA zone of its dates and schedule; the project's, or UTC, by default.
    start_date, end_date : date or str, optional
        First and last nominal local date, both inclusive.
    owner, labels, title, doc : optional
        Who answers for it, words to find it by, text to show, what it is for.
    max_active_runs : int, optional
        How many of its runs may be live at once; default 16.
    biz_offset : int or str, optional
        Days from the nominal local date to the business date, ``"-1 workday"`` or
        ``"interval_start"``; default -1 where it fires once a
        day, so that the run in the small hours of the 15th handles the 14th.
    defaults : dict, optional
        Options of :func:`mainspring.task` for all its tasks, such as ``{"retries": 2}``.
    database : str or path, optional
        Where its runs are remembered; default as :func:`mainspring.use` says.

    Raises
    ------
    SpecError
        Not here: everything wrong is told at once by :meth:`check` and :meth:`run`.

    Examples
    --------
    >>> import mainspring as ms
    >>> with ms.Dag("letters", schedule="0 30 2 * * ?", timezone="America/New_York",
    ...             start_date="2013-01-02") as dag:
    ...     @ms.task
    ...     def extract(biz_date) -> str:
    ...         return f"{biz_date}.csv"
    ...     @ms.task
    ...     def clean(path: str) -> int:
    ...         return len(path)
    ...     _ = clean(extract())
    >>> dag
    Dag('letters', schedule='0 30 2 * * ?', tasks=['extract', 'clean'])
    >>> with ms.testing.isolated():
    ...     dag.run("2013-01-15").result("clean")
    14
    """

    def __init__(
        self,
        name: str,
        *,
        schedule: "str | Rule | Schedule | Sequence[Any] | None" = None,
        timezone: "str | None" = None,
        start_date: "date | str | None" = None,
        end_date: "date | str | None" = None,
        owner: "str | None" = None,
        labels: "Sequence[str]" = (),
        title: "str | None" = None,
        doc: "str | None" = None,
        max_active_runs: "int | None" = None,
        biz_offset: "int | str | None" = None,
        defaults: "Mapping[str, Any] | None" = None,
        database: "Any" = None,
    ) -> None:
        super().__init__(name, {
            "schedule": schedule, "timezone": timezone, "start_date": start_date,
            "end_date": end_date, "owner": owner, "labels": labels or None, "title": title,
            "doc": doc, "max_active_runs": max_active_runs, "biz_offset": biz_offset,
            "defaults": defaults,
        })
        self.database = database
        defined[self.name] = self

    def task(self, fn: "Any" = None, /, **options: "Any") -> "Any":
        """Make a task of this dag without a ``with`` block; options as :func:`mainspring.task`.

        Examples
        --------
        >>> import mainspring as ms
        >>> dag = ms.Dag("letters")
        >>> @dag.task(retries=2)
        ... def extract() -> str: ...
        >>> dag
        Dag('letters', tasks=['extract'])
        """
        return decorate(fn, options, self)

    @classmethod
    def from_graph(
        cls,
        name: str,
        nodes: "Iterable[str]",
        edges: "Iterable[tuple[str, str]]" = (),
        **fields: "Any",
    ) -> "Dag":
        """Make a dag of tasks that do nothing from names and pairs.

        Parameters
        ----------
        name : str
            Name of the dag.
        nodes : iterable of str
            Names of the tasks.
        edges : iterable of (str, str)
            Upstream first.
        **fields
            As :class:`Dag` takes them.

        Examples
        --------
        >>> import mainspring as ms
        >>> ms.Dag.from_graph("abc", ["a", "b", "c"], [("a", "b"), ("a", "c")])
        Dag('abc', tasks=['a', 'b', 'c'])
        """
        dag = cls(name, **fields)
        for each in nodes:
            made = noop(each)
            made.home = dag
            dag.declare(made).implicit = False
        for upstream, downstream in edges:
            node = dag._nodes.get(downstream)
            if node is None:
                dag.problems.append(Problem("unknown_task", f"{name}.{downstream}",
                                            f"an edge from {upstream!r} leads to no task"))
            else:
                node.upstream[f"{name}.{upstream}"] = None
        return dag

    def check(self) -> "Dag":
        """Check the definition without running or storing anything.

        Returns
        -------
        Dag
            The dag itself.

        Raises
        ------
        SpecError
            With everything that is wrong, each with its place and a hint.

        Examples
        --------
        >>> import mainspring as ms
        >>> ms.Dag.from_graph("abc", ["a", "b"], [("a", "b"), ("b", "a")]).check()
        Traceback (most recent call last):
        mainspring.errors.CycleError: ...
        """
        from mainspring._mainspring import check_dag

        spec, problems = self._parts()
        try:
            check_dag(spec)
        except SpecError as error:
            if not problems:
                raise
            known = {(problem.code, problem.place) for problem in problems}
            problems = problems + [p for p in error.problems if (p.code, p.place) not in known]
        if problems:
            raise SpecError(problems)
        return self

    # Verbs

    def run(
        self,
        biz_date: "date | str | None" = None,
        *,
        params: "Mapping[str, Any] | None" = None,
        nominal_at: "datetime | None" = None,
        slot: "int | None" = None,
        only: "Sequence[Any] | None" = None,
        force: bool = False,
        wait: bool = True,
        progress: "bool | None" = None,
        executor: str = "inline",
    ) -> "Run":
        """Run it here and now, and return the run.

        A task that fails does not raise: the run that comes back says so, ``print(run)`` shows
        where, and ``run.raise_for_failure()`` raises with the author's own exception as cause.

        Parameters
        ----------
        biz_date : date or str, optional
            The day the data belongs to; computed from the present instant by default.
        params : dict, optional
            Values of the run's parameters.
        nominal_at : datetime, optional
            The instant to run for, aware; by default that of the schedule's fire for the date.
        slot : int, optional
            Which of several fires for the date, the first of the day being 1.
        only : list of str or Task, optional
            Run these tasks, and take their upstreams as done.
        force : bool, default False
            Whether tasks run that are disabled, or that their ``run_on`` would skip.
        wait : bool, default True
            Whether to return when it has ended; else at once, and ``run.wait()`` waits.
        progress : bool, optional
            Live progress; by default on a terminal and in a notebook.
        executor : {"inline", "process"}, default "inline"
            Where the tasks run: in this process, or in worker processes, which import the file
            that the dag is in. There a timeout ends the whole process tree of a task, and a task
            that crashes takes nothing with it.

        Returns
        -------
        Run
            Of state SUCCESS, FAILED or CANCELED, if it was waited for.

        Raises
        ------
        SpecError
            With everything wrong in the definition or the parameters; then nothing was queued.
        KeyboardInterrupt
            Ctrl-C; the run is canceled within a second. A second Ctrl-C does not wait for that.

        Examples
        --------
        >>> import mainspring as ms
        >>> with ms.Dag("sums") as dag:
        ...     @ms.task
        ...     def divide(by: int) -> float:
        ...         return 1 / by
        >>> with ms.testing.isolated():
        ...     run = dag.run("2013-01-15", params={"by": 0})
        ...     print(run.state, run["divide"].error)
        FAILED ZeroDivisionError: division by zero

        A business date with several fires:

        >>> dag = ms.Dag.from_graph("quarterly", ["load"], schedule="0 */6 * * *", timezone="UTC")
        >>> with ms.testing.isolated():
        ...     print(dag.run("2024-03-30", slot=4).nominal_at)
        2024-03-31 00:00:00+00:00
        """
        from mainspring._launch import launch

        return launch(self, biz_date, params=params, nominal_at=nominal_at, slot=slot, only=only,
                      force=force, wait=wait, progress=progress, executor=executor)

    def render(
        self,
        task: "Any" = None,
        biz_date: "date | str | None" = None,
        *,
        params: "Mapping[str, Any] | None" = None,
        nominal_at: "datetime | None" = None,
        slot: "int | None" = None,
    ) -> "dict[str, Any]":
        """Return the texts of a task as a run gets them, placeholders filled in.

        Nothing is stored or run. The dates are those of the dag's own schedule. Results of
        upstreams, and required parameters that are not given, stand as they were written.

        Parameters
        ----------
        task : str or Task, optional
            The task; by default all of them, each text under ``task.field``.
        biz_date, params, nominal_at, slot
            As in :meth:`run`.

        Returns
        -------
        dict
            From the place of a text, such as ``"config.sql"``, to what it becomes.

        Raises
        ------
        SpecError
            With everything wrong, as a run says it.

        Examples
        --------
        >>> import mainspring as ms
        >>> with ms.Dag("letters", schedule="0 30 2 * * ?") as dag:
        ...     @ms.task(params={"path": "in/${biz_date:yyyyMMdd}.csv"})
        ...     def load(path: str) -> None: ...
        >>> dag.render("load", "2024-02-29")
        {'params.path': 'in/20240229.csv'}
        """
        from mainspring._launch import preview

        found = preview(self, task, biz_date, params=params, nominal_at=nominal_at, slot=slot)
        return {
            row["field"] if task is not None else f"{row['task']}.{row['field']}": row["after"]
            for row in found["texts"]
        }

    def resume(
        self,
        run: "Run | int",
        *,
        wait: bool = True,
        progress: "bool | None" = None,
        executor: str = "inline",
    ) -> "Run":
        """Take up a run whose process is gone; what succeeded does not run again.

        Parameters
        ----------
        run : Run or int
            The run, or its id.
        wait, progress, executor
            As in :meth:`run`.

        Raises
        ------
        NotFoundError, ConflictError
            When there is no such run, or it is alive, or it ended.
        """
        from mainspring._launch import resume

        return resume(self, run, wait=wait, progress=progress, executor=executor)

    def rerun(
        self,
        run: "Run | int",
        tasks: "Sequence[Any] | Any" = None,
        *,
        downstream: bool = False,
        wait: bool = True,
        progress: "bool | None" = None,
        executor: str = "inline",
    ) -> "Run":
        """Run again what failed in a run, or the tasks that are named.

        Parameters
        ----------
        run : Run or int
            The run, or its id.
        tasks : list of str or Task, optional
            What to run again; by default whatever did not succeed.
        downstream : bool, default False
            Also everything downstream of those tasks.
        wait, progress, executor
            As in :meth:`run`.

        Examples
        --------
        >>> import mainspring as ms
        >>> ready = []
        >>> with ms.Dag("letters") as dag:
        ...     @ms.task
        ...     def read() -> int:
        ...         return ready[0]
        >>> with ms.testing.isolated():
        ...     run = dag.run("2013-01-15")
        ...     ready.append(7)
        ...     dag.rerun(run).result("read")
        7
        """
        from mainspring._launch import rerun

        return rerun(self, run, tasks, downstream=downstream, wait=wait, progress=progress,
                     executor=executor)

    def serve(self, *, executor: str = "inline", grace: float = 30.0) -> None:
        """Stay up and fire its schedules, until Ctrl-C or SIGTERM; see :func:`mainspring.serve`."""
        from mainspring._serve import serve

        serve(self, executor=executor, grace=grace, database=self.database)

    def runs(self, *, state: "Any" = None, limit: int = 50) -> "Runs":
        """Return its latest runs, the newest first; see :func:`mainspring.runs`."""
        from mainspring._history import runs

        return runs(dag=self.name, state=state, limit=limit, database=self.database)

    def __repr__(self) -> str:
        names = [node.name for node in self.nodes()]
        shown = repr(names) if len(names) <= 6 else f"{len(names)} tasks"
        schedule = self.fields["schedule"]
        when = f", schedule={schedule!r}" if schedule is not None else ""
        return f"Dag({self.name!r}{when}, {'tasks=' if len(names) <= 6 else ''}{shown})"

    def _repr_html_(self) -> str:
        from mainspring._dagview import dag_html

        return dag_html(self)
