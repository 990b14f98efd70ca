"""How tasks fare: runs, successes and deadlines by month, and how long they take."""

from mainspring._session import history, rows
from mainspring._table import counted, duration, html_table, text_table
from mainspring.errors import NotFoundError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

LAST = 100
"""Durations of a task that count: its newest ones."""

HEAD = ("task", "month", "runs", "successes", "met deadline", "p50", "p90")

# What is skipped or still open is no run here.
BY_MONTH = """
SELECT task.key AS task, substr(task_run.biz_date, 1, 7) AS month, count(*) AS runs,
    sum(CASE WHEN task_run.state = 'SUCCESS' THEN 1 ELSE 0 END) AS successes,
    -- Data that was there in time was, whatever a later rerun made of it.
    avg(CASE WHEN task_run.deadline_at IS NULL THEN NULL WHEN EXISTS (
        SELECT 1 FROM attempt WHERE attempt.task_run_id = task_run.id
            AND attempt.outcome = 'SUCCESS' AND attempt.finished_at <= task_run.deadline_at
    ) THEN 1.0 ELSE 0.0 END) AS met
FROM task_run
JOIN task ON task.id = task_run.task_id
JOIN dag ON dag.id = task.dag_id
WHERE task_run.state IN ('SUCCESS', 'FAILED', 'TIMEOUT', 'CANCELED') AND task_run.attempt_no > 0
    AND NOT (task_run.item IS NOT NULL AND coalesce(task_run.code, '') = 'REMOVED')
    AND (CAST(?1 AS TEXT) IS NULL OR dag.key = ?1)
    AND (CAST(?2 AS TEXT) IS NULL OR task.name = ?2)
GROUP BY task_run.task_id, dag.key, task.position, task.key, month
ORDER BY dag.key, task.position, task.key, month
"""
DURATIONS = """
SELECT task, duration_ms FROM (
    SELECT task.key AS task, attempt.duration_ms AS duration_ms, row_number() OVER (
        PARTITION BY task_run.task_id ORDER BY attempt.finished_at DESC, attempt.id DESC
    ) AS place
    FROM attempt
    JOIN task_run ON task_run.id = attempt.task_run_id
    JOIN task ON task.id = task_run.task_id
    JOIN dag ON dag.id = task.dag_id
    WHERE attempt.outcome = 'SUCCESS'
        AND (CAST(?1 AS TEXT) IS NULL OR dag.key = ?1)
        AND (CAST(?2 AS TEXT) IS NULL OR task.name = ?2)
) AS newest
WHERE place <= ?3
ORDER BY task, duration_ms
"""
KNOWN = "SELECT 1 AS known FROM dag LEFT JOIN task ON task.dag_id = dag.id " \
        "WHERE dag.key = ?1 AND (CAST(?2 AS TEXT) IS NULL OR task.name = ?2) LIMIT 1"


class Stat:
    """How one task fared in one month.

    Attributes
    ----------
    task : str
        ``dag.task``.
    month : str
        Of the business dates, as ``2026-03``.
    runs : int
        Task runs that started and are over: succeeded, failed, timed out or canceled.
    successes : int
        How many of them succeeded.
    met : float or None
        The share that met its deadline, from 0 to 1; None where there was no deadline.
    p50, p90 : datetime.timedelta or None
        Of the task, whatever the month: of its last 100 successful attempts, half, or nine of ten,
        took at most so long; None where none succeeded.
    """

    __slots__ = ("met", "month", "p50", "p90", "runs", "successes", "task")

    def __init__(self, task: str, month: str, runs: int, successes: int, met: "float | None",
                 p50: "Any", p90: "Any") -> None:
        self.task, self.month, self.runs, self.successes = task, month, runs, successes
        self.met, self.p50, self.p90 = met, p50, p90

    def cells(self) -> "list[str]":
        """Return it as a line of a table."""
        met = "-" if self.met is None else f"{100 * self.met:.1f} %"
        took = (duration(None if each is None else each.total_seconds())
                for each in (self.p50, self.p90))
        return [self.task, self.month, str(self.runs), str(self.successes), met, *took]

    def document(self) -> "dict[str, Any]":
        """Return it as programs read it; durations in milliseconds."""
        p50, p90 = (None if each is None else round(each.total_seconds() * 1000)
                    for each in (self.p50, self.p90))
        return {"task": self.task, "month": self.month, "runs": self.runs,
                "successes": self.successes, "met": self.met, "p50_ms": p50, "p90_ms": p90}

    def __repr__(self) -> str:
        return (f"Stat({self.task!r}, {self.month!r}, runs={self.runs}, "
                f"successes={self.successes})")


