"""Plans are carried out: scenarios E01, E02 and E04, steering, notebooks and testing aids."""

import asyncio
import threading
import time
from datetime import date

import mainspring as ms
import pytest


@pytest.fixture(autouse=True)
def database():
    with ms.testing.isolated() as folder:
        yield folder


def days(first, last, month="2024-06"):
    return [date.fromisoformat(f"{month}-{day:02}") for day in range(first, last + 1)]


def test_e01_dates_that_need_each_other_run_in_order_and_others_four_at_a_time():
    seen, live, most = [], set(), []
    lock = threading.Lock()
    with ms.Dag("chain", schedule="0 2 * * *") as chain:
        @ms.task(depends_on=[ms.dep("a", offset=-1)], retries=0)
        def a(biz_date):
            seen.append(str(biz_date))
    with ms.Dag("free", schedule="0 2 * * *") as free:
        @ms.task(retries=0)
        def b(biz_date):
            with lock:
                live.add(biz_date)
                most.append(len(live))
            time.sleep(0.15)
            with lock:
                live.discard(biz_date)
    with ms.Dag("weekly", schedule="0 4 * * SUN") as weekly:
        @ms.task(depends_on=[ms.dep("chain.a", window=(-6, 0))], retries=0)
        def w(biz_date):
            return "seven"
    done = ms.backfill(chain, "2024-06-01", "2024-06-07", max_active=4).apply()
    assert done.state == "SUCCESS"
    assert seen == [str(day) for day in days(1, 7)]
    assert [(run.trigger, run.biz_date) for run in done.runs] == [
        ("backfill", day) for day in days(1, 7)]
    # A share of the slots is a backfill's own matter; here it is about open runs.
    done = ms.backfill(free, "2024-06-01", "2024-06-07", max_active=4, share=100).apply()
    assert done.counts == {"SUCCESS": 7}
    assert max(most) == 4
    run = weekly.run("2024-06-07", nominal_at="2024-06-08T04:00:00Z")
    assert run.result("w") == "seven"


@pytest.mark.parametrize("max_active", [1, 2])
@pytest.mark.parametrize("on_failure", ["continue", "stop"])
def test_e02_one_bad_day_leaves_no_gap_that_is_not_seen(max_active, on_failure):
    broken = {date(2024, 6, 3)}
    with ms.Dag("orders", schedule="0 2 * * *") as dag:
        @ms.task(retries=0)
        def a(biz_date):
            if biz_date in broken:
                raise ValueError("bad day")
    done = ms.backfill(dag, "2024-06-01", "2024-06-10", max_active=max_active,
                       on_failure=on_failure).apply()
    cells = done.cells["a"]
    assert done.state == "FAILED"
    assert list(cells) == days(1, 10)  # all that was asked for is there
    assert cells[date(2024, 6, 3)] == "FAILED"
    if on_failure == "continue":
        assert done.counts == {"SUCCESS": 9, "FAILED": 1}
    else:
        left = [day for day, state in cells.items() if state == "NOT_STARTED"]
        assert left and left == days(left[0].day, 10) and left[0].day in (4, 5)
    broken.clear()
    done.retry()
    assert done.state == "SUCCESS"
    assert done.counts == {"SUCCESS": 10}
    assert len(done.runs) == 10
    assert ms.sql("SELECT count(*) AS n FROM run")[0]["n"] == 10


