"""Fires as a column of a table: an array of numpy or pyarrow over bytes that the core packed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from mainspring._moment import refuse

__all__ = ["column"]


def column(kind: str, packed: bytes, timezone: str) -> Any:
    """Return microseconds since 1970, eight bytes each, as an array; nothing is copied."""
    if kind not in ("numpy", "arrow"):
        refuse("unknown_choice", "as_", f"`{kind}` is not a choice",
               "one of datetime, numpy, arrow")
    name = "pyarrow" if kind == "arrow" else "numpy"
    try:
        package = import_module(name)
    except ModuleNotFoundError:
        refuse("missing_package", "as_", f"{kind} needs a package that is not installed",
               f"pip install {name}")
    if kind == "numpy":
        return package.frombuffer(packed, "datetime64[us]")
    instants = package.timestamp("us", timezone)
    return package.Array.from_buffers(instants, len(packed) // 8,
                                      [None, package.py_buffer(packed)])
