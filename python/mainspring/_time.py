"""Instants and dates of the store as Python's own."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import date, datetime, timedelta, tzinfo
    from typing import Any


def zone_of(name: str) -> "tzinfo":
    """Return a zone by its IANA name; UTC where this machine does not know it."""
    from datetime import timezone

    if name == "UTC":
        return timezone.utc
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        return timezone.utc


def aware(micros: int, zone: str) -> "datetime":
    """Return an instant of the store as an aware datetime; the core calls this."""
    return instant(micros, zone)  # type: ignore[return-value]


def parse(kind: str, text: str) -> "Any":
    """Read a parameter of type ``date``, ``datetime`` or ``duration``; the core calls this."""
    import datetime

    if kind == "duration":
        from mainspring._results import duration_value

        return duration_value(text)
    if kind == "date":
        return datetime.date.fromisoformat(text)
    return datetime.datetime.fromisoformat(readable(text))


def readable(text: str) -> str:
    """Return ISO 8601 text in the form that Python 3.10 reads."""
    return text[:-1] + "+00:00" if text.endswith(("Z", "z")) else text


def micros_of(at: "datetime") -> int:
    """Return an aware datetime as the store has it."""
    from datetime import datetime, timedelta, timezone

    return (at - datetime(1970, 1, 1, tzinfo=timezone.utc)) // timedelta(microseconds=1)


def instant(micros: "int | None", zone: str) -> "datetime | None":
    """Return microseconds since 1970 in UTC as an aware datetime in ``zone``."""
    return None if micros is None else known_instant(micros, zone)


def known_instant(micros: int, zone: str) -> "datetime":
    """Return microseconds since 1970 in UTC as an aware datetime in ``zone``."""
    from datetime import datetime, timedelta, timezone

    utc = datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(microseconds=micros)
    return utc.astimezone(zone_of(zone))


def day(text: str) -> "date":
    """Return an ISO date."""
    from datetime import date

    return date.fromisoformat(text)


def span(begin: "int | None", end: "int | None") -> "timedelta | None":
    """Return the time between two instants; until now where the second is still to come."""
    if begin is None:
        return None
    from datetime import timedelta

    if end is None:
        import time

        end = int(time.time() * 1_000_000)
    return timedelta(microseconds=max(0, end - begin))
