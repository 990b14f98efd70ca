"""What a dag file says, as plain data; runs in the process that is there for this one file."""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from mainspring import _project
from mainspring._folder import stamp
from mainspring._fresh import is_own
from mainspring.errors import Problem, SpecError

if TYPE_CHECKING:
    from mainspring._dag import Dag

__all__ = ["in_file", "problem_of", "read_file", "words_of"]


def read_file(file: str, others: Iterable[str], roots: Sequence[str], full: bool) -> dict[str, Any]:
    """Import a dag file and say what is in it.

    Parameters
    ----------
    file
        Its path.
    others
        Real paths of the dag files beside it.
    roots
        Folders, each with a slash at its end: modules in them are the project's own.
    full
        Whether to give the resolved definitions too.

    Returns
    -------
    dict
        ``texts``, the good definitions as JSON, with their ``keys``; ``broken``, the names of
        dags that are wrong; ``problems``; ``trace``; ``modules`` (path to hash and stamp) and
        ``sought`` (paths where a module would have to be that was not found); with `full`,
        ``dags`` for people.
    """
    here = os.getcwd()
    before = set(sys.modules)
    loaded = _project.load_file(file, others=others)
    with suppress(OSError):
        os.chdir(here)  # places are said from where the user stands
    found: dict[str, Any] = {"texts": [], "keys": [], "broken": [], "dags": []}
    found["trace"] = loaded.trace
    problems = list(loaded.problems)
    names = Counter(str(dag.name) for dag in loaded.dags)
    for dag in loaded.dags:
        wrong, good = _checked(dag, file)
        problems += wrong
        if good is None or names[str(dag.name)] > 1:
            found["broken"].append(str(dag.name))
        else:
            found["keys"].append(good[0])
            found["texts"].append(good[1])
        if full:
            found["dags"].append(_shown(dag, good is not None))
    own = _own_files(file, set(sys.modules) - before, loaded.trace, roots)
    found["modules"] = {path: (_hash(path), stamp(path)) for path in own}
    found["sought"] = _sought(problems, roots)
    found["problems"] = [words_of(problem) for problem in problems]
    return found


def _checked(dag: Dag, file: str) -> tuple[list[Problem], tuple[str, str] | None]:
    """What is wrong with a dag; its key and its specification as JSON text where nothing is."""
    from mainspring._mainspring import check_text

    try:
        return [], check_text(dag.spec())
    except SpecError:
        try:
            dag.check()  # the one question that lists what either side sees
        except SpecError as error:
            shown = _project.shown_path(file)
            return [in_file(problem, shown) for problem in error.problems], None
        raise


def _shown(dag: Dag, good: bool) -> dict[str, Any]:
    from mainspring._mainspring import check_dag

    definition = check_dag(dag.spec()) if good else None
    schedules = [dag.fields.get("schedule"), *_of_tasks(dag, definition)]
    items = [item for each in schedules if each is not None
             for item in (each if isinstance(each, (list, tuple)) else [each])]
    named = dag.fields.get("timezone") or all(
        getattr(getattr(item, "rule", item), "names_zone", False) for item in items
    )
    calendars = [item.calendar for item in items if getattr(item, "calendar", None) is not None]
    return {
        "name": str(dag.name),
        "definition": definition,
        "zone_by_default": bool(items) and not named,
        "calendar_ends": {each.name: each.years[1] for each in calendars},
        "wrong": not good,
    }


def _of_tasks(dag: Dag, definition: dict[str, Any] | None) -> list[Any]:
    """The schedules that tasks have of their own."""
    return [node.task.options.get("schedule") for node in dag.nodes()] if definition else []


def in_file(problem: Problem, file: str) -> Problem:
    """The same problem with its file in front, and its line where the core knows it."""
    message = f"{problem.place}: {problem.message}" if problem.place else problem.message
    text, line = message, ""
    if message.endswith(")"):
        text, _, where = message[:-1].rpartition(" (")
        path, _, line = where.rpartition(":")
        if not line.isdigit() or not path.endswith(".py"):
            text, line = message, ""
        else:
            file = path
    return Problem(problem.code, f"{file}:{line}" if line else file, text, problem.hint)


# --- what the file is made of ---------------------------------------------------------------


def _own_files(
    file: str, names: Iterable[str], trace: str | None, roots: Sequence[str]
) -> list[str]:
    """The file, the modules of the project that it imported, and those that broke on the way."""
    found = {file}
    for name in names:
        origin = getattr(sys.modules.get(name), "__file__", None)
        if isinstance(origin, str):
            found.add(os.path.abspath(origin))
    for origin in re.findall(r'^ *File "([^<].*?)", line \d', trace or "", re.MULTILINE):
        found.add(os.path.abspath(origin))
    return sorted(path for path in found if path == file or is_own(path, roots))


def _sought(problems: Iterable[Problem], roots: Sequence[str]) -> list[str]:
    """Where the module would be that was not found, were it one of the project's own."""
    found = []
    for problem in problems:
        name = re.search(r"No module named '([\w.]+)'", problem.message)
        if problem.code != "import_error" or name is None:
            continue
        for folder in sys.path:
            place = os.path.join(os.path.abspath(folder), *name[1].split("."))
            if is_own(place, roots):
                found += [f"{place}.py", os.path.join(place, "__init__.py")]
    return [path for path in found if stamp(path) is None]


def _hash(path: str) -> str:
    from hashlib import blake2b

    try:
        with open(path, "rb") as file:
            return blake2b(file.read(), digest_size=16).hexdigest()
    except OSError:
        return ""


# --- problems as plain data -----------------------------------------------------------------


def words_of(problem: Problem) -> dict[str, str | None]:
    """A problem as it goes over the pipe."""
    return {name: getattr(problem, name) for name in ("code", "place", "message", "hint")}


def problem_of(words: dict[str, Any]) -> Problem:
    """And back."""
    return Problem(words["code"], words["place"], words["message"], words["hint"])
