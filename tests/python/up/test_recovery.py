"""Killed and started again: what was open goes on, by budget and by policy, never twice at once."""

import json
import os
import signal
from pathlib import Path

from . import _tools as tools

WORK = """
    with ms.Dag("work", defaults={{"retry_interval": "10ms"}}) as dag:
        @ms.task
        def before() -> int:
            said("start")
            said("end")
            return 1

        @ms.task(idempotent={idempotent}, retries={retries})
        def long(n: int) -> int:
            said("start")
            held(f"long{{ms.context().attempt}}")
            said("end")
            return n + 1

        @ms.task
        def after(n: int):
            said("start", n=n)

        after(long(before()))
"""


def overlaps(place):
    """Attempts of one task run of which one began before another of an other process had ended."""
    wrong = []
    last = {}
    for line in place.story(event="start"):
        key = line["key"]
        if key in last and not os.path.exists(f"/proc/{last[key]['pid']}"):
            last.pop(key)
        if key in last and last[key]["pid"] != line["pid"]:
            ended = place.story(key=key, attempt=last[key]["attempt"], event="end")
            if not ended:
                wrong.append((last[key], line))
        last[key] = line
    return wrong


def test_killed_while_a_task_runs(place):
    """B04, B11: lost, and retried by the next one; what succeeded is not run again."""
    place.write("work.py", WORK.format(idempotent=True, retries=0))
    up = place.up()
    run = place.trigger("work")
    (first,) = place.seen(task="long", event="start")
    up.kill()
    up = place.up()
    (_, second) = place.seen(2, task="long", event="start")
    # Never two live processes of one task run.
    assert second["pid"] != first["pid"]
    assert first["pid"] not in up.trees() and not _lives(first["pid"])
    place.open_gate("long2")
    assert place.finished(run) == "SUCCESS"
    found = [(each["task"], each["number"], each["outcome"]) for each in place.attempts(run)]
    assert found == [("before", 1, "SUCCESS"), ("long", 1, "LOST"), ("long", 2, "SUCCESS"),
                     ("after", 1, "SUCCESS")]
    lost, again = place.attempts(run, "long")
    assert lost["node_id"] != again["node_id"], "each start of a scheduler is somebody new"
    assert lost["token"] < again["token"]
    (used,) = place.rows("SELECT errors_used, losses_used FROM task_run t JOIN task k ON "
                         "k.id = t.task_id WHERE k.name = 'long'")
    assert used == {"errors_used": 0, "losses_used": 1}
    assert [line["task"] for line in place.story(event="start")] == [
        "before", "long", "long", "after"]
    assert place.story(task="after")[0]["n"] == 2
    assert up.stop() == 0
    place.sound()


def test_what_is_not_idempotent_is_never_started_again(place):
    place.write("work.py", WORK.format(idempotent=False, retries=0))
    up = place.up()
    run = place.trigger("work")
    place.seen(task="long", event="start")
    up.kill()
    up = place.up()
    assert place.finished(run) == "FAILED"
    (lost,) = place.attempts(run, "long")
    assert lost["outcome"] == "LOST"
    assert place.states(run) == {"before": "SUCCESS", "long": "FAILED", "after": "BLOCKED"}
    assert len(place.story(task="long", event="start")) == 1
    assert up.stop() == 0
    place.sound()


def test_lost_three_times_it_is_given_up(place):
    """A10, B15: losses have a budget of their own, of three, beside that of errors."""
    place.write("work.py", WORK.format(idempotent=True, retries=0))
    up = place.up()
    run = place.trigger("work")
    for number in range(1, 4):
        place.seen(number, task="long", event="start")
        up.kill()
        up.gone()
        up = place.up()
    assert place.finished(run) == "FAILED"
    found = place.attempts(run, "long")
    assert [each["outcome"] for each in found] == ["LOST"] * 3
    (row,) = place.rows("SELECT t.code, t.errors_used, t.losses_used FROM task_run t JOIN task k "
                        "ON k.id = t.task_id WHERE k.name = 'long'")
    assert row == {"code": "LOST", "errors_used": 0, "losses_used": 3}
    assert up.stop() == 0
    place.sound()


