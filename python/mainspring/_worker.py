"""The life of a worker process: one attempt after the other, each as if it were alone.

A worker imports a dag file when it first needs it. Between two attempts it puts back what a
handler changed of the process (working folder, environment, signal handlers, standard streams),
and what it cannot put back it says, so that the scheduler replaces the process.
"""

import gc
import os
import resource
import sys
import threading
from signal import SIG_BLOCK, SIG_DFL, SIGHUP, SIGINT, SIGQUIT, SIGTERM, default_int_handler

from mainspring import _capture
from mainspring._context import current
from mainspring._host import invoke
from mainspring._mainspring import ProcessWorker, stop_reason
from mainspring._processes import fingerprint
from mainspring._snapshots import kept_source, parts
from mainspring._surroundings import Surroundings
from mainspring.errors import AttemptCanceled, AttemptTimeout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any

    from mainspring._mainspring import ProcessOrder

__all__ = ["main"]


CUT = 113
"""Exit code of a worker that cannot say how an attempt ended."""


class Refused(Exception):
    """There is no handler to be called: code, type, message, traceback."""


class Worker:
    """What the process knows from one attempt to the next."""

    def __init__(self, line: ProcessWorker) -> None:
        self.line = line
        self.pid = os.getpid()
        self.inside = False
        self.stopped = False
        self.files: dict[str, dict[str, Any]] = {}
        self.surroundings = Surroundings()
        self.total = spent()
        self.grown, self.peak = True, 0

    # Signals

    def listen(self) -> None:
        """From now on hear when the supervisor asks this process to end."""
        import signal

        signal.signal(SIGTERM, self.terminate)
        signal.signal(SIGINT, default_int_handler)
        for each in (SIGHUP, SIGQUIT):
            signal.signal(each, SIG_DFL)
        signal.pthread_sigmask(SIG_BLOCK, [])
        os.register_at_fork(after_in_child=self.forked)
        self.surroundings.remember()

    def forked(self) -> None:
        """In a child that a handler forked: what is the worker's stays the worker's."""
        import signal

        if signal.getsignal(SIGTERM) == self.terminate:
            signal.signal(SIGTERM, SIG_DFL)

    def terminate(self, number: int, frame: "FrameType | None") -> None:
        """Pass a stop on to the handler; a signal that the supervisor does not mean is nothing."""
        reason = stop_reason()
        if reason is None or not self.inside or self.stopped:
            return
        self.stopped = True
        raise AttemptTimeout if reason == "timeout" else AttemptCanceled

    # Attempts

    def run(self, order: "ProcessOrder") -> "str | None":
        """Run one attempt and tell its end; returned is why this process must not go on."""
        if self.grown:
            reset_peak()
        os.environ["MAINSPRING_ATTEMPT"] = order.mark
        # What is raised to stop a handler may arrive when it has just ended: then it is caught
        # by the outer clause, and comes no second time.
        try:
            try:
                self.inside = True
                value = self.call(order)
                self.inside = False
            except Refused as refused:
                self.inside = False
                self.only_the_worker(None)
                order.refused(*refused.args)
            except BaseException as error:  # noqa: BLE001 - the core judges what was raised
                self.inside = False
                self.only_the_worker(error)
                order.failed(error)
            else:
                self.only_the_worker(None)
                order.returned(value)
        except (AttemptTimeout, AttemptCanceled) as error:
            self.inside = False
            order.failed(error)
        value = None
        flush()
        spoilt = self.spoilt()
        total, peak = spent(), peak_kb()
        before, self.total = self.total, total
        # A peak that nobody raised since the last look is still what the process holds.
        self.grown, self.peak = peak > self.peak, peak
        try:
            self.line.done(
                order, cpu_ms=total - before, cpu_total_ms=total, max_rss_kb=peak,
                imported=order.file in self.files, spoilt=spoilt,
            )
        except OSError:  # the scheduler is gone, or a handler closed what was not its own
            os._exit(CUT)
        return spoilt

    def call(self, order: "ProcessOrder") -> "Any":
        handler = self.handler(order)
        func, _, converters = handler
        kwargs, core = order.arguments(converters)
        token = current.set(core)
        try:
            return invoke(func, kwargs)
        finally:
            current.reset(token)

    def only_the_worker(self, error: "BaseException | None") -> None:
        """End here what a handler made of this process by forking, and what came out of it."""
        if self.line.is_worker():
            return
        flush()
        code = 0
        if isinstance(error, SystemExit):
            code = error.code if isinstance(error.code, int) else int(error.code is not None)
        elif error is not None:
            sys.excepthook(type(error), error, error.__traceback__)
            code = 1
        os._exit(code)

    def spoilt(self) -> "str | None":
        """Say what a handler left that cannot be put back."""
        if self.stopped:
            return "the attempt was stopped"
        if threading.active_count() > 1:
            names = [each.name for each in threading.enumerate()
                     if each is not threading.main_thread()]
            return f"the handler left threads behind: {', '.join(names[:5])}"
        if self.line.left_processes():
            return "the handler left processes behind, which are ended"
        return self.surroundings.restore()

    # Files

    def handler(self, order: "ProcessOrder") -> "Any":
        """Return the handler of an attempt, from a file that is imported at its first use."""
        dags = self.files.get(order.file)
        if dags is None:
            dags = self.files[order.file] = self.load(order)
            self.surroundings.remember()
            _capture.route_logging()
            # What a file brought stays: it need not be gone through after every few attempts.
            gc.freeze()
        handlers = dags.get(order.dag)
        if handlers is None:
            known = ", ".join(dags) or "none"
            raise Refused("IMPORT", "DagMissing",
                          f"{order.file} has no dag {order.dag!r}; it has: {known}", None)
        if order.task not in handlers:
            raise Refused("HANDLER", "HandlerMissing",
                          f"{order.file} has no handler for {order.dag}.{order.task}", None)
        return handlers[order.task]

    def load(self, order: "ProcessOrder") -> "dict[str, Any]":
        from mainspring._project import load_file

        loaded = load_file(order.file, source=self.source(order))
        if loaded.problems:
            text = "\n".join(str(problem) for problem in loaded.problems)
            raise Refused("IMPORT", "ImportError", text, loaded.trace)
        return {dag.name: dag.handlers() for dag in loaded.dags}

    def source(self, order: "ProcessOrder") -> "str | None":
        """Return the kept file to read where the content is not what the run was made with."""
        if not order.version.startswith("sha256:"):
            return None
        try:
            if fingerprint(order.file) == parts(order.version)[0]:
                return None
            code, wrong = "FileChanged", "has changed since this run was made"
        except OSError as error:
            code, wrong = "FileMissing", f"cannot be read: {error.strerror}"
        kept = kept_source(order.version)
        if kept is None:
            raise Refused("IMPORT", code, f"{order.file} {wrong}\n"
                          "  hint: make a new run of what the file is now", None)
        return kept


