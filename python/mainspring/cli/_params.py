"""``--param name=value``: text as the parameter's type reads it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from mainspring.cli._console import clean
from mainspring.cli._stop import Stop

__all__ = ["read_params"]

TEXTS = {"str", "date", "datetime", "duration"}


def read_params(given: Iterable[str], definition: Mapping[str, Any] | None) -> dict[str, Any]:
    """The values of a run; whether they fit is for the core to say, of all of them at once."""
    kinds: dict[str, set[str]] = {}
    for task in (definition or {}).get("tasks", []):
        for param in task.get("param_schema", []):
            kinds.setdefault(param["name"], set()).add(param["type"])
    values: dict[str, Any] = {}
    for item in given:
        name, mark, text = item.partition("=")
        name = name.strip()
        if not mark or not name:
            raise Stop(f"--param {clean(item)!r} is not NAME=VALUE", None, 2)
        if name in values:
            raise Stop(f"--param {clean(name)} is given twice", None, 2)
        values[name] = _value(text, kinds.get(name, {"any"}))
    return values


def _value(text: str, kinds: set[str]) -> Any:
    if text == "null":
        return None
    if kinds & TEXTS:
        return text
    if kinds == {"bool"}:
        word = text.strip().lower()
        if word in ("true", "yes", "on", "1"):
            return True
        if word in ("false", "no", "off", "0"):
            return False
    try:
        value = json.loads(text, parse_constant=_refused)
    except ValueError:
        return text
    return float(value) if kinds == {"float"} and type(value) is int else value


def _refused(word: str) -> Any:
    raise ValueError(word)
