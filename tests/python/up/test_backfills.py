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


CHAIN = """
    with ms.Dag("daily", schedule="0 2 * * *", start_date="2024-01-01") as daily:
        @ms.task(retries=0)
        def raw(biz_date):
            said("start", date=str(biz_date))

        @ms.task(retries=0, depends_on=[raw], fingerprint=lambda rows: rows // 10)
        def same() -> int:
            ctx = ms.context()
            said("start", date=str(ctx.biz_date))
            if os.path.exists(os.path.join(os.environ["GATES"], "again")):
                held("go")
            return 40 + ctx.run_id

        @ms.task(retries=0, depends_on=[same])
        def load(biz_date):
            said("start", date=str(biz_date))

    with ms.Dag("weekly", schedule="0 4 * * *", start_date="2024-01-01") as weekly:
        @ms.task(retries=0, depends_on=[ms.dep("daily.load", window=(-1, 0))])
        def two(biz_date):
            said("start", date=str(biz_date))
"""

FIRST = """
    import mainspring as ms
    done = ms.backfill("daily", "2024-06-01", "2024-06-03", downstream=True).apply()
    print(done.state)
"""

AGAIN = """
    import mainspring as ms
    done = ms.reprocess("daily.raw", "2024-06-02").apply(wait=False)
    print(done.id)
"""


def test_a_reprocess_stops_where_nothing_changes_though_its_scheduler_is_killed(place):
    place.write("dags.py", CHAIN)
    up = place.up()
    code, out, err = place.python(FIRST)
    assert (code, out.strip()) == (0, "SUCCESS"), err
    before = len(place.story())
    place.open_gate("again")
    code, out, err = place.python(AGAIN)
    assert (code, out.strip()) == (0, "2"), err
    tools.until(lambda: len(place.story()) == before + 2)
    up.kill()
    up.gone()
    place.open_gate("go")
    place.up()
    tools.until(lambda: [row["state"] for row in place.rows(
        "SELECT state FROM backfill ORDER BY id")] == ["SUCCESS", "SUCCESS"])
    # What was live when its process went ran once more, and came out as it was.
    assert [(line["task"], line["date"]) for line in place.story()[before:]] == [
        ("raw", "2024-06-02"), ("same", "2024-06-02"), ("same", "2024-06-02")]
    cells = place.rows("SELECT task.name AS task, task_run.biz_date AS date, task_run.state AS state, "
                       "task_run.code AS code, task_run.fingerprint AS mark FROM task_run "
                       "JOIN task ON task.id = task_run.task_id JOIN run ON run.id = task_run.run_id "
                       "WHERE run.backfill_id = 2 ORDER BY task_run.id")
    assert [tuple(row.values()) for row in cells] == [
        ("raw", "2024-06-02", "SUCCESS", None, None),
        ("same", "2024-06-02", "SUCCESS", None, "4"),
        ("load", "2024-06-02", "SKIPPED", "UNCHANGED", None),
        ("two", "2024-06-02", "SKIPPED", "UNCHANGED", None),
        ("two", "2024-06-03", "SKIPPED", "UNCHANGED", None),
    ]
    place.sound()
