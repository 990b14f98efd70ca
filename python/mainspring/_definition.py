"""What is in a dag: its nodes in the order in which they were written."""

from weakref import WeakValueDictionary

from mainspring._node import Node, open_dag
from mainspring._task import Task
from mainspring.errors import Problem, SpecError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any, TypeVar

    D = TypeVar("D", bound="Definition")


defined: "WeakValueDictionary[str, Any]" = WeakValueDictionary()
"""The dags of this process by their names; of one that was defined again the newer one."""


class Definition:
    """The part of a dag that is written down: fields and nodes, without the verbs that run it."""

    def __init__(self, name: str, fields: "dict[str, Any]") -> None:
        self.name = name
        self.fields = fields
        self.problems: list[Problem] = []
        self.changes = 0
        self._nodes: dict[str, Node] = {}
        self._probes: dict[str, Node] = {}
        self._first: dict[Task[Any, Any], Node] = {}
        self._varied: set[Task[Any, Any]] = set()
        self._token: Any = None
        self._spec: Any = None
        self._handlers: Any = None

    def __enter__(self: "D") -> "D":
        outer = open_dag.get()
        if outer is not None:
            raise SpecError(Problem(
                "nested_dag", self.name, f"cannot be opened inside the block of {outer.name!r}",
                "end that block first; for an edge between dags use depends_on=['dag.task']",
            ))
        self._token = open_dag.set(self)
        return self

    def __exit__(
        self,
        kind: "type[BaseException] | None",
        error: "BaseException | None",
        trace: "TracebackType | None",
    ) -> None:
        token, self._token = self._token, None
        open_dag.reset(token)

    def touch(self) -> None:
        """Note that the definition changed, so that the next run registers it again."""
        self.changes += 1
        self._spec = self._handlers = None

    def declare(self, task: "Task[Any, Any]") -> Node:
        """Take in a decorated task: it belongs to the dag even when it is never called."""
        old = self._nodes.get(task.name)
        if old is not None:
            if _same_cell(old.task, task):
                return self._replace(old, task)
            self.problems.append(Problem(
                "duplicate_task", f"{self.name}.{task.name}", "there are two tasks of this name",
                "give one of them another: @ms.task(name=...)",
            ))
            return old
        node = self._new(task.name, task)
        node.implicit = True
        self._first[task] = node
        return node

    def add_mapped(self, task: "Task[Any, Any]", items: "Any", argument: "str | None",
                   max_active: "int | None", fixed: "dict[str, Any]") -> Node:
        """Put a task into the dag once for each item of a list; see :meth:`Task.map`."""
        from mainspring._map import map_node

        node = self.add(task)
        map_node(node, items, argument, max_active, fixed)
        return node

    def add(self, task: "Task[Any, Any]", /, *args: "Any", **kwargs: "Any") -> Node:
        """Put a task into the dag, as calling it inside a ``with`` block does.

        Parameters
        ----------
        task : Task
            What ``@ms.task`` made.
        *args, **kwargs
            Results of other tasks of this dag, or plain values; what is missing the run gives.

        Returns
        -------
        Node
            The task in its place. The second one of a name gets ``_2``.

        Examples
        --------
        >>> import mainspring as ms
        >>> @ms.task
        ... def load(table: str) -> None: ...
        >>> dag = ms.Dag("loads")
        >>> dag.add(load, "orders"), dag.add(load, "items")
        (Node('loads.load'), Node('loads.load_2'))
        """
        if not isinstance(task, Task):
            raise TypeError(f"a dag takes tasks, and got {task!r}\n  hint: decorate it: @ms.task")
        self.touch()
        if task.base is not None:
            self._varied.add(task.base)
        node = self._first.get(task)
        if node is None or not node.implicit:
            node = self._new(self._free(task.name), task)
            self._first.setdefault(task, node)
        node.implicit = False
        node.bind(args, kwargs)
        return node

    def node_of(self, task: "Task[Any, Any]") -> Node:
        """Return the node of a task, put in place if it was not."""
        node = self._first.get(task)
        return self.add(task) if node is None else node

    def nodes(self) -> "list[Node]":
        """Return the nodes in the order in which they were written."""
        found = [node for node in self._nodes.values()
                 if not (node.implicit and node.task in self._varied)]
        probes = [probe for node in found for probe in self._probes_of(node)]
        return [*found, *probes] if probes else found

    def _probes_of(self, node: Node) -> "list[Node]":
        """The task that asks whether what a task makes is ready, where its asset has a check."""
        from mainspring._edge import checked

        asset = checked(node.task.options.get("produces"))
        if asset is None or asset.check is None:
            return []
        known = self._probes.get(node.name)
        if known is None or known.task.fn is not asset.check:
            options = {"interval": asset.interval or "1m", "timeout": asset.timeout,
                       "name": f"{node.name}_ready", "type": "probe", "produces": asset.name}
            task: Task[Any, Any] = Task(asset.check, {
                key: value for key, value in options.items() if value is not None})
            known = self._probes[node.name] = Node(self, task.name, task)
            known.upstream[node.key] = None
        return [known]

    def _new(self, name: str, task: "Task[Any, Any]") -> Node:
        self.touch()
        node = self._nodes[name] = Node(self, name, task)
        return node

    def _free(self, name: str) -> str:
        candidate, number = name, 1
        while candidate in self._nodes:
            number += 1
            candidate = f"{name}_{number}"
        return candidate

    def _replace(self, node: Node, task: "Task[Any, Any]") -> Node:
        self.touch()
        self._first.pop(node.task, None)
        self._first[task] = node
        node.task = task
        return node

    def spec(self) -> "dict[str, Any]":
        """Return the definition as plain data, as the core reads it.

        Raises
        ------
        SpecError
            When this side already sees that something is wrong.

        Examples
        --------
        >>> import mainspring as ms
        >>> ms.Dag.from_graph("abc", ["a"]).spec()["tasks"]
        [{'name': 'a', 'type': 'noop'}]
        """
        spec, problems = self._parts()
        if problems:
            raise SpecError(problems)
        return spec

    def _parts(self) -> "tuple[dict[str, Any], list[Problem]]":
        if self._spec is None:
            from mainspring._spec import dag_spec

            self._spec = dag_spec(self)
        found: tuple[dict[str, Any], list[Problem]] = self._spec
        return found

    def handlers(self) -> "dict[str, Any]":
        """Return task name to (callable, is it a coroutine function, converters of values)."""
        if self._handlers is None:
            self._handlers = {
                node.name: (node.task._handler(), node.task.signature.is_async,
                            _converters(node) or None)
                for node in self.nodes() if not node.task.is_noop
            }
        made: dict[str, Any] = self._handlers
        return made


def _converters(node: Node) -> "dict[str, Any]":
    found = node.task.signature.converters()
    static = {**(node.task.options.get("params") or {}), **node.static}
    if any(isinstance(value, str) and "$" in value for value in static.values()):
        from mainspring._filled import converters

        found.update(converters(node.task.signature, static))
    return found


def _same_cell(old: "Task[Any, Any]", new: "Task[Any, Any]") -> bool:
    """Whether a notebook cell that defines a task was run again."""
    a, b = getattr(old.fn, "__code__", None), getattr(new.fn, "__code__", None)
    return (
        a is not None and b is not None and a.co_filename != b.co_filename
        and old.__module__ == new.__module__ == "__main__"
        and old.__qualname__ == new.__qualname__
    )
