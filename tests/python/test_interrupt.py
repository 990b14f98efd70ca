"""Ctrl-C in a script, once and twice (H05); a forked child."""

import os
import signal
import subprocess
import sys
import time

import mainspring as ms
import pytest

SCRIPT = """
import sys, threading, time
import mainspring as ms
with ms.Dag("d") as dag:
    @ms.task
    def work():
        print("never seen")
        (BODY)
    @ms.task
    def after(x): ...
    after(work())
def tell():
    while not dag.runs() or dag.runs()[0]["work"].state != "RUNNING": time.sleep(0.01)
    sys.__stdout__.write("started\\n"); sys.__stdout__.flush()
threading.Thread(target=tell, daemon=True).start()
dag.run("2013-01-15")
"""

BODIES = {
    "loop": "[time.sleep(0.01) for _ in range(3000)]",
    "native": "time.sleep(30)",
}


def started(body, database):
    environment = {**os.environ, "MAINSPRING_DATABASE": str(database)}
    process = subprocess.Popen(
        [sys.executable, "-X", "faulthandler", "-c", SCRIPT.replace("(BODY)", BODIES[body])],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
    )
    assert process.stdout.readline() == "started\n"
    return process


@pytest.mark.parametrize("body", BODIES)
def test_ctrl_c_once(body, tmp_path):
    database = tmp_path / "x.db"
    process = started(body, database)
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=20)
    assert time.monotonic() - began < 3
    assert process.returncode == -signal.SIGINT, errors
    assert "KeyboardInterrupt" in errors
    assert "run 1" in errors
    run = ms.run(1, database=database)
    if body == "loop":
        assert run.state == "CANCELED"
        assert {each.state for each in run} == {"CANCELED"}
    else:
        assert run.state in ("CANCELED", "INTERRUPTED")


def test_ctrl_c_twice(tmp_path):
    process = started("native", tmp_path / "x.db")
    process.send_signal(signal.SIGINT)
    time.sleep(0.2)
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    assert time.monotonic() - began < 1
    assert process.returncode == -signal.SIGINT


@pytest.mark.parametrize("again", range(5))
def test_ctrl_c_in_a_cell_leaves_the_session_usable(again):
    import _thread

    # It may come before the main thread knows which run was made, or while it waits.
    with ms.Dag("d") as dag:

        @ms.task
        def wait():
            _thread.interrupt_main()
            while True:
                time.sleep(0.01)

    with pytest.raises(KeyboardInterrupt):
        dag.run("2013-01-15")
    assert dag.runs()[0].state == "CANCELED"
    assert ms.Dag.from_graph("g", ["a"]).run("2013-01-15").state == "SUCCESS"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_is_told():
    dag = ms.Dag.from_graph("g", ["a"])
    dag.run("2013-01-15")
    child = os.fork()
    if child == 0:
        code = 1
        try:
            dag.run("2013-01-16")
        except ms.StoreError as error:
            code = 0 if "forked" in str(error) else 2
        except BaseException:  # noqa: BLE001 - the child says so by its code
            code = 3
        os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert dag.run("2013-01-16").state == "SUCCESS"


def test_a_forked_child_ends_by_itself(tmp_path):
    code = (
        "import os, sys, mainspring as ms\n"
        "ms.Dag.from_graph('g', ['a']).run('2013-01-15')\n"
        "child = os.fork()\n"
        "if child == 0: sys.exit(7)\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )
    done = subprocess.run([sys.executable, "-X", "faulthandler", "-c", code], capture_output=True,
                          text=True, timeout=30, check=False, cwd=tmp_path,
                          env={**os.environ, "MAINSPRING_HOME": str(tmp_path)})
    assert done.stdout == "7\n", done.stderr
