"""The Gantt chart of a run: bars, waiting, retries, and its time axis."""

import xml.etree.ElementTree as ElementTree
from datetime import datetime, timezone
from zoneinfo import ZoneInfo

import mainspring as ms
import pytest
from mainspring._gantt import Bar, Gantt, Row
from mainspring._timeaxis import axis

from ._page import HOSTILE, page

UTC = timezone.utc


def at(*parts, zone=UTC):
    return datetime(*parts, tzinfo=zone).timestamp()


def labels(begin, end, zone=UTC, **given):
    return [tick.label for tick in axis([(begin, end)], zone, **{"wide": 640, **given}).ticks]


@pytest.mark.parametrize(("seconds", "wanted"), [
    (0.3, ["00:00:00.00", "00:00:00.05", "00:00:00.10", "00:00:00.15"]),
    (7, ["00:00:00", "00:00:01", "00:00:02", "00:00:03"]),
    (600, ["00:00", "00:02", "00:04", "00:06"]),
    (7_200, ["00:00", "00:30", "01:00", "01:30"]),
    (86_400, ["01-15", "06:00", "12:00", "18:00"]),
    (10 * 86_400, ["01-16", "01-18", "01-20", "01-22"]),
])
def test_ticks_are_those_that_people_would_choose(seconds, wanted):
    begin = at(2024, 1, 15)
    assert labels(begin, begin + seconds)[:4] == wanted


def test_ticks_are_round_on_the_clock_of_the_zone():
    begin = at(2024, 1, 15, 2, 7, zone=ZoneInfo("Asia/Kathmandu"))
    assert labels(begin, begin + 7_200, ZoneInfo("Asia/Kathmandu")) == [
        "02:30", "03:00", "03:30", "04:00"]


@pytest.mark.parametrize(("day", "shift", "shown"), [
    ((2024, 3, 31), "clock +1h", ["03-31", "01:00", "03:00", "04:00", "05:00"]),
    ((2024, 10, 27), "clock -1h", ["10-27", "01:00", "02:00", "02:00", "03:00"]),
])
def test_the_hour_at_which_the_clock_is_set_is_marked(day, shift, shown):
    zone = ZoneInfo("Europe/Berlin")
    begin = at(*day, zone=zone)
    made = axis([(begin, begin + 4 * 3600)], zone, wide=640)
    assert [tick.label for tick in made.ticks] == shown
    assert [(mark.label, round(mark.x)) for mark in made.shifts] == [
        (shift, round(made.x(at(*day, 1))))]  # 01:00 in UTC


def test_idle_days_are_cut_out():
    begin = at(2024, 1, 15)
    made = axis([(begin, begin + 600), (begin + 9e5, begin + 9e5 + 600)], UTC, wide=640)
    assert len(made.breaks) == 1 and made.breaks[0][1] == pytest.approx(9e5 - 600)
    assert made.x(begin + 600) < made.x(begin + 4e5) + 1 < made.x(begin + 9e5)
    assert made.x(begin + 9e5 + 600) == 640
    assert made.x(begin + 300) == pytest.approx(made.x(begin + 9e5 + 300) - made.x(begin + 9e5))


def failing():
    tries = []
    with ms.Dag("sums") as dag:
        @ms.task
        def one() -> list:
            return [1, 2]

        @ms.task(retries=1, retry_interval="10ms")
        def shaky(numbers: list) -> int:
            tries.append(1)
            if len(tries) == 1:
                raise ValueError("once")
            return 2

        @ms.task
        def each(number: int) -> int:
            raise ValueError("always")

        @ms.task
        def never(numbers: list) -> None: ...

        start = one()
        shaky(start)
        never(each.map(start))
    return dag


def test_attempts_are_bars_and_mapped_tasks_are_folded():
    chart = failing().run("2024-01-15").gantt()
    rows = {row.task: row for row in chart.rows}
    assert [bar.state for bar in rows["shaky"].bars] == ["FAILED", "SUCCESS"]
    assert [(bar.state, bar.label) for bar in rows["each"].bars] == [("FAILED", "0/2")]
    assert rows["never"].bars == [] and rows["never"].note == "blocked by each"
    assert [row.task for row in chart.rows][0] == "one"
    found = page(chart._repr_html_())
    assert any(title.startswith("shaky, attempt 2: SUCCESS, ") for title in found.titles)
    assert "blocked by each" in found.texts and "g-w" in found.classes
    assert {"n-ok", "n-bad", "n-hold"} <= set(found.classes)


def test_a_live_run_goes_to_now():
    with ms.Dag("gate") as dag:
        ms.noop("build")() >> ms.gate("sign")
    run = dag.run("2024-01-15", wait=False)
    while run["sign"].state != "RUNNING":
        run.wait(0.01)
    now = run.created_at.timestamp() + 60
    row = Gantt(run, now).rows[-1]
    assert row.bars[-1].end == now and row.bars[-1].state == "RUNNING"
    run.cancel()


def test_it_stands_alone_as_a_file():
    root = ElementTree.fromstring(failing().run("2024-01-15").gantt()._repr_svg_())
    assert root.tag == "{http://www.w3.org/2000/svg}svg" and float(root.get("width")) > 600


def made(rows, zone="UTC"):
    chart = Gantt.__new__(Gantt)
    chart.now, chart.zone, chart.title, chart.counts = 0.0, zone, "run 1", {"SUCCESS": 1}
    chart.rows, chart.left = rows, 0
    return chart


def test_the_text_has_letters():
    begin = at(2024, 1, 15)
    rows = [Row("load", "SUCCESS", begin, [Bar(begin + 10, begin + 40, "FAILED", ""),
                                           Bar(begin + 50, begin + 60, "SUCCESS", "")], ""),
            Row("清洗", "BLOCKED", None, [], "blocked by load")]
    assert repr(made(rows)).splitlines() == [
        "run 1",
        "load  " + "." * 10 + "F" * 29 + " " * 10 + "S" * 10 + "   40.0s",
        "清洗  " + " " * 60 + "  blocked by load",
    ]
    assert repr(made([])) == "run 1\nnothing has run"


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_escaped(name):
    chart = made([Row(name, name, 0.0, [Bar(0.0, 1.0, name, name, name)], name),
                  Row(name, "BLOCKED", None, [], name)])
    html = chart._repr_html_()
    page(html)
    assert "<script" not in html and "\x1b" not in html
    ElementTree.fromstring(chart._repr_svg_())


def test_of_many_tasks_those_are_drawn_that_somebody_looks_for():
    with ms.Dag("many") as dag:
        @ms.task
        def bad() -> None:
            raise ValueError("x")
        bad()
        for number in range(200):
            ms.noop(f"n{number}")()
    chart = dag.run("2024-01-15").gantt()
    assert len(chart.rows) == 80 and chart.left == 121
    assert "bad" in [row.task for row in chart.rows]
    assert len(chart._repr_html_()) < 60_000
    assert repr(chart).splitlines()[-1] == "... 121 more tasks"
