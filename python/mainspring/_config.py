"""Settings: what holds in this process, and where each value came from.

An argument wins over a ``MAINSPRING_*`` variable, that over the project file, that over the
default. The project file is ``mainspring.toml``, or ``pyproject.toml`` with a table
``[tool.mainspring]``, in the working folder or the nearest folder above it.
"""

from __future__ import annotations

import os
import sys
from types import MappingProxyType

from mainspring import _config_values as values
from mainspring._place import shown
from mainspring.errors import ConfigError, Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

__all__ = ["Settings", "find_project", "load_settings", "reset", "settings"]

PREFIX = "MAINSPRING_"
PROJECT_FILE = "mainspring.toml"


class Settings:
    """What holds in this process; it never changes once made.

    Attributes
    ----------
    database : str
        Absolute path of the database file, or a URL.
    home : str
        Folder of what belongs to no project.
    dags : tuple of str
        Folders with dag files.
    timezone, log_level : str
        As given.
    slots : int
        How many tasks one process runs at once.
    busy_wait : float
        Seconds to wait for another process that writes to the database.
    load_timeout : float
        Seconds that the import of one dag file may take.
    logs : str or None
        URI below which the output of attempts is brought, such as ``s3://bucket/prefix``.
    logs_keep : float
        Seconds that a log stays on this machine after it was brought there.
    log_limit : int
        Bytes of output that are kept of one attempt.
    ageing : str or None
        How long a wait makes up for one class of priority, in pools that do not say themselves.
    defaults, pools, limits, types : mapping
        The tables of these names; of pools their slots.
    pool_ageing : mapping
        How long a wait makes up for one class in the pools that say so.
    root, file : str
        The project's folder, and its file or ``None``.
    origins : mapping
        For each key (``slots``, ``defaults.retries``): ``argument``, the name of a variable, the
        path of a file, or ``default``.
    notes : tuple of str
        What looks like a mistake and stops nothing.
    """

    __slots__ = (
        "ageing",
        "busy_wait",
        "dags",
        "database",
        "defaults",
        "file",
        "home",
        "limits",
        "load_timeout",
        "log_level",
        "log_limit",
        "logs",
        "logs_keep",
        "notes",
        "origins",
        "pool_ageing",
        "pools",
        "root",
        "slots",
        "timezone",
        "types",
    )

    ageing: str | None
    busy_wait: float
    dags: tuple[str, ...]
    database: str
    defaults: Mapping[str, Any]
    file: str | None
    home: str
    limits: Mapping[str, int]
    load_timeout: float
    log_level: str
    log_limit: int
    logs: str | None
    logs_keep: float
    notes: tuple[str, ...]
    origins: Mapping[str, str]
    pool_ageing: Mapping[str, str]
    pools: Mapping[str, int]
    root: str
    slots: int
    timezone: str
    types: Mapping[str, Any]

    def __init__(self, **values: Any) -> None:
        for name in self.__slots__:
            object.__setattr__(self, name, values[name])

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"settings never change; load_settings makes new ones ({name})")

    def __repr__(self) -> str:
        database = shown(self.database)
        return f"Settings(database={database!r}, file={self.file!r}, slots={self.slots})"


KEYS: dict[str, Callable[[Any], Any]] = {
    "database": values.database,
    "home": values.text,
    "dags": values.texts,
    "timezone": values.zone,
    "slots": values.count(1, 100_000),
    "ageing": values.duration,
    "log_level": values.one_of(*values.LEVELS),
    "busy_wait": values.seconds,
    "load_timeout": values.seconds,
    "logs": values.place,
    "logs_keep": values.seconds,
    "log_limit": values.size,
}
TABLES = ("defaults", "pools", "limits", "types")
POLICY: dict[str, Callable[[Any], Any]] = {
    "retries": values.count(0, 1000),
    "max_attempts": values.count(1, 1001),
    "max_losses": values.count(0, 1000),
    "retry_interval": values.duration,
    "retry_backoff": values.backoff,
    "retry_cap": values.duration,
    "retry_jitter": values.part,
    "retry_on": values.texts,
    "timeout": values.duration,
    "grace": values.duration,
    "priority": values.priority,
    "preemptible": values.flag,
    "pool": values.text,
    "slots": values.count(1),
    "max_active": values.count(1),
    "limits": values.limits,
    "deadline": values.text,
    "on_deadline": values.one_of("alert", "cancel"),
    "block_timeout": values.duration,
}
OTHER_VARIABLES = ("PROJECT",)


# --- reading --------------------------------------------------------------------------------


def find_project(start: str) -> str | None:
    """The project file of a folder: its own or that of the nearest folder above."""
    folder = os.path.abspath(start)
    while True:
        found = _project_file(folder)
        above = os.path.dirname(folder)
        if found is not None or above == folder:
            return found
        folder = above


