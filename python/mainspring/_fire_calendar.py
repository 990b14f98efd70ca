"""The next fires of a schedule as sheets of a calendar, DST days and closed days marked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

from mainspring import _mainspring as core
from mainspring._fire_days import LETTERS, Days, days_of, letter_of
from mainspring._fire_marks import DAY, Asked, Fire, Mark, skipped_between, wall
from mainspring._table import duration
from mainspring._targets import Part, Target
from mainspring._theme import TABLE_CSS, frame, note_html, table_html, title_html

if TYPE_CHECKING:
    from mainspring._business import Calendar

__all__ = ["alone", "calendar_html"]

EPOCH = date(1970, 1, 1)
MONTHS, MOST_OF_A_DAY, MOST_MARKED, MOST_TIMES = 3, 2_000, 3_000, 12
NAMES = ("January", "February", "March", "April", "May", "June", "July", "August", "September",
         "October", "November", "December")

CSS = TABLE_CSS + (
    ".ms-view .k-all{display:flex;flex-wrap:wrap;gap:4px 28px}"
    ".ms-view table.ms-k{border-collapse:separate;border-spacing:2px;margin:0;border:0;"
    "table-layout:fixed;background:transparent;color:inherit;width:auto;font-size:12px}"
    ".ms-view table.ms-k tr:nth-child(n){background:transparent}"
    ".ms-view .ms-k caption{text-align:left;font-weight:600;color:var(--m-fg);padding:2px 3px;"
    "caption-side:top}"
    ".ms-view .ms-k th{color:var(--m-dim);font-weight:400;text-align:center;padding:0;border:0;"
    "font-size:11px}"
    ".ms-view .ms-k td{width:44px;min-width:44px;height:34px;padding:2px 4px;border:0;"
    "border-radius:4px;text-align:left;vertical-align:top;line-height:14px;cursor:default;"
    "color:var(--m-dim);position:relative;box-sizing:border-box}"
    ".ms-view .ms-k td.k-we{background:var(--m-soft)}"
    ".ms-view .ms-k td.k-f{background:var(--m-wait);color:var(--m-on-wait);font-weight:600}"
    ".ms-view .ms-k td.k-c{background:var(--m-hold);color:var(--m-on-hold)}"
    ".ms-view .ms-k td.k-d{box-shadow:inset 0 0 0 2px var(--m-on-again)}"
    ".ms-view .ms-k td small{display:block;font:400 10px/13px ui-monospace,Menlo,Consolas,"
    "monospace}"
    ".ms-view .ms-k b{position:absolute;right:4px;top:2px;font:700 10px/13px ui-monospace,Menlo,"
    "Consolas,monospace}"
)


class Day(NamedTuple):
    """One cell."""

    day: date
    times: list[str]
    """The first times of its fires."""
    number: int
    kinds: dict[str, Mark]
    shift: int
    """How many seconds longer it is than others, where the clock is set."""


class _ClosedDays:
    """The days that the schedule's own calendar says something about."""

    def __init__(self, calendar: Calendar) -> None:
        written = calendar._core.definition()
        self.notes: list[str] = []
        self._closed = {day: Mark("holiday", f"closed in {calendar.name}")
                        for day in written.get("exclude", [])}
        self._open = {day: Mark("workday", f"open in {calendar.name}")
                      for day in written.get("include", [])}

    def of(self, day: str) -> Mark | None:
        return self._closed.get(day) or self._open.get(day)


def alone(rule: core.Rule) -> Target:
    """Return a rule by itself as something that fires."""
    table = core.Timetable([(rule, None, None)])
    return Target(None, [Part(rule, table, table)], table)


