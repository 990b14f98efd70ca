"""A handler's signature as the specification of its parameters."""

from mainspring._annotation import Kind, kind_of, misfit
from mainspring._results import to_json_ready
from mainspring._table import counted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

INJECTED = ("biz_date", "nominal_at", "interval_start", "interval_end", "ctx")
"""Arguments of these names are filled from the run."""

SHARDS = ("shardIndex", "shardTotal", "shard_index", "shard_total")
"""And these where the task is in shards."""

_FILLED_WITH = {
    "biz_date": ("a date", ("date", "str"), "annotate it with date, or str for ISO text"),
    "ctx": ("the context of the attempt", (), "annotate it with ms.Context"),
}
_INSTANT = ("a datetime", ("datetime", "str"), "annotate it with datetime, or str for ISO text")

MISSING = type("Missing", (), {"__repr__": lambda self: "MISSING"})()

_FUNCTION = type(lambda: None)
_PLAIN = (type(None), bool, int, float, str)

_COROUTINE, _GENERATOR, _ASYNC_GENERATOR = 0x80, 0x20, 0x200
_VARARGS, _VARKEYWORDS = 0x04, 0x08


class Argument:
    """One argument of a handler."""

    __slots__ = ("default", "kind", "name", "positional", "stored_default")

    def __init__(self, name: str, kind: Kind, default: "Any", positional: bool) -> None:
        self.name = name
        self.kind = kind
        self.default = default
        self.positional = positional
        self.stored_default: "Any" = MISSING

    @property
    def required(self) -> bool:
        return self.default is MISSING

    def schema(self) -> "dict[str, Any]":
        """Return the parameter as the core reads it."""
        kind = self.kind
        found: dict[str, Any] = {
            "name": self.name, "type": kind.word, "nullable": kind.nullable,
            "required": self.required,
        }
        if self.stored_default is not MISSING:
            found["default"] = self.stored_default
        if kind.choices is not None:
            found["choices"] = kind.choices
        return found


class Signature:
    """What a handler takes.

    Attributes
    ----------
    arguments : dict of str to Argument
        By name, in the order of the signature.
    open_ended : bool
        Whether it has ``**kwargs`` and so takes any name.
    is_async : bool
        Whether it is a coroutine function.
    problems : list of tuple
        (code, argument, message, hint) of what a run could never fill.
    """

    __slots__ = ("arguments", "is_async", "open_ended", "problems")

    def __init__(self) -> None:
        self.arguments: dict[str, Argument] = {}
        self.open_ended = False
        self.is_async = False
        self.problems: list[tuple[str, str, str, str | None]] = []

    @property
    def injected(self) -> "list[str]":
        return [name for name in self.arguments if name in INJECTED]

    def misfilled(self, name: str) -> "tuple[str, str] | None":
        """Return (message, hint) where the annotation does not fit what the run fills in."""
        word = self.arguments[name].kind.word
        what, fitting, hint = _FILLED_WITH.get(name, _INSTANT)
        if word == "any" or word in fitting:
            return None
        return f"the run fills it with {what}, and it is annotated as {word}", hint

    def converters(self) -> "dict[str, Callable[[Any], Any]]":
        """Return what makes an argument's stored value an object of its annotated class."""
        found = {}
        for name, argument in self.arguments.items():
            if argument.kind.convert is not None:
                found[name] = argument.kind.convert
            elif name in INJECTED and argument.kind.word == "str":
                found[name] = lambda value: value if isinstance(value, str) else value.isoformat()
        return found

    def bind(self, args: "tuple[Any, ...]", kwargs: "dict[str, Any]"
             ) -> "tuple[dict[str, Any], list[tuple[str, str, str, str | None]]]":
        """Return (argument name to value, problems) of a call; gaps are filled by the run."""
        bound: dict[str, Any] = {}
        problems: list[tuple[str, str, str, str | None]] = []
        places = [a.name for a in self.arguments.values() if a.positional]
        if len(args) > len(places):
            problems.append((
                "bad_call", "", f"takes {counted(len(places), 'positional argument')}, and "
                f"{len(args)} {'was' if len(args) == 1 else 'were'} given", None,
            ))
        bound.update(zip(places, args, strict=False))
        for name, value in kwargs.items():
            if name in bound:
                problems.append(("bad_call", name, "was given twice", None))
            elif name in self.arguments or self.open_ended:
                bound[name] = value
            else:
                problems.append((
                    "unknown_argument", name, f"there is no argument {name!r}",
                    did_you_mean(name, self.arguments),
                ))
        return bound, problems

    def static(self, name: str, value: "Any") -> "tuple[Any, str | None]":
        """Return (JSON value, complaint) for a plain value that is bound to an argument."""
        try:
            ready = to_json_ready(value)
        except (TypeError, ValueError) as error:
            return None, f"cannot be stored: it {error}"
        argument = self.arguments.get(name)
        if isinstance(ready, str) and "$" in ready:
            from mainspring._filled import has_placeholder

            if has_placeholder(ready):
                return ready, None  # what the run fills in is checked then
        return ready, misfit(argument.kind, ready) if argument is not None else None


