"""``ms.history``: what was remembered as a table that pandas, polars, DuckDB and pyarrow read."""

from mainspring._session import history as reader_of
from mainspring._table import clip, counted, duration, html_table, text_table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import date, datetime, timedelta
    from typing import Any, Literal

    Bound = date | datetime | timedelta | str

FIRST_ROWS = 10
"""Rows of a table as text; HTML shows a few more."""

# A screen has no room for all.
SHOWN = {
    "attempt": ("run_id", "dag", "task", "map_index", "attempt_no", "biz_date", "outcome",
                "queue_time", "duration", "error_code"),
    "task_run": ("run_id", "dag", "task", "map_index", "biz_date", "state", "attempts",
                 "queue_time", "duration", "code"),
    "run": ("run_id", "dag", "trigger", "biz_date", "state", "tasks", "duration"),
}
MOST_COLUMNS = 10


class History:
    """Rows of the past as columns; :func:`mainspring.history` returns it.

    It is a value: what happens later does not change it. pyarrow, polars, DuckDB and pandas take
    its columns as they are, by the Arrow C stream interface: ``polars.DataFrame(table)``,
    ``pyarrow.table(table)``, or the name of the variable in a query of DuckDB.

    Attributes
    ----------
    columns : list of str
        Names of its columns.
    level : str
        What a row is: ``attempt``, ``task_run`` or ``run``.

    Examples
    --------
    >>> import mainspring as ms
    >>> with ms.testing.isolated():
    ...     _ = ms.Dag.from_graph("abc", ["a", "b"]).run("2013-01-15")
    ...     table = ms.history("abc", level="task_run", columns=["task", "biz_date", "state"])
    >>> table
    2 task runs, 3 columns
    task  biz_date    state
    b     2013-01-15  SUCCESS
    a     2013-01-15  SUCCESS
    >>> import pyarrow
    >>> pyarrow.table(table).num_rows
    2
    """

    __slots__ = ("_core", "_kinds", "level")

    def __init__(self, core: "Any", level: str) -> None:
        self._core = core
        self.level = level
        self._kinds: "list[tuple[str, str]]" = core.kinds()

    @property
    def columns(self) -> "list[str]":
        return [name for name, _ in self._kinds]

    def __len__(self) -> int:
        return len(self._core)

    def __arrow_c_schema__(self) -> object:
        """Return its schema, by the Arrow C data interface."""
        return self._core.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return its rows, by the Arrow C stream interface; as often as it is asked for."""
        return self._core.__arrow_c_stream__(requested_schema)

    def to_arrow(self) -> "Any":
        """Return it as a ``pyarrow.Table``, which shares its memory."""
        return _package("pyarrow").table(self)

    def to_polars(self) -> "Any":
        """Return it as a ``polars.DataFrame``."""
        return _package("polars").DataFrame(self)

    def to_pandas(self) -> "Any":
        """Return it as a ``pandas.DataFrame``.

        Dags, tasks and states are categories, whole numbers that may be missing ``Int64`` or
        ``Int32``. pandas reads Arrow by pyarrow, so both are needed.
        """
        pandas, arrow = _package("pandas"), _package("pyarrow")
        table = arrow.table(self)
        whole = {arrow.int32(): pandas.Int32Dtype(), arrow.int64(): pandas.Int64Dtype()}
        frame = table.to_pandas(types_mapper=whole.get, date_as_object=False)
        return frame.astype({field.name: str(field.type) for field in table.schema
                             if field.type in whole and not field.nullable})

    def documents(self) -> "Iterator[dict[str, Any]]":
        """Iterate over its rows as JSON has them, without any other package.

        Instants are ISO 8601 text in UTC, lengths of time seconds.
        """
        shown: "list[Callable[[Any], Any] | None]" = [_DOCUMENT.get(kind)
                                                      for _, kind in self._kinds]
        names = self.columns
        for start in range(0, len(self), 1000):
            for row in self._core.cells(start, 1000):
                yield {name: cell if cell is None or change is None else change(cell)
                       for name, cell, change in zip(names, row, shown, strict=True)}

    def screen(self, most: int) -> "tuple[list[str], list[list[str]]]":
        """Return what a screen has room for: names of columns, and the newest rows."""
        places = list(range(len(self._kinds)))
        if len(places) > MOST_COLUMNS:
            known = {name: place for place, (name, _) in enumerate(self._kinds)}
            chosen = [known[name] for name in SHOWN[self.level] if name in known]
            places = chosen or places[:MOST_COLUMNS]
        kinds = [self._kinds[place][1] for place in places]
        rows = [[_shown(kind, row[place]) for kind, place in zip(kinds, places, strict=True)]
                for row in self._core.cells(0, most)]
        return [self._kinds[place][0] for place in places], rows

    def _title(self) -> str:
        columns = counted(len(self._kinds), "column")
        noun = self.level.replace("_", " ")
        rows = f"{len(self):,} {noun}{'' if len(self) == 1 else 's'}"
        return f"{rows}, {columns}"

    def __repr__(self) -> str:
        head, rows = self.screen(FIRST_ROWS)
        lines = [self._title(), text_table(head, rows)]
        if len(self) > len(rows):
            lines.append(f"... {len(self) - len(rows):,} more")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        head, rows = self.screen(2 * FIRST_ROWS)
        more = len(self) - len(rows)
        title = self._title() + (f"; the newest {len(rows)}" if more else "")
        return html_table(title, head, rows)


def history(
    dag: "Any" = None,
    *,
    level: "Literal['attempt', 'task_run', 'run']" = "attempt",
    task: "str | Sequence[str] | None" = None,
    since: "Bound | None" = None,
    until: "Bound | None" = None,
    outcome: "str | Sequence[str] | None" = None,
    state: "str | Sequence[str] | None" = None,
    trigger: "str | Sequence[str] | None" = None,
    columns: "str | Sequence[str] | None" = None,
    limit: "int | None" = None,
    now: "datetime | None" = None,
    database: "Any" = None,
) -> History:
    """Return attempts, task runs or runs as a table, the newest first.

    pandas, polars, DuckDB and pyarrow read the table as it is. All of it is of one moment, also
    while the scheduler writes.

    Parameters
    ----------
    dag : str or Dag, optional
        Only of this dag, or of one task of it, as ``"dag.task"``.
    level : {"attempt", "task_run", "run"}
        What a row is.
    task : str or list of str, optional
        Only of tasks with these names; not with ``level="run"``.
    since, until : date, datetime, timedelta or str, optional
        A date, or text such as ``"2013-01-15"``, is a business date; both are inclusive. A length
        of time, such as ``"30d"``, is that long before now. It and a datetime, naive in the
        project's zone, say when an attempt began, or when a task run or run was made: then or
        later, and before ``until``.
    outcome : str or list of str, optional
        Only attempts that ended so; RUNNING are those that have not.
    state : str or list of str, optional
        Only task runs, or runs, in these states.
    trigger : str or list of str, optional
        Only of runs made so: ``schedule``, ``manual``, ``backfill`` and so on.
    columns : str or list of str, optional
        Only these columns, in this order; fewer are read sooner.
    limit : int, optional
        At most so many, the newest.
    now : datetime, optional
        What lengths of time count from; default is the clock, in a simulated world its own.
    database : str or path, optional
        Where to read; default as :func:`mainspring.use` says.

    Returns
    -------
    History
        Empty, with all its columns, where there is no database yet.

    Raises
    ------
    NotFoundError
        When there is no such dag or task.
    SpecError
        When a column or a word is not known, or the range is the wrong way round.

    Examples
    --------
    >>> import mainspring as ms
    >>> with ms.testing.isolated():
    ...     _ = ms.Dag.from_graph("abc", ["a", "b"]).run("2013-01-15")
    ...     ms.history("abc", since="1h", columns=["task", "attempt_no", "outcome"])
    2 attempts, 3 columns
    task  attempt_no  outcome
    b     1           SUCCESS
    a     1           SUCCESS
    """
    from mainspring._asked import asked

    found = asked(level=level, task=task, since=since, until=until, outcome=outcome, state=state,
                  trigger=trigger, columns=columns, limit=limit, now=now, database=database)
    reader = reader_of(database)
    if reader is None:
        from mainspring._mainspring import History as Reader

        # Nothing is found there, and what is asked wrongly is said there too.
        return History(Reader(":memory:").columns(level, **found), level)
    from mainspring._asked import narrowed

    return History(reader.columns(level, **narrowed(reader, level, dag, found)), level)


def _package(name: str) -> "Any":
    from importlib import import_module

    try:
        return import_module(name)
    except ModuleNotFoundError:
        from mainspring._moment import refuse

        refuse("missing_package", "", f"this needs {name}, which is not installed",
               f"pip install {name}")


def _iso(micros: int) -> str:
    from datetime import datetime, timedelta, timezone

    at = datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(microseconds=micros)
    return at.isoformat()


_DOCUMENT: "dict[str, Callable[[Any], Any]]" = {
    "instant": _iso, "span": lambda micros: micros / 1_000_000, "flag": bool}


def _shown(kind: str, cell: "Any") -> str:
    if cell is None:
        return "-"
    if kind == "span":
        return duration(cell / 1_000_000)
    if kind == "instant":
        return _iso(cell)[:19].replace("T", " ")
    if kind == "flag":
        return "yes" if cell else "no"
    return clip(cell, 40)
