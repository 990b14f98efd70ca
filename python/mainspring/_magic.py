"""``%mainspring``: what people type daily in a notebook, with the words of the command line.

``%load_ext mainspring`` registers it. A dag is named by the variable that holds it, or by its own
name.
"""

import shlex

from mainspring.errors import MainspringError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping
    from typing import Any

    from mainspring._run import Run

__all__ = ["magic", "register", "unregister"]

NAME = "mainspring"


def register(shell: "Any") -> None:
    """Make the magic known to a shell of IPython."""

    def mainspring(line: str) -> "Any":
        return magic(line, shell.user_ns)

    mainspring.__doc__ = _parser().format_help()
    shell.register_magic_function(mainspring, "line", NAME)


def unregister(shell: "Any") -> None:
    """Take the magic away again."""
    shell.magics_manager.magics["line"].pop(NAME, None)


def magic(line: str, names: "Mapping[str, Any]") -> "Any":
    """Carry out a line; what it returns shows itself in the cell.

    Parameters
    ----------
    line : str
        What follows ``%mainspring``.
    names : mapping
        The variables of the notebook.

    Examples
    --------
    >>> import mainspring as ms
    >>> from mainspring._magic import magic
    >>> with ms.testing.isolated():
    ...     run = ms.Dag.from_graph("abc", ["a", "b"], [("a", "b")]).run("2013-01-15")
    ...     magic("explain run b", {"run": run})
    b of run 1 is SUCCESS: ...
    """
    from mainspring.cli._stop import Stop

    try:
        options = _parser().parse_args(shlex.split(line))
        verb = {"plan": _plan, "backfill": _backfill, "explain": _explain}[options.verb]
        return verb(options, names)
    except SystemExit:  # it was --help, which is printed
        return None
    except Stop as stop:
        raise _usage(stop.message, stop.hint) from None
    except (ValueError, MainspringError) as error:  # told in its own words, without a traceback
        raise _usage(str(error), None) from None


def _usage(message: str, hint: "str | None") -> Exception:
    """Return an error that IPython shows in one line, without a traceback."""
    import importlib

    text = message + (f"\n  hint: {hint}" if hint else "")
    try:
        kind = importlib.import_module("IPython.core.error").UsageError
    except ModuleNotFoundError:
        kind = ValueError
    made: Exception = kind(text)
    return made


def _parser() -> "argparse.ArgumentParser":
    from mainspring.cli._parser import Parser
    from mainspring.cli._parser import _positive as positive

    parser = Parser(prog="%mainspring", allow_abbrev=False,
                    description="Plan and apply a backfill, and ask why a task is in its state.")
    verbs = parser.add_subparsers(dest="verb", metavar="plan|backfill|explain", required=True)
    for verb, text in (("plan", "What a backfill would do; nothing is started."),
                       ("backfill", "Plan a backfill and apply it at once.")):
        one = verbs.add_parser(verb, help=text, description=text, allow_abbrev=False)
        one.add_argument("dag", metavar="DAG", help="a variable that holds it, or its name")
        one.add_argument("first", metavar="FROM", help="first business date")
        one.add_argument("last", metavar="TO", help="last business date")
        one.add_argument("--only", choices=["missing", "failed", "stale", "all"],
                         default="missing", metavar="missing|failed|stale|all")
        one.add_argument("--order", choices=["asc", "desc"], default="asc", metavar="asc|desc")
        one.add_argument("--max-active", type=positive, default=4, metavar="N",
                         help="runs at once; default: 4")
        one.add_argument("--task", action="append", metavar="T", help="this task; several times")
        one.add_argument("--upstream", action="store_true", help="and all that they need")
        one.add_argument("--downstream", action="store_true", help="and all that follows")
        one.add_argument("--param", action="append", default=[], metavar="K=V",
                         help="a value for the runs")
        one.add_argument("--on-failure", choices=["continue", "stop"], default="continue",
                         metavar="continue|stop")
    text = "Why a task is in its state, and what it waits for."
    one = verbs.add_parser("explain", help=text, description=text, allow_abbrev=False)
    one.add_argument("run", nargs="?", metavar="RUN",
                     help="a run's number, a variable that holds one; default: the newest")
    one.add_argument("task", metavar="TASK", help="a task, or DAG.TASK")
    return parser


def _plan(options: "argparse.Namespace", names: "Mapping[str, Any]") -> "Any":
    import mainspring
    from mainspring._dag import Dag
    from mainspring._mainspring import check_dag
    from mainspring.cli._params import read_params

    backfill: Any = getattr(mainspring, "backfill", None)
    if backfill is None:
        raise ValueError(f"mainspring {mainspring.__version__} has no backfill")
    dag = names.get(options.dag)
    if not isinstance(dag, Dag):
        dag = options.dag
    definition = check_dag(dag.spec()) if isinstance(dag, Dag) else None
    return backfill(
        dag, options.first, options.last, only=options.only, order=options.order,
        max_active=options.max_active, tasks=options.task, upstream=options.upstream,
        downstream=options.downstream, params=read_params(options.param, definition) or None,
        on_failure=options.on_failure, dry_run=True,
    )


def _backfill(options: "argparse.Namespace", names: "Mapping[str, Any]") -> "Any":
    return _plan(options, names).apply()


def _explain(options: "argparse.Namespace", names: "Mapping[str, Any]") -> None:
    dag, dot, task = options.task.rpartition(".")
    print(_run(options.run, dag if dot else None, names).explain(task))


def _run(word: "str | None", dag: "str | None", names: "Mapping[str, Any]") -> "Run":
    from mainspring._history import run, runs
    from mainspring._run import Run

    found = names.get(word or "")
    if isinstance(found, Run):
        return found
    if word is not None and word.isascii() and word.isdigit():
        return run(int(word))
    if word not in (None, "last"):
        raise ValueError(f"{word!r} is no run\n"
                         "  hint: a run's number, 'last', or a variable that holds one")
    newest = runs(dag, limit=1)
    if not newest:
        raise ValueError(f"there is no run{f' of {dag}' if dag else ''} yet")
    return newest[0]