def test_a_task_that_kills_its_worker_is_bounded_and_hurts_nobody(place):
    """B15: it starts as often as its attempts say, later and later; its neighbours all succeed."""
    place.write("poison.py", """
        with ms.Dag("poison", schedule="* * * * * ?", timezone="UTC") as healthy:
            @ms.task
            def beat():
                said("start")

        with ms.Dag("deadly", defaults={"retry_interval": "200ms", "retry_jitter": 0}) as dag:
            @ms.task(retries=2, retry_backoff="EXPONENTIAL")
            def dies():
                said("start")
                os.kill(os.getpid(), 9)
    """)
    up = place.up()
    run = place.trigger("deadly")
    assert place.finished(run) == "FAILED"
    found = place.attempts(run)
    assert [(each["outcome"], each["code"]) for each in found] == [("FAILED", "SIGNAL_9")] * 3
    first, second, third = found
    assert (third["started_at"] - second["finished_at"]
            > second["started_at"] - first["finished_at"] >= 200_000)
    up.wait("run_moved", count=2, dag="poison", state="SUCCESS")
    assert up.stop() == 0
    nominal = [tools.instant(each["nominal_at"]) for each in up.all("run_made", dag="poison")]
    assert nominal == [nominal[0] + i for i in range(len(nominal))]
    assert {row["state"] for row in place.rows(
        "SELECT r.state FROM run r JOIN dag d ON d.id = r.dag_id WHERE d.key = 'poison'")} == {
            "SUCCESS"}
    place.sound()


def test_fires_of_a_short_outage_are_late_and_not_missed(place):
    """Less than a minute late is not missed, whatever the policy says."""
    place.write("tick.py", """
        when = ms.schedule(ms.cron("* * * * * ?", timezone="UTC"), missed="none")
        with ms.Dag("tick", schedule=when) as dag:
            @ms.task
            def beat():
                said("start")
    """)
    up = place.up()
    up.wait("run_moved", state="SUCCESS")
    up.kill()
    last = place.rows("SELECT max(nominal_at) AS at FROM run")[0]["at"]
    tools.until(lambda: tools.time.time() * 1e6 > last + 3_200_000)  # down for two fires at least
    up = place.up()
    up.wait("run_moved", count=4, state="SUCCESS")
    assert up.stop() == 0
    nominal = [row["nominal_at"] for row in place.rows(
        "SELECT nominal_at FROM run WHERE timed = 1 ORDER BY nominal_at")]
    assert nominal == [nominal[0] + i * 1_000_000 for i in range(len(nominal))]
    assert place.rows("SELECT * FROM skip") == []
    place.sound()


