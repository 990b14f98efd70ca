"""A dag in the form that the core reads: plain lists, dicts, text and numbers."""

import sys

from mainspring import _source
from mainspring._node import Edges, Node, nodes_of, several
from mainspring._results import to_json_ready
from mainspring._signature import INJECTED
from mainspring._task import DURATIONS
from mainspring.errors import Problem, SpecError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from mainspring._definition import Definition

_AS_THEY_ARE = (
    "type", "retries", "max_attempts", "max_losses", "retry_backoff", "retry_jitter", "priority",
    "preemptible", "idempotent", "dedup_key", "pool", "slots", "max_active", "on_deadline", "owner",
    "category", "resource", "resource_key", "version", "shards",
)


def dag_spec(dag: "Definition") -> "tuple[dict[str, Any], list[Problem]]":
    """Return (the specification, what is wrong with it that the core cannot see)."""
    problems: list[Problem] = list(dag.problems)
    spec: dict[str, Any] = {"name": dag.name}
    for field, value in dag.fields.items():
        if value is None:
            continue
        if field in ("start_date", "end_date"):
            spec[field] = _text(value)
        elif field == "labels":
            spec[field] = several(value)
        elif field == "defaults":
            spec[field] = policy(value)
        elif field == "schedule":
            _schedule(dag, spec, problems)
        else:
            spec[field] = value
    _project(spec)
    nodes = dag.nodes()
    _task_schedules(nodes, spec, problems)
    spec["tasks"] = [_task_spec(node, problems) for node in nodes]
    return spec, _located(problems, nodes) if problems else problems


def _located(problems: "list[Problem]", nodes: "list[Node]") -> "list[Problem]":
    """The same with the file and line of the task, in the form of the core's own problems."""
    places = {node.key: _source.place(node.task.fn) for node in nodes if not node.task.is_noop}
    found = []
    for problem in problems:
        message, _, hint = problem.message.partition("\n  hint: ")
        where = places.get(".".join(problem.place.split(".")[:2]))
        found.append(Problem(problem.code, problem.place,
                             f"{message} ({where})" if where else message, hint or problem.hint))
    return found


def _schedule(dag: "Definition", spec: "dict[str, Any]", problems: "list[Problem]") -> None:
    """The schedule as text, with the zone of its rules where the dag names none."""
    value = dag.fields["schedule"]
    if isinstance(value, str) or "mainspring._rule" not in sys.modules:
        spec["schedule"] = value
        return
    from mainspring._schedule import schedule_field

    zone = {"timezone": dag.fields["timezone"]} if dag.fields.get("timezone") else {}
    try:
        spec["schedule"] = schedule_field(value, zone)
    except SpecError as error:
        for each in error.problems:
            problems.append(Problem(each.code, f"{dag.name}.{each.place}", each.message, each.hint))
    spec.update(zone)


def _task_schedules(nodes: "list[Node]", spec: "dict[str, Any]",
                    problems: "list[Problem]") -> None:
    """The schedules that tasks have of their own, named after them."""
    from mainspring._schedule import schedule_field

    made: list[Any] = []
    for node in nodes:
        value = node.task.options.get("schedule")
        if value is None:
            continue
        try:
            fields = schedule_field(value, {"timezone": None})
        except SpecError as error:
            problems += [Problem(each.code, f"{node.key}.{each.place}", each.message, each.hint)
                         for each in error.problems]
            continue
        several_of_it = fields if isinstance(fields, list) else [fields]
        for number, item in enumerate(several_of_it, 1):
            field = {"expression": item} if isinstance(item, str) else dict(item)
            field.setdefault("name", node.name if number == 1 else f"{node.name}_{number}")
            made.append({**field, "tasks": [node.name]})
    if made:
        own = spec.get("schedule")
        spec["schedule"] = [*(own if isinstance(own, list) else [own] if own else []), *made]


