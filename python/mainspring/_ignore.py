"""The lines of an ignore file, read as git reads those of ``.gitignore``.

What is understood: blank lines and ``#`` comments; ``!`` takes back; a ``/`` at the end means
folders only; a ``/`` elsewhere ties the pattern to the file's own folder; ``*``, ``?`` and
``[...]`` stay within a name; ``**/``, ``/**/`` and ``/**`` span folders; a backslash takes the
meaning from the next character. The last line that fits decides. What is in an ignored folder
cannot be taken back, because nobody looks into it. Named classes (``[[:alpha:]]``) are not read.
"""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["Rule", "ignored", "parse"]

NEVER = "(?!)"


class Rule(NamedTuple):
    """A line of an ignore file in the folder `base`, which ends with a slash."""

    base: str
    fits: re.Pattern[str]
    keeps: bool
    folders_only: bool


def parse(text: str, base: str) -> list[Rule]:
    """The rules of an ignore file in the folder `base`."""
    return [rule for line in text.splitlines() if (rule := _rule(line, base)) is not None]


def ignored(path: str, rules: list[Rule], *, folder: bool) -> bool:
    """Whether the last rule that fits a path leaves it out.

    Examples
    --------
    >>> rules = parse("*.py" + chr(10) + "!keep.py", "/dags/")
    >>> [ignored(f"/dags/{name}", rules, folder=False) for name in ("a.py", "keep.py")]
    [True, False]
    """
    for rule in reversed(rules):
        if rule.folders_only and not folder:
            continue
        if path.startswith(rule.base) and rule.fits.fullmatch(path, len(rule.base)):
            return not rule.keeps
    return False


def _rule(line: str, base: str) -> Rule | None:
    line = re.sub(r"(?<!\\)((?:\\\\)*) +$", r"\1", line)
    if not line or line.startswith("#"):
        return None
    keeps = line.startswith("!")
    glob = line[1:] if keeps else line
    folders_only = glob.endswith("/")
    glob = glob[:-1] if folders_only else glob
    if not glob:
        return None
    pattern = _pattern(glob.removeprefix("/"))
    tied = "/" in glob
    fits = re.compile(pattern if tied else f"(?:.*/)?{pattern}", re.DOTALL)
    return Rule(base if base.endswith("/") else f"{base}/", fits, keeps, folders_only)


def _pattern(glob: str) -> str:
    parts, at = [], 0
    while at < len(glob):
        letter = glob[at]
        stars = len(glob) - at - len(glob[at:].lstrip("*"))
        spans = stars > 1 and (at == 0 or glob[at - 1] == "/")
        if spans and glob[at + stars : at + stars + 1] == "/":
            parts.append("(?:.*/)?")
            at += stars + 1
        elif spans and at + stars == len(glob):
            parts.append(".+")
            at += stars
        elif letter == "*":
            parts.append("[^/]*")
            at += 1
        elif letter == "?":
            parts.append("[^/]")
            at += 1
        elif letter == "[":
            text, at = _class(glob, at)
            parts.append(text)
        elif letter == "\\":
            parts.append(re.escape(glob[at + 1]) if at + 1 < len(glob) else NEVER)
            at += 2
        else:
            parts.append(re.escape(letter))
            at += 1
    return "".join(parts)


def _class(glob: str, at: int) -> tuple[str, int]:
    """``[...]`` as a regular expression, and where it ends; one that never ends fits nothing."""
    at += 1
    negated = glob[at : at + 1] in ("!", "^")
    at += negated
    items: list[str] = []
    first = True
    while at < len(glob) and (first or glob[at] != "]"):
        first = False
        low, at = _letter(glob, at)
        if glob[at : at + 1] == "-" and glob[at + 1 : at + 2] not in ("", "]"):
            high, at = _letter(glob, at + 1)
            if low <= high:
                items.append(f"{re.escape(low)}-{re.escape(high)}")
        else:
            items.append(re.escape(low))
    if at >= len(glob):
        return NEVER, at
    if not items:
        return ("[^/]" if negated else NEVER), at + 1
    return f"(?!/)[{'^' if negated else ''}{''.join(items)}]", at + 1


def _letter(glob: str, at: int) -> tuple[str, int]:
    if glob[at] == "\\" and at + 1 < len(glob):
        return glob[at + 1], at + 2
    return glob[at], at + 1
