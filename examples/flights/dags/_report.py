"""The page of a day: a few numbers, a bar for each airline, a row for each airport.

One file without scripts, fonts or pictures from elsewhere; it follows the reader's light or dark
setting.
"""

import os
from datetime import date
from html import escape
from typing import Any

import _source
import _warehouse

STYLE = """
:root { color-scheme: light dark; --page: #fbfbfa; --text: #1d1f23; --quiet: #62666e;
        --line: #dcdde0; --flights: #3a78b5; --late: #c8642b; --early: #4c8f5f }
@media (prefers-color-scheme: dark) {
  :root { --page: #17191c; --text: #e8e9eb; --quiet: #9ba0a8; --line: #34373c;
          --flights: #6aa5de; --late: #e58a55; --early: #79bd8d } }
body { margin: 2rem auto; max-width: 52rem; padding: 0 1rem; background: var(--page);
       color: var(--text); font: 15px/1.45 system-ui, sans-serif }
h1 { font-size: 1.5rem; margin: 0 0 .2rem } h2 { font-size: 1.05rem; margin: 2rem 0 .5rem }
p { color: var(--quiet); margin: .2rem 0 }
dl { display: flex; flex-wrap: wrap; gap: .5rem 2.2rem; margin: 1.4rem 0 0 }
dt { color: var(--quiet); font-size: .85rem } dd { margin: 0; font-size: 1.5rem }
svg { width: 100%; height: auto; display: block }
svg text { fill: var(--text); font-size: 13px } svg .quiet { fill: var(--quiet) }
svg line { stroke: var(--line) }
.flights { fill: var(--flights) } .late { fill: var(--late) } .early { fill: var(--early) }
table { border-collapse: collapse; width: 100% }
th { color: var(--quiet); font-weight: normal; font-size: .85rem }
th, td { text-align: right; padding: .3rem .5rem; border-bottom: 1px solid var(--line) }
th:first-child, td:first-child { text-align: left; padding-left: 0 }
"""


def write(biz_date: date, late_minutes: int) -> str:
    """Write the page of a day, whole or not at all; return its path."""
    target = _source.data_folder() / "reports" / f"{biz_date}.html"
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_suffix(f".{os.getpid()}.partial")
    partial.write_text(page(biz_date, late_minutes), encoding="utf-8")
    partial.replace(target)
    return str(target)


def page(biz_date: date, late_minutes: int) -> str:
    """The page as text."""
    carriers = _warehouse.read(
        """SELECT name, departures, cancelled, 1.0 * delay_minutes / NULLIF(departures, 0), late,
                  delay_minutes
           FROM dws_carriers WHERE biz_date = ? ORDER BY departures DESC, name""",
        biz_date,
    )
    airports = _warehouse.read(
        """SELECT origin, departures, 1.0 * delay_minutes / departures, mean_temp_f,
                  mean_wind_mph, max_rain_in, min_visibility_mi
           FROM dws_airports WHERE biz_date = ? ORDER BY origin""",
        biz_date,
    )
    departures = sum(row[1] for row in carriers)
    cancelled = sum(row[2] for row in carriers)
    late = sum(row[4] for row in carriers)
    mean = sum(row[5] for row in carriers) / departures if departures else None
    numbers = {
        "departures": f"{departures:,}",
        "cancelled": f"{cancelled:,}",
        "mean delay": shown(mean, "+.1f", " min"),
        f"{late_minutes} minutes late or more": shown(
            100 * late / departures if departures else None, ".0f", " %"
        ),
    }
    facts = "".join(
        f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in numbers.items()
    )
    heads = ["", "departures", "mean delay", "temperature", "wind", "most rain", "least sight"]
    lines = [
        [
            origin,
            f"{flights}",
            shown(delay, "+.1f", " min"),
            shown(temp, ".0f", " °F"),
            shown(wind, ".0f", " mph"),
            shown(rain, ".2f", " in/h"),
            shown(sight, ".1f", " mi"),
        ]
        for origin, flights, delay, temp, wind, rain, sight in airports
    ]
    title = f"Departures from New York, {biz_date:%A} {biz_date.day} {biz_date:%B %Y}"
    return f"""<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{escape(title)}</title><style>{STYLE}</style></head>
<body>
<h1>{escape(title)}</h1>
<p>EWR, JFK and LGA; data of the Bureau of Transportation Statistics and the weather stations</p>
<dl>{facts}</dl>
<h2>Airlines</h2>
{chart([row[:4] for row in carriers])}
<h2>Airports, and the weather that the departures met</h2>
{table(heads, lines)}
</body>
</html>
"""


def chart(carriers: list[tuple[Any, ...]]) -> str:
    """Two bars for each airline: departures, and the mean delay, to the left where it was early."""
    step, top, names, flights_at, delay_at, room = 26, 30, 190, 200, 560, 240
    most = max([row[1] for row in carriers], default=0) or 1
    delays = [row[3] for row in carriers if row[3] is not None]
    low, high = min([0.0, *delays]), max([0.0, *delays])
    scale = room / ((high - low) or 1)
    zero = delay_at - low * scale
    height = top + step * len(carriers) + 4
    parts = [
        f'<svg viewBox="0 0 860 {height}" role="img" '
        'aria-label="Departures and mean delay of each airline">',
        f'<text class="quiet" x="{flights_at}" y="14">departures, − cancelled</text>',
        f'<text class="quiet" x="{delay_at}" y="14">mean delay in minutes</text>',
        f'<line x1="{zero:.1f}" x2="{zero:.1f}" y1="{top - 8}" y2="{height}"/>',
    ]
    for number, (name, departures, cancelled, delay) in enumerate(carriers):
        y = top + step * number
        wide = 250 * departures / most
        more = f", {cancelled} cancelled" if cancelled else ""
        parts += [
            f'<text x="{names}" y="{y + 9}" text-anchor="end">{escape(name)}</text>',
            f'<rect class="flights" x="{flights_at}" y="{y - 4}" width="{wide:.1f}" height="16" '
            f'rx="2"><title>{escape(f"{name}: {departures} departures{more}")}</title></rect>',
            f'<text x="{flights_at + wide + 6:.1f}" y="{y + 9}">{departures}'
            + (f' <tspan class="quiet">−{cancelled}</tspan>' if cancelled else "")
            + "</text>",
        ]
        if delay is not None:
            left, right = sorted([zero, zero + delay * scale])
            parts += [
                f'<rect class="{"late" if delay > 0 else "early"}" x="{left:.1f}" y="{y - 4}" '
                f'width="{right - left:.1f}" height="16" rx="2">'
                f"<title>{escape(f'{name}: {delay:+.1f} minutes')}</title></rect>",
                f'<text x="{max(right, zero) + 6:.1f}" y="{y + 9}">{delay:+.1f}</text>',
            ]
    return "\n".join([*parts, "</svg>"])


def table(heads: list[str], lines: list[list[str]]) -> str:
    """An escaped table."""
    head = "".join(f"<th>{escape(name)}</th>" for name in heads)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in line) + "</tr>\n" for line in lines
    )
    return f"<table>\n<tr>{head}</tr>\n{body}</table>"


def shown(value: float | None, form: str, unit: str) -> str:
    """A number with its unit, or a dash where there is none."""
    return "–" if value is None else f"{value:{form}}{unit}"
