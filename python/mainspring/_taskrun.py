"""What one task did in a run, and each of its attempts."""

from mainspring._table import clip, counted, shown_duration
from mainspring._time import instant, span
from mainspring.errors import NotFoundError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime, timedelta
    from typing import Any

    from mainspring._mainspring import AttemptDict, TaskRunDict
    from mainspring._run import Run


class Attempt:
    """One try of a task in a run.

    Attributes
    ----------
    number : int
        From 1, across reruns.
    outcome : str or None
        SUCCESS, FAILED, TIMEOUT, CANCELED, LOST, PREEMPTED or INTERRUPTED; None while it runs.
    started_at, finished_at : datetime.datetime or None
        Aware, in the run's zone.
    duration : datetime.timedelta
        How long it took, or has taken so far.
    error_code, error_type, error, traceback : str or None
        What the handler raised; the traceback begins at the author's code.
    filled : dict
        What placeholders became in its texts, by ``params``, ``config`` and ``dedup_key``;
        secrets are masked.
    log : str
        What it printed and logged, when it has ended; at least the last 8 KiB of it.

    Examples
    --------
    >>> import mainspring as ms
    >>> with ms.Dag("letters") as dag:
    ...     @ms.task
    ...     def greet() -> None:
    ...         print("good morning")
    >>> with ms.testing.isolated():
    ...     attempt = dag.run("2013-01-15")["greet"].attempts[0]
    ...     attempt.number, attempt.outcome, attempt.log
    (1, 'SUCCESS', 'good morning\\n')
    """

    def __init__(self, row: "AttemptDict", zone: str) -> None:
        self._row = row
        self._zone = zone

    @property
    def number(self) -> int:
        return self._row["attempt_no"]

    @property
    def outcome(self) -> "str | None":
        return self._row["outcome"]

    @property
    def started_at(self) -> "datetime":
        return instant(self._row["started_at"], self._zone)  # type: ignore[return-value]

    @property
    def finished_at(self) -> "datetime | None":
        return instant(self._row["finished_at"], self._zone)

    @property
    def duration(self) -> "timedelta":
        row = self._row
        return span(row["started_at"], row["finished_at"])  # type: ignore[return-value]

    @property
    def error_code(self) -> "str | None":
        return self._row["error_code"]

    @property
    def error_type(self) -> "str | None":
        return self._row["error_type"]

    @property
    def error(self) -> "str | None":
        return self._row["error"]

    @property
    def traceback(self) -> "str | None":
        return self._row["traceback"]

    @property
    def polls(self) -> "int | None":
        """How often the check of a probe was called, since its process had it; None elsewhere."""
        return self._row["polls"]

    @property
    def filled(self) -> "dict[str, Any]":
        kept = self._row["params"]
        if kept is None:
            return {}
        import json

        found: dict[str, Any] = json.loads(kept)
        return found

    @property
    def log(self) -> str:
        path = self._row["log_uri"]
        if path:
            try:
                with open(path.removeprefix("file://"), encoding="utf-8", errors="replace") as file:
                    # A line is: instant, O or E for the stream, text.
                    return "".join(line.split(" ", 2)[-1] for line in file)
            except OSError:
                pass  # it was cleaned up, or is on another machine: the tail is here
        tail = self._row["log_tail"]
        return f"{tail}\n" if tail else ""

    def __repr__(self) -> str:
        code = f", error_code={self.error_code!r}" if self.error_code else ""
        return (f"Attempt({self.number}, outcome={self.outcome!r}{code}, "
                f"duration={shown_duration(self.duration)!r})")

    def _repr_html_(self) -> str:
        from mainspring._logview import attempt_html

        return attempt_html(self)


