"""Where progress is shown: one line of a terminal, one output of a cell, a line now and then."""

import sys

from mainspring._table import clip, width

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Protocol

    class Screen(Protocol):
        """Somewhere to show how far something is."""

        step: float
        """Seconds between two states that are worth showing."""

        def show(self, text: str, share: "float | None", html: "Callable[[], str]",
                 last: bool) -> None:
            """Show a state; ``share`` is how much is done, ``last`` whether none follows."""

        def close(self) -> None:
            """The last state stays."""


__all__ = ["Lines", "Notebook", "Terminal", "in_notebook", "on_terminal", "screen"]

BAR, LEAST_BAR = 24, 8
"""Columns of the bar on a terminal, and how many are still worth it."""

EIGHTHS = " ▏▎▍▌▋▊▉"


def in_notebook() -> bool:
    """Whether this process is a notebook's kernel."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel")


def on_terminal() -> bool:
    """Whether somebody sees what is written to the standard error."""
    try:
        return bool(sys.stderr.isatty())
    except (AttributeError, ValueError):
        return False


def screen() -> "Screen":
    """Return the screen that this process has."""
    if in_notebook():
        return Notebook()
    return Terminal(sys.stderr) if on_terminal() else Lines(sys.stderr)


def bar(share: float, columns: int, plain: bool = False) -> str:
    """Return a bar of a terminal.

    Examples
    --------
    >>> from mainspring._screens import bar
    >>> bar(0.3, 10), bar(0.3, 10, plain=True)
    ('███       ', '###-------')
    """
    share = min(1.0, max(0.0, share))
    if plain:
        return ("#" * int(share * columns)).ljust(columns, "-")
    whole, part = divmod(int(share * columns * 8), 8)
    return ("█" * whole + (EIGHTHS[part] if part else "")).ljust(columns)


class Terminal:
    """One line that is written over."""

    step = 0.1

    def __init__(self, stream: "Any", columns: "int | None" = None) -> None:
        self._stream = stream
        self._columns = columns
        self._plain = "utf" not in str(getattr(stream, "encoding", None) or "utf-8").lower()

    def show(self, text: str, share: "float | None", html: "Callable[[], str]",
             last: bool) -> None:
        from shutil import get_terminal_size

        from mainspring.cli._console import cut

        # One column stays free: a letter in the last one would make some terminals wrap.
        room = max(20, (self._columns or get_terminal_size().columns) - 1)
        line = clip(text, 1000)
        left = min(BAR, room - width(line) - 8)
        if share is not None and left >= LEAST_BAR:
            line = f"{int(share * 100):3}% |{bar(share, left, self._plain)}| {line}"
        self._stream.write("\r\x1b[2K" + cut(line, room))
        self._stream.flush()

    def close(self) -> None:
        self._stream.write("\n")
        self._stream.flush()


class Lines:
    """A line at first, one a minute, and one at the end."""

    step = 60.0

    def __init__(self, stream: "Any") -> None:
        self._stream = stream
        self._last = ""

    def show(self, text: str, share: "float | None", html: "Callable[[], str]",
             last: bool) -> None:
        done = text.partition(" |")[0]
        if done == self._last and not last:
            return
        self._last = done
        self._stream.write(text + "\n")
        self._stream.flush()

    def close(self) -> None:
        """Each line is complete."""


class Notebook:
    """One output of the cell that is replaced."""

    step = 0.3

    def __init__(self) -> None:
        import importlib

        display = importlib.import_module("IPython.display").display
        self._handle: Any = display({"text/plain": ""}, raw=True, display_id=True)

    def show(self, text: str, share: "float | None", html: "Callable[[], str]",
             last: bool) -> None:
        if self._handle is not None:
            self._handle.update({"text/plain": text, "text/html": html()}, raw=True)

    def close(self) -> None:
        """The last state stays."""
