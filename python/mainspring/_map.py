"""``task.map(items)``: one attempt for each item of a list that is known when a run gets there."""

from mainspring._node import Edges, _holds_result, node_of
from mainspring._signature import INJECTED, MISSING, SHARDS, did_you_mean
from mainspring.errors import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from mainspring._node import Node

__all__ = ["RunParam", "map_node", "map_spec", "param"]

_NO_LISTS = ("int", "float", "bool", "str", "bytes", "dict", "None")


class RunParam:
    """A parameter of the run that is a list to be mapped over; made by :func:`mainspring.param`.

    Attributes
    ----------
    name : str
        Its name among the run's parameters.
    """

    __slots__ = ("default", "name")

    def __init__(self, name: str, default: "Any" = MISSING) -> None:
        self.name = name
        self.default = default

    def schema(self) -> "dict[str, Any]":
        """Return the parameter as the core reads it."""
        found: dict[str, Any] = {"name": self.name, "type": "list", "required": True}
        if self.default is not MISSING:
            found.update(required=False, default=self.default)
        return found

    def __repr__(self) -> str:
        default = "" if self.default is MISSING else f", default={self.default!r}"
        return f"param({self.name!r}{default})"


def param(name: str, *, default: "Any" = MISSING) -> RunParam:
    """Name a parameter of the run that is a list, to map a task over it.

    Parameters
    ----------
    name : str
        Its name; ``dag.run(params={name: [...]})`` gives it.
    default : list, optional
        What it is where nobody gives it; without one it is required.

    Returns
    -------
    RunParam
        For :meth:`Task.map`.

    Examples
    --------
    >>> import mainspring as ms
    >>> with ms.Dag("loads") as dag:
    ...     @ms.task
    ...     def load(table: str) -> str:
    ...         return table.upper()
    ...     _ = load.map(ms.param("tables", default=["orders"]))
    >>> with ms.testing.isolated():
    ...     dag.run("2013-01-15", params={"tables": ["a", "b"]}).result("load")
    ['A', 'B']
    """
    return RunParam(name, default)


def map_node(node: "Node", items: "Any", argument: "str | None", max_active: "int | None",
             fixed: "dict[str, Any]") -> None:
    """Map a node over a list: its source, the argument that gets the item, and fixed values."""
    node.bind((), fixed)
    name = argument or _first_free(node)
    if name is None:
        node.problem("no_argument", "map", "has no argument left that could get the item",
                     "take a value out of the call, or say which with argument='...'")
        return
    signature = node.task.signature
    if name not in signature.arguments and not signature.open_ended:
        node.problem("unknown_argument", "map.argument", f"there is no argument {name!r}",
                     did_you_mean(name, signature.arguments))
        return
    found: dict[str, Any] = {"argument": name}
    if max_active is not None:
        found["max_active"] = max_active
    if isinstance(items, RunParam):
        node.run_list = items
        found["param"] = items.name
    elif isinstance(items, Edges):
        if not _from_task(node, items, found):
            return
    elif not _from_values(node, name, items, found):
        return
    node.mapping = found


def _first_free(node: "Node") -> "str | None":
    """The first argument that neither the call nor the run fills."""
    taken = node.static.keys() | node.inputs.keys() | set(node.task.options.get("params") or ())
    for name in node.task.signature.arguments:
        if name not in taken and name not in INJECTED and name not in SHARDS:
            return name
    return None


def _from_task(node: "Node", items: "Any", found: "dict[str, Any]") -> bool:
    source = node_of(items, node.dag)
    if source is None or source.dag is not node.dag:
        other = getattr(source, "key", items)
        node.problem("other_dag", "map", f"is mapped over the result of {other}, which is not in "
                     "this dag", "read its list in a task of this dag, and map over that")
        return False
    returns = getattr(source.task.fn, "__annotations__", {}).get("return")
    word = returns if isinstance(returns, str) else getattr(returns, "__name__", None)
    if source.mapping is None and (word in _NO_LISTS or (returns is None and word == "None")):
        node.problem("not_a_list", "map", f"is mapped over a list, and {source.name} returns "
                     f"{word}", "map over a task that returns a list")
        return False
    found["result"] = source.name
    source.implicit = False
    node.upstream[source.key] = None
    return True


def _from_values(node: "Node", name: str, items: "Any", found: "dict[str, Any]") -> bool:
    if not isinstance(items, (list, tuple, range)):
        hints = {"str": "a text is not taken apart: write a list of texts",
                 "set": "a set has no order: sorted(...) gives a list",
                 "frozenset": "a set has no order: sorted(...) gives a list",
                 "dict": "list(d) has its keys, list(d.items()) its pairs"}
        kind = type(items).__name__
        node.problem("not_a_list", "map", f"is mapped over a list, and {_short(items)} is "
                     f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}",
                     hints.get(kind, "write a list, also for one item: [x]"))
        return False
    values = list(items)
    if _holds_result(values):
        node.problem("nested_result", "map", "has the result of a task inside its list",
                     "let one task return the whole list, and map over that")
        return False
    ready = []
    for at, value in enumerate(values):
        made, complaint = node.task.signature.static(name, value)
        if complaint is not None:
            node.problem("bad_argument", f"map.items[{at}]", complaint)
            return False
        ready.append(made)
    found["items"] = ready
    return True


def _short(value: "Any") -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."


def map_spec(node: "Node", spec: "dict[str, Any]", problems: "list[Problem]") -> None:
    """Write the map into the specification of a task."""
    if node.mapping is None:
        return
    spec["map"] = node.mapping
    extra = node.run_list
    schema = spec.setdefault("param_schema", [])
    if extra is not None and all(each["name"] != extra.name for each in schema):
        made = extra.schema()
        if "default" in made and not isinstance(made["default"], (list, tuple)):
            problems.append(Problem(
                "not_a_list", f"{node.key}.map.param", f"is mapped over a list, and the default "
                f"of {extra.name!r} is {_short(made['default'])}", "give it a list"))
            return
        schema.append(made)
    if not schema:
        del spec["param_schema"]
