"""Small tables of text and of HTML, from the same rows."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import timedelta
    from typing import Any

MOST_ROWS = 60
"""Rows that are shown; of further ones only the number is."""


def clip(text: "Any", width: int) -> str:
    """Return one line of at most ``width`` characters, without control characters."""
    line = "".join(c if c.isprintable() else " " for c in str("" if text is None else text))
    return line if len(line) <= width else line[: width - 3] + "..."


def width(text: str) -> int:
    """Columns that a text takes in a fixed-width font; Chinese letters take two, accents none."""
    if text.isascii():
        return len(text)
    import unicodedata

    columns = 0
    for letter in text:
        if unicodedata.category(letter) in ("Mn", "Me", "Cf"):
            continue
        columns += 2 if unicodedata.east_asian_width(letter) in "WF" else 1
    return columns


def pad(text: str, columns: int) -> str:
    """Return the text with spaces up to this many columns."""
    return text + " " * (columns - width(text))


def duration(seconds: "float | None", none: str = "-") -> str:
    """Return a duration in the unit that people would use, to the digits that matter.

    Examples
    --------
    >>> from mainspring._table import duration
    >>> [duration(seconds) for seconds in (0.0123, 0.5, 59.99, 7260, None)]
    ['12ms', '0.5s', '1m 00s', '2h 01m', '-']
    """
    if seconds is None:
        return none
    if seconds < 0.0995:
        return f"{seconds * 1000:.0f}ms"
    if seconds < 59.95:
        return f"{seconds:.1f}s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60}m {whole % 60:02}s"
    return f"{whole // 3600}h {whole % 3600 // 60:02}m"


def shown_duration(delta: "timedelta | None") -> str:
    """Return a timedelta as :func:`duration` does; nothing for none."""
    return duration(None if delta is None else delta.total_seconds(), "")


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: ``1 run``, ``2 runs``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def text_table(head: "Sequence[str]", rows: "Sequence[Sequence[Any]]") -> str:
    """Return an aligned table; long cells are cut, and of many rows only the first are shown."""
    cells = [[clip(cell, 60) for cell in row] for row in rows[:MOST_ROWS]]
    widths = [max(width(line[i]) for line in [list(head), *cells]) for i in range(len(head))]
    lines = ["  ".join(pad(c, w) for c, w in zip(line, widths, strict=True)).rstrip()
             for line in [list(head), *cells]]
    if len(rows) > MOST_ROWS:
        lines.append(f"... {len(rows) - MOST_ROWS} more")
    return "\n".join(lines)


def html_table(title: str, head: "Sequence[str]", rows: "Sequence[Sequence[Any]]") -> str:
    """Return an escaped table that takes its colours from the page around it."""
    from html import escape

    cell = "padding:2px 10px;text-align:left;border-bottom:1px solid rgba(128,128,128,.3)"
    parts = [f'<div style="font-size:90%"><div style="margin:4px 0">{escape(title)}</div>'
             '<table style="border-collapse:collapse;background:transparent;color:inherit"><tr>']
    parts += [f'<th style="{cell}">{escape(name)}</th>' for name in head]
    parts.append("</tr>")
    for row in rows[:MOST_ROWS]:
        parts.append('<tr style="background:transparent">')
        parts += [f'<td style="{cell}">{escape(clip(value, 200))}</td>' for value in row]
        parts.append("</tr>")
    parts.append("</table>")
    if len(rows) > MOST_ROWS:
        parts.append(f"<div>... {len(rows) - MOST_ROWS} more</div>")
    parts.append("</div>")
    return "".join(parts)
