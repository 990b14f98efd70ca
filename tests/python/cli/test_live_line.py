"""The line below the log of `up`: what it says, and that it stays one line."""

from __future__ import annotations

import io
from typing import Any

import pytest
from mainspring._heard import Heard
from mainspring.cli._live_line import LiveLine, loading, standing

SECOND = 1_000_000
NOON = 1_774_612_800 * SECOND  # 2026-03-27T12:00:00Z
CLEAR = "\r\x1b[2K"


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> Any:
    import time

    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def load(**more: Any) -> dict[str, Any]:
    return {"live": 0, "stuck": 0, "runs": 0, "next_fire": None, **more}


@pytest.mark.parametrize(("found", "text"), [
    (load(), "0 running | 0 runs open | nothing scheduled"),
    (load(live=3, runs=1), "3 running | 1 run open | nothing scheduled"),
    (load(live=3, stuck=1, runs=2), "3 running, 1 stuck | 2 runs open | nothing scheduled"),
    (load(next_fire=NOON + 1), "0 running | 0 runs open | next fire 12:00:00, in 1s"),
    (load(next_fire=NOON + 59 * SECOND), "0 running | 0 runs open | next fire 12:00:59, in 59s"),
    (load(next_fire=NOON + 250 * SECOND), "0 running | 0 runs open | next fire 12:04:10, in 4m 10s"),
    (load(next_fire=NOON + 7_500 * SECOND), "0 running | 0 runs open | next fire 14:05:00, in 2h 05m"),
    (load(next_fire=NOON + 50 * 3600 * SECOND),
     "0 running | 0 runs open | next fire 2026-03-29 14:00, in 2d 02h"),
    (load(next_fire=NOON), "0 running | 0 runs open | next fire now"),
    (load(next_fire=NOON - 5 * SECOND), "0 running | 0 runs open | next fire now"),
])
def test_what_it_says(found: dict[str, Any], text: str) -> None:
    assert standing(found, Heard(), NOON) == text


def test_problems_are_files() -> None:
    heard = Heard()
    for file in ("a.py", "a.py", "b.py"):
        heard.tell({"event": "problem", "file": file})
    assert standing(load(), heard, NOON).endswith(" | 2 files with problems")
    heard.tell({"event": "file_changed", "file": "a.py"})
    assert standing(load(), heard, NOON).endswith(" | 1 file with problems")


class Core:
    """Says how much there is, and counts how often it was asked."""

    def __init__(self) -> None:
        self.asked = 0

    def load(self) -> dict[str, Any]:
        self.asked += 1
        return load(live=self.asked)


class Screen:
    def __init__(self, columns: int = 80) -> None:
        self.stream, self.heard, self.now, self.core = io.StringIO(), Heard(), 0.0, Core()
        self.line = LiveLine(self.stream, self.heard, columns=lambda: columns,
                             monotonic=lambda: self.now, clock=lambda: NOON)

    def shown(self) -> list[str]:
        """Each line that a terminal shows now, what was written over left out."""
        return [line.split(CLEAR)[-1] for line in self.stream.getvalue().split("\n")]


def test_it_is_written_over_once_a_second() -> None:
    screen = Screen()
    screen.line.turned()
    assert screen.stream.getvalue() == ""  # it does not lead yet
    screen.line.leads(screen.core)  # type: ignore[arg-type]
    for _ in range(10):
        screen.line.turned()
        screen.now += 0.25
    assert screen.core.asked == 3
    assert screen.shown() == ["3 running | 0 runs open | nothing scheduled"]


def test_the_log_stands_above_it() -> None:
    screen = Screen()
    screen.line.leads(screen.core)  # type: ignore[arg-type]
    screen.line.turned()
    screen.line.above("12:00:00 run 1 made")
    screen.line.above("12:00:01 run 1 over")
    assert screen.shown() == ["12:00:00 run 1 made", "12:00:01 run 1 over",
                              "1 running | 0 runs open | nothing scheduled"]
    screen.heard.tell({"event": "stopping"})
    screen.line.above("12:00:02 stopped")
    assert screen.shown()[-2:] == ["12:00:02 stopped", ""]


def test_files_that_are_loaded() -> None:
    assert loading(312, 1000) == "loaded 312/1000 files"
    assert loading(0, 1) == "loaded 0/1 file"
    screen = Screen()
    for done in range(1, 1000):
        screen.line.files(done, 1000)
        if done % 100 == 0:
            screen.now += 0.125
        if done == 312:
            assert screen.shown() == ["loaded 301/1000 files"]  # at most ten times a second
    screen.line.files(1000, 1000)
    assert screen.shown() == [""]


def test_a_database_that_cannot_be_written_is_not_asked() -> None:
    screen = Screen()
    screen.line.leads(screen.core)  # type: ignore[arg-type]
    screen.heard.tell({"event": "stalled", "why": "disk full"})
    screen.line.turned()
    assert screen.core.asked == 0
    assert screen.shown() == ["NOTHING CAN BE WRITTEN: disk full"]


def test_it_is_no_wider_than_the_terminal() -> None:
    screen = Screen(columns=30)
    screen.line.leads(screen.core)  # type: ignore[arg-type]
    screen.line.turned()
    (line,) = screen.shown()
    assert line == "1 running | 0 runs open | ..."
    assert len(line) == 29


def test_a_terminal_that_is_gone_stops_nothing() -> None:
    screen = Screen()
    screen.line.leads(screen.core)  # type: ignore[arg-type]
    screen.stream.close()
    screen.line.turned()
    screen.line.files(1, 2)
