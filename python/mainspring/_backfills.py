"""``Backfill``: a plan that was applied, as the database remembers it."""

from mainspring._place import shown as place_of
from mainspring._session import history, location, opened, session
from mainspring._table import html_table, text_table
from mainspring._time import day, instant
from mainspring.errors import NotFoundError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date, datetime
    from typing import Any

    from mainspring._mainspring import BackfillDict, BackfillSummaryDict
    from mainspring._run import Run

STATES = ("RUNNING", "PAUSED", "SUCCESS", "FAILED", "CANCELED", "INTERRUPTED")
FINAL = ("SUCCESS", "FAILED", "CANCELED")
UNCHANGED = "UNCHANGED"
"""The code of what a reprocess left as it was; it is shown as a state."""

HEAD = ("backfill", "dag", "from", "to", "state", "runs", "by", "applied")

GRACE = 0.8
"""Seconds that handlers have to stop after Ctrl-C."""

LOOK = 0.1
"""Seconds between two looks at a backfill."""

LAST_WAIT = 0.95
"""Seconds from Ctrl-C until it is raised, whatever a handler does."""


class Backfill:
    """A plan that was applied: ``plan.apply()`` returns it, :func:`mainspring.backfills` lists it.

    It is a view of the database: while the backfill goes on, what it says is what holds now.

    Attributes
    ----------
    id : int
        Its number in its database.
    state : str
        RUNNING, PAUSED, SUCCESS, FAILED or CANCELED; INTERRUPTED where its process is gone before
        its end: ``resume()`` takes it up.

    Examples
    --------
    >>> import mainspring as ms
    >>> with ms.Dag("orders", schedule="0 2 * * *") as dag:
    ...     @ms.task
    ...     def load(biz_date) -> str:
    ...         return str(biz_date)
    >>> with ms.testing.isolated():
    ...     done = ms.backfill(dag, "2024-01-01", "2024-01-03").apply()
    ...     print(repr(done), done.counts, [run.trigger for run in done.runs])
    Backfill(1, dag='orders', state='SUCCESS') {'SUCCESS': 3} ['backfill', 'backfill', 'backfill']
    """

    def __init__(self, id: int, database: str) -> None:
        self.id = id
        self.database = database
        self._plan: "BackfillDict | None" = None

    def _reader(self) -> "Any":
        reader = history(self.database)
        if reader is None:
            raise NotFoundError(f"there is no database at {place_of(self.database)}")
        return reader

    def _row(self) -> "BackfillSummaryDict":
        from mainspring._mainspring import list_backfills

        found = next((row for row in list_backfills(self._reader()) if row["id"] == self.id), None)
        if found is None:
            raise NotFoundError(f"there is no backfill {self.id} in {place_of(self.database)}\n"
                                "  hint: ms.backfills() lists what there is")
        return found

    def _load(self) -> "BackfillDict":
        from mainspring._mainspring import read_backfill

        found = read_backfill(self._reader(), self.id)
        if found is None:
            raise NotFoundError(f"there is no backfill {self.id} in {place_of(self.database)}\n"
                                "  hint: ms.backfills() lists what there is")
        self._plan = found
        return found

    @property
    def dag(self) -> str:
        """The dag that was asked for."""
        return self._row()["dag"]

    @property
    def dags(self) -> "set[str]":
        """All dags that it has runs of."""
        return {each[0] for each in (self._plan or self._load())["sets"]}

    @property
    def state(self) -> str:
        return state_of(self._row())

    @property
    def is_decided(self) -> bool:
        """Whether it is open, and a process lives that decides for it."""
        row = self._row()
        return row["alive"] and row["state"] not in FINAL

    @property
    def from_date(self) -> "date":
        """First business date that was asked for."""
        return day(self._row()["from"])

    @property
    def to_date(self) -> "date":
        """Last business date that was asked for."""
        return day(self._row()["to"])

    @property
    def requested_by(self) -> "str | None":
        """Who applied it."""
        return self._row()["requested_by"]

    @property
    def created_at(self) -> "datetime":
        """When it was applied."""
        return instant(self._row()["created_at"], "UTC")  # type: ignore[return-value]

    @property
    def finished_at(self) -> "datetime | None":
        """When it became final."""
        return instant(self._row()["finished_at"], "UTC")

    @property
    def counts(self) -> "dict[str, int]":
        """How many of its cells are in each state."""
        counts: dict[str, int] = {}
        for _, _, state, _ in self._states():
            counts[state] = counts.get(state, 0) + 1
        return counts

    @property
    def runs(self) -> "list[Run]":
        """The runs that it has made, in the order of its plan."""
        from mainspring._run import Run

        return [Run(run, self.database) for _, _, _, run, _, _ in self._load()["runs"]
                if run is not None]

    @property
    def cells(self) -> "dict[str, dict[Any, str]]":
        """Where each cell stands: task, then business date.

        A cell without a run is PENDING while that is still to be made. NOT_STARTED is one that was
        left after a failure or a cancel, and IN_FLIGHT one that somebody else was computing when
        its turn came. Where a date has several runs, their instants stand in its place; where there
        are several dags, the tasks are ``dag.task``.
        """
        found: dict[str, dict[Any, str]] = {}
        for task, when, state, _ in self._states():
            found.setdefault(task, {})[when] = state
        return found

    def _states(self) -> "list[tuple[str, Any, str, str | None]]":
        """All cells in the order of the plan: task, date or instant, state, what else is said."""
        from mainspring._mainspring import cells_of_backfill

        plan = self._load()
        made: dict[int, dict[int, tuple[str, str | None]]] = {}
        for ordinal, task, state, code in cells_of_backfill(self._reader(), self.id):
            made.setdefault(ordinal, {})[task] = (state, code)
        several = len({each[0] for each in plan["sets"]}) > 1
        names = [f"{task['dag']}.{task['name']}" if several else task["name"]
                 for task in plan["tasks"]]
        dates = [(each[0], each[1]) for each in plan["runs"]]
        repeated = len(set(dates)) < len(dates)
        cells = []
        for ordinal, (of, text, at, _, note, _) in enumerate(plan["runs"]):
            _, tasks, zone = plan["sets"][of]
            when = instant(at, zone) if repeated else day(text)
            missing = {"RUNNING": "IN_FLIGHT", None: "PENDING"}.get(note, note) or "PENDING"
            for task in tasks:
                state, code = made.get(ordinal, {}).get(plan["tasks"][task]["task_id"],
                                                        (missing, None))
                if code == UNCHANGED and state == "SKIPPED":
                    state = UNCHANGED
                cells.append((names[task], when, state, code))
        return cells

    # Verbs

    def pause(self) -> "Backfill":
        """Make no more of its runs until :meth:`resume`; what is open goes on."""
        return self._steer("pause")

    def resume(self, *, wait: bool = True, progress: "bool | None" = None) -> "Backfill":
        """Let it go on: where it was paused or interrupted, and where its process is gone.

        Parameters
        ----------
        wait : bool, default True
            Whether to return only when it has ended, where it goes on in this process.
        progress : bool, optional
            Whether to show how far it is; by default where somebody looks.
        """
        if self.state in FINAL:
            from mainspring.errors import ConflictError

            raise ConflictError(f"backfill {self.id} has ended: it is {self.state}\n"
                                "  hint: retry() runs what failed again")
        self._steer("resume", take=True)
        if wait:
            self.wait(progress=progress)
        return self

    def cancel(self, *, grace: "float | None" = None) -> "Backfill":
        """Give it up: what is open is canceled, and the rest is NOT_STARTED."""
        return self._steer("cancel", take=True, grace=grace)

    def retry(self, *, wait: bool = True, progress: "bool | None" = None) -> "Backfill":
        """Run again what failed, with what was BLOCKED by it, and make what was NOT_STARTED."""
        self._steer("retry", take=True)
        if wait:
            self.wait(progress=progress)
        return self

    def _steer(self, what: str, *, take: bool = False, grace: "float | None" = None) -> "Backfill":
        """Do something here or ask whoever decides; ``take``: take it up where nobody does."""
        import os

        row = self._row()
        mine = row["pid"] == os.getpid() and row["alive"]
        if not mine and row["alive"]:
            from mainspring._requests import ask

            ask({"kind": "steer", "backfill": self.id, "steer": what,
                 "grace_ms": None if grace is None else int(grace * 1000)}, database=self.database)
            return self
        if not mine and not take and row["state"] not in FINAL:
            from mainspring.errors import ConflictError

            raise ConflictError(f"nobody decides for backfill {self.id}: its process is gone\n"
                                f"  hint: ms.backfills({self.id}).resume() takes it up")
        from mainspring._backfill_apply import handlers_of
        from mainspring._mainspring import steer_backfill

        here = session(self.database)
        handlers = {} if here.simulated and mine else handlers_of(here, self.dags)
        steer_backfill(here.core, self.id, handlers, what, grace)
        return self

    def wait(self, timeout: "float | None" = None, *, progress: "bool | None" = False) -> bool:
        """Wait until it has ended, or for ``timeout`` seconds, with progress.

        Ctrl-C stops a backfill of this process: nothing of it starts any more, and what is live is
        interrupted. One of another process is left alone.

        Returns
        -------
        bool
            Whether it has ended.
        """
        try:
            return self._follow(timeout, progress)
        except KeyboardInterrupt as stop:
            self._stop(stop)
            raise

    def _is_over(self, step: float) -> bool:
        """Whether it has ended; looked at for so many seconds at most."""
        import time

        from mainspring._mainspring import wait_backfill

        here = opened(self.database)
        if here is not None and not here.simulated and wait_backfill(here.core, self.id, step):
            if self._row()["state"] in FINAL:
                return True
            time.sleep(step)  # it is somebody else's
            return self._row()["state"] in FINAL
        if here is None or here.simulated:
            if self._row()["state"] in FINAL:
                return True
            time.sleep(step)
        return False

    def _follow(self, timeout: "float | None", progress: "bool | None") -> bool:
        import time

        here = opened(self.database)
        if here is not None and here.simulated:
            # Its clock stands: it goes on when that is moved.
            return self._row()["state"] in FINAL
        end = None if timeout is None else time.monotonic() + timeout
        shown = self._progress(progress)
        ended = self._is_over(0.001)
        with shown:
            while not ended:
                shown.update()
                step = LOOK if end is None else min(LOOK, max(0.0, end - time.monotonic()))
                ended = self._is_over(step)
                if not ended and (end is not None and time.monotonic() >= end
                                  or self._row()["state"] == "PAUSED"):
                    return False
        return True

    def _progress(self, progress: "bool | None") -> "Any":
        from mainspring._progress import Progress, in_notebook, on_terminal

        if progress is False or (progress is None and not (in_notebook() or on_terminal())):
            return _Quiet()
        return Progress(title=f"backfill {self.id} of {self.dag}", snapshot=self._snapshot,
                        how_to_go_on=self._how_to_go_on())

    def _snapshot(self) -> "Any":
        from mainspring._progress import Snapshot

        rows, columns, cells = self._grid()
        counts: dict[str, int] = {}
        for word, _ in cells.values():
            counts[word] = counts.get(word, 0) + 1
        running = sorted({row for (row, _), cell in cells.items() if cell[0] == "RUNNING"})[:8]
        state = self.state
        return Snapshot(counts, rows, columns, cells, running=running,
                        state="RUNNING" if state == "PAUSED" else state,
                        note="paused" if state == "PAUSED" else "")

    def _grid(self) -> "tuple[list[str], list[str], dict[tuple[str, str], tuple[str, str]]]":
        rows: dict[str, None] = {}
        columns: set[str] = set()
        cells: dict[tuple[str, str], tuple[str, str]] = {}
        for task, when, state, code in self._states():
            text = when.strftime("%Y-%m-%dT%H:%M") if hasattr(when, "hour") else when.isoformat()
            rows[task] = None
            columns.add(text)
            cells[task, text] = (state, code or state)
        return list(rows), sorted(columns), cells

    def _how_to_go_on(self) -> str:
        return f"ms.backfills({self.id}).resume() goes on"

    def _stop(self, stop: KeyboardInterrupt) -> None:
        """Stop cleanly: nothing of it starts any more, and what is live is interrupted."""
        import os
        import time

        from mainspring._launch import _note
        from mainspring._mainspring import live_of_backfill, steer_backfill
        from mainspring.errors import MainspringError

        here = opened(self.database)
        row = self._row()
        if here is None or row["pid"] != os.getpid() or row["state"] in FINAL:
            return
        began = time.monotonic()
        try:
            steer_backfill(here.core, self.id, {}, "halt", GRACE)
            while live_of_backfill(here.core, self.id) and time.monotonic() - began < LAST_WAIT:
                time.sleep(0.01)
            live = live_of_backfill(here.core, self.id)
        except KeyboardInterrupt as second:
            here.abandon()
            _note(second, f"backfill {self.id} was left while it was being stopped")
            raise second from None
        except MainspringError:
            return
        if live:
            here.abandon()
            _note(stop, f"backfill {self.id} was paused, but a task does not stop: it waits in "
                  "native code, which Python cannot interrupt")
        _note(stop, f"backfill {self.id} was paused: {self._how_to_go_on()}")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Backfill):
            return NotImplemented
        return (self.id, self.database) == (other.id, other.database)

    def __hash__(self) -> int:
        return hash((self.id, self.database, "backfill"))

    def __repr__(self) -> str:
        row = self._row()
        return f"Backfill({self.id}, dag={row['dag']!r}, state={state_of(row)!r})"

    def _title(self) -> str:
        row = self._row()
        return f"backfill {self.id} of {row['dag']}, {row['from']} to {row['to']}: {state_of(row)}"

    def __str__(self) -> str:
        from mainspring._grid import grid_text

        return grid_text(*self._grid(), title=self._title())

    def _repr_html_(self) -> str:
        from mainspring._grid import grid_html

        return grid_html(*self._grid(), title=self._title())