def test_e04_a_cell_in_flight_is_neither_stolen_nor_run_twice():
    going, go_on = threading.Event(), threading.Event()
    given = []
    with ms.Dag("orders", schedule="0 2 * * *") as dag:
        @ms.task(retries=0)
        def a(biz_date, client: str = "none"):
            given.append((str(biz_date), client))
            if str(biz_date) == "2024-06-09" and client == "none":
                going.set()
                assert go_on.wait(20)
        @ms.task(retries=0)
        def b(biz_date): ...
        _ = a() >> b()
    dag.run("2024-06-08")
    regular = dag.run("2024-06-09", wait=False)
    assert going.wait(20)
    plan = ms.backfill(dag, "2024-06-08", "2024-06-10", params={"client": "x"})
    reasons = {(cell.task, str(cell.biz_date)): cell.reason for cell in plan.cells}
    assert reasons["a", "2024-06-08"] == "succeeded"
    assert reasons["a", "2024-06-09"] == "running"
    done = plan.apply()
    assert done.state == "SUCCESS"
    assert list(done.cells["a"]) == [date(2024, 6, 10)]
    assert given[-1] == ("2024-06-10", "x")
    go_on.set()
    assert regular.wait(20) and regular.state == "SUCCESS"
    assert regular.trigger == "manual" and done.runs[0].trigger == "backfill"
    rows = ms.sql("SELECT biz_date, count(*) AS n FROM run GROUP BY biz_date ORDER BY biz_date")
    assert [(row["biz_date"], row["n"]) for row in rows] == [
        ("2024-06-08", 1), ("2024-06-09", 1), ("2024-06-10", 1)]


def test_what_comes_into_flight_after_the_plan_is_noted_and_not_run_beside():
    gate, entered = threading.Event(), threading.Event()
    with ms.Dag("orders", schedule="0 2 * * *") as dag:
        @ms.task(retries=0)
        def a(biz_date):
            if str(biz_date) == "2024-06-01":
                entered.set()
                assert gate.wait(20)
    done = ms.backfill(dag, "2024-06-01", "2024-06-03", max_active=1).apply(wait=False)
    assert entered.wait(20)
    other_entered, other_gate = threading.Event(), threading.Event()
    with ms.Dag("orders", schedule="0 2 * * *") as again:
        @ms.task(name="a", retries=0)
        def held(biz_date):
            other_entered.set()
            assert other_gate.wait(20)
    run = again.run("2024-06-02", wait=False)
    assert other_entered.wait(20)
    gate.set()
    assert done.wait(20)
    other_gate.set()
    assert run.wait(20)
    assert done.cells["a"][date(2024, 6, 2)] == "IN_FLIGHT"
    assert done.state == "SUCCESS"


def test_a_run_by_hand_of_what_a_backfill_computes_is_refused_until_that_has_ended():
    gate, entered = threading.Event(), threading.Event()

    def work(biz_date):
        entered.set()
        assert gate.wait(20)

    dag = simple(work=work)
    done = ms.backfill(dag, "2024-06-01", "2024-06-01").apply(wait=False)
    assert entered.wait(20)
    with pytest.raises(ms.ConflictError, match="of backfill 1 computes orders for this date"):
        dag.run("2024-06-01", wait=False)
    with pytest.raises(ms.ConflictError, match="mainspring backfills 1 cancel"):
        dag.run("2024-06-01", only=["b"], wait=False)
    gate.set()
    assert done.wait(20) and done.state == "SUCCESS"
    assert dag.run("2024-06-01").state == "SUCCESS"
    rows = ms.sql("SELECT id FROM run ORDER BY id")
    assert len(rows) == 2


def test_a_rerun_of_what_a_backfill_computes_is_refused_until_that_has_ended():
    gate, entered, bad = threading.Event(), threading.Event(), [True]

    def work(biz_date):
        if bad[0]:
            raise ValueError("bad")
        entered.set()
        assert gate.wait(20)

    dag = simple(work=work)
    first = dag.run("2024-06-01")
    assert first.state == "FAILED"
    bad[0] = False
    done = ms.backfill(dag, "2024-06-01", "2024-06-01", only="failed").apply(wait=False)
    assert entered.wait(20)
    with pytest.raises(ms.ConflictError, match="of backfill 1 computes"):
        dag.rerun(first, wait=False)
    gate.set()
    assert done.wait(20) and done.state == "SUCCESS"


def simple(name="orders", work=None):
    with ms.Dag(name, schedule="0 2 * * *") as dag:
        @ms.task(retries=0)
        def a(biz_date):
            if work is not None:
                work(biz_date)
        @ms.task(retries=0, depends_on=[a])
        def b(biz_date): ...
    return dag


