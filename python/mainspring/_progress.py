"""Live progress of a run: one line on a terminal, one cell in a notebook, plain lines elsewhere."""

import sys
import time

from mainspring._table import clip

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from mainspring._mainspring import Session as CoreSession
    from mainspring._run import Run

FIRST = 0.5
"""Seconds that a run may last without a word."""

STEP = 0.1
"""Seconds between two looks at a live run."""

_BAD = ("FAILED", "TIMEOUT", "CANCELED", "BLOCKED")
_OVER = ("SUCCESS", "SKIPPED", *_BAD)


def follow(core: "CoreSession", run: "Run", *, always: bool, timeout: "float | None") -> bool:
    """Wait for a run and show how far it is; True when it has ended."""
    began = time.monotonic()
    before = _over(core.progress(run.id))  # done when nobody looked: no measure of the speed
    end = None if timeout is None else began + timeout
    first = FIRST if timeout is None else min(FIRST, timeout)
    if core.wait(run.id, 0.0 if always else first):
        if always:
            screen = _screen()
            screen.show(line(core.progress(run.id), time.monotonic() - began, before))
            screen.close()
        return True
    screen = _screen()
    try:
        outside = _Outside(run)
        while True:
            now = core.progress(run.id)
            screen.show(line(now, time.monotonic() - began, before) + outside.said(now))
            step = STEP if end is None else min(STEP, max(0.0, end - time.monotonic()))
            if core.wait(run.id, step):
                screen.show(line(core.progress(run.id), time.monotonic() - began, before))
                return True
            if end is not None and time.monotonic() >= end:
                return False
    finally:
        screen.close()


class _Outside:
    """Says what a run waits for where nothing of it can move by itself."""

    def __init__(self, run: "Run") -> None:
        self._run = run
        self._at = time.monotonic()
        self._text = ""

    def said(self, now: "dict[str, Any]") -> str:
        """Return `` | waits for ...``, or nothing; looked up every other second at most."""
        counts = now["counts"] if now else {}
        moves = sum(counts.get(state, 0) for state in ("READY", "RUNNING", "RETRY_WAIT"))
        if not now or now["state"] != "RUNNING" or moves or not counts.get("PENDING"):
            self._text = ""
        elif time.monotonic() - self._at > 2:
            self._at = time.monotonic()
            waiting = next((t for t in self._run.tasks if t.state == "PENDING"), None)
            why = "" if waiting is None else waiting.explain().partition(": ")[2]
            self._text = f" | {why}" if why else ""
        return self._text


def line(now: "dict[str, Any]", seconds: float, before: int = 0) -> str:
    """Return the state of a run in one line; ``before`` tasks were done ``seconds`` ago.

    Examples
    --------
    >>> from mainspring._progress import line
    >>> line({"state": "RUNNING", "counts": {"SUCCESS": 30, "FAILED": 1, "PENDING": 9},
    ...       "total": 40, "running": ["load"]}, 3.1)
    '31/40 done, 1 failed | running load | 3.1s, 10/s, 1s left'
    """
    if not now:
        return ""
    counts, total = now["counts"], now["total"]
    over = _over(now)
    parts = [f"{over}/{total} done"]
    for state in _BAD:
        if counts.get(state):
            parts[0] += f", {counts[state]} {state.lower()}"
    running = now.get("running") or []
    if now["state"] == "RUNNING" and running:
        more = counts.get("RUNNING", 0) - len(running) - len(now.get("awaited") or [])
        parts.append("running " + ", ".join(map(str, running)) + (f" +{more}" if more > 0 else ""))
    if now["state"] == "RUNNING" and now.get("awaited"):
        parts.append("waits for a word at " + ", ".join(map(str, now["awaited"])))
    elif now["state"] != "RUNNING":
        parts.append(now["state"])
    rate = (over - before) / seconds if seconds > 0 else 0.0
    parts.append(f"{seconds:.1f}s" + (f", {rate:.0f}/s" if rate >= 1 else ""))
    if now["state"] == "RUNNING" and rate > 0 and seconds >= 1 and over < total:
        parts[-1] += f", {(total - over) / rate:.0f}s left"
    return " | ".join(parts)


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


def _over(now: "dict[str, Any]") -> int:
    counts = now["counts"] if now else {}
    return sum(counts.get(state, 0) for state in _OVER)


def _screen() -> "Any":
    if in_notebook():
        return _Notebook()
    return _Terminal(sys.stderr) if on_terminal() else _Lines(sys.stderr)


class _Terminal:
    """One line that is written over."""

    def __init__(self, stream: "Any") -> None:
        import shutil

        self._stream = stream
        self._width = shutil.get_terminal_size().columns - 1

    def show(self, text: str) -> None:
        self._stream.write("\r\x1b[2K" + clip(text, max(20, self._width)))
        self._stream.flush()

    def close(self) -> None:
        self._stream.write("\n")
        self._stream.flush()


class _Lines:
    """A line when the number of finished tasks has changed, and at most one a second."""

    def __init__(self, stream: "Any") -> None:
        self._stream = stream
        self._last = ""
        self._at = 0.0
        self._held = ""

    def show(self, text: str) -> None:
        done = text.partition(" |")[0]
        if done == self._last:
            return
        now = time.monotonic()
        self._held = text
        if now - self._at >= 1.0:
            self._at, self._last, self._held = now, done, ""
            self._stream.write(text + "\n")
            self._stream.flush()

    def close(self) -> None:
        if self._held:
            self._stream.write(self._held + "\n")
            self._stream.flush()


class _Notebook:
    """One output of the cell that is replaced."""

    def __init__(self) -> None:
        import importlib

        display = importlib.import_module("IPython.display").display
        self._handle: Any = display({"text/plain": ""}, raw=True, display_id=True)

    def show(self, text: str) -> None:
        from html import escape

        html = f'<div style="font-family:monospace;font-size:90%">{escape(clip(text, 160))}</div>'
        if self._handle is not None:
            self._handle.update({"text/plain": text, "text/html": html}, raw=True)

    def close(self) -> None:
        """The last state stays."""