class _Quiet:
    """Shows nothing."""

    def update(self) -> None: ...

    def __enter__(self) -> "_Quiet":
        return self

    def __exit__(self, *_: object) -> None: ...


def state_of(row: "BackfillSummaryDict") -> str:
    """Return the state as shown: one that nobody decides for is interrupted."""
    if row["state"] not in FINAL and not row["alive"]:
        return "INTERRUPTED"
    return row["state"]


class Backfills(list[Backfill]):
    """A list of backfills that shows itself as a table."""

    def _cells(self) -> "list[list[Any]]":
        from mainspring._mainspring import list_backfills

        rows = {}
        for where in {each.database for each in self}:
            reader = history(where)
            for row in [] if reader is None else list_backfills(reader):
                rows[where, row["id"]] = row
        cells = []
        for each in self:
            row = rows[each.database, each.id]
            runs = ", ".join(f"{count} {state or 'to be made'}"
                             for state, count in sorted(row["runs"].items()))
            at = instant(row["created_at"], "UTC")
            when = "" if at is None else f"{at.astimezone():%Y-%m-%d %H:%M:%S}"
            cells.append([each.id, row["dag"], row["from"], row["to"], state_of(row), runs,
                          row["requested_by"] or "", when])
        return cells

    def __repr__(self) -> str:
        return text_table(HEAD, self._cells()) if self else "Backfills([])"

    __str__ = __repr__

    def _repr_html_(self) -> str:
        from mainspring._table import counted

        return html_table(counted(len(self), "backfill"), HEAD, self._cells())


