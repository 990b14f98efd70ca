"""`up` as somebody watches it: metrics and health on a port, a live line on a terminal."""

from __future__ import annotations

import http.client
import json
import os
import pty
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest
from metrics._exposition import parse

from .conftest import DEADLINE, Project, wait_for

TICK = """
    import mainspring as ms

    with ms.Dag("tick", schedule="* * * * * ?") as dag:

        @ms.task
        def one():
            print("tick")

        one()
"""


def asked(port: int, path: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=DEADLINE)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    except ConnectionError:
        return 0, ""
    finally:
        connection.close()


def ended(process: subprocess.Popen[str]) -> tuple[str, str]:
    process.send_signal(signal.SIGTERM)
    try:
        return process.communicate(timeout=DEADLINE)
    finally:
        process.kill()


def test_metrics_and_health(project: Project) -> None:
    project.write("dags/tick.py", TICK)
    process = project.start("up", "--metrics", "127.0.0.1:0", "--log", "json")
    try:
        assert process.stderr is not None
        first = json.loads(process.stderr.readline())
        assert (first["event"], first["host"]) == ("metrics", "127.0.0.1")
        port = first["port"]
        wait_for(lambda: asked(port, "/health") == (200, "ok\n"), "health")

        def succeeded() -> Any:
            samples = parse(asked(port, "/metrics")[1])
            labels = (("state", "SUCCESS"), ("task", "tick.one"), ("version", "1"))
            return samples.get(("mainspring_task_runs_finished_total", labels), 0) >= 2 and samples

        samples = wait_for(succeeded, "two runs that succeeded")
        assert samples[("mainspring_scheduler_up", ())] == 1
        assert samples[("mainspring_scheduler_epoch", ())] == 1
        assert ("mainspring_schedule_lag_seconds", (("dag", "tick"),)) in samples
    finally:
        _, err = ended(process)
    assert process.returncode == 0
    assert json.loads(err.splitlines()[-1])["event"] == "stopped"
    assert asked(port, "/health")[0] == 0


def test_one_that_stands_by_is_not_well(project: Project) -> None:
    project.write("dags/tick.py", TICK)
    leader = project.start("up", "--log", "json")
    try:
        wait_for(lambda: project("status", "--quiet").code == 0, "a scheduler")
        other = project.start("up", "--standby", "--metrics", "0", "--log", "json")
        try:
            assert other.stderr is not None
            port = json.loads(other.stderr.readline())["port"]
            wait_for(lambda: asked(port, "/health") == (503, "standing by\n"), "standing by")
            assert parse(asked(port, "/metrics")[1])[("mainspring_scheduler_up", ())] == 0
            ended(leader)
            wait_for(lambda: asked(port, "/health") == (200, "ok\n"), "health of the second")
            samples = parse(asked(port, "/metrics")[1])
            assert samples[("mainspring_scheduler_epoch", ())] == 2
        finally:
            ended(other)
    finally:
        leader.kill()
        leader.communicate()


@pytest.mark.parametrize(("words", "message"), [
    (["--metrics", "0.0.0.0:9464"], "--metrics-open"),
    (["--metrics", "x"], "is no address"),
    (["--metrics-open"], "--metrics"),
])
def test_what_is_refused(project: Project, words: list[str], message: str) -> None:
    result = project("up", *words)
    assert result.code == 2
    assert message in result.err
    assert not (project.root / ".mainspring").exists()


def test_a_port_that_is_taken_is_told_before_anything_starts(project: Project) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        result = project("up", "--metrics", str(taken.getsockname()[1]))
    assert result.code == 1
    assert "hint: choose another port" in result.err
    assert not (project.root / ".mainspring").exists()


class Terminal:
    """A command whose standard error is a terminal."""

    def __init__(self, project: Project, *words: str) -> None:
        self.mine, its = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "mainspring", *words], cwd=project.root, env=project.environ,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=its)
        os.close(its)
        self.text = ""

    def until(self, holds: Callable[[str], Any]) -> None:
        end = time.monotonic() + DEADLINE
        while not holds(self.text):
            assert time.monotonic() < end, self.text
            if select.select([self.mine], [], [], 0.1)[0]:
                try:
                    self.text += os.read(self.mine, 65536).decode()
                except OSError:  # nobody has the other side any more
                    assert holds(self.text), self.text
                    return

    def end(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        self.until(lambda text: text.rstrip("\r\n\x1b[2K").endswith("stopped"))
        code = self.process.wait(DEADLINE)
        os.close(self.mine)
        return code


def test_a_live_line_on_a_terminal(project: Project) -> None:
    project.write("dags/daily.py", TICK.replace("* * * * * ?", "0 0 2 1 1 ?"))
    terminal = Terminal(project, "up")
    try:
        terminal.until(lambda text: "0 running | 0 runs open | next fire " in text
                       and "-01-01 02:00, in " in text)
        project.write("dags/bad.py", "import mainspring\nraise ValueError('no')\n")
        terminal.until(lambda text: "1 file with problems" in text)
        assert terminal.end() == 0
    finally:
        terminal.process.kill()
        terminal.process.wait()
    # Nothing of the line stays on a line of the log.
    for line in terminal.text.split("\r\n"):
        assert "running" not in line.split("\r\x1b[2K")[-1]


def test_no_live_line_with_json_or_without_a_terminal(project: Project) -> None:
    project.write("dags/tick.py", TICK)
    terminal = Terminal(project, "up", "--log", "json")
    try:
        terminal.until(lambda text: text.count("SUCCESS") >= 2)
        terminal.process.send_signal(signal.SIGTERM)
        terminal.until(lambda text: '"stopped"' in text)
        assert terminal.process.wait(DEADLINE) == 0
    finally:
        terminal.process.kill()
        terminal.process.wait()
        os.close(terminal.mine)
    assert "\x1b" not in terminal.text
    assert all(json.loads(line)["event"] for line in terminal.text.splitlines())

    process = project.start("up")
    assert process.stderr is not None
    lines = [process.stderr.readline()]
    _, err = ended(process)
    assert "\x1b" not in "".join(lines) + err
    assert "next fire" not in err
