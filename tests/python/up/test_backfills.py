"""A scheduler that is up does what a plan says, and the one after it goes on."""

from collections import Counter

from . import _tools as tools

DAGS = """
    with ms.Dag("works", schedule="0 2 29 2 *", timezone="UTC", start_date="2000-01-01") as works:
        @ms.task(retries=0)
        def other(): ...

    with ms.Dag("daily") as daily:
        @ms.task(retries=2, retry_interval="10ms")
        def load(biz_date):
            said("start", date=str(biz_date))
            if str(biz_date) == "2024-06-05":
                held("go")

        @ms.task(retries=0, depends_on=[load])
        def check(biz_date):
            said("start", date=str(biz_date))
"""

APPLY = """
    import mainspring as ms
    done = ms.backfill("daily", "2024-06-01", "2024-06-10", max_active=2).apply(wait=False)
    print(done.id, done.state)
"""


def state(place):
    (row,) = place.rows("SELECT state FROM backfill")
    return row["state"]


def succeeded(place):
    (row,) = place.rows("SELECT count(*) AS n FROM task_run WHERE state = 'SUCCESS'")
    return row["n"]


def test_the_scheduler_does_it_and_the_next_one_goes_on(place):
    place.write("dags.py", DAGS)
    up = place.up()
    code, out, err = place.python(APPLY)
    assert (code, out.strip()) == (0, "1 RUNNING"), err
    place.seen(task="load", date="2024-06-05")
    # Nine dates are done and remembered; the tenth is live when the process goes.
    tools.until(lambda: succeeded(place) == 18)
    up.kill()
    up.gone()
    (listed,) = place.json("backfills")["backfills"]
    assert listed["state"] == "INTERRUPTED"
    place.open_gate("go")
    place.up()
    tools.until(lambda: state(place) == "SUCCESS")
    done = Counter(line["date"] for line in place.story(task="check"))
    assert sorted(done) == [f"2024-06-{day:02}" for day in range(1, 11)]
    assert set(done.values()) == {1}
    assert place.rows("SELECT count(*) AS n FROM run WHERE backfill_id = 1")[0]["n"] == 10
    place.sound()


def test_the_commands(place):
    place.write("dags.py", DAGS)
    place.up()
    words = ("backfill", "daily", "--from", "2024-06-04", "--to", "2024-06-08", "--max-active", 1)
    code, out, err = place.python(APPLY)
    assert code == 0, err
    place.seen(task="load", date="2024-06-05")
    assert place.json("backfills", 1, "pause")["state"] == "PAUSED"
    # What is being computed is nobody else's, and without it nothing is left.
    tools.until(lambda: len({line["date"] for line in place.story(task="check")}) >= 4)
    code, out, err = place.ms(*words, "--apply")
    assert code == 0 and "another backfill has it" in out, out + err
    assert len(place.rows("SELECT id FROM backfill")) == 1
    assert place.json("backfills", 1, "resume")["state"] == "RUNNING"
    place.open_gate("go")
    tools.until(lambda: state(place) == "SUCCESS")
    code, out, _ = place.ms("backfills", 1)
    assert code == 0 and "SUCCESS" in out
    code, out, err = place.ms("backfills", 1, "pause")
    assert code != 0 and "has ended" in out + err
    place.sound()
