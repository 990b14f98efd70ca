"""How a value that a task returns becomes JSON, and back.

What a downstream task gets is what was stored, also inside one process, so a dag behaves alike
everywhere. The mapping:

================================  =================================================
Python                            stored
================================  =================================================
None, bool, str, finite float     as they are
int                               as it is, within 64 bits
list, tuple, range                list
dict                              object; keys must be text
set, frozenset                    list, sorted where its members can be
date, datetime, time              ISO 8601 text, with all six digits of microseconds kept
timedelta                         ISO 8601 duration: ``PT90S``
Decimal, UUID, Path               text
Enum                              its value
dataclass, pydantic model         object
numpy scalar                      the Python number; NaN is refused like any other
bytes, tables, arrays, others     refused: write them somewhere and return the path
NaN, infinities, lone surrogates  refused: JSON has no such value
================================  =================================================

A parameter annotated with ``date``, ``datetime``, ``time``, ``timedelta``, ``Decimal``, ``UUID``,
``Path``, an Enum class, ``set``, ``frozenset`` or ``tuple`` gets its value back in that type.
"""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

DEEPEST = 100
"""Levels of nesting that a result may have."""

_PATH_HINT = "write it to a file or a table and return the path"


def to_json_ready(value: "Any") -> "Any":
    """Return ``value`` in lists, dicts, text, numbers, booleans and None only.

    Parameters
    ----------
    value : object
        What a task returns, or a static parameter.

    Raises
    ------
    TypeError
        Where a part of it is of a type that cannot be stored.
    ValueError
        Where a part of it is a number or a text that JSON does not have, nests deeper than
        100 levels or contains itself.

    Examples
    --------
    >>> from datetime import date
    >>> from mainspring._results import to_json_ready
    >>> to_json_ready({"day": date(2013, 1, 15), "parts": (1, 2)})
    {'day': '2013-01-15', 'parts': [1, 2]}
    """
    return _walk(value, DEEPEST)


def _walk(value: "Any", depth: int) -> "Any":
    if depth <= 0:
        raise ValueError(f"is nested more than {DEEPEST} levels deep (does it contain itself?)")
    kind = type(value)
    if value is None or kind is bool:
        return value
    if kind is str:
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            why = "is text with a lone surrogate, which UTF-8 cannot carry"
            raise ValueError(why) from None
        return value
    if kind is int:
        if -(2**63) <= value < 2**64:
            return value
        raise ValueError("is a whole number beyond 64 bits\n  hint: return it as text")
    if kind is float:
        if value - value == 0.0:
            return value
        raise ValueError("is not a finite number, and JSON has no word for it\n"
                         "  hint: return None")
    if kind is list or kind is tuple:
        return [_walk(item, depth - 1) for item in value]
    if kind is dict:
        for key in value:
            if not isinstance(key, str):
                raise TypeError(f"has a key of type {type(key).__name__}; keys must be text")
        return {_walk(str(k), 1): _walk(item, depth - 1) for k, item in value.items()}
    return _walk(fallback(value), depth - 1)


def fallback(obj: "Any") -> "Any":
    """Turn one object of a type that JSON does not have into one that is closer to it.

    The core calls this for what its own walker does not know, and walks what it gets. A message
    of refusal goes on after the place of the value: "is bytes, which JSON does not have".

    Raises
    ------
    TypeError
        When the type cannot be stored; the message says what to return instead.

    Examples
    --------
    >>> from decimal import Decimal
    >>> from mainspring._results import fallback
    >>> fallback(Decimal("1.10"))
    '1.10'
    """
    kind = type(obj)
    enum = sys.modules.get("enum")
    if enum is not None and isinstance(obj, enum.Enum):
        return obj.value
    if not _from(kind, "numpy"):
        if isinstance(obj, str):
            return str.__str__(obj)
        if isinstance(obj, int):
            return int(obj)
        if isinstance(obj, float):
            return float(obj)
    if isinstance(obj, dict):
        return dict(obj)
    if isinstance(obj, (list, tuple, range)):
        return list(obj)
    if isinstance(obj, (set, frozenset)):
        return _sorted(obj)
    if isinstance(obj, (bytes, bytearray, memoryview)):
        raise TypeError(f"is {kind.__name__}, which JSON does not have\n  hint: {_PATH_HINT}")
    found = _standard(obj)
    if found is not None:
        return found
    return _foreign(obj, kind)


