"""``Rule``: when something fires, and what can be asked of it."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import date, datetime
    from typing import Any, Literal, TypeVar, overload

    from mainspring import _mainspring

    When = datetime | date | str
    Fires = TypeVar("Fires", list[int], list[datetime], bytes)
else:
    from mainspring._typing import overload
MOST = 1_000_000
"""Fires that :meth:`Rule.between` makes unless it is told otherwise."""


class Rule:
    """When something fires: what :func:`cron`, :func:`every` and :func:`at` make.

    Instants are given as aware datetimes, or as naive ones, dates or ISO text that the clock of
    the rule's zone shows. What comes back is aware, in the rule's zone. ``print(rule)`` shows the
    next fires; ``repr(rule)`` is the same whatever the time.

    Attributes
    ----------
    kind : str
        ``"cron"``, ``"every"`` or ``"at"``.
    expression : str
        As it was written.
    canonical : str
        The shortest plain way to write the same.
    timezone : str
        IANA name of the zone whose clock it reads.
    names_zone : bool
        Whether it was made with a zone; a dag gives its own to a rule that was not.

    Examples
    --------
    >>> import mainspring as ms
    >>> rule = ms.cron("30 2 * * *", timezone="America/New_York")
    >>> rule
    cron('30 2 * * *', timezone='America/New_York')
    >>> for fire in rule.next("2024-03-09", n=3):     # there is no 02:30 on 10 March
    ...     print(fire)
    2024-03-09 02:30:00-05:00
    2024-03-10 03:00:00-04:00
    2024-03-11 02:30:00-04:00
    """

    __slots__ = ("_core", "_options", "_read", "_zone", "expression", "names_zone", "timezone")

    def __init__(self, expression: str, core: "_mainspring.Rule", names_zone: bool,
                 options: "dict[str, Any]") -> None:
        from functools import partial

        from mainspring import _moment
        from mainspring._time import zone_of

        self.expression = expression
        self.timezone = core.timezone
        self.names_zone = names_zone
        self._core = core
        self._options = options
        self._read = partial(_moment.instant_in, self.timezone)
        self._zone = zone_of(self.timezone)

    @property
    def kind(self) -> str:
        return self._core.kind

    @property
    def canonical(self) -> str:
        return self._core.canonical

    def next(self, after: "When", n: int = 1) -> "list[datetime]":
        """Return the first fires strictly after an instant.

        Parameters
        ----------
        after : datetime, date or str
            The instant; text is ISO 8601.
        n : int, default 1
            How many; fewer come back when the rule ends before.

        Examples
        --------
        >>> import mainspring as ms
        >>> ms.cron("@monthly").next("2024-02-29")[0].isoformat()
        '2024-03-01T00:00:00+00:00'
        """
        if n < 0:
            _refuse_count(n)
        return self._core.next_shown(self._read(after), n, self._zone)

    def prev(self, before: "When", n: int = 1) -> "list[datetime]":
        """Return the last fires strictly before an instant, latest first.

        Parameters
        ----------
        before : datetime, date or str
            The instant; text is ISO 8601.
        n : int, default 1
            How many; fewer come back when the rule begins later.

        Examples
        --------
        >>> import mainspring as ms
        >>> [str(fire.date()) for fire in ms.cron("0 0 L * *").prev("2024-03-15", n=2)]
        ['2024-02-29', '2024-01-31']
        """
        if n < 0:
            _refuse_count(n)
        return self._core.prev_shown(self._read(before), n, self._zone)

    @overload
    def between(self, start: "When", end: "When", *, most: "int | None" = MOST,
                as_: "Literal['datetime']" = "datetime") -> "list[datetime]": ...
    @overload
    def between(self, start: "When", end: "When", *,  # noqa: F811
                most: "int | None" = MOST, as_: "Literal['numpy', 'arrow']") -> "Any": ...
    def between(  # noqa: F811
        self, start: "When", end: "When", *, most: "int | None" = MOST, as_: str = "datetime"
    ) -> "Any":
        """Return the fires from one instant, included, to another, not included.

        Parameters
        ----------
        start, end : datetime, date or str
            The instants; text is ISO 8601.
        most : int or None, default 1,000,000
            Refuse to make more than so many; None makes any number.
        as_ : {"datetime", "numpy", "arrow"}
            A list of aware datetimes; or a column made without an object for each fire: a numpy
            array of ``datetime64[us]``, which is UTC, or an array of pyarrow with the rule's zone.

        Raises
        ------
        SpecError
            ``too_many`` where there are more; ``missing_package`` without numpy or pyarrow.

        Examples
        --------
        >>> import mainspring as ms
        >>> rule = ms.every("6h", timezone="Asia/Shanghai")
        >>> [fire.hour for fire in rule.between("2024-01-01", "2024-01-02")]
        [0, 6, 12, 18]
        """
        if as_ != "datetime":
            from mainspring._column import column

            packed = self._bounded(self._core.between_packed, 8, start, end, most)
            return column(as_, packed, self.timezone)
        zone = self._zone

        def made(start: int, end: int, limit: "int | None") -> "list[datetime]":
            return self._core.between_shown(start, end, limit, zone)

        return self._bounded(made, 1, start, end, most)

    def micros(self, start: "When", end: "When", *, most: "int | None" = None) -> "list[int]":
        """Return what :meth:`between` does as microseconds since 1970 in UTC, and quickly.

        ``between(..., as_="numpy")`` is quicker still where a column is wanted.

        Parameters
        ----------
        start, end : datetime, date or str
            As in :meth:`between`.
        most : int, optional
            As in :meth:`between`; any number by default.

        Examples
        --------
        >>> import mainspring as ms
        >>> ms.cron("@daily").micros("1970-01-01", "1970-01-03")
        [0, 86400000000]
        """
        return self._bounded(self._core.between_micros, 1, start, end, most)

    def _bounded(self, make: "Callable[[int, int, int | None], Fires]", size: int,
                 start: "When", end: "When", most: "int | None") -> "Fires":
        """Return what `make` makes of a range, in which a fire has this size."""
        limit = None if most is None else most + 1
        found = make(self._read(start), self._read(end), limit)
        if most is not None and len(found) > most * size:
            from mainspring._moment import refuse

            refuse("too_many", "most", f"there are more than {most:,} fires",
                   "count() says how many; most=None makes them all the same")
        return found

    def count(self, start: "When", end: "When") -> int:
        """Return how many fires there are from one instant, included, to another, not included.

        Parameters
        ----------
        start, end : datetime, date or str
            The instants; text is ISO 8601.

        Examples
        --------
        >>> import mainspring as ms
        >>> hourly = ms.cron("@hourly", timezone="Europe/Berlin")
        >>> hourly.count("2024-03-31", "2024-04-01")      # the day that loses an hour
        23
        """
        return self._core.count(self._read(start), self._read(end))

    def _schedules(self) -> "list[dict[str, Any]]":
        """Return the rule as schedules of a dag, which are plain data."""
        from mainspring._schedule import written

        zone = {"timezone": self.timezone} if self.names_zone else {}
        return [{**written(self, self._core, self._options), **zone}]

    def __repr__(self) -> str:
        options = {"timezone": self.timezone, **self._options}
        shown = "".join(f", {name}={value!r}" for name, value in options.items())
        if self.kind == "at":
            instants = self.expression.split(",")
            more = f", ... {len(instants)} in all" if len(instants) > 5 else ""
            return f"at([{', '.join(map(repr, instants[:5]))}{more}]{shown})"
        return f"{self.kind}({self.expression!r}{shown})"

    def __str__(self) -> str:
        lines = [f"  {fire:%Y-%m-%d %H:%M:%S %z}" for fire in self._coming()]
        return "\n".join([repr(self), *(lines or ["  it does not fire any more"])])

    def _repr_html_(self) -> str:
        import time

        from mainspring._fire_calendar import alone, calendar_html

        return calendar_html(repr(self), self.timezone, alone(self._core), None,
                             time.time_ns() // 1000, ["next fires", ""],
                             [[str(fire), f"{fire:%a}"] for fire in self._coming()])

    def _coming(self) -> "list[datetime]":
        from datetime import datetime, timezone

        return self.next(datetime.now(timezone.utc), n=5)

    def __eq__(self, other: object) -> bool:
        return self._parts() == other._parts() if isinstance(other, Rule) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.expression, self.timezone))

    def __reduce__(self) -> "tuple[Any, ...]":
        return _again, self._parts()

    def _parts(self) -> "tuple[Any, ...]":
        return self.kind, self.expression, self.timezone, self.names_zone, self._options


def _again(kind: str, expression: str, timezone: str, names_zone: bool,
           options: "dict[str, Any]") -> Rule:
    """Make a rule again in another process."""
    from mainspring._when import at, cron, every

    text: Any = expression.split(",") if kind == "at" else expression
    makers: dict[str, Any] = {"cron": cron, "every": every, "at": at}
    made: Rule = makers[kind](text, timezone=timezone, **options)
    made.names_zone = names_zone
    return made


def _refuse_count(n: int) -> None:
    from mainspring._moment import refuse

    refuse("out_of_range", "n", f"{n} is no number of fires", "a whole number from 0")