def calendar_html(title: str, zone: str, target: Target, calendar: Calendar | None, now: int,
                  head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return the months of the next fires, and a table of the first of them.

    Parameters
    ----------
    title : str
        What fires.
    zone : str
        Whose clock the days are of.
    target : Target
        The schedule.
    calendar : Calendar, optional
        The days on which it may fire.
    now : int
        Microseconds UTC.
    head, rows : sequence
        The table.
    """
    source = [] if calendar is None else [_ClosedDays(calendar)]
    asked = Asked(title, zone, [target], list(source))
    months = list(_months(target, zone, now))
    sheets = [_read(asked, month, now) for month in months]
    parts = [title_html(title)]
    if not months:
        parts.append(note_html("it does not fire any more"))
        return frame(parts, CSS)
    parts += ['<div class="k-all">', *(_sheet(days) for days in sheets), "</div>"]
    parts.append(note_html(_legend([day for days in sheets for day in days], zone)))
    return frame([*parts, table_html(head, rows)], CSS)


def _months(target: Target, zone: str, now: int) -> Iterator[date]:
    """The first months in which it fires from now on."""
    after = now
    for _ in range(MONTHS):
        found = target.table.next(after, 1)
        if not found:
            return
        day = EPOCH + timedelta(found[0][1] // DAY)
        yield day.replace(day=1)
        after = max(_start(zone, _following(day)) - 1, found[0][0])


def _following(day: date) -> date:
    return (day.replace(day=1) + timedelta(31)).replace(day=1)


def _start(zone: str, day: date) -> int:
    """The instant at which a day begins."""
    return core.first_instant(zone, (day - EPOCH).days * DAY)


def _read(asked: Asked, month: date, now: int) -> list[Day]:
    target, zone = asked.targets[0], asked.zone
    end = _following(month)
    days = [month + timedelta(number) for number in range((end - month).days)]
    starts = [_start(zone, day) for day in (*days, end)]
    found = [target.table.between(max(begin, now), finish, MOST_OF_A_DAY + 1)
             if finish > now else []
             for begin, finish in zip(starts, starts[1:], strict=False)]
    marks: Days | None = None
    if sum(map(len, found)) <= MOST_MARKED:
        fires = [Fire(target, *row) for rows in found for row in rows]
        skipped = skipped_between(asked, max(starts[0], now), max(starts[-1], now), MOST_MARKED)
        marks = days_of(asked, month, days[-1], fires, skipped)
    made = []
    for number, (day, rows) in enumerate(zip(days, found, strict=True)):
        shift = (starts[number + 1] - starts[number]) // 1_000_000 - DAY
        kinds = marks.marks.get(day, {}) if marks else {}
        usual = marks is not None and day in marks.usual
        times = [wall(core.wall_at(zone, at))[11:16] for at, _, _ in rows[:MOST_TIMES]]
        if usual:
            kinds = {}
        elif "holiday" in kinds:  # that it is skipped goes without saying
            kinds = {kind: mark for kind, mark in kinds.items() if kind != "skipped"}
        made.append(Day(day, times, len(rows), kinds, shift))
    return made


def _sheet(days: Sequence[Day]) -> str:
    first = days[0].day
    parts = [f'<table class="ms-k"><caption>{NAMES[first.month - 1]} {first.year}</caption><tr>',
             *(f"<th>{name}</th>" for name in ("Mo", "Tu", "We", "Th", "Fr", "Sa", "Su")),
             "</tr><tr>", "<td></td>" * first.weekday()]
    for each in days:
        if not each.day.weekday() and each.day.day > 1:
            parts.append("</tr><tr>")
        parts.append(_cell(each))
    parts += ["<td></td>" * (6 - days[-1].day.weekday()), "</tr></table>"]
    return "".join(parts)


def _cell(each: Day) -> str:
    closed = not each.number and ("holiday" in each.kinds or "skipped" in each.kinds)
    kinds = ["k-f"] if each.number else ["k-c"] if closed else []
    kinds += ["k-we"] if not kinds and each.day.weekday() > 4 else []
    kinds += ["k-d"] if each.shift else []
    shown = ""
    if each.number > MOST_OF_A_DAY:
        shown = f"{MOST_OF_A_DAY:,}+"
    elif each.number > 1:
        shown = f"{each.number:,}×"
    elif each.number:
        shown = each.times[0]
    letter = "d" if each.shift and not each.kinds else letter_of(each.kinds)
    mark = f"<b>{letter}</b>" if letter else ""
    kind = f' class="{" ".join(kinds)}"' if kinds else ""
    return (f'<td{kind} title="{escape(_told(each))}">{each.day.day}{mark}'
            f"<small>{shown}</small></td>")


def _told(each: Day) -> str:
    """All that is to be said about a day."""
    parts = [f"{each.day:%a} {each.day}"]
    if each.times:
        more = each.number - len(each.times)
        extra = f" and {more:,} more" if more > 0 else ""
        parts.append(", ".join(each.times) + extra)
    else:
        parts.append("no fire")
    parts += [f"{kind}: {mark.text}" for kind, mark in each.kinds.items()]
    if each.shift:
        parts.append(_shift(each.shift))
    return "; ".join(parts)


def _shift(seconds: int) -> str:
    # A day is shorter by what the clock is put forward.
    way = "forward" if seconds < 0 else "back"
    return f"the clock is put {way} by {duration(abs(seconds))}"


def _legend(days: Sequence[Day], zone: str) -> str:
    kinds = {kind for day in days for kind in day.kinds}
    told = [f"{letter} {kind}" for kind, letter in LETTERS.items() if kind in kinds]
    if any(day.shift for day in days):
        told.append("framed, d: the clock is set")
    if any(letter_of(day.kinds) == "+" for day in days):
        told.append("+ several of them")
    return "; ".join([f"days and times in {zone}", *told])
