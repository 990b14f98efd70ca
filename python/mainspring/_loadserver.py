"""The helper process that loads dag files; `mainspring._loader` starts it.

It has one thread, imports mainspring once, and forks for each file. What a file does happens in
the fork, in a session and under limits of its own; this process only waits: for the result, for
what the file prints, for the end of the fork, for the time limit, for the end of its parent. It
is the reaper of everything below it, so what a file leaves running ends here, daemons too.

Where there is no fork it loads one file in itself and ends; its parent starts the next, and keeps
the time.
"""

from __future__ import annotations

import contextlib
import gc
import os
import select
import signal
import sys
import time
from typing import Any, NamedTuple, NoReturn

from mainspring import _loadframe as frame

OUTPUT = 64 * 1024
"""Bytes that are kept of what a file prints: the first half and the last."""

NO_WORD, NO_MEMORY, NO_PIPE = 121, 122, 123
"""Exit codes of a fork that could not say what it found."""

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
DYING = 0.5
"""Seconds between asking a file that ran out of time where it is, and ending it."""


class Job(NamedTuple):
    """One file to load; `limit` in seconds, `memory` in bytes."""

    file: str
    limit: float
    memory: int
    full: bool


class Setting(NamedTuple):
    """What holds for all files: the project, the dag files, its own folders."""

    project: str
    path: list[str]
    files: list[str]
    roots: list[str]


def main() -> None:
    """Answer requests until the other side is gone."""
    requests, answers = _own_pipes()
    once = "--once" in sys.argv
    setting: Setting | None = None
    try:
        while True:
            asked = frame.read(requests)
            if "project" in asked:
                if setting is None:
                    _prepare(Setting(**asked), forks=not once)
                setting = Setting(**asked)
                continue
            assert setting is not None
            if once:
                frame.write(answers, frame.pack(_in_this_process(Job(**asked), setting)))
                os._exit(0)
            frame.write(answers, _in_a_fork(Job(**asked), setting, (requests, answers)))
    except (frame.Closed, KeyboardInterrupt):
        _end_all()


def _own_pipes() -> tuple[int, int]:
    """The pipes to the parent, moved away from where a file would read and print."""
    requests, answers = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(2, 1)
    os.close(null)
    return requests, answers


def _prepare(setting: Setting, *, forks: bool) -> None:
    from mainspring import _config
    from mainspring._fresh import fresh_imports

    sys.path[:] = setting.path
    settings = _config.load_settings({"project": setting.project})
    _config.reset(settings)
    _warm()
    fresh_imports(setting.roots)
    if forks:
        _prctl(PR_SET_CHILD_SUBREAPER)
        gc.collect()
        gc.freeze()  # the forks share these pages, and their collections need not walk them


def _warm() -> None:
    """Import what every file needs."""
    import hashlib  # noqa: F401
    import traceback  # noqa: F401

    import mainspring  # noqa: F401
    from mainspring import (  # noqa: F401
        _describe,
        _loadfile,
        _mainspring,
        _results,
        _schedule,
        _source,
        _spec,
    )


def _prctl(option: int, value: int = 1) -> None:
    """Linux's switches of a process; elsewhere there is nothing like them."""
    if not sys.platform.startswith("linux"):
        return
    import ctypes

    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


# --- the fork -------------------------------------------------------------------------------


