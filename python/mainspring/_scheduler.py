"""The process that stays up: loads dag files, follows them, and fires what is due.

What happens is told as events, one dict each: the core's own (runs made and moved, attempts that
failed, skips, a database that cannot be written) and those of files. Whoever runs it shows them.
"""

from __future__ import annotations

import select
import threading
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from mainspring._snapshots import Snapshots
from mainspring.errors import ConflictError, MainspringError, Problem, SpecError

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
        self._stop = threading.Event()
        self._code = Snapshots(settings.database)

    def stop(self) -> None:
        """Ask it to end; safe to call from a signal handler and twice."""
        self._stop.set()

    def run(self, *, grace: float = 30.0) -> None:
        """Stay up until :meth:`stop`.

        Parameters
        ----------
        grace : float
            Seconds that live attempts have to end by themselves; then they are interrupted, which
            costs them nothing, and the next scheduler goes on with them.
        """
        from mainspring._dagfolder import DagFolder

        core = self._lead()
        if core is None:
            return
        self.core = core
        for each in self.watchers:
            each.leads(core)
        folder = DagFolder(self.settings)
        try:
            if self.executor == "process":
                from mainspring._processes import commands

                self._code.announce()
                core.use_processes(*commands(), workers=self.slots)
            self._begin(core, folder)
            while not self._stop.is_set():
                self._wait(folder)
                for change in folder.changes():
                    self._changed(core, change)
                self._report(core)
                for each in self.watchers:
                    each.turned()
        finally:
            folder.close()
            ended(core, grace, self.tell)

    def _lead(self) -> CoreSession | None:
        """The session of the one who decides; None when it was told to stop before."""
        from mainspring._session import open_core

        waited = False
        while not self._stop.is_set():
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
        began = time.monotonic()
        loaded = folder.load_all(self._loading)
        self._forget(core, folder, loaded)
        for each in loaded:
            self._problems(each.file, each.problems)
        self._take(core, [(each.file, each.fingerprint, each.specs) for each in loaded])
        self.tell({"event": "serving", "dags": len(self.keys), "files": len(loaded),
                   "seconds": time.monotonic() - began})

    def _loading(self, done: int, total: int, loaded: Loaded) -> None:
        for each in self.watchers:
            each.files(done, total)

    def _forget(self, core: CoreSession, folder: DagFolder, loaded: Iterable[Loaded]) -> None:
        """Remove dags whose files are gone, or define them no more, since the last scheduler."""
        import os

        from mainspring._history import sql

        active = folder.active()
        broken = {each.file for each in loaded if each.problems}
        tops = tuple(os.path.join(place, "") for place in self.settings.dags)
        rows = sql("SELECT key, source_file FROM dag WHERE removed_at IS NULL "
                   "AND source_file IS NOT NULL", database=self.settings.database)
        gone = [row["key"] for row in rows
                if row["source_file"].startswith(tops) and row["key"] not in active
                and row["source_file"] not in broken]
        if gone:
            core.remove(gone)
            self.tell({"event": "removed", "dags": gone})

    def _changed(self, core: CoreSession, change: Change) -> None:
        if change.gone:
            core.remove(list(change.gone))
            for key in change.gone:
                self.keys.pop(key, None)
        self.tell({"event": f"file_{change.kind}", "file": change.file, "dags": list(change.keys),
                   "gone": list(change.gone)})
        self._problems(change.file, change.problems)
        if change.kind != "removed":
            self._take(core, [(change.file, change.fingerprint, change.specs)])

    def _take(self, core: CoreSession, files: list[tuple[str, str, list[dict[str, Any]]]]) -> None:
        """Register and serve the dags of files; one that is refused stops no other."""
        served = self._register(core, files)
        if served is None:
            served = []
            for each in files:
                served += self._register(core, [each], tell=True) or []
        if served:
            core.serve([(key, self._host(key)) for key in served])

    def _register(self, core: CoreSession, files: list[tuple[str, str, list[dict[str, Any]]]],
                  *, tell: bool = False) -> list[str] | None:
        """The keys of what was registered; None where something was refused."""
        specs = [spec for _, _, found in files for spec in found]
        if not specs:
            return []
        try:
            self._make_pools(core, specs)
            core.register(specs)
        except SpecError as error:
            if tell:
                self._problems(files[0][0], error.problems)
            return None
        for file, fingerprint, found in files:
            self.keys.update({spec["name"]: (file, fingerprint) for spec in found})
        return [spec["name"] for spec in specs]

    def _make_pools(self, core: CoreSession, specs: list[dict[str, Any]]) -> None:
        """Make the project's pools; the pools that there are stand in each definition."""
        from mainspring._session import _named_pools, history

        named = set().union(*map(_named_pools, specs))
        reader = history(self.settings.database)
        if not named or reader is None:
            return
        stored = reader.pools().keys()
        for name in (named & self.settings.pools.keys()) - stored:
            core.set_pool(name, self.settings.pools[name])
        known = sorted(self.settings.pools.keys() | stored)
        for spec in specs:
            if _named_pools(spec):
                spec["known_pools"] = known

    def _host(self, key: str) -> Any:
        file, fingerprint = self.keys[key]
        if self.executor == "process":
            return key, file, self._code.keep(file, fingerprint)
        from mainspring._project import load_file

        loaded = load_file(file)
        return next(dag for dag in loaded.dags if dag.name == key).handlers()

    def _problems(self, file: str, problems: Iterable[Problem]) -> None:
        for each in problems:
            self.tell({"event": "problem", "file": file, "code": each.code, "place": each.place,
                       "message": each.message, "hint": each.hint})

    # --- turning ---

    def _wait(self, folder: DagFolder) -> None:
        left = min(LOOK, folder.wait())
        fd = folder.fileno()
        if fd is None:
            self._stop.wait(left)
        elif not self._stop.is_set():
            select.select([fd], [], [], left)

    def _report(self, core: CoreSession) -> None:
        for news in core.news():
            self.tell(news)


def ended(core: CoreSession, grace: float, tell: Tell) -> None:
    """Let what is live end by itself for a while, then interrupt it."""
    try:
        core.drain()
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
