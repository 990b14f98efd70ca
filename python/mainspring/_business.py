"""``calendar``: named sets of days, such as the workdays of a country."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import date
    from os import PathLike
    from typing import Any, TypeAlias

    from mainspring import _mainspring
    from mainspring._rule import Rule

    Days: TypeAlias = "date | str | Rule | Calendar"


class Calendar:
    """A named set of days on which something is open; :func:`calendar` makes it.

    ``day in cal`` asks for one day. With ``biz_offset="-1 workday"`` :func:`biz_dates` counts in
    its days.

    Attributes
    ----------
    name : str
        What it is called.
    years : tuple of int
        First and last year that it knows; of other days it refuses to say anything.

    Examples
    --------
    >>> import mainspring as ms
    >>> cal = ms.calendar("office", exclude=["2024-12-25", "2024-12-26"])
    >>> cal.is_open("2024-12-25"), "2024-12-27" in cal
    (False, True)
    """

    __slots__ = ("_core", "name", "years")

    def __init__(self, name: str, core: "_mainspring.Calendar", years: "tuple[int, int]") -> None:
        self.name = name
        self.years = years
        self._core = core

    def is_open(self, day: "date | str") -> bool:
        """Return whether the day is in the set.

        Parameters
        ----------
        day : date or str
            The day.

        Examples
        --------
        >>> import mainspring as ms
        >>> ms.calendar("weekdays").is_open("2024-06-01")      # a Saturday
        False
        """
        return self._core.is_open(self._known(day))

    def add_days(self, day: "date | str", n: int) -> "date":
        """Return the day some open days on, or back if ``n`` is negative; 0 is the day itself.

        Parameters
        ----------
        day : date or str
            The day to start from, open or not.
        n : int
            How many open days.

        Examples
        --------
        >>> import mainspring as ms
        >>> str(ms.calendar("weekdays").add_days("2024-06-03", -1))
        '2024-05-31'
        """
        from mainspring._time import day as read

        found = self._core.add_days(self._known(day), n)
        if found is None:
            found = f"{self.years[1] + 1}-01-01"
        return read(self._known(found))

    def days(self, start: "date | str", end: "date | str") -> "list[date]":
        """Return the open days of a range, both ends included.

        Parameters
        ----------
        start, end : date or str
            First and last day.

        Examples
        --------
        >>> import mainspring as ms
        >>> len(ms.calendar("weekdays").days("2024-02-01", "2024-02-29"))
        21
        """
        from mainspring._time import day as read

        return [read(day) for day in self._core.days(self._known(start), self._known(end))]

    def _known(self, day: "Any") -> str:
        from mainspring._moment import refuse
        from mainspring._schedule import iso_date

        text = iso_date(day)
        first, last = self.years
        if text[:4].isdigit() and not first <= int(text[:4]) <= last:
            refuse("out_of_range", f"calendar {self.name}",
                   f"{text} is outside the years {first} to {last} that it knows")
        return text

    def __contains__(self, day: object) -> bool:
        return self.is_open(day)  # type: ignore[arg-type]

    def __repr__(self) -> str:
        return f"Calendar({self.name!r}, years={self.years})"


def calendar(
    name: str,
    *,
    weekdays: "str | None" = None,
    include: "Iterable[Days]" = (),
    exclude: "Iterable[Days]" = (),
    ics: "str | PathLike[str] | None" = None,
    country: "str | None" = None,
    years: "tuple[int, int] | None" = None,
) -> Calendar:
    """Return a calendar: weekdays, less holidays, plus make-up workdays.

    Parameters
    ----------
    name : str
        What it is called in messages.
    weekdays : str, optional
        Open weekdays as cron writes them; by default those of the country, or ``"MON-FRI"``.
    include, exclude : iterable of date, str, Rule or Calendar
        Days to add and to take away: dates, every day that a cron rule can match, or the days of
        another calendar. What is included wins over everything else.
    ics : str or path, optional
        An iCalendar file whose events are holidays.
    country : str, optional
        ISO 3166 code such as ``"DE"`` or ``"DE-BY"``: its holidays, from the package ``holidays``;
        of ``"CN"`` with its make-up workdays, from ``chinesecalendar`` where that is installed.
    years : tuple of int, optional
        First and last year; required with ``country``, because nobody knows all of them.

    Raises
    ------
    SpecError
        With a ``code``: ``bad_date``, ``out_of_range``, ``missing_package``, ``unknown_country``,
        ``unknown_year``, and those of :func:`cron` for weekdays.

    Examples
    --------
    >>> import mainspring as ms
    >>> cal = ms.calendar("shop", weekdays="MON-SAT", exclude=[ms.cron("0 0 25,26 12 *")],
    ...                   include=["2024-12-22"])           # a Sunday
    >>> [day.day for day in cal.days("2024-12-20", "2024-12-27")]
    [20, 21, 22, 23, 24, 27]
    """
    from mainspring._mainspring import Calendar as Core
    from mainspring._mainspring import Rule as CoreRule

    closed, made_up = Core(name), Core(name)
    if country is not None:
        from mainspring._holidays import days_of

        found = days_of(country, years)
        closed, made_up = closed.include(found.holidays), made_up.include(found.workdays)
        weekdays = weekdays or found.weekdays
    if ics is not None:
        closed = closed.union(Core.from_ics(name, _text_of(ics)))
    closed, made_up = _joined(name, closed, exclude), _joined(name, made_up, include)
    open_days = Core(name, CoreRule.cron(f"0 0 * * {weekdays or 'MON-FRI'}", "UTC"))
    return Calendar(name, open_days.minus(closed).union(made_up), years or (1970, 2199))


def _joined(
    name: str, core: "_mainspring.Calendar", items: "Iterable[Days]"
) -> "_mainspring.Calendar":
    """The days with those of all items."""
    from mainspring._mainspring import Calendar as Core
    from mainspring._rule import Rule
    from mainspring._schedule import iso_date

    single = isinstance(items, (str, Rule, Calendar)) or hasattr(items, "isoformat")
    given: Any = [items] if single else items
    dates = []
    for item in given:
        if isinstance(item, Calendar):
            core = core.union(item._core)
        elif isinstance(item, Rule):
            core = core.union(Core(name, item._core))
        else:
            dates.append(iso_date(item))
    return core.include(dates)


def _text_of(path: "str | PathLike[str]") -> str:
    try:
        with open(path, encoding="utf-8-sig") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        from mainspring._moment import refuse

        refuse("unreadable", "ics", f"cannot read {path}: {error}")