def test_fires_of_a_long_outage_are_by_policy(place):
    """Half an hour: the file is put back to how it was then, as if nothing had been up since."""
    body = "".join(f"""
        when = ms.schedule(ms.cron("0 */5 * * * ?", timezone="UTC"), missed={missed!r})
        with ms.Dag({missed!r}, schedule=when) as {missed}_:
            @ms.task
            def {missed}_task():
                said("start")
    """ for missed in ("none", "last", "all"))
    place.write("every5.py", body)
    up = place.up()
    up.kill()
    code, out, err = place.python(f"""
        import sqlite3
        conn = sqlite3.connect({str(place.database)!r})
        half = 30 * 60 * 1_000_000
        for table, columns in [
            ("schedule", ["watermark_at", "edited_at", "created_at", "updated_at"]),
            ("dag", ["created_at", "updated_at"]),
            ("schedule_period", ["from_at"]),
            ("node", ["started_at", "heartbeat_at", "lease_until", "stopped_at"]),
        ]:
            there = [row[1] for row in conn.execute(f"PRAGMA table_info({{table}})")]
            for column in columns:
                if column in there:
                    conn.execute(f"UPDATE {{table}} SET {{column}} = {{column}} - {{half}}")
        print(conn.execute("SELECT min(watermark_at) FROM schedule").fetchone()[0])
        conn.commit()
    """)
    assert code == 0, err
    down = int(out)
    up = place.up()
    up.wait("run_moved", count=6, dag="all", state="SUCCESS")
    assert up.stop() == 0
    now = tools.instant(up.wait("stopping")[0]["time"]) * 1e6
    step = 300_000_000
    due = [at for at in range(down // step * step, int(now) + 1, step) if at > down]
    missed = [at for at in due if at < now - 70_000_000]
    for dag, wanted in [("all", due), ("last", due[-1:]), ("none", due[len(missed):])]:
        found = [row["nominal_at"] for row in place.rows(
            "SELECT r.nominal_at FROM run r JOIN dag d ON d.id = r.dag_id WHERE d.key = ? "
            "ORDER BY r.nominal_at", dag)]
        skipped = sum(row["count"] for row in place.rows(
            "SELECT k.count FROM skip k JOIN schedule s ON s.id = k.schedule_id "
            "JOIN dag d ON d.id = s.dag_id WHERE d.key = ?", dag))
        if len(due) == len(missed):
            assert found == wanted, dag
        assert len(found) + skipped == len(due), dag
    place.sound()


def test_stopped_for_a_while_and_continued(place):
    """SIGSTOP of the scheduler: nobody takes over from one who lives, and it goes on as it was."""
    place.write("work.py", WORK.format(idempotent=True, retries=0))
    up = place.up()
    run = place.trigger("work")
    place.seen(task="long", event="start")
    os.kill(up.pid, signal.SIGSTOP)
    try:
        tools.until(lambda: Path(f"/proc/{up.pid}/stat").read_text().rsplit(")")[1].split()[0] == "T")
        place.open_gate("long1")
        place.seen(task="long", event="end")
        second = place.up(serving=False)
        assert second.ended() == 1 and f"process {up.pid} " in second.output
    finally:
        os.kill(up.pid, signal.SIGCONT)
    assert place.finished(run) == "SUCCESS"
    assert [each["outcome"] for each in place.attempts(run)] == ["SUCCESS"] * 3
    assert up.stop() == 0
    place.sound()


def test_output_that_is_not_text(place):
    """H02: under LANG=C; the rows are the scenario's, in our own words."""
    file = Path(__file__).parents[2] / "data" / "up" / "output.json"
    if not file.exists():
        file = Path(os.environ["MAINSPRING_TEST_DATA"]) / "up" / "output.json"
    cases = json.loads(file.read_text(encoding="utf-8"))
    body = "with ms.Dag('says') as dag:\n"
    for case in cases:
        writes = [bytes.fromhex(part) for part in case["writes"]]
        body += (f"    @ms.task(retries=0)\n    def {case['name']}():\n"
                 f"        for part in {writes!r}:\n            os.write(1, part)\n")
    place.write("says.py", body)
    up = place.up(env={"LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0"})
    run = place.trigger("says")
    assert place.finished(run) == "SUCCESS", place.attempts(run)
    shown = {each["task"]: each["log"] for each in place.json("logs", run)["attempts"]}
    for case in cases:
        assert shown[case["name"]].splitlines() == case["shown"], case["name"]
    code, out, err = place.ms("logs", run)
    assert code == 0, err
    assert "\x1b" not in out and "\x00" not in out
    assert up.stop() == 0
    place.sound()


def test_a_task_that_cannot_be_placed_stands_in_nobodys_way(place):
    """B18 and F02: who waits for a full pool blocks no other; wider than its pool runs alone."""
    (place.root / "mainspring.toml").write_text("slots = 4\n[pools]\nnarrow = 1\n")
    place.write("pools.py", """
        with ms.Dag("narrow") as dag:
            for i in range(20):
                @ms.task(name=f"x{i}", pool="narrow", priority=0)
                def wait():
                    said("start")
                    held("narrow")

        with ms.Dag("wide") as wide:
            for i in range(20):
                @ms.task(name=f"y{i}", priority=9)
                def pass_by():
                    said("start")
    """)
    place.write("broad.py", """
        with ms.Dag("broad") as dag:
            @ms.task(pool="narrow", slots=2)
            def alone():
                said("start")
    """)
    place.write("unknown.py", """
        with ms.Dag("unknown") as dag:
            @ms.task(pool="nosuch")
            def never():
                pass
    """)
    up = place.up()
    wrong = [(Path(each["file"]).name, each["code"]) for each in up.all("problem")]
    assert wrong == [("unknown.py", "unknown_pool")]
    narrow = place.trigger("narrow")
    place.seen(run=narrow)
    broad, wide = place.trigger("broad"), place.trigger("wide")
    assert place.finished(wide) == "SUCCESS"
    assert len(place.story(run=narrow)) == 1 and place.story(run=broad) == []
    assert place.rows("SELECT sum(slots) AS taken FROM attempt_lease WHERE pool = 'narrow'") == [
        {"taken": 1}]
    place.open_gate("narrow")
    assert place.finished(narrow) == "SUCCESS" and place.finished(broad) == "SUCCESS"
    assert up.stop() == 0
    place.sound()


def _lives(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False
