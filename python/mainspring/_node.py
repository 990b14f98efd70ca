"""Tasks in their places: nodes of a dag, and the edges that ``>>`` makes."""

from contextvars import ContextVar

from mainspring.errors import Problem, SpecError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from mainspring._definition import Definition
    from mainspring._map import RunParam
    from mainspring._task import Task

open_dag: "ContextVar[Definition | None]" = ContextVar("mainspring_dag", default=None)
"""The dag whose ``with`` block the caller is in."""


class Edges:
    """``a >> b``: b waits for a. Lists stand on either side; the right side is the value."""

    __slots__ = ()

    def __rshift__(self, other: "Any") -> "Any":
        _join(self, other)
        return other

    def __rrshift__(self, other: "Any") -> "Any":
        _join(other, self)
        return self

    def __lshift__(self, other: "Any") -> "Any":
        _join(other, self)
        return other

    def __rlshift__(self, other: "Any") -> "Any":
        _join(self, other)
        return self


class Node(Edges):
    """A task in its place in a dag; what calling a task inside a dag gives.

    It stands for the result: hand it to another task, and that task gets the result when both
    run. It also makes edges: ``a >> b``.

    Attributes
    ----------
    dag : Dag
        The dag.
    name : str
        Its name in the dag.
    task : Task
        What runs.

    Examples
    --------
    >>> import mainspring as ms
    >>> with ms.Dag("letters") as dag:
    ...     @ms.task
    ...     def one() -> int:
    ...         return 1
    ...     @ms.task
    ...     def double(number: int) -> int:
    ...         return 2 * number
    ...     double(one())
    Node('letters.double', upstream=['one'])
    """

    __slots__ = ("__weakref__", "dag", "implicit", "inputs", "mapping", "name", "problems",
                 "run_list", "static", "task", "upstream")

    def __init__(self, dag: "Definition", name: str, task: "Task[Any, Any]") -> None:
        self.dag = dag
        self.name = name
        self.task = task
        self.implicit = False
        self.static: dict[str, Any] = {}
        self.inputs: dict[str, Node] = {}
        self.upstream: dict[str, None] = {}
        self.problems: list[Problem] = []
        self.mapping: dict[str, Any] | None = None
        self.run_list: RunParam | None = None

    @property
    def key(self) -> str:
        """``dag.task``."""
        return f"{self.dag.name}.{self.name}"

    def problem(self, code: str, field: str, message: str, hint: "str | None" = None) -> None:
        """Remember something wrong, to be told with all else when the dag is checked."""
        place = f"{self.key}.{field}" if field else self.key
        self.problems.append(Problem(code, place, message, hint))

    def bind(self, args: "tuple[Any, ...]", kwargs: "dict[str, Any]") -> None:
        """Take the arguments of a call: results become inputs, plain values stay as they are."""
        signature = self.task.signature
        bound, problems = signature.bind(args, kwargs)
        for code, field, message, hint in problems:
            self.problem(code, field, message, hint)
        for name, value in bound.items():
            self.give(name, value)

    def give(self, name: str, value: "Any") -> None:
        """Bind one argument."""
        if isinstance(value, Edges):
            source = node_of(value, self.dag)
            if source is None or source.dag is not self.dag:
                other = getattr(source, "key", value)
                self.problem("other_dag", name, f"takes the result of {other}, which is not in "
                             "this dag", f"name the edge with depends_on=[{str(other)!r}] and "
                             "read the data from where that task wrote it")
                return
            self.inputs[name] = source
            self.static.pop(name, None)
            source.implicit = False
            self.upstream[source.key] = None
        elif _holds_result(value):
            self.problem("nested_result", name, "has the result of a task inside a list or dict",
                         "pass each result as an argument of its own; a task with **kwargs "
                         "takes any number of them by name")
        else:
            ready, complaint = self.task.signature.static(name, value)
            if complaint is not None:
                self.problem("bad_argument", name, complaint)
            else:
                self.static[name] = ready
                self.inputs.pop(name, None)

    def waits_for(self) -> "list[str]":
        """Return the names of its upstreams; in full where they are of another dag."""
        names = dict(self.upstream)
        for item in several(self.task.options.get("depends_on")):
            if hasattr(item, "spec") and not isinstance(item, Edges):
                item = item.spec()
            where = _looks(item) if isinstance(item, dict) else ""
            if isinstance(item, dict) and "asset" in item:
                names[f"asset {item['asset']}{where}"] = None
                continue
            item = item.get("upstream") if isinstance(item, dict) else item
            name = getattr(item, "name", item)
            if isinstance(name, str):
                full = name if "." in name or name.startswith("@") else f"{self.dag.name}.{name}"
                names[full + where] = None
        return [key.removeprefix(self.dag.name + ".") for key in names]

    def __repr__(self) -> str:
        names = self.waits_for()
        more = f", upstream={names}" if names else ""
        return f"Node({self.key!r}{more})"

    def _not_yet(self, what: str) -> TypeError:
        return TypeError(
            f"{self.key} has no result yet: {what} works only inside a task, when it runs\n"
            "  hint: hand it to a task as an argument, and do it there"
        )

    def __bool__(self) -> bool:
        raise self._not_yet("asking whether it is true")

    def __iter__(self) -> "Any":
        raise self._not_yet("going through it")

    def __getitem__(self, item: "Any") -> "Any":
        raise self._not_yet("taking a part of it")


