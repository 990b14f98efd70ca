"""What went wrong with time in other schedulers, under the virtual clock.

The scenarios come from the trackers of other projects; ``tests/data/time/scenarios.jsonl`` has
those that are a table, with where each was told. Two more are tests elsewhere: dates in the
parameters of a rerun (E10) and arithmetic with dates (G04) are rows of ``template.jsonl``. The
warehouse (K04) is in ``test_warehouse.py``.
"""

from __future__ import annotations

import json
import random
from datetime import date, datetime, timedelta, timezone
from pathlib import Path

import mainspring as ms
import pytest
from mainspring.errors import SpecError

UTC = timezone.utc
ROWS = Path(__file__).parents[2] / "data" / "time" / "scenarios.jsonl"
CASES = [json.loads(line) for line in ROWS.read_text().splitlines()]
DAY = timedelta(days=1)


def at(text):
    return datetime.fromisoformat(text).astimezone(UTC)


def dag_of(name, zone, schedule):
    options = dict(schedule) if isinstance(schedule, dict) else {"line": schedule}
    return ms.Dag.from_graph(name, ["load"], schedule=ms.schedule(
        options.pop("line"), timezone=zone, **options))


def one(line, zone="UTC", most=16, **options):
    """A dag with one task and one schedule."""
    with ms.Dag("dag", max_active_runs=most,
                schedule=ms.schedule(line, timezone=zone, **options)) as dag:
        ms.task(load)
    return dag


def load() -> None:
    """Be stubbed."""


def fires(world, dag="dag"):
    return [run.nominal_at.astimezone(UTC) for run in world.runs(dag)]


def skipped(world, dag="dag"):
    return {skip["reason"]: skip["count"] for skip in world.skips(dag)}


