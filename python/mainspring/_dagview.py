"""What a dag and a run show of themselves in a notebook: the picture, and the table below it."""

from html import escape

from mainspring._graph import edge_words, is_near
from mainspring._picture import CSS, Edge, Node, picture
from mainspring._table import MOST_ROWS, counted, shown_duration
from mainspring._theme import (
    TABLE_CSS,
    frame,
    legend_html,
    note_html,
    state_html,
    table_html,
    title_html,
)
from mainspring.errors import SpecError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from mainspring._dag import Dag
    from mainspring._run import Run
    from mainspring._taskrun import TaskRun

__all__ = ["dag_html", "graph_of", "run_html", "run_picture"]

OPEN = 12
"""Tasks of a dag whose table is shown without being asked for, below the picture."""

EDGES = """
SELECT own.name AS task, coalesce('@' || dependency.asset, upstream.key) AS upstream,
    dependency.kind AS kind, dependency.offset_from AS offset_from,
    dependency.offset_to AS offset_to, dependency.offset_unit AS offset_unit,
    dependency.which AS which
FROM dependency
JOIN task AS own ON own.id = dependency.task_id
LEFT JOIN task AS upstream ON upstream.id = dependency.upstream_task_id
WHERE dependency.task_version_id IN (SELECT task_version_id FROM task_run WHERE run_id = ?)
ORDER BY own.position, dependency.id
"""
"""The edges that a run has: those of the versions of its tasks, whatever the dag has by now."""


def graph_of(
    key: str, tasks: "Iterable[Node]", edges: "Iterable[tuple[str, Mapping[str, Any]]]"
) -> "tuple[list[Node], list[Edge]]":
    """Return a dag as a picture takes it; what is not in the run becomes a stub.

    Parameters
    ----------
    key : str
        Name of the dag.
    tasks : iterable of Node
        Its tasks.
    edges : iterable of (str, dict)
        The task that waits, and the edge as the core has it.
    """
    nodes = list(tasks)
    numbers = {node.name: number for number, node in enumerate(nodes)}
    found: dict[Edge, None] = {}
    stubs: dict[str, int] = {}
    for task, edge in edges:
        if task not in numbers or not edge["upstream"]:
            continue
        upstream = edge["upstream"].removeprefix(key + ".") if is_near(key, edge) else ""
        start = numbers.get(upstream)
        if start is None:
            words = edge_words(edge).removeprefix(key + ".")
            if words not in stubs:
                stubs[words] = len(nodes)
                nodes.append(Node(words, outside=True, title=f"waits for {words}"))
            start = stubs[words]
        found[Edge(start, numbers[task], edge["kind"])] = None
    return nodes, list(found)


def dag_html(dag: "Dag") -> str:
    """Return the picture of a dag and a table of its tasks."""
    nodes = dag.nodes()
    when = dag.fields["schedule"]
    said = [dag.name, str(when) if when is not None else "no schedule", dag.fields["timezone"],
            counted(len(nodes), "task")]
    rows = [[node.name, ", ".join(node.waits_for()), node.task.policy_text()]
            for node in nodes[:MOST_ROWS]]
    table = table_html(("task", "waits for", "options"), rows, len(nodes))
    parts = [title_html(", ".join(filter(None, said)))]
    try:
        parts += _picture_of(dag)
    except ValueError as error:  # a view is no place to raise
        problems = len(error.problems) if isinstance(error, SpecError) else 1
        parts.append(note_html(f"not drawn, {counted(problems, 'problem')}: "
                               f"{dag.name}.check() says what is wrong"))
        return frame([*parts, table], TABLE_CSS)
    if nodes:
        shown = " open" if len(nodes) <= OPEN else ""
        parts.append(f"<details{shown}><summary>{counted(len(nodes), 'task')}</summary>"
                     f"{table}</details>")
    return frame(parts, CSS + TABLE_CSS)


def _picture_of(dag: "Dag") -> "list[str]":
    from mainspring._mainspring import check_dag

    spec, problems = dag._parts()
    if problems:
        raise SpecError(problems)
    made = check_dag(spec)
    nodes = [Node(task["name"], badge="mapped" if task.get("map") else "")
             for task in made["tasks"]]
    edges = ((task["name"], edge) for task in made["tasks"]
             for edge in task.get("dependencies", []))
    svg, notes = picture(*graph_of(made["key"], nodes, edges))
    return _below(svg, notes)


def _below(svg: str, notes: "Sequence[str]") -> "list[str]":
    return [f'<div class="m-scroll">{svg}</div>', *(note_html(note) for note in notes)]


def run_html(run: "Run", title: str, head: "Sequence[str]", tasks: "Sequence[TaskRun]") -> str:
    """Return the picture of a run, and a table of its tasks."""
    rows = []
    for each in tasks[:MOST_ROWS]:
        name, state, *rest = each.cells()
        rows.append([escape(name), state_html(state), *(escape(cell) for cell in rest)])
    parts = [title_html(title), *run_picture(run), legend_html(run.counts),
             table_html(head, rows, len(tasks), escaped=True)]
    return frame(parts, CSS + TABLE_CSS)


def run_picture(run: "Run") -> "list[str]":
    """Return the picture of a run with the states of its tasks."""
    from mainspring._session import rows

    row = run._load()
    edges = [(edge.pop("task"), edge) for edge in rows(run._reader(), EDGES, run.id)]
    nodes = [_node(each) for each in run.tasks]
    return _below(*picture(*graph_of(row["dag"], nodes, edges)))


def _node(each: "TaskRun") -> Node:
    parts = [f"{each.task}: {each.state}"]
    tries = each._row["attempt_no"]
    if tries > 1:
        parts.append(f"{tries} attempts")
    if each.duration is not None:
        parts.append(shown_duration(each.duration))
    if each.blocked_by:
        parts.append(f"blocked by {each.blocked_by}")
    badge = ""
    if each._row["mapped"]:
        items = each.items
        badge = f"{sum(item.state in ('SUCCESS', 'SKIPPED') for item in items)}/{len(items)}"
    return Node(each.task, each.state, ", ".join(parts), badge)
