"""The one open database of a process, per location; opened when needed, closed at the end."""

import os
import threading

from mainspring.errors import (
    ConfigError,
    ConflictError,
    MainspringError,
    NotFoundError,
    Problem,
    StoreError,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from mainspring._dag import Dag
    from mainspring._mainspring import History as CoreHistory
    from mainspring._mainspring import ManualClock
    from mainspring._mainspring import Session as CoreSession

_lock = threading.RLock()
_sessions: "dict[str, Session]" = {}
_histories: "dict[str, CoreHistory]" = {}
_chosen: "str | None" = None
_forked = False
_hooked = False

stopped: "set[str]" = set()
"""Databases of simulated worlds that are stopped: nothing runs there by the machine's clock."""


clocks: "dict[str, ManualClock]" = {}
"""What shows the time in simulated worlds, by their databases."""


class Session:
    """This process's way to decide in one database."""

    def __init__(self, database: str, core: "CoreSession | None" = None) -> None:
        from mainspring._config import settings

        self.database = database
        self.slots = settings().slots
        self.waiting_inside: set[object] = set()
        self.core: CoreSession = core or open_core(database, "interactive")
        self._registered: dict[str, tuple[Dag, int]] = {}
        self._abandoned = False
        self._has_processes = False
        self.known: set[int] = set()
        self.simulated = False

    def use_processes(self) -> None:
        """From now on handlers in files run in worker processes, as many as there are slots."""
        if self._has_processes:
            return
        from mainspring._processes import commands

        supervisor, worker = commands()
        self.core.use_processes(supervisor, worker, workers=self.slots)
        self._has_processes = True

    def register(self, *dags: "Dag") -> None:
        """Store definitions, unless they are what was stored last. They may wait for each other."""
        from mainspring._config import settings

        specs, changed = [], []
        for dag in dags:
            known = self._registered.get(dag.name)
            if known is not None and known[0] is dag and known[1] == dag.changes:
                continue
            specs.append(dag.spec())
            changed.append(dag)
        if specs:
            make_shared(self.core, history(self.database), settings(), specs)
            self.core.register(specs)
        for dag in changed:
            self._registered[dag.name] = (dag, dag.changes)

    def dag(self, name: str) -> "Dag | None":
        """Return the dag of this name that this process has, if it has one."""
        from mainspring._definition import defined

        known = self._registered.get(name)
        return defined.get(name) or (None if known is None else known[0])

    def remove(self, dags: "list[str]") -> None:
        """Forget dags, so that the same one is stored anew when it comes back."""
        for name in dags:
            self._registered.pop(name, None)
        self.core.remove(dags)

    def is_stuck(self, run: int) -> bool:
        """Say whether a run waits for slots that only tasks hold which wait for runs."""
        if len(self.waiting_inside) < self.slots:
            return False
        progress = self.core.progress(run)
        return not progress["running"] and progress["counts"].get("READY", 0) > 0

    def abandon(self) -> None:
        """Leave at the end without waiting for handlers that cannot be stopped."""
        self._abandoned = True

    def close(self) -> None:
        """Stop what is live, and join the threads."""
        from mainspring import _shipping

        if self._abandoned:
            # The end of the object would wait again for what is left behind here.
            _leak(self.core)
            self.core.close(grace=0.0, at_most=0.5)
        else:
            self.core.close()
        _shipping.end(self.database, 1.0 if self._abandoned else 10.0)


def open_core(database: str, role: str, **options: "Any") -> "CoreSession":
    """Open the database with the settings of the project, making it if need be."""
    from mainspring import _shipping
    from mainspring._config import settings
    from mainspring._config_values import milliseconds
    from mainspring._mainspring import Session as CoreSession
    from mainspring._place import opening

    _refuse_after_fork()
    kept = _shipping.options(database, role)
    _make_folder(database)
    wait = getattr(settings(), "busy_wait", None)
    if wait is not None:
        options.setdefault("busy_wait_s", float(wait))
    options.setdefault("slots", settings().slots)
    core = CoreSession(database, role=role, **opening(database), **options, **kept)
    ageing = milliseconds(getattr(settings(), "ageing", None))
    if ageing is not None:
        core.set_ageing(None, ageing)
    if "logs" in kept:
        _shipping.begin(database)
    return core


def adopt(database: str, core: "CoreSession") -> Session:
    """Make this the one session of a database: what is run there from now on runs in it."""
    _refuse_after_fork()
    with _lock:
        _hook()
        before = _sessions.pop(database, None)
        if before is not None:
            before.close()
        made = _sessions[database] = Session(database, core)
    return made


def use(database: "Any" = None) -> str:
    """Choose the database of this process, for dags that name none of their own.

    Parameters
    ----------
    database : str or path, optional
        A file, or a URL such as ``postgresql://user@host/database``; None goes back to the order
        ``MAINSPRING_DATABASE``, project file (``.mainspring/mainspring.db`` beside
        ``mainspring.toml``), ``MAINSPRING_HOME``, home.

    Returns
    -------
    str
        The location that holds now: an absolute path, or a URL without its password.

    Examples
    --------
    >>> import mainspring as ms
    >>> with ms.testing.isolated() as folder:
    ...     ms.use(database=folder / "other.db").endswith("other.db")
    True
    """
    global _chosen
    from mainspring._place import shown

    _chosen = None if database is None else location(database)
    return shown(location(None))


def location(database: "Any") -> str:
    """Return where a database is: the argument, else what was chosen, else the settings."""
    if database is None:
        if _chosen is not None:
            return _chosen
        from mainspring._config import settings

        database = settings().database
    text = str(os.fspath(database))
    if "://" in text or text == ":memory:":
        return text
    from mainspring._place import check_place

    try:
        check_place(text)
    except ValueError as wrong:
        raise ConfigError([Problem("wrong_value", "database", str(wrong))]) from None
    return os.path.abspath(os.path.expanduser(text))


def session(database: "Any" = None) -> Session:
    """Return this process's session for a database, opened at the first call."""
    where = location(database)
    found = _sessions.get(where)
    if found is not None:
        return found
    if where in stopped:
        raise ConflictError("the simulated scheduler is stopped, and time stands still\n"
                            "  hint: world.start() first")
    _refuse_after_fork()
    with _lock:
        found = _sessions.get(where)
        if found is None:
            _hook()
            found = _sessions[where] = Session(where)
        return found


def opened(database: str) -> "Session | None":
    """Return the session of a database if this process has one open."""
    return _sessions.get(database)


def history(database: "Any" = None) -> "CoreHistory | None":
    """Return a reader of a database, or None where there is no database yet."""
    where = location(database)
    found = _histories.get(where)
    if found is None:
        _refuse_after_fork()
        if "://" not in where and where not in _sessions and not os.path.exists(where):
            return None
        from mainspring._mainspring import History
        from mainspring._place import opening

        with _lock:
            try:
                reader = History(where, **opening(where))
            except NotFoundError:  # a server without a schema of ours
                return None
            found = _histories.setdefault(where, reader)
            _hook()
    return found


def rows(reader: "CoreHistory", text: str, *parameters: "Any") -> "list[dict[str, Any]]":
    """Answer an SQL statement that only reads: a dict for each row, by column name."""
    columns, found = reader.sql(text, list(parameters))
    return [dict(zip(columns, row, strict=True)) for row in found]


def close(database: "Any" = None) -> None:
    """Close the session and the reader of a database, if they are open."""
    where = location(database)
    with _lock:
        found = _sessions.pop(where, None)
        _histories.pop(where, None)
    if found is not None:
        found.close()


def make_shared(core: "CoreSession", reader: "CoreHistory | None", project: "Any",
                specs: "list[dict[str, Any]]") -> None:
    """Make the project's pools and limits that are named and that nobody made yet.

    All that there are stand in each definition then: others are a mistake. The core reads the
    sizes of those that are stored by itself.
    """
    from mainspring._config_values import milliseconds

    if reader is None:
        return
    pools, limits = set().union(*map(_named_pools, specs)), set().union(*map(_named_limits, specs))
    known: dict[str, list[str]] = {}
    if pools:
        stored = reader.pools().keys()
        for name in (pools & project.pools.keys()) - stored:
            core.set_pool(name, project.pools[name])
            if name in project.pool_ageing:
                core.set_ageing(name, milliseconds(project.pool_ageing[name]))
        known["known_pools"] = sorted(project.pools.keys() | stored)
    if limits:
        stored = reader.limits().keys()
        for name in (limits & project.limits.keys()) - stored:
            core.set_limit(name, project.limits[name])
        known["known_limits"] = sorted(project.limits.keys() | stored)
    for spec in specs:
        spec.update(known)


def _rules(spec: "dict[str, Any]") -> "list[dict[str, Any]]":
    return [spec.get("project_defaults", {}), spec.get("defaults", {}), *spec["tasks"]]


def _named_pools(spec: "dict[str, Any]") -> "set[str]":
    return {rule["pool"] for rule in _rules(spec) if isinstance(rule.get("pool"), str)}


def _named_limits(spec: "dict[str, Any]") -> "set[str]":
    named: set[str] = set()
    for rule in _rules(spec):
        given = rule.get("limits")
        names = [given] if isinstance(given, str) else given or ()
        named.update(name for name in names if isinstance(name, str))
    return named


def _make_folder(database: str) -> None:
    if "://" in database or database == ":memory:":
        return
    folder = os.path.dirname(database)
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise StoreError(
            f"the folder {folder} of the database cannot be made: {error.strerror}\n"
            "  hint: choose another place with ms.use(database=...) or MAINSPRING_DATABASE"
        ) from error


def _hook() -> None:
    """Close at the end of the process; mark what a forked child inherits."""
    global _hooked
    if _hooked:
        return
    _hooked = True
    import atexit

    atexit.register(_close_all)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_after_fork)


def _close_all() -> None:
    with _lock:
        sessions = list(_sessions.values())
        _sessions.clear()
        _histories.clear()
    for each in sessions:
        try:
            each.close()
        except (MainspringError, KeyboardInterrupt):
            each.abandon()
            each.close()


def _after_fork() -> None:
    global _forked, _lock
    from mainspring import _host, _shipping

    _shipping.after_fork()
    _lock = threading.RLock()
    _forked = bool(_sessions) or _forked
    for each in _sessions.values():
        _leak(each.core)
    for reader in _histories.values():
        _leak(reader)
    _sessions.clear()
    _histories.clear()
    _host.forget_loop()


def _refuse_after_fork() -> None:
    if _forked:
        raise StoreError(
            "this process was forked from one that had mainspring open, and cannot use it: the "
            "threads that decide stayed in the parent\n"
            "  hint: start it with multiprocessing's 'spawn', or open mainspring after the fork"
        )


def _leak(core: "Any") -> None:
    """Keep an object of the core for ever: ending it would wait for threads that are gone."""
    import ctypes

    ctypes.pythonapi.Py_IncRef(ctypes.py_object(core))
