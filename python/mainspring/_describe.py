"""An exception in words: code, type, message and the author's part of the traceback."""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

MESSAGE_LIMIT = 8 * 1024
"""Bytes of UTF-8 that are kept of a message."""

TRACEBACK_LIMIT = 64 * 1024
"""Bytes of UTF-8 that are kept of a traceback: its end, where the error is."""

KINDS_LIMIT = 64
"""Names of classes that are looked at: more are nobody's."""

_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep


def describe(error: BaseException) -> "tuple[str, str, str, str, list[str]]":
    """Return (error_code, error_type, message, traceback_text, kinds); never raises.

    The code is the class's name, except: ``Fail`` has its own, ``SystemExit`` is EXIT_<n>,
    connections are CONN_RESET, CONN_REFUSED, CONN_TIMEOUT and DNS, an error with an HTTP status
    is HTTP_4XX or HTTP_5XX. The kinds are what else ``retry_on`` may call it: the names of its
    class and of those above it, plain and with their modules, and HTTP_<status> itself.

    Examples
    --------
    >>> from mainspring._describe import describe
    >>> describe(ZeroDivisionError("division by zero"))[:3]
    ('ZeroDivisionError', 'ZeroDivisionError', 'division by zero')
    >>> describe(SystemExit(3))[0]
    'EXIT_3'
    >>> describe(ConnectionResetError("gone"))[4]
    ['ConnectionResetError', 'ConnectionError', 'OSError', 'Exception']
    """
    kind = type(error)
    name = _clean(getattr(kind, "__name__", "Exception"), 200)
    return (
        _safely(_code, error, name),
        _safely(_type_name, error, name),
        _safely(_message, error, f"<the message of {name} cannot be read>"),
        _safely(_traceback_text, error, ""),
        _kinds(error),
    )


def _safely(function: "Callable[[BaseException], str]", error: BaseException, fallback: str) -> str:
    try:
        return function(error)
    except BaseException:  # noqa: BLE001 - a handler's exception may do anything
        return fallback


def _clean(text: str, limit: int) -> str:
    """Replace lone surrogates and cut to ``limit`` bytes at a character's end."""
    data = str(text).encode("utf-8", "replace")
    if len(data) <= limit:
        return data.decode("utf-8")
    return data[:limit].decode("utf-8", "ignore") + " ... (cut)"


def _kinds(error: BaseException) -> "list[str]":
    try:
        kinds: dict[str, None] = {}
        status = _status_of(error)
        if status is not None:
            kinds[f"HTTP_{status}"] = None
        for kind in type(error).__mro__:
            if kind is BaseException:
                break
            kinds[_clean(kind.__name__, 200)] = None
            if kind.__module__ not in ("builtins", "__main__"):
                kinds[_clean(f"{kind.__module__}.{kind.__qualname__}", 200)] = None
        return list(kinds)[:KINDS_LIMIT]
    except BaseException:  # noqa: BLE001 - a handler's exception may do anything
        return []


def _type_name(error: BaseException) -> str:
    kind = type(error)
    module = kind.__module__
    name = kind.__qualname__
    full = name if module in ("builtins", "__main__") else f"{module}.{name}"
    return _clean(full, 200)


def _message(error: BaseException) -> str:
    return _clean(str(error) or _unsaid(error), MESSAGE_LIMIT)


def _unsaid(error: BaseException) -> str:
    """What a stop of ours means; it is raised in another thread, which can give it no words."""
    from mainspring.errors import AttemptCanceled, AttemptTimeout

    if isinstance(error, AttemptTimeout):
        return "it ran longer than its timeout"
    return "it was asked to stop" if isinstance(error, AttemptCanceled) else ""


def _code(error: BaseException) -> str:
    from mainspring.errors import Fail

    kind = type(error)
    if isinstance(error, Fail):
        return _clean(error.code, 200)
    if isinstance(error, SystemExit):
        return f"EXIT_{_exit_code(error)}"
    if isinstance(error, ConnectionResetError):
        return "CONN_RESET"
    if isinstance(error, ConnectionRefusedError):
        return "CONN_REFUSED"
    if isinstance(error, TimeoutError) or kind.__name__ in ("ConnectTimeout", "ReadTimeout"):
        return "CONN_TIMEOUT"
    socket = sys.modules.get("socket")
    if socket is not None:
        if isinstance(error, socket.timeout):
            return "CONN_TIMEOUT"
        if isinstance(error, socket.gaierror):
            return "DNS"
    status = _status_of(error)
    if status is not None:
        return f"HTTP_{status // 100}XX"
    return _clean(kind.__name__, 200)


def _exit_code(error: SystemExit) -> int:
    if error.code is None:
        return 0
    return error.code if isinstance(error.code, int) else 1


def _status_of(error: BaseException) -> "int | None":
    """The HTTP status of an error that is about a response."""
    name = type(error).__name__
    if "HTTP" in name or "Response" in name or hasattr(error, "response"):
        return _http_status(error)
    return None


def _http_status(error: BaseException) -> "int | None":
    for holder in (error, getattr(error, "response", None)):
        for attribute in ("status_code", "code", "status"):
            value = getattr(holder, attribute, None)
            if isinstance(value, int) and not isinstance(value, bool) and 400 <= value < 600:
                return value
    return None


def authors_frames(trace: "TracebackType | None") -> "TracebackType | None":
    """Drop the frames of this package that stand before the author's first one."""
    while trace is not None and trace.tb_frame.f_code.co_filename.startswith(_HERE):
        trace = trace.tb_next
    return trace


def _traceback_text(error: BaseException) -> str:
    import traceback

    lines = traceback.format_exception(type(error), error, authors_frames(error.__traceback__))
    text = "".join(lines).encode("utf-8", "replace")
    if len(text) > TRACEBACK_LIMIT:
        text = b"... (cut)\n" + text[-TRACEBACK_LIMIT:]
    return text.decode("utf-8", "ignore")