def did_you_mean(name: str, known: "Any") -> "str | None":
    """Return a hint with the nearest known name, or the known names when they are few."""
    import difflib

    names = [str(each) for each in known]
    near = difflib.get_close_matches(str(name), names, n=1, cutoff=0.6)
    if near:
        return f"did you mean {near[0]!r}?"
    if 0 < len(names) <= 8:
        return "there is " + ", ".join(repr(each) for each in names)
    return None


def read_signature(func: "Any", local_names: "Any" = None) -> Signature:
    """Read what ``func`` takes.

    Parameters
    ----------
    func : callable
        The handler.
    local_names : callable, optional
        Returns names that annotations written as text may use beside the module's.

    Examples
    --------
    >>> from mainspring._signature import read_signature
    >>> def load(table: str, size: int = 500, *, biz_date): ...
    >>> found = read_signature(load)
    >>> list(found.arguments), found.injected
    (['table', 'size', 'biz_date'], ['biz_date'])
    >>> found.arguments["size"].schema()
    {'name': 'size', 'type': 'int', 'nullable': False, 'required': False, 'default': 500}
    """
    annotations = _annotations(func, local_names)
    key = _key(func, annotations)
    known = _known.get(key) if key is not None else None
    if known is None:
        # What the key names by its id is kept, so that the id stays its own.
        known = _read(func, annotations), getattr(func, "__code__", None), annotations
        if key is not None:
            if len(_known) > 20_000:
                _known.clear()
            _known[key] = known
    return known[0]


# A factory makes many functions of one code, and each takes the same.
_known: "dict[Any, tuple[Signature, Any, dict[str, Any]]]" = {}


def _key(func: "Any", annotations: "dict[str, Any]") -> "Any":
    """What a plain function with plain defaults takes follows from; None for all others."""
    if type(func) is not _FUNCTION or func.__kwdefaults__ or func.__dict__:
        return None
    defaults = func.__defaults__ or ()
    if any(type(each) not in _PLAIN for each in defaults):
        return None
    return (id(func.__code__), *((type(each), repr(each)) for each in defaults),
            *((name, id(value)) for name, value in annotations.items()))


def _read(func: "Any", annotations: "dict[str, Any]") -> Signature:
    found = Signature()
    code = getattr(func, "__code__", None)
    if code is None or hasattr(func, "__wrapped__") or hasattr(func, "__signature__"):
        rows, flags = _inspected(func)
    else:
        rows, flags = _plain(func, code)
    found.is_async = bool(flags & _COROUTINE)
    if flags & (_GENERATOR | _ASYNC_GENERATOR):
        found.problems.append((
            "generator_handler", "", "is a generator function, whose values cannot be stored",
            "return a list, or write the rows somewhere and return the path",
        ))
    for name, default, how in rows:
        if how == "*":
            found.problems.append((
                "var_positional", name, f"*{name} can never be filled: a run passes arguments "
                "by name", f"use **{name} and pass each by name",
            ))
        elif how == "**":
            found.open_ended = True
        else:
            if how == "/":
                found.problems.append((
                    "positional_only", name, "is positional-only, and a run passes arguments "
                    "by name", "remove the / from the signature",
                ))
            kind = kind_of(annotations[name]) if name in annotations else Kind()
            argument = Argument(name, kind, default, how != "=")
            if _judge_default(argument, found.problems):
                found.arguments[name] = argument
    return found


