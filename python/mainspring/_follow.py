"""What the dag files of a project amount to, as they come, change, break, heal and go.

Pure: it is told what lies in the folders and what came of loading a file, each with the time; it
answers which files to load and what changed. `mainspring._dagfolder` does the looking.

Rules
-----
- A change counts when the file has stayed as it is for a moment: editors and copies write in
  pieces.
- A file that breaks keeps the last good definitions; so does one dag of it that breaks. They end
  when the file is removed, or loads without them.
- A file with problems is tried again without a change, later and later: what it needs may have
  come.
- A dag key belongs to one file: to the first in the order of the files when they come together;
  else to the one that has it already. The others have a problem that names both, and get the key
  when the owner lets go of it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from mainspring.errors import Problem

if TYPE_CHECKING:
    from mainspring._folder import Stamp
    from mainspring._loader import Loaded

__all__ = ["Change", "Tracker"]

SETTLE = 0.1
"""Seconds for which a file stays as it is before it is loaded."""

FIRST_RETRY, LAST_RETRY = 30.0, 600.0
"""Seconds to the first try of a broken file that did not change, and the longest such wait."""


class Change(NamedTuple):
    """One thing that is different now.

    Attributes
    ----------
    kind : str
        ``added``, ``edited``, ``broken``, ``repaired`` or ``removed``.
    file : str
        The file.
    fingerprint : str
        Of the content that its active definitions are from.
    texts : tuple of str
        Its active definitions as JSON text, all of them; the last good ones of what is broken.
    keys : tuple of str
        Their dag keys.
    gone : tuple of str
        Dag keys that were active and are in no file any more.
    problems, notes : tuple of Problem
        What is wrong with the file now, and what only looks like it.
    kept : tuple of str
        Those of the keys that broke: their definitions are of an older content.
    """

    kind: Literal["added", "edited", "broken", "repaired", "removed"]
    file: str
    fingerprint: str
    texts: tuple[str, ...]
    keys: tuple[str, ...]
    gone: tuple[str, ...]
    problems: tuple[Problem, ...]
    notes: tuple[Problem, ...]
    kept: tuple[str, ...] = ()

    @property
    def specs(self) -> list[dict[str, Any]]:
        """Its active definitions, as ``Session.register`` takes them."""
        return [json.loads(text) for text in self.texts]


Stamps = dict[str, "Stamp | None"]


class _File:
    """What is known of one file."""

    def __init__(self, order: int) -> None:
        self.order = order
        self.base: Stamps | None = None  # as it was when it was loaded last
        self.pending: Stamps | None = None  # as it is, if that is different
        self.since = 0.0
        self.absent: float | None = None
        self.loading = False
        self.modules: Stamps = {}
        self.sought: list[str] = []
        self.texts: dict[str, str] = {}
        self.fingerprint = ""
        self.kept: set[str] = set()
        self.problems: tuple[Problem, ...] = ()
        self.notes: tuple[Problem, ...] = ()
        self.retry_at: float | None = None
        self.retry_wait = 0.0
        self.told: Change | None = None


class Tracker:
    """Knows what each file last said, and which file has which dag.

    Parameters
    ----------
    shown
        How a path is said to people.
    settle
        Seconds for which a change has to stay as it is.
    """

    def __init__(
        self, shown: Callable[[str], str] = str, *, settle: float = SETTLE
    ) -> None:
        self.settle = settle
        self._shown = shown
        self._files: dict[str, _File] = {}
        self._holders: dict[str, set[str]] = {}
        self._owner: dict[str, str] = {}

    # --- what there is ---

    def watching(self) -> set[str]:
        """Paths beside the dag files on which what they say depends."""
        found: set[str] = set()
        for record in self._files.values():
            found.update(record.modules)
            found.update(record.sought)
        return found - self._files.keys()

    def files(self) -> list[str]:
        """The files that are known."""
        return list(self._files)

    def problems(self) -> dict[str, tuple[Problem, ...]]:
        """What is wrong now, by file."""
        told = ((file, record.told) for file, record in self._files.items())
        return {file: change.problems for file, change in told if change and change.problems}

    def active(self) -> dict[str, tuple[str, str]]:
        """Dag key to (file, fingerprint) of the definitions that hold."""
        return {key: (file, self._files[file].fingerprint) for key, file in self._owner.items()}

    @property
    def unsettled(self) -> bool:
        """Whether a look a moment later would find something to do."""
        return any(
            record.pending is not None or record.absent is not None
            for record in self._files.values()
        )

    def next_retry(self) -> float | None:
        """When a broken file is to be tried again; None if there is none."""
        times = [record.retry_at for record in self._files.values() if record.retry_at is not None]
        return min(times, default=None)

    # --- what is seen ---

    def look(
        self, now: float, files: Mapping[str, Stamp], watched: Mapping[str, Stamp | None]
    ) -> tuple[list[str], list[Change]]:
        """Compare with what lies in the folders now.

        Parameters
        ----------
        now
            Seconds of a clock that never goes back.
        files
            The dag files with their stamps, in their order.
        watched
            The stamps of what `watching` named.

        Returns
        -------
        tuple
            Files to load now, and what changed by files that are gone.
        """
        for order, file in enumerate(files):
            if file not in self._files:
                self._files[file] = _File(order)
            self._files[file].order = order
        wanted = [
            file for file, its in files.items() if self._wants(now, file, its, files, watched)
        ]
        return wanted, self._go(now, files)

    def _wants(
        self,
        now: float,
        file: str,
        its: Stamp,
        files: Mapping[str, Stamp],
        watched: Mapping[str, Stamp | None],
    ) -> bool:
        record = self._files[file]
        record.absent = None
        if record.loading:
            return False
        stamps: Stamps = {file: its}
        for path in (*record.modules, *record.sought):
            stamps[path] = files[path] if path in files else watched.get(path)
        if stamps == record.base:
            record.pending = None
            if record.retry_at is None or now < record.retry_at:
                return False
        elif record.pending != stamps:
            record.pending, record.since = stamps, now
        if record.pending is not None and now - record.since < self.settle:
            return False
        if record.pending is not None:
            record.retry_wait = 0.0
        record.base, record.pending, record.loading = stamps, None, True
        return True

    def _go(self, now: float, files: Mapping[str, Stamp]) -> list[Change]:
        """The ends of files that are gone; not while one is new that may be theirs, renamed."""
        coming = any(
            record.told is None and (record.loading or record.pending is not None)
            for record in self._files.values()
        )
        changes = []
        for file in [file for file in self._files if file not in files]:
            record = self._files[file]
            record.pending = None
            if record.absent is None:
                record.absent = now
            if now - record.absent >= self.settle and not coming and not record.loading:
                changes += self._remove(file)
        return changes

    def _remove(self, file: str) -> list[Change]:
        record = self._files.pop(file)
        touched = self._settle_keys(file, record.texts, {})
        changes = []
        if record.told is not None:
            gone = tuple(key for key in record.told.keys if key not in self._owner)
            changes.append(Change("removed", file, record.fingerprint, (), (), gone, (), ()))
        for other in sorted(touched - {file}, key=self._order):
            changes += self._tell(other)
        return changes

    # --- what was loaded ---

    def loaded(self, now: float, result: Loaded, began: int) -> list[Change]:
        """Take what came of a file that `look` wanted.

        Parameters
        ----------
        now
            As in `look`.
        result
            What came of it.
        began
            When it was handed over, in nanoseconds of the files' clock: what was written since
            may or may not be what was loaded.
        """
        record = self._files.get(result.file)
        if record is None:
            return []
        record.loading = False
        self._remember_stamps(record, result, began)
        before = record.texts
        if result.imported:
            new = dict(zip(result.keys, result.texts, strict=True))
            record.kept = {name for name in result.broken if name in before and name not in new}
            new.update((name, before[name]) for name in result.broken if name in record.kept)
            record.texts, record.fingerprint = new, result.fingerprint
        record.problems, record.notes = tuple(result.problems), tuple(result.notes)
        if result.problems:
            record.retry_wait = min(max(FIRST_RETRY, 2 * record.retry_wait), LAST_RETRY)
            record.retry_at = now + record.retry_wait
        else:
            record.retry_at, record.retry_wait = None, 0.0
        touched = self._settle_keys(result.file, before, record.texts)
        changes = self._tell(result.file)
        for other in sorted(touched - {result.file}, key=self._order):
            changes += self._tell(other)
        return changes

    def _remember_stamps(self, record: _File, result: Loaded, began: int) -> None:
        known = record.modules
        if result.modules or result.imported:
            record.modules = {
                path: its for path, its in result.modules.items() if path != result.file
            }
            record.sought = list(result.sought)
        base = dict(record.base or {})
        for path in set(base) - {result.file}:
            del base[path]
        for path, its in record.modules.items():
            # One that was written while we loaded may have been read before that: look again,
            # once. The second time its stamp is the same, whatever its clock says.
            racy = its is not None and its.modified >= began and known.get(path) != its
            base[path] = None if racy else its
        for path in record.sought:
            base[path] = None
        record.base = base

    # --- who has which dag ---

    def _order(self, file: str) -> tuple[int, str]:
        record = self._files.get(file)
        return (record.order if record is not None else 1 << 30, file)

    def _settle_keys(
        self, file: str, before: Iterable[str], after: Iterable[str]
    ) -> set[str]:
        """Give each of these keys its owner again; the files for which something may differ."""
        old, new = set(before), set(after)
        touched = {file}
        for key in old - new:
            self._holders[key].discard(file)
        for key in new - old:
            self._holders.setdefault(key, set()).add(file)
        for key in old | new:
            holders = self._holders[key]
            touched |= holders
            if self._owner.get(key) not in holders:
                self._owner.pop(key, None)
                if holders:
                    self._owner[key] = min(holders, key=self._order)
            if not holders:
                del self._holders[key]
        return touched

    def _tell(self, file: str) -> list[Change]:
        """What is different for a file since it was told last; nothing if nothing is."""
        record = self._files[file]
        keys = tuple(key for key in record.texts if self._owner[key] == file)
        problems = record.problems + tuple(
            self._conflict(key, file) for key in record.texts if self._owner[key] != file
        )
        before = record.told
        texts = tuple(record.texts[key] for key in keys)
        gone = tuple(key for key in (before.keys if before else ()) if key not in self._owner)
        if problems:
            kind: Any = "broken"
        elif before is None:
            kind = "added"
        else:
            kind = "repaired" if before.problems else "edited"
        kept = tuple(key for key in keys if key in record.kept)
        now = Change(
            kind, file, record.fingerprint, texts, keys, gone, problems, record.notes, kept
        )
        record.told = now
        if before is not None and _same(before, now):
            return []
        return [now]

    def _conflict(self, key: str, file: str) -> Problem:
        owner = self._shown(self._owner[key])
        return Problem(
            "duplicate_dag",
            self._shown(file),
            f"dag {key!r} is also in {owner}, which keeps it",
            "rename one of them; a dag's name is its identity in the history",
        )


def _same(before: Change, now: Change) -> bool:
    return before[2:5] == now[2:5] and before[6:] == now[6:] and not now.gone
