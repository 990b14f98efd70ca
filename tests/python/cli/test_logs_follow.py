"""`logs -f`: what a live attempt prints is shown while it lives, and until all is over."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mainspring as ms
import pytest
from mainspring._logread import log_file
from mainspring._session import history, location
from mainspring.cli._console import Console
from mainspring.cli._follow_log import CHUNK, STEP, Follower, _Live

from .conftest import DEADLINE, Project, wait_for

TALKER = """
    import sys
    import time
    from pathlib import Path
    import mainspring as ms

    HERE = Path(__file__).parent

    def wait(name):
        while not (HERE / name).exists():
            time.sleep(0.01)

    with ms.Dag("talker") as dag:

        @ms.task(retries=1, retry_interval="0s")
        def talk():
            attempt = ms.context().attempt
            print(f"out of {attempt}")
            print(f"err of {attempt} \\x1b[31m", file=sys.stderr)
            wait(f"go{attempt}")
            print("no end", end="")
            if attempt == 1:
                raise ValueError("not yet")

        @ms.task(depends_on=[talk])
        def after():
            print("after")
"""


def until(process: subprocess.Popen[str], text: str) -> list[str]:
    """Lines of its output up to one with this text."""
    assert process.stdout is not None
    timer = threading.Timer(DEADLINE, process.kill)
    timer.start()
    lines: list[str] = []
    try:
        for line in process.stdout:
            lines.append(line.rstrip("\n"))
            if text in line:
                return lines
    finally:
        timer.cancel()
    raise AssertionError(f"no {text!r} in {lines}; {process.communicate()[1]}")


@pytest.fixture
def talker(project: Project) -> Any:
    """A run of another process that waits."""
    project.write("dags/talker.py", TALKER)
    running = project.start("run", "talker", "--biz-date", "2024-01-01")
    try:
        wait_for(lambda: list(project.root.glob(".mainspring/*.files/logs/1/*.log")), "its output")
        yield project
    finally:
        running.kill()
        running.communicate()


def go(project: Project, *names: str) -> None:
    for name in names:
        (project.root / "dags" / name).write_text("")


def test_a_live_attempt_is_followed_and_those_after_it(talker: Project) -> None:
    following = talker.start("logs", "last", "-f")
    lines = until(following, "err of 1")
    assert lines == ["== talk  attempt 1  RUNNING", "talk  | out of 1", "talk  ! err of 1 \\x1b[31m"]
    go(talker, "go1")
    lines = until(following, "err of 2")
    assert lines[0] == "talk  | no end"
    assert lines[1].startswith("== talk  attempt 1  FAILED")
    assert "ValueError: not yet" in lines
    assert lines[-3:] == ["== talk  attempt 2  RUNNING", "talk  | out of 2",
                          "talk  ! err of 2 \\x1b[31m"]
    go(talker, "go2")
    out, _ = following.communicate(timeout=DEADLINE)
    rest = out.splitlines()
    assert rest[0] == "talk  | no end"
    assert rest[1].startswith("== talk  attempt 2  SUCCESS")
    assert rest[2] == "== after  attempt 1  RUNNING"
    assert rest[3] == "after | after"
    assert rest[4].startswith("== after  attempt 1  SUCCESS")
    assert rest[5:] == ["run 1 of talker: SUCCESS"]
    assert following.returncode == 0


def test_one_task_is_followed_until_it_ends(talker: Project) -> None:
    following = talker.start("logs", "1", "talk", "--follow")
    lines = until(following, "err of 1")
    assert lines[1:] == ["| out of 1", "! err of 1 \\x1b[31m"]
    go(talker, "go1", "go2")
    out, _ = following.communicate(timeout=DEADLINE)
    assert "after" not in out
    assert out.splitlines()[-1].startswith("== talk  attempt 2  SUCCESS")
    assert following.returncode == 0


def test_ctrl_c_ends_with_130(talker: Project) -> None:
    following = talker.start("logs", "last", "-f")
    until(following, "err of 1")
    following.send_signal(signal.SIGINT)
    _, err = following.communicate(timeout=DEADLINE)
    assert following.returncode == 130
    assert "Traceback" not in err


def test_with_json_there_is_one_document_at_the_end(talker: Project) -> None:
    go(talker, "go1", "go2")
    result = talker("logs", "last", "-f", "--json")
    assert result.code == 0
    talk, after = result.json["attempts"]
    assert (talk["attempt_no"], talk["outcome"], after["outcome"]) == (2, "SUCCESS", "SUCCESS")
    assert talk["log"].splitlines()[0] == "out of 2"


def test_a_run_whose_process_is_gone(talker: Project) -> None:
    following = talker.start("logs", "last", "-f")
    until(following, "err of 1")
    os.kill(talker("runs", "--json").json["runs"][0]["node"]["pid"], signal.SIGKILL)
    out, err = following.communicate(timeout=DEADLINE)
    assert out.splitlines()[-1] == "run 1 of talker: INTERRUPTED"
    assert "its process is gone" in err
    assert following.returncode == 3


def test_a_run_that_is_over_is_shown_and_left(talker: Project) -> None:
    go(talker, "go1", "go2")
    talker("logs", "last", "-f")
    result = talker("logs", "last", "-f")
    assert result.code == 0
    assert "talk  | out of 2" in result.out.splitlines()
    assert "out of 1" not in result.out  # the newest attempt of each task, as without -f
    result = talker("logs", "last", "-f", "--attempt", "1")
    assert "out of 1" in result.out
    assert "out of 2" not in result.out


# In this process


def follower(run: int, sleep: Callable[[float], None], **options: Any) -> tuple[Follower, Any]:
    console = Console(color=options.pop("color", False), verbose=options.pop("verbose", 0))
    console.out = io.StringIO()
    reader = history()
    assert reader is not None
    tasks = reader.task_runs(run)
    return Follower(reader, location(None), run, tasks, console, sleep=sleep, **options), console


def test_it_waits_between_its_looks() -> None:
    go, started = threading.Event(), threading.Event()
    with ms.Dag("one") as dag:

        @ms.task
        def talk() -> None:
            print("before")
            started.set()
            go.wait(DEADLINE)
            print("behind")

    thread = threading.Thread(target=lambda: dag.run("2024-01-01"), daemon=True)
    thread.start()
    assert started.wait(DEADLINE)
    waits: list[float] = []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            assert "| before" in console.out.getvalue()
            assert "behind" not in console.out.getvalue()
            go.set()
            thread.join(DEADLINE)

    made, console = follower(1, sleep)
    assert made.follow() == 0
    assert waits == [STEP] * 3  # what ended during the third look is all shown in the fourth
    assert console.out.getvalue().splitlines()[2] == "| behind"


def test_streams_have_colours_and_instants_on_request() -> None:
    import sys

    with ms.Dag("one") as dag:

        @ms.task
        def talk() -> None:
            print("to out")
            print("to err", file=sys.stderr)

    dag.run("2024-01-01")
    made, console = follower(1, lambda _: None, color=True, verbose=1)
    made.follow()
    lines = console.out.getvalue().splitlines()
    assert lines[1].endswith("Z | to out")
    assert lines[2].endswith("Z ! \x1b[33mto err\x1b[0m")


def test_the_file_is_where_the_row_says_afterwards(tmp_path: Path) -> None:
    with ms.Dag("one") as dag:

        @ms.task
        def talk() -> None:
            print("x")

    for name in ("plain", "two.dots.db", ".hidden", "end."):
        where = str(tmp_path / name)
        with_database = ms.use(database=where)
        dag.run("2024-01-01")
        (row,) = ms.sql("SELECT log_uri, task_run_id, attempt_no FROM attempt", database=where)
        found = log_file(with_database, 1, row["task_run_id"], row["attempt_no"])
        assert found == row["log_uri"]
    ms.use()


@pytest.mark.parametrize("pieces", [
    [b"2024-01-01T00:00:00Z O one\n", b"2024-01-01T00:00:01Z E tw", b"o\n2024"],
    [b"a" * (CHUNK - 1), b"b" * 3 + b"\nc\n"],
    [b"\n\n", b""],
])
def test_only_whole_lines_are_shown_before_the_end(tmp_path: Path, pieces: list[bytes]) -> None:
    path = tmp_path / "x.log"
    live = _Live(1, 1, 1, "t", str(path))
    assert list(live.lines(ended=False)) == []  # there is no file yet
    found: list[bytes] = []
    written = b""
    for piece in pieces:
        written += piece
        path.write_bytes(written)
        found += live.lines(ended=False)
        assert found == written.split(b"\n")[:-1]
    found += live.lines(ended=True)
    wanted = written.split(b"\n")
    assert found == (wanted if wanted[-1] else wanted[:-1])
