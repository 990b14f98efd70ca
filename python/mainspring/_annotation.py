"""An annotation of a handler's argument as a parameter type, and the way back to its class."""

import sys
import types

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_PLAIN = {str: "str", bool: "bool", int: "int", float: "float", list: "list", dict: "object"}
_LISTS = ("Sequence", "MutableSequence", "Iterable", "Collection", "Set", "AbstractSet")
_OBJECTS = ("Mapping", "MutableMapping")


class Kind:
    """What values an argument takes: the core's type word, and how to make them its class."""

    __slots__ = ("choices", "convert", "nullable", "word")

    def __init__(
        self,
        word: str = "any",
        *,
        nullable: bool = False,
        choices: "list[Any] | None" = None,
        convert: "Callable[[Any], Any] | None" = None,
    ) -> None:
        self.word = word
        self.nullable = nullable
        self.choices = choices
        self.convert = convert

    def or_none(self) -> "Kind":
        return Kind(self.word, nullable=True, choices=self.choices, convert=self.convert)

    def __repr__(self) -> str:
        return f"Kind({self.word!r}, nullable={self.nullable}, choices={self.choices})"


def kind_of(annotation: "Any") -> Kind:
    """Return what values an annotation allows; one that we do not know allows any.

    Examples
    --------
    >>> from mainspring._annotation import kind_of
    >>> kind_of(int | None)
    Kind('int', nullable=True, choices=None)
    """
    for _ in range(20):  # Annotated, NewType and aliases may be nested
        if getattr(annotation, "__metadata__", None) is not None:
            annotation = annotation.__origin__
        elif getattr(annotation, "__supertype__", None) is not None:
            annotation = annotation.__supertype__
        elif type(annotation).__name__ == "TypeAliasType":
            annotation = annotation.__value__
        else:
            break
    if annotation is None or annotation is type(None):
        return Kind(nullable=True)
    origin = getattr(annotation, "__origin__", None)
    if isinstance(annotation, types.UnionType) or str(origin) == "typing.Union":
        return _union(annotation.__args__)
    if str(origin) == "typing.Literal":
        return _literal(annotation.__args__)
    cls = origin if isinstance(origin, type) else annotation
    return _of_class(cls) if isinstance(cls, type) else Kind()


def _union(members: "tuple[Any, ...]") -> Kind:
    some = [member for member in members if member is not type(None)]
    nullable = len(some) < len(members)
    if len(some) == 1:
        found = kind_of(some[0])
    elif set(some) == {int, float}:
        found = Kind("float")
    else:
        found = Kind()
    return found.or_none() if nullable else found


def _literal(members: "tuple[Any, ...]") -> Kind:
    some = [member for member in members if member is not None]
    enum = sys.modules.get("enum")
    values = [m.value if enum and isinstance(m, enum.Enum) else m for m in some]
    return Kind("enum", nullable=len(some) < len(members), choices=values)


def _of_class(cls: type) -> Kind:
    word = _PLAIN.get(cls)
    if word is not None:
        return Kind(word)
    enum = sys.modules.get("enum")
    if enum is not None and issubclass(cls, enum.Enum):
        return _of_enum(cls)
    if cls in (tuple, set, frozenset):
        return Kind("list", convert=cls)
    if cls.__module__ == "collections.abc":
        if cls.__name__ in _LISTS:
            return Kind("list")
        if cls.__name__ in _OBJECTS:
            return Kind("object")
    found = _of_standard(cls)
    if found is not None:
        return found
    return Kind("object") if issubclass(cls, dict) else Kind()


def _of_enum(cls: "Any") -> Kind:
    values = [member.value for member in cls]
    plain = all(type(value) in (str, int, float, bool) for value in values)

    def to_member(value: "Any") -> "Any":
        return value if value is None else cls(value)

    return Kind("enum", choices=values, convert=to_member) if plain else Kind()


def _of_standard(cls: "Any") -> "Kind | None":
    """Classes of the standard library; a module that nobody imported annotates nothing."""
    module, name = cls.__module__, cls.__name__
    if module == "datetime":
        if name == "timedelta":
            from mainspring._results import duration_value

            return Kind("duration", convert=_unless_none(duration_value))
        if name in ("date", "datetime", "time"):
            word = "str" if name == "time" else name
            return Kind(word, convert=_from_iso(cls))
    if module in ("decimal", "_decimal", "_pydecimal") and name == "Decimal":
        return Kind(convert=_unless_none(lambda value: cls(str(value))))
    if module == "uuid" and name == "UUID":
        return Kind("str", convert=_unless_none(lambda value: cls(str(value))))
    if module.partition(".")[0] == "pathlib" and hasattr(cls, "with_suffix"):
        return Kind("str", convert=_unless_none(cls))
    return None


def _unless_none(convert: "Callable[[Any], Any]") -> "Callable[[Any], Any]":
    return lambda value: None if value is None else convert(value)


def _from_iso(cls: "Any") -> "Callable[[Any], Any]":
    from mainspring._time import readable

    def convert(value: "Any") -> "Any":
        if not isinstance(value, str):
            return value
        return cls.fromisoformat(readable(value))

    return convert


def misfit(kind: Kind, value: "Any") -> "str | None":
    """Say why a JSON value is none of ``kind``, or None when it is one."""
    if value is None:
        if kind.nullable or kind.word == "any":
            return None
        return f"must be {_a(kind)}, and None is not allowed"
    expected = {"str": str, "bool": bool, "int": int, "list": list, "object": dict,
                "date": str, "datetime": str}.get(kind.word)
    if kind.word == "float":
        fits = isinstance(value, (int, float)) and not isinstance(value, bool)
    elif kind.word == "enum":
        fits = any(value == c and type(value) is type(c) for c in kind.choices or ())
    elif kind.word == "int":
        fits = isinstance(value, int) and not isinstance(value, bool)
    else:
        fits = expected is None or isinstance(value, expected)
    if fits and kind.convert is not None:
        try:
            kind.convert(value)
        except Exception:  # noqa: BLE001 - whatever it says, the value does not fit
            fits = False
    return None if fits else f"must be {_a(kind)}, not {_short(value)}"


def _a(kind: Kind) -> str:
    if kind.word == "enum":
        return "one of " + ", ".join(repr(choice) for choice in kind.choices or ())
    words = {"int": "an int", "object": "a dict", "date": "a date yyyy-mm-dd",
             "datetime": "an ISO 8601 date and time", "duration": "a duration such as '30s'"}
    return words.get(kind.word, f"a {kind.word}")


def _short(value: "Any") -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
