"""Live progress: one line on a terminal, few lines elsewhere, silence where nobody looks."""

import io
import threading

import mainspring as ms
import pytest
from mainspring import _progress
from mainspring._screens import Lines
from mainspring._screens import Terminal as Screen


class Terminal(io.StringIO):
    def isatty(self):
        return True


def state(**counts):
    return {"state": "RUNNING", "counts": counts, "total": 10, "running": ["load"]}


@pytest.mark.parametrize(
    ("now", "seconds", "text"),
    [
        (state(PENDING=10), 0.0, "0/10 done | running load | 0.0s"),
        (state(SUCCESS=4, FAILED=1, BLOCKED=2, RUNNING=1, PENDING=2), 2.0,
         "7/10 done, 1 failed, 2 blocked | running load | 2.0s, 4/s, 1s left"),
        ({"state": "SUCCESS", "counts": {"SUCCESS": 10}, "total": 10, "running": []}, 2.0,
         "10/10 done | SUCCESS | 2.0s, 5/s"),
        ({}, 1.0, ""),
    ],
)
def test_the_line(now, seconds, text):
    assert _progress.line(now, seconds) == text


def test_a_terminal_has_one_line(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    dag = ms.Dag.from_graph("g", ["a", "b"])
    dag.run("2013-01-15", progress=True)
    assert stream.getvalue().count("\n") == 1
    assert "2/2 done | SUCCESS" in stream.getvalue()


def test_a_short_run_says_nothing_unasked(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setattr(_progress, "FIRST", 30.0)
    ms.Dag.from_graph("g", ["a"]).run("2013-01-15")
    assert stream.getvalue() == ""


def test_a_long_run_shows_what_runs(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setattr(_progress, "FIRST", 0.01)
    go = threading.Event()
    shown = Screen.show

    def show(self, text, *rest):
        shown(self, text, *rest)
        if "running slow" in text:
            go.set()

    monkeypatch.setattr(Screen, "show", show)
    with ms.Dag("d") as dag:

        @ms.task
        def slow():
            go.wait(10)

    dag.run("2013-01-15")
    assert go.is_set()
    assert "1/1 done | SUCCESS" in stream.getvalue()


def test_plain_lines_elsewhere(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    ms.Dag.from_graph("g", ["a", "b"]).run("2013-01-15", progress=True)
    assert stream.getvalue().splitlines()[-1].startswith("2/2 done | SUCCESS")
    stream.truncate(0)
    ms.Dag.from_graph("g", ["a", "b"]).run("2013-01-15")
    assert stream.getvalue() == ""


def progress_at(stream, moments, done, **given):
    """A progress of five task runs, shown to a stream at these seconds, with so many done."""
    now = [0.0]
    counts = {"SUCCESS": 0, "PENDING": 5}
    made = _progress.Progress(snapshot=lambda: _progress.Snapshot(counts), on=stream,
                              clock=lambda: now[0], **given)
    for moment, number in zip(moments, done, strict=True):
        now[0] = moment
        counts.update(SUCCESS=number, PENDING=5 - number)
        made.update()
    return made


def test_lines_come_once_a_minute_and_at_the_end():
    stream = io.StringIO()
    progress_at(Lines(stream), [0.0, 1.0, 59.0, 60.0, 61.0, 119.0], [0, 1, 2, 3, 3, 4]).finish()
    assert stream.getvalue().splitlines() == [
        "0/5 done | 0.0s", "3/5 done | 1m 00s, 3/min, 40s left", "4/5 done | 1m 59s, 2/min, 30s left"]


def test_a_line_that_says_nothing_new_is_left_out():
    stream = io.StringIO()
    progress_at(Lines(stream), [0.0, 60.0, 120.0, 180.0], [0, 0, 0, 1])
    assert [line[:8] for line in stream.getvalue().splitlines()] == ["0/5 done", "1/5 done"]


def test_a_closed_stderr_is_no_reason_to_fail(monkeypatch):
    stream = io.StringIO()
    stream.close()
    monkeypatch.setattr("sys.stderr", stream)
    assert ms.Dag.from_graph("g", ["a"]).run("2013-01-15").state == "SUCCESS"


@pytest.mark.parametrize(("columns", "shown"), [
    (80, " 60% |██████████████▍         | 3/5 done | 1.0s, 3/s, 1s left"),
    (50, " 60% |███████▏    | 3/5 done | 1.0s, 3/s, 1s left"),
    (44, "3/5 done | 1.0s, 3/s, 1s left"),
    (20, "3/5 done | 1.0s, ..."),
])
def test_the_bar_of_a_terminal_takes_the_room_that_is_left(columns, shown):
    stream = Terminal()
    progress_at(Screen(stream, columns), [0.0, 1.0], [0, 3])
    assert stream.getvalue().split("\r\x1b[2K")[-1] == shown


def test_a_terminal_of_few_letters_has_a_plain_bar():
    class Ascii(Terminal):
        encoding = "ascii"

    stream = Ascii()
    progress_at(Screen(stream, 60), [0.0, 1.0], [0, 3]).finish()
    assert " 60% |#############---------| 3/5 done" in stream.getvalue()
    stream.getvalue().encode("ascii")


@pytest.mark.parametrize(("done", "seconds", "text"), [
    (40, 4000.0, "40/100 done | 1h 06m, 1h 40m left"),
    (40, 120.0, "40/100 done | 2m 00s, 20/min, 3m 00s left"),
    (100, 2.0, "100/100 done | 2.0s, 50/s"),
])
def test_rates_and_times_are_in_units_that_people_use(done, seconds, text):
    now = {"state": "RUNNING", "counts": {"SUCCESS": done, "PENDING": 100 - done}, "total": 100}
    assert _progress.line(now, seconds) == text
