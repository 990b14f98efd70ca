"""The drawing of a Gantt chart."""

from html import escape

from mainspring._picture import CSS as PICTURE_CSS
from mainspring._picture import short
from mainspring._states import letter, tone
from mainspring._table import clip, duration, width
from mainspring._theme import BASE
from mainspring._time import zone_of
from mainspring._timeaxis import Axis, axis

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from mainspring._gantt import Gantt, Row

__all__ = ["CSS", "alone", "drawn"]

CSS = PICTURE_CSS + (
    ".ms-view .ms-p .g-t{stroke:var(--m-line);stroke-width:1}"
    ".ms-view .ms-p .g-w{stroke:var(--m-edge);stroke-width:2}"
    ".ms-view .ms-p .g-d{stroke:var(--m-on-again);stroke-width:1.2;stroke-dasharray:4 3}"
    ".ms-view .ms-p text.g-x{font-size:11px;fill:var(--m-dim)}"
    ".ms-view .ms-p text.g-s{font-size:11px;fill:var(--m-on-again)}"
    ".ms-view .g-b{fill:var(--m-bg)}.ms-view .ms-p .g-e{fill:var(--m-soft)}"
)
LINE, BAR, TOP, TIMES, TOOK = 22.0, 14.0, 26.0, 600.0, 70.0
LETTER = 7.0
ROOM = 12.0
"""Width of a bar that has room for its letter."""


def alone(gantt: "Gantt") -> str:
    """Return the chart as a file of its own."""
    inner = drawn(gantt)
    size = inner[inner.index("width="):inner.index(" viewBox")]
    return (f'<svg xmlns="http://www.w3.org/2000/svg" {size}><style>{BASE}{CSS}</style>'
            f'<g class="ms-view"><rect class="g-b" width="100%" height="100%"/>{inner}</g></svg>')


def drawn(gantt: "Gantt") -> str:
    """Return the chart for a view."""
    rows = gantt.rows
    busy = [(bar.begin, bar.end) for row in rows for bar in row.bars]
    busy += [(row.begin, row.bars[0].begin) for row in rows if row.bars]
    left = max((width(short(row.task)) for row in rows), default=0) * LETTER + 40
    made = axis(busy, zone_of(gantt.zone), wide=TIMES) if busy else None
    top = TOP + (12 if made and (made.shifts or made.breaks) else 0)
    high = top + len(rows) * LINE + 4
    wide = left + TIMES + TOOK
    parts = [f'<svg class="ms-p" width="{wide:.0f}" height="{high:.0f}" '
             f'viewBox="0 0 {wide:.0f} {high:.0f}" role="img">']
    if made is not None:
        parts += _times(made, left, high)
    for number, row in enumerate(rows):
        parts += _line(row, made, left, top + number * LINE + LINE / 2)
    parts.append("</svg>")
    return "".join(parts)


def _times(made: Axis, left: float, high: float) -> "Iterator[str]":
    for x, seconds in made.breaks:
        at = left + x
        yield (f'<g><title>{duration(seconds)} in which nothing ran</title>'
               f'<rect class="g-e" x="{at - 12:.1f}" y="32" width="24" '
               f'height="{high - 32:.0f}"/><text class="g-x" text-anchor="middle" '
               f'x="{at:.1f}" y="25">{duration(seconds)}</text></g>')
    for tick in made.ticks:
        at = left + tick.x
        yield (f'<path class="g-t" d="M{at:.1f} 18V{high:.0f}"/>'
               f'<text class="g-x" text-anchor="middle" x="{at:.1f}" y="10">{tick.label}</text>')
    for shift in made.shifts:
        at = left + shift.x
        yield (f'<path class="g-d" d="M{at:.1f} 18V{high:.0f}"/><text class="g-s" '
               f'x="{at + 4:.1f}" y="25">{escape(shift.label)}</text>')


def _line(row: "Row", made: "Axis | None", left: float, y: float) -> "Iterator[str]":
    look = tone(row.state)
    yield (f'<g><title>{escape(clip(f"{row.task}: {row.state}", 300))}</title>'
           f'<rect class="m-{look}" x="0" y="{y - 9:.1f}" width="18" height="18" rx="3"/>'
           f'<text class="p-c n-{look}" x="9" y="{y:.1f}">{escape(letter(row.state))}</text>'
           f'<text x="26" y="{y:.1f}">{escape(short(row.task))}</text></g>')
    if made is None or not row.bars:
        yield (f'<text class="g-x" x="{left:.0f}" y="{y:.1f}">'
               f"{escape(clip(row.note or row.state, 60))}</text>")
        return
    before = row.ready
    for number, bar in enumerate(row.bars):
        x, end = left + made.x(bar.begin), left + made.x(bar.end)
        if before is not None and bar.begin > before:
            yield f'<path class="g-w" d="M{left + made.x(before):.1f} {y:.1f}H{x:.1f}"/>'
        yield from _bar(bar.state, bar.label, bar.title, x, max(3.0, end - x), y)
        # Beside a bar that is too narrow, where nothing follows at once.
        following = row.bars[number + 1].begin if number + 1 < len(row.bars) else None
        free = TIMES + left + 28 if following is None else left + made.x(following)
        if end - x < ROOM and free - end > ROOM + 4:
            yield (f'<text class="g-x" x="{max(x + 3, end) + 3:.1f}" y="{y:.1f}">'
                   f"{escape(letter(bar.state))} {escape(clip(bar.label, 12))}</text>")
        before = bar.end
    yield (f'<text class="g-x" text-anchor="end" x="{left + TIMES + TOOK - 2:.0f}" y="{y:.1f}">'
           f"{duration(row.busy)}</text>")


def _bar(state: str, label: str, title: str, x: float, wide: float, y: float) -> "Iterator[str]":
    look = tone(state)
    yield (f'<g><title>{escape(clip(title, 300))}</title><rect class="m-{look}" x="{x:.1f}" '
           f'y="{y - BAR / 2:.1f}" width="{wide:.1f}" height="{BAR:.0f}" rx="2"/>')
    if wide >= ROOM:
        text = f"{letter(state)} {clip(label, 12)}" if label and wide > 60 else letter(state)
        yield (f'<text class="p-c n-{look}" x="{x + wide / 2:.1f}" y="{y:.1f}">'
               f"{escape(text)}</text>")
    yield "</g>"
