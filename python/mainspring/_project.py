"""Dag files: loading one into this process without letting it hurt anything else.

A dag file is ordinary Python. It is imported under a private name, so ``if __name__ ==
"__main__":`` stays out, with its folder on ``sys.path``. Whatever goes wrong in it becomes a
`Problem` with file, line and hint, never an exception of ours.
"""

from __future__ import annotations

import importlib.util
import os
import re
import signal
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import copy_context
from pathlib import Path
from types import FrameType, ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from mainspring.errors import Problem, SpecError

if TYPE_CHECKING:
    from mainspring._dag import Dag
    from mainspring._task import Task

__all__ = ["LoadedFile", "load_file", "load_files", "other_file_has", "shown_path"]

PACKAGE = str(Path(__file__).parent) + os.sep


class LoadedFile(NamedTuple):
    """What came of one dag file; `trace` is the traceback of an import that failed."""

    path: Path
    dags: tuple[Dag, ...] = ()
    problems: tuple[Problem, ...] = ()
    trace: str | None = None


# --- loading --------------------------------------------------------------------------------


def load_files(files: Sequence[Path]) -> list[LoadedFile]:
    """Load each file by itself; the modules of one are not seen by those of another folder.

    Two dags of one name in two files are a problem of both, which names both.
    """
    known = {os.path.realpath(file) for file in files}
    loaded = [load_file(file, keep=False, others=known) for file in files]
    first: dict[str, Path] = {}
    for at, item in enumerate(loaded):
        problems = []
        for dag in item.dags:
            other = first.setdefault(str(dag.name), item.path)
            if other != item.path:
                problems.append(other_file_has(str(dag.name), item.path, other))
        if problems:
            loaded[at] = item._replace(problems=(*item.problems, *problems))
    return loaded


def other_file_has(
    name: str, file: str | os.PathLike[str], other: str | os.PathLike[str]
) -> Problem:
    """Two dags of one name in two files."""
    return Problem(
        "duplicate_dag",
        shown_path(file),
        f"dag {name!r} is also in {shown_path(other)}",
        "rename one of them; a dag's name is its identity in the history",
    )


def load_file(
    path: str | os.PathLike[str],
    *,
    keep: bool = True,
    others: Iterable[str] = (),
    source: str | None = None,
) -> LoadedFile:
    """Import one dag file and collect its dags.

    Parameters
    ----------
    path
        The file.
    keep
        Whether the process may go on as the file left it (its folder on ``sys.path``, its working
        folder, the modules it imported), as is right when its tasks run next.
    others
        Real paths of the dag files that are loaded beside it; what those make while this one
        imports them is theirs.
    source
        A file whose content is taken in place of this one's, as if it stood there.
    """
    file = Path(path).absolute()
    if source is None and not file.is_file():
        return LoadedFile(file, problems=(_missing(file),))
    name = _module_name(file)
    with _surroundings(file, keep), _recording() as made:
        module, problems, trace = _execute(file, name, source)
    if module is None:
        sys.modules.pop(name, None)
        return LoadedFile(file, (), problems, trace)
    theirs = set(others) - {os.path.realpath(file)}
    try:
        dags = tuple(_collect(file, module, made, theirs))
        return LoadedFile(file, dags, tuple(_twice(dags, shown_path(file))))
    except SpecError as error:
        return LoadedFile(file, (), tuple(_placed(error, str(shown_path(file)))))


def _twice(dags: Sequence[Dag], place: str) -> Iterator[Problem]:
    """Dags of one name in one file."""
    for name, count in Counter(str(dag.name) for dag in dags).items():
        if count > 1:
            yield Problem(
                "duplicate_dag", place, f"{count} dags are named {name!r}",
                "rename one of them; a dag's name is its identity in the history",
            )


def _module_name(file: Path) -> str:
    """A name that nobody imports, the same on every machine: handlers are remembered by it."""
    from mainspring._config import settings

    inside = os.path.relpath(file.with_suffix(""), settings().root)
    stem = file.stem if inside.startswith("..") else inside
    name = "mainspring_file_" + re.sub(r"\W+", "_", stem)
    candidate, number = name, 1
    while getattr(sys.modules.get(candidate), "__file__", str(file)) != str(file):
        number += 1
        candidate = f"{name}_{number}"
    return candidate


