"""Dags as the words of a command name them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from mainspring.cli._console import Console, clean, clean_block
from mainspring.cli._stop import Stop, nearest, show_problems
from mainspring.errors import Problem, SpecError

if TYPE_CHECKING:
    from mainspring._config import Settings
    from mainspring._dag import Dag
    from mainspring._loader import Loaded
    from mainspring._project import LoadedFile

__all__ = [
    "Checked",
    "across",
    "check_dag",
    "dag_of_run",
    "load_apart",
    "named_dag",
    "project_files",
]


class Checked(NamedTuple):
    """A dag's name, its file, and its resolved definition or what is wrong with it."""

    name: str
    file: Path
    definition: dict[str, Any] | None
    problems: tuple[Problem, ...]
    zone_by_default: bool = False
    calendar_ends: Mapping[str, int] = MappingProxyType({})
    """The last year that each calendar of its schedules knows."""


def project_files(
    settings: Settings, paths: Iterable[str] = (), left_out: list[str] | None = None
) -> list[Path]:
    """The dag files of the project, or of these files and folders."""
    from mainspring._folder import find_files

    places = [Path(path).absolute() for path in paths] or [Path(path) for path in settings.dags]
    files: list[Path] = []
    root = Path(settings.root)
    for place in places:
        if place.is_dir():
            files += find_files([place], root, left_out)
        elif paths or place.exists():
            files.append(place)
    return list(dict.fromkeys(files))


def load_apart(settings: Settings, files: Iterable[Path]) -> list[tuple[Loaded, list[Checked]]]:
    """Load files so that none can hurt this process, or another; with what is in each.

    Two dags of one name in two files are a problem of the second, which names both.
    """
    from mainspring._loader import Loader

    paths = [str(file) for file in files]
    found: dict[str, Loaded] = {}
    loader = Loader(settings, parallel=min(2, len(paths)))
    try:
        loader.know(paths)
        for path in paths:
            loader.submit(path, full=True)
        while len(found) < len(paths):
            found.update((loaded.file, loaded) for loaded in loader.results(0.2))
    finally:
        loader.close()
    first: dict[str, str] = {}
    return [(loaded, _checked(loaded, first)) for loaded in map(found.__getitem__, paths)]


def _checked(loaded: Loaded, first: dict[str, str]) -> list[Checked]:
    from mainspring._project import other_file_has

    for name in dict.fromkeys(dag["name"] for dag in loaded.dags):
        other = first.setdefault(name, loaded.file)
        if other != loaded.file:
            loaded.problems.append(other_file_has(name, loaded.file, other))
    return [
        Checked(dag["name"], Path(loaded.file), dag["definition"], (), dag["zone_by_default"],
                dag["calendar_ends"])
        for dag in loaded.dags
    ]


def check_dag(dag: Dag, file: Path) -> Checked:
    """The dag's resolved definition, or everything that is wrong with it."""
    from mainspring._loadfile import in_file
    from mainspring._project import shown_path

    try:
        return Checked(dag.name, file, resolved(dag), ())
    except SpecError as error:
        shown = shown_path(file)
        return Checked(dag.name, file, None, tuple(in_file(item, shown) for item in error.problems))


def resolved(dag: Dag) -> dict[str, Any]:
    """The definition as the core resolves it."""
    from mainspring._mainspring import check_dag as resolve

    try:
        return resolve(dag.spec())
    except SpecError:
        dag.check()  # the one question that lists what either side sees
        raise


def across(checked: Sequence[Checked], *, whole: bool) -> list[Problem]:
    """What is wrong between dags: an upstream that is nowhere, and circles through several.

    Parameters
    ----------
    checked
        The dags of which a definition is known take part.
    whole
        Whether these are all dags of the project; if not, a dag that is not here may well exist.
    """
    from mainspring._project import shown_path

    tasks = {
        f"{item.definition['key']}.{task['name']}": (item, task)
        for item in checked
        if item.definition is not None
        for task in item.definition["tasks"]
    }
    names = {item.name for item in checked}
    makers = {asset: key for key, (_, task) in tasks.items() for asset in task.get("produces", [])}
    problems: list[Problem] = []
    graph: dict[str, set[str]] = {}
    crossing = False
    for key, (item, task) in tasks.items():
        graph[key] = set()
        for edge in task.get("dependencies", []):
            upstream = edge["upstream"]
            if upstream.startswith("@"):
                asset = upstream[1:]
                if asset in makers:
                    crossing |= makers[asset].partition(".")[0] != item.name
                    if edge.get("offset_to", 0) >= 0:
                        graph[key].add(makers[asset])
                elif whole and not edge.get("external"):
                    message = f"{key}: waits for the asset {asset!r}, which no task makes"
                    hint = nearest(asset, makers) or (
                        "a task makes it with produces=; say external=True where it comes from "
                        "elsewhere")
                    place = shown_path(item.file)
                    problems.append(Problem("unknown_asset", place, message, hint))
                continue
            other = upstream.partition(".")[0]
            crossing |= other != item.name
            if upstream in tasks:
                if edge["kind"] != "WEAK" and edge.get("offset_to", 0) >= 0:
                    graph[key].add(upstream)
            elif other in names - {item.name} or (whole and other != item.name):
                broken = any(each.name == other and not each.definition for each in checked)
                if not broken:
                    message = f"{key}: waits for {upstream!r}, which is in no dag file"
                    place = shown_path(item.file)
                    hinted = nearest(upstream, tasks)
                    problems.append(Problem("unknown_upstream", place, message, hinted))
    problems += pairs(checked)
    if crossing:
        problems += _circle(graph, {key: shown_path(item.file) for key, (item, _) in tasks.items()})
    return problems


