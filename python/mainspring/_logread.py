"""The output of an attempt, from wherever it is.

That is its file on this machine, a place for all machines, or the short tail that its row keeps.

A line of a log is an instant, ``O`` or ``E`` for the stream, and the text.
"""

from __future__ import annotations

import json
import os
import re
import zlib
from typing import TYPE_CHECKING, NamedTuple

from mainspring._logstore import END, PART, LogStoreError, open_log_store, part_name
from mainspring._place import files_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from mainspring._logstore import LogStore

__all__ = ["Owner", "StoredLog", "local_file", "local_of", "log_file", "read_log", "unstamped",
           "uri_of"]

NAME = re.compile(r"part-(\d{12})\.gz")

UNTOLD = (None, "LOST", "INTERRUPTED")
"""Outcomes of attempts whose row was not told where their output is."""


class Owner(NamedTuple):
    """Whose output it is: what its place is made of."""

    database: str
    run: Mapping[str, Any]
    """Its row, as the history gives it."""
    task: str
    """``load[3]`` of an item."""


def log_file(database: str, run: int, task_run: int, attempt: int) -> str:
    """Where an attempt's output goes on its own machine, also before its row says so.

    Examples
    --------
    >>> from mainspring._logread import log_file
    >>> log_file("/data/shop.db", 7, 31, 2)
    '/data/shop.files/logs/7/31-2.log'
    """
    return os.path.join(files_of(database), "logs", str(run),
                        f"{task_run}-{attempt}.log")


def local_file(uri: str) -> str | None:
    """The file that a row names, where it names one and not a place for all machines."""
    if "://" not in uri:
        return uri
    if uri.startswith("file://"):
        from urllib.parse import unquote

        path = unquote(uri.removeprefix("file://"))
        return path if os.path.isfile(path) else None
    return None


def local_of(row: Mapping[str, Any], owner: Owner | None) -> str | None:
    """The file of an attempt on this machine, if it is here."""
    path = local_file(row["log_uri"]) if row["log_uri"] else None
    if path is None and owner is not None:
        path = log_file(owner.database, owner.run["id"], row["task_run_id"], row["attempt_no"])
    return path if path is not None and os.path.isfile(path) else None


def uri_of(row: Mapping[str, Any], owner: Owner | None) -> str | None:
    """The place of an attempt's output for all machines; None where it has none.

    The row says it when the attempt has ended; of a live one it follows from the setting ``logs``.
    """
    uri: str | None = row["log_uri"]
    if uri:
        return uri if "://" in uri and local_file(uri) is None else None
    if owner is None or row["outcome"] not in UNTOLD:
        return None
    from mainspring._config import settings
    from mainspring._mainspring import log_uri

    prefix = settings().logs
    if prefix is None:
        return None
    name, _, item = owner.task.partition("[")
    run = owner.run
    return log_uri(prefix, run["dag"], run["biz_date"], run["id"], run["created_at"], name,
                   int(item[:-1]) if item else None, row["attempt_no"])


def read_log(row: Mapping[str, Any], owner: Owner | None) -> tuple[str, str | None]:
    """All that an attempt has printed, as its lines stand in the file; and why it is not all.

    Where neither its file nor its place can be read it is the tail that the row keeps, which is
    text without instants.
    """
    tail = f"{row['log_tail']}\n" if row["log_tail"] else ""
    path = local_of(row, owner)
    if path is not None:
        try:
            with open(path, encoding="utf-8", errors="replace", newline="\n") as file:
                return file.read(), None
        except OSError:
            pass  # it was cleaned up just now
    uri = uri_of(row, owner)
    if uri is None:
        return tail, None
    try:
        stored = StoredLog(uri)
        text = b"".join(stored.new()).decode("utf-8", "replace")
    except LogStoreError as error:
        return tail, f"{error}; this is what the database has of it"
    if not text and tail:
        return tail, f"nothing of it is at {uri} yet; this is what the database has of it"
    late = row["outcome"] is not None and not stored.whole
    return text, f"the end of it is not at {uri} yet" if late else None


STAMP = re.compile(r"^\d{4}-\d\d-\d\dT[0-9:.]+Z [OE] ?", re.MULTILINE)


def unstamped(text: str) -> str:
    """The text of a log without when and from which stream its lines came.

    Examples
    --------
    >>> from mainspring._logread import unstamped
    >>> unstamped("2024-01-01T00:00:00.5Z O good\\n2024-01-01T00:00:01Z E morning\\n")
    'good\\nmorning\\n'
    """
    return STAMP.sub("", text)


class StoredLog:
    """The output of one attempt in a place for all machines, read as it grows.

    Attributes
    ----------
    whole : bool
        Whether all has been read of an output that has ended.
    """

    def __init__(self, uri: str, store: LogStore | None = None) -> None:
        self.uri = uri
        self.whole = False
        self._store = store
        self._at = 0
        self._last: tuple[int, str] | None = None

    def new(self) -> Iterator[bytes]:
        """What has come since this was asked last, in pieces.

        Raises
        ------
        LogStoreError
            When the place cannot be read; what was read before is not read again.
        """
        parts, ended = self._parts()
        for each, (start, tag) in enumerate(parts):
            following = parts[each + 1][0] if each + 1 < len(parts) else None
            if following is not None and following <= self._at:
                continue
            if self._last == (start, tag):
                continue
            data = self._part(start)
            if start > self._at:
                yield f"mainspring: {start - self._at} bytes of this log are missing\n".encode()
                self._at = start
            piece = data[self._at - start:]
            self._at += len(piece)
            self._last = (start, tag)
            if piece:
                yield piece
        if ended:
            self.whole = self._at >= self._size()

    def two_ends(self, most: int) -> tuple[bytes, bytes | None, int]:
        """The whole where it is not much; else its first and its last part, and what is between."""
        parts, _ = self._parts()
        if not parts or parts[-1][0] < most:
            return b"".join(self.new()), None, 0
        first, last = self._part(parts[0][0]), self._part(parts[-1][0])
        return first, last, parts[-1][0] - len(first)

    def _open(self) -> LogStore:
        if self._store is None:
            self._store = open_log_store(self.uri)
        return self._store

    def _parts(self) -> tuple[list[tuple[int, str]], bool]:
        kept = self._open().list("")
        found = [(int(name[1]), each.tag) for each in kept if (name := NAME.fullmatch(each.name))]
        return sorted(found), any(each.name == END for each in kept)

    def _part(self, start: int) -> bytes:
        packed = self._open().get(part_name(start))
        if packed is None:
            raise LogStoreError("away", f"{self.uri}/{part_name(start)} is gone")
        try:
            # Never more than a part, whoever wrote it.
            return zlib.decompressobj(wbits=31).decompress(packed, PART)
        except zlib.error as error:
            raise LogStoreError("away", f"{self.uri}/{part_name(start)} is broken: {error}") \
                from None

    def _size(self) -> int:
        try:
            return int(json.loads(self._open().get(END) or b"")["bytes"])
        except (ValueError, KeyError, TypeError):
            return 0
