"""How the loader and its helper process talk: a length and JSON text, on a pipe. Never pickle."""

from __future__ import annotations

import json
import os
from typing import Any

__all__ = ["Closed", "LIMIT", "pack", "read", "read_exactly", "write"]

LIMIT = 256 * 1024 * 1024
"""Bytes of one frame; a definition that needs more is refused."""

HEAD = 8


class Closed(Exception):
    """The other side is gone."""


def pack(value: Any) -> bytes:
    """A frame."""
    body = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(
        "utf-8", "backslashreplace"
    )
    return len(body).to_bytes(HEAD, "big") + body


def write(fd: int, frame: bytes) -> None:
    """Write all of a frame, or raise `Closed`."""
    rest = memoryview(frame)
    try:
        while rest:
            rest = rest[os.write(fd, rest) :]
    except OSError as error:
        raise Closed from error


def read(fd: int) -> Any:
    """The value of the next frame; `Closed` when there is none."""
    size = int.from_bytes(read_exactly(fd, HEAD), "big")
    if size > LIMIT:
        raise Closed
    try:
        return json.loads(read_exactly(fd, size))
    except ValueError as error:  # whoever writes nonsense is not our helper any more
        raise Closed from error


def read_exactly(fd: int, size: int) -> bytes:
    """This many bytes."""
    parts = []
    while size:
        try:
            part = os.read(fd, min(size, 1 << 20))
        except OSError as error:
            raise Closed from error
        if not part:
            raise Closed
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
