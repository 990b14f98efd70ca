"""Who brings the logs of a database away: begun with a session, ended with it.

Of a database there is one `Shipper` a process, and among processes the one that has its lock.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from mainspring.errors import ConfigError, Problem

if TYPE_CHECKING:
    from mainspring._shipper import Shipper

__all__ = ["apart", "begin", "check_place", "end", "news", "options"]

apart: set[str] = set()
"""Databases whose logs stay where they are: those of tests."""

_lock = threading.Lock()
_checked: set[str] = set()
_shippers: dict[str, Shipper] = {}

LIVE = """
SELECT task_run_id, attempt_no FROM attempt WHERE task_run_id IN ({}) AND outcome IS NULL
"""


def options(database: str, role: str) -> dict[str, Any]:
    """What a session is opened with.

    Raises
    ------
    ConfigError
        When the place of logs cannot be used and it does not help to wait. Nothing was begun then.
    """
    from mainspring._config import settings

    found: dict[str, Any] = {"log_limit": settings().log_limit}
    prefix = settings().logs
    if prefix is not None and role != "simulated" and database not in apart:
        if prefix not in _checked:
            check_place(prefix)
            _checked.add(prefix)
        found["logs"] = prefix
    return found


def check_place(prefix: str) -> None:
    """Refuse a place that cannot be used; one that does not answer may do so later."""
    from mainspring._logstore import LogStoreError, check

    try:
        check(prefix)
    except LogStoreError as error:
        if error.code != "away":
            problem = Problem(f"logs_{error.code}", "logs", str(error), error.hint)
            raise ConfigError([problem]) from None


def begin(database: str) -> None:
    """Bring logs of this database from now on."""
    from mainspring._config import settings
    from mainspring._session import history, rows
    from mainspring._shipper import Shipper, folder_of

    def live(asked: list[tuple[int, int]]) -> set[tuple[int, int]]:
        reader = history(database)
        if reader is None:
            return set(asked)
        ids = ", ".join(str(int(task_run)) for task_run in sorted({id for id, _ in asked})) or "0"
        return {(row["task_run_id"], row["attempt_no"]) for row in rows(reader, LIVE.format(ids))}

    with _lock:
        if database not in _shippers:
            made = _shippers[database] = Shipper(folder_of(database), live,
                                                 keep=settings().logs_keep)
            made.start()


def news(database: str) -> list[dict[str, Any]]:
    """What has happened to logs since this was asked last."""
    found: list[dict[str, Any]] = []
    shipper = _shippers.get(database)
    while shipper is not None and shipper.news:
        found.append(shipper.news.popleft())
    return found


def end(database: str, at_most: float = 10.0) -> int:
    """Bring what is left, for so many seconds at most; how many logs wait for the next process."""
    with _lock:
        shipper = _shippers.pop(database, None)
    return 0 if shipper is None else shipper.close(at_most)


def after_fork() -> None:
    """A child has none of the threads."""
    global _lock
    _lock = threading.Lock()
    _shippers.clear()
