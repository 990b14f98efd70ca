"""Dag files as they were when their dags were registered, for runs that finish on their version.

A worker process that finds another content in a file than its run was made with takes the kept
one. Modules that a dag file imports are not kept: those are read as they are.
"""

import os

from mainspring._place import files_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import IO, Any

__all__ = ["FOLDER", "Snapshots", "kept_source", "parts"]

FOLDER = "MAINSPRING_CODE"
"""The variable that tells workers where kept files are."""


class Snapshots:
    """The kept files of a database, beside it."""

    def __init__(self, database: "Any") -> None:
        self.folder = os.path.join(files_of(database), "code")
        self.told_in = os.path.join(self.folder, "dags.jsonl")

    def told(self) -> "dict[str, list[tuple[int, str, str]]]":
        """Dag key to what stood for it over time: since when (microseconds), file, version."""
        import json

        found: dict[str, list[tuple[int, str, str]]] = {}
        try:
            with open(self.told_in, encoding="utf-8", errors="surrogateescape") as lines:
                for line in lines:
                    try:
                        since, key, file, version = json.loads(line)
                    except (ValueError, TypeError):
                        continue  # the last line of a process that was killed
                    found.setdefault(key, []).append((since, file, version))
        except FileNotFoundError:
            pass
        return found

    def tell(self, dags: "Iterable[tuple[str, str, str]]") -> None:
        """Write down that from now on these stand for dags: key, file, version."""
        import json
        import time

        since = time.time_ns() // 1000
        text = "".join(json.dumps([since, *each]) + "\n" for each in dags)
        if text:
            os.makedirs(self.folder, mode=0o700, exist_ok=True)
            # A line that was cut off by a crash stays one by itself.
            with open(self.told_in, "a+b") as target:
                if target.tell() and not _ends_line(target):
                    text = "\n" + text
                target.write(text.encode())

    def announce(self) -> None:
        """Tell processes that are started from now on where to look."""
        os.makedirs(self.folder, mode=0o700, exist_ok=True)
        os.environ[FOLDER] = self.folder

    def keep(self, file: str, fingerprint: str) -> str:
        """Keep a file, and return what its content and what it imports are known by."""
        from hashlib import sha256

        with open(file, "rb") as source:
            content = source.read()
        name = sha256(content).hexdigest()
        path = os.path.join(self.folder, f"{name}.py")
        if not os.path.exists(path):
            os.makedirs(self.folder, mode=0o700, exist_ok=True)
            partial = f"{path}.{os.getpid()}"
            with open(partial, "wb") as target:
                target.write(content)
            os.replace(partial, path)
        return f"sha256:{name}:{fingerprint[-16:]}"


def _ends_line(file: "IO[bytes]") -> bool:
    file.seek(-1, os.SEEK_END)
    return file.read(1) == b"\n"


def parts(version: str) -> "tuple[str, str]":
    """Return (fingerprint of the file alone, the rest).

    Examples
    --------
    >>> from mainspring._snapshots import parts
    >>> parts("sha256:abc:def")
    ('sha256:abc', 'def')
    """
    algorithm, _, rest = version.partition(":")
    name, _, others = rest.partition(":")
    return f"{algorithm}:{name}", others


def kept_source(version: str) -> "str | None":
    """Return the path of a kept file, if there is one."""
    folder = os.environ.get(FOLDER)
    name = parts(version)[0].partition(":")[2]
    if not folder or not name.isalnum():
        return None
    path = os.path.join(folder, f"{name}.py")
    return path if os.path.exists(path) else None