def _in_a_fork(job: Job, setting: Setting, parent: tuple[int, int]) -> bytes:
    began = time.monotonic()
    result, output, dump = os.pipe(), os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            _load(job, setting, (result[1], output[1], dump[1]), parent)
        except MemoryError:
            os._exit(NO_MEMORY)
        except frame.Closed:
            os._exit(NO_PIPE)
        finally:
            os._exit(NO_WORD)
    for each in (result, output, dump):
        os.close(each[1])
        os.set_blocking(each[0], False)
    watch = _Watch(pid, result[0], output[0], dump[0])
    try:
        late = not watch.until(began + job.limit, parent[0])
        if late:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGABRT)  # faulthandler says where it is
            watch.until(time.monotonic() + DYING, parent[0])
        left = _end_tree(pid)
        watch.drain()
    finally:
        for each in (result, output, dump):
            os.close(each[0])
    took = time.monotonic() - began
    fields = {
        "file": job.file, "late": late, "status": watch.status, "left": left, "took": took,
        "output": watch.text(), "cut": watch.cut, "where": _innermost(bytes(watch.dumped), setting),
        "complete": False,
    }
    told = bytes(watch.told)
    # A frame that is whole was written by the end of the load; what came after is not its matter.
    if len(told) > frame.HEAD and not late:
        size = int.from_bytes(told[: frame.HEAD], "big")
        if len(told) == frame.HEAD + size:
            head = frame.pack({**fields, "complete": True})
            body = told[frame.HEAD :]
            # {"file": ..., ...} and the child's object in one, without reading the child's again.
            joined = head[frame.HEAD : -1] + b',"said":' + body + b"}"
            return len(joined).to_bytes(frame.HEAD, "big") + joined
    return frame.pack(fields)


class _Watch:
    """What comes from a fork, and how it ended."""

    def __init__(self, pid: int, result: int, output: int, dump: int) -> None:
        self.pid, self.result, self.output, self.dump = pid, result, output, dump
        self.told, self.dumped = bytearray(), bytearray()
        self.first, self.last = bytearray(), bytearray()
        self.cut = 0
        self.status: int | None = None
        try:
            self.end: int | None = os.pidfd_open(pid)
        except (AttributeError, OSError):  # no Linux, or an old one
            self.end = None

    def until(self, deadline: float, requests: int) -> bool:
        """Take what comes until the fork has ended; False if that is after the deadline."""
        poll = select.poll()
        for fd in (self.result, self.output, self.dump):
            poll.register(fd, select.POLLIN)
        poll.register(requests, 0)  # only its end is of interest
        if self.end is not None:
            poll.register(self.end, select.POLLIN)
        while True:
            rest = deadline - time.monotonic()
            if rest <= 0:
                return False
            for fd, event in poll.poll(1000 * (rest if self.end is not None else min(rest, 0.02))):
                if fd == requests:
                    raise frame.Closed
                if fd != self.end and not self.take(fd) and event & (
                    select.POLLHUP | select.POLLERR
                ):
                    poll.unregister(fd)
            if self.ended():
                return True

    def ended(self) -> bool:
        if self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = os.waitstatus_to_exitcode(status)
                if self.end is not None:
                    os.close(self.end)
                    self.end = None
        return self.status is not None

    def take(self, fd: int) -> bool:
        """Take what is there, at most a piece; False if there was nothing."""
        try:
            data = os.read(fd, 1 << 18)
        except OSError:
            return False
        if fd == self.result:
            if len(self.told) <= frame.LIMIT:
                self.told += data
        elif fd == self.dump:
            if len(self.dumped) < OUTPUT:
                self.dumped += data
        else:
            room = OUTPUT // 2 - len(self.first)
            self.first += data[:room]
            self.last += data[room:]
            over = len(self.last) - OUTPUT // 2
            if over > 0:
                self.cut += over
                del self.last[:over]
        return bool(data)

    def drain(self) -> None:
        """Take what is still in the pipes; after the end of the tree nobody writes more."""
        for fd in (self.result, self.output, self.dump):
            while self.take(fd):
                pass
        if self.end is not None:
            os.close(self.end)
            self.end = None

    def text(self) -> str:
        """What was printed, with the middle left out where it was too much."""
        first, last = self.first.decode("utf-8", "replace"), self.last.decode("utf-8", "replace")
        return f"{first}\n... ({self.cut} bytes left out)\n{last}" if self.cut else first + last