class TaskRun:
    """What one task did in a run; ``run["clean"]`` gives it.

    Attributes
    ----------
    task : str
        Name of the task; ``load[3]`` for an item of a mapped one.
    map_index : int or None
        Place of an item in its list, from 0.
    item : object
        What an item was given.
    items : list of TaskRun
        Of a mapped task, in the order of its list; empty for any other.
    state : str
        PENDING, READY, RUNNING, RETRY_WAIT, BLOCKED, SUCCESS, FAILED, TIMEOUT, CANCELED, SKIPPED.
    result : object
        What it returned, as it was stored.
    fingerprint : str or None
        What its output can be told by, where it says so and has succeeded.
    exception : BaseException or None
        The author's own exception object, if it failed in this process.
    error : str or None
        The last failure in one line.
    blocked_by : str or None
        Name of the task whose failure blocks it.
    attempts : list of Attempt
        The oldest first.
    deadline : datetime or None
        Until when it is to be finished, in the run's zone.
    overdue : bool
        Whether it was still open when its deadline had passed.
    started_at, finished_at, duration
        Of the last attempt; aware datetimes in the run's zone, and a timedelta.

    Examples
    --------
    >>> import mainspring as ms
    >>> with ms.Dag("sums") as dag:
    ...     @ms.task
    ...     def divide(by: int = 0) -> float:
    ...         return 1 / by
    >>> with ms.testing.isolated():
    ...     ran = dag.run("2013-01-15")["divide"]
    ...     print(ran)
    TaskRun('divide', state='FAILED', attempts=1, error='ZeroDivisionError: division by zero')
    """

    def __init__(self, run: "Run", row: "TaskRunDict") -> None:
        self._run = run
        self._row = row

    @property
    def task(self) -> str:
        return self._row["task"]

    @property
    def state(self) -> str:
        return self._row["state"]

    @property
    def map_index(self) -> "int | None":
        return self._row["map_index"]

    @property
    def item(self) -> "Any":
        text = self._row["item"]
        if text is None:
            return None
        import json

        return json.loads(text)

    @property
    def items(self) -> "list[TaskRun]":
        if not self._row["mapped"]:
            return []
        return [each for each in self._run.items_of(self.task) if each.code != "REMOVED"]

    @property
    def version(self) -> int:
        """The version of the task that it runs, retries and reruns included."""
        return self._row["version"]

    @property
    def type(self) -> str:
        """What runs: python, noop, probe or gate."""
        return self._row["type"]

    @property
    def is_awaited(self) -> bool:
        """Whether it is a gate that waits for a person's word: ``run.approve(task)``."""
        return self.type == "gate" and self.state == "RUNNING"

    @property
    def code(self) -> "str | None":
        """Error code of the last failure, as ``retry_on`` names it."""
        return self._row["code"]

    @property
    def stale(self) -> bool:
        """Whether an upstream was run again since."""
        return self._row["stale"]

    @property
    def blocked_by(self) -> "str | None":
        return self._row["blocked_by_task"]

    @property
    def started_at(self) -> "datetime | None":
        return instant(self._row["started_at"], self._run.timezone)

    @property
    def finished_at(self) -> "datetime | None":
        return instant(self._row["finished_at"], self._run.timezone)

    @property
    def deadline(self) -> "datetime | None":
        """Until when it is to be finished, in the run's zone; None where it has no deadline."""
        return instant(self._row["deadline_at"], self._run.timezone)

    @property
    def overdue(self) -> bool:
        """Whether it was still open when its deadline had passed."""
        return self._row["overdue_at"] is not None

    @property
    def duration(self) -> "timedelta | None":
        row = self._row
        if row["finished_at"] is None and self.state != "RUNNING":
            return None
        return span(row["started_at"], row["finished_at"])

    @property
    def attempts(self) -> "list[Attempt]":
        return self._run.attempts_of(self._row["id"])

    @property
    def result(self) -> "Any":
        if not self._row["has_result"]:
            if self.state == "SUCCESS":
                return None
            why = self.error or (f"blocked by {self.blocked_by}" if self.blocked_by else "")
            raise NotFoundError(
                f"{self._run.dag}.{self.task} has no result: it is {self.state}"
                + (f" ({clip(why, 200)})" if why else "")
            )
        return self._run.result_of(self._row["id"])

    @property
    def fingerprint(self) -> "str | None":
        return self._row["fingerprint"]

    @property
    def exception(self) -> "BaseException | None":
        if self._row["mapped"]:
            return next((found for each in self._bad_items()
                         if (found := each.exception) is not None), None)
        return self._run.exception_of(self.task)

    def _bad_items(self) -> "list[TaskRun]":
        return [each for each in self.items if each.state in ("FAILED", "TIMEOUT")]

    @property
    def error(self) -> "str | None":
        if self._row["mapped"] and self._row["code"] == "RESULT":
            return "RESULT: the results of its items are too large to be kept as one (16 MiB)"
        bad = self._bad_items() if self.state == "FAILED" else []
        if bad:
            return (f"{len(bad)} of {counted(len(self.items), 'item')} failed, {bad[0].task} "
                    f"first: {bad[0].error or bad[0].state}")
        for attempt in reversed(self.attempts):
            if attempt.outcome not in (None, "SUCCESS"):
                kind = (attempt.error_type or attempt.error_code or attempt.outcome or "")
                text = f"{kind.rpartition('.')[2]}: {attempt.error}" if attempt.error else kind
                return text if self.state != "SUCCESS" else None
        return None

    @property
    def traceback(self) -> "str | None":
        """The last failure's traceback, from the author's code on."""
        failed = [attempt for attempt in self.attempts if attempt.traceback]
        return failed[-1].traceback if failed else None

    @property
    def log(self) -> str:
        """What its attempts printed and logged, the oldest first; of items, in their order."""
        parts = [attempt.log for attempt in self.attempts]
        return "".join(parts + [each.log for each in self.items])

    def explain(self) -> str:
        """Say in words why it is in its state, and what it waits for."""
        return self._run.explain(self.task)

    def cells(self) -> "list[str]":
        """Return its line of a table: task, state, attempts, duration, error."""
        error = self.error
        if error is None and self.blocked_by:
            error = f"blocked by {self.blocked_by}"
        if self.is_awaited:
            error = f"waits for a word: run.approve({self.task!r})"
        elif error is None and self.state == "SKIPPED":
            error = self.code
        tries = str(self._row["attempt_no"] or "")
        if self._row["mapped"]:
            items = self.items
            done = sum(each.state in ("SUCCESS", "SKIPPED") for each in items)
            tries = f"{done}/{counted(len(items), 'item')}"
        return [self.task, self.state, tries,
                shown_duration(self.duration), clip(error, 60)]

    def __repr__(self) -> str:
        row = self._row
        error = self.error if row["code"] else None
        why = f", error={clip(error, 60)!r}" if error else ""
        if row["blocked_by_task"]:
            why = f", blocked_by={row['blocked_by_task']!r}"
        return f"TaskRun({self.task!r}, state={self.state!r}, attempts={row['attempt_no']}{why})"

    def _repr_html_(self) -> str:
        from mainspring._logview import task_html

        return task_html(self)
