"""The line below the log of ``mainspring up`` on a terminal: what runs, what comes next.

It is written over once a second. Whatever else is written to the terminal first takes it away, and
puts it back below.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any, TextIO

from mainspring._heard import Heard
from mainspring._scheduler import Watcher
from mainspring._table import counted
from mainspring.cli._console import cut
from mainspring.errors import MainspringError

if TYPE_CHECKING:
    from mainspring._mainspring import Session as CoreSession

__all__ = ["LiveLine", "loading", "standing"]

STEP = 1.0
"""Seconds between two states of the line."""

STEP_OF_FILES = 0.1
"""The same while files are loaded, which is soon over."""


def loading(done: int, total: int) -> str:
    """How far the loading of files is.

    Examples
    --------
    >>> from mainspring.cli._live_line import loading
    >>> loading(312, 1000)
    'loaded 312/1000 files'
    """
    return f"loaded {done}/{counted(total, 'file')}"


def standing(load: dict[str, Any], heard: Heard, now: int) -> str:
    """What holds now, in one line; ``now`` is microseconds UTC.

    Examples
    --------
    >>> from mainspring._heard import Heard
    >>> from mainspring.cli._live_line import standing
    >>> standing({"live": 2, "stuck": 0, "runs": 1, "next_fire": None}, Heard(), 0)
    '2 running | 1 run open | nothing scheduled'
    """
    parts = [f"{load['live']} running", f"{counted(load['runs'], 'run')} open"]
    if load["stuck"]:
        parts[0] += f", {load['stuck']} stuck"
    parts.append(_coming(load["next_fire"], now))
    bad = len(heard.problems)
    if bad:
        parts.append(f"{counted(bad, 'file')} with problems")
    if heard.stalled:
        parts.insert(0, "NOTHING CAN BE WRITTEN")
    return " | ".join(parts)


def _coming(fire: int | None, now: int) -> str:
    if fire is None:
        return "nothing scheduled"
    left = -((now - fire) // 1_000_000)  # rounded up: 0 only when it is due
    if left <= 0:
        return "next fire now"
    at, today = (datetime.fromtimestamp(each / 1e6).astimezone() for each in (fire, now))
    shown = f"{at:%H:%M:%S}" if at.date() == today.date() else f"{at:%Y-%m-%d %H:%M}"
    return f"next fire {shown}, in {_countdown(left)}"


def _countdown(seconds: int) -> str:
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{days}d {hours:02}h"
    if hours:
        return f"{hours}h {minutes:02}m"
    return f"{minutes}m {seconds:02}s" if minutes else f"{seconds}s"


class LiveLine(Watcher):
    """One line that is written over.

    Parameters
    ----------
    stream : file
        The terminal.
    heard : Heard
        What the scheduler's events amount to.
    columns : callable
        How wide the terminal is.
    monotonic, clock : callable
        Seconds; microseconds UTC.
    """

    def __init__(self, stream: TextIO, heard: Heard, *, columns: Callable[[], int],
                 monotonic: Callable[[], float] = time.monotonic,
                 clock: Callable[[], int] = lambda: time.time_ns() // 1000) -> None:
        self._stream, self._heard, self._columns = stream, heard, columns
        self._monotonic, self._clock = monotonic, clock
        self._core: CoreSession | None = None
        self._text = ""
        self._at: float | None = None

    def leads(self, core: CoreSession) -> None:
        """Ask it from now on."""
        self._core = core

    def files(self, done: int, total: int) -> None:
        """Show how far the loading of files is."""
        if done >= total:
            self._show("")
        elif self._due(STEP_OF_FILES):
            self._show(loading(done, total))

    def turned(self) -> None:
        """Show what holds now, once a second."""
        if self._core is None or not self._due(STEP):
            return
        if self._heard.stalled:
            # The core waits for the database and may not answer.
            self._show(f"NOTHING CAN BE WRITTEN: {self._heard.stalled}")
            return
        try:
            load = self._core.load()
        except MainspringError:
            return
        self._show(standing(load, self._heard, self._clock()))

    def _due(self, step: float) -> bool:
        now = self._monotonic()
        if self._at is not None and 0 <= now - self._at < step:
            return False
        self._at = now
        return True

    def _show(self, text: str) -> None:
        self._text = text
        self._draw()

    def _draw(self) -> None:
        # One column stays free: a letter in the last one would make some terminals wrap.
        try:
            self._stream.write("\r\x1b[2K" + cut(self._text, max(20, self._columns() - 1)))
            self._stream.flush()
        except (OSError, ValueError):
            pass  # the terminal is gone, which stops nothing

    def above(self, line: str) -> None:
        """Write a line of the log where this one is, and this one below."""
        self._stream.write(f"\r\x1b[2K{line}\n")
        self._stream.flush()
        if self._heard.phase == "stopping":
            self._text = ""
        self._draw()

    def close(self) -> None:
        """Take it away."""
        self._show("")
