"""The words of the command line."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, NoReturn

from mainspring.cli._console import clean
from mainspring.cli._stop import Stop

__all__ = ["parse"]

EPILOG = """\
exit codes:
  0  ok
  1  a task failed, or something is wrong
  2  the command was written wrongly
  3  nothing failed, but the work did not complete (blocked, canceled, interrupted)
  130  Ctrl-C

Run 'mainspring COMMAND --help' for the options of a command."""


class Parser(argparse.ArgumentParser):
    """An argument parser whose refusals read like all our messages."""

    def error(self, message: str) -> NoReturn:
        hint = f"{self.prog} --help"
        choice = re.search(
            r"invalid choice: (.+?)(?:, maybe you .*)? \(choose from (.*)\)", message
        )
        if choice:
            choices = [item.strip(" '\"") for item in choice[2].split(",")]
            near = get_close_matches(choice[1].strip("'\""), choices, n=1)
            message = f"unknown word {choice[1]}"
            hint = f"did you mean '{near[0]}'?" if near else f"there are: {', '.join(choices)}"
        raise Stop(clean(message), clean(hint), 2)


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """The options of a command, with the module that carries it out as ``module``."""
    options = _parser().parse_args(argv)
    for name, value in _COMMON_DEFAULTS.items():
        if not hasattr(options, name):
            setattr(options, name, value)
    return options


_COMMON_DEFAULTS: dict[str, Any] = {
    "json": False,
    "database": None,
    "project": None,
    "no_color": False,
    "verbose": 0,
}


def _common() -> Parser:
    # Given before or after the command: the defaults stay out, so that the one behind does not
    # undo the one in front.
    common = Parser(add_help=False, argument_default=argparse.SUPPRESS)
    group = common.add_argument_group("everywhere")
    group.add_argument("--json", action="store_true", help="one JSON document on stdout")
    group.add_argument("--database", metavar="PLACE", help="the database to use: a file or a URL")
    group.add_argument("--project", metavar="DIR", help="the project's folder or file")
    group.add_argument("--no-color", action="store_true", help="no colours (also: NO_COLOR=1)")
    group.add_argument("-v", "--verbose", action="count", help="say more, with tracebacks")
    return common


class _Version(argparse.Action):
    """``--version``, without loading anything before it is asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from mainspring import __version__

        print(f"mainspring {__version__}")
        parser.exit()


