"""Versions of tasks: which there are, and which of them the next runs take."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import date, datetime
    from typing import Any

    from mainspring._mainspring import ReleasedDict, ReleaseDict, TaskVersionsDict


class Version:
    """A version of a task, as :func:`versions` gives it.

    Attributes
    ----------
    version : int
        Its number.
    state : str
        ``"active"``, ``"pinned"``, ``"10 %"``, ``"from 2024-05-01"``, ``"registered"`` (the newest,
        which waits while another version is chosen), or empty.
    created_at : datetime
        When its content was first registered, in UTC.
    type : str
        The kind of task.
    handler : str or None
        What is called.
    code_hash : str or None
        Fingerprint of the handler's text.
    source : str or None
        Where it is written, of the version that was registered last.
    """

    __slots__ = ("code_hash", "created_at", "handler", "source", "state", "type", "version")

    def __init__(self, version: int, state: str, created_at: "datetime", type: str,
                 handler: "str | None", code_hash: "str | None", source: "str | None") -> None:
        self.version = version
        self.state = state
        self.created_at = created_at
        self.type = type
        self.handler = handler
        self.code_hash = code_hash
        self.source = source

    def _key(self) -> "tuple[Any, ...]":
        return (self.version, self.state, self.created_at, self.type, self.handler,
                self.code_hash, self.source)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Version) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"Version({self.version}, state={self.state!r}, created_at={self.created_at})"


def versions(task: str, *, database: "Any" = None) -> "list[Version]":
    """Return all versions of a task, the newest first.

    Parameters
    ----------
    task : str
        ``"dag.task"``.
    database : str or path, optional
        Default as :func:`mainspring.use` says.

    Raises
    ------
    NotFoundError
        When there is no such task, or no database.

    Examples
    --------
    >>> import mainspring as ms
    >>> def nightly(retries):
    ...     with ms.Dag("nightly") as dag:
    ...         ms.noop("load", retries=retries)
    ...     return dag
    >>> with ms.testing.isolated():
    ...     for retries in (1, 2):
    ...         _ = nightly(retries).run("2024-05-01")
    ...     [(each.version, each.state) for each in ms.versions("nightly.load")]
    [(2, 'active'), (1, '')]
    """
    from mainspring._requests import asker

    return _listed(asker(database).versions(task))


def promote(task: str, version: int, *, percent: "int | None" = None,
            from_biz_date: "date | str | None" = None, by: "str | None" = None,
            database: "Any" = None) -> "list[Version]":
    """Have the next runs take a version of a task: all of them, or those of some business dates.

    Runs that are made keep their versions, also when they are retried or run again. While another
    version than the newest is chosen, newly registered ones wait; to promote the newest ends that.

    Parameters
    ----------
    task : str
        ``"dag.task"``.
    version : int
        The number of the version.
    percent : int, optional
        From 1 to 100: about so many of a hundred business dates take it, the others the version
        that was active. A hash of the task and the date chooses; a larger percentage keeps all
        dates of a smaller one.
    from_biz_date : date or str, optional
        This business date and later ones take it.
    by : str, optional
        Who decides it, for the record; user and host by default.
    database : str or path, optional
        Default as :func:`mainspring.use` says.

    Returns
    -------
    list of Version
        All versions as they stand then, the newest first.

    Raises
    ------
    SpecError
        When there is no such version or share, or versions would not fit together.
    NotFoundError
        When there is no such task, or no database.

    Examples
    --------
    >>> import mainspring as ms
    >>> def nightly(retries):
    ...     with ms.Dag("nightly") as dag:
    ...         ms.noop("load", retries=retries)
    ...     return dag
    >>> with ms.testing.isolated():
    ...     for retries in (1, 2):
    ...         _ = nightly(retries).run("2024-05-01")
    ...     _ = ms.promote("nightly.load", 2, from_biz_date="2024-05-03")
    ...     for day in ("2024-05-02", "2024-05-03"):
    ...         print(day, nightly(2).run(day)["load"].version)
    2024-05-02 1
    2024-05-03 2
    """
    share: dict[str, Any] | None = None
    if percent is not None and from_biz_date is not None:
        raise TypeError("either percent or from_biz_date")
    if percent is not None:
        share = {"percent": _whole("percent", percent)}
    elif from_biz_date is not None:
        from mainspring._requests import _iso

        share = {"from_biz_date": _iso(from_biz_date)}
    ask = {"kind": "promote", "version": _whole("version", version), "share": share}
    return _listed(decide(task, ask, by=by, database=database))


def rollback(task: str, version: "int | None" = None, *, by: "str | None" = None,
             database: "Any" = None) -> "list[Version]":
    """Have the next runs take an older version of a task, whatever its file says.

    Reloading or editing files does not undo that; :func:`promote` does. A version is the
    definition of a task, so its policies, parameters and edges are those of then. The code is that
    of then where a worker process runs it for a scheduler that kept the file; elsewhere the
    function that has the task's name now is called.

    Parameters
    ----------
    task : str
        ``"dag.task"``.
    version : int, optional
        Its number; by default the one before the active, and where a version has a share of the
        dates, the one of the others.
    by : str, optional
        Who decides it, for the record; user and host by default.
    database : str or path, optional
        Default as :func:`mainspring.use` says.

    Returns
    -------
    list of Version
        All versions as they stand then, the newest first.

    Raises
    ------
    SpecError
        When there is nothing to roll back to, or versions would not fit together.
    NotFoundError
        When there is no such task, or no database.
    """
    number = None if version is None else _whole("version", version)
    return _listed(decide(task, {"kind": "rollback", "version": number}, by=by, database=database))


def decide(task: str, ask: "dict[str, Any]", *, by: "str | None" = None,
           database: "Any" = None) -> "ReleasedDict":
    """Decide it; return how the task stands then, and whether that was otherwise before."""
    from mainspring._requests import _user, asker

    found: ReleasedDict = asker(database).release(task, ask, by=by or _user())
    return found


def open_release(found: "TaskVersionsDict") -> "ReleaseDict | None":
    """Return what was chosen and holds."""
    return next((each for each in found["releases"] if each["ended_at"] is None), None)


def state_of(found: "TaskVersionsDict", version: int) -> str:
    """Say in a word who takes a version."""
    row = next(each for each in found["versions"] if each["version"] == version)
    release = open_release(found)
    share = None if release is None else release["share"]
    if release is not None and release["version"] == version:
        if share is None:
            return "pinned"
        if "percent" in share:
            return f"{share['percent']} %"
        return f"from {share['from_biz_date']}"
    if row["active"]:
        return "active"
    return "registered" if row["registered"] else ""


def _listed(found: "TaskVersionsDict") -> "list[Version]":
    from mainspring._time import aware

    return [
        Version(row["version"], state_of(found, row["version"]), aware(row["created_at"], "UTC"),
                row["type"], row["handler"], row["code_hash"], row["source"])
        for row in found["versions"]
    ]


def _whole(name: str, value: "Any") -> int:
    from mainspring.errors import Problem, SpecError

    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**32:
        raise SpecError([Problem("wrong_type", name, f"{value!r} is no whole number from 0", None)])
    return value
