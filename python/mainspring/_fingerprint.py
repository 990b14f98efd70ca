"""What the output of a task can be told by: two fingerprints that are equal are of one output."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

LONGEST = 128
"""Characters of a fingerprint that is kept as it is; of a longer one the hash is."""


def text_of(value: "Any", what: str = "a fingerprint") -> str:
    """Return a fingerprint as it is kept: text, a whole number, or bytes in hexadecimal digits.

    What would be longer than 128 characters is kept as its SHA-256.

    Examples
    --------
    >>> from mainspring._fingerprint import text_of
    >>> text_of("etag-7"), text_of(42), text_of(b"\\x01\\xff")
    ('etag-7', '42', '01ff')
    >>> len(text_of("x" * 1000))
    64
    """
    from hashlib import sha256

    from mainspring.errors import Fail

    if isinstance(value, bool) or not isinstance(value, (str, int, bytes, bytearray, memoryview)):
        raise Fail(f"{what} is text, a whole number or bytes, and not {type(value).__name__}",
                   code="FINGERPRINT")
    if isinstance(value, int):
        # Long ones have no decimal text; hexadecimal digits say as much.
        text = str(value) if value.bit_length() <= 400 else hex(value)
    elif isinstance(value, str):
        text = value
    else:
        raw = bytes(value)
        return raw.hex() if len(raw) * 2 <= LONGEST else sha256(raw).hexdigest()
    if not text:
        raise Fail(f"{what} is empty, and tells nothing", code="FINGERPRINT")
    if len(text) > LONGEST or not text.isprintable():
        return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return text


def declaring(fn: "Callable[..., Any]", of: "Callable[[Any], Any]",
              is_async: bool) -> "Callable[..., Any]":
    """Return a handler that says its fingerprint when it has returned: what ``of`` makes of it."""
    from functools import wraps

    if is_async:
        @wraps(fn)
        async def awaited(**kwargs: "Any") -> "Any":
            value = await fn(**kwargs)
            _declare(of, value)
            return value

        return awaited

    @wraps(fn)
    def called(**kwargs: "Any") -> "Any":
        from mainspring._host import invoke

        value = invoke(fn, kwargs)
        _declare(of, value)
        return value

    return called


def _declare(of: "Callable[[Any], Any]", value: "Any") -> None:
    from mainspring._context import current
    from mainspring.errors import Fail

    core = current.get()
    try:
        text = text_of(of(value), "what fingerprint= gives")
    except Fail:
        raise
    except Exception as error:
        kind = type(error).__name__
        raise Fail(f"the handler ran, but its fingerprint= raised {kind}: {error}",
                   code="FINGERPRINT") from error
    if core is not None:
        core.say_fingerprint(text)
