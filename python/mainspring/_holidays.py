"""Holidays of countries, from the packages ``holidays`` and ``chinesecalendar`` if installed."""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple

from mainspring._moment import refuse

__all__ = ["Days", "days_of"]

WEEKDAYS = ("MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN")


class Days(NamedTuple):
    """What a package knows of a country: dates as ISO text, weekdays as cron writes them."""

    holidays: list[str]
    workdays: list[str]
    """Days of the weekend on which people work."""
    weekdays: str
    names: dict[str, str]
    """What the packages call the holidays and make-up workdays."""


def days_of(country: str, years: tuple[int, int] | None) -> Days:
    """The holidays and make-up workdays of a country, or of a part of it such as ``DE-BY``."""
    if years is None:
        refuse("missing_field", "calendar.years", "a country's calendar needs its years",
               "years=(2020, 2026), first and last")
    first, last = years
    if not 1970 <= first <= last <= 2199:
        refuse("bad_range", "calendar.years", f"{first} to {last} are no years of a calendar",
               "first and last, from 1970 to 2199")
    code = country.upper()
    if code == "CN":
        try:
            return _chinese(import_module("chinese_calendar.constants"), first, last)
        except ModuleNotFoundError:
            pass
    try:
        package = import_module("holidays")
    except ModuleNotFoundError:
        wanted = "chinesecalendar" if code == "CN" else "holidays"
        refuse("missing_package", "calendar.country",
               f"the holidays of {country} are in a package that is not installed",
               f"pip install {wanted}")
    name, _, part = code.partition("-")
    try:
        found = package.country_holidays(name, subdiv=part or None, years=range(first, last + 1))
    except NotImplementedError as error:
        refuse("unknown_country", "calendar.country", str(error),
               "an ISO 3166 code such as DE, or DE-BY for a part of a country")
    weekdays = [word for number, word in enumerate(WEEKDAYS) if number not in found.weekend]
    worked = getattr(found, "weekend_workdays", ())
    return Days(_within(found, first, last), _within(worked, first, last), ",".join(weekdays),
                _named(found, first, last))


def _chinese(constants: Any, first: int, last: int) -> Days:
    known = {day.year for day in constants.holidays}
    missing = [str(year) for year in range(first, last + 1) if year not in known]
    if missing:
        refuse("unknown_year", "calendar.years",
               f"chinesecalendar knows {min(known)} to {max(known)}, and not {missing[0]}",
               "pip install --upgrade chinesecalendar; each year comes out late in the one before")
    return Days(_within(constants.holidays, first, last),
                _within(constants.workdays, first, last), "MON-FRI",
                _named({**constants.holidays, **constants.workdays}, first, last))


def _within(days: Any, first: int, last: int) -> list[str]:
    return [day.isoformat() for day in days if first <= day.year <= last]


def _named(days: Any, first: int, last: int) -> dict[str, str]:
    return {day.isoformat(): str(days[day]) for day in days if first <= day.year <= last}
