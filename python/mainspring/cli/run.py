"""``mainspring run``."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any

from mainspring._time import readable
from mainspring.cli._console import Console, clean
from mainspring.cli._load import check_dag, dag_of_run, named_dag
from mainspring.cli._outcome import Outcome, exit_code, read_outcome, show_outcome, show_range
from mainspring.cli._params import read_params
from mainspring.cli._settings import apply_pools, history_of, run_of, settings_of
from mainspring.cli._stop import Stop
from mainspring.cli.runs import iso_date
from mainspring.errors import SpecError

if TYPE_CHECKING:
    from mainspring._dag import Dag
    from mainspring._run import Run

__all__ = ["run"]

MOST_DAYS = 3660


def run(options: argparse.Namespace, console: Console) -> int:
    """Run a dag here and now, show how it goes, and end with a table."""
    if options.resume is not None:
        return _resume(options, console)
    if options.target is None:
        raise Stop("which dag?", "mainspring run DAG, or FILE, or FILE:DAG", 2)
    days = _days(options)
    if options.slot is not None and days == [None]:
        raise Stop("--slot is one of a business date", "give --biz-date too", 2)
    if options.slot is not None and options.nominal_at is not None:
        raise Stop("--slot and --nominal-at both name the instant", "give one of them", 2)
    at = None if options.nominal_at is None else _instant(options, several=len(days) > 1)
    settings = settings_of(options, console)
    dag, file = named_dag(settings, options.target, console)
    _use_database(dag, options)
    checked = check_dag(dag, file)
    if checked.definition is None:
        raise SpecError(list(checked.problems))
    params = read_params(options.param, checked.definition)
    only = None if options.only is None else _names(options.only)

    apply_pools(settings, dag.database)
    outcomes: list[Outcome] = []
    for number, day in enumerate(days, 1):
        made = dag.run(day, nominal_at=at, slot=options.slot, params=params or None, only=only,
                       force=options.force, wait=False)
        outcomes.append(wait_for(made, console))
        if outcomes[-1].code and number < len(days) and not options.keep_going:
            left = len(days) - number
            console.note(f"{left} more days were not run; --keep-going runs them all the same")
            break
    return finish(outcomes, console, several=len(days) > 1, only=only)


def wait_for(made: Run, console: Console) -> Outcome:
    """Wait for a run with progress; after Ctrl-C say how far it came, and pass it on."""
    from mainspring._session import history

    try:
        made.wait(progress=True)
    except KeyboardInterrupt:
        outcome = read_outcome(history(made.database), made.id)
        show_outcome(outcome, console)
        console.document({"runs": [outcome.document()], "exit_code": 130})
        raise
    return read_outcome(history(made.database), made.id)


def finish(
    outcomes: list[Outcome],
    console: Console,
    *,
    several: bool = False,
    only: list[str] | None = None,
) -> int:
    """Show how runs ended and give the exit code."""
    if several:
        show_range(outcomes, console)
    else:
        show_outcome(outcomes[0], console, only=only)
    code = exit_code(outcomes)
    console.document({"runs": [each.document() for each in outcomes], "exit_code": code})
    return code


def _days(options: argparse.Namespace) -> list[str | None]:
    if options.first is None and options.last is None:
        return [None if options.biz_date is None else iso_date(options.biz_date, "--biz-date")]
    if options.biz_date is not None:
        raise Stop("--biz-date is one day, --from and --to are several", "give one of them", 2)
    if options.first is None or options.last is None:
        raise Stop("--from and --to belong together", None, 2)
    first = date.fromisoformat(iso_date(options.first, "--from"))
    last = date.fromisoformat(iso_date(options.last, "--to"))
    if first > last:
        raise Stop(f"--from {first} is after --to {last}", None, 2)
    if (last - first).days >= MOST_DAYS:
        raise Stop(f"--from {first} --to {last} are more than {MOST_DAYS} days", None, 2)
    return list(_each_day(first, last))


def _instant(options: argparse.Namespace, *, several: bool) -> datetime:
    """The instant of ``--nominal-at``, which one run has."""
    if several:
        raise Stop("--nominal-at is one instant, --from and --to are several days", None, 2)
    return instant_of(options.nominal_at)


def instant_of(text: str) -> datetime:
    """The instant that ``--nominal-at`` names."""
    try:
        at = datetime.fromisoformat(readable(text))
    except ValueError:
        at = None
    if at is None or at.tzinfo is None:
        hint = "an instant has a zone: 2013-01-15T02:30:00Z, or 2013-01-15T02:30:00-05:00"
        raise Stop(f"--nominal-at is no instant: {clean(text)!r}", hint, 2)
    return at


def _each_day(first: date, last: date) -> Iterator[str]:
    for number in range((last - first).days + 1):
        yield (first + timedelta(days=number)).isoformat()


def _names(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise Stop("--only names no task", "--only extract,clean", 2)
    return names


def _resume(options: argparse.Namespace, console: Console) -> int:
    target, which = options.target, options.resume
    if target is None and which != "last" and not which.isdigit():
        target, which = which, "last"  # 'run --resume flights'
    for value, option in (
        (options.biz_date, "--biz-date"),
        (options.nominal_at, "--nominal-at"),
        (options.first, "--from"),
        (options.last, "--to"),
        (options.only, "--only"),
        (options.param or None, "--param"),
        (options.force or None, "--force"),
    ):
        if value is not None:
            raise Stop(f"{option} does not go with --resume", "the run has its own", 2)
    settings = settings_of(options, console)
    dag = None
    if target is not None:
        dag, _ = named_dag(settings, target, console)
        _use_database(dag, options)
    history = history_of(settings, None if dag is None else dag.database)
    record = _interrupted(history, which, None if dag is None else dag.name)
    if dag is None:
        dag = dag_of_run(settings, history, record, console)
    elif dag.name != record["dag"]:
        raise Stop(f"run {record['id']} is one of dag {clean(record['dag'])!r}", None, 2)
    apply_pools(settings, dag.database)
    return finish([wait_for(dag.resume(record["id"], wait=False), console)], console)


def _interrupted(history: Any, which: str, dag: str | None) -> Any:
    if which == "last":
        for record in history.runs(dag=dag, limit=1000):
            if record["state"] == "INTERRUPTED":
                return record
        whose = f" of {clean(dag)!r}" if dag else ""
        raise Stop(f"no run{whose} was interrupted", "'mainspring runs' lists what there is")
    record = run_of(history, which)
    if record["state"] != "INTERRUPTED":
        live = record["state"] == "RUNNING"
        message = f"run {record['id']} is {record['state']}, so there is nothing to resume"
        hint = "it is running in another process" if live else f"mainspring rerun {record['id']}"
        raise Stop(message, hint)
    return record


def _use_database(dag: Dag, options: argparse.Namespace) -> None:
    """``--database`` wins over what the file says of its dag."""
    if options.database is not None:
        dag.database = None
