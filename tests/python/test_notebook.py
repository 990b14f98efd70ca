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
