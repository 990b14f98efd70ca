"""Static arguments with placeholders: which they are, and what their filled-in values become."""

from mainspring._annotation import misfit
from mainspring.errors import Fail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from mainspring._annotation import Kind
    from mainspring._signature import Signature

__all__ = ["RenderError", "converters", "has_placeholder"]


class RenderError(Fail):
    """What was filled in is nothing that the argument takes; the next try would get the same."""


def has_placeholder(value: "Any") -> bool:
    """Return whether the value is text that a run may fill in; the core reads it.

    Examples
    --------
    >>> from mainspring._filled import has_placeholder
    >>> has_placeholder("${biz_date}"), has_placeholder("5 $"), has_placeholder(5)
    (True, False, False)
    """
    return isinstance(value, str) and ("${" in value or "$[" in value)


def converters(
    signature: "Signature", static: "Mapping[str, Any]"
) -> "dict[str, Callable[[Any], Any]]":
    """Return what makes filled-in text the value that an argument's annotation wants.

    A year is a number also where it comes out of a text: ``year: int`` takes
    ``"${biz_date:yyyy}"``.

    Examples
    --------
    >>> from mainspring._filled import converters
    >>> from mainspring._signature import read_signature
    >>> def load(year: int, table: str): ...
    >>> found = converters(read_signature(load), {"year": "${biz_date:yyyy}", "table": "trips"})
    >>> found["year"]("2024")
    2024
    >>> found["year"]("2024-02")
    Traceback (most recent call last):
    mainspring._filled.RenderError: year: must be an int, not '2024-02'
    """
    return {
        name: _converter(name, argument.kind, "${secret:" in static[name])
        for name, argument in signature.arguments.items()
        if has_placeholder(static.get(name))
    }


def _converter(name: str, kind: "Kind", secret: bool) -> "Callable[[Any], Any]":
    def convert(value: "Any") -> "Any":
        if isinstance(value, str) and kind.word in ("int", "float", "bool"):
            value = _read(value)
        complaint = misfit(kind, value)
        if complaint is not None:
            if secret:  # the message is kept, and the secret must not be
                complaint = "what the secret was filled into is none of its type"
            raise RenderError(f"{name}: {complaint}", code="RENDER") from None
        return value if kind.convert is None else kind.convert(value)

    return convert


def _read(text: str) -> "Any":
    """Read a number, true or false; text that is none of them stays text."""
    import json

    try:
        # 007 is how a month may be written, and 7 is meant.
        return int(text) if text.isascii() and text.isdigit() else json.loads(text)
    except ValueError:
        return text