def _execute(
    file: Path, name: str, source: str | None = None
) -> tuple[ModuleType | None, tuple[Problem, ...], str | None]:
    from mainspring._fresh import FreshLoader

    loader = FreshLoader(name, str(file))
    loader.kept = source
    spec = importlib.util.spec_from_file_location(name, file, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    with _interrupts() as pressed:
        try:
            copy_context().run(loader.exec_module, module)  # a block left open stays in there
        except BaseException as error:
            if pressed and isinstance(error, KeyboardInterrupt):
                raise
            from mainspring._describe import describe

            return None, _import_problems(file, error), describe(error)[3]
    return module, (), None


@contextmanager
def _interrupts() -> Iterator[list[int]]:
    """Tell a Ctrl-C of the user from a KeyboardInterrupt that the file raised by itself."""
    pressed: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield [1]
        return
    before = signal.getsignal(signal.SIGINT)

    def note(number: int, frame: FrameType | None) -> None:
        pressed.append(number)
        if callable(before):
            before(number, frame)
        else:
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, note)
    try:
        yield pressed
    finally:
        if signal.getsignal(signal.SIGINT) is note:
            signal.signal(signal.SIGINT, signal.SIG_DFL if before is None else before)


@contextmanager
def _surroundings(file: Path, keep: bool) -> Iterator[None]:
    """The folder on the path and an empty command line for the file; put back what it changed."""
    folder = str(file.parent)
    path, argv, modules = list(sys.path), sys.argv, set(sys.modules)
    limit = sys.getrecursionlimit()
    try:
        where: str | None = os.getcwd()
    except OSError:
        where = None
    sys.path.insert(0, folder)
    sys.argv = [str(file)]
    try:
        yield
    finally:
        sys.argv = argv
        sys.setrecursionlimit(limit)
        if not keep:
            sys.path[:] = path
            _forget(folder, set(sys.modules) - modules)
            if where is not None:
                with suppress(OSError):
                    os.chdir(where)


def _forget(folder: str, names: Iterable[str]) -> None:
    """Drop the helpers that a file imported from its own folder: another's may have their name."""
    for name in names:
        origin = getattr(sys.modules.get(name), "__file__", None) or ""
        if name.startswith("mainspring_file_") or "site-packages" in origin:
            continue
        if origin.startswith(folder + os.sep):
            sys.modules.pop(name, None)


# --- dags -----------------------------------------------------------------------------------


class _Made(NamedTuple):
    """A dag and the file whose import made it."""

    dag: Dag
    file: str


class RanAtImport(Exception):
    """A dag file that runs its dag while it is only being read."""


@contextmanager
def _recording() -> Iterator[list[_Made]]:
    """Note every dag that is made, and refuse to run one, while a file is imported."""
    from mainspring._dag import Dag

    made: list[_Made] = []
    real: dict[str, str] = {}
    init = Dag.__init__

    def noting(self: Dag, *args: Any, **kwargs: Any) -> None:
        init(self, *args, **kwargs)
        name = _importing_file()
        if name not in real:
            real[name] = os.path.realpath(name) if name else ""
        made.append(_Made(self, real[name]))

    def refusing(self: Dag, *args: Any, **kwargs: Any) -> Any:
        raise RanAtImport(getattr(self, "name", "?"))

    before: dict[str, Callable[..., Any]] = {"__init__": init}
    for name in ("run", "arun", "resume", "rerun"):
        if name in vars(Dag):
            before[name] = vars(Dag)[name]
            setattr(Dag, name, refusing)
    Dag.__init__ = noting  # type: ignore[method-assign]
    try:
        yield made
    finally:
        for name, function in before.items():
            setattr(Dag, name, function)


def _importing_file() -> str:
    """The file of the innermost module that is being imported."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        if frame.f_code.co_name == "<module>":
            return frame.f_code.co_filename
        frame = frame.f_back
    return ""


def _collect(
    file: Path, module: ModuleType, made: Sequence[_Made], theirs: set[str]
) -> Iterator[Dag]:
    """The file's dags in the order they were made, then those that it only imported."""
    from mainspring._dag import Dag

    seen: dict[int, Dag] = {}
    foreign = {id(item.dag) for item in made if item.file in theirs}
    candidates = [item.dag for item in made]
    candidates += [value for value in list(vars(module).values()) if isinstance(value, Dag)]
    for dag in candidates:
        if id(dag) not in foreign:
            seen.setdefault(id(dag), dag)
    homeless = _homeless(module, candidates)
    if homeless:
        named = [dag for dag in seen.values() if dag.name == file.stem]
        home = named[0] if named else Dag(file.stem)
        seen.setdefault(id(home), home)
        for task in homeless:
            task.home = home
            home.declare(task).implicit = False
    yield from seen.values()


