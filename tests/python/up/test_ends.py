"""How it ends: orderly, at once, and never with somebody left behind."""

import signal

import pytest

from . import _tools as tools

WAITS = """
    with ms.Dag("waits") as dag:
        @ms.task(retries=0, grace="1s")
        def one():
            said("start")
            held("one")
            said("end")

        @ms.task
        def two():
            said("start")

        one() >> two()
"""


def test_what_runs_may_finish(place):
    place.write("waits.py", WAITS)
    up = place.up("--grace", 60)
    run = place.trigger("waits")
    place.seen(task="one")
    up.signal()
    up.wait("stopping", signal="SIGTERM")
    up.wait("finishing", attempts=1)
    place.open_gate("one")
    assert up.ended() == 0
    assert [(each["task"], each["outcome"]) for each in place.attempts(run)] == [("one", "SUCCESS")]
    assert place.run(run)["finished_at"] is None
    assert place.story(task="two") == [], "nothing starts after it was asked to end"

    again = place.up()
    assert place.finished(run) == "SUCCESS"
    assert [(each["task"], each["outcome"]) for each in place.attempts(run)] == [
        ("one", "SUCCESS"), ("two", "SUCCESS")]
    assert again.stop() == 0
    place.sound()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["TERM", "INT"])
def test_an_interrupted_attempt_costs_nothing(place, number):
    place.write("waits.py", WAITS)
    up = place.up("--grace", 0.2)
    run = place.trigger("waits")
    place.seen(task="one")
    up.signal(number)
    assert up.ended() == 0
    assert up.all("interrupting") and up.events[-1]["event"] == "stopped"
    up.gone()
    (first,) = place.attempts(run)
    assert first["outcome"] == "INTERRUPTED"
    used = "SELECT errors_used, losses_used, preemptions_used FROM task_run WHERE run_id = ?"
    assert all(set(row.values()) == {0} for row in place.rows(used, run))
    assert place.rows("SELECT * FROM attempt_lease") == []
    assert tools.others.consistent(place.database) == []

    # With `retries=0` a second attempt is there only because the first did not count.
    place.open_gate("one")
    again = place.up()
    assert place.finished(run) == "SUCCESS"
    assert [(each["task"], each["outcome"]) for each in place.attempts(run)] == [
        ("one", "INTERRUPTED"), ("one", "SUCCESS"), ("two", "SUCCESS")]
    assert again.stop() == 0
    place.sound()


def test_a_second_signal_ends_it_at_once(place):
    place.write("stubborn.py", """
        with ms.Dag("stubborn") as dag:
            @ms.task(retries=0)
            def one():
                import signal, subprocess
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
                child = subprocess.Popen(["sleep", "600"], start_new_session=True)
                said("start", child=child.pid)
                held("never")
    """)
    up = place.up("--grace", 600)
    run = place.trigger("stubborn")
    place.seen(task="one")
    assert len(up.trees()) >= 3, "supervisor, worker, and what it has started"
    up.signal()
    up.wait("stopping")
    up.signal()
    assert up.ended(5) == 128 + signal.SIGTERM
    up.gone(15)

    # Known as lost by the next one.
    again = place.up()
    tools.until(lambda: place.attempts(run)[0]["outcome"] == "LOST")
    again.kill()
    again.gone()


def test_nothing_survives_a_scheduler_that_was_killed(place):
    place.write("waits.py", WAITS.replace("said(\"start\")\n            held", """
            import subprocess
            subprocess.Popen(["sleep", "600"], start_new_session=True)
            if os.fork() == 0:
                os.setsid()
                if os.fork() == 0:
                    time.sleep(600)
                os._exit(0)
            os.wait()
            said("start")
            held"""))
    up = place.up()
    place.trigger("waits")
    place.seen(task="one")
    assert len(up.trees()) >= 4
    up.kill()
    up.gone(15)
