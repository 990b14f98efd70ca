"""A range as one batch: ``batch="range"``."""

from datetime import date, datetime, timezone

import mainspring as ms
import pytest


@pytest.fixture(autouse=True)
def database():
    with ms.testing.isolated() as folder:
        yield folder


def test_thirty_days_are_loaded_by_one_call_with_the_interval_of_all():
    calls, order = [], []
    # The clocks go forward on 2024-03-10 in New York.
    with ms.Dag("orders", schedule="0 2 * * *", timezone="America/New_York") as dag:
        @ms.task(retries=0)
        def extract(biz_date):
            order.append("extract")

        @ms.task(batch="range", depends_on=[extract], retries=0,
                 params={"where": "[${interval_start}, ${interval_end})"})
        def load(ctx, interval_start, interval_end, where: str):
            order.append("load")
            calls.append((interval_start, interval_end, where))
            assert (ctx.interval_start, ctx.interval_end) == (interval_start, interval_end)
            return "loaded"

        @ms.task(retries=0)
        def report(loaded: str, biz_date):
            order.append("report")
            return f"{biz_date} {loaded}"
        report(load())

    done = ms.backfill(dag, "2024-03-01", "2024-03-30").apply()
    assert done.state == "SUCCESS" and done.counts == {"SUCCESS": 90}
    assert list(done.cells["load"].values()) == ["SUCCESS"] * 30
    [(start, end, where)] = calls
    assert start.astimezone(timezone.utc) == datetime(2024, 3, 1, 7, tzinfo=timezone.utc)
    assert end.astimezone(timezone.utc) == datetime(2024, 3, 31, 6, tzinfo=timezone.utc)
    assert start.utcoffset().total_seconds() == -5 * 3600
    assert end.utcoffset().total_seconds() == -4 * 3600
    assert where == f"[{start.isoformat()}, {end.isoformat()})"
    assert order == ["extract"] * 30 + ["load"] + ["report"] * 30
    [last] = [run for run in done.runs if run.biz_date == date(2024, 3, 30)]
    [first] = [run for run in done.runs if run.biz_date == date(2024, 3, 1)]
    assert last.result("report") == "2024-03-30 loaded"
    assert first.result("report") == "2024-03-01 loaded"
    assert first.result("load") == "loaded"


def test_a_failure_is_that_of_all_dates_and_a_retry_is_one_call():
    broken, calls = [True], []
    with ms.Dag("orders", schedule="0 2 * * *") as dag:
        @ms.task(batch="range", retries=0)
        def load(interval_start, interval_end):
            calls.append((interval_end - interval_start).days)
            if broken:
                raise ValueError("no space")

    done = ms.backfill(dag, "2024-06-01", "2024-06-05").apply()
    assert done.state == "FAILED" and done.counts == {"FAILED": 5}
    broken.clear()
    done.retry()
    assert done.state == "SUCCESS" and done.counts == {"SUCCESS": 5}
    assert calls == [5, 5]


def test_a_gap_ends_a_batch_and_outside_of_a_backfill_nothing_is_another_way():
    calls = []
    with ms.Dag("orders", schedule="0 2 * * *") as dag:
        @ms.task(batch="range", retries=0)
        def load(interval_start, interval_end):
            calls.append((interval_end - interval_start).days)

    assert dag.run("2024-06-03").state == "SUCCESS"
    assert calls == [1]
    done = ms.backfill(dag, "2024-06-01", "2024-06-06").apply()
    assert done.counts == {"SUCCESS": 5}
    assert sorted(calls) == [1, 2, 3]


def test_a_block_that_cannot_run_names_nobody_as_done():
    bad, calls = {date(2024, 6, 2)}, []
    with ms.Dag("orders", schedule="0 2 * * *") as dag:
        @ms.task(retries=0)
        def extract(biz_date):
            if biz_date in bad:
                raise ValueError("bad day")

        @ms.task(batch="range", depends_on=[extract], retries=0)
        def load(interval_start, interval_end):
            calls.append((interval_end - interval_start).days)

    done = ms.backfill(dag, "2024-06-01", "2024-06-03").apply()
    assert list(done.cells["load"].values()) == ["FAILED", "BLOCKED", "FAILED"]
    assert calls == []
    bad.clear()
    done.retry()
    assert done.counts == {"SUCCESS": 6}
    assert calls == [3]


@pytest.mark.parametrize("options, wrong", [
    ({"batch": "days"}, "bad_batch"),
    ({"batch": True}, "bad_batch"),
    ({"batch": "range", "shards": 3}, "bad_batch"),
    ({"batch": "range", "depends_on": [ms.dep("load", offset=-1)]}, "bad_batch"),
])
def test_what_cannot_be_computed_as_one_is_refused(options, wrong):
    with ms.Dag("orders", schedule="0 2 * * *") as dag:
        @ms.task(**options)
        def load(): ...
    with pytest.raises(ms.SpecError) as refused:
        dag.check()
    problems = [(each.code, each.place) for each in refused.value.problems]
    assert (wrong, "orders.load.batch") in problems
    assert "hint:" in str(refused.value)
