"""Brings the output of attempts from the files of this machine to where all machines read it.

The core writes each log to a file, and beside that a mark that says where it is to go. So nothing
here can hold up a task: what is not brought yet waits in its file, however long the place is away,
and whoever has the database next goes on from the marks. One process at a time does it for the
files of a database.
"""

from __future__ import annotations

import gzip
import json
import os
import threading
import time
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from mainspring._logstore import END, PART, LogStoreError, open_log_store, part_name, root_of
from mainspring._place import files_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mainspring._logstore import LogStore

__all__ = ["Mark", "Shipper", "behind", "folder_of"]

EVERY = 2.0
"""Seconds after which a part that grows is written again."""

LOOK = 0.5
"""Seconds between two looks at what is new."""

AT_ONCE = 8
"""Parts of one attempt that are brought before the others have their turn."""

BACK_OFF = (1.0, 60.0)
"""Seconds until a place that failed is tried again: the first time, and at most."""

SWEEP = 60.0
"""Seconds between two looks for files that were kept long enough."""

TURN = 5.0
"""Seconds for logs of attempts that have ended, until live ones are looked at again."""

HOUR = 3600
"""Marks of what was brought are in a folder for each hour, so that nobody reads them all."""


class Mark(NamedTuple):
    """What is known of a log that is to be brought somewhere."""

    run: int
    task_run: int
    attempt: int
    uri: str
    start: int = 0
    """Where the part begins that is still growing."""
    sent: int = 0
    """Bytes that are there."""

    @property
    def name(self) -> str:
        """The name of its file."""
        return f"{self.run}-{self.task_run}-{self.attempt}"

    def log(self, folder: str) -> str:
        """The file with the output."""
        return os.path.join(folder, str(self.run), f"{self.task_run}-{self.attempt}.log")


def folder_of(database: str) -> str:
    """The logs of a database on this machine."""
    return os.path.join(files_of(database), "logs")


