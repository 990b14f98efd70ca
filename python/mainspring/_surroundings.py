"""What a process is besides its memory, and how to put it back after a handler changed it."""

# The core of `signal`, without its words for numbers: this is looked at after every attempt.
import _signal  # type: ignore[import-not-found]
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["Surroundings"]


class Surroundings:
    """Working folder, environment, signals, file mode mask and standard streams of this process."""

    def __init__(self) -> None:
        self.signals = sorted(set(_signal.valid_signals()) - {_signal.SIGKILL, _signal.SIGSTOP})
        self.streams = [os.dup(1), os.dup(2)]
        self.pipes = [_identity(1), _identity(2)]
        self.folder = -1
        self.remember()

    def remember(self) -> None:
        """Take what there is now for what should be."""
        self.environment: dict[Any, Any] = dict(os.environ._data)  # type: ignore[attr-defined]
        self.handlers = [_signal.getsignal(each) for each in self.signals]
        self.blocked = _signal.pthread_sigmask(_signal.SIG_BLOCK, ())
        self.mask = os.umask(0o077)
        os.umask(self.mask)
        self.out, self.err = sys.stdout, sys.stderr
        folder = self.folder
        try:
            self.path: str | None = os.getcwd()
            self.folder = os.open(".", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:  # it is gone: nobody can go back there
            self.path, self.folder = None, -1
        if folder != -1:
            os.close(folder)

    def restore(self) -> "str | None":
        """Put back what was changed; returned is what cannot be."""
        os.environ.pop("MAINSPRING_ATTEMPT", None)
        if os.environ._data != self.environment:  # type: ignore[attr-defined]
            self._restore_environment()
        return self._restore_signals() or self._restore_streams() or self._restore_folder()

    def _restore_environment(self) -> None:
        decode = os.fsdecode if os.name == "posix" else str
        wanted = {decode(key): decode(value) for key, value in self.environment.items()}
        for name in [name for name in os.environ if name not in wanted]:
            del os.environ[name]
        for name, value in wanted.items():
            if os.environ.get(name) != value:
                os.environ[name] = value

    def _restore_signals(self) -> "str | None":
        _signal.setitimer(_signal.ITIMER_REAL, 0)
        for each, wanted in zip(self.signals, self.handlers, strict=True):
            if _signal.getsignal(each) is not wanted:
                if wanted is None:
                    return "the handler changed how signals are handled"
                _signal.signal(each, wanted)
        _signal.pthread_sigmask(_signal.SIG_SETMASK, self.blocked)
        os.umask(self.mask)
        return None

    def _restore_streams(self) -> "str | None":
        sys.stdout, sys.stderr = self.out, self.err
        if getattr(sys.stdout, "closed", True) or getattr(sys.stderr, "closed", True):
            return "the handler closed a standard stream"
        for number in (1, 2):
            if _identity(number) != self.pipes[number - 1]:
                if _identity(self.streams[number - 1]) != self.pipes[number - 1]:
                    return "the handler closed a standard stream"
                os.dup2(self.streams[number - 1], number)
        return None

    def _restore_folder(self) -> "str | None":
        try:
            if self.path is not None and os.getcwd() == self.path:
                return None
        except OSError:
            pass
        if self.folder == -1:
            return None if self.path is None else "the working folder is gone"
        try:
            os.fchdir(self.folder)
            here = os.stat(".")
        except OSError:
            return "the working folder is gone"
        return None if here.st_nlink else "the working folder was deleted"


def _identity(number: int) -> "tuple[int, int] | None":
    try:
        found = os.fstat(number)
    except OSError:
        return None
    return found.st_dev, found.st_ino
