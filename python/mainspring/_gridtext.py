"""The grid as text for a terminal: one letter a cell, dates written downwards."""

import sys

from mainspring._gridshape import Shape, shape
from mainspring._states import by_rank, letter, terminal_style
from mainspring._table import clip, pad, width

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mainspring._gridshape import Cells, Column

__all__ = ["text_of"]

MOST_NAME, NARROWEST = 40, 20
MOST_BLOCKS = 3
"""Blocks of columns below each other, before dates are shown by week."""


def text_of(
    rows: "Sequence[str]", columns: "Sequence[str]", cells: "Cells", *, title: str, legend: bool,
    notes: "Iterable[str]", most_rows: int, most_columns: "int | None", color: "bool | None",
) -> str:
    """Return a grid as text; see ``grid_text``."""
    if color is None:
        from mainspring.cli._console import colored

        color = colored(sys.stdout)
    names = [row.partition(".")[2] or row for row in rows[:most_rows]]
    span = min(MOST_NAME, max([width(name) for name in names], default=0)) + 4
    across = most_columns or max(NARROWEST, _terminal() - span - 1)
    blocks = 1 if most_columns else MOST_BLOCKS
    made = shape(rows, columns, cells, most_rows=most_rows, most_columns=across * blocks)
    lines = [title] if title else []
    if not made.rows or not made.columns:
        lines.append("nothing to show")
    else:
        several = any(row.dag for row in made.rows)
        labels = [("  " if row.dag else "") + _cut(row.label) for row in made.rows]
        span = max(width(label) for label in labels) + 3
        for first in range(0, len(made.columns), across):
            lines += _block(made, labels, span, range(first, min(first + across,
                            len(made.columns))), several, color)
        if legend:
            lines.append("   ".join(
                f"{_painted(letter(state), state, color)} {clip(state, 40)} {made.counts[state]:,}"
                for state in by_rank(made.counts)))
    return "\n".join([*(line.rstrip() for line in lines), *made.notes, *notes])


def _terminal() -> int:
    import shutil

    return shutil.get_terminal_size().columns


def _cut(text: str) -> str:
    from mainspring.cli._console import cut

    return cut(clip(text, 1000), MOST_NAME)


def _block(made: Shape, labels: "list[str]", span: int, part: "range", several: bool,
           color: bool) -> "list[str]":
    lines = [" " * span + head for head in _heads([made.columns[each] for each in part])]
    before = ""
    for row, label, cells in zip(made.rows, labels, made.cells, strict=True):
        if several and row.dag != before:
            before = row.dag
            lines.append(clip(row.dag, 60))
        shown = ["" if cell is None else cell.state for cell in (cells[each] for each in part)]
        lines.append(pad(label, span) + _letters(shown, color))
    return lines


def _letters(states: "Sequence[str]", color: bool) -> str:
    if not color:
        return "".join(letter(state) if state else " " for state in states)
    parts, start = [], 0
    for end in range(1, len(states) + 1):  # one style for neighbours of one state
        if end == len(states) or states[end] != states[start]:
            state, number = states[start], end - start
            parts.append(_painted(letter(state) * number, state, True) if state else " " * number)
            start = end
    return "".join(parts)


def _painted(text: str, state: str, color: bool) -> str:
    return f"\x1b[{terminal_style(state)}m{text}\x1b[0m" if color else text


def _heads(columns: "Sequence[Column]") -> "list[str]":
    """The dates: year and month where they begin and have room, days of the month downwards."""
    if any(each.day is None for each in columns):
        texts = [clip(each.label, 12) for each in columns]
        height = max(len(text) for text in texts)
        return ["".join(text.rjust(height)[line] for text in texts) for line in range(height)]
    day = ["".join(each.label[8 + place:9 + place] or " " for each in columns) for place in (0, 1)]
    lines = [_begins(columns, slice(0, 4)), _begins(columns, slice(0, 7)), *day]
    part = "".join(each.part[:1] or " " for each in columns)
    return [line for line in (*lines, part) if line.strip()]


def _begins(columns: "Sequence[Column]", cut: slice) -> str:
    """What begins at a column, above it, where it fits before the next beginning."""
    line = [" "] * (len(columns) + 4)
    starts = [number for number, each in enumerate(columns)
              if each.label[cut] != (columns[number - 1].label[cut] if number else "")]
    for number, start in enumerate(starts):
        text = columns[start].label[cut]
        text = text[-2:] if len(text) == 7 else text
        room = (starts[number + 1] if number + 1 < len(starts) else len(line)) - start
        if len(text) <= room:
            line[start:start + len(text)] = text
    return "".join(line)
