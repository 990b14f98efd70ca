"""What is shown of a grid: which rows, which columns, and what stands for those that are not."""

from collections import Counter
from datetime import date
from functools import partial
from itertools import groupby
from typing import NamedTuple

from mainspring._states import rank, worst
from mainspring._table import counted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import TypeAlias

    Cell: TypeAlias = str | tuple[str, str] | None
    Cells: TypeAlias = Mapping[tuple[str, str], Cell] | Callable[[str, str], Cell]

__all__ = ["Column", "Row", "Shape", "Shown", "shape"]

MOST_SHOWN = 6_000
"""Cells that are shown one by one, whatever the numbers of rows and columns."""

UNITS = ("week", "month", "year")


class Column(NamedTuple):
    """One column: a business date, or several of them together."""

    label: str
    """As it was given, or what stands for several."""
    day: "date | None"
    """The date; the first of several."""
    part: str
    """What follows the date: a slot, a time."""
    members: "tuple[int, ...]"
    """Which of the given columns it stands for."""


class Row(NamedTuple):
    """One row: a task, or all tasks of a dag."""

    label: str
    dag: str
    members: "tuple[str, ...]"
    """Which of the given rows it stands for."""


class Shown(NamedTuple):
    """One cell, or several together with the worst state of them."""

    state: str
    title: str
    number: int = 0
    """How many of several cells have the state; 0 for a cell by itself."""


class Shape(NamedTuple):
    """A grid as it is shown."""

    rows: "list[Row]"
    columns: "list[Column]"
    cells: "list[list[Shown | None]]"
    unit: str
    """What a column stands for: ``date``, or ``week``, ``month``, ``year``."""
    counts: "Counter[str]"
    """How many of the given cells are in each state, also of those that are not shown."""
    notes: "list[str]"
    """What is not shown one by one."""


def shape(
    rows: "Sequence[str]", columns: "Sequence[str]", cells: "Cells", *, most_rows: int,
    most_columns: int, most_shown: int = MOST_SHOWN,
) -> Shape:
    """Return what is shown of a grid.

    Examples
    --------
    >>> from mainspring._gridshape import shape
    >>> days = [f"2024-01-{day:02}" for day in range(1, 32)]
    >>> made = shape(["load"], days, lambda row, day: "FAILED" if day[-1] == "7" else "SUCCESS",
    ...              most_rows=10, most_columns=10)
    >>> made.unit, [cell.state for cell in made.cells[0]], made.notes
    ('week', ['FAILED', 'SUCCESS', 'FAILED', 'FAILED', 'SUCCESS'], ['31 dates shown by week'])
    """
    read = _reader(cells)
    found = [Row(*_named(row), (row,)) for row in rows]
    order = {dag: number for number, dag in enumerate(dict.fromkeys(row.dag for row in found))}
    found.sort(key=lambda row: order[row.dag])  # tasks of one dag are beside each other
    counts: Counter[str] = Counter()
    notes: list[str] = []
    shown = found
    if len(found) > most_rows:
        dags = [Row(dag, dag, tuple(row.members[0] for row in members))
                for dag, members in groupby(found, lambda row: row.dag)]
        if 1 < len(dags) <= most_rows:
            shown = [row._replace(dag="") for row in dags]
            notes.append(f"{counted(len(found), 'task')} shown by dag")
    made, unit = _columns(columns, min(most_columns, max(1, most_shown // max(
        1, min(len(shown), most_rows)))))
    table = [_line(row, made, columns, read, counts) for row in shown]
    if len(shown) > most_rows:
        shown, table, note = _fewer(shown, table, most_rows)
        notes.append(note)
    if unit not in ("date", ""):
        notes.append(f"{counted(len(columns), 'date')} shown by {unit}")
    hidden = len(columns) - sum(len(column.members) for column in made)
    if hidden:
        notes.append(f"... {hidden:,} more columns")
    return Shape(shown, made, table, unit or "date", counts, notes)


