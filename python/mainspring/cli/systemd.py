"""``mainspring systemd``."""

from __future__ import annotations

import argparse
import os
import re
import sys
from typing import TYPE_CHECKING

from mainspring._place import shown
from mainspring.cli._console import Console
from mainspring.cli._settings import settings_of
from mainspring.cli._stop import Stop

if TYPE_CHECKING:
    from mainspring._config import Settings

__all__ = ["run", "unit"]

STOP = 90
"""Seconds that systemd waits for an orderly end; longer than the grace of most tasks."""


def run(options: argparse.Namespace, console: Console) -> int:
    """Print a unit that keeps ``mainspring up`` running for this project."""
    settings = settings_of(options, console)
    if options.user is not None and not re.fullmatch(r"[a-z_][a-z0-9_-]{0,31}\$?", options.user):
        raise Stop(f"{options.user!r} is no name of a user", "--user NAME, as in 'id NAME'", 2)
    text = unit(settings, sys.executable, options.user)
    console.line(text.rstrip())
    console.document({"unit": text})
    return 0


def unit(settings: Settings, python: str, user: str | None = None) -> str:
    """The text of the unit.

    Parameters
    ----------
    settings
        Those of the project.
    python
        The interpreter that has mainspring.
    user
        Whom a unit of the system runs as; without, it is a unit of the user who installs it.
    """
    words = [python, "-m", "mainspring", "--project", settings.file or settings.root]
    if settings.origins.get("database", "default") not in ("default", settings.file):
        if shown(settings.database) != settings.database:
            raise Stop("a unit is no place for a password: everybody can read it",
                       "put the URL into mainspring.toml, and let only its owner read that")
        words += ["--database", settings.database]
    if set(python) & set("\"'\\$"):  # systemd refuses these in the name of a program
        words.insert(0, "/usr/bin/env")
    command = " ".join(map(_word, [*words, "up"]))
    name = os.path.basename(settings.root) or "project"
    return f"""\
[Unit]
Description=mainspring scheduler of {_text(name)}
After=network-online.target
Wants=network-online.target
# It starts again for ever: a scheduler that gave up at night is worth nothing.
StartLimitIntervalSec=0

[Service]
Type=exec
{f"User={user}" + chr(10) if user else ""}\
WorkingDirectory={_text(settings.root)}
ExecStart={command}
Environment=PYTHONUNBUFFERED=1
Restart=always
RestartSec=2
# SIGTERM goes to the scheduler alone, which ends its tasks in order; what is left then is killed.
KillMode=mixed
TimeoutStopSec={STOP}
# A task that is killed for its memory is not the end of the scheduler.
OOMPolicy=continue
UMask=0077
NoNewPrivileges=yes
LimitNOFILE=65536

[Install]
WantedBy={"multi-user.target" if user else "default.target"}
"""


def _text(value: str) -> str:
    """A value to the end of its line; a percent sign is a specifier unless doubled."""
    return value.replace("%", "%%")


def _word(value: str) -> str:
    """One word of a command line, as systemd parts and expands it."""
    safe = _text(value).replace("\\", "\\\\").replace('"', '\\"').replace("$", "$$")
    return safe if re.fullmatch(r"[\w@%+=:,./$-]+", safe) else f'"{safe}"'