def spent() -> int:
    """Return milliseconds of processor time of this process and of what it has waited for."""
    mine = resource.getrusage(resource.RUSAGE_SELF)
    theirs = resource.getrusage(resource.RUSAGE_CHILDREN)
    return int((mine.ru_utime + mine.ru_stime + theirs.ru_utime + theirs.ru_stime) * 1000)


def peak_kb() -> int:
    """Return the most memory that this process had since the attempt began."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak // 1024 if sys.platform == "darwin" else peak


def reset_peak() -> None:
    """Begin anew to look for the peak, where the kernel can."""
    try:
        file = os.open("/proc/self/clear_refs", os.O_WRONLY)
    except OSError:
        return
    try:
        os.write(file, b"5")
    except OSError:
        pass
    finally:
        os.close(file)


_c_flush: "Any" = None


def flush() -> None:
    """Bring on its way what was printed here: what Python holds back, and what C does."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (AttributeError, OSError, ValueError):
            pass  # a stream that the handler closed or put in place
    if _c_flush is not None:
        _c_flush(None)


def prepare() -> None:
    """Make of standard output what a log wants: whole lines at once, any character."""
    global _c_flush
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(  # type: ignore[union-attr]
            encoding="utf-8", errors="backslashreplace", line_buffering=True
        )
    try:
        import ctypes

        _c_flush = ctypes.CDLL(None).fflush
    except (ImportError, OSError, AttributeError):
        _c_flush = None
    if sys.path and sys.path[0] == "":
        del sys.path[0]  # the working folder, which may change


def main() -> None:
    """Be a worker until the scheduler has no more to do."""
    line = ProcessWorker()
    prepare()
    _capture.route_logging()
    worker = Worker(line)
    worker.listen()
    line.ready()
    while (order := line.next()) is not None:
        if worker.run(order) is not None:
            # Nothing of what the handler left may run on at the end of the interpreter.
            flush()
            os._exit(0)
        order = None