def test_a_plan_is_applied_once_and_one_that_is_old_is_refused():
    dag = simple()
    plan = ms.backfill(dag, "2024-06-01", "2024-06-03")
    old = ms.backfill(dag, "2024-06-01", "2024-06-03")
    plan.apply()
    before = ms.sql("SELECT count(*) AS n FROM run")[0]["n"]
    with pytest.raises(ms.ConflictError, match="applied already: it is backfill 1"):
        plan.apply()
    with pytest.raises(ms.ConflictError):
        old.apply()
    later = ms.backfill(dag, "2024-06-01", "2024-06-05")
    dag.run("2024-06-04")
    with pytest.raises(ms.ConflictError, match=r"would not compute orders\.a for 2024-06-04"):
        later.apply()
    assert ms.sql("SELECT count(*) AS n FROM run")[0]["n"] == before + 1
    assert len(ms.backfills()) == 1


def test_an_empty_plan_is_refused_and_makes_nothing():
    dag = simple()
    ms.backfill(dag, "2024-06-01", "2024-06-02").apply()
    empty = ms.backfill(dag, "2024-06-01", "2024-06-02")
    assert len(empty) == 0
    with pytest.raises(ms.ConflictError, match="the plan computes no cell"):
        empty.apply()
    assert len(ms.backfills()) == 1


def test_pausing_cancelling_and_going_on():
    gate, entered = threading.Event(), threading.Semaphore(0)

    def work(biz_date):
        entered.release()
        assert gate.wait(20)

    dag = simple(work=work)
    done = ms.backfill(dag, "2024-06-01", "2024-06-06", max_active=1).apply(wait=False)
    assert entered.acquire(timeout=20)
    assert done.pause().state == "PAUSED"
    gate.set()
    while done.counts.get("SUCCESS", 0) < 2:
        time.sleep(0.01)
    assert done.counts == {"SUCCESS": 2, "PENDING": 10}
    gate.clear()
    done.resume(wait=False)
    assert entered.acquire(timeout=20)
    done.cancel(grace=0)
    gate.set()
    assert done.wait(20)
    assert done.state == "CANCELED"
    assert done.counts == {"SUCCESS": 2, "CANCELED": 2, "NOT_STARTED": 8}
    with pytest.raises(ms.ConflictError, match="has ended"):
        done.pause()
    done.retry()
    assert done.counts == {"SUCCESS": 12}


def test_what_was_blocked_and_went_on_by_itself_needs_no_more_than_a_look():
    broken = {date(2024, 6, 2)}
    with ms.Dag("ods", schedule="0 2 * * *") as ods:
        @ms.task(retries=0)
        def load(biz_date):
            if biz_date in broken:
                raise ValueError("bad day")
    with ms.Dag("dwd", schedule="0 3 * * *") as dwd:
        @ms.task(depends_on=["ods.load"], retries=0)
        def clean(biz_date): ...
    failed = [ods.run(day) for day in days(1, 3)][1]
    done = ms.backfill(dwd, "2024-06-01", "2024-06-03").apply()
    assert (done.state, done.counts) == ("FAILED", {"SUCCESS": 2, "BLOCKED": 1})
    broken.clear()
    ods.rerun(failed)
    assert [run.wait(20) for run in done.runs] == [True] * 3
    assert done.counts == {"SUCCESS": 3}
    done.retry()
    assert done.state == "SUCCESS"
    assert len(done.runs) == 3
    assert ms.sql("SELECT count(*) AS n FROM attempt")[0]["n"] == 7
    with pytest.raises(ms.ConflictError, match="nothing"):
        done.retry()


def test_a_part_of_a_dag_takes_what_the_rest_returned_before():
    with ms.Dag("orders", schedule="0 2 * * *") as dag:
        @ms.task(retries=0)
        def extract(biz_date) -> str:
            return f"{biz_date}.csv"
        @ms.task(retries=0)
        def load(path: str) -> str:
            return path.upper()
        _ = load(extract())
    dag.run("2024-06-01")
    done = ms.backfill(dag, "2024-06-01", "2024-06-01", tasks=["load"], only="all").apply()
    assert done.state == "SUCCESS"
    assert done.runs[0].results == {"load": "2024-06-01.CSV"}
    assert len(done.runs[0]) == 1


