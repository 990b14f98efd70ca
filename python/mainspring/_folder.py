"""Which files are dag files.

In the folders of the setting ``dags``, and below them, every ``*.py`` that mentions
``mainspring`` anywhere in its text, but

- not names that begin with ``_`` or ``.``: helpers, ``__pycache__``, ``__init__.py``, ``.git``;
- not Python environments (folders with a ``pyvenv.cfg``), ``site-packages``, ``node_modules``;
- not what a ``.mainspringignore`` of its folder, or of a folder above up to the project's, leaves
  out (`mainspring._ignore` says how its lines read).

A file without the word defines nothing, so it is not run only to find that out. One whose dags
are all made by a helper says the word in a comment. A file that a command names is taken as it
is. Links are followed; what is reached twice counts once, where it is met first.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from mainspring._ignore import Rule, ignored, parse

__all__ = ["IGNORE_FILE", "WORD", "Folders", "Stamp", "find_files", "stamp"]

IGNORE_FILE = ".mainspringignore"
WORD = b"mainspring"
NOT_LOOKED_INTO = frozenset({"site-packages", "dist-packages", "node_modules"})


class Stamp(NamedTuple):
    """What is different in a file's entry once somebody wrote or replaced the file."""

    modified: int
    size: int
    inode: int


def stamp(path: str) -> Stamp | None:
    """The stamp of a file; None where there is none."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return Stamp(status.st_mtime_ns, status.st_size, status.st_ino)


def find_files(
    places: Iterable[Path], root: Path | None = None, left_out: list[str] | None = None
) -> list[Path]:
    """The dag files of these files and folders, in this order, those of a folder by path.

    Parameters
    ----------
    places
        Files, which are taken as they are, and folders.
    root
        The project's folder, whose ignore file counts too.
    left_out
        Gets the files that were passed over only because they do not mention mainspring.
    """
    found: dict[str, Path] = {}
    for place in places:
        if place.is_dir():
            folders = Folders([str(place)], None if root is None else str(root))
            files: Iterable[str] = folders.scan()
            if left_out is not None:
                left_out += folders.left_out
        else:
            files = [str(place)]
        for file in files:
            found.setdefault(os.path.realpath(file), Path(file))
    return list(found.values())


class Folders:
    """Folders that are looked through again and again, reading only what changed meanwhile.

    Attributes
    ----------
    seen : set of str
        Every folder that was looked into.
    missing : list of str
        Those of the given folders that are not there, or cannot be read.
    unreadable : list of (str, str)
        Folders below them that cannot be read, and why.
    left_out : list of str
        Files passed over because they do not mention mainspring.
    """

    def __init__(self, tops: Sequence[str], root: str | None = None) -> None:
        self.tops = [os.path.abspath(top) for top in tops]
        self.root = None if root is None else os.path.abspath(root)
        self.seen: set[str] = set()
        self.missing: list[str] = []
        self.unreadable: list[tuple[str, str]] = []
        self.left_out: list[str] = []
        self._mentions: dict[str, tuple[Stamp, bool]] = {}
        self._ignore: dict[str, tuple[Stamp, list[Rule]]] = {}

    def scan(self) -> dict[str, Stamp]:
        """Every dag file there is now, with its stamp; in the order of the folders, by path."""
        self.seen, self.missing, self.unreadable, self.left_out = set(), [], [], []
        found: dict[str, Stamp] = {}
        real: set[str] = set()
        known, self._mentions = self._mentions, {}
        for top in self.tops:
            here: dict[str, tuple[str, Stamp]] = {}
            for path, its_real, its_stamp in self._walk(top, real):
                here[path] = its_real, its_stamp
            for path in sorted(here):
                its_real, its_stamp = here[path]
                if its_real in real:
                    continue
                before = known.get(path)
                said = before[1] if before and before[0] == its_stamp else _says_it(path)
                self._mentions[path] = its_stamp, said
                if said:
                    real.add(its_real)
                    found[path] = its_stamp
                else:
                    self.left_out.append(path)
        return found

    def _walk(self, top: str, taken: set[str]) -> Iterator[tuple[str, str, Stamp]]:
        rules: list[Rule] = []
        for above in self._above(top):
            rules += self._rules(above, stamp(os.path.join(above, IGNORE_FILE)))
        queue = [(top, os.path.realpath(top), rules)]
        visited: set[str] = set()
        while queue:
            folder, real, rules = queue.pop()
            if real in visited:  # a link back up the tree, or a second way to the same folder
                continue
            visited.add(real)
            try:
                with os.scandir(folder) as entries:
                    listed = sorted(entries, key=lambda entry: entry.name)
            except OSError as error:
                self._cannot_read(folder, top, error)
                continue
            self.seen.add(folder)
            for entry in listed:
                if entry.name == IGNORE_FILE:
                    rules = rules + self._rules(folder, stamp(entry.path))
            below = []
            for entry in listed:
                name = entry.name
                if name.startswith((".", "_")):
                    continue
                try:
                    is_folder = entry.is_dir()
                    if is_folder:
                        wanted = name not in NOT_LOOKED_INTO
                    else:
                        wanted = name.endswith(".py") and entry.is_file()
                    if not wanted or (rules and ignored(entry.path, rules, folder=is_folder)):
                        continue
                    inner = f"{real}{os.sep}{name}"
                    if entry.is_symlink():
                        inner = os.path.realpath(entry.path)
                    if is_folder:
                        if not os.path.exists(os.path.join(entry.path, "pyvenv.cfg")):
                            below.append((entry.path, inner, rules))
                    elif inner not in taken:
                        status = entry.stat()
                        its = Stamp(status.st_mtime_ns, status.st_size, status.st_ino)
                        yield entry.path, inner, its
                except OSError:  # it went away while we looked
                    continue
            queue += reversed(below)

    def _above(self, top: str) -> list[str]:
        """The folders from the project's down to the one above `top`; none if it is elsewhere."""
        if self.root is None or not top.startswith(self.root.rstrip(os.sep) + os.sep):
            return []
        found = []
        folder = os.path.dirname(top)
        while len(folder) >= len(self.root):
            found.append(folder)
            above = os.path.dirname(folder)
            if above == folder:
                break
            folder = above
        return found[::-1]

    def _rules(self, folder: str, its: Stamp | None) -> list[Rule]:
        if its is None:
            return []
        known = self._ignore.get(folder)
        if known is None or known[0] != its:
            text = ""
            with suppress(OSError):
                text = Path(folder, IGNORE_FILE).read_text("utf-8-sig", "replace")
            known = self._ignore[folder] = (its, parse(text, folder))
        return known[1]

    def _cannot_read(self, folder: str, top: str, error: OSError) -> None:
        if folder == top:
            self.missing.append(top)
        elif not isinstance(error, FileNotFoundError):
            self.unreadable.append((folder, error.strerror or type(error).__name__))


def _says_it(path: str) -> bool:
    """Whether a file has the word in it; one that cannot be read is for the loader to refuse."""
    try:
        with open(path, "rb") as file:
            return WORD in file.read()
    except OSError:
        return True