def _project(spec: "dict[str, Any]") -> None:
    """What the project file says of every dag."""
    from mainspring._config import settings

    project = settings()
    defaults = getattr(project, "defaults", None)
    if defaults:
        spec["project_defaults"] = policy(defaults)
    timezone = getattr(project, "timezone", None)
    if "timezone" not in spec and timezone:
        spec["timezone"] = timezone


def policy(options: "Mapping[str, Any]") -> "dict[str, Any]":
    """Return options as the core reads them: durations with their unit, classes by name."""
    found: dict[str, Any] = {}
    for name, value in options.items():
        if name in DURATIONS and hasattr(value, "total_seconds"):
            micros = (value.days * 86_400 + value.seconds) * 1_000_000 + value.microseconds
            found[f"{name}_ms"] = micros // 1000
        elif name == "not_before" and hasattr(value, "isoformat"):
            found[name] = value.isoformat()  # a time of day; one with a zone or less is refused
        elif name == "run_on" and hasattr(value, "_core"):
            found[name] = value._core.definition()
        elif name == "retry_on":
            found[name] = [_code(each) for each in several(value)]
        elif name == "fingerprint":
            found[name] = "callable" if callable(value) else value
        elif name == "limits":
            found[name] = dict(value) if hasattr(value, "keys") else several(value)
        elif name in _AS_THEY_ARE or name in DURATIONS:
            found[name] = value
        elif name not in ("labels", "params", "config", "depends_on", "doc", "ext", "schedule",
                          "produces"):
            found[name] = value
    return found


def _code(item: "Any") -> "Any":
    if not isinstance(item, type) or not issubclass(item, BaseException):
        return item
    known = {ConnectionResetError: "CONN_RESET", ConnectionRefusedError: "CONN_REFUSED",
             TimeoutError: "CONN_TIMEOUT", Exception: "ERROR", BaseException: "ERROR"}
    return known.get(item, item.__name__)


def _task_spec(node: Node, problems: "list[Problem]") -> "dict[str, Any]":
    task = node.task
    options = task.options
    spec: dict[str, Any] = {"name": node.name, **policy(options)}
    if not task.is_noop:
        module = getattr(task.fn, "__module__", None) or "__main__"
        spec["handler"] = f"{module}:{task.__qualname__}".replace(" ", "_")[:512]
        code = _source.code_of(task.fn)
        spec["code_hash"] = None if code is None else _source.fingerprint_of(code)
        spec["source"] = None if code is None else _source.place_of(code)
    if task.__doc__:
        spec["doc"] = _trimmed(task.__doc__)
    if "labels" in options:
        spec["labels"] = several(options["labels"])
    if "produces" in options:
        made = several(options["produces"])
        waiting = [each for each in made if getattr(each, "check", None) is not None]
        if len(waiting) > 1:
            problems.append(Problem(
                "two_checks", f"{node.key}.produces", "two of its assets have a check",
                "give one check, which looks at both, or split the task"))
        # What has a check is made ready by its probe.
        made = [getattr(each, "name", each) for each in made if each not in waiting]
        if made:
            spec["produces"] = made
    problems.extend(node.problems)
    static = dict(node.static)
    for name, value in (options.get("params") or {}).items():
        mapped = node.mapping is not None and name == node.mapping["argument"]
        if name not in static and name not in node.inputs and not mapped:
            _static(node, name, value, static, problems)
    for field in ("config", "ext"):
        if field in options:
            try:
                spec[field] = to_json_ready(options[field])
            except (TypeError, ValueError) as error:
                message = f"cannot be stored: it {error}"
                problems.append(Problem(f"bad_{field}", f"{node.key}.{field}", message))
    _arguments(node, spec, static, problems)
    if node.mapping is not None:
        from mainspring._map import map_spec

        map_spec(node, spec, problems)
    upstream = dict(node.upstream)
    edges: list[Any] = []
    for item in several(options.get("depends_on")):
        _depend(node, item, upstream, edges, problems)
    if upstream or edges:
        here = f"{node.dag.name}."
        edges[:0] = [key[len(here):] if key.startswith(here) else key for key in upstream]
        spec["depends_on"] = edges
    return spec