def _judge_default(argument: Argument, problems: "list[Any]") -> bool:
    """Store the default as JSON; False where the argument is best left to Python."""
    if argument.required or argument.name in INJECTED:
        return True
    if argument.default is None:
        argument.kind = argument.kind.or_none()
    try:
        argument.stored_default = to_json_ready(argument.default)
    except (TypeError, ValueError) as error:
        if argument.kind.word == "any":
            return False  # a connection, say: no run can give another, so it is no parameter
        problems.append(("bad_default", argument.name, f"its default cannot be stored: it {error}",
                         None))
    return True  # whether it is of its own type the core says, as of any other value


def _plain(func: "Any", code: "Any") -> "tuple[list[tuple[str, Any, str]], int]":
    """Rows (name, default, how) of a Python function, without the weight of ``inspect``."""
    names, count = code.co_varnames, code.co_argcount
    skip = 1 if getattr(func, "__self__", None) is not None else 0
    defaults = func.__defaults__ or ()
    keyword_defaults = func.__kwdefaults__ or {}
    rows: list[tuple[str, Any, str]] = []
    for place in range(skip, count):
        back = place - count + len(defaults)
        how = "/" if place < code.co_posonlyargcount else ""
        rows.append((names[place], defaults[back] if back >= 0 else MISSING, how))
    end = count + code.co_kwonlyargcount
    for name in names[count:end]:
        rows.append((name, keyword_defaults.get(name, MISSING), "="))
    if code.co_flags & _VARARGS:
        rows.append((names[end], MISSING, "*"))
        end += 1
    if code.co_flags & _VARKEYWORDS:
        rows.append((names[end], MISSING, "**"))
    return rows, code.co_flags


def _inspected(func: "Any") -> "tuple[list[tuple[str, Any, str]], int]":
    """The same for everything else that can be called."""
    import inspect

    signs = {"POSITIONAL_ONLY": "/", "POSITIONAL_OR_KEYWORD": "", "VAR_POSITIONAL": "*",
             "KEYWORD_ONLY": "=", "VAR_KEYWORD": "**"}
    try:
        parameters = inspect.signature(func).parameters.values()
    except (TypeError, ValueError):
        return [("kwargs", MISSING, "**")], 0
    rows = [(p.name, MISSING if p.default is p.empty else p.default, signs[p.kind.name])
            for p in parameters]
    inner = inspect.unwrap(func)
    while hasattr(inner, "func"):
        inner = inner.func
    if not hasattr(inner, "__code__"):
        inner = getattr(type(inner), "__call__", inner)  # noqa: B004
    # What a plain wrapper does with the generator or coroutine inside it is its own affair.
    code = getattr(func, "__code__", None) or getattr(inner, "__code__", None)
    return rows, code.co_flags if code is not None else 0


def _annotations(func: "Any", local_names: "Any") -> "dict[str, Any]":
    holder = func
    for _ in range(20):
        if hasattr(holder, "__wrapped__"):
            holder = holder.__wrapped__
        elif hasattr(holder, "func"):
            holder = holder.func
        else:
            break
    if not hasattr(holder, "__code__"):
        holder = getattr(type(holder), "__call__", holder)  # noqa: B004
    try:
        raw = dict(getattr(holder, "__annotations__", None) or {})
    except NameError:  # from Python 3.14 on, evaluated only now
        import annotationlib  # type: ignore[import-not-found]

        forward = annotationlib.Format.FORWARDREF
        raw = dict(annotationlib.get_annotations(holder, format=forward))
    if not any(isinstance(value, str) for value in raw.values()):
        return raw
    scope = dict(getattr(holder, "__globals__", {}))
    if local_names is not None:
        scope.update(local_names())
    free = getattr(holder, "__code__", None)
    for name, cell in zip(free.co_freevars if free else (), holder.__closure__ or (), strict=True):
        try:
            scope[name] = cell.cell_contents
        except ValueError:
            continue  # not assigned yet
    return {name: _resolved(value, scope) for name, value in raw.items()}


def _resolved(value: "Any", scope: "dict[str, Any]") -> "Any":
    if not isinstance(value, str):
        return value
    try:
        # The author's own annotation, as Python itself would read it.
        return eval(value, scope)  # noqa: S307
    except Exception:  # noqa: BLE001 - imported for type checkers only: any value is allowed
        return object
