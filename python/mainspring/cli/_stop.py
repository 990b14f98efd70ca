"""Ending a command with a message, and problems as data."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from mainspring.cli._console import clean, clean_block

if TYPE_CHECKING:
    from mainspring.cli._console import Console
    from mainspring.errors import Problem

__all__ = ["Stop", "as_dict", "nearest", "show_problems"]


class Stop(Exception):
    """End the command here: a message, what to do, and the exit code."""

    def __init__(self, message: str, hint: str | None = None, code: int = 1) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.code = code


def as_dict(problem: Problem) -> dict[str, Any]:
    """A problem as programs read it."""
    return {
        "code": problem.code,
        "place": problem.place,
        "message": problem.message,
        "hint": problem.hint,
    }


def show_problems(problems: Iterable[Problem], console: Console) -> None:
    """Print problems as messages."""
    for problem in problems:
        place = f"{clean(problem.place)}: " if problem.place else ""
        hint = clean_block(problem.hint) if problem.hint else None
        console.error(f"{place}{clean_block(problem.message)} [{problem.code}]", hint)


def nearest(word: str, known: Iterable[str]) -> str | None:
    """A hint with the known word that is most like this one."""
    from difflib import get_close_matches

    words = list(dict.fromkeys(known))
    near = get_close_matches(word, words, n=1)
    if near:
        return f"did you mean {near[0]!r}?"
    if not words:
        return None
    shown = ", ".join(sorted(words)[:8])
    return f"there are: {shown}{', ...' if len(words) > 8 else ''}"