def _static(node: Node, name: str, value: "Any", static: "dict[str, Any]",
            problems: "list[Problem]") -> None:
    from mainspring._signature import did_you_mean

    signature = node.task.signature
    place = f"{node.key}.params.{name}"
    if name not in signature.arguments and not signature.open_ended:
        problems.append(Problem("unknown_argument", place, f"there is no argument {name!r}",
                                did_you_mean(name, signature.arguments)))
        return
    ready, complaint = signature.static(name, value)
    if complaint is not None:
        problems.append(Problem("bad_argument", place, complaint))
    else:
        static[name] = ready


def _arguments(node: Node, spec: "dict[str, Any]", static: "dict[str, Any]",
               problems: "list[Problem]") -> None:
    """Each argument comes from one place: static value, upstream result, run, or parameter."""
    signature = node.task.signature
    for code, argument, message, hint in signature.problems:
        place = f"{node.key}.{argument}" if argument else node.key
        problems.append(Problem(code, place, message, hint))
    given = static.keys() | node.inputs.keys()
    if node.mapping is not None:
        given = given | {node.mapping["argument"]}
    if static:
        spec["params"] = static
    if node.inputs:
        spec["inputs"] = {name: source.name for name, source in node.inputs.items()}
    injected = [name for name in signature.injected if name not in given]
    for name in injected:
        wrong = signature.misfilled(name)
        if wrong is not None:
            problems.append(Problem("bad_annotation", f"{node.key}.{name}", *wrong))
    if injected:
        spec["injected"] = injected
    schema = [argument.schema() for name, argument in signature.arguments.items()
              if name not in given and name not in INJECTED]
    if schema:
        spec["param_schema"] = schema


def _depend(node: Node, item: "Any", upstream: "dict[str, None]", edges: "list[Any]",
            problems: "list[Problem]") -> None:
    if hasattr(item, "spec") and not isinstance(item, Edges):
        item = item.spec()
    if hasattr(item, "external"):
        item = item.ready().spec()
    if isinstance(item, str) and item.startswith("@"):
        edges.append(item)
    elif isinstance(item, str):
        key = item if item.startswith(f"{node.dag.name}.") or "." in item else None
        upstream[key or f"{node.dag.name}.{item}"] = None
    elif isinstance(item, Edges):
        home = node.dag
        base = getattr(item, "home", None)
        for source in nodes_of(item, base or home):
            upstream[source.key] = None
    elif isinstance(item, dict):
        edge = dict(item)
        if isinstance(edge.get("upstream"), Edges):
            up = edge["upstream"]
            edge["upstream"] = nodes_of(up, getattr(up, "home", None) or node.dag)[0].key
        elif isinstance(edge.get("upstream"), str):
            up = edge["upstream"]
            edge["upstream"] = up if "." in up or up.startswith("@") else f"{node.dag.name}.{up}"
        edges.append(edge)
    else:
        problems.append(Problem(
            "bad_dependency", f"{node.key}.depends_on", f"{item!r} is no task",
            "name a task, 'task' of this dag or 'dag.task' of another",
        ))


def _text(value: "Any") -> "Any":
    datetime = sys.modules.get("datetime")
    if datetime is not None and isinstance(value, datetime.datetime):
        return value.date().isoformat()
    return value.isoformat() if hasattr(value, "isoformat") else value


def _trimmed(doc: str) -> str:
    """A docstring without its indentation."""
    lines = doc.expandtabs().strip().splitlines()
    rest = [line for line in lines[1:] if line.strip()]
    indent = min((len(line) - len(line.lstrip()) for line in rest), default=0)
    return "\n".join([*lines[:1], *(line[indent:].rstrip() for line in lines[1:])])