def _project_file(folder: str) -> str | None:
    own = os.path.join(folder, PROJECT_FILE)
    if os.path.isfile(own):
        return own
    shared = os.path.join(folder, "pyproject.toml")
    if _mentions(shared, b"mainspring"):
        table = _toml(shared).get("tool", {})
        if isinstance(table, dict) and "mainspring" in table:
            return shared
    return None


def _mentions(path: str, word: bytes) -> bool:
    try:
        with open(path, "rb") as file:
            return word in file.read()
    except OSError:
        return False


def _toml(path: str) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        with open(path, encoding="utf-8-sig") as file:
            return tomllib.loads(file.read())
    except UnicodeDecodeError as error:
        raise _refuse("config_syntax", path, f"is not UTF-8 text (byte {error.start})") from None
    except tomllib.TOMLDecodeError as error:
        raise _refuse("config_syntax", path, f"is not valid TOML: {error}") from None
    except OSError as error:
        raise _refuse("config_unreadable", path, f"cannot be read: {error.strerror}") from None


def load_settings(
    arguments: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] | None = None,
    cwd: str | os.PathLike[str] | None = None,
) -> Settings:
    """Settings from arguments, environment, project file and defaults, in this order.

    Parameters
    ----------
    arguments
        Values that win; ``None`` stands for "not given". ``project`` names the project's folder
        or file and ends the search for it.
    environ
        The environment; by default that of the process.
    cwd
        Where the search for the project file starts and what relative paths of arguments and
        variables are counted from.

    Raises
    ------
    ConfigError
        With everything that is wrong, each with file and key.
    """
    environ = os.environ if environ is None else environ
    given = {key: value for key, value in (arguments or {}).items() if value is not None}
    here = os.path.abspath(_working_folder() if cwd is None else cwd)
    root, file = _locate(given.pop("project", None) or environ.get(PREFIX + "PROJECT"), here)

    reader = _Reader(here=here)
    reader.take_file(file)
    reader.take_environment(environ)
    reader.take_arguments(given)
    if reader.problems:
        raise ConfigError(reader.problems)
    return reader.settings(root, file)


def _locate(project: str | os.PathLike[str] | None, here: str) -> tuple[str, str | None]:
    if project is None:
        file = find_project(here)
        return (here if file is None else os.path.dirname(file)), file
    place = _absolute(os.fspath(project), here)
    if os.path.isfile(place):
        return os.path.dirname(place), place
    if not os.path.isdir(place):
        hint = "check --project or MAINSPRING_PROJECT"
        raise _refuse("no_project", place, "no such project folder or file", hint)
    return place, _project_file(place)


def _working_folder() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:  # somebody removed it under us
        return os.path.expanduser("~")


