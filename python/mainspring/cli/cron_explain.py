"""``mainspring cron explain``."""

from __future__ import annotations

import argparse

from mainspring import _mainspring as core
from mainspring._moment import text_of
from mainspring.cli._console import Console, clean
from mainspring.cli._cron_comments import split
from mainspring.cli._cron_fields import fields_of
from mainspring.cli._cron_lints import lints, sentence
from mainspring.cli._stop import as_dict

__all__ = ["run"]


def run(options: argparse.Namespace, console: Console) -> int:
    """Print an expression in words, and what in it is probably not meant."""
    expression, comment = split(text_of("cron", options.expression))
    rule = core.Rule.cron(expression, "UTC")
    fields = fields_of(rule)
    words = sentence(fields, options.lang)
    found = lints(rule, expression, fields, options.lang, comment)

    console.line(console.paint(words, "bold"))
    console.line(f"  {rule.dialect}: {clean(rule.canonical)}")
    for problem in found:
        console.line(f"{problem.place}: {clean(problem.message)} [{problem.code}]")
        if problem.hint:
            console.line(f"  hint: {clean(problem.hint)}")
    console.document({
        "expression": expression,
        "comment": comment or None,
        "canonical": rule.canonical,
        "dialect": rule.dialect,
        "lang": options.lang,
        "words": words,
        "lints": [as_dict(problem) for problem in found],
    })
    return 0
