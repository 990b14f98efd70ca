"""Edges that say more than "after": other periods, other dags, other endings; and assets."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import date, timedelta
    from typing import Any

__all__ = ["Asset", "Dependency", "Offset", "asset", "days", "dep", "months", "slots", "weeks"]


class Offset:
    """A number of periods: what :func:`days`, :func:`weeks`, :func:`months`, :func:`slots` make.

    Negative is earlier, counted from the business date of whoever waits.

    Attributes
    ----------
    number : int
        How many.
    unit : {"day", "week", "month", "slot"}
        Of what.

    Examples
    --------
    >>> import mainspring as ms
    >>> ms.months(-1)
    months(-1)
    """

    __slots__ = ("number", "unit")

    def __init__(self, number: int, unit: str) -> None:
        if isinstance(number, bool) or not isinstance(number, int):
            raise TypeError(f"an offset is a whole number of {unit}s, not {number!r}")
        self.number = number
        self.unit = unit

    def __eq__(self, other: object) -> bool:
        return (isinstance(other, Offset)
                and (self.number, self.unit) == (other.number, other.unit))

    def __hash__(self) -> int:
        return hash((self.number, self.unit))

    def __repr__(self) -> str:
        return f"{self.unit}s({self.number})"


def days(number: int) -> Offset:
    """Calendar days; the same as the plain number.

    Parameters
    ----------
    number : int
        How many; negative is earlier.

    Examples
    --------
    >>> import mainspring as ms
    >>> ms.dep("ods.orders", offset=ms.days(-1)) == ms.dep("ods.orders", offset=-1)
    True
    """
    return Offset(number, "day")


def weeks(number: int) -> Offset:
    """Weeks: the day so many weeks away, or the one run that its week has.

    Parameters
    ----------
    number : int
        How many; negative is earlier.

    Examples
    --------
    >>> import mainspring as ms
    >>> ms.dep("dwd.weekly", offset=ms.weeks(-1))
    dep('dwd.weekly', offset=weeks(-1))
    """
    return Offset(number, "week")


def months(number: int) -> Offset:
    """Months: the day so many months away, or the one run that its month has.

    Parameters
    ----------
    number : int
        How many; negative is earlier.

    Examples
    --------
    >>> import mainspring as ms
    >>> ms.dep("finance.closing", offset=ms.months(-1))
    dep('finance.closing', offset=months(-1))
    """
    return Offset(number, "month")


def slots(number: int) -> Offset:
    """Fires of the upstream's schedule: 0 is its last one up to the instant of whoever waits.

    Parameters
    ----------
    number : int
        How many; -1 is the fire before that.

    Examples
    --------
    >>> import mainspring as ms
    >>> ms.dep("hourly.load", offset=ms.slots(0))
    dep('hourly.load', offset=slots(0))
    """
    return Offset(number, "slot")


class Dependency:
    """An edge with all that it says; what :func:`dep` and :meth:`Asset.ready` make.

    Attributes
    ----------
    upstream : task, str or Asset
        What is waited for.
    fields : dict
        What else was said.
    """

    __slots__ = ("fields", "upstream")

    def __init__(self, upstream: Any, fields: dict[str, Any]) -> None:
        self.upstream = upstream
        self.fields = fields

    def spec(self) -> dict[str, Any]:
        """Return the edge as plain data; ``upstream`` as it was given."""
        found = {name: value for name, value in self.fields.items()
                 if value is not None and value is not False}
        offset = found.get("offset")
        if isinstance(offset, Offset):
            found["offset"], unit = offset.number, offset.unit
            # Days are what a plain number counts.
            found.pop("unit", None)
            found.update({"unit": unit} if unit != "day" else {})
        wait = found.get("wait_up_to")
        if wait is not None and hasattr(wait, "total_seconds"):
            del found["wait_up_to"]
            found["wait_up_to_ms"] = round(wait.total_seconds() * 1000)
        window = found.get("window")
        if window is not None:
            first, last = window if len(window) == 2 else (None, None)
            if isinstance(first, Offset) and isinstance(last, Offset) and first.unit == last.unit:
                found["unit"] = first.unit
                window = (first.number, last.number)
            found["window"] = list(window)
        if isinstance(self.upstream, Asset):
            found["asset"] = self.upstream.name
            if self.upstream.external:
                found["external"] = True
        else:
            found["upstream"] = self.upstream
        return found

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Dependency) and self.spec() == other.spec()

    def __hash__(self) -> int:
        return hash(str(self.spec()))

    def __repr__(self) -> str:
        said = "".join(f", {name}={value!r}" for name, value in self.fields.items()
                       if value is not None and value is not False)
        if isinstance(self.upstream, Asset):
            return f"{self.upstream!r}.ready({said[2:]})"
        name = self.upstream if isinstance(self.upstream, str) else str(
            getattr(self.upstream, "name", self.upstream))
        return f"dep({name!r}{said})"


def looks(window: tuple[int, int], unit: str | None, which: str | None) -> str:
    """Where an edge to other runs looks, in words: `` -1 day``, `` -6 to 0 days, last``."""
    (first, last), unit = window, unit or "day"
    words = ""
    if first != last:
        words = f" {first} to {last} {unit}s"
    elif first or unit != "day":
        words = f" {first} {unit}" + ("" if abs(first) == 1 else "s")
    return words if which in (None, "all") else f"{words}, {which}"


def dep(
    upstream: Any,
    *,
    kind: str | None = None,
    offset: int | Offset | None = None,
    window: tuple[int, int] | tuple[Offset, Offset] | None = None,
    unit: str | None = None,
    which: str | None = None,
    pattern: str | None = None,
    match_on: str | None = None,
    on_skip: str | None = None,
    wait_up_to: str | timedelta | None = None,
    allow_future: bool = False,
) -> Dependency:
    """Wait for another period, another dag, or another end than success.

    Runs are paired by business date: an edge looks at the upstream's runs for the business date of
    whoever waits, plus the offset. Finishing times and numbers of hours have no say in it.

    Parameters
    ----------
    upstream : task or str
        A task of this dag, its name, or ``"dag.task"`` elsewhere; itself for "depends on past".
    kind : {"SUCCESS", "COMPLETED", "OUTPUT_MATCH", "DATA_READY", "WEAK"}, optional
        When it holds: the upstream is SUCCESS (the default); it ended, whatever the outcome; it is
        SUCCESS and its output matches ``pattern``; it is SUCCESS and its data is ready; always, for
        lineage and for the order of what is equal.
    offset : int or Offset, optional
        Days, or what :func:`weeks`, :func:`months` and :func:`slots` say; negative is earlier.
    window : tuple, optional
        First and last offset, both included: ``(-6, 0)`` is seven days, each of which must hold.
    unit : {"day", "week", "month", "slot"}, optional
        Of plain numbers; days by default.
    which : {"all", "last", "any"}, optional
        Which of several upstream runs of one period count; all by default.
    pattern : str, optional
        Regular expression, searched for; for OUTPUT_MATCH. No match: whoever waits is SKIPPED.
    match_on : {"result", "stdout"}, optional
        Where it is searched: the returned value as JSON text (the default), or what was printed,
        the first mebibyte of it.
    on_skip : {"satisfied", "skip", "block"}, optional
        What a skipped upstream means here; see :doc:`/dependencies` for the rule without it.
    wait_up_to : str or timedelta, optional
        How long a COMPLETED edge waits, counted from when the run was made (from its nominal time,
        where that is later). After that it holds without its upstream.
    allow_future : bool, optional
        Allow a later period.

    Returns
    -------
    Dependency
        For ``depends_on=[...]``.

    Examples
    --------
    >>> import mainspring as ms
    >>> with ms.Dag("dwd", schedule="0 3 * * *", timezone="UTC") as dag:
    ...     @ms.task(depends_on=[ms.dep("ods.orders", offset=-1),
    ...                          ms.dep("ods.prices", window=(-6, 0))])
    ...     def orders(): ...
    >>> dag.spec()["tasks"][0]["depends_on"]
    [{'offset': -1, 'upstream': 'ods.orders'}, {'window': [-6, 0], 'upstream': 'ods.prices'}]
    """
    return Dependency(upstream, {
        "kind": kind, "offset": offset, "window": window, "unit": unit, "which": which,
        "pattern": pattern, "match_on": match_on, "on_skip": on_skip,
        "wait_up_to": wait_up_to, "allow_future": allow_future,
    })


class Asset:
    """Data that has a name; made by :func:`asset`.

    Attributes
    ----------
    name : str
        Its name.
    external : bool
        Whether it comes from elsewhere: no task makes it.
    """

    __slots__ = ("check", "external", "interval", "name", "timeout")

    def __init__(self, name: str, check: Callable[..., Any] | None, interval: Any,
                 timeout: Any, external: bool) -> None:
        self.name = name
        self.check = check
        self.interval = interval
        self.timeout = timeout
        self.external = external

    def ready(
        self,
        *,
        offset: int | Offset | None = None,
        window: tuple[int, int] | tuple[Offset, Offset] | None = None,
        unit: str | None = None,
        which: str | None = None,
        on_skip: str | None = None,
        allow_future: bool = False,
    ) -> Dependency:
        """Wait until it is ready for a business date.

        That is when the task that makes it has succeeded (and its check says so, if it has one),
        or when somebody outside has declared it.

        Parameters
        ----------
        offset, window, unit, which, on_skip, allow_future
            As :func:`dep` takes them.

        Returns
        -------
        Dependency
            For ``depends_on=[...]``.

        Examples
        --------
        >>> import mainspring as ms
        >>> ms.asset("ods.orders").ready(offset=-1)
        asset('ods.orders').ready(offset=-1)
        """
        return Dependency(self, {
            "offset": offset, "window": window, "unit": unit, "which": which,
            "on_skip": on_skip, "allow_future": allow_future,
        })

    def declare(self, biz_date: date | str, *, database: Any = None,
                by: str | None = None) -> bool:
        """Say from outside that it is ready for a business date.

        Parameters
        ----------
        biz_date : date or str
            The day the data belongs to.
        database : str or path, optional
            Default as :func:`mainspring.use` says.
        by : str, optional
            Who says so; by default the user of this process.

        Returns
        -------
        bool
            Whether that was not known before.

        Raises
        ------
        SpecError
            For an asset that no task has to do with.
        NotFoundError
            When there is no database.

        Examples
        --------
        >>> import mainspring as ms
        >>> with ms.Dag("dwd") as dag:
        ...     @ms.task(depends_on=[ms.asset("vendor.file", external=True).ready()])
        ...     def load(): ...
        >>> with ms.testing.simulated("2024-01-16", [dag]):
        ...     ms.asset("vendor.file").declare("2024-01-15")
        True
        """
        from mainspring._requests import _iso, _user, asker

        found: bool = asker(database).declare(self.name, _iso(biz_date), by=by or _user())
        return found

    def __repr__(self) -> str:
        return f"asset({self.name!r})"


def checked(produces: Any) -> Asset | None:
    """Return the asset of a ``produces=`` that has a check, if one has."""
    several = produces if isinstance(produces, (list, tuple)) else [produces]
    return next((each for each in several if getattr(each, "check", None) is not None), None)


def asset(
    name: str,
    *,
    check: Callable[..., Any] | None = None,
    interval: str | timedelta | None = None,
    timeout: str | timedelta | None = None,
    external: bool = False,
) -> Asset:
    """Name data that tasks make and wait for.

    Parameters
    ----------
    name : str
        Such as ``"ods.orders"`` or ``"lake/ods/orders"``.
    check : callable, optional
        Says whether the data is there, once the task that makes it has succeeded. It is asked
        every ``interval`` and holds no slot in between; it takes what a task takes. It is a probe
        of its own beside that task, ``<task>_ready``.
    interval : str or timedelta, optional
        Default ``"1m"``.
    timeout : str or timedelta, optional
        How long it is asked; by default for ever.
    external : bool, optional
        Whether it comes from elsewhere: then no task of yours need make it.

    Returns
    -------
    Asset
        For ``produces=`` of the task that makes it, and for ``depends_on=[....ready()]``.

    Examples
    --------
    >>> import mainspring as ms
    >>> orders = ms.asset("ods.orders")
    >>> with ms.Dag("ods") as ods:
    ...     @ms.task(produces=orders)
    ...     def load(): ...
    >>> with ms.Dag("dwd") as dwd:
    ...     @ms.task(depends_on=[orders.ready(offset=-1)])
    ...     def clean(): ...
    >>> dwd.spec()["tasks"][0]["depends_on"]
    [{'offset': -1, 'asset': 'ods.orders'}]
    """
    if not isinstance(name, str):
        raise TypeError(f"the name of an asset is text, not {name!r}")
    if check is None and (interval is not None or timeout is not None):
        raise TypeError("interval= and timeout= are of a check\n  hint: give check= as well")
    return Asset(name, check, interval, timeout, external)
