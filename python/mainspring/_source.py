"""Where a handler is written, and a fingerprint of what is written there."""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType
    from typing import Any

_files: "dict[str, tuple[Any, list[str]]]" = {}
# A factory makes many functions of one code. The code is kept, so that its id stays its own.
_hashes: "dict[int, tuple[CodeType, list[str], str]]" = {}
_shown: "dict[tuple[str, str], str]" = {}


def code_of(func: "Callable[..., Any]") -> "CodeType | None":
    """Return the code of the author's function under wrappers, partials and callables."""
    for _ in range(20):
        if hasattr(func, "__wrapped__"):
            func = func.__wrapped__
        elif hasattr(func, "func"):
            func = func.func
        else:
            break
    if not hasattr(func, "__code__"):
        func = getattr(type(func), "__call__", func)  # noqa: B004
    return getattr(func, "__code__", None)


def place(func: "Callable[..., Any]") -> "str | None":
    """Return ``file:line`` of a function, the file relative to the working folder if below it."""
    code = code_of(func)
    return None if code is None else place_of(code)


def place_of(code: "CodeType") -> str:
    """Return the same of a function's code."""
    path = code.co_filename
    try:
        here = os.getcwd()
        inside = _shown.get((path, here))
        if inside is None:
            inside = _shown[path, here] = os.path.relpath(path, here)
    except (OSError, ValueError):
        inside = path
    return f"{path if inside.startswith('..') else inside}:{code.co_firstlineno}"


def fingerprint(func: "Callable[..., Any]") -> "str | None":
    """Return a hash that changes when the code of a function does.

    It is taken from the source, without the decorators and the common indentation; where there
    is no source, from the compiled code.
    """
    code = code_of(func)
    return None if code is None else fingerprint_of(code)


def fingerprint_of(code: "CodeType") -> str:
    """Return the same of a function's code."""
    try:
        from _blake2 import blake2b  # hashlib's own, without loading OpenSSL for it
    except ImportError:
        from hashlib import blake2b

    lines = _lines(code.co_filename)
    known = _hashes.get(id(code))
    if known is not None and known[0] is code and known[1] is lines:
        return known[2]
    text = _source(code, lines)
    data = text.encode("utf-8", "replace") if text else _compiled(code)
    found = str(blake2b(data, digest_size=16).hexdigest())
    if code.co_filename in _files:
        if len(_hashes) > 20_000:
            _hashes.clear()
        _hashes[id(code)] = (code, lines, found)
    return found


def _lines(path: str) -> "list[str]":
    linecache = sys.modules.get("linecache")
    cached = linecache.cache.get(path) if linecache is not None else None
    if cached is not None and len(cached) == 4 and cached[1] is None:
        return list(cached[2])  # a notebook cell: there is no file
    try:
        status = os.stat(path)
        stamp = (status.st_mtime_ns, status.st_size)
        known = _files.get(path)
        if known is None or known[0] != stamp:
            with open(path, encoding="utf-8", errors="replace") as file:
                known = _files[path] = (stamp, file.read().splitlines())
        return known[1]
    except (OSError, ValueError):
        return []


def _last_line(code: "CodeType") -> int:
    last, queue = code.co_firstlineno, [code]
    while queue:
        each = queue.pop()
        last = max(last, max((line or 0 for _, _, line in each.co_lines()), default=0))
        queue.extend(const for const in each.co_consts if hasattr(const, "co_lines"))
    return last


def _source(code: "CodeType", lines: "list[str]") -> str:
    lines = lines[code.co_firstlineno - 1 : _last_line(code)]
    for number, line in enumerate(lines):
        if line.lstrip().startswith(("def ", "async def ", "class ")):
            lines = lines[number:]
            break
    lines = [line.rstrip() for line in lines]
    indent = min((len(line) - len(line.lstrip()) for line in lines if line), default=0)
    return "\n".join(line[indent:] for line in lines)


def _compiled(code: "CodeType") -> bytes:
    parts, queue = [], [code]
    while queue:
        each = queue.pop()
        parts.append(each.co_code)
        parts.append(repr(each.co_names).encode("utf-8", "replace"))
        for const in each.co_consts:
            if hasattr(const, "co_code"):
                queue.append(const)
            else:
                plain = sorted(map(repr, const)) if isinstance(const, frozenset) else const
                parts.append(repr(plain).encode("utf-8", "replace"))
    return b"\0".join(parts)
