"""The grid: tasks down, business dates across, in each cell a state by colour and letter.

One component for runs, for the plan of a backfill and for a backfill that is live. The rows are
names of tasks, ``dag.task`` where there are several dags; the columns are dates as ISO text, with
``#2`` or ``T06:00`` behind where a date has several. A cell is a state, or a state and what is to
be said about it, or nothing.
"""

from html import escape
from itertools import groupby

from mainspring._gridshape import Shape, shape
from mainspring._states import letter, tone
from mainspring._table import clip
from mainspring._theme import frame, legend_html, note_html, title_html

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from mainspring._gridshape import Cells, Column, Shown

__all__ = ["MOST_COLUMNS", "MOST_ROWS", "grid_body", "grid_html", "grid_text"]

MOST_ROWS, MOST_COLUMNS = 60, 400
"""Rows and columns that are shown one by one."""

MOST_TITLES = 4_000
"""Cells that get a title although nothing is to be said about them."""

FEW = 14
"""Columns that have room for a month and a day."""

QUIET = ("ok", "off")
"""Tones of what nobody looks for."""

CSS = (
    ".ms-view table.ms-g{border-collapse:separate;border-spacing:2px;margin:0;table-layout:auto;"
    "border:0;background:transparent;color:inherit;font-size:12px;width:auto}"
    ".ms-view table.ms-g tr:nth-child(n){background:transparent;border:0}"
    ".ms-view .ms-g td,.ms-view .ms-g th{padding:0;border:0;white-space:nowrap;max-width:none;"
    "vertical-align:middle}"
    ".ms-view .ms-g td{min-width:18px;height:18px;border-radius:3px;text-align:center;"
    "font:600 11px/18px ui-monospace,Menlo,Consolas,monospace;cursor:default}"
    ".ms-view .ms-g td.m-off{font-weight:400}.ms-view .ms-sum td{padding:0 3px}"
    ".ms-view .ms-g thead th{color:var(--m-dim);font-weight:400;text-align:center;font-size:11px;"
    "line-height:15px;background:var(--m-bg);border-radius:3px;padding:0 1px}"
    ".ms-view .ms-g thead th.m-month{text-align:left;max-width:0;overflow:visible;"
    "border-left:1px solid var(--m-line);border-radius:0;padding-left:3px}"
    ".ms-view .ms-g thead th.m-we{background:var(--m-soft);color:var(--m-fg)}"
    ".ms-view .ms-g tbody th{position:sticky;left:0;z-index:1;background:var(--m-bg);"
    "color:var(--m-fg);font-weight:400;text-align:left;padding-right:10px;max-width:260px;"
    "overflow:hidden;text-overflow:ellipsis}"
    ".ms-view .ms-g thead th:first-child{position:sticky;left:0;z-index:2}"
    ".ms-view .ms-g tbody th.m-dag{color:var(--m-dim);font-weight:600;padding-top:6px}"
    ".ms-view .ms-wide td{min-width:40px}"
)


def grid_html(
    rows: "Sequence[str]", columns: "Sequence[str]", cells: "Cells", *, title: str = "",
    legend: bool = True, notes: "Iterable[str]" = (), most_rows: int = MOST_ROWS,
    most_columns: int = MOST_COLUMNS,
) -> str:
    """Return a grid as HTML that needs nothing from elsewhere.

    Parameters
    ----------
    rows : sequence of str
        Tasks; ``dag.task`` puts those of one dag under a heading.
    columns : sequence of str
        Business dates as ISO text, in the order in which they are shown. Other text is shown as it
        is.
    cells : mapping or callable
        From row and column, ``cells[row, column]`` or ``cells(row, column)``, to a state, to
        ``(state, title)`` with what is shown when the pointer rests on the cell, or to None.
    title : str, optional
        Heading.
    legend : bool, default True
        Whether to say what the letters mean and how often each is there.
    notes : iterable of str, optional
        Remarks below.
    most_rows, most_columns : int, optional
        What is shown one by one. Beyond that tasks are shown by dag and dates by week, month or
        year, each with its worst state and how many have it; a remark says so.

    Examples
    --------
    >>> from mainspring._grid import grid_html
    >>> html = grid_html(["load"], ["2024-01-01"], {("load", "2024-01-01"): ("FAILED", "disk")})
    >>> '<td class="m-bad" title="disk">F</td>' in html
    True
    """
    made = shape(rows, columns, cells, most_rows=most_rows, most_columns=most_columns)
    return frame(grid_body(made, title=title, legend=legend, notes=notes), CSS)


def grid_body(made: Shape, *, title: str = "", legend: bool = True,
              notes: "Iterable[str]" = ()) -> "list[str]":
    """Return the parts of a grid without the frame, for a view that has more in it."""
    parts = [title_html(title)]
    if made.rows and made.columns:
        wide = len(made.columns) <= FEW and made.unit == "date"
        kind = " ms-wide" if wide else " ms-sum" if made.unit != "date" else ""
        parts.append(f'<div class="m-scroll"><table class="ms-g{kind}"><thead>')
        parts += _head(made.columns, made.unit, wide)
        parts.append("</thead><tbody>")
        parts += _body(made)
        parts.append("</tbody></table></div>")
        if legend:
            parts.append(legend_html(made.counts))
    else:
        parts.append(note_html("nothing to show"))
    parts += [note_html(note) for note in (*made.notes, *notes)]
    return parts