def _standard(obj: "Any") -> "Any":
    """Types of the standard library; a module that nobody imported has no objects."""
    modules = sys.modules
    datetime = modules.get("datetime")
    if datetime is not None:
        if isinstance(obj, (datetime.date, datetime.time)):
            if _from(type(obj), "pandas") and getattr(obj, "nanosecond", None):
                raise TypeError(
                    "is an instant with nanoseconds, which would be lost\n"
                    "  hint: round it to microseconds with .floor('us')"
                )
            return obj.isoformat()
        if isinstance(obj, datetime.timedelta):
            return duration_text(obj)
    decimal = modules.get("decimal")
    if decimal is not None and isinstance(obj, decimal.Decimal):
        return str(obj)
    uuid = modules.get("uuid")
    if uuid is not None and isinstance(obj, uuid.UUID):
        return str(obj)
    pathlib = modules.get("pathlib")
    if pathlib is not None and isinstance(obj, pathlib.PurePath):
        return str(obj)
    return None


def _foreign(obj: "Any", kind: type) -> "Any":
    dataclass_fields = getattr(kind, "__dataclass_fields__", None)
    if dataclass_fields is not None and not isinstance(obj, type):
        return {name: getattr(obj, name) for name in dataclass_fields if hasattr(obj, name)}
    dump = getattr(obj, "model_dump", None)
    if callable(dump) and "pydantic" in sys.modules:
        return dump(mode="json")
    if _from(kind, "numpy"):
        if kind.__name__ == "datetime64":
            return str(obj)
        if getattr(obj, "shape", None) == () and hasattr(obj, "item"):
            plain = obj.item()
            if type(plain) is not kind:
                return plain
        raise TypeError(f"is a numpy {kind.__name__}\n  hint: .tolist() where it is small, "
                        f"else {_PATH_HINT}")
    if hasattr(kind, "to_parquet") or hasattr(kind, "write_parquet") or hasattr(kind, "to_pandas"):
        raise TypeError(f"is a table ({_name(kind)})\n  hint: {_PATH_HINT}")
    if hasattr(obj, "__next__"):
        raise TypeError(f"is of type {_name(kind)}, which can be read only once\n"
                        "  hint: return list(...) where it is small, else " + _PATH_HINT)
    raise TypeError(f"is of type {_name(kind)}, which is not JSON\n  hint: return plain values "
                    f"(text, numbers, lists, dicts), or {_PATH_HINT}")


def _sorted(members: "Any") -> "list[Any]":
    try:
        return sorted(members)
    except Exception:  # noqa: BLE001 - members of several types have no order
        return list(members)


def _from(kind: type, package: str) -> bool:
    return (kind.__module__ or "").partition(".")[0] == package


def _name(kind: type) -> str:
    module = kind.__module__
    return kind.__qualname__ if module == "builtins" else f"{module}.{kind.__qualname__}"


def duration_text(delta: "Any") -> str:
    """Return a timedelta as an ISO 8601 duration in seconds.

    Examples
    --------
    >>> from datetime import timedelta
    >>> from mainspring._results import duration_text
    >>> duration_text(timedelta(minutes=1, seconds=30))
    'PT90S'
    >>> duration_text(timedelta(milliseconds=-1500))
    '-PT1.5S'
    """
    micros = (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds
    sign = "-" if micros < 0 else ""
    seconds, rest = divmod(abs(micros), 1_000_000)
    fraction = f".{rest:06d}".rstrip("0") if rest else ""
    return f"{sign}PT{seconds}{fraction}S"


def duration_value(value: "Any") -> "Any":
    """Read a duration: a timedelta as it is, ``90s``, ``1h30m``, ``PT90S``, ``-PT1.5S``.

    Examples
    --------
    >>> from mainspring._results import duration_value
    >>> duration_value("1h30m")
    datetime.timedelta(seconds=5400)
    >>> duration_value("PT1.5S")
    datetime.timedelta(seconds=1, microseconds=500000)
    """
    import re
    from datetime import timedelta

    if isinstance(value, timedelta):
        return value
    units = {"w": 7 * 86_400_000_000, "d": 86_400_000_000, "h": 3_600_000_000,
             "m": 60_000_000, "s": 1_000_000, "ms": 1_000}
    text = value.strip().lower() if isinstance(value, str) else ""
    iso = re.fullmatch(
        r"(-?)p(?:(\d+)w)?(?:(\d+)d)?(?:t(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d{1,6})?)s)?)?", text
    )
    if iso and any(iso.groups()[1:]):
        numbers = list(zip(iso.groups()[1:], "wdhms", strict=True))
        sign = -1 if iso.group(1) else 1
    elif re.fullmatch(r"(?:\d+(?:\.\d{1,6})?\s*(?:ms|[wdhms])\s*)+", text):
        numbers = re.findall(r"(\d+(?:\.\d{1,6})?)\s*(ms|[wdhms])", text)
        sign = 1
    else:
        raise ValueError(f"{value!r} is not a duration\n  hint: '30s', '1h30m' or a timedelta")
    micros = 0
    for number, unit in numbers:
        whole, _, part = (number or "0").partition(".")
        micros += int(whole) * units[unit] + int((part or "0").ljust(6, "0")) * units[unit] // 10**6
    return timedelta(microseconds=sign * micros)
