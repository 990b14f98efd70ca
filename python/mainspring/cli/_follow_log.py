"""What live attempts print, while they print it: ``mainspring logs -f``.

The process that runs an attempt writes whole lines to a file beside the database; this reads what
is new in it some times a second, from whatever process. The row says when the attempt has ended,
and what is in the file then is all. On another machine it reads what was brought to the place of
the setting `logs`, where the end of an attempt comes a little after its row has it.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mainspring._logread import Owner, StoredLog, log_file, uri_of
from mainspring._logstore import LogStoreError
from mainspring._session import rows
from mainspring._table import pad, width
from mainspring.cli._console import Console, clean, clean_block
from mainspring.cli._words import duration

if TYPE_CHECKING:
    from mainspring._mainspring import History

__all__ = ["Follower", "print_attempt", "print_end"]

STEP = 0.2
"""Seconds between two looks."""

LOOKS = 5
"""After so many looks it is asked whether the process of the run still lives."""

PATIENCE = 60.0
"""Seconds that the end of a log may come after the end of its attempt."""

CHUNK = 1 << 20
"""Bytes that are read and shown at a time."""

NAMES = 24
"""Columns that names of tasks are padded to at most."""

LINE = re.compile(rb"(\d{4}-\d\d-\d\dT[0-9:.]+Z) ([OE]) ?(.*)", re.DOTALL)

TOP = "SELECT coalesce(max(id), 0) AS id FROM attempt"
BEGUN = """
SELECT attempt.id, attempt.task_run_id, attempt.attempt_no FROM attempt
CROSS JOIN task_run
WHERE task_run.id = attempt.task_run_id AND attempt.id > ? AND attempt.id <= ?
AND task_run.run_id = ? ORDER BY attempt.id
"""
ENDED = """
SELECT id FROM attempt WHERE id IN ({}) AND outcome IS NOT NULL
"""
OPEN_RUN = "SELECT id FROM run WHERE id = ? AND finished_at IS NULL"
OPEN_TASKS = """
SELECT id FROM task_run WHERE id IN ({}) AND finished_at IS NULL
"""


class _Live:
    """An attempt that is followed, and how much of its file was shown."""

    def __init__(self, id: int, task_run: int, number: int, task: str, path: str) -> None:
        self.id, self.task_run, self.number, self.task, self.path = id, task_run, number, task, path
        self.stored: StoredLog | None = None
        self.left = PATIENCE
        self.offset = 0
        self.rest = b""
        self.shown = False

    def is_here(self) -> bool:
        """Whether its file is on this machine."""
        return self.offset > 0 or os.path.isfile(self.path)

    def lines(self, *, ended: bool) -> Iterator[bytes]:
        """What is new of it, by whole lines; when it has ended, all that is left."""
        for new in self._new():
            *whole, self.rest = (self.rest + new).split(b"\n")
            yield from whole
        if ended and self.rest:
            rest, self.rest = self.rest, b""
            yield rest

    def _new(self) -> Iterator[bytes]:
        if self.stored is not None and not self.is_here():
            yield from self.stored.new()
            return
        while True:
            try:
                if os.stat(self.path).st_size <= self.offset:
                    break
                with open(self.path, "rb") as file:
                    file.seek(self.offset)
                    new = file.read(CHUNK)
            except OSError:
                break  # nothing was printed yet, or it is on another machine
            if not new:
                break
            self.offset += len(new)
            yield new


class Follower:
    """Follows the attempts of a run.

    Parameters
    ----------
    history : History
        Where rows are read.
    database : str
        Its file, beside which the output lies.
    run : int
        The run.
    tasks : sequence of mapping
        Those of its task runs that are followed.
    console : Console
        Where to show it; with ``json`` nothing is shown.
    number : int, optional
        Only attempts of this number.
    whole : bool
        Whether these are all of the run's tasks: then it goes on until the run ends, else until
        they end.
    sleep : callable
        Waits so many seconds.
    """

    def __init__(self, history: History, database: str, run: int,
                 tasks: Sequence[Mapping[str, Any]], console: Console, *,
                 number: int | None = None, whole: bool = True,
                 sleep: Callable[[float], None] = time.sleep) -> None:
        self._history, self._database, self._run = history, database, run
        self._row: Mapping[str, Any] | None = None
        self._names = {task["id"]: task["task"] for task in tasks}
        self._others: set[int] = set()
        self._console, self._number, self._whole, self._sleep = console, number, whole, sleep
        self._live: dict[int, _Live] = {}
        self._column = 0
        if len(self._names) > 1:
            self._column = min(NAMES, max(width(clean(name)) for name in self._names.values()))
        self._told = False
        self._why: str | None = None
        self._looks = 0

    def follow(self) -> int:
        """Show the newest attempt of each task and go on until the end; the exit code."""
        seen = self._top()
        newest: dict[int, Mapping[str, Any]] = {}
        for each in self._history.attempts(run_id=self._run):
            if each["id"] <= seen and self._number in (None, each["attempt_no"]):
                has = newest.get(each["task_run_id"])
                if has is None or has["attempt_no"] < each["attempt_no"]:
                    newest[each["task_run_id"]] = each
        for row in sorted(newest.values(), key=lambda row: (row["started_at"], row["id"])):
            self._show(row)
        while True:
            # Asked first: what ended before was written before.
            over = self._over()
            top = self._top()
            # What had ended when these began comes first.
            self._read()
            if top > seen:
                for new in rows(self._history, BEGUN, seen, top, self._run):
                    self._begin(new["id"], new["task_run_id"], new["attempt_no"])
                seen = top
                self._read()
            self._console.out.flush()
            self._looks += 1
            if over and not self._live:
                return self._end()
            if not over and self._looks % LOOKS == 0 and self._is_left():
                return self._end()
            self._sleep(STEP)

    def _top(self) -> int:
        return int(rows(self._history, TOP)[0]["id"])

    def _over(self) -> bool:
        if not rows(self._history, OPEN_RUN, self._run):
            return True
        return not self._whole and not rows(self._history, OPEN_TASKS.format(_list(self._names)))

    def _is_left(self) -> bool:
        """Whether its process is gone and nobody takes it up by himself."""
        record = self._history.run(self._run)
        if record is None or record["state"] != "INTERRUPTED":
            self._told = False
            return record is None
        node = record["node"]
        if node is None or node["role"] != "scheduler":
            return True
        if not self._told:
            self._told = True
            self._console.note("its scheduler is gone; the next one goes on with it")
        return False

    def _end(self) -> int:
        record = self._history.run(self._run)
        if record is not None and self._whole:
            state = self._console.state(record["state"])
            self._line(f"run {record['id']} of {clean(record['dag'])}: {state}")
            if record["state"] == "INTERRUPTED":
                self._console.note("its process is gone; `mainspring run --resume` goes on with it")
        return 3 if record is not None and record["state"] == "INTERRUPTED" else 0

    # --- attempts ---

    def _show(self, row: Mapping[str, Any]) -> None:
        """An attempt that was there before."""
        if row["outcome"] is None:
            self._begin(row["id"], row["task_run_id"], row["attempt_no"])
            return
        live = self._made(row["id"], row["task_run_id"], row["attempt_no"])
        if live is not None:
            self._head(live)
            self._ended(live, row, look=True)

    def _made(self, id: int, task_run: int, number: int) -> _Live | None:
        self._learn(task_run)
        if task_run not in self._names or self._number not in (None, number) or id in self._live:
            return None
        path, task = log_file(self._database, self._run, task_run, number), self._names[task_run]
        made = self._live[id] = _Live(id, task_run, number, task, path)
        live = {"log_uri": None, "outcome": None, "task_run_id": task_run, "attempt_no": number}
        self._at(made, live)
        return made

    def _at(self, live: _Live, row: Mapping[str, Any]) -> None:
        """Where it is read when its file is on another machine."""
        self._row = self._row or self._history.run(self._run)
        owner = None if self._row is None else Owner(self._database, self._row, live.task)
        uri = uri_of(row, owner)
        if uri != (live.stored and live.stored.uri):
            live.stored = None if uri is None else StoredLog(uri)

    def _learn(self, task_run: int) -> None:
        """Items of a mapped task come while the run goes on."""
        if task_run in self._names or task_run in self._others:
            return
        followed = set(self._names.values())
        for row in self._history.task_runs(self._run):
            if row["id"] in self._names:
                continue
            if self._whole or row["task"].rpartition("[")[0] in followed:
                self._names[row["id"]] = row["task"]
            else:
                self._others.add(row["id"])
        self._others.add(task_run)

    def _begin(self, id: int, task_run: int, number: int) -> None:
        live = self._made(id, task_run, number)
        if live is not None:
            self._head(live)

    def _read(self) -> None:
        if not self._live:
            return
        ended = {row["id"] for row in rows(self._history, ENDED.format(_list(self._live)))}
        look = self._looks % LOOKS == 0  # a place elsewhere is not asked five times a second
        for live in list(self._live.values()):
            if live.id not in ended:
                if look or live.is_here():
                    self._print(live, ended=False)
                continue
            for row in self._history.attempts(task_run_id=live.task_run):
                if row["id"] == live.id:
                    self._ended(live, row, look=look)

    def _ended(self, live: _Live, row: Mapping[str, Any], *, look: bool) -> None:
        """Show the rest of it; where that is still on its way, it is waited for a while."""
        self._at(live, row)
        if live.stored is not None and not live.is_here():
            if look:
                self._print(live, ended=False)
            live.left -= STEP
            if not live.stored.whole and live.left > 0:
                return
            if not live.stored.whole:
                self._console.note(f"the end of this log is not at {clean(live.stored.uri)} yet")
        del self._live[live.id]
        self._finish(live, row)

    def _finish(self, live: _Live, row: Mapping[str, Any]) -> None:
        self._print(live, ended=True)
        if not live.shown and row["log_tail"]:  # its file is elsewhere, or could not be written
            for line in row["log_tail"].splitlines():
                self._line(f"{self._prefix(live.task, 'O')}{clean(line)}")
        if not self._console.json:
            print_end(live.task, row, self._console)

    # --- lines ---

    def _head(self, live: _Live) -> None:
        head = self._console.paint(f"== {clean(live.task)}", "bold")
        self._line(f"{head}  attempt {live.number}  {self._console.state('RUNNING')}")

    def _print(self, live: _Live, *, ended: bool) -> None:
        try:
            self._print_lines(live, ended=ended)
        except LogStoreError as error:
            if str(error) != self._why:  # once, and not five times a second
                self._why = str(error)
                hint = f"; {error.hint}" if error.hint else ""
                self._console.note(f"{clean(str(error))}{clean(hint)}; it is tried again")

    def _print_lines(self, live: _Live, *, ended: bool) -> None:
        for line in live.lines(ended=ended):
            live.shown = True
            found = LINE.fullmatch(line)
            stamp, stream, text = found.groups() if found else (b"", b"O", line)
            shown = "\t".join(map(clean, text.decode("utf-8", "replace").split("\t")))
            tag = stream.decode()
            if tag == "E":
                shown = self._console.paint(shown, "yellow")
            before = f"{stamp.decode()} " if self._console.verbose else ""
            self._line(f"{before}{self._prefix(live.task, tag)}{shown}")

    def _prefix(self, task: str, stream: str) -> str:
        mark = "!" if stream == "E" else "|"
        if not self._column:
            return f"{mark} "
        return f"{self._console.paint(pad(clean(task), self._column), 'cyan')} {mark} "

    def _line(self, text: str) -> None:
        self._console.line(text)


def _list(ids: Any) -> str:
    """Ids of ours as they stand in a list of SQL; one that no row has where there are none."""
    return ", ".join(map(str, map(int, ids))) or "0"


def print_attempt(task: str, row: Mapping[str, Any], log: str, console: Console) -> None:
    """An attempt with all that it printed."""
    console.line(_headline(task, row, console))
    if log:
        console.line(clean_block(log).rstrip("\n"))
    _failure(row, console)


def print_end(task: str, row: Mapping[str, Any], console: Console) -> None:
    """How an attempt ended whose output stands above."""
    console.line(_headline(task, row, console))
    _failure(row, console)


def _headline(task: str, row: Mapping[str, Any], console: Console) -> str:
    outcome = row["outcome"] or "RUNNING"
    took = "" if row["outcome"] is None else f"  {duration(row['duration_ms'] / 1000)}"
    head = console.paint(f"== {clean(task)}", "bold")
    return f"{head}  attempt {row['attempt_no']}  {console.state(outcome)}{took}"


def _failure(row: Mapping[str, Any], console: Console) -> None:
    if row["traceback"]:
        console.line(clean_block(row["traceback"]).rstrip("\n"))
    elif row["error"]:
        kind = row["error_type"] or row["error_code"] or "error"
        console.line(f"{clean(kind)}: {clean_block(row['error'])}")