def _head(columns: "Sequence[Column]", unit: str, wide: bool) -> "Iterable[str]":
    for key, text, first in _levels(columns, unit, wide):
        yield "<tr><th></th>"
        for same, members in groupby(columns, key):
            group = list(members)
            span = f' colspan="{len(group)}"' if len(group) > 1 else ""
            weekend = not first and unit == "date" and group[0].day and group[0].day.weekday() > 4
            kind = ' class="m-month"' if first else ' class="m-we"' if weekend else ""
            name = escape(clip(group[0].label if len(group) == 1 else same, 80))
            yield f'<th{kind}{span} title="{name}">{escape(text(group))}</th>'
        yield "</tr>"


def _levels(columns: "Sequence[Column]", unit: str, wide: bool) -> "list[Any]":
    """The lines above the columns: what is the same in one, its text, whether it begins a part."""
    if any(each.day is None for each in columns):
        return [(lambda each: each.label, lambda group: clip(group[0].label, 24), False)]

    def year(each: "Column") -> str:
        return each.label[:4]

    def month(each: "Column") -> str:
        return each.label[:7]

    def date(each: "Column") -> str:
        return each.label[:10]

    levels: list[Any] = []
    if unit == "year":
        return [(year, lambda group: group[0].label[:4], False)]
    if wide or unit == "month":
        levels.append((year, lambda group: group[0].label[:4], True))
    if unit == "month":
        return [*levels, (month, lambda group: group[0].label[5:7], False)]
    if wide:
        levels.append((date, lambda group: group[0].label[5:10], False))
    else:
        levels.append((month, _month_text, True))
        levels.append((date, lambda group: group[0].label[8:10], False))
    if any(each.part for each in columns):
        levels.append((lambda each: each.label, lambda group: clip(group[0].part[:5], 5), False))
    return levels


def _month_text(group: "Sequence[Column]") -> str:
    """A month as long as there is room for it above its days."""
    label = group[0].label
    return label[:7] if len(group) > 2 else label[5:7]


def _body(made: Shape) -> "Iterable[str]":
    several = any(row.dag for row in made.rows)
    titled = len(made.rows) * len(made.columns) <= MOST_TITLES
    labels = [column.label for column in made.columns]
    before = ""
    for row, line in zip(made.rows, made.cells, strict=True):
        if several and row.dag != before:
            before = row.dag
            yield f'<tr><th class="m-dag" scope="rowgroup">{escape(clip(row.dag, 60))}</th></tr>'
        name = escape(clip(row.label, 200))
        yield f'<tr><th scope="row" title="{name}">{name}</th>'
        yield "".join([_cell(cell, label, titled)
                       for cell, label in zip(line, labels, strict=True)])
        yield "</tr>"


def _cell(cell: "Shown | None", label: str, titled: bool) -> str:
    if cell is None:
        return "<td></td>"
    state, title, number = cell
    text = title or (f"{label} {state}" if titled else "")
    said = f' title="{escape(clip(text, 200))}"' if text else ""
    look = tone(state)
    more = str(number) if number and look not in QUIET else ""  # what is good needs no number
    return f'<td class="m-{look}"{said}>{letter(state)}{more}</td>'


def grid_text(
    rows: "Sequence[str]", columns: "Sequence[str]", cells: "Cells", *, title: str = "",
    legend: bool = True, notes: "Iterable[str]" = (), most_rows: int = MOST_ROWS,
    most_columns: "int | None" = None, color: "bool | None" = None,
) -> str:
    """Return a grid as text: one letter a cell.

    Parameters
    ----------
    rows, columns, cells, title, legend, notes, most_rows
        As in :func:`grid_html`.
    most_columns : int, optional
        Columns that are shown one by one; by default what the terminal has room for.
    color : bool, optional
        Whether letters have colours; by default where the standard output is a terminal that shows
        them and ``NO_COLOR`` is not set.

    Examples
    --------
    >>> from mainspring._grid import grid_text
    >>> days = [f"2024-01-{day:02}" for day in range(29, 32)] + ["2024-02-01", "2024-02-02"]
    >>> cells = {("ods.load", day): "SUCCESS" for day in days} | {("ods.load", days[1]): "FAILED"}
    >>> print(grid_text(["ods.load", "ods.clean"], days, cells, title="orders", color=False))
    orders
              2024
              01 02
              23300
              90112
    ods
      load    SFSSS
      clean
    F FAILED 1   S SUCCESS 4
    """
    from mainspring._gridtext import text_of

    return text_of(rows, columns, cells, title=title, legend=legend, notes=notes,
                   most_rows=most_rows, most_columns=most_columns, color=color)
