"""``slot``: which of several fires that a schedule has for one business date."""

from mainspring._moment import refuse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from mainspring._dag import Dag

__all__ = ["nominal_of"]

MOST = 100_000
"""Fires of a date that are told apart: more than a day has seconds."""


def nominal_of(dag: "Dag", biz_date: "str | None", nominal_at: "Any", slot: "Any") -> "int | None":
    """Return the instant of the fire in a slot of a business date, the first being 1.

    None where the dag has no fire for the date: the core says so, with the next that it has.
    """
    from mainspring._mainspring import check_dag
    from mainspring._targets import targets_of

    place = f"{dag.name}.slot"
    if isinstance(slot, bool) or not isinstance(slot, int):
        refuse("wrong_type", place, f"expected a whole number, found {type(slot).__name__}",
               "1 is the first fire for the date")
    if biz_date is None:
        refuse("no_date", place, "a slot is one of a business date, and there is none",
               "give biz_date too")
    if nominal_at is not None:
        refuse("duplicate_field", place, "slot and nominal_at both name the instant",
               "give one of them")
    targets = [each for each in targets_of(check_dag(dag.spec())) if each.task is None]
    rows = targets[0].table.backfill(biz_date, biz_date, MOST) if targets else []
    rows.sort(key=lambda row: (row[1], row[0]))
    there = len(rows) if targets else 1
    if there and not 1 <= slot <= there:
        hint = f"slots 1 to {there}" if there > 1 else "slot 1, or none"
        runs = "1 run" if there == 1 else f"{there} runs"
        refuse("no_slot", place, f"there is no slot {slot}: {dag.name} has {runs} for {biz_date}",
               hint)
    return rows[slot - 1][0] if rows else None
