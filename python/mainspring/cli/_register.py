"""The project's dag files as the database knows them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mainspring.cli._console import Console
from mainspring.cli._load import load_apart, project_files
from mainspring.cli._stop import Stop, show_problems

if TYPE_CHECKING:
    from mainspring._config import Settings

__all__ = ["has_scheduler", "register_project"]


def has_scheduler(settings: Settings) -> bool:
    """Whether a scheduler lives that serves the database of the settings."""
    from mainspring._requests import leader
    from mainspring.errors import NotFoundError

    try:
        found = leader(settings.database)
    except NotFoundError:
        return False
    return found is not None and found["alive"]


def register_project(settings: Settings, dag: str, console: Console) -> None:
    """Register the dags of the project's files, which a living scheduler does by itself.

    What depends on a dag may be in any file, so all are read. What is wrong with the dag itself is
    an error; what is wrong elsewhere is only counted, and `mainspring check` tells it.
    """
    from mainspring import _session

    if has_scheduler(settings):
        return
    loaded = [item for item, _ in load_apart(settings, project_files(settings))]
    mine = [item for item in loaded if dag in item.broken or dag in item.keys and item.problems]
    if mine:
        show_problems([problem for item in mine for problem in item.problems], console)
        raise Stop(f"{dag} can not be computed as it is", "mend its file; nothing was begun")
    others = sum(len(item.problems) for item in loaded)
    if others:
        found = "1 problem" if others == 1 else f"{others} problems"
        console.note(f"{found} in other dag files, which are left out; 'mainspring check' prints")
    specs = [spec for item in loaded for spec in item.specs]
    if specs:
        core = _session.session(settings.database).core
        _session.make_shared(core, _session.history(settings.database), settings, specs)
        core.register(specs)
