"""The plan of a backfill, from Python."""

import json
import os
import random
import subprocess
import sys
from datetime import date, datetime, timedelta, timezone
from pathlib import Path

import mainspring as ms
import pytest


@pytest.fixture(autouse=True)
def own_database():
    with ms.testing.isolated():
        yield


def letters(plan):
    """Task to the reasons of its cells, in the order of their dates."""
    found = {}
    for cell in plan.cells:
        found.setdefault(cell.task, []).append(cell.reason)
    return found


def orders(schedule="0 2 * * *", timezone="Asia/Shanghai", retries=0, **options):
    with ms.Dag("orders", schedule=schedule, timezone=timezone, **options) as dag:
        @ms.task(retries=retries)
        def extract(biz_date):
            if str(biz_date) == "2024-01-03":
                raise ValueError("no")

        @ms.task(depends_on=[extract])
        def load(): ...
    return dag


def test_each_cell_has_its_reason():
    dag = orders()
    dag.run("2024-01-02")
    dag.run("2024-01-03")
    plan = ms.backfill(dag, "2024-01-01", "2024-01-04")
    assert letters(plan) == {
        "extract": ["missing", "succeeded", "not_asked", "missing"],
        # It was blocked: nobody has computed it.
        "load": ["missing", "succeeded", "missing", "missing"],
    }
    assert len(plan) == 5
    assert [(run.tasks, str(run.biz_date)) for run in plan.runs] == [
        (("extract", "load"), "2024-01-01"),
        (("load",), "2024-01-03"),
        (("extract", "load"), "2024-01-04"),
    ]
    failed = ms.backfill(dag, "2024-01-01", "2024-01-04", only="failed")
    assert letters(failed)["extract"] == ["not_asked", "succeeded", "failed", "not_asked"]
    assert letters(failed)["load"] == ["not_asked", "succeeded", "failed", "not_asked"]
    both = ms.backfill(dag, "2024-01-01", "2024-01-04", only=["failed", "missing"])
    assert letters(both)["extract"] == ["missing", "succeeded", "failed", "missing"]
    everything = ms.backfill(dag, "2024-01-01", "2024-01-04", only="all")
    assert letters(everything)["load"] == ["missing", "forced", "failed", "missing"]


def test_a_plan_of_the_same_world_is_the_same():
    dag = orders()
    dag.run("2024-01-02")
    plan = ms.backfill(dag, "2024-01-01", "2024-01-04")
    assert plan == plan.again() == ms.backfill(dag, "2024-01-01", "2024-01-04")
    assert not plan.diff(plan.again())
    dag.run("2024-01-01")
    later = plan.again()
    assert later != plan
    assert plan.hash != later.hash
    diff = plan.diff(later)
    assert diff
    assert [(task, str(day)) for task, day, _ in diff.went] == [
        ("orders.extract", "2024-01-01"), ("orders.load", "2024-01-01"),
    ]
    assert "out: orders.extract 2024-01-01 (succeeded)" in repr(diff)


def test_a_changed_definition_is_stale_and_told():
    dag = orders()
    dag.run("2024-01-02")
    plan = ms.backfill(dag, "2024-01-02", "2024-01-02", only="stale")
    assert len(plan) == 0
    assert "nothing is to be done" in repr(plan)
    edited = orders(retries=1)
    later = ms.backfill(edited, "2024-01-02", "2024-01-02", only="stale")
    assert letters(later)["extract"] == ["stale_version"]
    assert "orders.extract: version 1 -> 2" in plan.diff(later).definitions
    edited.run("2024-01-02", only=["extract"])
    # The new one is later than what was loaded from the old one.
    again = ms.backfill(edited, "2024-01-02", "2024-01-02", only="stale")
    assert letters(again) == {"extract": ["succeeded"], "load": ["stale_upstream"]}


