"""Ctrl-C: once is an orderly end within a second, twice is at once."""

import os
import signal
import subprocess
import sys
import time

import mainspring as ms
import pytest

from . import _tools as tools

TASKS = tools.WITNESS + '''
import asyncio, subprocess, sys, time

with ms.Dag("slow", database=os.environ["BASE"]) as dag:
    @ms.task
    def loop():
        witness("start")
        while True:
            time.sleep(0.01)

    @ms.task
    def native():
        witness("start")
        time.sleep(60)

    @ms.task
    async def coroutine():
        witness("start")
        await asyncio.sleep(60)

    @ms.task
    def child():
        process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"],
                                   start_new_session=True)
        say(event="start", task="child", attempt=1, token=0, pid=process.pid, run=0)
        try:
            while process.poll() is None:
                time.sleep(0.01)
        finally:
            process.kill()
            process.wait()

    @ms.task(depends_on=["loop", "native", "coroutine", "child"])
    def after():
        witness("start")

if __name__ == "__main__":
    try:
        dag.run("2020-01-01", only=sys.argv[1].split(",") + ["after"])
    except KeyboardInterrupt:
        say(event="interrupted", at=time.monotonic())
        raise
'''


def begin(folder, tasks, *, cli=False):
    base, said = folder / "base.db", folder / "witness"
    env = {"WITNESS": said, "BASE": base}
    if cli:
        (folder / "script.py").write_text(TASKS, encoding="utf-8")
        child = subprocess.Popen(
            [sys.executable, "-m", "mainspring", "run", "script.py", "--only", f"{tasks},after",
             "--database", str(base)],
            cwd=folder, env=tools.environment(**env), text=True, start_new_session=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    else:
        child = tools.start(folder, TASKS, tasks, env=env, start_new_session=True)
    wanted = set(tasks.split(","))
    tools.until(lambda: wanted <= {line["task"] for line in tools.lines(said)}
                or child.poll() is not None)
    assert child.poll() is None, child.communicate()
    return child, base, said


def press(child):
    """Ctrl-C as a terminal sends it: to every process of the group."""
    os.killpg(child.pid, signal.SIGINT)


@pytest.mark.parametrize("cli", [False, True], ids=["script", "command"])
@pytest.mark.parametrize("tasks", ["loop", "coroutine", "native", "child", "loop,native,coroutine"])
def test_once(tmp_path, tasks, cli):
    child, base, _ = begin(tmp_path, tasks, cli=cli)
    pressed = time.monotonic()
    press(child)
    code, out, err = tools.finish(child, 20)
    took = time.monotonic() - pressed
    assert took < 3.0, took  # a second by itself; the rest is for a machine that is busy
    assert code == (130 if cli else -signal.SIGINT) or (not cli and code == 130), (code, out, err)
    assert "Traceback" in err or cli
    assert "Fatal" not in err and "panicked" not in err, err
    states = {row["name"]: row["state"] for row in tools.rows(
        base, "SELECT k.name, t.state FROM task_run t JOIN task k ON k.id = t.task_id")}
    for task in tasks.split(","):
        assert states[task] == "CANCELED", (states, err)
    assert states["after"] == "CANCELED"
    assert tools.rows(base, "SELECT state FROM run") == [{"state": "CANCELED"}]
    assert tools.consistent(base) == []
    if tasks == "child":
        # The handler had the time to end its child.
        pid = next(line["pid"] for line in tools.lines(tmp_path / "witness"))
        tools.until(lambda: not _alive(pid), 5)
    _leaves_nothing(base)


def _alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def _leaves_nothing(base):
    """The next process finds no RUNNING row that is not leased, and can go on."""
    assert tools.consistent(base) == []
    dag = ms.Dag.from_graph("next", ["a"], database=base)
    assert dag.run("2020-01-01").state == "SUCCESS"
    for run in ms.runs(database=base):
        assert run.state != "RUNNING"
    ms._session.close(base)


@pytest.mark.parametrize("cli", [False, True], ids=["script", "command"])
@pytest.mark.parametrize("tasks", ["native", "loop,native"])
def test_twice(tmp_path, tasks, cli):
    child, base, _ = begin(tmp_path, tasks, cli=cli)
    press(child)
    time.sleep(0.15)  # the second press of a hurried hand
    pressed = time.monotonic()
    press(child)
    code, _, err = tools.finish(child, 20)
    took = time.monotonic() - pressed
    assert took < 1.5, (took, err)  # half a second by itself
    assert code in (130, -signal.SIGINT)
    assert "Fatal" not in err and "panicked" not in err, err
    _leaves_nothing(base)


def test_during_import(tmp_path):
    """While the file is being imported there is nothing to cancel."""
    (tmp_path / "slow_import.py").write_text(
        "import pathlib, time\npathlib.Path('there').touch()\ntime.sleep(60)\n", encoding="utf-8")
    child = subprocess.Popen([sys.executable, "-m", "mainspring", "run", "slow_import.py",
                              "--database", str(tmp_path / "base.db")], cwd=tmp_path,
                             env=tools.environment(), text=True, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE)
    tools.until((tmp_path / "there").exists)
    child.send_signal(signal.SIGINT)
    code, out, err = tools.finish(child, 20)
    assert code == 130, (code, out, err)
    assert "Traceback" not in err


def test_in_a_notebook(tmp_path):
    from jupyter_client import manager

    said = tmp_path / "witness"
    kernel, client = manager.start_new_kernel(
        kernel_name="python3", cwd=str(tmp_path),
        env=tools.environment(WITNESS=said, BASE=tmp_path / "base.db",
                              IPYTHONDIR=tmp_path / "ipython"))
    try:
        def answer_to(request, seconds=60):
            while True:
                answer = client.get_shell_msg(timeout=seconds)
                if answer["parent_header"].get("msg_id") == request:
                    return answer

        def execute(code):
            return answer_to(client.execute(code))

        (tmp_path / "slow.py").write_text(TASKS, encoding="utf-8")
        answer = execute("import sys; sys.path.insert(0, '.'); import slow, mainspring as ms")
        assert answer["content"]["status"] == "ok", answer["content"]
        for tasks in ("loop", "native"):
            before = len(tools.lines(said))
            request = client.execute(f"slow.dag.run('2020-01-01', only=['{tasks}'])")
            tools.until(lambda before=before: len(tools.lines(said)) > before)
            pressed = time.monotonic()
            kernel.interrupt_kernel()
            answer = answer_to(request, 20)
            took = time.monotonic() - pressed
            assert answer["content"]["status"] == "error"
            assert answer["content"]["ename"] == "KeyboardInterrupt", answer["content"]
            assert took < 3.0, took
        code = ("run = ms.Dag.from_graph('next', ['a', 'b'], database=slow.dag.database)"
                ".run('2020-01-01'); assert run.state == 'SUCCESS', run")
        answer = execute(code)
        assert answer["content"]["status"] == "ok", answer["content"]
    finally:
        client.stop_channels()
        kernel.shutdown_kernel(now=True)


WAITS = '''
import os, time, mainspring as ms
dag = ms.Dag.from_graph("abc", ["a"], database=os.environ["BASE"])
dag.run("2020-01-01")
print("ready", flush=True)
input()
print("asks", flush=True)
dag.run("2020-01-02")
'''

HOLDS = '''
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.readline()
connection.execute("COMMIT")
connection.close()
'''


def test_while_another_process_holds_the_database(tmp_path):
    """The run cannot be made for now: Ctrl-C does not wait for that, and it is not made later."""
    base = tmp_path / "base.db"
    child = tools.start(tmp_path, WAITS, env={"BASE": base}, stdin=subprocess.PIPE,
                        start_new_session=True)
    assert child.stdout.readline() == "ready\n"
    holder = tools.start(tmp_path, HOLDS, base, name="holds.py", stdin=subprocess.PIPE)
    assert holder.stdout.readline() == "held\n"
    child.stdin.write("go\n")
    child.stdin.flush()
    assert child.stdout.readline() == "asks\n"
    time.sleep(0.3)  # so that it waits by now; a little earlier is a case as good
    pressed = time.monotonic()
    press(child)
    code, _, err = tools.finish(child, 20)
    assert time.monotonic() - pressed < 3.0
    assert code == -signal.SIGINT, err
    holder.communicate("go on\n", timeout=20)
    assert [row["state"] for row in tools.rows(base, "SELECT state FROM run")] == ["SUCCESS"]
    _leaves_nothing(base)
