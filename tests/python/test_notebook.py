"""A notebook: a running event loop, the kernel's own streams, an interrupt of a cell (H05)."""

import gc
import threading
import time
import warnings

import jupyter_client.manager as client
import pytest

SETUP = """
import time
import mainspring as ms
isolated = ms.testing.isolated(); isolated.__enter__()
with ms.Dag("d") as dag:
    @ms.task
    def talk():
        print("of the task")
        return 5
    @ms.task
    async def more(number):
        return number + 1
    more(talk())
with ms.Dag("slow") as slow:
    @ms.task
    def wait():
        while True:
            time.sleep(0.01)
"""


@pytest.fixture
def kernel():
    manager, connected = client.start_new_kernel(kernel_name="python3")
    try:
        yield manager, connected
    finally:
        connected.stop_channels()
        manager.shutdown_kernel(now=True)
        manager.cleanup_resources()
        del manager, connected
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what the client leaves open is not ours
            gc.collect()


def run(connected, code, when_running=None):
    """Run a cell; returns (reply, text it printed, formats it displayed)."""
    printed, shown = [], []

    def hook(message):
        kind, content = message["header"]["msg_type"], message["content"]
        if kind == "stream":
            printed.append(content["text"])
        elif kind in ("display_data", "update_display_data", "execute_result"):
            shown.append(content["data"])

    if when_running is not None:
        threading.Timer(2.0, when_running).start()
    reply = connected.execute_interactive(code, output_hook=hook, timeout=60)
    return reply["content"], "".join(printed), shown


@pytest.mark.filterwarnings("ignore")
def test_cells(kernel):
    manager, connected = kernel
    reply, _, _ = run(connected, SETUP)
    assert reply["status"] == "ok", reply
    # A cell with await runs inside the kernel's event loop; so does every other one.
    reply, printed, shown = run(connected, "ran = dag.run('2013-01-15')\nprint('after')\nran")
    assert reply["status"] == "ok", reply
    assert printed == "after\n"
    assert "<table" in shown[-1]["text/html"]
    _, printed, _ = run(connected, "print(ran['talk'].log, ran.result('more'))")
    assert printed == "of the task\n 6\n"
    # Defining a task of a dag again replaces it.
    cell = "@dag.task\ndef extra(): ..."
    run(connected, cell)
    reply, printed, _ = run(connected, cell + "\nprint(dag)")
    assert printed == "Dag('d', tasks=['talk', 'more', 'extra'])\n", reply

    interrupted = []

    def interrupt():
        interrupted.append(time.monotonic())
        manager.interrupt_kernel()

    reply, _, shown = run(connected, "slow.run('2013-01-15')", interrupt)
    assert time.monotonic() - interrupted[0] < 3
    assert reply["ename"] == "KeyboardInterrupt"
    assert any("running wait" in each["text/plain"] for each in shown)
    _, printed, _ = run(connected, "print(ms.runs()[0].state, dag.run('2013-01-16').state)")
    assert printed == "CANCELED SUCCESS\n"


LIVE = """
import threading
lock, seen = threading.Lock(), []
factor = 3
with ms.Dag("live") as live:
    @ms.task
    def read():
        with lock:
            seen.append("read")
        return [1, 2, 3]
    @ms.task
    def times(numbers):
        return [factor * number for number in numbers]
    times(read())
"""


@pytest.mark.filterwarnings("ignore")
def test_tasks_of_cells_use_what_is_in_the_notebook(kernel):
    _, connected = kernel
    assert run(connected, SETUP)[0]["status"] == "ok"
    assert run(connected, LIVE)[0]["status"] == "ok"
    # A cell with await has the kernel's loop running around it.
    cell = "import asyncio; await asyncio.sleep(0)\nran = live.run('2024-01-15')\nprint(seen, ran.results)"
    reply, printed, _ = run(connected, cell)
    assert printed == "['read'] {'read': [1, 2, 3], 'times': [3, 6, 9]}\n", reply
    # Running a cell again, changed or not, replaces what it defined.
    for text, wanted in ((LIVE, "[3, 6, 9]"), (LIVE.replace("factor *", "10 *"), "[10, 20, 30]"),
                         (LIVE.replace("def times", "def again").replace("times(", "again("),
                          "[3, 6, 9]")):
        assert run(connected, text)[0]["status"] == "ok"
        cell = "ran = live.run('2024-01-15')\nprint(list(ran.results.values())[-1], ran.state)"
        reply, printed, _ = run(connected, cell)
        assert printed == f"{wanted} SUCCESS\n", reply
    # A variable that changes between runs is what it is by then.
    _, printed, _ = run(connected, "factor = 4\nprint(live.run('2024-01-16').results['again'])")
    assert printed == "[4, 8, 12]\n"


@pytest.mark.filterwarnings("ignore")
def test_views_show_themselves(kernel):
    _, connected = kernel
    assert run(connected, SETUP)[0]["status"] == "ok"
    assert run(connected, "ran = dag.run('2024-01-15'); _ = dag.run('2024-01-16')")[0][
        "status"] == "ok"
    for cell, wanted in (("dag", "<svg"), ("ran", "<svg"), ("ms.runs()", "ms-g"),
                         ("ran.gantt()", "g-t"), ("ran['talk']", "of the task"),
                         ("ran['talk'].attempts[0]", "of the task"),
                         ("ms.cron('0 2 * * *')", "ms-k"), ("ms.schedule('@daily')", "ms-k")):
        reply, _, shown = run(connected, cell)
        assert reply["status"] == "ok", reply
        assert wanted in shown[-1]["text/html"] and "text/plain" in shown[-1], cell
    reply, printed, _ = run(connected, "%load_ext mainspring\n%mainspring explain ran talk")
    assert printed.startswith("talk of run 1 is SUCCESS"), reply
    reply, _, _ = run(connected, "%mainspring explain ran")
    assert reply["ename"] == "UsageError" and "no task 'ran'" in reply["evalue"], reply


@pytest.mark.filterwarnings("ignore")
def test_progress_is_one_output_that_is_replaced(kernel):
    manager, connected = kernel
    assert run(connected, SETUP)[0]["status"] == "ok"
    reply, _, shown = run(connected, "slow.run('2024-01-15')", manager.interrupt_kernel)
    assert reply["ename"] == "KeyboardInterrupt"
    live = [each["text/html"] for each in shown if "running wait" in each["text/plain"]]
    # A few a second at most, each with a bar, the picture and the states.
    assert 2 <= len(live) <= 10
    assert all("m-bar" in html and "<svg" in html and "RUNNING 1" in html for html in live)
    assert shown[-1]["text/plain"].endswith("interrupted: dag.rerun(1) takes up what is left")
    _, printed, _ = run(connected, "print(ms.run(1).state)")
    assert printed == "CANCELED\n"