def test_it_is_saved_and_read_back(tmp_path):
    plan = ms.backfill(orders(), "2024-01-01", "2024-01-04")
    plan.save(tmp_path / "plan.json")
    for read in (ms.Plan.load(tmp_path / "plan.json"), ms.Plan.load(plan.to_json())):
        assert read == plan
        assert read.cells == plan.cells
        assert repr(read) == repr(plan)
    with pytest.raises(ms.SpecError, match="this is no plan"):
        ms.Plan.load("{}")


def test_it_goes_up_and_down_through_windows():
    with ms.Dag("ods", schedule="0 2 * * *") as ods:
        @ms.task
        def clicks(): ...
    with ms.Dag("dwd", schedule="0 3 * * *") as dwd:
        @ms.task(depends_on=[ms.dep("ods.clicks", window=(-6, 0))])
        def week(): ...
    ods.run("2024-01-10")
    ms.backfill(dwd, "2024-01-10", "2024-01-10")
    down = ms.backfill(ods, "2024-01-10", "2024-01-10", only="all", downstream=True)
    days = [str(cell.biz_date) for cell in down.cells_of("downstream")]
    assert days == [f"2024-01-{day}" for day in range(10, 17)]
    up = ms.backfill(dwd, "2024-01-12", "2024-01-12", upstream=True)
    days = [str(cell.biz_date) for cell in up.cells_of("upstream")]
    # What is there is not computed again.
    assert days == [f"2024-01-{day:02}" for day in (6, 7, 8, 9, 11, 12)]
    assert [run.dag for run in up.runs] == ["ods"] * 6 + ["dwd"]
    assert len(ms.reprocess("ods.clicks", "2024-01-10")) == 8


def test_a_task_that_needs_its_day_before_is_planned_in_order():
    with ms.Dag("past", schedule="0 2 * * *") as dag:
        @ms.task(depends_on=[ms.dep("load", offset=-1)])
        def load(): ...

        @ms.task
        def free(): ...
    plan = ms.backfill(dag, "2024-06-01", "2024-06-07", order="desc", tasks=["load"])
    assert [str(run.biz_date)[-2:] for run in plan.runs] == [f"0{day}" for day in range(1, 8)]
    plan = ms.backfill(dag, "2024-06-01", "2024-06-07", order="desc", tasks=["free"])
    assert [str(run.biz_date)[-2:] for run in plan.runs] == [f"0{day}" for day in range(7, 0, -1)]


def test_an_hourly_dag_has_a_cell_an_hour_and_clocks_change():
    dag = orders("0 * * * *", "America/New_York")
    assert len(ms.backfill(dag, "2024-03-10", "2024-03-10", tasks=["load"])) == 23
    assert len(ms.backfill(dag, "2024-11-03", "2024-11-03", tasks=["load"])) == 25
    daily = orders("30 2 * * *", "America/New_York")
    plan = ms.backfill(daily, "2024-03-08", "2024-03-10", tasks=["load"])
    assert [run.nominal_at.isoformat() for run in plan.runs] == [
        "2024-03-09T02:30:00-05:00", "2024-03-10T03:00:00-04:00", "2024-03-11T02:30:00-04:00",
    ]


def test_dates_without_a_run_are_shown_with_the_reason():
    monthly = orders("0 4 1 * *", start_date="2024-02-01")
    plan = ms.backfill(monthly, "2023-12-30", "2024-02-01", tasks=["load"])
    assert plan.counts == {"missing": 1, "before_start": 32, "not_expected": 1}
    assert [str(run.biz_date) for run in plan.runs] == ["2024-01-31"]


def test_a_dag_without_a_schedule_has_a_cell_a_day():
    dag = orders(None)
    dag.run("2024-01-02")
    plan = ms.backfill(dag, "2024-01-01", "2024-01-03")
    assert letters(plan)["load"] == ["missing", "succeeded", "missing"]


def test_a_disabled_task_is_left_out_unless_it_is_forced():
    dag = orders()
    dag.check()
    ms.backfill(dag, "2024-01-01", "2024-01-01")
    ms.disable("orders.load")
    assert letters(ms.backfill(dag, "2024-01-01", "2024-01-01"))["load"] == ["disabled"]
    forced = ms.backfill(dag, "2024-01-01", "2024-01-01", force=True)
    assert letters(forced)["load"] == ["missing"]


