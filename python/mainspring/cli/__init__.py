"""The command line: one module a command, imported only when it is asked for.

Exit codes: 0 ok; 1 something failed or is wrong; 2 the command was written wrongly; 3 nothing
failed, but the work did not complete (blocked, canceled, interrupted); 130 after Ctrl-C.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TYPE_CHECKING, NoReturn

from mainspring.cli._console import Console, clean_block

if TYPE_CHECKING:
    import argparse

__all__ = ["main"]

OK, FAILED, USAGE, INCOMPLETE, INTERRUPTED, BROKEN_PIPE = 0, 1, 2, 3, 130, 141


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    Parameters
    ----------
    argv
        The words after the program's name; by default those of the process, which it then owns:
        after Ctrl-C it leaves without waiting for threads of tasks that do not stop.
    """
    owned = argv is None
    try:
        code = _main(sys.argv[1:] if argv is None else argv)
    except SystemExit as leaving:  # argparse: --help, --version, usage
        code = leaving.code if isinstance(leaving.code, int) else OK
    if owned and code in (INTERRUPTED, BROKEN_PIPE):
        _close_sessions()
        _leave(code)
    return code


def _main(argv: Sequence[str]) -> int:
    from mainspring.cli._parser import parse
    from mainspring.cli._stop import Stop

    try:
        options = parse(argv)
    except Stop as wrong:
        console = Console(json="--json" in argv, color=False if "--no-color" in argv else None)
        try:
            return _report(wrong, console)
        finally:
            console.close()
    color = False if options.no_color else None
    console = Console(json=options.json, color=color, verbose=options.verbose)
    try:
        with _interrupt_twice(console):
            return _guarded(options, console)
    finally:
        console.close()


def _guarded(options: argparse.Namespace, console: Console) -> int:
    """Run the command; whatever it raises becomes one message and an exit code."""
    from importlib import import_module

    try:
        module = import_module(f"mainspring.cli.{options.module}")
        code: int = module.run(options, console)
        console.out.flush()
    except KeyboardInterrupt:
        console.say("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        _drop_stdout()
        return BROKEN_PIPE
    except Exception as error:  # noqa: BLE001 - the last guard: no command ends in a traceback
        return _report(error, console)
    return code


def _report(error: Exception, console: Console) -> int:
    from mainspring.cli._stop import Stop, as_dict, show_problems
    from mainspring.errors import MainspringError, SpecError

    code, problems = FAILED, []
    if isinstance(error, Stop):
        code, message, hint = error.code, error.message, error.hint
    elif isinstance(error, SpecError):
        problems = error.problems
        message, hint = "", None
    elif isinstance(error, (MainspringError, OSError)):
        message, _, hint = (str(error) or type(error).__name__).partition("\n  hint: ")
        hint = hint or None
    else:
        message = f"{type(error).__name__}: {error}"
        hint = "this is a bug in mainspring; run it again with -v for the traceback"
    if console.verbose:
        import traceback

        console.say(clean_block("".join(traceback.format_exception(error))).rstrip())
    show_problems(problems, console)
    if message:
        console.error(clean_block(message), hint and clean_block(hint))
    if console.json:
        found = [as_dict(problem) for problem in problems]
        console.document({"error": message or None, "hint": hint, "problems": found})
    return code


@contextmanager
def _interrupt_twice(console: Console) -> Iterator[None]:
    """The first Ctrl-C asks for an orderly end, the second leaves at once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    if before is signal.SIG_IGN:  # started in the background by a shell: not ours to change
        yield
        return
    pressed = 0

    def interrupted(number: int, frame: FrameType | None) -> None:
        nonlocal pressed
        pressed += 1
        if pressed > 1:
            _leave(INTERRUPTED)
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, interrupted)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _close_sessions() -> None:
    """What happens at the end of a process that ends by itself."""
    module = sys.modules.get("mainspring._session")
    if module is not None:
        with suppress(Exception):
            module._close_all()


def _leave(code: int) -> NoReturn:
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def _drop_stdout() -> None:
    """Whoever read our output has gone; nothing that is still buffered may raise at exit."""
    with suppress(OSError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.close(null)
