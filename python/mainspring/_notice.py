"""A hint from the kernel that a folder changed: Linux's inotify, through ctypes.

Only a hint: what changed is found by looking. So nothing is lost where there is none, on other
systems and on network file systems; the next regular look finds it.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from collections.abc import Iterable

from mainspring._folder import IGNORE_FILE

__all__ = ["Notice"]

MODIFY, ATTRIB, CLOSE_WRITE, MOVED, CREATE, DELETE = 0x2, 0x4, 0x8, 0xC0, 0x100, 0x200
DELETE_SELF, MOVE_SELF, ONLYDIR = 0x400, 0x800, 0x0100_0000
MASK = MODIFY | ATTRIB | CLOSE_WRITE | MOVED | CREATE | DELETE | DELETE_SELF | MOVE_SELF | ONLYDIR
FOLDER, OVERFLOW, IGNORED = 0x4000_0000, 0x4000, 0x8000
HEAD = struct.Struct("iIII")


class Notice:
    """Tells whether something in the watched folders may be different.

    Attributes
    ----------
    fd : int or None
        Readable when it is; None where the system has no such thing.
    blind : bool
        Whether some folder could not be watched, so that only looking helps.
    """

    def __init__(self) -> None:
        self.fd: int | None = None
        self.blind = True
        self._watched: dict[str, int] = {}
        if not sys.platform.startswith("linux"):
            return
        try:
            self._library = ctypes.CDLL(None, use_errno=True)
            fd = self._library.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        except (OSError, AttributeError):
            return
        if fd >= 0:
            self.fd, self.blind = fd, False

    def watch(self, folders: Iterable[str]) -> None:
        """From now on these folders, each by itself, and no others."""
        if self.fd is None:
            return
        wanted = set(folders)
        for folder in self._watched.keys() - wanted:
            number = self._watched.pop(folder)
            if number not in self._watched.values():  # two ways to one folder share it
                self._library.inotify_rm_watch(self.fd, number)
        self.blind = False
        for folder in wanted - self._watched.keys():
            number = self._library.inotify_add_watch(self.fd, os.fsencode(folder), MASK)
            if number < 0:
                self.blind = True
            else:
                self._watched[folder] = number

    def woken(self) -> bool:
        """Whether something happened since the last question; never waits."""
        if self.fd is None:
            return False
        woken = False
        while True:
            try:
                data = os.read(self.fd, 1 << 16)
            except OSError:
                return woken
            at = 0
            while at + HEAD.size <= len(data):
                number, mask, _, length = HEAD.unpack_from(data, at)
                at += HEAD.size
                name = data[at : at + length].rstrip(b"\0")
                at += length
                woken |= _matters(mask, name)
                if mask & IGNORED:  # the folder is gone, and its watch with it
                    self._watched = {
                        folder: each for folder, each in self._watched.items() if each != number
                    }

    def close(self) -> None:
        """Watch no more."""
        if self.fd is not None:
            os.close(self.fd)
            self.fd, self.blind = None, True
            self._watched.clear()


def _matters(mask: int, name: bytes) -> bool:
    """Whether it may concern a dag file: not what a task writes beside them."""
    if mask & (FOLDER | OVERFLOW | DELETE_SELF | MOVE_SELF):
        return True
    # A name with two dots in front is how mounted configuration is swapped.
    return name.endswith(b".py") or name == IGNORE_FILE.encode() or name.startswith(b"..")