SHANGHAI = timezone(timedelta(hours=8))


@pytest.mark.parametrize(("start", "end"), [
    ("2024-01-01", "2024-01-02"),
    (date(2024, 1, 1), date(2024, 1, 2)),
    (datetime(2024, 1, 1), datetime(2024, 1, 2, 23, 59)),
    ("2024-01-01T00:00:00", "2024-01-02 23:00:00"),
    # 16:00 UTC is midnight in Shanghai.
    ("2023-12-31T16:00:00Z", "2024-01-02T15:59:59Z"),
    (datetime(2024, 1, 1, tzinfo=SHANGHAI), datetime(2024, 1, 2, tzinfo=SHANGHAI)),
])
def test_dates_are_those_of_the_schedule(start, end):
    plan = ms.backfill(orders(), start, end, tasks=["load"])
    assert [str(run.biz_date) for run in plan.runs] == ["2024-01-01", "2024-01-02"]


def test_the_zone_of_this_machine_has_no_say(tmp_path):
    code = (
        "import mainspring as ms, datetime\n"
        "with ms.Dag('orders', schedule='0 2 * * *', timezone='Asia/Shanghai') as dag:\n"
        "    @ms.task\n"
        "    def load(): ...\n"
        "day = datetime.datetime(2024, 1, 1, 0, 30)\n"
        "print([str(run.biz_date) for run in ms.backfill(dag, day, day).runs])\n"
    )
    for zone in ("America/New_York", "Pacific/Kiritimati"):
        env = {**os.environ, "TZ": zone, "MAINSPRING_DATABASE": str(tmp_path / "db")}
        done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True,
                              check=True)
        assert done.stdout.strip() == "['2024-01-01']"


def codes(error):
    return [problem.code for problem in error.value.problems]


@pytest.mark.parametrize(("change", "expected"), [
    ({"start": "2024-02-30"}, ["bad_date"]),
    ({"start": "2024/01/01"}, ["bad_date"]),
    ({"start": "20240101"}, ["bad_date"]),
    ({"start": None}, ["bad_date"]),
    ({"start": 20240101}, ["bad_date"]),
    ({"start": "2024-01-05"}, ["bad_range"]),
    ({"start": datetime(2024, 1, 1), "end": datetime(2024, 1, 2, tzinfo=SHANGHAI)},
     ["mixed_zones"]),
    ({"start": "2190-01-01", "end": "2190-01-02"}, ["in_future"]),
    ({"start": "2020-01-01", "end": "2020-01-31"}, ["before_start"]),
    ({"only": "mising"}, ["unknown_choice"]),
    ({"only": []}, ["no_kinds"]),
    ({"order": "ascending"}, ["unknown_choice"]),
    ({"on_failure": "halt"}, ["unknown_choice"]),
    ({"max_active": 0}, ["out_of_range"]),
    ({"max_active": "4"}, ["wrong_type"]),
    ({"share": 101}, ["out_of_range"]),
    ({"priority": 11}, ["out_of_range"]),
    ({"tasks": ["laod"]}, ["unknown_task"]),
    ({"tasks": []}, ["no_tasks"]),
    ({"params": {"client": "x"}}, ["unknown_parameter"]),
    ({"start": "2024-02-30", "end": "x", "tasks": ["laod"], "order": "up", "max_active": 0},
     ["bad_date", "bad_date", "unknown_choice", "unknown_task", "out_of_range"]),
])
def test_what_is_wrong_is_told_at_once_and_nothing_is_started(change, expected):
    dag = orders(start_date="2021-01-01")
    given = {"start": "2024-01-01", "end": "2024-01-04", **change}
    with pytest.raises(ms.SpecError) as error:
        ms.backfill(dag, **given)
    assert sorted(codes(error)) == sorted(expected), error.value
    assert all(problem.place.startswith("orders.") for problem in error.value.problems)
    assert len(ms.runs()) == 0


