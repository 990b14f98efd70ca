"""Disable a task, and enable it again."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def disable(task: str, *, database: "Any" = None, by: "str | None" = None) -> bool:
    """Leave a task out of runs from now on.

    Runs that are made while it is disabled have it SKIPPED with code ``DISABLED``; what waits for
    it is BLOCKED by it and says so. What runs already goes on. ``dag.run(force=True)`` runs it all
    the same.

    Parameters
    ----------
    task : str
        ``"dag.task"``.
    database : str or path, optional
        Default as :func:`mainspring.use` says.
    by : str, optional
        Who does it; by default the user of this process.

    Returns
    -------
    bool
        Whether it was enabled before.

    Raises
    ------
    NotFoundError
        When there is no such task, or no database.

    Examples
    --------
    >>> import mainspring as ms
    >>> with ms.Dag("nightly") as dag:
    ...     @ms.task
    ...     def load(): ...
    ...     @ms.task(depends_on=[load])
    ...     def report(): ...
    >>> with ms.testing.isolated():
    ...     _ = dag.run("2024-01-15")
    ...     _ = ms.disable("nightly.load")
    ...     run = dag.run("2024-01-16")
    ...     print(run["load"].state, run["load"].code, run["report"].state)
    SKIPPED DISABLED BLOCKED
    """
    return _set(task, False, database, by)


def enable(task: str, *, database: "Any" = None, by: "str | None" = None) -> bool:
    """Have runs take a task again.

    Where something is blocked because the task was disabled, a scheduler that is up runs it now.

    Parameters
    ----------
    task : str
        ``"dag.task"``.
    database : str or path, optional
        Default as :func:`mainspring.use` says.
    by : str, optional
        Who does it; by default the user of this process.

    Returns
    -------
    bool
        Whether it was disabled before.

    Raises
    ------
    NotFoundError
        When there is no such task, or no database.
    """
    return _set(task, True, database, by)


def _set(task: str, enabled: bool, database: "Any", by: "str | None") -> bool:
    from mainspring._requests import _user, asker

    changed: bool = asker(database).enable(task, enabled, by=by or _user())
    return changed
