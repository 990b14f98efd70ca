"""``cron``, ``every`` and ``at``: the ways to say when something fires."""

from mainspring._rule import MOST, Rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import date, datetime, timedelta
    from typing import Any

    When = datetime | date | str


def cron(
    expression: str,
    timezone: "str | None" = None,
    gap: str = "carry",
    fold: str = "first",
) -> Rule:
    """Return the rule of a cron expression.

    Five fields are Unix cron, six or seven are Quartz (seconds first, years last), and
    ``@daily`` and its like are words for five.

    Parameters
    ----------
    expression : str
        Such as ``"30 2 * * *"``, ``"0 30 2 L * ?"`` or ``"@hourly"``.
    timezone : str, optional
        IANA zone whose clock it reads; by default the project's, or UTC.
    gap : {"carry", "skip", "shift"}
        What happens to a time that the clocks jump over: it runs at the end of the gap, not at
        all, or later by the size of the gap.
    fold : {"first", "last", "both"}
        Which of two passes of a repeated time count. A rule of all 24 hours follows elapsed time
        and ignores both.

    Raises
    ------
    SpecError
        With a ``code``: ``field_count``, ``syntax``, ``out_of_range``, ``bad_step``,
        ``bad_macro``, ``dom_dow_conflict``, ``never``, ``unknown_zone``, ``unknown_choice``.

    Examples
    --------
    >>> import mainspring as ms
    >>> ms.cron("0 0 18 LW * ?", timezone="Asia/Shanghai").next("2024-03-01")[0].isoformat()
    '2024-03-29T18:00:00+08:00'
    >>> try:
    ...     ms.cron("0 0 30 2 *")
    ... except ms.SpecError as error:
    ...     print(error.code)
    never
    """
    from mainspring._mainspring import Rule as Core
    from mainspring._moment import text_of, zone_or_default

    core = Core.cron(text_of("cron", expression), zone_or_default(timezone), gap, fold)
    options = {"gap": gap} if gap != "carry" else {}
    options |= {"fold": fold} if fold != "first" else {}
    return Rule(expression, core, timezone is not None, options)


def every(
    step: "str | timedelta",
    anchor: "When | None" = None,
    timezone: "str | None" = None,
) -> Rule:
    """Return the rule of an interval.

    Parameters
    ----------
    step : str or timedelta
        ``"30s"``, ``"90m"``, ``"6h"`` are elapsed time; ``"1d"``, ``"2w"``, ``"1M"``, ``"1y"``
        are steps of the calendar: 31 January and a month is the last of February.
    anchor : datetime, date or str, optional
        The first fire, from which all are counted; by default the first midnight of 1970.
    timezone : str, optional
        IANA zone; by default the project's, or UTC.

    Raises
    ------
    SpecError
        With a ``code``: ``syntax``, ``bad_step``, ``bad_date``, ``unknown_zone``.

    Examples
    --------
    >>> import mainspring as ms
    >>> monthly = ms.every("1M", anchor="2024-01-31T09:00")
    >>> [str(fire.date()) for fire in monthly.next("2024-01-31T09:00", n=3)]
    ['2024-02-29', '2024-03-31', '2024-04-30']
    """
    from mainspring._mainspring import Rule as Core
    from mainspring._moment import instant_in, shown_in, text_of, zone_or_default

    zone = zone_or_default(timezone)
    if not isinstance(step, str):
        step = _seconds(step)
    first = None if anchor is None else instant_in(zone, anchor)
    core = Core.every(text_of("every", step), first, zone)
    options = {} if first is None else {"anchor": shown_in(zone, [first])[0].isoformat()}
    return Rule(step, core, timezone is not None, options)


def at(instants: "When | Iterable[When]", timezone: "str | None" = None) -> Rule:
    """Return the rule of given instants; the same one twice fires once.

    Parameters
    ----------
    instants : datetime, date or str, or several of them
        When it fires.
    timezone : str, optional
        IANA zone; by default the project's, or UTC.

    Raises
    ------
    SpecError
        With a ``code``: ``bad_date``, ``unknown_zone``, ``too_many``.

    Examples
    --------
    >>> import mainspring as ms
    >>> release = ms.at(["2024-06-01T09:00", "2024-05-01T09:00"], timezone="Europe/Berlin")
    >>> [str(fire) for fire in release.next("2024-05-15")]
    ['2024-06-01 09:00:00+02:00']
    """
    from mainspring._mainspring import Rule as Core
    from mainspring._moment import instant_in, refuse, shown_in, zone_or_default

    zone = zone_or_default(timezone)
    single = isinstance(instants, str) or hasattr(instants, "isoformat")
    given: Any = [instants] if single else list(instants)  # type: ignore[arg-type]
    if not given:
        refuse("missing_field", "at", "there is no instant", "give at least one")
    if len(given) > MOST:
        refuse("too_many", "at", f"{len(given):,} instants are too many", f"at most {MOST:,}")
    core = Core.at(sorted({instant_in(zone, each) for each in given}), zone)
    shown = ",".join(each.isoformat() for each in shown_in(zone, [
        each for each, _ in core.between(-(2**63), 2**63 - 1)]))
    return Rule(shown, core, timezone is not None, {})


def _seconds(step: "timedelta") -> str:
    from mainspring._moment import refuse

    if not hasattr(step, "total_seconds"):
        refuse("wrong_type", "every", f"expected text, found {type(step).__name__}")
    if step.microseconds:
        refuse("bad_step", "every", f"{step} is no whole number of seconds")
    return f"{step.days * 86_400 + step.seconds}s"
