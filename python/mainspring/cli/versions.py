"""``mainspring versions``, ``promote``, ``rollback``: which version of a task runs take."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from mainspring import _requests, _versions
from mainspring.cli._console import Console, clean
from mainspring.cli._settings import settings_of
from mainspring.cli._words import clock, iso
from mainspring.cli.runs import iso_date

__all__ = ["run"]

HEAD = ["VERSION", "STATE", "MADE", "TYPE", "HANDLER", "CODE", "SOURCE"]


def run(options: argparse.Namespace, console: Console) -> int:
    """Decide, if that is asked for, and print how the task stands."""
    settings = settings_of(options, console)
    ask = _ask(options)
    if ask is None:
        found = _requests.asker(settings.database).versions(options.task)
    else:
        found = _versions.decide(options.task, ask, database=settings.database)
    _print(found, console)
    console.document(_document(found, decided=ask is not None))
    return 0


def _ask(options: argparse.Namespace) -> dict[str, Any] | None:
    if options.verb == "versions":
        return None
    if options.verb == "rollback":
        return {"kind": "rollback", "version": options.number}
    share: dict[str, Any] | None = None
    if options.percent is not None:
        share = {"percent": options.percent}
    elif options.from_biz_date is not None:
        share = {"from_biz_date": iso_date(options.from_biz_date, "--from-biz-date")}
    return {"kind": "promote", "version": options.number, "share": share}


def _print(found: Mapping[str, Any], console: Console) -> None:
    if "changed" in found:
        console.line(_said(found))
    rows = [
        [
            str(row["version"]),
            _versions.state_of(found, row["version"]) or "-",  # type: ignore[arg-type]
            clock(row["created_at"]),
            clean(row["type"]),
            clean(row["handler"] or "-"),
            _short(row["code_hash"]),
            clean(row["source"] or "-"),
        ]
        for row in found["versions"]
    ]
    console.table(HEAD, rows, right=[0])


def _said(found: Mapping[str, Any]) -> str:
    """What was decided, in a sentence."""
    task = clean(found["task"])
    active = next(row["version"] for row in found["versions"] if row["active"])
    release = _versions.open_release(found)  # type: ignore[arg-type]
    if release is None:
        said = f"new runs take version {active}, and later ones as they are registered"
    elif release["share"] is None:
        said = f"new runs take version {active}, whatever is registered"
    elif "percent" in release["share"]:
        said = (f"{release['share']['percent']} % of the business dates take version "
                f"{release['version']}, the others {active}")
    else:
        said = (f"business dates from {release['share']['from_biz_date']} on take version "
                f"{release['version']}, earlier ones {active}")
    return f"{task}: {said}" + ("" if found["changed"] else " (as before)")


def _short(code: str | None) -> str:
    return "-" if code is None else clean(code.rpartition(":")[2][:8])


def _document(found: Mapping[str, Any], *, decided: bool) -> dict[str, Any]:
    document: dict[str, Any] = {
        "task": found["task"],
        "versions": [
            {
                **row,
                "state": _versions.state_of(found, row["version"]),  # type: ignore[arg-type]
                "created_at": iso(row["created_at"]),
            }
            for row in found["versions"]
        ],
        "releases": [
            {**row, "created_at": iso(row["created_at"]), "ended_at": iso(row["ended_at"])}
            for row in found["releases"]
        ],
    }
    if decided:
        document["changed"] = found["changed"]
    return document
