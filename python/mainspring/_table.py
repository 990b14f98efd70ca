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


def shown_duration(delta: "timedelta | None") -> str:
    """Return a duration in the unit that people would use.

    Examples
    --------
    >>> from datetime import timedelta
    >>> from mainspring._table import shown_duration
    >>> [shown_duration(timedelta(seconds=s)) for s in (0.0123, 2.5, 90, 7260)]
    ['12ms', '2.5s', '1m30s', '2h01m']
    """
    if delta is None:
        return ""
    seconds = delta.total_seconds()
    if seconds < 1:
        return f"{int(seconds * 1000)}ms"
    if seconds < 60:
        return f"{seconds:.1f}s"
    minutes, rest = divmod(int(seconds), 60)
    if minutes < 60:
        return f"{minutes}m{rest:02d}s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h{minutes:02d}m"


def text_table(head: "Sequence[str]", rows: "Sequence[Sequence[Any]]") -> str:
    """Return an aligned table; the last column is cut where a line would be too long."""
    cells = [[clip(cell, 60) for cell in row] for row in rows[:MOST_ROWS]]
    widths = [max(len(line[i]) for line in [list(head), *cells]) for i in range(len(head))]
    lines = ["  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)).rstrip()
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