def sleep(world, length):
    """The process stands still while time goes on: a laptop that is shut, a machine that swaps."""
    world._clock.set(world._clock.now + length // timedelta(microseconds=1))
    world.advance(timedelta(0))


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_a_line_fires_when_its_scenario_says(case):
    dags = [dag_of(name, case["timezone"], each) for name, each in case["schedules"].items()]
    with ms.testing.simulated(at(case["from"]), dags, stub=True) as world:
        world.advance(to=at(case["to"]))
        seen = {dag.name: fires(world, dag) for dag in dags}
        assert all(world.skips(dag) == [] for dag in dags)
        assert {run.state for run in world.runs()} == {"SUCCESS"}
        for name, expected in case.get("expect", {}).items():
            assert seen[name] == [at(each) for each in expected]
        if case["id"] == "b07":
            assert world.schedules("a")[0]["next_fire"] is None
        for name, days in case.get("on", {}).items():
            runs = {str(run.biz_date + DAY): run for run in world.runs(name)}
            assert {day: runs[day].nominal_at.astimezone(UTC) for day in days} == {
                day: at(each) for day, each in days.items()}
            # A day has one run, and each day of the year has it: 2024 is a leap year.
            assert [run.biz_date for run in world.runs(name)] == [
                date(2023, 12, 31) + n * DAY for n in range(366)]
        for name in case["schedules"] if "every" in case else ():
            assert len(seen[name]) == case["count"]
            steps = {after - before for before, after in zip(
                seen[name], seen[name][1:], strict=False)}
            assert steps == {timedelta(seconds=case["every"])}


def test_d02_the_two_hours_of_one_name_are_two_runs_that_can_be_told_apart():
    with ms.testing.simulated("2024-10-26T23:30:00", [one("0 0 * * * ? *", "Europe/Berlin")],
                              stub=True) as world:
        world.advance("2h")
        assert [run.nominal_at.isoformat() for run in world.runs()] == [
            "2024-10-27T02:00:00+02:00", "2024-10-27T02:00:00+01:00"]


def test_d04_restarts_every_five_minutes_neither_stop_nor_add_fires_of_intervals():
    half_hour = ms.Dag.from_graph("a", ["load"], schedule="every 30m")
    week = ms.Dag.from_graph("b", ["load"], schedule=ms.schedule(
        ms.every("7d", anchor="2024-01-01T10:00:00")))
    with ms.testing.simulated("2024-01-07T00:00:01", [half_hour, week], stub=True) as world:
        for _ in range(2 * 24 * 12):
            world.advance("5m")
            world.stop()
            world.start()
        seen = fires(world, "a")
        assert len(seen) == 96
        assert {after - before for before, after in zip(seen, seen[1:], strict=False)} == {
            timedelta(minutes=30)}
        assert fires(world, "b") == [at("2024-01-08T10:00:00+00:00")]


def test_d05_to_switch_on_a_schedule_does_not_fire_it():
    sunday = one("0 0 0 ? * SUN *")
    with ms.testing.simulated("2024-06-01", [sunday], stub=True) as world:  # a Saturday
        world.pause("dag")
        world.advance(to="2024-06-14T15:00:00")  # a Friday
        world.resume("dag")
        world.stop()
        world.start()
        for _ in range(2):
            world.pause("dag")
            world.resume("dag")
        world.advance(to="2024-06-15T23:59:59")
        assert fires(world) == []
        assert skipped(world) == {"paused": 2}  # 2 and 9 June
        world.advance("1s")
        assert fires(world) == [at("2024-06-16T00:00:00+00:00")]


@pytest.mark.parametrize(("missed", "days"), [
    (None, []), ("none", []), ("last", [4]), ("all", [2, 3, 4])])
def test_d05_whoever_resumes_says_what_becomes_of_the_pause(missed, days):
    # The schedule's own policy is for outages, whatever it is.
    nightly = one("0 0 2 * * ? *", missed="all" if missed is None else "none")
    with ms.testing.simulated("2024-06-01", [nightly], stub=True) as world:
        world.advance("1d")
        world.pause("dag")
        world.advance(to="2024-06-04T12:00:00")
        world.resume("dag", missed=missed)
        assert [fire.day for fire in fires(world)] == [1, *days]
        assert skipped(world) == ({"paused": 3 - len(days)} if len(days) < 3 else {})
        world.advance("1d")
        assert [fire.day for fire in fires(world)] == [1, *days, 5]


@pytest.mark.parametrize(("missed", "days"), [("last", [4]), ("all", [2, 3, 4]), ("none", [])])
def test_d05_a_crash_follows_the_policy_of_the_schedule(missed, days):
    with ms.testing.simulated("2024-06-01", [one("0 0 2 * * ? *", missed=missed)],
                              stub=True) as world:
        world.advance("1d")
        world.stop()
        world.advance(to="2024-06-04T12:00:00")
        world.start()
        assert [fire.day for fire in fires(world)] == [1, *days]
        assert [run.trigger for run in world.runs()] == ["schedule"] + ["catchup"] * len(days)
        assert skipped(world) == ({"missed": 3 - len(days)} if len(days) < 3 else {})


def test_d08_a_redeploy_removes_nothing_that_is_due():
    dag = one("0/10 * * * * ? *")
    with ms.testing.simulated("2024-06-01", [dag], stub=True) as world:
        world.advance("5s")
        world.stop()
        world.advance("5m")
        world.register(one("0/10 * * * * ? *"))  # the same again, from its file
        world.start()
        world.register(one("0/10 * * * * ? *"))
        assert len(set(fires(world))) == len(fires(world)) == 30
        assert skipped(world) == {}
        assert ms.sql("SELECT max(version) AS version, count(*) AS rows FROM task_version") == [
            {"version": 1, "rows": 1}]


def test_d08_a_redeploy_keeps_what_waits_for_its_turn():
    def made():
        return one("0/10 * * * * ? *", most=1, end_date="2024-06-01")

    stub = {"dag.load": ms.testing.stub(takes="61s")}
    with ms.testing.simulated("2024-06-01T23:55:00", [made()], stub=stub) as world:
        world.advance("100s")
        before = fires(world)
        world.register(made())
        assert fires(world) == before
        world.advance("2h")
        assert fires(world) == [at("2024-06-01T23:55:10+00:00") + n * timedelta(seconds=10)
                                for n in range(29)]
        assert {run.state for run in world.runs()} == {"SUCCESS"}


def regional(most=16):
    with ms.Dag("dag", max_active_runs=most, schedule=[
            ms.schedule("0 0 * * * ? *", name="hourly"),
            ms.schedule("0 0 0 * * ? *", name="daily"),
            ms.schedule("0 0 0 * * ? *", name="eu", params={"region": "eu"})]) as dag:
        @ms.task
        def load(region: str = "us") -> str:
            return region
    return dag


def test_d09_schedules_at_one_instant_are_one_run_unless_their_params_differ():
    with ms.testing.simulated("2024-06-01T23:30:00", [regional()]) as world:
        world.advance("2h")
        made = [(run.nominal_at.hour, run.result("load")) for run in world.runs()]
        assert sorted(made) == [(0, "eu"), (0, "us"), (1, "us")]
        links = ms.sql("""
            SELECT run.nominal_at, schedule.name FROM run_schedule
            JOIN run ON run.id = run_schedule.run_id
            JOIN schedule ON schedule.id = run_schedule.schedule_id
            ORDER BY run.nominal_at, schedule.name""")
        assert [link["name"] for link in links] == ["daily", "eu", "hourly", "hourly"]
        assert skipped(world) == {}


def test_d09_where_one_run_may_be_live_they_follow_each_other():
    stub = {"dag.load": ms.testing.stub(takes="10m")}
    with ms.testing.simulated("2024-06-01T23:30:00", [regional(1)], stub=stub) as world:
        world.advance("55m")
        first, second = world.runs()
        assert first.finished_at <= second.tasks[0].attempts[0].started_at
        assert first.nominal_at == second.nominal_at


@pytest.mark.parametrize("late", [timedelta(seconds=5), timedelta(minutes=2), timedelta(hours=6)])
@pytest.mark.parametrize("missed", [None, "none"])
def test_d11_late_is_better_than_never_and_never_is_told(late, missed):
    fire = at("2024-06-02T03:00:00+00:00")  # a Sunday
    with ms.testing.simulated("2024-06-01", [one("0 0 3 ? * SUN *", missed=missed)],
                              stub=True) as world:
        world.advance(to=fire - timedelta(seconds=1))
        sleep(world, late + timedelta(seconds=1))
        if missed == "none" and late > timedelta(minutes=1):
            assert fires(world) == []
            assert skipped(world) == {"missed": 1}
            assert world.skips("dag")[0]["from"] == int(fire.timestamp()) * 1_000_000
        else:
            [run] = world.runs()
            assert run.nominal_at == fire and run.created_at == fire + late
            assert run.trigger == ("catchup" if late > timedelta(minutes=1) else "schedule")


@pytest.mark.parametrize(("missed", "made", "left"), [("all", 20, 0), ("last", 1, 19),
                                                     ("none", 0, 20)])
def test_d14_a_sleep_is_an_outage(missed, made, left):
    # That a worker which was frozen ends its own attempts is a matter of leases, not of clocks.
    with ms.testing.simulated("2024-06-01T00:10:00", [one("0 0/30 * * * ? *", missed=missed)],
                              stub=True) as world:
        world.advance("1m")
        sleep(world, timedelta(hours=9, minutes=55))  # until 10:06, six minutes after the last
        assert len(fires(world)) == made
        assert skipped(world) == ({"missed": left} if left else {})
        world.advance("30m")
        assert len(fires(world)) == made + 1


def test_d15_an_end_before_the_start_is_refused():
    with pytest.raises(SpecError) as refused:
        one("0 0 6 * * ? *", start_date="2024-07-30", end_date="2024-07-29").check()
    assert [(each.code, each.place) for each in refused.value.problems] == [
        ("bad_date_range", "dag.schedule[0].end_date")]


def test_d15_what_began_before_the_end_is_finished_after_it():
    dag = one("0 0 23 * * ? *", end_date="2024-07-30")
    stub = {"dag.load": ms.testing.stub(takes="2h")}
    with ms.testing.simulated("2024-07-30", [dag], stub=stub) as world:
        world.advance("3d")
        [run] = world.runs()
        assert run.state == "SUCCESS"
        assert run.finished_at == at("2024-07-31T01:00:00+00:00")


def test_d17_a_restart_within_the_window_does_not_run_again_what_was_run():
    dag = one("0 35 5 * * ? *", "Etc/GMT-1", missed_window="7200s")
    with ms.testing.simulated("2024-06-01", [dag], stub=True) as world:
        world.advance(to="2024-06-01T05:39:46")
        for _ in range(3):
            world.stop()
            world.start()
        [run] = world.runs()
        assert run.nominal_at == run.created_at == at("2024-06-01T04:35:00+00:00")
        assert skipped(world) == {}


def test_d19_pause_blocks_new_runs_only_and_a_cancelled_run_pauses_nothing():
    with ms.Dag("dag", schedule=ms.schedule("0 0/5 * * * ? *", timezone="UTC")) as dag:
        ms.task(load, name="a") >> ms.task(load, name="b")
    stub = {"dag.a": ms.testing.stub(takes="60s"), "dag.b": ms.testing.stub(takes="1s")}
    with ms.testing.simulated("2024-06-01T11:59:00", [dag], stub=stub) as world:
        world.advance(to="2024-06-01T12:00:10")
        world.pause("dag")
        world.advance(to="2024-06-01T12:20:00")
        [run] = world.runs()
        assert (run.state, run.finished_at) == ("SUCCESS", at("2024-06-01T12:01:01+00:00"))
        world.resume("dag")
        assert skipped(world) == {"paused": 4}  # 12:05 to 12:20
        world.advance(to="2024-06-01T12:25:00")
        world.runs()[-1].cancel()
        world.advance(to="2024-06-01T12:31:01")
        assert [(run.nominal_at.minute, run.state) for run in world.runs()] == [
            (0, "SUCCESS"), (25, "CANCELED"), (30, "SUCCESS")]
        assert not world.schedules("dag")[0]["paused"]


def test_d21_thousands_that_are_due_in_one_second_are_all_made_once():
    # One node: several that share a database come with the issue about workers.
    def made(number):
        names = [f"t{n:03}" for n in range(100)]
        return ms.Dag.from_graph(f"d{number:02}", names, max_active_runs=200, schedule=[
            ms.schedule("0 0 2 * * ? *", name=name, tasks=[name]) for name in names])

    dags = [made(number) for number in range(50)]
    with ms.testing.simulated("2024-06-01T01:59:00", dags[:45], stub=True) as world:
        world.advance(to="2024-06-01T01:59:50")
        for dag in dags[45:]:  # 500 of them come in the last ten seconds
            world.register(dag)
            world.advance("1900ms")
        world.advance(to="2024-06-01T02:00:00")
        world.advance("1ms")
        late = ms.Dag.from_graph("late", ["load"], schedule=ms.schedule("0 0 2 * * ? *"))
        world.register(late)
        world.advance("10s")
        [row] = ms.sql("""
            SELECT count(*) AS runs, count(DISTINCT task_id) AS tasks,
                   max(created_at - nominal_at) AS late, min(nominal_at) = max(nominal_at) AS same
            FROM run""")
        assert row == {"runs": 5000, "tasks": 5000, "late": 0, "same": 1}
        assert fires(world, "late") == []
        assert {row["state"] for row in ms.sql("SELECT DISTINCT state FROM run")} == {"SUCCESS"}


def test_d22_a_nominal_time_is_exact_however_late_its_run_is_made():
    luck = random.Random(22)
    others = [ms.Dag.from_graph(f"other{n:03}", ["load"], schedule=f"{n % 60} {n % 24} * * *")
              for n in range(200)]
    with ms.testing.simulated("2024-06-01", [one("0/10 * * * * ? *"), *others],
                              stub=True) as world:
        end = world.now + timedelta(hours=1)
        while world.now < end - timedelta(seconds=20):
            world.advance(timedelta(milliseconds=luck.randrange(15_000)))
            sleep(world, timedelta(milliseconds=luck.randrange(3_000)))
        world.advance(to=end)
        assert fires(world) == [at("2024-06-01T00:00:00+00:00") + n * timedelta(seconds=10)
                                for n in range(1, 361)]
        late = [run.created_at - run.nominal_at for run in world.runs("dag")]
        assert timedelta(0) <= min(late) and timedelta(0) < max(late) <= timedelta(seconds=3)
        assert {run.trigger for run in world.runs("dag")} == {"schedule"}
