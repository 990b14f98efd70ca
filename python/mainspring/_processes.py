"""How worker processes are started, and which file they find a dag in."""

import os
import sys

from mainspring.errors import Problem, SpecError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mainspring._dag import Dag

__all__ = ["commands", "file_of", "fingerprint"]

# The worker has this very package, whatever else of its name could be found; and nothing more of
# the folder that it is in than this process has.
_START = (
    "import sys; sys.path.insert(0, sys.argv.pop()); import mainspring; del sys.path[0]; "
    "from mainspring._worker import main; main()"
)


def commands() -> "tuple[list[str], list[str]]":
    """Return the command of a supervisor, and that of a worker, which follows it."""
    from mainspring import _mainspring

    here = os.path.dirname(os.path.abspath(__file__))
    core = os.path.abspath(str(_mainspring.__file__))
    python = sys.executable
    supervisor = [python, "-I", "-S", os.path.join(here, "_supervisor.py"), core]
    return supervisor, [python, "-c", _START, os.path.dirname(here)]


def file_of(dag: "Dag") -> str:
    """Return the file in which a dag's handlers are defined.

    Raises
    ------
    SpecError
        When they are in none, or in several: another process could not find the dag.
    """
    files: set[str | None] = set()
    for node in dag.nodes():
        if node.task.is_noop:
            continue
        module = sys.modules.get(node.task.__module__)
        files.add(getattr(module, "__file__", None))
    only = files.pop() if len(files) == 1 else None
    if only is not None:
        return os.path.abspath(only)
    raise SpecError(Problem(
        "no_file", dag.name,
        "has tasks in several files, so none stands for it" if len(files) > 1
        else "is in no file, so that no other process can import it",
        "put the dag and its tasks into one file, or run it with executor='inline'",
    ))


def fingerprint(file: "str | os.PathLike[str]") -> str:
    """Return what a file's content is known by."""
    from hashlib import sha256

    with open(file, "rb") as content:
        return f"sha256:{sha256(content.read()).hexdigest()}"
