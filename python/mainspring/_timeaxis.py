"""The time across a picture: where an instant is, ticks that people would choose, shifts of clocks.

Instants are seconds since 1970 in UTC. Long idle times between what happened are cut out.
"""

from bisect import bisect_right
from datetime import datetime, timezone
from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import tzinfo

__all__ = ["Axis", "Shift", "Tick", "axis"]

STEPS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300,
         600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800, 1209600, 2592000)
HOUR, DAY = 3600.0, 86400.0
CUT = 0.4
"""An idle time is cut out where it is longer than this share of the rest."""

BREAK = 34.0
"""Width of what stands for an idle time."""

MOST_DAYS_OF_SHIFTS = 800


class Tick(NamedTuple):
    """A line across the picture with its label."""

    x: float
    label: str


class Shift(NamedTuple):
    """An instant at which the clock is set."""

    x: float
    label: str


class Axis(NamedTuple):
    """A time axis."""

    parts: "list[tuple[float, float, float, float]]"
    """Begin, end, and where these are in the picture."""
    ticks: "list[Tick]"
    shifts: "list[Shift]"
    breaks: "list[tuple[float, float]]"
    """Where an idle time is cut out, and how many seconds that is."""

    def x(self, at: float) -> float:
        """Return where an instant is; one that is cut out is where the cut is."""
        begins = [part[0] for part in self.parts]
        begin, end, left, right = self.parts[max(0, bisect_right(begins, at) - 1)]
        if at >= end or end <= begin:
            return right if at >= end and end > begin else left
        return left + max(0.0, at - begin) / (end - begin) * (right - left)


def axis(busy: "Iterable[tuple[float, float]]", zone: "tzinfo", *, wide: float,
         apart: float = 90.0) -> Axis:
    """Return an axis for what happened in these times.

    Parameters
    ----------
    busy : iterable of (float, float)
        Begin and end of whatever happened; at least one.
    zone : tzinfo
        Whose clock the labels show.
    wide : float
        Room for all of it.
    apart : float
        Least distance between two labels.

    Examples
    --------
    >>> from datetime import timezone
    >>> from mainspring._timeaxis import axis
    >>> made = axis([(0, 90), (30, 120)], timezone.utc, wide=500)
    >>> [tick.label for tick in made.ticks], made.x(60)
    (['00:00:00', '00:00:30', '00:01:00', '00:01:30', '00:02:00'], 250.0)
    """
    spans = _joined(sorted(busy))
    whole = sum(end - begin for begin, end in spans) or 1.0
    room = wide - BREAK * (len(spans) - 1)
    parts: list[tuple[float, float, float, float]] = []
    breaks: list[tuple[float, float]] = []
    left = 0.0
    for number, (begin, end) in enumerate(spans):
        if number:
            breaks.append((left + BREAK / 2, begin - spans[number - 1][1]))
            left += BREAK
        right = left + room * (end - begin) / whole
        parts.append((begin, end, left, right))
        left = right
    step = next((each for each in STEPS if each / whole * room >= apart), STEPS[-1])
    made = Axis(parts, [], [], breaks)
    before = -apart
    for begin, end in spans:
        for at in _ticks(begin, end, step, zone):
            x = made.x(at)
            if x - before >= apart * 0.7:
                made.ticks.append(Tick(x, _label(at, step, zone)))
                before = x
        for at, change in _shifts(begin, end, zone):
            hours, minutes = divmod(abs(change) // 60, 60)
            shown = f"{hours}h" if not minutes else f"{hours}h {minutes:02}m"
            made.shifts.append(Shift(made.x(at), f"clock {'+' if change > 0 else '-'}{shown}"))
    return made


def _joined(spans: "Sequence[tuple[float, float]]") -> "list[tuple[float, float]]":
    """Join what overlaps or is not far apart, compared with how long it all is."""
    found: list[tuple[float, float]] = []
    for begin, end in spans:
        if found and begin <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((begin, max(begin, end)))
    least = CUT * sum(end - begin for begin, end in found)
    parts: list[tuple[float, float]] = []
    for begin, end in found:
        if parts and (begin - parts[-1][1] <= max(least, 1.0) or len(parts) >= 8):
            parts[-1] = (parts[-1][0], end)
        else:
            parts.append((begin, end))
    return [(begin, max(end, begin + 0.001)) for begin, end in parts]


def _offset(at: float, zone: "tzinfo") -> float:
    offset = datetime.fromtimestamp(at, timezone.utc).astimezone(zone).utcoffset()
    return offset.total_seconds() if offset is not None else 0.0


def _ticks(begin: float, end: float, step: float, zone: "tzinfo") -> "Iterator[float]":
    """Instants at which the clock of the zone shows a multiple of a step."""
    if step < HOUR:
        offset = _offset(begin, zone)
        number = -(-(begin + offset - 1e-9) // step)
        while number * step - offset <= end + 1e-9:
            yield number * step - offset
            number += 1
        return
    offset = _offset(begin, zone)
    at = -(-(begin + offset) // HOUR) * HOUR - offset
    while at <= end:  # hour by hour: a clock that is set shows one twice, or not at all
        shown = at + _offset(at, zone)
        if shown % min(step, DAY) == 0 and (step <= DAY or shown // DAY % (step // DAY) == 0):
            yield at
        at += HOUR


def _label(at: float, step: float, zone: "tzinfo") -> str:
    shown = datetime.fromtimestamp(round(at * 1000) / 1000, timezone.utc).astimezone(zone)
    if step >= DAY or (step >= HOUR and not shown.hour and not shown.minute):
        return f"{shown:%m-%d}"
    if step >= 60:
        return f"{shown:%H:%M}"
    if step >= 1:
        return f"{shown:%H:%M:%S}"
    digits = 1 if step >= 0.1 else 2 if step >= 0.01 else 3
    return f"{shown:%H:%M:%S}.{shown.microsecond // 1000:03}"[: 9 + digits]


def _shifts(begin: float, end: float, zone: "tzinfo") -> "Iterator[tuple[float, int]]":
    """Instants at which the clock is set, and by how many seconds."""
    if end - begin > MOST_DAYS_OF_SHIFTS * DAY:
        return
    at = begin
    while at < end:
        following = min(end, at + DAY)
        change = _offset(following, zone) - _offset(at, zone)
        if change:
            low, high = at, following
            before = _offset(at, zone)
            while high - low > 0.5:
                middle = (low + high) / 2
                low, high = (middle, high) if _offset(middle, zone) == before else (low, middle)
            yield float(round(high)), int(change)
        at = following
