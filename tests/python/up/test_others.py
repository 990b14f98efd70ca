"""Others beside it: a second one, one that stands by, runs of other processes, and a fork."""

from . import _tools as tools

TICK = """
    with ms.Dag("tick", schedule="* * * * * ?", timezone="UTC") as dag:
        @ms.task
        def beat():
            said("start")

    with ms.Dag("other") as other:
        @ms.task
        def work(n: int = 1) -> int:
            said("start")
            return n
"""


def test_a_second_one_is_refused_or_stands_by_and_takes_over(place):
    """B19 and B11: one decides, whoever else is there; each start is somebody new."""
    place.write("tick.py", TICK)
    first = place.up()
    second = place.up(serving=False)
    assert second.ended() == 1
    assert f"process {first.pid} " in second.output and "hint" in second.output
    assert "standby" in second.output

    beside = place.up("--standby", serving=False)
    (standing,) = beside.wait("standing_by")
    assert f"process {first.pid} " in standing["why"]
    first.wait("run_moved", count=2, state="SUCCESS")
    assert beside.all("run_made") == []
    first.kill()
    beside.wait("serving", seconds=20)
    beside.wait("run_moved", count=2, state="SUCCESS")
    code, out, _ = place.ms("status")
    assert code == 0 and f"process {beside.pid} " in out

    # An orderly end hands over just so.
    third = place.up("--standby", serving=False)
    third.wait("standing_by")
    assert beside.stop() == 0
    third.wait("run_moved", count=2, state="SUCCESS")
    assert third.stop() == 0

    nodes = place.rows("SELECT id, host, pid, nonce FROM node") \
        if "nonce" in place.rows("SELECT * FROM node LIMIT 1")[0] else place.rows(
            "SELECT id, host, pid FROM node")
    assert len({row["id"] for row in nodes}) == len(nodes)
    assert {first.pid, beside.pid, third.pid} <= {row["pid"] for row in nodes}
    nominal = [row["nominal_at"] for row in place.rows(
        "SELECT nominal_at FROM run WHERE timed = 1 ORDER BY nominal_at")]
    assert len(set(nominal)) == len(nominal)
    # However often it changed hands, no attempt began twice, and each second is accounted for.
    starts = [(line["key"], line["attempt"]) for line in place.story()]
    assert len(set(starts)) == len(starts)
    skipped = sum(row["count"] for row in place.rows("SELECT * FROM skip"))
    assert len(nominal) + skipped == (max(nominal) - min(nominal)) // 1_000_000 + 1
    place.sound()


def test_one_that_stands_by_ends_when_asked(place):
    place.write("tick.py", TICK)
    first = place.up()
    beside = place.up("--standby", serving=False)
    beside.wait("standing_by")
    assert beside.stop(10) == 0
    assert first.child.poll() is None
    assert first.stop() == 0


def test_others_run_dags_beside_it(place):
    place.write("tick.py", TICK)
    up = place.up()
    code, out, err = place.ms("run", "other", "--param", "n=3")
    assert code == 0, out + err
    code, out, err = place.python("""
        import mainspring as ms
        with ms.Dag("here") as dag:
            @ms.task
            def one() -> int:
                return 1
        run = dag.run()
        assert run.state == "SUCCESS" and run.result("one") == 1
        print(run.id)
    """)
    assert code == 0, err
    here = int(out)
    up.wait("run_moved", count=2, dag="tick", state="SUCCESS")
    assert up.all("run_made", dag="here") == [], "who asks for it drives it"
    assert place.run(here)["state"] == "SUCCESS"
    assert up.stop() == 0
    nominal = [tools.instant(each["nominal_at"]) for each in up.all("run_made", dag="tick")]
    assert nominal == [nominal[0] + i for i in range(len(nominal))]
    place.sound()


def test_a_fork_of_one_that_serves_does_not_serve(place):
    """B19: an application that forks after it began to schedule has one scheduler, not two."""
    place.write("tick.py", TICK)
    code = """
        import os, threading, runpy
        import mainspring as ms
        dag = runpy.run_path("dags/tick.py")["dag"]

        def fork():
            while len(ms.runs(limit=5)) < 2:
                threading.Event().wait(0.05)
            child = os.fork()
            if child == 0:
                try:
                    ms.serve(dag)
                except ms.StoreError as error:
                    assert "fork" in str(error), error
                    os._exit(7)
                os._exit(8)
            _, status = os.waitpid(child, 0)
            print(os.waitstatus_to_exitcode(status), flush=True)
            os.kill(os.getpid(), 15)

        threading.Thread(target=fork).start()
        ms.serve(dag)
    """
    ended, out, err = place.python(code)
    assert (ended, out) == (0, "7\n"), err
    nominal = [row["nominal_at"] for row in place.rows("SELECT nominal_at FROM run ORDER BY id")]
    assert len(set(nominal)) == len(nominal) >= 2
    assert len(place.story()) == len({line["key"] for line in place.story()})
    place.sound()


def test_one_whose_scope_was_taken_says_so_and_leaves(place):
    """It wakes up late, so to say: its number is not the newest any more."""
    place.write("tick.py", TICK)
    up = place.up()
    up.wait("run_moved", count=1, state="SUCCESS")
    code, _, err = place.python(f"""
        import sqlite3
        conn = sqlite3.connect({str(place.database)!r}, timeout=30)
        conn.execute("UPDATE scope SET epoch = epoch + 1 WHERE name = 'main'")
        conn.commit()
    """)
    assert code == 0, err
    (fenced,) = up.wait("fenced", seconds=20)
    assert "taken over" in fenced["why"]
    assert up.ended() == 1
    runs = place.rows("SELECT max(created_at) AS last FROM run")[0]["last"]
    assert runs <= tools.instant(fenced["time"]) * 1e6