def _homeless(module: ModuleType, dags: Iterable[Dag]) -> list[Task[Any, Any]]:
    """Tasks that the file defines and puts into no dag: theirs is the dag of the file's name."""
    from mainspring._task import Task

    used: set[int] = set()
    for dag in dags:
        for node in dag.nodes():
            used |= {id(node.task), id(node.task.base)}
    return [
        value
        for value in list(vars(module).values())
        if isinstance(value, Task)
        and value.home is None
        and value.__module__ == module.__name__
        and id(value) not in used
    ]


# --- saying what went wrong -----------------------------------------------------------------


def shown_path(path: str | os.PathLike[str]) -> str:
    """A path as people want to read it: relative where it is below the working folder."""
    text = os.path.abspath(path)
    try:
        relative = os.path.relpath(text)
    except (OSError, ValueError):
        return text
    return text if relative.startswith("..") else relative


def _missing(file: Path) -> Problem:
    from difflib import get_close_matches

    if file.is_dir():
        return Problem("not_a_file", shown_path(file), "is a folder, not a dag file")
    try:
        names = [item.name for item in file.parent.iterdir()]
    except OSError:
        return Problem("no_file", shown_path(file), "no such file, and no such folder")
    near = get_close_matches(file.name, names, n=1)
    hint = f"did you mean {shown_path(file.parent / near[0])}?" if near else None
    return Problem("no_file", shown_path(file), "no such file", hint)


def _import_problems(file: Path, error: BaseException) -> tuple[Problem, ...]:
    if isinstance(error, SyntaxError):
        return (_syntax_problem(file, error),)
    line = _author_line(file, error)
    place = shown_path(file) if line is None else f"{shown_path(line[0])}:{line[1]}"
    if isinstance(error, SpecError):
        return tuple(_placed(error, place))
    return (_problem_of(error, place),)


def _problem_of(error: BaseException, place: str) -> Problem:
    from mainspring._describe import describe

    guard = "move it into a task, or below: if __name__ == '__main__':"
    if isinstance(error, RanAtImport):
        message = f"runs dag {error.args[0]!r} while the file is only being read"
        return Problem("runs_at_import", place, message, guard)
    if isinstance(error, SystemExit):
        message = f"leaves the process while it is imported (sys.exit, code {error.code!r})"
        return Problem("exit_at_import", place, message, guard)
    if isinstance(error, KeyboardInterrupt):
        return Problem(
            "import_error", place, "raises KeyboardInterrupt while it is imported", guard
        )
    _, kind, message, *_ = describe(error)
    text = f"{kind}: {message}" if message else kind
    hint = None
    if isinstance(error, ModuleNotFoundError) and error.name:
        hint = (
            f"install what provides {error.name!r} for {sys.executable}, "
            "or put it beside the dag file"
        )
    elif isinstance(error, ImportError) and "relative import" in message:
        hint = "a dag file is in no package; its folder is on sys.path, so import by name"
    elif isinstance(error, RecursionError):
        hint = "a function calls itself without end"
    return Problem("import_error", place, text, hint)


def _syntax_problem(file: Path, error: SyntaxError) -> Problem:
    name = error.filename if error.filename and os.path.exists(error.filename) else str(file)
    place = shown_path(name) if error.lineno is None else f"{shown_path(name)}:{error.lineno}"
    text = (error.text or "").strip()
    hint = f"the line is: {text[:160]}" if text else None
    return Problem("syntax_error", place, f"{type(error).__name__}: {error.msg}", hint)


def _placed(error: SpecError, place: str) -> Iterator[Problem]:
    for problem in error.problems:
        message = f"{problem.place}: {problem.message}" if problem.place else problem.message
        yield Problem(problem.code, place, message, problem.hint)


def _author_line(file: Path, error: BaseException) -> tuple[str, int] | None:
    """The innermost line of the author's own code: the file, or helpers in its folder."""
    folder = str(file.parent) + os.sep
    found: tuple[str, int] | None = None
    trace = error.__traceback__
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        own = name.startswith(folder) and "site-packages" not in name
        if own and not name.startswith(PACKAGE):
            found = (name, trace.tb_lineno)
        trace = trace.tb_next
    return found
