"""The Gantt chart of a run: tasks down, time across, each attempt a bar."""

import time
from typing import NamedTuple

from mainspring._states import letter, worst
from mainspring._table import clip, counted, duration, pad, shown_duration, width
from mainspring._theme import frame, legend_html, note_html, title_html

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mainspring._run import Run
    from mainspring._taskrun import Attempt, TaskRun

__all__ = ["Bar", "Gantt", "Row"]

MOST_ROWS = 80
"""Tasks that are drawn."""

ACROSS = 60
"""Letters across the text form."""


class Bar(NamedTuple):
    """An attempt, or all items of a mapped task together; seconds since 1970 in UTC."""

    begin: float
    end: float
    state: str
    title: str
    label: str = ""


class Row(NamedTuple):
    """What is drawn of a task."""

    task: str
    state: str
    ready: "float | None"
    """When it could have begun."""
    bars: "list[Bar]"
    note: str
    """Shown where it has no bar: what it waits for."""

    @property
    def begin(self) -> float:
        """When anything of it happened first."""
        first = self.bars[0].begin if self.bars else float("inf")
        return first if self.ready is None else min(first, self.ready)

    @property
    def busy(self) -> float:
        """How long its attempts took."""
        return sum(bar.end - bar.begin for bar in self.bars)


class Gantt:
    """The Gantt chart of a run; ``run.gantt()`` makes it.

    In a notebook it is a picture; ``print`` shows it with letters. Of a live run it is what held
    when it was made.
    """

    def __init__(self, run: "Run", now: "float | None" = None) -> None:
        self.now = time.time() if now is None else now
        self.zone = run.timezone
        self.title = run._title()
        self.counts = run.counts
        rows = list(_rows(run, self.now))
        self.left = max(0, len(rows) - MOST_ROWS)
        if self.left:  # those that somebody looks for: bad ones, and what took long
            rows.sort(key=lambda row: (row.state in ("SUCCESS", "SKIPPED"), -row.busy))
            del rows[MOST_ROWS:]
        rows.sort(key=lambda row: row.begin)  # a stable sort: then as in the dag
        self.rows = rows

    def __repr__(self) -> str:
        spans = [(row.begin, row.bars[-1].end) for row in self.rows if row.bars]
        if not spans:
            return f"{self.title}\nnothing has run"
        first, last = min(span[0] for span in spans), max(span[1] for span in spans)
        scale = (ACROSS - 1) / max(last - first, 0.001)
        names = [clip(row.task, 30) for row in self.rows]
        room = max(width(name) for name in names)
        lines = [f"{self.title}"]
        for row, name in zip(self.rows, names, strict=True):
            cells = [" "] * ACROSS
            if row.ready is not None and row.bars:
                _fill(cells, (row.ready - first) * scale, (row.bars[0].begin - first) * scale, ".")
            for bar in row.bars:
                _fill(cells, (bar.begin - first) * scale, (bar.end - first) * scale,
                      letter(bar.state))
            took = duration(row.busy) if row.bars else row.note or row.state
            lines.append(f"{pad(name, room)}  {''.join(cells)}  {took}")
        if self.left:
            lines.append(f"... {counted(self.left, 'more task')}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from mainspring._ganttsvg import CSS, drawn

        return frame([title_html(self.title), f'<div class="m-scroll">{drawn(self)}</div>',
                      legend_html(self.counts), *map(note_html, self._notes())], CSS)

    def _repr_svg_(self) -> str:
        from mainspring._ganttsvg import alone

        return alone(self)

    def _notes(self) -> "list[str]":
        notes = [f"times in {self.zone}; a thin line is time that it waited for a slot or a retry"]
        if self.left:
            notes.append(f"... {counted(self.left, 'more task')}: those that went well and were "
                         "quick are not drawn")
        return notes


def _fill(cells: "list[str]", begin: float, end: float, what: str) -> None:
    for place in range(max(0, round(begin)), min(len(cells), max(round(begin) + 1, round(end)))):
        cells[place] = what


def _rows(run: "Run", now: float) -> "Iterator[Row]":
    """What is drawn of each task; all of a run is read at once, also while it is live."""
    from mainspring._taskrun import Attempt, TaskRun

    reader, zone = run._reader(), run.timezone
    attempts: dict[int, list[Attempt]] = {}
    for row in reader.attempts(run_id=run.id):
        attempts.setdefault(row["task_run_id"], []).append(Attempt(row, zone))
    found = [TaskRun(run, row) for row in reader.task_runs(run.id)]
    items: dict[str, list[TaskRun]] = {}
    for each in found:
        if each.map_index is not None and each.code != "REMOVED":
            items.setdefault(each.task.rpartition("[")[0], []).append(each)
    for each in found:
        if each.map_index is None:
            bars = (_items(each, items.get(each.task, []), now) if each._row["mapped"] else
                    [_bar(each, attempt, now) for attempt in attempts.get(each._row["id"], [])])
            ready = each._row["first_ready_at"]
            note = f"blocked by {each.blocked_by}" if each.blocked_by else each.code or ""
            yield Row(each.task, each.state, None if ready is None else ready / 1e6, bars, note)


def _bar(each: "TaskRun", attempt: "Attempt", now: float) -> Bar:
    begin, state = attempt._row["started_at"] / 1e6, attempt.outcome or "RUNNING"
    ended = attempt._row["finished_at"]
    title = (f"{each.task}, attempt {attempt.number}: {state}, "
             f"{shown_duration(attempt.duration)} from {attempt.started_at:%H:%M:%S}")
    return Bar(begin, max(begin, now if ended is None else ended / 1e6), state, title)


def _items(each: "TaskRun", items: "Sequence[TaskRun]", now: float) -> "list[Bar]":
    """All items of a mapped task as one bar."""
    begun = [item._row for item in items if item._row["started_at"] is not None]
    if not begun:
        return []
    begin = min(row["started_at"] or 0 for row in begun) / 1e6
    end = max(now if row["finished_at"] is None else row["finished_at"] / 1e6 for row in begun)
    done = sum(item.state in ("SUCCESS", "SKIPPED") for item in items)
    state = each.state if each.state != "PENDING" else worst(item.state for item in items)
    title = f"{each.task}: {done} of {counted(len(items), 'item')} done, {state}"
    return [Bar(begin, max(begin, end), state, title, f"{done}/{len(items)}")]
