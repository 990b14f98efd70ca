"""Loading dag files beside this process, so that no file can hurt it.

A `Loader` has one or two helper processes (`mainspring._loadserver`) that fork for each file. It
never waits unless it is told to: `submit` a file, take what is finished from `results`. A file
that hangs, crashes, leaves, eats the memory or starts daemons is one problem of that file.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from mainspring import _loadframe as frame
from mainspring._folder import Stamp
from mainspring._loadfile import problem_of
from mainspring.errors import Problem

if TYPE_CHECKING:
    from mainspring._config import Settings

__all__ = ["Loaded", "Loader", "memory_limit"]

MARGIN = 10.0
"""Seconds that a helper may take beyond a file's limit; it needs them only to end the file."""

SPARE = 60.0
"""Seconds after which a helper that has nothing to do is ended; the next starts in 0.2 s."""

START = (
    "import sys; sys.path[0] = sys.argv[1]\n"
    "from mainspring._loadserver import main; main()"
)
"""Finds this very package, and nothing that only happens to lie in the working folder."""

GUARD = "move it into a task, or below: if __name__ == '__main__':"

UNSAID = {
    121: ("changes Python so that nothing can be read from it any more", GUARD),
    122: ("needs more memory than there is for it", "it may use {}, half of what this machine has"),
    123: ("closes files that are not its own, as a daemon does", GUARD),
}
"""What the exit codes of a fork mean that could not say what it found."""


class Loaded(NamedTuple):
    """What came of one file.

    Attributes
    ----------
    file : str
        Its absolute path.
    fingerprint : str
        Changes with the content of the file and of the project's modules that it imports.
    texts : list of str
        Good definitions as JSON text, which takes a tenth of the memory; `specs` reads them.
    keys : list of str
        Their dag keys, in the same order.
    broken : list of str
        Names of dags in the file that are wrong.
    problems : list of Problem
        All that is wrong.
    notes : list of Problem
        What looks like a mistake and stops nothing.
    modules : dict of str to Stamp
        The file and the project's modules that it imported, as they were.
    sought : list of str
        Paths where a module would be that was not found.
    output, trace : str, str or None
        What it printed, and the traceback of an import that failed.
    took : float
        Seconds.
    dags : list of dict
        Name and resolved definition of each dag, where asked for.
    """

    file: str
    fingerprint: str
    texts: list[str]
    keys: list[str]
    broken: list[str]
    problems: list[Problem]
    notes: list[Problem]
    modules: dict[str, Stamp | None]
    sought: list[str]
    output: str
    trace: str | None
    took: float
    dags: list[dict[str, Any]]

    @property
    def specs(self) -> list[dict[str, Any]]:
        """The good definitions, as ``Session.register`` takes them."""
        return [json.loads(text) for text in self.texts]

    @property
    def imported(self) -> bool:
        """Whether the import came to its end; if not, nothing is known of the file's dags."""
        return bool(self.texts or self.broken) or not self.problems