def _end_tree(pid: int) -> int:
    """End whatever the fork left running; how many processes that were."""
    with contextlib.suppress(OSError):
        os.kill(pid, signal.SIGKILL)
    with contextlib.suppress(OSError):
        os.killpg(pid, signal.SIGKILL)  # its own group, if it still is one
    left: set[int] = set()
    deadline = time.monotonic() + 5.0
    while time.monotonic() < deadline:
        try:
            ended, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            break
        if ended:
            left.add(ended)
            continue
        for each in _children():
            with contextlib.suppress(OSError):
                os.kill(each, signal.SIGKILL)
        time.sleep(0.001)
    return len(left - {pid})


def _children() -> list[int]:
    """Processes whose parent this one is, those whose own parent ended among them."""
    own = str(os.getpid())
    found = []
    with contextlib.suppress(OSError):
        for name in os.listdir("/proc"):
            if name.isdigit():
                with contextlib.suppress(OSError, IndexError):
                    with open(f"/proc/{name}/stat", "rb") as file:
                        fields = file.read().rpartition(b")")[2].split()
                    if fields[1].decode() == own:
                        found.append(int(name))
    return found


def _end_all() -> NoReturn:
    """The parent is gone, or wants no more: nothing below stays."""
    for each in _children():
        with contextlib.suppress(OSError):
            os.killpg(each, signal.SIGKILL)
        _end_tree(each)
    os._exit(0)


def _innermost(dump: bytes, setting: Setting) -> tuple[str, int] | None:
    """The author's innermost line of what faulthandler wrote."""
    import re

    from mainspring._fresh import is_own

    for path, line in re.findall(r'File "(.+?)", line (\d+)', dump.decode("utf-8", "replace")):
        if is_own(path, setting.roots):
            return path, int(line)
    return None


# --- in the fork ----------------------------------------------------------------------------


def _load(job: Job, setting: Setting, pipes: tuple[int, int, int], parent: tuple[int, int]) -> None:
    """Load the file, write what it says, and end without further ado."""
    told, output, dump = pipes
    me = os.getpid()
    os.setsid()
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    for each in parent:
        os.close(each)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(output)
    import faulthandler

    faulthandler.enable(file=dump, all_threads=False)
    _limits(job)
    gc.set_threshold(20_000, 20, 20)  # a file makes much and throws little away
    said = _say(job, setting)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    if os.getpid() == me:  # and not a second one, which the file forked
        frame.write(told, said)
        os._exit(0)


def _limits(job: Job) -> None:
    import resource

    for kind, value in ((resource.RLIMIT_DATA, job.memory), (resource.RLIMIT_CORE, 0)):
        with contextlib.suppress(OSError, ValueError):
            _, most = resource.getrlimit(kind)
            if most != resource.RLIM_INFINITY:
                value = min(value, most)
            resource.setrlimit(kind, (value, value))
    with contextlib.suppress(OSError):  # if memory runs out, it is this one's turn
        with open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
            file.write("1000")


def _say(job: Job, setting: Setting) -> bytes:
    from mainspring import _loadfile
    from mainspring.errors import Problem

    pack = frame.pack
    try:
        found = _loadfile.read_file(job.file, setting.files, setting.roots, job.full)
        return pack(found)
    except MemoryError:
        raise
    except BaseException as error:  # noqa: BLE001 - whatever the file did to us is its problem
        problem = Problem(
            "load_failed",
            job.file,
            f"cannot be read as definitions: {type(error).__name__}: {error}",
            "the file changes what mainspring itself uses, or holds values that are no data",
        )
        return pack({"problems": [_loadfile.words_of(problem)]})


# --- without a fork -------------------------------------------------------------------------


def _in_this_process(job: Job, setting: Setting) -> dict[str, Any]:
    import json

    began = time.monotonic()
    said = json.loads(_say(job, setting)[frame.HEAD :])
    return {
        "file": job.file, "late": False, "status": 0, "left": 0, "output": "", "cut": 0,
        "where": None, "took": time.monotonic() - began, "complete": True, "said": said,
    }