def pairs(checked: Sequence[Checked]) -> list[Problem]:
    """Edges to other dags and periods that can never hold, or on few days only."""
    import time

    from mainspring._mainspring import check_pairs

    whole = [item.definition for item in checked if item.definition is not None]
    waits = [task for each in whole for task in each["tasks"]
             if any(edge.get("offset_from") or edge.get("offset_to")
                    or edge["upstream"].partition(".")[0] != each["key"]
                    or each.get("schedules")
                    for edge in task.get("dependencies", []))]
    if not waits or not all("timezone" in each for each in whole):
        return []
    try:
        check_pairs(whole, time.time_ns() // 1000)
    except SpecError as error:
        return list(error.problems)
    return []


def _circle(graph: dict[str, set[str]], files: dict[str, str]) -> list[Problem]:
    from graphlib import CycleError, TopologicalSorter

    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        path = error.args[1]
        places = ", ".join(dict.fromkeys(files[key] for key in path))
        message = f"tasks wait for each other: {' -> '.join(path)}"
        return [Problem("cycle", places, message, "take one of these edges away")]
    return []


def named_dag(settings: Settings, target: str, console: Console) -> tuple[Dag, Path]:
    """The dag of a name, or of ``FILE`` or ``FILE:DAG``."""
    file, name = _split(target)
    if file is not None:
        return _dag_of_file(file, name, console)
    return _dag_of_project(settings, target, console)


def dag_of_run(settings: Settings, history: Any, record: Any, console: Console) -> Dag:
    """The dag that a run is of: from the project, else from the file it was last read from."""
    name = record["dag"]
    loaded = load_apart(settings, project_files(settings))
    file = next((dag.file for _, dags in loaded for dag in dags if dag.name == name), None)
    if file is None:
        file = _remembered_file(history, name, Path(settings.root))
    if file is None:
        return named_dag(settings, name, console)[0]
    dag, _ = _dag_of_file(str(file), name, console)
    dag.database = None  # the run is in the database that the options name
    return dag


def _remembered_file(history: Any, name: str, root: Path) -> Path | None:
    definition = history.dag(name) or {}
    for task in definition.get("tasks", []):
        source, colon, line = (task.get("source") or "").rpartition(":")
        if colon and line.isdigit() and source.endswith(".py"):
            for place in (Path(source), root / source):
                if place.is_file():
                    return place
    return None


def _split(target: str) -> tuple[str | None, str | None]:
    if os.path.isfile(target):
        return target, None
    front, colon, name = target.rpartition(":")
    if colon and name and (front.endswith(".py") or os.path.isfile(front)):
        return front, name
    if target.endswith(".py") or os.sep in target:
        return target, None
    return None, None


def _dag_of_file(file: str, name: str | None, console: Console) -> tuple[Dag, Path]:
    from mainspring import _project

    loaded = _project.load_file(file)
    if loaded.problems:
        _stop_at(loaded, console)
    return _chosen(loaded, name), loaded.path


def _stop_at(loaded: LoadedFile, console: Console) -> None:
    if loaded.trace and console.verbose:
        console.say(clean_block(loaded.trace).rstrip())
    raise SpecError(list(loaded.problems))


def _chosen(loaded: LoadedFile, name: str | None) -> Dag:
    from mainspring._project import shown_path

    shown = shown_path(loaded.path)
    names = [dag.name for dag in loaded.dags]
    if not names:
        hint = "a dag file makes one at import: with ms.Dag('name') as dag: ..."
        raise Stop(f"{clean(shown)} has no dag", hint)
    if name is None:
        if len(names) == 1:
            return loaded.dags[0]
        hint = "choose one: " + ", ".join(f"{shown}:{each}" for each in names[:5])
        raise Stop(f"{clean(shown)} has {len(names)} dags", clean(hint), 2)
    for dag in loaded.dags:
        if dag.name == name:
            return dag
    raise Stop(f"{clean(shown)} has no dag {clean(name)!r}", nearest(name, names), 2)


def _dag_of_project(settings: Settings, name: str, console: Console) -> tuple[Dag, Path]:
    from mainspring import _project

    everything = load_apart(settings, project_files(settings))
    having = [dag.file for _, dags in everything for dag in dags if dag.name == name]
    having = list(dict.fromkeys(having))
    if len(having) > 1:
        files = " and ".join(map(_project.shown_path, having))
        raise Stop(
            f"dag {clean(name)!r} is in {clean(files)}", "rename one of them, or name the file"
        )
    broken = [item for item, _ in everything if not item.imported]
    if not having:
        for item in broken:
            show_problems(item.problems, console)
        known = [dag.name for _, dags in everything for dag in dags]
        places = ", ".join(map(_project.shown_path, settings.dags))
        hint = nearest(name, known) or f"no dag was found in {clean(places)}; see 'mainspring init'"
        raise Stop(f"there is no dag {clean(name)!r}", hint, 2)
    if broken:
        names = ", ".join(_project.shown_path(item.file) for item in broken)
        console.note(f"not loaded: {clean(names)}; 'mainspring check' says why")
    # Once more, here, and this time to stay: its tasks run in this process.
    again = _project.load_file(having[0])
    if again.problems:
        _stop_at(again, console)
    return _chosen(again, name), again.path