class Shipper:
    """Brings what is new, in turns.

    Parameters
    ----------
    folder : str
        The logs of a database on this machine.
    live : callable
        Takes pairs of task run and attempt number, gives back those that live.
    keep : float
        Seconds that a file stays here after it was brought.
    now : callable
        The time in seconds; it may stand in a test.
    open_store : callable
        Opens the place of a URI.
    """

    def __init__(self, folder: str, live: Callable[[list[tuple[int, int]]], set[tuple[int, int]]],
                 *, keep: float, now: Callable[[], float] = time.time,
                 open_store: Callable[[str], LogStore] = open_log_store) -> None:
        self._folder, self._live, self._keep = folder, live, keep
        self._now, self._open = now, open_store
        self._pending = os.path.join(folder, "pending")
        self._sent = os.path.join(folder, "sent")
        self._lock: int | None = None
        self._put_at: dict[str, float] = {}
        self._failed: dict[str, tuple[float, float]] = {}  # place: tried again at, waited before
        self._roots: set[str] = set()
        self._swept = 0.0
        self._why: dict[str, dict[str, Any]] = {}
        self.news: deque[dict[str, Any]] = deque(maxlen=1000)
        self._bell = threading.Event()
        self._ends = False
        self._thread: threading.Thread | None = None

    # --- the thread ---

    def start(self) -> None:
        """Work in a thread of its own until `close`."""
        self._thread = threading.Thread(target=self._work, name="mainspring-logs", daemon=True)
        self._thread.start()

    def close(self, at_most: float = 10.0) -> int:
        """Bring what is left, for so many seconds at most; how many logs are left after it."""
        self._ends = True
        self._bell.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        end = time.monotonic() + at_most
        while self._turn_safely(last=True) and time.monotonic() < end:
            pass
        left = len(list(self._marks())) if self._lock is not None else 0
        self._let_go()
        return left

    def _work(self) -> None:
        while not self._ends:
            more = self._turn_safely()
            self._bell.wait(0.0 if more else LOOK)

    def _turn_safely(self, *, last: bool = False) -> bool:
        try:
            more = self.turn(last=last)
            if self._why.pop("this machine", None) is not None:
                self._tell()
            return more
        except Exception as error:  # noqa: BLE001 - a full disk, a locked database, a fault of ours
            self._say("this machine", f"{type(error).__name__}: {error}", None)
            return False

    # --- a turn ---

    def turn(self, *, last: bool = False) -> bool:
        """Bring what is new; whether there is more to bring at once.

        Parameters
        ----------
        last : bool
            Whether also what is not worth a request yet is brought.
        """
        began = self._now()
        if not self._take() or (self._roots and all(map(self._rests, self._roots))):
            return False
        marks = list(self._marks())
        self._roots = {root_of(mark.uri) for mark in marks}
        # Asked before the files are looked at: what has ended by then has written all.
        live = self._live([(mark.task_run, mark.attempt) for mark in marks]) if marks else set()
        marks.sort(key=lambda mark: (mark.task_run, mark.attempt) not in live)  # somebody looks on
        more = False
        for mark in marks:
            lives, root = (mark.task_run, mark.attempt) in live, root_of(mark.uri)
            if (self._ends and not last) or (not lives and self._now() - began > TURN):
                more = True
                break
            if self._rests(root):
                continue
            try:
                more |= self._bring(mark, lives, last)
            except LogStoreError as error:
                before = self._failed.get(root, (0.0, 0.0))[1]
                wait = min(BACK_OFF[1], before * 2 or BACK_OFF[0])
                self._failed[root] = (self._now() + wait, wait)
                self._say(root, str(error), error.hint)
        if self._now() - self._swept >= SWEEP:
            self._sweep()
        return more

    def _rests(self, root: str) -> bool:
        """Whether a place has failed and is not tried yet."""
        return self._failed.get(root, (0.0, 0.0))[0] > self._now()

    def _bring(self, mark: Mark, live: bool, last: bool) -> bool:
        try:
            size = os.stat(mark.log(self._folder)).st_size
        except FileNotFoundError:
            if not live:  # somebody removed it, or the process died between the mark and the file
                self._done(mark)
            return False
        fresh = self._now() - self._put_at.get(mark.name, 0.0) < EVERY
        if size > mark.sent and live and fresh and not last and size - mark.start < PART:
            return False  # soon
        if size == mark.sent and live:
            return False
        store = self._open(mark.uri)
        with open(mark.log(self._folder), "rb") as file:
            for _ in range(AT_ONCE):
                if mark.sent >= size:
                    break
                file.seek(mark.start)
                data = file.read(min(PART, size - mark.start))
                store.put(part_name(mark.start), gzip.compress(data, 6, mtime=0))
                whole = len(data) == PART
                mark = mark._replace(start=mark.start + (PART if whole else 0),
                                     sent=mark.start + len(data))
                self._put_at[mark.name] = self._now()
                self._write(mark)
                self._recovered(root_of(mark.uri))
        if mark.sent < size:
            return True
        if not live:
            store.put(END, json.dumps({"bytes": mark.sent}).encode())
            self._done(mark)
            self._recovered(root_of(mark.uri))
        return False

    def _done(self, mark: Mark) -> None:
        hour = os.path.join(self._sent, str(int(self._now() // HOUR)))
        os.makedirs(hour, mode=0o700, exist_ok=True)
        os.replace(os.path.join(self._pending, mark.name), os.path.join(hour, mark.name))
        self._put_at.pop(mark.name, None)

    def _sweep(self) -> None:
        """Remove files that were brought and kept long enough."""
        self._swept = now = self._now()
        hours = os.listdir(self._sent) if os.path.isdir(self._sent) else []
        for hour in filter(str.isdecimal, hours):
            over = (int(hour) + 1) * HOUR + self._keep <= now
            if not over and int(hour) < now // HOUR - 1:
                continue
            folder = os.path.join(self._sent, hour)
            for mark in _read_marks(folder):
                path, log = os.path.join(folder, mark.name), mark.log(self._folder)
                with suppress(FileNotFoundError):
                    if os.stat(log).st_size > mark.sent:
                        # An attempt that was given up went on printing.
                        os.replace(path, os.path.join(self._pending, mark.name))
                    elif over:
                        os.unlink(log)
                        os.unlink(path)
                        with suppress(OSError):  # others are in it
                            os.rmdir(os.path.dirname(log))
            if over:
                with suppress(OSError):
                    for name in os.listdir(folder):  # of files that somebody else removed
                        os.unlink(os.path.join(folder, name))
                    os.rmdir(folder)

    # --- what is on the disk ---

    def _marks(self) -> Iterator[Mark]:
        return _read_marks(self._pending)

    def _write(self, mark: Mark) -> None:
        _replace(os.path.join(self._pending, mark.name),
                 f"{mark.uri}\n{json.dumps({'start': mark.start, 'sent': mark.sent})}\n")

    def _take(self) -> bool:
        """Whether it is us who does it for these files."""
        if self._lock is not None:
            return True
        if not os.path.isdir(self._folder):
            return False  # nothing was printed yet
        import fcntl

        lock = os.open(os.path.join(self._folder, "shipper.lock"), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock)
            return False
        self._lock = lock
        self._tell()
        return True

    def _let_go(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    # --- what is told ---

    def _say(self, root: str, why: str, hint: str | None) -> None:
        known = self._why.get(root)
        if known is None:
            self.news.append({"event": "logs_wait", "place": root, "why": why, "hint": hint})
        self._why[root] = {"why": why, "hint": hint,
                           "since": self._now() if known is None else known["since"]}
        self._tell()

    def _recovered(self, root: str) -> None:
        self._failed.pop(root, None)
        told = self._why.pop(root, None)
        if told is not None:
            self.news.append({"event": "logs_go_on", "place": root})
            self._tell()

    def _tell(self) -> None:
        """For `mainspring status`, which is another process."""
        with suppress(OSError):
            _replace(os.path.join(self._folder, "shipper.json"), json.dumps(self._why))


def behind(database: str, now: Callable[[], float] = time.time) -> dict[str, Any]:
    """How much output of this machine is not where it is to go: attempts, bytes, since when, why.

    Examples
    --------
    >>> from mainspring._shipper import behind
    >>> behind("/nowhere/shop.db")
    {'attempts': 0, 'bytes': 0, 'seconds': 0.0, 'why': []}
    """
    folder = folder_of(database)
    at = now()
    attempts, size, since = 0, 0, at
    for mark in _read_marks(os.path.join(folder, "pending")):
        with suppress(OSError):
            left = os.stat(mark.log(folder)).st_size - mark.sent
            if left > 0:
                attempts, size = attempts + 1, size + left
                # Written when something of it was brought, and when it began.
                since = min(since, os.stat(os.path.join(folder, "pending", mark.name)).st_mtime)
    why: list[dict[str, Any]] = []
    if attempts:
        with suppress(OSError, ValueError):
            with open(os.path.join(folder, "shipper.json"), encoding="utf-8") as file:
                why = [{"place": place, **told} for place, told in json.load(file).items()]
    return {"attempts": attempts, "bytes": size, "seconds": max(0.0, at - since), "why": why}


def _read_marks(folder: str) -> Iterator[Mark]:
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return
    for ids, name in sorted((ids, name) for name in names if (ids := _ids(name)) is not None):
        try:
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                uri, _, rest = file.read().partition("\n")
            told = json.loads(rest) if rest.strip() else {}
            mark = Mark(*ids, uri, int(told.get("start", 0)), int(told.get("sent", 0)))
        except (OSError, ValueError, AttributeError):
            continue  # gone meanwhile, or being written
        if uri:
            yield mark


def _ids(name: str) -> tuple[int, int, int] | None:
    parts = name.split("-")
    if len(parts) != 3 or not all(part.isascii() and part.isdigit() for part in parts):
        return None
    run, task_run, attempt = map(int, parts)
    return run, task_run, attempt


def _replace(path: str, text: str) -> None:
    partial = f"{path}.partial"
    with open(partial, "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(partial, path)