def _parser() -> Parser:
    common = _common()
    parser = Parser(
        prog="mainspring",
        description="Run, check and look into pipelines written in Python.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        parents=[common],
        allow_abbrev=False,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    def command(name: str, module: str, text: str, within: Any = commands) -> Parser:
        made: Parser = within.add_parser(
            name, help=text, description=text, parents=[common], allow_abbrev=False
        )
        made.set_defaults(module=module)
        return made

    one = command("init", "init", "Make a project that runs.")
    one.add_argument("directory", nargs="?", default=".", metavar="DIR")

    one = command("check", "check", "Load every dag file and say everything that is wrong.")
    one.add_argument("paths", nargs="*", metavar="PATH", help="files or folders; default: all")

    command("list", "listing", "The dags of the project, with the state of their last run.")

    one = command("show", "show", "The tasks of a dag, what they wait for and how they run.")
    one.add_argument("dag", metavar="DAG", help="a dag's name, or FILE[:DAG]")
    one.add_argument("--run", metavar="RUN", help="the states in this run, or 'last'")
    one.add_argument("--items", metavar="TASK", help="the items of this mapped task in the run")

    _run(command("run", "run", "Run a dag here and now."))

    one = command("render", "render", "What placeholders become in a task, for any day.")
    one.add_argument("task", metavar="DAG[.TASK]")
    one.add_argument("--biz-date", metavar="D", help="the day the data belongs to")
    one.add_argument(
        "--nominal-at", metavar="T", help="the instant it is for, where a day has several"
    )
    one.add_argument(
        "--slot", type=_positive, metavar="N", help="which of several for the day, from 1"
    )
    one.add_argument(
        "--param", action="append", default=[], metavar="K=V", help="a value for the run"
    )
    one.add_argument("--file", metavar="F", help="the file of the dag; default: the project's")

    one = command("up", "up", "Stay up: schedule what the project's dag files define.")
    one.add_argument("--slots", type=_positive, metavar="N", help="attempts at once")
    text = "where tasks run; default: process"
    one.add_argument("--executor", choices=["process", "inline"], default="process", help=text,
                     metavar="process|inline")
    one.add_argument("--standby", action="store_true", help="wait for a scheduler that is up")
    one.add_argument("--grace", type=_seconds, default=30.0, metavar="S",
                     help="seconds that live tasks have at the end; default: 30")
    one.add_argument("--log", choices=["text", "json"], default="text", metavar="text|json")
    one.add_argument("--metrics", metavar="[HOST:]PORT", help="serve /metrics and /health here")
    one.add_argument("--metrics-open", action="store_true", help="also to other machines")

    one = command("status", "status", "Whether a scheduler is up, and what is open.")
    one.add_argument("--quiet", action="store_true", help="only the exit code: 0 up, 3 not")

    _backfill(command)

    _asking(command)

    _versions(command)

    one = command("runs", "runs", "Runs, the newest first.")
    one.add_argument("dag", nargs="?", metavar="DAG")
    one.add_argument("--state", action="append", metavar="S", help="only these states")
    one.add_argument("--biz-date", metavar="D", help="only of this business date")
    one.add_argument("-n", "--limit", type=_positive, default=20, metavar="N")

    one = command("backfills", "backfills", "Backfills, the newest first; or one, and steering it.")
    one.add_argument("backfill", nargs="?", type=_positive, metavar="ID", help="only this one")
    text = "what is to be done about it; resume and retry go on here where nobody decides for it"
    one.add_argument("verb", nargs="?", choices=["pause", "resume", "cancel", "retry"],
                     metavar="pause|resume|cancel|retry", help=text)
    one.add_argument("--state", action="append", metavar="S", help="only these states")

    one = command("history", "history", "Attempts, task runs or runs as a table, the newest first.")
    one.add_argument("dag", nargs="?", metavar="DAG[.TASK]")
    one.add_argument("--level", choices=["attempt", "task_run", "run"], default="attempt",
                     metavar="attempt|task_run|run", help="what a row is; default: attempt")
    one.add_argument("--since", metavar="T", help="a business date, or 30d: so long ago, or a time")
    one.add_argument("--until", metavar="T", help="likewise; a business date is inclusive")
    one.add_argument("--state", action="append", metavar="S",
                     help="only these states; of attempts, outcomes")
    one.add_argument("--trigger", action="append", metavar="W", help="only of runs made so")
    one.add_argument("--columns", metavar="A,B", help="only these columns")
    one.add_argument("-n", "--limit", type=_positive, metavar="N",
                     help="default: 20 in a table, else all")
    one.add_argument("--format", choices=["table", "csv", "jsonl"], default="table",
                     metavar="table|csv|jsonl")

    one = command("logs", "logs", "What the tasks of a run printed.")
    one.add_argument("run", metavar="RUN", help="a run's number, or 'last'")
    one.add_argument("task", nargs="?", metavar="TASK")
    one.add_argument("--attempt", type=_positive, metavar="N", help="default: the newest")
    one.add_argument("-f", "--follow", action="store_true", help="go on until the run ends")

    command("pools", "pools", "Pools and limits: their slots, and how many are in use.")

    one = command("stats", "stats", "How tasks fare: runs, deadlines and durations by month.")
    one.add_argument("dag", nargs="?", metavar="DAG[.TASK]")

    one = command("rerun", "rerun", "Run again what failed in a run, or the tasks named.")
    one.add_argument("run", metavar="RUN", help="a run's number, or 'last'")
    one.add_argument("--task", action="append", metavar="T", help="this task, or an item: load[3]")
    one.add_argument("--downstream", action="store_true", help="and everything that follows")
    one.add_argument("--failed", action="store_true", help="what failed (the default)")

    one = command("next", "fires", "When an expression or a dag fires, and for which day.")
    one.add_argument("target", metavar="EXPR|DAG", help="an expression in quotes, or a dag")
    one.add_argument("-n", "--limit", type=_positive, metavar="N", help="how many; default: 10")
    one.add_argument("--tz", metavar="Z", help="zone of the expression; default: the project's")
    one.add_argument("--from", dest="first", metavar="T", help="from this time on; default: now")
    one.add_argument("--year", type=_year, metavar="Y", help="a picture of a year")
    text = "mark holidays: a country (US, DE-BY, CN), a .ics file, FILE.py:CALENDAR"
    one.add_argument("--holidays", action="append", default=[], metavar="H", help=text)

    for name, text in (
        ("disable", "Leave a task out of runs from now on; what waits for it is blocked."),
        ("enable", "Have runs take a task again, and run it where somebody is blocked by it."),
    ):
        one = command(name, "enabling", text)
        one.set_defaults(verb=name)
        one.add_argument("task", metavar="DAG.TASK")

    text = "Data that tasks make and wait for."
    assets = commands.add_parser("asset", help=text, description=text)
    within = assets.add_subparsers(title="commands", metavar="COMMAND", required=True)
    text = "Declare an asset ready for a business date, from outside."
    one = command("ready", "asset_ready", text, within)
    one.add_argument("asset", metavar="ASSET")
    one.add_argument("--biz-date", required=True, metavar="D", help="the day the data belongs to")

    cron = commands.add_parser("cron", help="Cron expressions.", description="Cron expressions.")
    within = cron.add_subparsers(title="commands", metavar="COMMAND", required=True)
    text = "Say an expression in words, and what in it is probably not meant."
    one = command("explain", "cron_explain", text, within)
    one.add_argument("expression", metavar="EXPR")
    one.add_argument("--lang", choices=["en", "zh"], default="en", metavar="en|zh")
    text = "Write an expression in the other dialect, where that says exactly the same."
    one = command("convert", "cron_convert", text, within)
    one.add_argument("expression", metavar="EXPR")
    one.add_argument("--to", choices=["unix", "quartz"], required=True, metavar="unix|quartz")

    database = commands.add_parser("db", help="The database.", description="The database.")
    within = database.add_subparsers(title="commands", metavar="COMMAND", required=True)
    text = "Make the database, or bring it to the newest form."
    command("upgrade", "db_upgrade", text, within)
    command("verify", "db_verify", "Prove that everything in the database adds up.", within)

    text = "Print a systemd unit that keeps the scheduler of this project running."
    one = command("systemd", "systemd", text)
    one.add_argument("--user", metavar="NAME", help="a unit of the system, run as this user")

    config = commands.add_parser("config", help="The settings.", description="The settings.")
    within = config.add_subparsers(title="commands", metavar="COMMAND", required=True)
    command("show", "config_show", "Each setting and where it came from.", within)
    return parser


def _backfill(command: Any) -> None:
    """The plan of a backfill, or of computing a task again."""
    for name, text in (
        ("backfill", "Plan the computing of a range of business dates, and do it with --apply."),
        ("reprocess", "Plan the computing of a task again with all that depends on it."),
    ):
        one = command(name, "backfill", text)
        one.set_defaults(verb=name)
        is_backfill = name == "backfill"
        what = "DAG" if is_backfill else "DAG.TASK"
        one.add_argument("target", nargs="?", metavar=what)
        one.add_argument("--from", dest="first", metavar="D", help="first business date")
        one.add_argument("--to", dest="last", metavar="D", help="last business date, inclusive")
        if is_backfill:
            one.add_argument("--only", metavar="KINDS",
                             help="missing (default), failed, stale, all; several with commas")
            one.add_argument("--tasks", metavar="T,T", help="only these tasks")
            one.add_argument("--upstream", action="store_true",
                             help="and what they need, where it is not there")
            one.add_argument("--downstream", action="store_true", help="and what depends on them")
        else:
            one.add_argument("--biz-date", metavar="D", help="the date, if it is one")
        one.add_argument("--order", choices=["asc", "desc"], default="asc", metavar="asc|desc",
                         help="which dates come first where there is a choice; default: asc")
        one.add_argument("--max-active", type=_positive, default=4, metavar="N",
                         help="runs at once; default: 4")
        one.add_argument("--on-failure", choices=["continue", "stop"], default="continue",
                         metavar="continue|stop", help="default: continue")
        one.add_argument("--param", action="append", default=[], metavar="K=V",
                         help="a value for its runs")
        one.add_argument("--force", action="store_true",
                         help="run what is disabled or left out by run_on")
        one.add_argument("--priority", default="7", metavar="CLASS",
                         help="class of its task runs; default: 7 (LOW)")
        one.add_argument("--share", type=_positive, default=50, metavar="PERCENT",
                         help="of each pool it holds at most; default: 50")
        mode = one.add_mutually_exclusive_group()
        mode.add_argument("--plan", action="store_true", help="only print the plan (the default)")
        mode.add_argument("--apply", action="store_true", help="do it")
        one.add_argument("--plan-file", metavar="FILE", help="a plan that was saved")
        one.add_argument("--save", metavar="FILE", help="write the plan to this file")


def _asking(command: Any) -> None:
    """What is asked of the scheduler that is up."""

    def asked(name: str, text: str, what: str) -> Parser:
        made: Parser = command(name, "asking", text)
        made.set_defaults(ask=name)
        if what == "RUN":
            made.add_argument("run", type=_positive, metavar="RUN", help="a run's number")
        else:
            made.add_argument("dag", metavar="DAG")
        return made

    one = asked("trigger", "Ask the scheduler for a run of a dag.", "DAG")
    one.add_argument("--biz-date", metavar="D", help="the day the data belongs to")
    one.add_argument("--nominal-at", metavar="T", help="the instant it is for")
    one.add_argument(
        "--param", action="append", default=[], metavar="K=V", help="a value for the run"
    )
    one.add_argument("--only", metavar="T1,T2", help="only these tasks")
    one.add_argument(
        "--force", action="store_true", help="also what is disabled, or run_on would skip"
    )

    one = asked("approve", "Say yes at a gate of a run, or no.", "RUN")
    one.add_argument("task", metavar="TASK", help="the gate")
    one.add_argument("--reject", action="store_true", help="say no")
    one.add_argument("--note", metavar="TEXT", help="what else is to be remembered")
    one.add_argument("--later", action="store_true", help="also where no scheduler is up")

    one = asked("cancel", "Ask whoever drives a run to end it.", "RUN")
    one.add_argument("--task", action="append", metavar="T", help="only this task")
    one.add_argument("--grace", type=_seconds, metavar="S", help="seconds for live tasks")

    one = asked("pause", "Make no new runs of a dag's schedules.", "DAG")
    one.add_argument("--schedule", metavar="NAME", help="only this one")
    one.add_argument("--later", action="store_true", help="also where no scheduler is up")

    one = asked("resume", "Let paused schedules go on.", "DAG")
    one.add_argument("--schedule", metavar="NAME", help="only this one")
    one.add_argument("--missed", choices=["none", "last", "all"], metavar="none|last|all",
                     help="which fires of the pause are run; default: none")
    one.add_argument("--later", action="store_true", help="also where no scheduler is up")


def _versions(command: Any) -> None:
    """Which version of a task runs take."""

    def verb(name: str, text: str) -> Parser:
        made: Parser = command(name, "versions", text)
        made.set_defaults(verb=name)
        made.add_argument("task", metavar="DAG.TASK")
        return made

    verb("versions", "The versions of a task, and which of them runs take.")

    one = verb("promote", "Have new runs take a version of a task, all of them or some.")
    one.add_argument("--version", dest="number", type=_positive, required=True, metavar="N")
    share = one.add_mutually_exclusive_group()
    share.add_argument("--percent", type=_percent, metavar="P",
                       help="only so many of a hundred business dates, chosen by a hash")
    share.add_argument("--from-biz-date", metavar="D", help="only this business date and later")

    one = verb("rollback", "Have new runs take an older version, whatever the dag file says.")
    one.add_argument("--version", dest="number", type=_positive, metavar="N",
                     help="default: the one before the active")


def _run(one: Parser) -> None:
    one.add_argument("target", nargs="?", metavar="DAG|FILE[:DAG]")
    one.add_argument("--biz-date", metavar="D", help="the day the data belongs to")
    one.add_argument(
        "--nominal-at", metavar="T", help="the instant it is for, where a day has several"
    )
    one.add_argument(
        "--slot", type=_positive, metavar="N", help="which of several for the day, from 1"
    )
    one.add_argument("--from", dest="first", metavar="D", help="first of several days")
    one.add_argument("--to", dest="last", metavar="D", help="last of several days")
    one.add_argument("--keep-going", action="store_true", help="go on after a day that failed")
    one.add_argument(
        "--param", action="append", default=[], metavar="K=V", help="a value for the run"
    )
    one.add_argument("--only", metavar="T1,T2", help="only these tasks")
    one.add_argument(
        "--force", action="store_true", help="also what is disabled, or run_on would skip"
    )
    one.add_argument(
        "--resume",
        nargs="?",
        const="last",
        metavar="RUN",
        help="take up a run whose process died; default: the newest of the dag",
    )


def _positive(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number from 1, not {text!r}")
    return number


def _percent(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:4]) <= 100):
        raise argparse.ArgumentTypeError(f"must be a whole number from 1 to 100, not {text!r}")
    return int(text)


def _seconds(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number <= 1e6:
        raise argparse.ArgumentTypeError(f"must be a number of seconds, not {text!r}")
    return number


def _year(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 1970 <= int(text) <= 2199):
        raise argparse.ArgumentTypeError(f"must be a year from 1970 to 2199, not {text!r}")
    return int(text)
