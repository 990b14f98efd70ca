"""``@task``: a function with the policy under which it runs."""

from __future__ import annotations

import sys

from mainspring._node import Edges, open_dag
from mainspring._signature import Signature, did_you_mean, read_signature

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import time, timedelta
    from typing import Any, Generic, ParamSpec, TypeVar, overload

    from mainspring._business import Calendar
    from mainspring._dag_schedule import Schedule
    from mainspring._definition import Definition
    from mainspring._rule import Rule

    P = ParamSpec("P")
    R = TypeVar("R", covariant=True)
else:
    from mainspring._typing import Generic, P, R, overload

DURATIONS = (
    "retry_interval", "retry_cap", "timeout", "grace", "interval", "deadline", "block_timeout",
)
OPTIONS = frozenset((
    "name", "type", "retries", "max_attempts", "max_losses", *DURATIONS, "retry_backoff",
    "retry_jitter", "retry_on", "priority", "preemptible", "idempotent", "dedup_key", "pool",
    "slots", "max_active", "limits", "on_deadline", "owner", "labels", "category", "resource",
    "resource_key", "produces", "params", "config", "depends_on", "version", "doc", "ext",
    "schedule", "shards", "not_before", "run_on", "run_on_biz_date", "fingerprint",
))


class Task(Edges, Generic[P, R]):
    """A function with the policy under which it runs; made by :func:`mainspring.task`.

    Outside a ``with Dag(...)`` block calling it calls the function. Inside one, calling it puts
    it into the dag and gives a :class:`Node`, which stands for the result.

    Attributes
    ----------
    fn : callable
        The function itself; call it where you want no dag at all.
    name : str
        Its name in a dag: the function's, unless given.
    options : dict
        What was given to the decorator.

    Examples
    --------
    >>> import mainspring as ms
    >>> @ms.task(retries=2, retry_interval="30s")
    ... def double(number: int) -> int:
    ...     '''Twice the number.'''
    ...     return 2 * number
    >>> double(4)
    8
    >>> double
    Task('double', retries=2, retry_interval='30s')
    """

    def __init__(
        self, fn: "Callable[P, R]", options: "dict[str, Any]", local_names: "Any" = None
    ) -> None:
        unknown = [option for option in options if option not in OPTIONS]
        if unknown:
            hint = did_you_mean(unknown[0], sorted(OPTIONS))
            raise TypeError(f"a task has no option {unknown[0]!r}" +
                            (f"\n  hint: {hint}" if hint else ""))
        self.fn = fn
        self.options = {k: v for k, v in options.items() if k != "name"}
        name = options.get("name")
        if name is None:  # an empty one is a mistake, which the check tells
            name = getattr(fn, "__name__", None) or type(fn).__name__
        self.name: str = name
        self.is_noop = options.get("type") in ("noop", "gate")  # nothing is called
        self.home: "Definition | None" = None
        self.base: "Task[P, R] | None" = None
        self._local_names = local_names
        self._signature: "Signature | None" = None
        self.__name__ = name
        self.__doc__ = options.get("doc") or getattr(fn, "__doc__", None)
        self.__module__ = getattr(fn, "__module__", __name__)
        self.__qualname__ = getattr(fn, "__qualname__", name)
        self.__wrapped__ = fn

    @property
    def signature(self) -> Signature:
        """What the function takes, as parameters of a run."""
        if self._signature is None:
            self._signature = read_signature(self.fn, self._local_names)
        return self._signature

    def _handler(self) -> "Callable[..., Any]":
        """Return what is called in a run: the function, which says its fingerprint besides."""
        of = self.options.get("fingerprint")
        if not callable(of):
            return self.fn
        from mainspring._fingerprint import declaring

        return declaring(self.fn, of, self.signature.is_async)

    @overload
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R: ...
    @overload  # inside a dag, where the run fills the gaps
    def __call__(self, *args: Any, **kwargs: Any) -> R: ...  # noqa: F811
    def __call__(self, *args: Any, **kwargs: Any) -> Any:  # noqa: F811
        dag = open_dag.get()
        if dag is not None:
            return dag.add(self, *args, **kwargs)
        return self.fn(*args, **kwargs)

    def __get__(self, instance: "Any", owner: "Any" = None) -> "Any":
        if instance is None:
            return self
        from types import MethodType

        return MethodType(self, instance)

    def with_options(self, **options: "Any") -> "Task[P, R]":
        """Return the same task under another name or policy.

        Parameters
        ----------
        **options
            As :func:`mainspring.task` takes them; what is not given stays as it is.

        Returns
        -------
        Task
            A copy. It enters a dag when it is called there, or named in an edge.

        Examples
        --------
        >>> import mainspring as ms
        >>> with ms.Dag("loads") as dag:
        ...     @ms.task
        ...     def load(table: str) -> None: ...
        ...     for table in ["orders", "items"]:
        ...         _ = load.with_options(name=f"load_{table}")(table)
        >>> dag
        Dag('loads', tasks=['load_orders', 'load_items'])
        """
        merged = {**self.options, "name": self.name, **options}
        copy: Task[P, R] = Task(self.fn, merged, self._local_names)
        copy._signature = self._signature
        copy.home = self.home
        copy.base = self.base or self
        return copy

    def map(self, items: "Any", /, *, argument: "str | None" = None,
            max_active: "int | None" = None, **fixed: "Any") -> "Any":
        """Run the task once for each item of a list, which a run may know only when it gets there.

        Each item is a task run of its own, with its own attempts, log and retries; ``load[3]``
        names one. The task as a whole succeeds when all have: its result is the list of their
        results, in the order of the items. A list may be empty: then the result is ``[]``.

        Parameters
        ----------
        items : Node, Task, RunParam, list, tuple or range
            The list: the result of a task of the same dag, a parameter of the run
            (:func:`mainspring.param`), or values. At most 100,000 items; any JSON value is one,
            ``None`` as well.
        argument : str, optional
            The argument that gets the item; by default the first one that neither the call nor
            the run fills.
        max_active : int, optional
            How many items of a run are live at once; by default as many as there are slots.
        **fixed
            Other arguments, the same for each item: values, or results of other tasks.

        Returns
        -------
        Node
            The mapped task in its place in the dag. Outside a ``with Dag(...)`` block it is no
            dag's business: the function is called for each item, and the list of what it
            returns comes back.

        Raises
        ------
        SpecError
            When the dag is checked or run: ``not_a_list`` for what can never be a list.

        Examples
        --------
        >>> import mainspring as ms
        >>> with ms.Dag("loads") as dag:
        ...     @ms.task
        ...     def listing() -> list:
        ...         return ["a.csv", "b.csv"]
        ...     @ms.task
        ...     def load(path: str, table: str) -> int:
        ...         return len(f"{table}/{path}")
        ...     @ms.task
        ...     def total(rows: list) -> int:
        ...         return sum(rows)
        ...     _ = total(load.map(listing(), table="orders", max_active=8))
        >>> with ms.testing.isolated():
        ...     run = dag.run("2013-01-15")
        ...     run.result("load"), run.result("total"), run["load[1]"].state
        ([12, 12], 24, 'SUCCESS')
        """
        dag = open_dag.get()
        if dag is not None:
            return dag.add_mapped(self, items, argument, max_active, fixed)
        name = argument or next((each for each in self.signature.arguments if each not in fixed),
                                None)
        if name is None:
            raise TypeError(f"{self.name} has no argument left that could get the item")
        call: Any = self.fn
        return [call(**{name: item}, **fixed) for item in items]

    def __repr__(self) -> str:
        given = self.policy_text()
        return f"Task({self.name!r}{', ' if given else ''}{given})"

    def policy_text(self) -> str:
        """Return what was given to the decorator, as it was written."""
        return ", ".join(f"{key}={value!r}" for key, value in self.options.items()
                         if key not in ("depends_on", "doc"))