def test_a_name_that_is_not_registered_is_told():
    ms.backfill(orders(), "2024-01-01", "2024-01-01")
    with pytest.raises(ms.NotFoundError, match="did you mean orders"):
        ms.backfill("order", "2024-01-01", "2024-01-01")
    for task in ("orders", "orders.", 7):
        with pytest.raises(ms.SpecError) as error:
            ms.reprocess(task, "2024-01-01")
        assert codes(error) == ["bad_task"]
    with pytest.raises(ms.SpecError) as error:
        ms.reprocess("orders.laod", "2024-01-01")
    assert codes(error) == ["unknown_task"]
    with pytest.raises(ms.SpecError) as error:
        ms.reprocess("orders.load")
    assert codes(error) == ["bad_range"]


def test_fifty_years_of_minutes_are_refused_with_the_number():
    dag = orders("* * * * *", "UTC")
    with pytest.raises(ms.SpecError) as error:
        ms.backfill(dag, "1975-01-01", "2024-12-31")
    assert codes(error) == ["too_many"]
    assert "about 52," in str(error.value)
    assert "about 347 days at a time" in str(error.value)


def test_the_text_says_what_there_is_to_know():
    dag = orders()
    dag.run("2024-01-02")
    text = repr(ms.backfill(dag, "2024-01-01", "2024-03-31"))
    assert "backfill of orders, 2024-01-01 to 2024-03-31, only missing, oldest first" in text
    assert "180 of 182 cells are computed, 90 runs" in text
    assert "M 180 missing" in text
    assert "at most 50% of each pool" in text
    assert "2 dates a column" in text
    assert "class: 7 LOW" in text
    html = ms.backfill(dag, "2024-01-01", "2024-01-31")._repr_html_()
    assert "<script" not in html


def test_a_million_names_do_no_harm():
    chance = random.Random(3)
    for _ in range(200):
        junk = "".join(chance.choice("2024-01/T:Z +é0\x00") for _ in range(chance.randrange(14)))
        try:
            ms.backfill(orders(), junk, "2024-01-02", tasks=["load"])
        except ms.SpecError:
            pass


RANGES = Path(__file__).parents[1] / "data" / "time" / "backfill_range.jsonl"


@pytest.mark.parametrize(("given", "expect"), [
    pytest.param(case["input"], case["expect"], id=case["id"])
    for case in map(json.loads, RANGES.read_text(encoding="utf-8").splitlines())
])
def test_the_runs_are_those_of_the_cases(given, expect):
    rule = ms.cron(given["expr"], given["tz"], **given.get("options", {}))
    with ms.Dag("loads", schedule=rule, start_date=given.get("start_date"),
                end_date=given.get("end_date"), biz_offset=given["biz_offset_days"]) as dag:
        @ms.task
        def load(): ...
    ask = dag, given["from"], given["to"]
    if isinstance(expect, dict) and "error" in expect:
        with pytest.raises(ms.SpecError) as caught:
            ms.backfill(*ask)
        assert codes(caught) == [expect["error"]]
        return
    try:
        plan = ms.backfill(*ask)
    except ms.SpecError as error:
        # All of it lies in the future, or before the first date of the schedule.
        assert error.code in ("in_future", "before_start")
        return
    cells = [cell for cell in plan.cells if cell.nominal_at is not None]
    rows = [{"biz_date": str(cell.biz_date), "fire": cell.nominal_at.isoformat()}
            for cell in cells]
    if given.get("summary"):
        rows = {"count": len(rows), "first": rows[0]["fire"], "last": rows[-1]["fire"]}
    assert rows == expect
    runs = [(str(run.biz_date), run.nominal_at.isoformat()) for run in plan.runs]
    assert runs == [(str(cell.biz_date), cell.nominal_at.isoformat()) for cell in cells
                    if cell.included]