def several(value: "Any") -> "list[Any]":
    """One thing, or several, or none, as a list."""
    if value is None:
        return []
    alone = isinstance(value, (str, dict, Edges)) or hasattr(value, "spec")
    return [value] if alone or hasattr(value, "external") else list(value)


def _holds_result(value: "Any") -> bool:
    queue, seen = [value], 0
    while queue and seen < 1000:
        each = queue.pop()
        seen += 1
        if isinstance(each, Edges):
            return True
        if isinstance(each, dict):
            queue.extend(each.values())
        elif isinstance(each, (list, tuple, set, frozenset)):
            queue.extend(each)
    return False


def node_of(item: "Any", dag: "Definition | None" = None) -> "Node | None":
    """Return the node that a task or a handle stands for, made where a block is open."""
    if isinstance(item, Node):
        return item
    home = open_dag.get() or dag or item.home
    return home.node_of(item) if home is not None else None


def nodes_of(item: "Any", dag: "Definition | None" = None) -> "list[Node]":
    """Return the nodes of a task, a handle, or a list of those."""
    members = item if isinstance(item, (list, tuple, set)) else [item]
    found = []
    for member in members:
        if not isinstance(member, Edges):
            raise TypeError(
                f"an edge joins tasks, and {member!r} is none\n"
                "  hint: name a task that is elsewhere with depends_on=['dag.task']"
            )
        node = node_of(member, dag)
        if node is None:
            raise SpecError(Problem(
                "no_dag", str(getattr(member, "name", "")), "is in no dag, so it has no edges",
                "write the edge inside a `with ms.Dag(...)` block",
            ))
        found.append(node)
    return found


def _join(left: "Any", right: "Any") -> None:
    upstream, downstream = nodes_of(left), nodes_of(right)
    for node in downstream:
        node.implicit = False
        for source in upstream:
            source.implicit = False
            node.upstream[source.key] = None
        node.dag.touch()


def _looks(edge: "dict[str, Any]") -> str:
    """Where an edge looks, in words; nothing of what is not right, which is told elsewhere."""
    from mainspring._edge import looks

    offset = edge.get("offset") or 0
    window = edge.get("window") or (offset, offset)
    if len(window) != 2 or not all(isinstance(bound, int) for bound in window):
        return ""
    return looks((window[0], window[1]), edge.get("unit"), edge.get("which"))
