"""Settings and history as the options of a command ask for them."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from mainspring import _config, _config_values
from mainspring._place import shown
from mainspring.cli._console import Console, clean
from mainspring.cli._stop import Stop

if TYPE_CHECKING:
    from mainspring._config import Settings
    from mainspring._mainspring import History

__all__ = ["apply_pools", "history_if_any", "history_of", "run_of", "settings_of"]


def settings_of(options: argparse.Namespace, console: Console) -> Settings:
    """The settings, from now on those of the whole process."""
    given = {"database": options.database, "project": options.project}
    settings = _config.load_settings(given)
    for note in settings.notes:
        console.note(clean(note))
    _config.reset(settings)
    return settings


def history_of(settings: Settings, database: Any = None) -> History:
    """The history; it is an error if nothing was ever run."""
    found = history_if_any(settings, database)
    if found is None:
        place = shown(settings.database if database is None else database)
        hint = "nothing was run yet; see 'mainspring run'"
        raise Stop(f"there is no database at {clean(place)}", hint)
    return found


def history_if_any(settings: Settings, database: Any = None) -> History | None:
    """The history, or ``None`` where nothing was ever run; reading makes no database."""
    from mainspring import _session

    return _session.history(settings.database if database is None else database)


def apply_pools(settings: Settings, database: Any = None) -> None:
    """Give the pools and limits of the project file the slots that it says, where they differ."""
    if not (settings.pools or settings.limits):
        return
    from mainspring import _session

    where = settings.database if database is None else database
    session = _session.session(where)
    reader = _session.history(where)
    known = {} if reader is None else reader.pools()
    ages = {} if reader is None else reader.ageing()
    for name, slots in settings.pools.items():
        if name not in known or known[name][0] != slots:
            session.core.set_pool(name, slots)
        step = _config_values.milliseconds(settings.pool_ageing.get(name))
        if ages.get(name) != step:
            session.core.set_ageing(name, step)
    known = {} if reader is None else reader.limits()
    for name, slots in settings.limits.items():
        if name not in known or known[name][0] != slots:
            session.core.set_limit(name, slots)


def run_of(history: History, text: str, dag: str | None = None, **wanted: Any) -> Any:
    """The run of a number, or the newest one for ``last``."""
    if text == "last":
        found = history.runs(dag=dag, limit=1, **wanted)
        if not found:
            raise Stop("there is no such run yet", "'mainspring runs' lists what there is")
        return found[0]
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        hint = "a run is named by its number, as 'mainspring runs' shows it, or by 'last'"
        raise Stop(f"{clean(text)!r} is no run", hint, 2)
    run = history.run(int(text))
    if run is None:
        raise Stop(f"there is no run {text}", "'mainspring runs' lists what there is")
    return run
