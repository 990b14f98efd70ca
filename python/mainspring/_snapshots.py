"""Dag files as they were when their dags were registered, for runs that finish on their version.

A worker process that finds another content in a file than its run was made with takes the kept
one. Modules that a dag file imports are not kept: those are read as they are.
"""

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["FOLDER", "Snapshots", "kept_source", "parts"]

FOLDER = "MAINSPRING_CODE"
"""The variable that tells workers where kept files are."""


class Snapshots:
    """The kept files of a database, beside it."""

    def __init__(self, database: "Any") -> None:
        self.folder = os.path.join(f"{os.path.splitext(str(database))[0]}.files", "code")

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