def backfills(which: "Any" = None, *, state: "str | Sequence[str] | None" = None,
              database: "Any" = None) -> "Any":
    """Return the backfills that were applied, the newest first; with a number that one.

    Parameters
    ----------
    which : int, str or Dag, optional
        The number of one, or the dag that was asked for.
    state : str or list of str, optional
        Only in these states: RUNNING, PAUSED, SUCCESS, FAILED, CANCELED, INTERRUPTED.
    database : str or path, optional
        Where to read; default as :func:`mainspring.use` says.

    Returns
    -------
    Backfills or Backfill
        A list of :class:`Backfill`, empty where there is no database yet; one for a number.

    Raises
    ------
    NotFoundError
        When there is none of that number.

    Examples
    --------
    >>> import mainspring as ms
    >>> with ms.testing.isolated():
    ...     ms.backfills()
    Backfills([])
    """
    from mainspring._mainspring import list_backfills

    where = location(database)
    if isinstance(which, int) and not isinstance(which, bool):
        found = Backfill(which, where)
        found._row()
        return found
    reader = history(database)
    if reader is None:
        return Backfills()
    name = which if which is None or isinstance(which, str) else which.name
    wanted = [state] if isinstance(state, str) else list(state or ())
    for each in wanted:
        if each not in STATES:
            from mainspring._signature import did_you_mean

            hint = did_you_mean(each, STATES)
            hint = f"\n  hint: {hint}" if hint else ""
            raise ValueError(f"a backfill is never {each!r}{hint}")
    rows = [row for row in list_backfills(reader)
            if (name is None or row["dag"] == name) and (not wanted or state_of(row) in wanted)]
    return Backfills(Backfill(row["id"], where) for row in rows)
