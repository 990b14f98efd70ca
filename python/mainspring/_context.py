"""What a running attempt knows about itself."""

from contextvars import ContextVar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import date, datetime
    from logging import Logger
    from typing import Any

    from mainspring._mainspring import Context as CoreContext

current: "ContextVar[CoreContext | None]" = ContextVar("mainspring_attempt", default=None)


class Context:
    """The attempt that is running: its run, dates, number, fencing token and logger.

    A task gets it as the argument ``ctx``, or from :func:`mainspring.context` anywhere below it.

    Attributes
    ----------
    run_id : int
        The run.
    dag, task : str
        The names of the dag and of the task.
    map_index : int or None
        Place in the list, from 0, where the task is mapped or in shards.
    attempt : int
        Number of this attempt, from 1.
    token : int
        Fencing token: grows with every attempt, so that a target which keeps the highest token
        it has seen can refuse a writer that was given up.
    biz_date : datetime.date
        The day the data belongs to.
    nominal_at, interval_start, interval_end : datetime.datetime
        The instant the schedule meant and the interval it closes, aware, in the run's zone.
    timezone : str
        IANA name of that zone.
    params : dict
        The values of the run's parameters, and those of the task's own ``params``.
    config : dict
        How the task's type runs, with placeholders filled in.
    dedup_key : str or None
        The key by which the target knows a repeat, the same in every attempt of the run.
    logger : logging.Logger
        Writes to the log of this attempt, from level INFO.
    """

    __slots__ = ("_core", "_logger")

    def __init__(self, core: "CoreContext") -> None:
        self._core = core
        self._logger: "Logger | None" = None

    @property
    def run_id(self) -> int:
        return self._core.run_id

    @property
    def dag(self) -> str:
        return self._core.dag

    @property
    def task(self) -> str:
        return self._core.task

    @property
    def map_index(self) -> "int | None":
        return self._core.map_index

    @property
    def attempt(self) -> int:
        return self._core.attempt

    @property
    def token(self) -> int:
        return self._core.token

    @property
    def biz_date(self) -> "date":
        return self._core.biz_date

    @property
    def nominal_at(self) -> "datetime":
        return self._core.nominal_at

    @property
    def interval_start(self) -> "datetime":
        return self._core.interval_start

    @property
    def interval_end(self) -> "datetime":
        return self._core.interval_end

    @property
    def timezone(self) -> str:
        return self._core.timezone

    @property
    def params(self) -> "dict[str, Any]":
        return self._core.params

    @property
    def config(self) -> "dict[str, Any]":
        return self._core.config

    @property
    def dedup_key(self) -> "str | None":
        return self._core.dedup_key

    def fingerprint(self, value: "str | int | bytes") -> None:
        """Say what the output of this attempt can be told by, if it succeeds.

        Where a reprocess computes the task again and the fingerprint is that of the success before,
        what depends on it is left as it is. The last one that is said counts.

        Parameters
        ----------
        value : str, int or bytes
            Such as a checksum, an ETag, or a number of rows; see ``fingerprint=`` of
            :func:`mainspring.task`.

        Raises
        ------
        Fail
            With the code FINGERPRINT, for a value of another type and for an empty one.

        Examples
        --------
        >>> import mainspring as ms
        >>> with ms.Dag("loads") as dag:
        ...     @ms.task
        ...     def load() -> None:
        ...         ms.context().fingerprint("2 files, crc 1f2e")
        >>> with ms.testing.isolated():
        ...     dag.run("2013-01-15")["load"].fingerprint
        '2 files, crc 1f2e'
        """
        from mainspring._fingerprint import text_of

        self._core.say_fingerprint(text_of(value))

    @property
    def logger(self) -> "Logger":
        if self._logger is None:
            from mainspring._capture import attempt_logger

            self._logger = attempt_logger(self._core)
        return self._logger

    def __repr__(self) -> str:
        return (
            f"Context(run_id={self.run_id}, task='{self.dag}.{self.task}', "
            f"attempt={self.attempt}, biz_date='{self.biz_date}')"
        )


def context() -> Context:
    """Return the context of the attempt that runs here.

    Returns
    -------
    Context
        Of the attempt whose handler is calling, in its own thread or coroutine.

    Raises
    ------
    RuntimeError
        Outside an attempt, and in a thread that the handler started itself: hand the context,
        or what you need of it, to such a thread.

    Examples
    --------
    >>> import mainspring as ms
    >>> with ms.Dag("letters") as dag:
    ...     @ms.task
    ...     def greet() -> str:
    ...         return f"attempt {ms.context().attempt} for {ms.context().biz_date}"
    >>> with ms.testing.isolated():
    ...     dag.run("2013-01-15").result("greet")
    'attempt 1 for 2013-01-15'
    """
    core = current.get()
    if core is None:
        raise RuntimeError(
            "there is no attempt here: context() works inside a task while it runs\n"
            "  hint: in a thread that the task started, hand it over from the task"
        )
    return Context(core)
