"""The rows that a plan of a backfill hands out."""

from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import date, datetime, timedelta


class Cell(NamedTuple):
    """A task and a business date, and what a plan says of it."""

    dag: str
    task: str
    biz_date: "date"
    nominal_at: "datetime | None"
    reason: str
    included: bool


class PlannedRun(NamedTuple):
    """A run that a plan makes: of these tasks and no others."""

    dag: str
    tasks: "tuple[str, ...]"
    biz_date: "date"
    nominal_at: "datetime"
    interval_start: "datetime"
    interval_end: "datetime"
    group: int


class Conflict(NamedTuple):
    """A cell that somebody else is computing: it is left out."""

    dag: str
    task: str
    biz_date: "date"
    nominal_at: "datetime"
    run: "int | None"
    backfill: "int | None"


class Estimate(NamedTuple):
    """How long a plan takes by how long its tasks took before."""

    p50: "timedelta | None"
    p90: "timedelta | None"
    no_history: "tuple[str, ...]"
