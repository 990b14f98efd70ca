"""What a task prints and logs goes to the log of its attempt.

``sys.stdout`` and ``sys.stderr`` are replaced only while an attempt runs in this process. The
stream in their place looks at the context of the caller: inside an attempt text goes to the
attempt, elsewhere (a notebook cell, the main thread, a test) to the stream that was there.
"""

import sys
import threading
from collections import deque

from mainspring._context import current

TYPE_CHECKING = False
if TYPE_CHECKING:
    from logging import Logger
    from typing import Any

    from mainspring._mainspring import Context as CoreContext

_lock = threading.Lock()
_active: "set[object]" = set()
_log_handler: "Any" = None
# print() holds the stream that it found in sys without counting itself among its owners, so a
# stream must outlive its place there; those of long ago nobody holds any more.
_kept: "deque[Router]" = deque(maxlen=64)


class Router:
    """A text stream that writes to the current attempt, and elsewhere to ``original``."""

    def __init__(self, original: "Any", stream: str) -> None:
        self.original = original
        self.stream = stream

    def write(self, text: str) -> int:
        core = current.get()
        if core is None:
            original = self.original
            return len(text) if original is None else original.write(text)
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        core.write(text, self.stream)
        return len(text)

    def writelines(self, lines: "Any") -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        if current.get() is None and self.original is not None:
            self.original.flush()

    def isatty(self) -> bool:
        if current.get() is not None or self.original is None:
            return False
        return bool(self.original.isatty())

    def writable(self) -> bool:
        return True

    def __getattr__(self, name: str) -> "Any":
        return getattr(self.original, name)

    def __repr__(self) -> str:
        return f"Router({self.original!r}, {self.stream!r})"


def _routed(original: "Any", stream: str) -> Router:
    """Return the stream in the place of ``original``; the same one as long as it is kept."""
    for router in _kept:
        if router.original is original and router.stream == stream:
            return router
    _kept.append(Router(original, stream))
    return _kept[-1]


def install(key: object) -> None:
    """Route output while ``key`` is active.

    The streams are looked at each time and not only for the first: while a handler hangs, which
    keeps its key here, somebody may have put streams of their own in place.
    """
    with _lock:
        if type(sys.stdout) is not Router:
            sys.stdout = _routed(sys.stdout, "out")
        if type(sys.stderr) is not Router:
            sys.stderr = _routed(sys.stderr, "err")
        if not _active and "logging" in sys.modules:
            _route_logging()
        _active.add(key)


def uninstall(key: object) -> None:
    """End what ``install(key)`` began; the last one gives the streams back.

    A stream that somebody else has put in place meanwhile is left alone: it is theirs.
    """
    with _lock:
        _active.discard(key)
        if _active:
            return
        if type(sys.stdout) is Router:
            sys.stdout = sys.stdout.original
        if type(sys.stderr) is Router:
            sys.stderr = sys.stderr.original
        if _log_handler is not None:
            sys.modules["logging"].root.removeHandler(_log_handler)


def _handler() -> "Any":
    global _log_handler
    if _log_handler is None:
        import logging

        class AttemptHandler(logging.Handler):
            """Formats a record into the log of the attempt that logged it."""

            def emit(self, record: logging.LogRecord) -> None:
                core = current.get()
                if core is None:
                    # With this handler in place, logging's own last resort stays silent.
                    lone = logging.root.handlers == [self] and logging.lastResort
                    if lone and record.levelno >= lone.level:
                        lone.handle(record)
                    return
                try:
                    core.write(self.format(record) + "\n", "err")
                except Exception:  # noqa: BLE001 - as every handler of logging does
                    self.handleError(record)

        _log_handler = AttemptHandler()
        _log_handler.setFormatter(
            logging.Formatter("%(levelname)s %(name)s: %(message)s")
        )
    return _log_handler


def _route_logging() -> None:
    root = sys.modules["logging"].root
    handler = _handler()
    if handler not in root.handlers:
        root.addHandler(handler)


def route_logging() -> None:
    """Route logging for good: in a process that does nothing but run attempts."""
    with _lock:
        _active.add(route_logging)
        if "logging" in sys.modules:
            _route_logging()


def attempt_logger(core: "CoreContext") -> "Logger":
    """Return the logger of a task; its records go to the log of the attempt that runs."""
    import logging

    with _lock:
        if _active:
            _route_logging()
    logger = logging.getLogger(f"mainspring.task.{core.dag}.{core.task}")
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.INFO)
    return logger