def test_it_works_while_the_schedule_is_paused_and_under_a_running_loop():
    async def main():
        return ms.backfill(simple(), "2024-06-01", "2024-06-02").apply()

    assert asyncio.run(main()).counts == {"SUCCESS": 4}


def test_the_list_and_the_views_of_backfills():
    dag = simple()
    done = ms.backfill(dag, "2024-06-01", "2024-06-02").apply()
    assert ms.backfills() == [done] == ms.backfills(dag, state="SUCCESS")
    assert ms.backfills(1) == done
    assert ms.backfills("other") == [] == ms.backfills(state="FAILED")
    assert "orders" in repr(ms.backfills()) and "2 SUCCESS" in repr(ms.backfills())
    assert "<table" in ms.backfills()._repr_html_() and "<table" in done._repr_html_()
    assert "SS" in str(done)
    with pytest.raises(ms.NotFoundError, match=r"ms\.backfills\(\) lists"):
        ms.backfills(7)
    with pytest.raises(ValueError, match="did you mean"):
        ms.backfills(state="FAILD")


def test_assertions_on_states_show_the_grid():
    dag = simple()
    done = ms.backfill(dag, "2024-06-01", "2024-06-02").apply()
    ms.testing.assert_states(done, {"a": "SUCCESS", "b": {date(2024, 6, 2): "SUCCESS"}})
    ms.testing.assert_states(done.runs, {"a": "SUCCESS"})
    with pytest.raises(AssertionError) as wrong:
        ms.testing.assert_states(done, {"a": {"2024-06-01": "FAILED"}, "c": "SUCCESS"})
    text = str(wrong.value)
    assert "a for 2024-06-01 is SUCCESS, and not FAILED" in text
    assert "there is no task 'c'" in text
    assert [line.split() for line in text.splitlines()][-3:-1] == [["a", "SS"], ["b", "SS"]]


def test_a_backfill_under_a_simulated_clock():
    dag = simple()
    with ms.testing.simulated("2024-06-05", [dag],
                              stub={"orders.a": ms.testing.stub(takes="1h")}) as world:
        done = ms.backfill(dag, "2024-06-01", "2024-06-03", max_active=1).apply()
        world.advance("90m")
        assert done.counts == {"SUCCESS": 2, "RUNNING": 1, "PENDING": 3}
        world.advance("2h")
        assert done.state == "SUCCESS"
        ms.testing.assert_states(done, {"a": "SUCCESS", "b": "SUCCESS"})


def test_verify_finds_nothing_to_complain_about():
    dag = simple()
    ms.backfill(dag, "2024-06-01", "2024-06-03").apply()
    assert ms.history is not None
    from mainspring._session import history

    assert history().verify() == []


def test_a_dag_that_follows_an_hourly_one_is_computed_hour_by_hour():
    ran = []
    with ms.Dag("hourly", schedule="0 * * * *") as hourly:
        @ms.task
        def load():
            ran.append(("load", ms.context().nominal_at.hour))
    with ms.Dag("follower") as follower:
        @ms.task(depends_on=["hourly.load"])
        def count():
            ran.append(("count", ms.context().nominal_at.hour))
    ms.backfill(hourly, "2024-06-01", "2024-06-01")
    ms.backfill(follower, "2024-06-01", "2024-06-01")
    done = ms.backfill(hourly, "2024-06-01", "2024-06-01", downstream=True, max_active=1).apply()
    assert (done.state, done.counts) == ("SUCCESS", {"SUCCESS": 48})
    hours = [hour for task, hour in ran if task == "load"]
    # Each hour is counted as soon as it is there, and not when the day is over: a run that waits
    # makes room for one more.
    assert [hour for task, hour in ran if task == "count"] == hours
    for hour, later in zip(hours, hours[2:], strict=False):
        assert ran.index(("count", hour)) < ran.index(("load", later))
