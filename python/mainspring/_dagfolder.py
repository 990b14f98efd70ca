"""The dag files of a project, loaded and followed: what the scheduler asks.

    folder = DagFolder(settings)
    for loaded in folder.load_all():        # waits for all; progress(done, total, loaded)
        ...                                 # loaded.specs, loaded.problems
    while serving:
        for change in folder.changes():     # never waits; ask some times a second
            ...                             # register change.specs, let go of change.gone
    folder.close()

`load_all` gives a `Loaded` for each file: ``file``, ``fingerprint``, ``specs``, ``problems`` and
more (`mainspring._loader`). Its ``specs`` are those that hold: where two files define one dag, the
second has a problem instead. `changes` gives a `Change` (`mainspring._follow`) for each file that
is different now: ``kind``, ``file``, ``fingerprint``, ``specs``, ``keys``, ``gone``, ``problems``,
``notes``. Runs of what is gone are for the scheduler to finish, on their version.

Nothing here raises because of what a file does. It is not meant for several threads at once.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mainspring._folder import Folders, Stamp, stamp
from mainspring._follow import Change, Tracker
from mainspring._loader import Loaded, Loader
from mainspring._notice import Notice
from mainspring.errors import Problem

if TYPE_CHECKING:
    from mainspring._config import Settings

__all__ = ["Change", "DagFolder", "Loaded"]

REGULAR = 10.0
"""Seconds between looks where the kernel tells of changes: for those that it does not see."""

BLIND = 0.5
"""Seconds between looks where it does not, or does not see all folders."""

SHARE = 0.0005
"""Part of a core that regular looks may cost, ten times that where only looking helps; with very
many files they become rarer."""


class DagFolder:
    """The dag files of a project.

    Parameters
    ----------
    project : Settings, optional
        Settings of the project; those of this process by default.
    parallel : int, default 2
        How many files are loaded at a time.
    clock : callable, optional
        Seconds, never going back.
    notice : Notice, optional
        Who tells of changes; the kernel by default.

    Examples
    --------
    >>> import mainspring as ms
    >>> from mainspring._config import load_settings
    >>> from mainspring._dagfolder import DagFolder
    >>> with ms.testing.isolated() as folder:
    ...     _ = (folder / "letters.py").write_text(
    ...         "import mainspring as ms\\nms.Dag.from_graph('letters', 'ab')\\n")
    ...     project = load_settings({"project": str(folder), "dags": [str(folder)]})
    ...     dags = DagFolder(project)
    ...     print([loaded.keys for loaded in dags.load_all()], dags.changes())
    ...     dags.close()
    [['letters']] []
    """

    def __init__(
        self,
        project: Settings | None = None,
        *,
        parallel: int = 2,
        clock: Callable[[], float] = time.monotonic,
        notice: Notice | None = None,
    ) -> None:
        from mainspring._config import settings
        from mainspring._project import shown_path

        self.project = settings() if project is None else project
        self._clock = clock
        self._folders = Folders(self.project.dags, self.project.root)
        self._tracker = Tracker(shown_path)
        self._loader = Loader(self.project, parallel=parallel)
        self._notice = Notice() if notice is None else notice
        self._known: dict[str, Stamp] = {}
        self._began: dict[str, int] = {}
        self._hinted = False
        self._last = self._next = 0.0
        self.cost = 0.0

    # --- the verbs ---

    def load_all(
        self, progress: Callable[[int, int, Loaded], Any] | None = None
    ) -> list[Loaded]:
        """Load every file there is, and wait for that.

        Parameters
        ----------
        progress : callable, optional
            Called with (files done, files in all, what was loaded) after each.

        Returns
        -------
        list of Loaded
            In the order of the files.
        """
        settle, self._tracker.settle = self._tracker.settle, 0.0
        try:
            wanted, _ = self._look(self._clock())
        finally:
            self._tracker.settle = settle
        found: dict[str, Loaded] = {}
        while len(found) < len(wanted):
            for loaded in self._loader.results(0.2):
                found[loaded.file] = loaded
                if progress is not None:
                    progress(len(found), len(wanted), loaded)
        # Taken in their order, however they came, so that the first of two has the dag.
        told: dict[str, Change] = {}
        now = self._clock()
        for file in wanted:
            for change in self._tracker.loaded(now, found[file], self._began.pop(file, 0)):
                told[change.file] = change
        self._watch()
        return [_held(found[file], told.get(file)) for file in wanted]

    def changes(self) -> list[Change]:
        """What is different since the last question; never waits for a file."""
        now = self._clock()
        changes: list[Change] = []
        came = False
        for loaded in self._loader.results():
            came = True
            changes += self._tracker.loaded(now, loaded, self._began.pop(loaded.file, 0))
        self._hinted |= self._notice.woken()
        due = now >= self._next or (self._hinted and now - self._last >= self._pause())
        if due:
            changes += self._look(now)[1]
        if due or came:
            self._watch()
            self._plan(now, again=came)
        if not self._loader.busy:
            self._loader.trim()
        return changes

    def close(self) -> None:
        """End the helper processes and watch no more."""
        self._loader.close()
        self._notice.close()

    # --- what there is ---

    def fileno(self) -> int | None:
        """What becomes readable when it is worth asking at once, where there is such a thing."""
        return self._notice.fd

    def wait(self) -> float:
        """Seconds until it is worth asking again without that."""
        if self._loader.busy or self._hinted:
            return 0.02
        return max(0.0, self._next - self._clock())

    def problems(self) -> list[Problem]:
        """All that is wrong now: in the files, and with the folders."""
        found = [
            Problem("no_folder", place, "this folder of dags is not there or cannot be read",
                    "the setting `dags` names it; what was loaded from it stays")
            for place in self._folders.missing
        ]
        found += [
            Problem("unreadable", place, f"this folder cannot be read: {why}")
            for place, why in self._folders.unreadable
        ]
        for each in self._tracker.problems().values():
            found += each
        return found

    def active(self) -> dict[str, tuple[str, str]]:
        """Dag key to (file, fingerprint) of the definitions that hold."""
        return self._tracker.active()

    # --- looking ---

    def _look(self, now: float) -> tuple[list[str], list[Change]]:
        began, self._hinted = time.thread_time(), False
        clock = time.time_ns()
        files = self._folders.scan()
        for top in self._folders.missing:  # unmounted, or being replaced: no reason to forget
            inside = os.path.join(top, "")
            files.update({path: its for path, its in self._known.items()
                          if path.startswith(inside)})
        if files.keys() != self._known.keys():
            self._loader.know(files)
        self._known = files
        watched = {path: stamp(path) for path in self._tracker.watching()}
        wanted, changes = self._tracker.look(now, files, watched)
        for file in wanted:
            self._began[file] = clock
            self._loader.submit(file)
        self._last = now
        self.cost = time.thread_time() - began
        return wanted, changes

    def _watch(self) -> None:
        folders = set(self._folders.seen)
        folders.update(os.path.dirname(path) for path in self._tracker.watching())
        folders.update(os.path.dirname(top) for top in self._folders.missing)
        self._notice.watch(folder for folder in folders if os.path.isdir(folder))

    def _plan(self, now: float, *, again: bool) -> None:
        if self._tracker.unsettled or again:  # a file may have changed while it was loaded
            self._next = now + self._pause()
            return
        share = 10 * SHARE if self._notice.blind else SHARE
        self._next = now + max(BLIND if self._notice.blind else REGULAR, self.cost / share)
        retry = self._tracker.next_retry()
        if retry is not None:
            self._next = min(self._next, max(retry, now + BLIND))

    def _pause(self) -> float:
        """Between two looks of which the first found something: not more than a tenth of a core."""
        return max(self._tracker.settle, 10 * self.cost)


def _held(loaded: Loaded, change: Change | None) -> Loaded:
    """What was loaded, without the dags that another file has."""
    if change is None:
        return loaded
    return loaded._replace(
        texts=list(change.texts), keys=list(change.keys), problems=list(change.problems)
    )
