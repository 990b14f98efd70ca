"""The process that stays up: loads dag files, follows them, and fires what is due.

What happens is told as events, one dict each: the core's own (runs made and moved, attempts that
failed, skips, a database that cannot be written) and those of files. Whoever runs it shows them.
"""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from mainspring._snapshots import Snapshots
from mainspring.errors import (
    ConflictError,
    MainspringError,
    NotFoundError,
    Problem,
    SpecError,
    StoreError,
    _Unreadable,
)

if TYPE_CHECKING:
    from mainspring._config import Settings
    from mainspring._dagfolder import Change, DagFolder, Loaded
    from mainspring._mainspring import Session as CoreSession

    Tell = Callable[[dict[str, Any]], None]

__all__ = ["SCOPE", "Scheduler", "Watcher", "ended"]

SCOPE = "main"
"""What the one scheduler of a database holds."""

LOOK = 0.5
"""Longest time between two looks at files and news, in seconds."""

STANDBY = 1.0
"""Seconds between two tries to take over from a scheduler that lives."""


class Watcher:
    """Somebody who looks on while a scheduler works; these do nothing."""

    def leads(self, core: CoreSession) -> None:
        """Told when it leads, before anything starts."""

    def files(self, done: int, total: int) -> None:
        """Told how many files are loaded, while it begins."""

    def turned(self) -> None:
        """Told after each of its turns, some a second."""