class _Reader:
    """Collects values, their origins and everything that is wrong with them."""

    def __init__(self, here: str) -> None:
        self.here = here
        self.values: dict[str, Any] = {}
        self.tables: dict[str, dict[str, Any]] = {name: {} for name in TABLES}
        self.pool_ageing: dict[str, str] = {}
        self.origins: dict[str, str] = {}
        self.problems: list[Problem] = []
        self.notes: list[str] = []

    def take_file(self, file: str | None) -> None:
        if file is None:
            return
        content = _toml(file)
        folder, name = os.path.split(file)
        other = os.path.join(folder, "pyproject.toml")
        if name == "pyproject.toml":
            content = content.get("tool", {}).get("mainspring", {})
            if not isinstance(content, dict):
                self._wrong("wrong_value", file, "tool.mainspring must be a table")
                return
        elif _mentions(other, b"[tool.mainspring"):
            self.notes.append(
                f"{other}: [tool.mainspring] is not read, because {name} is beside it"
            )
        for key, value in content.items():
            if key in TABLES:
                self._take_table(key, value, file)
            else:
                self._take(key, value, file, folder)

    def take_environment(self, environ: Mapping[str, str]) -> None:
        known = {PREFIX + key.upper(): key for key in KEYS}
        for variable, key in known.items():
            text = environ.get(variable, "")
            if text:
                value: Any = (
                    [part for part in text.split(os.pathsep) if part] if key == "dags" else text
                )
                self._take(key, value, variable, self.here)
        for variable in environ:
            if (
                variable.startswith(PREFIX)
                and variable not in known
                and variable[len(PREFIX) :] not in OTHER_VARIABLES
            ):
                near = values.nearest(variable, known)
                if near:
                    self.notes.append(f"{variable} is not a setting{near}")

    def take_arguments(self, given: Mapping[str, Any]) -> None:
        for key, value in given.items():
            if key in TABLES:
                self._take_table(key, value, "argument")
            else:
                self._take(key, value, "argument", self.here)

    def _take(self, key: str, value: Any, origin: str, base: str) -> None:
        check = KEYS.get(key)
        if check is None:
            known = (*KEYS, *TABLES)
            self._wrong(
                "unknown_key",
                origin,
                f"unknown key {values.shown(key)}{values.nearest(key, known)}",
                f"known keys: {', '.join(known)}",
            )
            return
        try:
            value = check(value)
        except values.ValueProblem as problem:
            self._wrong("wrong_value", origin, f"{key} {problem}")
            return
        if key == "home" or (key == "database" and "://" not in value):
            value = _absolute(value, base)
        elif key == "logs" and "://" not in value:
            from urllib.parse import quote

            value = "file://" + quote(_absolute(value, base))
        elif key == "dags":
            value = tuple(_absolute(item, base) for item in value)
        self.values[key] = value
        self.origins[key] = origin

    def _take_table(self, name: str, value: Any, origin: str) -> None:
        try:
            entries = values.table(value)
        except values.ValueProblem as problem:
            self._wrong("wrong_value", origin, f"{name} {problem}")
            return
        for key, item in entries.items():
            full = f"{name}.{key}"
            try:
                if name == "defaults":
                    if key not in POLICY:
                        self._wrong(
                            "unknown_key",
                            origin,
                            f"unknown key {values.shown(full)}{values.nearest(key, POLICY)}",
                            f"known keys: {', '.join(POLICY)}",
                        )
                        continue
                    item = POLICY[key](item)
                elif name == "pools":
                    item, ageing = values.pool(item)
                    if ageing is not None:
                        self.pool_ageing[key] = ageing
                elif name == "limits":
                    item = values.count(0, 1_000_000)(item)
                else:
                    item = values.table(item)
            except values.ValueProblem as problem:
                self._wrong("wrong_value", origin, f"{full} {problem}")
                continue
            self.tables[name][key] = item
            self.origins[full] = origin
        rules = self.tables["defaults"]
        if (
            name == "defaults"
            and rules.get("max_attempts", 0) != rules.get("retries", -1) + 1
            and {"retries", "max_attempts"} <= rules.keys()
        ):
            self._wrong(
                "wrong_value",
                origin,
                "defaults.retries and defaults.max_attempts disagree",
                "max_attempts is retries + 1; give one of them",
            )

    def _wrong(self, code: str, place: str, message: str, hint: str | None = None) -> None:
        self.problems.append(Problem(code, place, message, hint))

    def settings(self, root: str, file: str | None) -> Settings:
        def value(key: str, default: Any) -> Any:
            self.origins.setdefault(key, "default")
            return self.values.get(key, default)

        home = value("home", _absolute("~/.mainspring", root))
        beside = home if file is None else os.path.join(root, ".mainspring")
        order = {key: place for place, key in enumerate((*KEYS, *TABLES))}
        return Settings(
            database=value("database", os.path.join(beside, "mainspring.db")),
            home=home,
            dags=value("dags", (os.path.join(root, "dags"),)),
            timezone=value("timezone", "UTC"),
            slots=value("slots", 32),
            log_level=value("log_level", "warning"),
            busy_wait=value("busy_wait", 120.0),
            load_timeout=value("load_timeout", 30.0),
            logs=value("logs", None),
            logs_keep=value("logs_keep", 7 * 86400.0),
            log_limit=value("log_limit", 64 << 20),
            defaults=MappingProxyType(self.tables["defaults"]),
            ageing=self.values.get("ageing"),
            pools=MappingProxyType(self.tables["pools"]),
            pool_ageing=MappingProxyType(self.pool_ageing),
            limits=MappingProxyType(self.tables["limits"]),
            types=MappingProxyType(self.tables["types"]),
            root=root,
            file=file,
            origins=MappingProxyType(
                dict(
                    sorted(self.origins.items(), key=lambda entry: order[entry[0].split(".", 1)[0]])
                )
            ),
            notes=tuple(self.notes),
        )


# --- one for the process --------------------------------------------------------------------

_current: Settings | None = None


def settings() -> Settings:
    """The settings of this process, read at the first use."""
    global _current
    if _current is None:
        _current = load_settings()
    return _current


def reset(new: Settings | None = None) -> None:
    """Forget the settings of this process, or put others in their place."""
    global _current
    _current = new


# --- words ----------------------------------------------------------------------------------


def _refuse(code: str, place: str, message: str, hint: str | None = None) -> ConfigError:
    return ConfigError([Problem(code, place, message, hint)])


def _absolute(text: str, base: str) -> str:
    return os.path.normpath(os.path.join(base, os.path.expanduser(text)))
