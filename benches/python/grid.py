"""How fast a grid of states becomes HTML and text, beside pandas' Styler for the same grid.

Run with `make bench`. The limit is what a notebook may take to show a plan of 3,000 cells: 200 ms.
The peer makes a table with a colour for each state, which is less than the grid has: no letters of
its own, no legend, one theme.
"""

from __future__ import annotations

from datetime import date, timedelta

import mainspring as ms
from _measure import line, median, seconds
from mainspring._grid import grid_html, grid_text

LIMIT, ROUNDS = 0.2, 7
STATES = ("SUCCESS", "SUCCESS", "SUCCESS", "MISSING", "SUCCESS", "STALE", "SUCCESS", "FAILED")
COLORS = {"SUCCESS": "#d3efe0", "MISSING": "#ffffff", "STALE": "#f5bf86", "FAILED": "#bf2f1d"}


def cells(rows: int, columns: int) -> tuple[list[str], list[str], dict[tuple[str, str], str]]:
    """Names, dates and states of a grid."""
    names = [f"dag_{number // 10}.task_{number}" for number in range(rows)]
    days = [str(date(2024, 1, 1) + timedelta(number)) for number in range(columns)]
    found = {(name, day): STATES[(7 * i + j) % len(STATES)]
             for i, name in enumerate(names) for j, day in enumerate(days)}
    return names, days, found


def main() -> None:
    """Print the figures."""
    import pandas as pd

    names, days, found = cells(50, 60)
    ours = median(lambda: seconds(lambda: grid_html(names, days, found)), ROUNDS)
    size = len(grid_html(names, days, found))
    line("grid of 3,000 cells, HTML", f"{ours * 1e3:.1f} ms, {size / 1000:.0f} kB", ours / LIMIT,
         "the limit of 200 ms", "below 1")

    frame = pd.DataFrame([[found[name, day] for day in days] for name in names], names, days)

    def styled() -> str:
        html: str = frame.style.map(lambda state: f"background:{COLORS[state]}").to_html()
        return html

    peer = median(lambda: seconds(styled), ROUNDS)
    line("  the same, pandas Styler", f"{peer * 1e3:.1f} ms, {len(styled()) / 1000:.0f} kB")
    line("  time", "", ours / peer, "pandas", "below 1")
    line("  size", "", size / len(styled()), "pandas", "below 1")
    line("  into text", f"{median(lambda: seconds(lambda: grid_text(names, days, found, color=False)), ROUNDS) * 1e3:.1f} ms")

    for rows, columns in ((300, 400), (1000, 1000)):
        names, days, found = cells(rows, columns)
        ours = median(lambda: seconds(lambda: grid_html(names, days, found)), 3)  # noqa: B023
        size = len(grid_html(names, days, found))
        line(f"grid of {rows * columns:,} cells, HTML", f"{ours * 1e3:.0f} ms, {size / 1000:.0f} kB")

    dag = ms.Dag.from_graph("sixty", [f"task_{n}" for n in range(60)],
                            [(f"task_{(n - k) // 2}", f"task_{n}") for n in range(2, 60) for k in (1, 2)])
    took = median(lambda: seconds(dag._repr_html_), ROUNDS)
    line("picture of 60 tasks and 116 edges", f"{took * 1e3:.1f} ms", took / LIMIT,
         "the limit of 200 ms", "below 1")
    big = ms.Dag.from_graph("big", map(str, range(3_000)), [(str(n // 3), str(n)) for n in range(1, 3_000)])
    took = median(lambda: seconds(big._repr_html_), 3)
    line("picture of 3,000 tasks, by layers", f"{took * 1e3:.1f} ms", took / LIMIT,
         "the limit of 200 ms", "below 1")


main()