class Scheduler:
    """The scheduler of a project.

    Parameters
    ----------
    settings : Settings
        Those of the project.
    tell : callable
        Takes each event.
    executor : {"process", "inline"}
        Where handlers run.
    slots : int, optional
        How many attempts run at once; default as the project says.
    standby : bool
        Whether to wait for a scheduler that lives; else that is refused.
    watchers : iterable of Watcher
        Those who look on.
    """

    def __init__(self, settings: Settings, tell: Tell, *, executor: str = "process",
                 slots: int | None = None, standby: bool = False,
                 watchers: Iterable[Watcher] = ()) -> None:
        self.settings = settings
        self.tell = tell
        self.executor = executor
        self.slots = settings.slots if slots is None else slots
        self.standby = standby
        self.watchers = list(watchers)
        self.core: CoreSession | None = None
        self.keys: dict[str, tuple[str, str]] = {}
        self._stop = _Bell()
        self._code = Snapshots(settings.database)
        self._kept: dict[str, tuple[str, str]] = {}
        # What the scheduler before this one knew, while this one begins.
        self._told: dict[str, list[tuple[int, str, str]]] = {}
        self._stored: dict[str, dict[str, Any]] = {}
        self._open: set[str] = set()
        # Changes that could not be written down yet: a full disk, say.
        self._later: list[Change] = []
        self._fenced: str | None = None

    def stop(self) -> None:
        """Ask it to end; safe to call from a signal handler and twice."""
        self._stop.ring()

    def run(self, *, grace: float = 30.0) -> None:
        """Stay up until :meth:`stop`.

        Parameters
        ----------
        grace : float
            Seconds that live attempts have to end by themselves; then they are interrupted, which
            costs them nothing, and the next scheduler goes on with them.
        """
        from mainspring import _shipping
        from mainspring._dagfolder import DagFolder

        core = self._lead()
        if core is None:
            return
        self.core = core
        for each in self.watchers:
            each.leads(core)
        folder = DagFolder(self.settings)
        try:
            self._code.announce()
            if self.executor == "process":
                from mainspring._processes import commands

                core.use_processes(*commands(), workers=self.slots)
            self._begin(core, folder)
            self._told, self._stored = {}, {}
            while not self._stop.rung:
                self._wait(folder)
                self._follow(core, folder)
                self._report(core)
                if self._fenced is not None:
                    raise ConflictError(f"{self._fenced}\n  hint: `mainspring status` says which")
                for each in self.watchers:
                    each.turned()
        finally:
            core.drain()
            folder.close()
            ended(core, grace, self.tell)
            left = _shipping.end(self.settings.database)
            if left:
                self.tell({"event": "logs_left", "logs": left})

    def _lead(self) -> CoreSession | None:
        """The session of the one who decides; None when it was told to stop before."""
        from mainspring._session import open_core

        waited = False
        while not self._stop.rung:
            try:
                return open_core(self.settings.database, "scheduler", leads=SCOPE,
                                 slots=self.slots)
            except ConflictError as error:
                if not self.standby:
                    raise
                if not waited:
                    self.tell({"event": "standing_by", "why": str(error).partition("\n")[0]})
                waited = True
                self._stop.wait(STANDBY)
        return None

    # --- files ---

    def _begin(self, core: CoreSession, folder: DagFolder) -> None:
        from mainspring._history import sql

        began = time.monotonic()
        self._told = self._code.told()
        self._stored = {row["key"]: row for row in sql(
            "SELECT key, removed_at, EXISTS (SELECT 1 FROM run WHERE run.dag_id = dag.id "
            "AND run.finished_at IS NULL) AS open FROM dag", database=self.settings.database)}
        self._open = {key for key, row in self._stored.items() if row["open"]}
        loaded = folder.load_all(self._loading)
        for each in loaded:
            self._problems(each.file, each.problems)
        keys = self._registered(core, [(each.file, each.fingerprint, each.specs)
                                       for each in loaded])
        rest = self._last_good(core, folder, {each.file for each in loaded if each.problems})
        # All at once: what was asked meanwhile is decided when the first of them is served.
        self._serve(core, keys, rest)
        self.tell({"event": "serving", "dags": len(self.keys), "files": len(loaded),
                   "seconds": time.monotonic() - began})

    def _loading(self, done: int, total: int, loaded: Loaded) -> None:
        for each in self.watchers:
            each.files(done, total)

    def _last_good(self, core: CoreSession, folder: DagFolder,
                   broken: set[str]) -> list[tuple[str, Any]]:
        """Dags that the scheduler before had and no file defines now, and who calls them.

        Those of files that are broken keep their last good definitions. The others are gone;
        their runs that are open are finished.
        """
        tops = tuple(os.path.join(place, "") for place in self.settings.dags)
        rest, gone = [], []
        for key, told in self._told.items():
            row, (_, file, version) = self._stored.get(key), told[-1]
            if row is None or key in self.keys or not file.startswith(tops):
                continue
            if row["removed_at"] is None and file not in broken and key not in folder.active():
                gone.append(key)
            if row["open"] or (row["removed_at"] is None and file in broken):
                rest.append((key, file, version))
        if gone:
            core.remove(gone)
            self.tell({"event": "removed", "dags": gone})
        hosts = []
        for key, file, version in rest:
            try:
                hosts.append((key, self._host(key, file, version, kept=True)))
            except (MainspringError, OSError) as error:
                self._unreadable(key, file, error)
        return hosts

    def _unreadable(self, key: str, file: str, error: Exception) -> None:
        self._problems(file, [Problem("unreadable", key, str(error).partition("\n")[0])])

    def _changed(self, core: CoreSession, change: Change) -> None:
        if change.gone:
            core.remove(list(change.gone))
            for key in change.gone:
                self.keys.pop(key, None)
        self.tell({"event": f"file_{change.kind}", "file": change.file, "dags": list(change.keys),
                   "gone": list(change.gone)})
        self._problems(change.file, change.problems)
        if change.kind != "removed":
            # What broke stays as it was: the file has no code for it any more.
            specs = [spec for spec in change.specs if spec["name"] not in change.kept
                     and not self._is_served(spec["name"], change.file, change.fingerprint)]
            self._serve(core, self._registered(
                core, [(change.file, change.fingerprint, specs)]))

    def _is_served(self, key: str, file: str, fingerprint: str) -> bool:
        return self.keys.get(key) == (file, fingerprint)

    def _serve(self, core: CoreSession, keys: Iterable[str],
               rest: Iterable[tuple[str, Any]] = ()) -> None:
        """Serve dags that are registered, with the code that their files have now."""
        hosts, now = list(rest), []
        for key in keys:
            try:
                its = self._version(key)
                hosts.append((key, self._host(key, *its)))
            except (MainspringError, OSError) as error:  # changed or gone since it was loaded
                self._unreadable(key, self.keys.pop(key)[0], error)
                continue
            if its != self._last(key):
                now.append((key, *its))
        core.serve(hosts, self._older(key for key, _ in hosts))
        self._code.tell(now)

    def _registered(self, core: CoreSession,
                    files: list[tuple[str, str, list[dict[str, Any]]]]) -> list[str]:
        """Register the dags of files; one that is refused stops no other."""
        keys = self._register(core, files)
        if keys is not None:
            return keys
        # One that waits for a dag of another file is refused until that is there.
        left, keys, went_on = list(files), [], True
        while left and went_on:
            refused = []
            for each in left:
                found = self._register(core, [each])
                keys += found or []
                refused += [each] if found is None else []
            went_on, left = len(refused) < len(left), refused
        return keys + [key for each in left
                       for key in self._register(core, [each], tell=True) or []]

    def _register(self, core: CoreSession, files: list[tuple[str, str, list[dict[str, Any]]]],
                  *, tell: bool = False) -> list[str] | None:
        """The keys of what was registered; None where something was refused."""
        specs = [spec for _, _, found in files for spec in found]
        if not specs:
            return []
        from mainspring._session import history, make_shared

        try:
            make_shared(core, history(self.settings.database), self.settings, specs)
            core.register(specs)
        except SpecError as error:
            if tell:
                self._problems(files[0][0], error.problems)
            return None
        except _Unreadable as error:  # what is stored of one of them
            if tell:
                self._unreadable(", ".join(spec["name"] for spec in specs), files[0][0], error)
            return None
        for file, fingerprint, found in files:
            self.keys.update({spec["name"]: (file, fingerprint) for spec in found})
        return [spec["name"] for spec in specs]

    def _version(self, key: str) -> tuple[str, str]:
        """The file of a dag, and what its content is known by, of which a copy is kept."""
        file, fingerprint = self.keys[key]
        if self._kept.get(file, ("", ""))[0] != fingerprint:
            self._kept[file] = fingerprint, self._code.keep(file, fingerprint)
        return file, self._kept[file][1]

    def _host(self, key: str, file: str, version: str, *, kept: bool = False) -> Any:
        """Who calls the handlers of a dag: of its file as it is, or of a kept copy."""
        if self.executor == "process":
            return key, file, version
        from mainspring._project import load_file
        from mainspring._snapshots import kept_source

        loaded = load_file(file, source=kept_source(version) if kept else None)
        for dag in loaded.dags:
            if dag.name == key:
                return dag.handlers()
        raise NotFoundError(f"{file} as it was has no dag {key}")

    # --- what was there before ---

    def _last(self, key: str) -> tuple[str, str] | None:
        told = self._told.get(key)
        return told[-1][1:] if told else None

    def _older(self, keys: Iterable[str]) -> dict[str, list[tuple[int, Any]]]:
        """Who calls handlers of runs that are open since before this scheduler: until when, who."""
        found: dict[str, list[tuple[int, Any]]] = {}
        for key in self._open.intersection(keys):
            self._open.discard(key)
            told = self._told.get(key, [])
            ends = [since for since, _, _ in told[1:]] + [time.time_ns() // 1000]
            for (_, file, version), until in zip(told, ends, strict=True):
                try:
                    host = self._host(key, file, version, kept=True)
                except (MainspringError, OSError):
                    continue  # runs as what came after it
                found.setdefault(key, []).append((until, host))
        return found

    def _problems(self, file: str, problems: Iterable[Problem]) -> None:
        for each in problems:
            self.tell({"event": "problem", "file": file, "code": each.code, "place": each.place,
                       "message": each.message, "hint": each.hint})

    # --- turning ---

    def _follow(self, core: CoreSession, folder: DagFolder) -> None:
        waiting, self._later = self._later, []
        for change in [*waiting, *folder.changes()]:
            try:
                self._changed(core, change)
            except StoreError as error:
                if change not in waiting:
                    self.tell({"event": "error", "message": str(error)})
                self._later.append(change)

    def _wait(self, folder: DagFolder) -> None:
        fd = folder.fileno()
        self._stop.wait(min(LOOK, folder.wait()), *(() if fd is None else (fd,)))

    def _report(self, core: CoreSession) -> None:
        from mainspring import _shipping

        for news in core.news():
            self.tell(news)
            if news["event"] == "fenced":
                self._fenced = str(news["why"])
        for news in _shipping.news(self.settings.database):
            self.tell(news)


class _Bell:
    """What somebody waits for who also waits for files; a signal handler may ring it.

    An event of `threading` has a lock, which the handler would find taken by its own thread.
    """

    def __init__(self) -> None:
        self.rung = False
        self._ear, self._rope = os.pipe()
        for fd in (self._ear, self._rope):
            os.set_blocking(fd, False)

    def ring(self) -> None:
        self.rung = True
        with suppress(OSError):  # it is full: it was rung often enough
            os.write(self._rope, b"!")

    def wait(self, seconds: float, *fds: int) -> None:
        """Wait until it rings, one of these is readable, or the time is over."""
        if not self.rung:
            select.select([self._ear, *fds], [], [], seconds)

    def __del__(self) -> None:
        os.close(self._ear)
        os.close(self._rope)


def ended(core: CoreSession, grace: float, tell: Tell) -> None:
    """Let what is live end by itself for a while, then interrupt it."""
    try:
        core.drain()
        live = core.load()["live"]
        if live:
            tell({"event": "finishing", "attempts": live, "seconds": grace})
        end = time.monotonic() + grace
        while time.monotonic() < end and core.load()["live"]:
            time.sleep(0.02)
            for news in core.news():
                tell(news)
        left = core.load()["live"]
        if left:
            tell({"event": "interrupting", "attempts": left})
    except MainspringError as error:
        tell({"event": "error", "message": str(error)})
    core.close(grace=5.0)
    for news in core.news():
        tell(news)
    tell({"event": "stopped"})
