"""What the value of a setting may be; each function returns it as it is kept, or says what fits."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

LEVELS = ("debug", "info", "warning", "error")
PRIORITIES = ("urgent", "high", "normal", "low", "idle")
UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
SIZES = {"B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30}


class ValueProblem(Exception):
    """A value that does not fit its key; the message says what fits."""


def text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueProblem(f"must be a text, not {shown(value)}")
    if any(ord(letter) < 32 for letter in value):
        raise ValueProblem("must not contain control characters")
    return value


def count(least: int, most: int | None = None) -> Callable[[Any], int]:
    def check(value: Any) -> int:
        if isinstance(value, str) and re.fullmatch(r"\s*[+-]?[0-9]{1,18}\s*", value):
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            raise ValueProblem(f"must be a whole number, not {shown(value)}")
        if value < least or (most is not None and value > most):
            span = f"at least {least}" if most is None else f"{least} to {most}"
            raise ValueProblem(f"must be {span}, not {value}")
        return value

    return check


def one_of(*words: str) -> Callable[[Any], str]:
    def check(value: Any) -> str:
        word = value.strip().lower() if isinstance(value, str) else ""
        if word not in words:
            raise ValueProblem(f"must be one of {', '.join(words)}, not {shown(value)}")
        return word

    return check


def seconds(value: Any) -> float:
    parts = (
        re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*(ms|s|m|h|d)", value.strip())
        if isinstance(value, str)
        else None
    )
    if parts is None:
        raise ValueProblem(
            f"must be a duration with its unit, such as '30s' or '5m', not {shown(value)}"
        )
    return float(parts[1]) * UNITS[parts[2]]


def duration(value: Any) -> str:
    seconds(value)
    return str(value)


def flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueProblem(f"must be true or false, not {shown(value)}")
    return value


def texts(value: Any) -> list[str]:
    if not isinstance(value, (list, tuple)) or not all(isinstance(item, str) for item in value):
        raise ValueProblem(f"must be a list of texts, not {shown(value)}")
    return [text(item) for item in value]


def limits(value: Any) -> list[str] | dict[str, int]:
    if isinstance(value, dict):
        return {text(name): count(1)(slots) for name, slots in value.items()}
    return texts(value)


def pool(value: Any) -> tuple[int, str | None]:
    """Slots, alone or as ``{slots = 4, ageing = "30m"}``."""
    if not isinstance(value, dict):
        return count(0, 1_000_000)(value), None
    unknown = sorted(value.keys() - {"slots", "ageing"})
    if unknown:
        raise ValueProblem(f"has slots and ageing, and no {shown(unknown[0])}")
    if "slots" not in value:
        raise ValueProblem("needs a number of slots")
    ageing = value.get("ageing")
    return count(0, 1_000_000)(value["slots"]), None if ageing is None else duration(ageing)


def milliseconds(duration: str | None) -> int | None:
    """Return a duration of the settings as the core reads it.

    Examples
    --------
    >>> from mainspring._config_values import milliseconds
    >>> milliseconds("30m")
    1800000
    """
    return None if duration is None else round(seconds(duration) * 1000)


def backoff(value: Any) -> str:
    return one_of("fixed", "exponential")(value).upper()


def part(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise ValueProblem(f"must be a number from 0 to 1, not {shown(value)}")
    return float(value)


def priority(value: Any) -> int | str:
    if isinstance(value, str):
        return one_of(*PRIORITIES)(value)
    return count(0, 9)(value)


def zone(value: Any) -> str:
    name = text(value)
    if name == "UTC":
        return name
    from zoneinfo import ZoneInfo, available_timezones

    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        known = available_timezones()
        if known:  # a machine without zone data leaves the question to the core, which has its own
            raise ValueProblem(
                f"is not a time zone: {shown(name)}{nearest(name, known)}"
            ) from None
    return name


def table(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise ValueProblem(f"must be a table, not {shown(value)}")
    return value


def size(value: Any) -> int:
    """Bytes, as ``"64MB"``; a KB is 1024 of them."""
    parts = (
        re.fullmatch(r"([0-9]{1,9})\s*(B|KB|MB|GB)", value.strip().upper())
        if isinstance(value, str)
        else None
    )
    if parts is None:
        raise ValueProblem(f"must be a size with its unit, such as '64MB', not {shown(value)}")
    bytes_ = int(parts[1]) * SIZES[parts[2]]
    if not 1024 <= bytes_ <= 1 << 40:
        raise ValueProblem("must be 1KB to 1024GB")
    return bytes_


SCHEMES = ("s3", "gs", "az", "file")


def database(value: Any) -> str:
    from mainspring._place import check_place

    found = text(value)
    try:
        check_place(found)
    except ValueError as wrong:
        raise ValueProblem(str(wrong)) from None
    return found


def place(value: Any) -> str:
    """A folder, or ``s3://bucket/prefix``."""
    given = text(value).strip()
    given = given if given.endswith("://") else given.rstrip("/")
    scheme, mark, rest = given.partition("://")
    if not mark:
        if given.startswith(tuple(f"{word}:" for word in (*SCHEMES, "http", "https"))):
            raise ValueProblem(f"must be a folder or a URI such as 's3://bucket/prefix', "
                               f"not {shown(value)}")
        return given or "/"
    if scheme not in SCHEMES:
        raise ValueProblem(
            f"knows no {shown(scheme + '://')}{nearest(scheme, SCHEMES)}; there are a folder, "
            f"{', '.join(word + '://' for word in SCHEMES)}"
            + ("; the address of an S3-compatible server goes into AWS_ENDPOINT_URL"
               if scheme in ("http", "https") else "")
        )
    if scheme == "file":
        if not rest.startswith("/"):
            raise ValueProblem(f"needs three slashes and a whole path, not {shown(value)}")
        return given
    bucket, _, prefix = rest.partition("/")
    if "@" in bucket:
        raise ValueProblem("must not contain credentials; they come from the environment")
    if not re.fullmatch(r"[a-z0-9][a-z0-9._-]{1,62}", bucket):
        raise ValueProblem(f"names no bucket that can be: {shown(bucket)}")
    if prefix and not all(re.fullmatch(r"[\w.=-]+", part) and part.strip(".")
                          for part in prefix.split("/")):
        raise ValueProblem("has a prefix of letters, digits, `_`, `-`, `.`, `=` and `/` only")
    return given


def nearest(word: str, known: Iterable[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(word, list(known), n=1, cutoff=0.7)
    return f"; did you mean {near[0]!r}?" if near else ""


def shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