@overload
def task(fn: Callable[P, R], /) -> Task[P, R]: ...
@overload
def task(  # noqa: F811
    *,
    name: str | None = None,
    retries: int | None = None,
    max_attempts: int | None = None,
    max_losses: int | None = None,
    retry_interval: str | timedelta | None = None,
    retry_backoff: str | None = None,
    retry_cap: str | timedelta | None = None,
    retry_jitter: float | None = None,
    retry_on: Sequence[str | type[BaseException]] | None = None,
    timeout: str | timedelta | None = None,
    grace: str | timedelta | None = None,
    priority: int | str | None = None,
    preemptible: bool | None = None,
    idempotent: bool | None = None,
    dedup_key: str | None = None,
    pool: str | None = None,
    slots: int | None = None,
    shards: int | None = None,
    max_active: int | None = None,
    limits: str | Sequence[str] | Mapping[str, int] | None = None,
    deadline: str | timedelta | None = None,
    on_deadline: str | None = None,
    block_timeout: str | timedelta | None = None,
    owner: str | None = None,
    labels: Sequence[str] | None = None,
    category: str | None = None,
    resource: str | None = None,
    resource_key: str | None = None,
    produces: Any = None,
    params: Mapping[str, Any] | None = None,
    config: Mapping[str, Any] | None = None,
    depends_on: Any = None,
    schedule: str | Rule | Schedule | Sequence[Any] | None = None,
    not_before: str | time | None = None,
    run_on: str | Calendar | None = None,
    run_on_biz_date: bool | None = None,
    fingerprint: str | Callable[[Any], str | int | bytes] | None = None,
    type: str | None = None,
    version: int | None = None,
    doc: str | None = None,
    ext: Mapping[str, Any] | None = None,
) -> Callable[[Callable[P, R]], Task[P, R]]: ...
def task(  # noqa: F811
    fn: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    retries: int | None = None,
    max_attempts: int | None = None,
    max_losses: int | None = None,
    retry_interval: str | timedelta | None = None,
    retry_backoff: str | None = None,
    retry_cap: str | timedelta | None = None,
    retry_jitter: float | None = None,
    retry_on: Sequence[str | type[BaseException]] | None = None,
    timeout: str | timedelta | None = None,
    grace: str | timedelta | None = None,
    priority: int | str | None = None,
    preemptible: bool | None = None,
    idempotent: bool | None = None,
    dedup_key: str | None = None,
    pool: str | None = None,
    slots: int | None = None,
    shards: int | None = None,
    max_active: int | None = None,
    limits: str | Sequence[str] | Mapping[str, int] | None = None,
    deadline: str | timedelta | None = None,
    on_deadline: str | None = None,
    block_timeout: str | timedelta | None = None,
    owner: str | None = None,
    labels: Sequence[str] | None = None,
    category: str | None = None,
    resource: str | None = None,
    resource_key: str | None = None,
    produces: Any = None,
    params: Mapping[str, Any] | None = None,
    config: Mapping[str, Any] | None = None,
    depends_on: Any = None,
    schedule: str | Rule | Schedule | Sequence[Any] | None = None,
    not_before: str | time | None = None,
    run_on: str | Calendar | None = None,
    run_on_biz_date: bool | None = None,
    fingerprint: str | Callable[[Any], str | int | bytes] | None = None,
    type: str | None = None,
    version: int | None = None,
    doc: str | None = None,
    ext: Mapping[str, Any] | None = None,
) -> Any:
    """Make a task of a function: ``@task`` or ``@task(retries=2, timeout="10m")``.

    Inside a ``with Dag(...)`` block the task belongs to that dag, called or not. The
    function's signature says which parameters a run takes; arguments named ``biz_date``,
    ``nominal_at``, ``interval_start``, ``interval_end`` and ``ctx`` are filled by the run.

    Parameters
    ----------
    name : str, optional
        Name in the dag; the function's by default.
    retries : int, optional
        How often a failed attempt is tried again; ``max_attempts`` is one more, and either
        may be given. Without both: none in ``dag.run``, 3 where the scheduler runs it.
    max_losses : int, optional
        How many attempts may be lost with the process that ran them; the last of them ends the
        task. Default 3. A loss is no failure: it counts against nothing else.
    retry_interval, retry_cap : str or timedelta, optional
        Delay after the first failure (default ``"10s"``), and the longest (``"1h"``).
    retry_backoff : {"EXPONENTIAL", "FIXED"}, optional
        Whether the delay doubles each time (the default) or stays.
    retry_jitter : float, optional
        Part of the delay, 0 to 1, by which it is spread.
    retry_on : list of str or exception classes, optional
        Codes that are tried again, such as ``"TIMEOUT"``, ``"HTTP_5XX"`` or
        ``ConnectionError``; a class stands for those below it too. Default all.
    timeout : str or timedelta, optional
        Limit of one attempt, from its own start. In this process it is a request: the
        handler gets ``AttemptTimeout`` at its next Python instruction.
    grace : str or timedelta, optional
        Time between asking an attempt to stop and giving it up; default ``"5s"``.
    priority : int or str, optional
        0 first to 9 last, or urgent, high, normal, low, idle; default 5, normal.
    preemptible : bool, optional
        Whether a task of a higher class that finds no free slot may stop it to have its slot;
        default no. It is started again afterwards, which counts as no attempt.
    idempotent : bool, optional
        Whether running it twice does no harm; default yes. If not, it is never retried
        unless there is a ``dedup_key``, the template of a key by which the target knows a
        repeat.
    pool, slots : str, int, optional
        The pool whose slots it uses, and how many.
    shards : int, optional
        Run it in so many parts, each a task run of its own: arguments ``shard_index`` (0 to n-1)
        and ``shard_total``, or ``shardIndex`` and ``shardTotal``, say which part it is. Its result
        is the list of theirs. For a list of things see :meth:`Task.map`.
    max_active : int, optional
        How many attempts of it may be live at once, over all its runs.
    limits : str, list of str or dict of str to int, optional
        Named limits whose slots it uses besides, one of each or as many as is said; see
        :func:`mainspring.limit`. Who waits for one holds up nobody else of the pool.
    deadline : str or timedelta, optional
        Until when it is to be finished: a duration after the nominal time (``"2h"``), or a time
        of day on the nominal date in the run's zone (``"07:30"``, ``"+1d 07:30"``). A run that
        somebody asks for after that has none.
    on_deadline : {"alert", "cancel"}, optional
        What is done where it is not: it is recorded and told (the default), or canceled too.
    block_timeout : str or timedelta, optional
        How long it may be BLOCKED before it is given up as FAILED; for ever by default.
    owner, labels, category, resource, resource_key, doc, ext : optional
        Who answers for it, words to find it by, its category, the asset it writes, what it
        is for, and data of your own.
    params : dict, optional
        Static values for arguments. Text may hold placeholders such as ``${biz_date}``.
    config : dict, optional
        Further values of yours that ``ctx.config`` shows, placeholders filled in.
    produces : Asset, str or list, optional
        The assets that are ready when it has succeeded; see :func:`mainspring.asset`.
    depends_on : list, optional
        What it waits for: tasks, names in this dag, ``"dag.task"`` elsewhere, and what
        :func:`mainspring.dep` and :meth:`mainspring.Asset.ready` make.
    schedule : str, Rule, Schedule or list, optional
        When it fires by itself, in runs of its own; it is then no part of the dag's timed runs.
        As a dag's ``schedule``.
    not_before : str or time, optional
        A time of day on the nominal date in the run's zone, ``"06:30"``, or some days later,
        ``"+1d 06:30"``: runs of schedules, missed ones too, and runs that upstreams trigger wait
        for it; runs that somebody asks for do not. A time that the clocks jump over is the end of
        the jump.
    run_on : str or Calendar, optional
        The days on which it runs, else it is SKIPPED with the code RUN_ON, which holds up no
        dependent: ``"weekdays"``, ``"last day of month"``, ``"1,15"``, ``"MON,WED"``, a cron line,
        the name of a calendar of the dag's schedules, or a calendar. Compared with the nominal
        local date (a cron line with the time too) when the run is made; ``dag.run(force=True)``
        runs it all the same.
    run_on_biz_date : bool, optional
        Whether the business date is compared instead.
    fingerprint : "result" or callable, optional
        What its output can be told by: the hash of its result, or what a function gives that is
        called with the result, where the handler ran and right after it. Text, a whole number or
        bytes; kept with the task run. Where a reprocess computes the task again and it comes out
        the same, what depends on it is left as it is. ``ctx.fingerprint()`` says it from within.
    type, version : optional
        What runs (``python`` here), and the version number if you keep it yourself.

    Returns
    -------
    Task
        Or a decorator that makes one, when called with options only.

    Raises
    ------
    TypeError
        When what is decorated cannot be called.

    Examples
    --------
    >>> import mainspring as ms
    >>> with ms.Dag("letters") as dag:
    ...     @ms.task(retries=2)
    ...     def count(text: str = "abc") -> int:
    ...         return len(text)
    >>> with ms.testing.isolated():
    ...     dag.run("2013-01-15", params={"text": "mainspring"}).result("count")
    10
    """
    options = {key: value for key, value in locals().items()
               if value is not None and key != "fn"}
    return decorate(fn, options, open_dag.get())


