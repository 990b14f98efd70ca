"""What ``check`` says of the schedules of dags that are legal and probably not meant."""

from __future__ import annotations

import io
import tokenize
from ast import literal_eval
from collections.abc import Iterable, Iterator
from pathlib import Path

from mainspring import _mainspring as core
from mainspring.cli._cron_fields import fields_of
from mainspring.cli._cron_lints import lints
from mainspring.cli._load import Checked
from mainspring.errors import Problem

__all__ = ["schedule_lints"]

# Matters of taste, and what is only surprising to some, stay with ``cron explain``.
SERIOUS = {"every_second", "every_minute", "every_hour", "comment_contradicts", "over"}


def schedule_lints(checked: Iterable[Checked]) -> Iterator[Problem]:
    """The lints of all cron schedules of dags that are well otherwise."""
    from mainspring._project import shown_path

    for item in checked:
        written = None
        for schedule in (item.definition or {}).get("schedules", []):
            when = schedule["rule"]
            text = when["expression"]
            rule = core.Rule.written(text, when["timezone"], when.get("start_date"))
            if rule.kind != "cron":
                continue
            written = _strings(item.file) if written is None else written
            lines = written.get(text, [])
            line, comment = lines[0] if len(lines) == 1 else (lines[0][0] if lines else 0, "")
            fields = fields_of(rule)
            for found in lints(rule, text, fields, "en", comment):
                # Whoever writes six fields in Python may well have learnt the numbers of five.
                if found.code in SERIOUS or (found.code == "weekday_numbers" and fields.quartz):
                    place = f"{shown_path(item.file)}:{line}" if line else shown_path(item.file)
                    message = f"schedule {text!r} of {item.name}: {found.message}"
                    yield Problem(found.code, place, message, found.hint)


def _strings(file: Path) -> dict[str, list[tuple[int, str]]]:
    """The texts of a file, each with its line and the comment behind it on that line."""
    found: dict[str, list[tuple[int, str]]] = {}
    comments: dict[int, str] = {}
    try:
        with tokenize.open(file) as source:
            tokens = list(tokenize.generate_tokens(io.StringIO(source.read()).readline))
    except (OSError, SyntaxError, UnicodeDecodeError, tokenize.TokenError):
        return {}
    for token in tokens:
        if token.type == tokenize.COMMENT:
            comments[token.start[0]] = token.string.lstrip("# ")
    for token in tokens:
        if token.type == tokenize.STRING and "f" not in token.string[:2].lower():
            try:
                value = literal_eval(token.string)
            except (ValueError, SyntaxError):
                continue
            if isinstance(value, str):
                line = token.end[0]
                found.setdefault(value, []).append((line, comments.get(line, "")))
    return found
