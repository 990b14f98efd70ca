"""A list of runs in a notebook: the grid of their tasks by business date, and the table."""

from html import escape

from mainspring._grid import CSS, MOST_COLUMNS, MOST_ROWS, grid_body
from mainspring._gridshape import shape
from mainspring._session import rows as answer
from mainspring._table import MOST_ROWS as MOST_LINES
from mainspring._table import counted
from mainspring._theme import TABLE_CSS, frame, note_html, state_html, table_html, title_html

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from mainspring._run import Run

__all__ = ["runs_html"]

MOST_RUNS = 400
"""Runs whose tasks are looked up for the grid: the newest."""

MOST_DAGS = 6
"""Dags that have a grid."""

NOT_SELECTED = "NOT_SELECTED"
"""The code of a task that whoever asked for the run left out."""

UNCHANGED = "UNCHANGED"
"""The code of a task that a reprocess left as it was; it is shown as a state."""

STATES = """
SELECT task_run.run_id AS run_id, task.key AS task, task_run.state AS state, task_run.code AS code
FROM task_run
JOIN task ON task.id = task_run.task_id
WHERE task_run.run_id IN ({}) AND task_run.item IS NULL
ORDER BY task.dag_id, task.position, task_run.run_id
"""
"""The states of tasks, a mapped one as a whole; those of the newest run last."""


def runs_html(runs: "Sequence[Run]", head: "Sequence[str]",
              cells: "Sequence[Sequence[Any]]") -> str:
    """Return the grid of some runs, where they are of several dates, and their table."""
    parts = [title_html(counted(len(runs), "run")), *_grids(runs)]
    lines = []
    for id, dag, date, state, *rest in cells[:MOST_LINES]:
        lines.append([str(id), escape(str(dag)), str(date), state_html(state),
                      *(escape(str(each)) for each in rest)])
    parts.append(table_html(head, lines, len(runs), escaped=True))
    return frame(parts, CSS + TABLE_CSS)


def _grids(runs: "Sequence[Run]") -> "Iterator[str]":
    """A grid for each dag that has runs of several dates."""
    by_dag: dict[str, dict[int, str]] = {}
    for run in reversed(runs[:MOST_RUNS]):
        by_dag.setdefault(run.dag, {})[run.id] = f"{run.biz_date}T{run.nominal_at:%H:%M}"
    several = [found for found in by_dag.values() if len(set(found.values())) > 1]
    for found in several[:MOST_DAGS]:
        yield from _grid(runs[0]._reader(), found)
    if len(several) > MOST_DAGS:
        yield note_html(f"... {counted(len(several) - MOST_DAGS, 'more dag')} with several dates")
    if several and len(runs) > MOST_RUNS:
        yield note_html(f"the grid has the newest {MOST_RUNS} runs")


def _grid(reader: "Any", found: "Mapping[int, str]") -> "list[str]":
    """The grid of some runs of a dag, given with their fires."""
    columns = sorted(set(found.values()))
    one_a_day = len({column[:10] for column in columns}) == len(columns)  # then no times
    states: dict[tuple[str, str], tuple[str, str]] = {}
    names: dict[str, None] = {}
    for row in answer(reader, STATES.format(", ".join(map(str, found)))):
        column = found[row["run_id"]][:10 if one_a_day else None]
        names[row["task"]] = None
        # A cell is as its newest task run: a later run of a part leaves the others as they are.
        if row["code"] == NOT_SELECTED and (row["task"], column) in states:
            continue
        left = row["state"] == "SKIPPED" and row["code"] == UNCHANGED
        state = UNCHANGED if left else row["state"]
        states[row["task"], column] = (state, f"{column} {state}, run {row['run_id']}")
    labels = [column[:10] if one_a_day else column for column in columns]
    return grid_body(shape(list(names), labels, states, most_rows=MOST_ROWS,
                           most_columns=MOST_COLUMNS))
