"""Instants as people give them: aware, or as the clock of a zone shows them.

Imported when the first rule is made, because importing the package loads no ``datetime``.
"""

from datetime import date, datetime, timedelta, timezone

from mainspring._mainspring import first_instant, instants_of
from mainspring._time import readable, zone_of
from mainspring.errors import Problem, SpecError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, NoReturn

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def refuse(code: str, place: str, message: str, hint: "str | None" = None) -> "NoReturn":
    """Raise a SpecError of one problem."""
    raise SpecError(Problem(code, place, message, hint))


def zone_or_default(zone: "str | None") -> str:
    """Return the zone, or without one the project's, or UTC."""
    if zone is not None:
        return zone
    from mainspring._config import settings

    return settings().timezone or "UTC"


def text_of(place: str, value: "Any") -> str:
    """Return text that the core can read."""
    if not isinstance(value, str):
        refuse("wrong_type", place, f"expected text, found {type(value).__name__}")
    try:
        value.encode()
    except UnicodeEncodeError:
        refuse("syntax", place, "the text has a lone surrogate")
    return value


def date_of(value: "Any") -> "str | None":
    """Return the ISO text of what is a date and no datetime."""
    if isinstance(value, date) and not isinstance(value, datetime):
        return value.isoformat()
    return None


def moment(value: "Any") -> "datetime":
    """Return a datetime, naive or aware, of a datetime, a date or ISO text."""
    if isinstance(value, datetime):
        return value
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day)
    if isinstance(value, str):
        try:
            return datetime.fromisoformat(readable(value.strip()))
        except ValueError:
            refuse("bad_date", "", f"{value[:40]!r} is not a date and time",
                   "ISO 8601, such as 2024-02-29T02:00:00 or 2024-02-29T02:00:00+08:00")
    refuse("wrong_type", "", f"expected a datetime, found {type(value).__name__}",
           "a datetime, a date or ISO text")


def wall_of(at: "datetime") -> int:
    """Return what a clock shows as seconds since it showed 1970, without its zone."""
    return (at.replace(tzinfo=timezone.utc, fold=0) - EPOCH) // timedelta(seconds=1)


def instant_in(zone: str, value: "Any") -> int:
    """Return microseconds since 1970 in UTC; what is naive, the clock of the zone shows.

    A time that the clock shows twice is the first one, or the second one with ``fold=1``. A time
    that it jumps over is the end of the gap.
    """
    at = value if isinstance(value, datetime) else moment(value)
    if at.tzinfo is not None:
        try:
            since = at - EPOCH
        except TypeError:  # its zone says nothing of this time
            at = at.replace(tzinfo=None)
        else:  # by hand: dividing it would cost more than all the rest
            return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
    wall = wall_of(at)
    found = instants_of(zone, wall)
    if not found:
        return first_instant(zone, wall)
    return found[-1 if at.fold else 0] + at.microsecond


def shown_in(zone: str, instants: "Sequence[int]") -> "list[datetime]":
    """Return microseconds since 1970 in UTC as datetimes of a zone."""
    tz = zone_of(zone)
    return [(EPOCH + timedelta(0, 0, at)).astimezone(tz) for at in instants]
