"""Asked from other processes: trigger, cancel, pause, resume; and what is said when nobody is up."""

import pytest

from . import _tools as tools

DAGS = """
    with ms.Dag("tick", schedule="* * * * * ?", timezone="UTC") as dag:
        @ms.task
        def beat():
            said("start")

    with ms.Dag("works") as works:
        @ms.task
        def double(n: int, biz_date=None) -> int:
            said("start", n=n)
            return 2 * n

        @ms.task(retries=0, grace="1s")
        def waits():
            said("start")
            held("waits")

        double() >> waits()
"""


def test_commands(place):
    place.write("dags.py", DAGS)
    up = place.up()
    up.wait("run_made", dag="tick")

    # Paused: no second makes a run. The pause is seen by the scheduler, which then says so.
    assert place.json("pause", "tick")["request"] >= 1
    code, out, _ = place.ms("status")
    assert code == 0 and "paused     tick" in out
    paused_at = max(row["nominal_at"] for row in place.rows(
        "SELECT nominal_at FROM run WHERE timed = 1"))

    run = place.trigger("works", "--param", "n=21", "--biz-date", "2013-01-15")
    place.seen(run=run, task="waits")
    row = place.run(run)
    assert (row["biz_date"], row["trigger"], row["timed"]) == ("2013-01-15", "manual", 0)
    assert "@" in row["requested_by"]
    assert place.story(task="double") == [dict(place.story(task="double")[0], n=21)]
    only = place.trigger("works", "--param", "n=1", "--only", "double")
    assert place.finished(only) == "SUCCESS"
    assert place.states(only) == {"double": "SUCCESS", "waits": "SKIPPED"}

    assert place.json("cancel", run)["run"] == run
    assert place.finished(run) == "CANCELED"
    assert place.states(run) == {"double": "SUCCESS", "waits": "CANCELED"}

    for words, said in [
        (("trigger", "nosuch"), "nosuch"),
        (("trigger", "works"), "n"),  # a parameter without a value
        (("trigger", "works", "--param", "n=x"), "n"),
        (("trigger", "works", "--param", "n=1", "--only", "dubble"), "dubble"),
        (("cancel", run), str(run)),
        (("cancel", 999), "999"),
        (("pause", "works"), "no schedule"),
        (("pause", "tick", "--schedule", "nosuch"), "nosuch"),
    ]:
        code, out, err = place.ms(*words)
        assert code in (1, 2) and out == "" and said in err, (words, code, err)
        assert "Traceback" not in err

    # Resumed: the seconds of the pause are recorded as skipped, the next ones run.
    place.json("resume", "tick")
    tools.until(lambda: place.rows(
        "SELECT 1 FROM run WHERE timed = 1 AND nominal_at > ?", paused_at))
    assert up.stop() == 0
    nominal = [row["nominal_at"] for row in place.rows(
        "SELECT nominal_at FROM run WHERE timed = 1 ORDER BY nominal_at")]
    skips = place.rows("SELECT * FROM skip")
    assert {row["reason"] for row in skips} == {"paused"}, skips
    skipped = sum(row["count"] for row in skips)
    assert skipped >= 1
    assert len(nominal) + skipped == (nominal[-1] - nominal[0]) // 1_000_000 + 1
    place.sound()


def test_functions(place):
    place.write("dags.py", DAGS)
    up = place.up()
    up.wait("run_made", dag="tick")
    code, out, err = place.python("""
        import mainspring as ms
        from datetime import date
        ms.pause("tick")
        run = ms.trigger("works", date(2013, 1, 15), params={"n": 4}, only=["double"])
        assert run.wait(30) and run.state == "SUCCESS", run
        assert run.result("double") == 8 and str(run.biz_date) == "2013-01-15"
        held = ms.trigger("works", params={"n": 5})
        ms.cancel(held, grace=0.5)
        assert held.wait(30) and held.state == "CANCELED", held
        try:
            ms.trigger("nosuch")
        except ms.ConflictError as error:
            assert "nosuch" in str(error)
        else:
            raise AssertionError("nosuch was triggered")
        ms.resume("tick")
    """)
    assert code == 0, err
    assert up.stop() == 0
    place.sound()


@pytest.mark.parametrize("ever", [False, True], ids=["never", "not any more"])
def test_nobody_is_up(place, ever):
    place.write("dags.py", DAGS)
    if ever:
        up = place.up()
        up.wait("run_made", dag="tick")
        up.kill()
    code, out, err = place.ms("status")
    assert code == 3 and "mainspring up" in out, err
    assert ("gone" in out) is ever
    for words in [("trigger", "works"), ("pause", "tick"), ("resume", "tick"), ("cancel", 1)]:
        code, out, err = place.ms(*words)
        assert code in (1, 2) and out == "", (words, code, err)
        assert "mainspring up" in err, (words, err)
    if not ever:
        return
    # A pause can be left for the next one; what fell due before that began is by its policy.
    assert place.ms("pause", "tick", "--later")[0] == 0
    up = place.up()
    tools.until(lambda: place.rows("SELECT 1 FROM schedule WHERE paused = 1"))
    assert place.finished(place.trigger("works", "--param", "n=1", "--only", "double")) == "SUCCESS"
    assert up.stop() == 0
    (request,) = place.rows("SELECT decided_at FROM request WHERE kind = 'pause'")
    assert place.rows("SELECT nominal_at FROM run WHERE timed = 1 AND nominal_at > ?",
                      request["decided_at"]) == []
    place.sound()


def test_one_without_dags_answers(place):
    up = place.up()
    for words in [("trigger", "nosuch"), ("pause", "nosuch")]:
        code, _, err = place.ms(*words)
        assert code == 1 and "nosuch" in err, err
    place.write("dags.py", DAGS)
    up.wait("run_moved", dag="tick", state="SUCCESS")
    assert up.stop() == 0
    place.sound()