class Stats(list[Stat]):
    """A list of how tasks fared, which shows itself as a table."""

    def __repr__(self) -> str:
        return text_table(HEAD, [each.cells() for each in self]) if self else "Stats([])"

    __str__ = __repr__

    def _repr_html_(self) -> str:
        return html_table(counted(len({each.task for each in self}), "task"), HEAD,
                          [each.cells() for each in self])


def stats(dag: "Any" = None, *, database: "Any" = None) -> Stats:
    """Return how tasks fare: by month of the business date runs, successes and deadlines met.

    With each month stand the percentiles of the task's last 100 successful attempts. They are those
    of the nearest rank: of n durations in order, the one at place ``ceil(p / 100 * n)``, so one
    that was really taken.

    Parameters
    ----------
    dag : str or Dag, optional
        Only of this dag, or of one task of it, as ``"dag.task"``.
    database : str or path, optional
        Where to read; default as :func:`mainspring.use` says.

    Returns
    -------
    Stats
        A list with a row for each task and month, in the order of the dag; each has ``task``,
        ``month``, ``runs``, ``successes``, ``met``, ``p50`` and ``p90``.

    Raises
    ------
    NotFoundError
        When there is no such dag or task.

    Examples
    --------
    >>> import mainspring as ms
    >>> with ms.testing.isolated():
    ...     for day in ("2013-01-30", "2013-01-31", "2013-02-01"):
    ...         _ = ms.Dag.from_graph("abc", ["a"]).run(day)
    ...     [(each.month, each.runs, each.successes) for each in ms.stats("abc")]
    [('2013-01', 2, 2), ('2013-02', 1, 1)]
    """
    from datetime import timedelta

    reader = history(database)
    if reader is None:
        return Stats()
    key, task = _named(reader, dag)
    took: "dict[str, list[int]]" = {}
    for row in rows(reader, DURATIONS, key, task, LAST):
        took.setdefault(row["task"], []).append(row["duration_ms"])

    def share(name: str, percent: int) -> "timedelta | None":
        durations = took.get(name)
        return timedelta(milliseconds=nearest_rank(durations, percent)) if durations else None

    return Stats(
        Stat(row["task"], row["month"], row["runs"], row["successes"], row["met"],
             share(row["task"], 50), share(row["task"], 90))
        for row in rows(reader, BY_MONTH, key, task)
    )


def nearest_rank(ordered: "Sequence[int]", percent: int) -> int:
    """Return the percentile of values in order: the one at place ``ceil(percent / 100 * n)``.

    Examples
    --------
    >>> from mainspring._stats import nearest_rank
    >>> [nearest_rank([15, 20, 35, 40, 50], percent) for percent in (5, 30, 40, 50, 100)]
    [15, 20, 20, 35, 50]
    """
    return ordered[max(1, -(-percent * len(ordered) // 100)) - 1]


def _named(reader: "Any", dag: "Any") -> "tuple[str | None, str | None]":
    """The key of a dag and the name of a task; a dag's own name may have dots."""
    if dag is None:
        return None, None
    text = dag if isinstance(dag, str) else dag.name
    head, dot, tail = text.rpartition(".")
    choices: "list[tuple[str, str | None]]" = [(text, None)]
    if dot:
        choices.append((head, tail))
    for key, task in choices:
        if rows(reader, KNOWN, key, task):
            return key, task
    from mainspring._signature import did_you_mean

    known = reader.dags()
    known += [row["key"] for row in rows(reader, "SELECT key FROM task WHERE removed_at IS NULL")]
    hint = did_you_mean(text, known)
    raise NotFoundError(f"no dag or task {text!r} was ever run"
                        + (f"\n  hint: {hint}" if hint else ""))
