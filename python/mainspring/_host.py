"""What the core calls: run a handler, stop it, and say in words what it raised.

These names are a contract with the native core and no part of the public face.
"""

import threading
from types import CoroutineType

from mainspring import _capture
from mainspring._context import current
from mainspring._describe import describe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from mainspring._mainspring import Context as CoreContext
    from mainspring._mainspring import Worker

__all__ = ["call", "clear_interrupt", "describe", "interrupt", "start_async", "start_thread"]


def call(func: "Callable[..., Any]", kwargs: "dict[str, Any]", core: "CoreContext") -> "Any":
    """Run a handler in this thread as the attempt ``core``; what it raises passes through."""
    key = threading.get_ident()
    token = current.set(core)
    _capture.install(key)
    try:
        return invoke(func, kwargs)
    finally:
        _capture.uninstall(key)
        current.reset(token)


def invoke(func: "Callable[..., Any]", kwargs: "dict[str, Any]") -> "Any":
    """Call a handler, and run what it gives to its end where that is a coroutine."""
    value = func(**kwargs)
    if type(value) is CoroutineType:  # a plain wrapper around a coroutine function
        import asyncio

        return asyncio.run(value)
    return value


def start_thread(worker: "Worker") -> None:
    """Start a thread that takes calls from ``worker`` until there will be none."""
    import _thread

    _thread.start_new_thread(work, (worker,))


def work(worker: "Worker") -> None:
    """Live the life of a thread that runs handlers: one call after the other."""
    while (given := worker.next()) is not None:
        ended, func, kwargs, core, alone = given
        if alone:
            try:
                start_thread(worker.another())
            except RuntimeError:  # no thread to be had now: this one does what there is
                worker.nobody_came()
        # What is raised to stop a handler may arrive when it has just ended: then it is caught
        # by the outer clause, and comes no second time.
        try:
            try:
                ended.begin()
                value = call(func, kwargs, core)
            except BaseException as error:  # noqa: BLE001 - the core judges what was raised
                ended.failed(error)
            else:
                ended.returned(value)
        except BaseException as error:  # noqa: BLE001 - as above
            ended.failed(error)
        # What a handler was given and returned must not live on while the thread waits.
        given = ended = func = kwargs = core = value = None  # type: ignore[assignment]


def interrupt(thread_ident: int, exc_class_name: str) -> bool:
    """Ask the handler in a thread to stop: raise ``mainspring.errors.<name>`` in it.

    Python delivers it at the next bytecode, so a handler that waits in native code sees it when
    that call returns. False when there is no such thread.
    """
    from mainspring import errors

    return _set_async_exc(thread_ident, getattr(errors, exc_class_name))


def clear_interrupt(thread_ident: int) -> None:
    """Take back an exception that was asked for and has not been raised yet."""
    _set_async_exc(thread_ident, None)


def _set_async_exc(thread_ident: int, exception: "type[BaseException] | None") -> bool:
    import ctypes

    argument = ctypes.py_object(exception) if exception is not None else None
    set_exc = ctypes.pythonapi.PyThreadState_SetAsyncExc
    return bool(set_exc(ctypes.c_ulong(thread_ident), argument) == 1)


_loop_lock = threading.Lock()
_loop: "Any" = None


def _background_loop() -> "Any":
    """Return the process's event loop for coroutine handlers, started at the first use."""
    global _loop
    with _loop_lock:
        if _loop is None or _loop.is_closed():
            import asyncio

            _loop = asyncio.new_event_loop()
            thread = threading.Thread(
                target=_loop.run_forever, name="mainspring-loop", daemon=True
            )
            thread.start()
        return _loop


def holds_loop() -> bool:
    """Say whether the caller is a coroutine on that loop, which nobody else can use meanwhile."""
    if _loop is None:
        return False
    import asyncio

    return asyncio._get_running_loop() is _loop


def forget_loop() -> None:
    """In a forked child the loop's thread is gone: start afresh when needed."""
    global _loop, _loop_lock
    _loop = None
    _loop_lock = threading.Lock()


class AsyncAttempt:
    """A coroutine handler that was put on the background loop."""

    __slots__ = ("_cancelled", "_loop", "_task")

    def __init__(self, loop: "Any") -> None:
        self._loop = loop
        self._task: "Any" = None
        self._cancelled = False

    def cancel(self) -> None:
        """Ask it to stop: ``asyncio.CancelledError`` is raised where it awaits."""
        self._cancelled = True
        self._loop.call_soon_threadsafe(self._cancel)

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()


def start_async(
    func: "Callable[..., Any]",
    kwargs: "dict[str, Any]",
    core: "CoreContext",
    done: "Callable[[Any, BaseException | None], None]",
) -> AsyncAttempt:
    """Start a coroutine handler; ``done(value, None)`` or ``done(None, error)`` comes once."""
    loop = _background_loop()
    attempt = AsyncAttempt(loop)

    async def run() -> "Any":
        current.set(core)
        _capture.install(attempt)
        try:
            return await func(**kwargs), None
        except BaseException as error:  # noqa: BLE001 - the core judges what was raised
            return None, error
        finally:
            _capture.uninstall(attempt)

    def finished(task: "Any") -> None:
        if task.cancelled():
            import asyncio

            done(None, asyncio.CancelledError())
        else:
            done(*task.result())

    def begin() -> None:
        attempt._task = loop.create_task(run())
        attempt._task.add_done_callback(finished)
        if attempt._cancelled:
            attempt._task.cancel()

    loop.call_soon_threadsafe(begin)
    return attempt