def _reader(cells: "Cells") -> "Callable[[str, str], Cell]":
    if callable(cells):
        return cells
    get = cells.get
    return lambda row, column: get((row, column))


def _named(row: str) -> "tuple[str, str]":
    """The label of a row and its dag: ``dag.task`` has both."""
    dag, dot, task = row.partition(".")
    return (task, dag) if dot and dag and task else (row, "")


def _line(row: Row, made: "list[Column]", columns: "Sequence[str]",
          read: "Callable[[str, str], Cell]", counts: "Counter[str]") -> "list[Shown | None]":
    single = len(row.members) == 1
    line: list[Shown | None] = []
    for column in made:
        if single and len(column.members) == 1:
            cell = read(row.members[0], columns[column.members[0]])
            if cell is None:
                line.append(None)
                continue
            state, title = (cell, "") if isinstance(cell, str) else cell
            counts[state] += 1
            line.append(Shown(state, title))
        else:
            line.append(_together(row, column, columns, read, counts))
    return line


def _together(row: Row, column: Column, columns: "Sequence[str]",
              read: "Callable[[str, str], Cell]", counts: "Counter[str]") -> "Shown | None":
    labels = [columns[number] for number in column.members]
    cells = [read(name, label) for name in row.members for label in labels]
    here = Counter([cell if isinstance(cell, str) else cell[0]
                    for cell in cells if cell is not None])
    if not here:
        return None
    counts.update(here)
    bad = worst(here)
    told = ", ".join(f"{here[state]:,} {state}" for state in sorted(here, key=rank))
    return Shown(bad, f"{column.label}: {told}", here[bad])


def _fewer(rows: "list[Row]", table: "list[list[Shown | None]]",
           most: int) -> "tuple[list[Row], list[list[Shown | None]], str]":
    """Keep the rows that somebody looks for, in their order: those with the worst cells."""
    ranks = [min((rank(cell.state) for cell in line if cell), default=99.0) for line in table]
    kept = sorted(sorted(range(len(rows)), key=ranks.__getitem__)[:most])
    left = Counter(cell.state for number, line in enumerate(table) if number not in set(kept)
                   for cell in line if cell)
    told = ", ".join(f"{left[state]:,} {state}" for state in sorted(left, key=rank)[:4])
    note = f"... {counted(len(rows) - most, 'more row')}" + (f" ({told})" if told else "")
    return [rows[number] for number in kept], [table[number] for number in kept], note


def _columns(columns: "Sequence[str]", most: int) -> "tuple[list[Column], str]":
    made = [_column(text, number) for number, text in enumerate(columns)]
    if len(made) <= most:
        return made, "date"
    if any(column.day is None for column in made):
        return made[:most], ""
    for unit in UNITS:
        groups = [list(each) for _, each in groupby(made, partial(_bucket, unit))]
        if len(groups) <= most:
            return [_joined(group, unit) for group in groups], unit
    return [_joined(group, "year") for group in groups[:most]], "year"


def _column(text: str, number: int) -> Column:
    try:
        day = date.fromisoformat(text[:10]) if text[4:5] == "-" else None
    except ValueError:
        day = None
    if day is None:
        return Column(text, None, "", (number,))
    return Column(text, day, text[10:].strip(" T#"), (number,))


def _bucket(unit: str, column: Column) -> "tuple[int, ...]":
    day = column.day
    if day is None:
        return ()
    if unit == "week":
        return day.isocalendar()[:2]
    return (day.year, day.month) if unit == "month" else (day.year,)


def _joined(group: "list[Column]", unit: str) -> Column:
    first, last = group[0], group[-1]
    label = f"{first.label[:10]} to {last.label[:10]}"
    if unit != "week":
        label = first.label[:7 if unit == "month" else 4]
    return Column(label, first.day, "", tuple(each.members[0] for each in group))