class Loader:
    """Loads files in helper processes.

    Parameters
    ----------
    settings
        Those of the project.
    parallel
        How many files at a time.
    limit
        Seconds for one file; by default the setting ``load_timeout``.
    memory
        Bytes for one file; by default half of what the machine or its container has.
    forks
        Whether a helper forks for each file, or is a process for one file itself.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        parallel: int = 2,
        limit: float | None = None,
        memory: int | None = None,
        forks: bool = hasattr(os, "fork"),
    ) -> None:
        self.limit = settings.load_timeout if limit is None else limit
        self.memory = memory_limit() if memory is None else memory
        self.forks = forks
        self.roots = [os.path.join(place, "") for place in (settings.root, *settings.dags)]
        self._root = settings.root
        self._setting = {
            "project": settings.file or settings.root,
            "path": [os.path.abspath(place) for place in sys.path],
            "files": [],
            "roots": self.roots,
        }
        self._waiting: deque[tuple[str, bool]] = deque()
        self._done: queue.SimpleQueue[tuple[_Helper, dict[str, Any] | None, str]] = (
            queue.SimpleQueue()
        )
        self._helpers = [_Helper(self) for _ in range(max(1, parallel))]

    @property
    def busy(self) -> bool:
        """Whether files are still to come."""
        return bool(self._waiting) or any(helper.job for helper in self._helpers)

    def know(self, files: Iterable[str]) -> None:
        """Say which dag files there are: a dag that another of them makes is not the importer's."""
        self._setting = {**self._setting, "files": [os.path.realpath(file) for file in files]}

    def submit(self, file: str, *, full: bool = False) -> None:
        """Load a file some time; with `full`, its resolved definitions are given too."""
        self._waiting.append((file, full))
        self._hand_out()

    def results(self, timeout: float = 0.0) -> Iterator[Loaded]:
        """What is finished; waits at most this long for the first."""
        until = time.monotonic() + timeout
        while True:
            self._end_late()
            try:
                wait = min(0.2, until - time.monotonic())
                helper, reply, why = (
                    self._done.get(timeout=wait) if wait > 0 else self._done.get_nowait()
                )
            except queue.Empty:
                if time.monotonic() >= until or not self.busy:
                    return
                continue
            until = 0.0
            job, helper.job = helper.job, None
            self._hand_out()
            assert job is not None
            yield self._loaded(job["file"], reply, why, helper)

    def trim(self) -> None:
        """End helpers that have had nothing to do for a while."""
        for helper in self._helpers:
            if helper.job is None and time.monotonic() - helper.used > SPARE:
                helper.end()

    def close(self) -> None:
        """End the helpers and all that is below them."""
        self._waiting.clear()
        for helper in self._helpers:
            helper.leave()
        for helper in self._helpers:
            helper.thread.join(5.0)

    def _hand_out(self) -> None:
        for helper in self._helpers:
            if self._waiting and helper.job is None:
                file, full = self._waiting.popleft()
                job = {"file": file, "limit": self.limit, "memory": self.memory, "full": full}
                helper.take(job, self._setting)

    def _end_late(self) -> None:
        margin = MARGIN if self.forks else 0.0
        for helper in self._helpers:
            late = helper.job is not None and helper.started is not None
            if late and time.monotonic() - (helper.started or 0.0) > self.limit + margin:
                helper.late = True
                helper.kill()

    # --- what it means ---

    def _loaded(
        self, file: str, reply: dict[str, Any] | None, why: str, helper: _Helper
    ) -> Loaded:
        if reply is None:
            problem = self._of_a_dead_helper(file, why, late=helper.late)
            return _nothing(file, [problem])
        said = reply.get("said", {})
        problems = [problem_of(words) for words in said.get("problems", [])]
        where = reply["where"]
        place = _shown(file) if where is None else f"{_shown(where[0])}:{where[1]}"
        if not reply["complete"]:
            problems.append(self._of_an_end(reply, place))
        notes = []
        if reply["left"] and not problems:
            notes.append(_leftover(_shown(file), reply["left"]))
        modules = said.get("modules", {})
        return Loaded(
            file=file,
            fingerprint=self._fingerprint({path: value[0] for path, value in modules.items()}),
            texts=said.get("texts", []),
            keys=said.get("keys", []),
            broken=said.get("broken", []),
            problems=problems,
            notes=notes,
            modules={path: value[1] and Stamp(*value[1]) for path, value in modules.items()},
            sought=said.get("sought", []),
            output=reply["output"],
            trace=said.get("trace"),
            took=reply["took"],
            dags=said.get("dags", []),
        )

    def _of_an_end(self, reply: Mapping[str, Any], place: str) -> Problem:
        status = reply["status"]
        if reply["late"]:
            hint = "do the slow work in a task, or give it more time: load_timeout"
            return Problem("load_timeout", place, f"is not loaded after {self.limit:g}s", hint)
        if status is not None and status < 0:
            with suppress(ValueError):
                name = signal.Signals(-status).name
                message = f"crashes while it is imported ({name})"
                hint = "a native module that it imports is at fault, or there is no memory left"
                return Problem("crash_at_import", place, message, hint)
        if status in UNSAID:
            message, hint = UNSAID[status]
            return Problem("load_failed", place, message, hint.format(_size(self.memory)))
        message = f"leaves the process while it is imported (exit code {status})"
        return Problem("exit_at_import", place, message, GUARD)

    def _of_a_dead_helper(self, file: str, why: str, *, late: bool) -> Problem:
        if late:
            hint = "do the slow work in a task, or give it more time: load_timeout"
            message = f"is not loaded after {self.limit:g}s"
            return Problem("load_timeout", _shown(file), message, hint)
        return Problem(
            "loader_died",
            _shown(file),
            f"ends the process that loads it ({why})" if why else "ends the process that loads it",
            GUARD,
        )

    def _fingerprint(self, hashes: Mapping[str, str]) -> str:
        from hashlib import blake2b

        found = blake2b(digest_size=16)
        for path in sorted(hashes):
            inside = os.path.relpath(path, self._root)  # the same on every machine
            found.update(f"{inside}\0{hashes[path]}\n".encode("utf-8", "surrogateescape"))
        return found.hexdigest() if hashes else ""


