"""What outlives SIGKILL keeps its slot, is shown, and gives the slot back when it is gone at last.

A process that somebody traces stays until the tracer has looked: nobody else can bury it. That is
as near to one that hangs in the kernel as one comes without being root.
"""

import ctypes
import os

import pytest

from . import _tools as tools

SEIZE, WALL = 0x4206, 0x40000000

STAYS = """
    with ms.Dag("stays") as dag:
        @ms.task(grace="300ms", retries=0)
        def one():
            import ctypes, subprocess
            code = '''if True:
                import ctypes, time
                # Whoever wants may trace it, where the kernel asks for that.
                ctypes.CDLL(None).prctl(0x59616d61, ctypes.c_ulong(-1), 0, 0, 0)
                print("ready", flush=True)
                time.sleep(600)
            '''
            child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
            child.stdout.readline()
            said("start", child=child.pid)
            held("never")

    with ms.Dag("other") as other:
        @ms.task
        def two():
            said("start")
"""


def test_a_tree_that_cannot_be_killed_is_shown_and_keeps_its_slot(place):
    """B15."""
    (place.root / "mainspring.toml").write_text("slots = 1\n")
    place.write("stays.py", STAYS)
    up = place.up()
    run = place.trigger("stays")
    (line,) = place.seen(task="one")
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    if libc.ptrace(SEIZE, line["child"], None, None) != 0:
        pytest.skip(f"this kernel lets nobody trace: {os.strerror(ctypes.get_errno())}; "
                    "tests/it/runtime/processes/unkillable.rs has a false supervisor instead")
    assert place.json("status")["stuck"] == []
    code, out, err = place.ms("cancel", run)
    assert code == 0, out + err
    assert place.finished(run) == "CANCELED"

    # Its record has ended; what is left of it is killed on and on, and holds the only slot.
    (stuck,) = place.json("status")["stuck"]
    assert stuck == {"run": run, "task": "stays.one", "attempt": 1, "outcome": "CANCELED", "pool": None,
                     "slots": 1}
    _, out, _ = place.ms("status")
    assert f"run {run}: attempt 1 of stays.one RUNNING (kill failed)" in out
    assert "keeps 1 slot" in out
    waits = place.trigger("other")
    tools.until(lambda: place.states(waits) == {"two": "READY"})
    tools.until(lambda: _state(line["child"]) == "Z", 15)
    assert place.states(waits) == {"two": "READY"} and place.story(run=waits) == []

    # Its tracer looks: now it can be buried, and the slot is back.
    pid, status = os.waitpid(line["child"], WALL)
    assert pid == line["child"] and os.WTERMSIG(status) == 9
    assert place.finished(waits) == "SUCCESS"
    assert place.json("status")["stuck"] == []
    assert [each["outcome"] for each in place.attempts(run)] == ["CANCELED"]
    assert up.stop() == 0
    up.gone()
    place.sound()


def _state(pid):
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rsplit(")", 1)[1].split()[0]
