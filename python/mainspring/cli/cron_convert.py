"""``mainspring cron convert``."""

from __future__ import annotations

import argparse

from mainspring import _mainspring as core
from mainspring._moment import text_of
from mainspring.cli._console import Console
from mainspring.cli._cron_fields import Fields, fields_of
from mainspring.errors import Problem, SpecError

__all__ = ["run"]


def run(options: argparse.Namespace, console: Console) -> int:
    """Print the expression in the other dialect, or say why there is none."""
    rule = core.Rule.cron(text_of("cron", options.expression), "UTC")
    made = rule.canonical
    if rule.dialect != options.to:
        fields = fields_of(rule)
        made = _quartz(fields, made) if options.to == "quartz" else _unix(fields, made)
        # What follows from the text has to follow from the sets too.
        if not core.Rule.cron(made, "UTC").same_times(rule):
            raise _refusal("there is no expression that says exactly the same", None)
    console.line(made)
    if options.to == "unix" and any(letter in made.split()[2] for letter in "LW"):
        console.note("L and W are read by mainspring and Airflow, and not by crond")
    elif options.to == "unix" and any(letter in made.split()[4] for letter in "#L"):
        console.note("L and # are read by mainspring and Airflow, and not by crond")
    console.document({"expression": options.expression, "from": rule.dialect, "to": options.to,
                      "converted": made})
    return 0


def _quartz(fields: Fields, canonical: str) -> str:
    minute, hour, month_day, month, week_day = canonical.split()
    if fields.month_days is not None and fields.week_days is not None:
        what = "either of its day fields" if fields.either else "both of its day fields"
        raise _refusal(
            f"it fires on days that match {what}, and Quartz lets only one of them restrict",
            "make two schedules of it, one for each day field" if fields.either else None,
        )
    if fields.week_days is None:
        return f"0 {minute} {hour} {month_day} {month} ?"
    return f"0 {minute} {hour} ? {month} {week_day}"


def _unix(fields: Fields, canonical: str) -> str:
    if fields.seconds != [0]:
        raise _refusal("it fires at seconds other than 0, and Unix cron has only minutes",
                       "leave the seconds to the task, or keep the expression")
    if fields.years is not None:
        raise _refusal("it is limited to years, and Unix cron knows none",
                       "give the schedule a start_date and an end_date")
    words = canonical.split()[1:]
    return " ".join("*" if word == "?" else word for word in words)


def _refusal(message: str, hint: str | None) -> SpecError:
    return SpecError(Problem("no_equivalent", "cron", message, hint))
