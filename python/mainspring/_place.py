"""Where a database is, as it may be shown, and where the files are that belong to it.

A database is a file, beside which its files are, or a URL: then they are in ``.mainspring`` beside
``mainspring.toml``, or in the home of mainspring where there is no project.
"""

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def is_server(database: "Any") -> bool:
    """Say whether a database is named by a URL.

    Examples
    --------
    >>> from mainspring._place import is_server
    >>> is_server("postgresql://me@db/warehouse"), is_server("/data/shop.db")
    (True, False)
    """
    return "://" in str(database)


def check_place(database: str) -> None:
    """Refuse what was meant as a URL and is none: a file of that name would be made.

    Examples
    --------
    >>> from mainspring._place import check_place
    >>> check_place("postgresql:/me:secret@db/warehouse")
    Traceback (most recent call last):
        ...
    ValueError: is no URL: it begins like one, and has no ://
    """
    begins = ("postgres:", "postgresql:", "postgres//", "postgresql//")
    if not is_server(database) and database.lower().startswith(begins):
        raise ValueError("is no URL: it begins like one, and has no ://")


def shown(database: "Any") -> str:
    """Return where a database is without its password: for people, logs and errors.

    Examples
    --------
    >>> from mainspring._place import shown
    >>> shown("postgresql://me:secret@db/warehouse?schema=jobs")
    'postgresql://me:***@db/warehouse?schema=jobs'
    """
    text = str(database)
    if not is_server(text):
        return text
    from mainspring import _mainspring

    return _mainspring.shown(text)


def files_of(database: "Any") -> str:
    """Return the folder of logs, large results and locks.

    Examples
    --------
    >>> from mainspring._place import files_of
    >>> files_of("/data/shop.db")
    '/data/shop.files'
    """
    text = str(database)
    if not is_server(text):
        return os.path.splitext(text)[0] + ".files"
    from mainspring._config import settings

    found = settings()
    file, home = getattr(found, "file", None), getattr(found, "home", None)
    beside = os.path.join(found.root, ".mainspring") if file is not None else home
    return os.path.join(beside or os.path.expanduser("~/.mainspring"), f"{_name(text)}.files")


def opening(database: "Any") -> "dict[str, Any]":
    """Return what the core is told besides the place of a database."""
    return {"files": files_of(database)} if is_server(database) else {}


def unless_server(database: "Any", what: str) -> None:
    """Refuse what there is for files only."""
    if is_server(database):
        from mainspring.errors import ConflictError

        raise ConflictError(f"{what} cannot be asked of a database on a server yet\n"
                            f"  hint: ms.sql and the views (v_runs) answer there")


def _name(url: str) -> str:
    """Return what stands for a URL in names of files: host, database and schema."""
    import re

    rest = url.split("://", 1)[1]
    place, _, query = rest.partition("?")
    given = dict(pair.partition("=")[::2] for pair in query.split("&"))
    place = place.rpartition("@")[2].strip("/")
    parts = [given.get("host", ""), place, given.get("schema", "mainspring")]
    return re.sub(r"[^A-Za-z0-9_.]+", "-", "-".join(part for part in parts if part)).strip("-")