class _Helper:
    """A helper process, and the thread that talks with it."""

    def __init__(self, loader: Loader) -> None:
        self.loader = loader
        self.job: dict[str, Any] | None = None
        self.started: float | None = None
        self.used = time.monotonic()
        self.late = False
        self.process: subprocess.Popen[bytes] | None = None
        self._told: Any = None
        self._inbox: queue.SimpleQueue[tuple[dict[str, Any], dict[str, Any]] | None] = (
            queue.SimpleQueue()
        )
        self._lock = threading.Lock()
        self.thread = threading.Thread(
            target=self._work, args=(self._inbox, loader._done), name="mainspring-loader",
            daemon=True,
        )
        self.thread.start()

    def take(self, job: dict[str, Any], setting: dict[str, Any]) -> None:
        self.job, self.started, self.late = job, None, False
        self._inbox.put((job, setting))

    def leave(self) -> None:
        self._inbox.put(None)
        if self.job is not None:
            self.kill()

    def kill(self) -> None:
        """End the process now; whoever waits for its answer learns that there is none."""
        with self._lock:
            process = self.process
            if process is not None and process.poll() is None:
                # The helper ends its forks when it sees that we are gone, so this is the kind way.
                with suppress(OSError):
                    assert process.stdin is not None
                    process.stdin.close()
                try:
                    process.wait(1.0)
                except subprocess.TimeoutExpired:
                    with suppress(OSError):
                        os.killpg(process.pid, signal.SIGKILL)
                    process.kill()

    def end(self) -> None:
        """End the process if there is one; the next job starts another."""
        with self._lock:
            process, self.process = self.process, None
        if process is not None:
            _finish(process)

    def _work(self, inbox: Any, done: Any) -> None:
        for job, setting in iter(inbox.get, None):
            reply, why = None, ""
            try:
                process = self._start(setting)
                assert process.stdin is not None and process.stdout is not None
                self.started = time.monotonic()
                frame.write(process.stdin.fileno(), frame.pack(job))
                reply = frame.read(process.stdout.fileno())
                if not self.loader.forks:
                    self.end()
            except (frame.Closed, ValueError):  # ValueError: its pipe was closed meanwhile
                why = self._how_it_ended()
            except OSError as error:
                why = f"no process can be started: {error.strerror}"
            self.used = time.monotonic()
            done.put((self, reply, why))
        self.end()

    def _start(self, setting: dict[str, Any]) -> subprocess.Popen[bytes]:
        process = self.process
        if process is not None and process.poll() is not None:
            self.end()
            process = None
        if process is None:
            self._told = None
            words = [sys.executable, "-c", START, os.path.dirname(os.path.dirname(__file__))]
            process = subprocess.Popen(
                words if self.loader.forks else [*words, "--once"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,  # Ctrl-C on the terminal is for us to answer
            )
            with self._lock:
                self.process = process
        if self._told is not setting:
            assert process.stdin is not None
            frame.write(process.stdin.fileno(), frame.pack(setting))
            self._told = setting
        return process

    def _how_it_ended(self) -> str:
        process = self.process
        if process is None:
            return ""
        try:
            status = process.wait(2.0)
        except subprocess.TimeoutExpired:
            status = None
        self.end()
        if status is not None and status < 0:
            with suppress(ValueError):
                return signal.Signals(-status).name
        return "" if status is None else f"exit code {status}"


def _finish(process: subprocess.Popen[bytes]) -> None:
    for pipe in (process.stdin, process.stdout):
        with suppress(OSError):
            assert pipe is not None
            pipe.close()
    try:
        process.wait(2.0)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _nothing(file: str, problems: Sequence[Problem]) -> Loaded:
    return Loaded(file, "", [], [], [], list(problems), [], {}, [], "", None, 0.0, [])


def _leftover(place: str, count: int) -> Problem:
    what = "a process" if count == 1 else f"{count} processes"
    message = f"starts {what} that went on after the import and had to be ended"
    return Problem("left_processes", place, message, GUARD)


def _shown(path: str) -> str:
    from mainspring._project import shown_path

    return shown_path(path)


def memory_limit() -> int:
    """Half of the memory of the machine, or of the container if that has less."""
    total = 8 << 30
    with suppress(OSError, ValueError, AttributeError):
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    for place in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        with suppress(OSError, ValueError):
            with open(place, encoding="ascii") as file:
                total = min(total, int(file.read()))
    return max(total // 2, 256 << 20)


def _size(count: int) -> str:
    return f"{count / (1 << 30):.1f} GiB" if count >= 1 << 30 else f"{count >> 20} MiB"