def decorate(fn: "Any", options: "dict[str, Any]", dag: "Definition | None") -> "Any":
    """Make a task, or the decorator that makes it, in ``dag`` if there is one."""
    depth = 3

    def make(fn: Any) -> Task[Any, Any]:
        if isinstance(fn, Task):
            made = fn.with_options(**options)
            made.base = None
        elif isinstance(fn, (staticmethod, classmethod)) or not callable(fn):
            raise TypeError(f"@task needs a function, and got {fn!r}")
        else:
            frame = sys._getframe(depth)
            made = Task(fn, options, lambda: frame.f_locals)
            if frame.f_code.co_name != "<module>":
                _ = made.signature  # names of an enclosing function are at hand only now
            made._local_names = None
        if dag is not None:
            made.home = dag
            dag.declare(made)
        return made

    if fn is None:
        depth = 1  # the caller calls what it gets
        return make
    return make(fn)


def _nothing() -> None:
    pass


def noop(name: str, **options: "Any") -> "Task[[], None]":
    """Make a task that does nothing: a point where edges meet.

    Parameters
    ----------
    name : str
        Its name in the dag.
    **options
        As :func:`mainspring.task` takes them.

    Returns
    -------
    Task
        In the dag of the ``with`` block, if the caller is in one.

    Examples
    --------
    >>> import mainspring as ms
    >>> with ms.Dag("letters") as dag:
    ...     a, b = ms.noop("a"), ms.noop("b")
    ...     _ = a >> b
    >>> with ms.testing.isolated():
    ...     dag.run("2013-01-15").state
    'SUCCESS'
    """
    return no_handler(name, {"type": "noop", **options})


def no_handler(name: str, options: "dict[str, Any]") -> "Task[[], Any]":
    """Make a task that calls nothing, in the dag of the ``with`` block if there is one."""
    made: Task[[], Any] = Task(_nothing, {"name": name, **options})
    dag = open_dag.get()
    if dag is not None:
        made.home = dag
        dag.declare(made)
    return made
