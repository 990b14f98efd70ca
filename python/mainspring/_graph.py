"""The edges of a dag, as a picture or a table of it needs them."""

from __future__ import annotations

from mainspring._edge import looks
from mainspring._layers import layers_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

__all__ = ["edge_words", "is_near", "layers", "upstreams"]


def layers(definition: Mapping[str, Any]) -> list[list[Mapping[str, Any]]]:
    """Return the tasks by how many steps lie before them."""
    tasks = definition["tasks"]
    numbers = {task["name"]: number for number, task in enumerate(tasks)}
    edges = [(numbers[up], numbers[task["name"]]) for task in tasks
             for up, here in upstreams(definition, task) if here and up in numbers]
    depth = layers_of(len(tasks), edges, close=False)
    made: list[list[Mapping[str, Any]]] = [[] for _ in range(max(depth, default=-1) + 1)]
    for task, level in zip(tasks, depth, strict=True):
        made[level].append(task)
    return made


def is_near(key: str, edge: Mapping[str, Any]) -> bool:
    """Whether an edge is to a task of the same run; ``key`` is the name of the dag."""
    return (edge["upstream"].startswith(key + ".")
            and not edge.get("offset_from") and not edge.get("offset_to"))


def upstreams(definition: Mapping[str, Any], task: Mapping[str, Any]) -> list[tuple[str, bool]]:
    """Return what a task waits for: its name, and whether it is a task of the same run."""
    prefix = definition["key"] + "."
    found = []
    for edge in task.get("dependencies", []):
        name = edge["upstream"]
        near = is_near(definition["key"], edge)
        shown = name[len(prefix) :] if near else edge_words(edge)
        found.append((shown, near and edge["kind"] != "WEAK"))
    return found


def edge_words(edge: Mapping[str, Any]) -> str:
    """Return an edge to another run in words.

    Such as ``ods.orders -1 day``, or ``asset rates -6 to 0 days, last``.
    """
    name = edge["upstream"]
    words = f"asset {name[1:]}" if name.startswith("@") else name
    window = (edge.get("offset_from", 0), edge.get("offset_to", 0))
    return words + looks(window, edge.get("offset_unit"), edge.get("which"))
