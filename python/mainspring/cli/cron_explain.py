"""``mainspring cron explain``."""

from __future__ import annotations

import argparse
from importlib import import_module

from mainspring import _mainspring as core
from mainspring._moment import text_of
from mainspring.cli._console import Console, clean
from mainspring.cli._cron_fields import fields_of
from mainspring.cli._cron_lints import lints
from mainspring.cli._stop import as_dict

__all__ = ["run"]

LANGUAGES = {"en": "_cron_english", "zh": "_cron_chinese"}


def run(options: argparse.Namespace, console: Console) -> int:
    """Print an expression in words, and what in it is probably not meant."""
    rule = core.Rule.cron(text_of("cron", options.expression), "UTC")
    fields = fields_of(rule)
    words = import_module(f"mainspring.cli.{LANGUAGES[options.lang]}").sentence(fields)
    found = lints(rule, options.expression, fields, options.lang)

    console.line(console.paint(words, "bold"))
    console.line(f"  {rule.dialect}: {clean(rule.canonical)}")
    for problem in found:
        console.line(f"{problem.place}: {problem.message} [{problem.code}]")
        if problem.hint:
            console.line(f"  hint: {clean(problem.hint)}")
    console.document({
        "expression": options.expression,
        "canonical": rule.canonical,
        "dialect": rule.dialect,
        "lang": options.lang,
        "words": words,
        "lints": [as_dict(problem) for problem in found],
    })
    return 0
