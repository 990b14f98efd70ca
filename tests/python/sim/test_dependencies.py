"""Who waits for whom: what went wrong in other schedulers, under the virtual clock.

Each test is a report from the trackers of other projects, by its number in the list that we keep;
the docstring says what was told. Fan-out over lists, pools and starvation are tests elsewhere.
"""

from __future__ import annotations

from datetime import timedelta

import mainspring as ms
import pytest
from mainspring._session import history
from mainspring._simulated import World
from mainspring.errors import SpecError


class Story:
    """Handlers that do as they are told, and remember in which order they were called."""

    def __init__(self):
        self.fails = {}
        self.calls = []

    def task(self, name, **options):
        def handler(biz_date) -> str:
            self.calls.append((name, str(biz_date)))
            left = self.fails.get((name, str(biz_date)), self.fails.get(name, 0))
            if left:
                key = (name, str(biz_date)) if (name, str(biz_date)) in self.fails else name
                self.fails[key] = left - 1
                raise RuntimeError(f"{name} fails")
            return self.results.get(name, "ok")

        return ms.task(name=name, **{"retries": 0, **options})(handler)

    results: dict = {}


@pytest.fixture
def story():
    made = Story()
    made.results = {}
    return made


@pytest.fixture(autouse=True)
def worlds_that_add_up(monkeypatch):
    """What each world leaves behind is proved, as ``mainspring db verify`` does."""
    stop = World.stop

    def stop_and_prove(world):
        stop(world)
        assert history(world.database).verify() == []

    monkeypatch.setattr(World, "stop", stop_and_prove)


def dag(name, story, tasks, schedule="0 2 * * *", zone="UTC", biz_offset=0, **options):
    """A dag of tasks: {name: options}; with biz_offset 0 a date is the day of the fire."""
    rule = None if schedule is None else ms.schedule(
        schedule, timezone=zone, biz_offset=biz_offset, **options.pop("rule", {}))
    with ms.Dag(name, schedule=rule, timezone=zone, **options) as made:
        for task, more in tasks.items():
            story.task(task, **more)
    return made


def states(world, name, day):
    """States of the newest run of a dag for a business date, by task."""
    runs = [run for run in world.runs(name) if str(run.biz_date) == day]
    return {each.task: each.state for each in runs[-1].tasks} if runs else {}


def run_of(world, name, day):
    return [run for run in world.runs(name) if str(run.biz_date) == day][-1]


def rerun(world, made, day, *tasks):
    made.rerun(run_of(world, made.name, day), list(tasks) or None, wait=False)
    world.advance("1s")


def test_c01_what_is_repaired_upstream_goes_on_by_itself_downstream(story):
    """airflow 12485, 15697, 31510: every downstream had to be cleared by hand."""
    story.fails["a"] = 1
    up = dag("up", story, {"a": {}, "d": {}})
    down = dag("down", story, {"b": {"depends_on": ["up.a"]}, "c": {"depends_on": ["b"]}})
    with ms.testing.simulated("2024-03-10", [up, down]) as world:
        world.advance("3h")
        assert states(world, "up", "2024-03-10") == {"a": "FAILED", "d": "SUCCESS"}
        assert states(world, "down", "2024-03-10") == {"b": "BLOCKED", "c": "BLOCKED"}
        blocked = run_of(world, "down", "2024-03-10")
        assert blocked.state == "FAILED"
        assert "up.a of 2024-03-10 is FAILED" in blocked["b"].explain()
        world.advance("60s")
        rerun(world, up, "2024-03-10")
        assert states(world, "down", "2024-03-10") == {"b": "SUCCESS", "c": "SUCCESS"}
        assert run_of(world, "down", "2024-03-10").state == "SUCCESS"
        order = [name for name, _ in story.calls]
        assert order == ["a", "d", "a", "b", "c"]


def test_c01_what_fails_again_starts_nothing(story):
    """The third variant: the rerun fails too."""
    story.fails["a"] = 2
    up = dag("up", story, {"a": {}})
    down = dag("down", story, {"b": {"depends_on": ["up.a"]}, "c": {"depends_on": ["b"]}})
    with ms.testing.simulated("2024-03-10", [up, down]) as world:
        world.advance("3h")
        rerun(world, up, "2024-03-10")
        assert states(world, "down", "2024-03-10") == {"b": "BLOCKED", "c": "BLOCKED"}
        assert [len(task.attempts) for task in run_of(world, "down", "2024-03-10").tasks] == [0, 0]


def test_c01_blocked_runs_survive_a_restart(story):
    """The same with the scheduler stopped and started in between."""
    story.fails["a"] = 1
    up = dag("up", story, {"a": {}})
    down = dag("down", story, {"b": {"depends_on": ["up.a"]}})
    with ms.testing.simulated("2024-03-10", [up, down]) as world:
        world.advance("3h")
        world.stop()
        world.start()
        rerun(world, up, "2024-03-10")
        assert states(world, "down", "2024-03-10") == {"b": "SUCCESS"}


def test_c02_nothing_is_blocked_while_a_retry_is_pending(story):
    """airflow 18401, luigi 2070: downstream failed after the first failed attempt."""
    story.fails["a"] = 2
    once = {"retries": 2, "retry_interval": "30s", "retry_backoff": "FIXED"}
    up = dag("up", story, {"a": once})
    down = dag("down", story, {"b": {"depends_on": ["up.a"]}})
    with ms.testing.simulated("2024-03-10", [up, down]) as world:
        world.advance("2h")
        for _ in range(5):
            assert states(world, "down", "2024-03-10")["b"] == "PENDING"
            world.advance("10s")
        world.advance("20s")
        run = run_of(world, "down", "2024-03-10")
        assert run["b"].state == "SUCCESS"
        t0 = run_of(world, "up", "2024-03-10").nominal_at
        assert run["b"].started_at - t0 == timedelta(seconds=60)
        assert [name for name, _ in story.calls] == ["a", "a", "a", "b"]


@pytest.mark.parametrize("case", ["runs", "fails", "disabled", "paused", "no run that day"])
def test_c04_a_weak_edge_waits_for_nothing(story, case):
    """argo 2596: "nice to have" upstreams failed the run or were waited for."""
    schedule = "0 2 * * 1" if case == "no run that day" else "0 2 * * *"  # the 10th is a Sunday
    up = dag("up", story, {"a": {}}, schedule=schedule)
    down = dag("down", story, {"b": {"depends_on": [ms.dep("up.a", kind="WEAK")]}})
    stub = {"up.a": ms.testing.stub(takes="300s")} if case == "runs" else None
    story.fails["a"] = 1 if case == "fails" else 0
    with ms.testing.simulated("2024-03-10", [up, down], stub=stub) as world:
        if case == "disabled":
            ms.disable("up.a")
        if case == "paused":
            world.pause("up")
        world.advance("2h")
        run = run_of(world, "down", "2024-03-10")
        assert (run["b"].state, run["b"].started_at) == ("SUCCESS", run.nominal_at)


@pytest.mark.parametrize("across", [False, True])
@pytest.mark.parametrize("ending", ["SUCCESS", "FAILED", "TIMEOUT", "CANCELED", "SKIPPED"])
def test_c05_a_completion_edge_takes_any_end(story, ending, across):
    """airflow 53667, 51320: all_done tasks were skipped, stuck or failed."""
    first = {"timeout": "60s", "grace": "0s"}
    if ending == "SKIPPED":
        first["depends_on"] = [ms.dep("s", kind="OUTPUT_MATCH", pattern="nothing like it")]
    story.fails["a"] = 1 if ending == "FAILED" else 0
    edge = ms.dep("up.a" if across else "a", kind="COMPLETED")
    tasks = {"s": {}, "a": first}
    if across:
        dags = [dag("up", story, tasks), dag("down", story, {"b": {"depends_on": [edge]}})]
    else:
        dags = [dag("up", story, {**tasks, "b": {"depends_on": [edge]}})]
    long = {"up.a": ms.testing.stub(takes="1h")} if ending in ("TIMEOUT", "CANCELED") else None
    with ms.testing.simulated("2024-03-10", dags, stub=long) as world:
        world.advance("2h")
        if ending == "CANCELED":
            assert states(world, dags[-1].name, "2024-03-10")["b"] == "PENDING"
            run_of(world, "up", "2024-03-10").cancel(["a"], grace=0)
        world.advance("2m")
        assert states(world, "up", "2024-03-10")["a"] == ending
        assert states(world, dags[-1].name, "2024-03-10")["b"] == "SUCCESS"
        assert [name for name, _ in story.calls].count("b") == 1


def test_c05_blocked_is_no_end(story):
    """A completion edge waits for what is blocked, and says by whom; cancel takes all."""
    story.fails["x"] = 1
    made = dag("up", story, {
        "x": {}, "a": {"depends_on": ["x"]}, "b": {"depends_on": [ms.dep("a", kind="COMPLETED")]},
    })
    with ms.testing.simulated("2024-03-10", [made]) as world:
        world.advance("2h")
        run = run_of(world, "up", "2024-03-10")
        assert [task.state for task in run.tasks] == ["FAILED", "BLOCKED", "PENDING"]
        assert run.state == "FAILED"
        assert "waits for a (BLOCKED)" in run["b"].explain()
        rerun(world, made, "2024-03-10")
        assert states(world, "up", "2024-03-10") == dict.fromkeys("xab", "SUCCESS")


def test_c08_a_join_after_branches(story):
    """airflow 17138, 37091: a join with a skipped parent was itself skipped or failed."""
    story.results["s"] = "b"
    made = dag("branches", story, {
        "s": {},
        "a": {"depends_on": [ms.dep("s", kind="OUTPUT_MATCH", pattern='^"a"$')]},
        "b": {"depends_on": [ms.dep("s", kind="OUTPUT_MATCH", pattern='^"b"$')]},
        "j": {"depends_on": ["a", "b"]},
        "k": {"depends_on": ["a"]},
    })
    with ms.testing.simulated("2024-03-10", [made]) as world:
        world.advance("2h")
        run = run_of(world, "branches", "2024-03-10")
        assert {task.task: task.state for task in run.tasks} == {
            "s": "SUCCESS", "a": "SKIPPED", "b": "SUCCESS", "j": "SUCCESS", "k": "SKIPPED"}
        assert (run["a"].code, run["k"].code) == ("NO_MATCH", "UPSTREAM_SKIPPED")
        assert run.state == "SUCCESS"


def test_c08_a_pattern_is_looked_for_in_what_was_printed(story):
    """The same by standard output, which is in a file."""
    with ms.Dag("branches", schedule=ms.schedule("0 2 * * *", timezone="UTC")) as made:
        @ms.task
        def s() -> str:
            print("::result:: go on")
            return "x" * 300_000  # a large result lies in a file too

        @ms.task(depends_on=[ms.dep(s, kind="OUTPUT_MATCH", pattern="go on", match_on="stdout")])
        def a(): ...

        @ms.task(depends_on=[ms.dep(s, kind="OUTPUT_MATCH", pattern="go on")])
        def b(): ...

        @ms.task(depends_on=[ms.dep(s, kind="OUTPUT_MATCH", pattern="x{9}")])
        def c(): ...
    with ms.testing.simulated("2024-03-10", [made]) as world:
        world.advance("2h")
        [run] = world.runs()
        assert {task.task: task.state for task in run.tasks} == {
            "s": "SUCCESS", "a": "SUCCESS", "b": "SKIPPED", "c": "SUCCESS"}


def test_c11_the_first_day_has_no_yesterday(story):
    """dagster 13255, luigi 1057: a task that needs its own yesterday never starts."""
    past = {"a": {"depends_on": [ms.dep("a", offset=-1)]}}
    made = dag("past", story, past, schedule="0 0 2 * * ? *",
               rule={"start_date": "2024-03-13"})
    late = dag("late", story, {"b": {"depends_on": [ms.dep("past.a", offset=-2)]}})
    with ms.testing.simulated("2024-03-11", [made, late]) as world:
        world.advance(to="2024-03-13T12:00")
        assert states(world, "past", "2024-03-13") == {"a": "SUCCESS"}
        assert len(world.runs("past")) == 1
        # Another task whose upstream begins later is let go as well, for the days before that.
        for day in ("2024-03-11", "2024-03-12", "2024-03-13"):
            assert states(world, "late", day) == {"b": "SUCCESS"}
        world.advance(to="2024-03-15T12:00")
        assert states(world, "past", "2024-03-15") == {"a": "SUCCESS"}
        assert states(world, "late", "2024-03-15") == {"b": "SUCCESS"}
        assert "no predecessor" in explain_first(story)


def explain_first(story):
    """What explain says of a first day while it waits for something else."""
    made = dag("past", story, {"x": {}, "a": {"depends_on": ["x", ms.dep("a", offset=-1)]}})
    slow = {"past.x": ms.testing.stub(takes="1h")}
    with ms.testing.simulated("2024-03-11", [made], stub=slow) as world:
        world.advance("2h")
        return run_of(world, "past", "2024-03-11")["a"].explain()


def test_c14_a_window_without_a_run_says_so(story):
    """dolphinscheduler 15770: "last three hours" on an upstream at 01:00 and 05:00."""
    up = dag("up", story, {"a": {}}, schedule="0 0 1,5 * * ? *")
    down = dag("down", story, {"b": {"depends_on": [ms.dep("up.a", offset=ms.slots(0))]}},
               schedule="0 55 4,6 * * ? *")
    slow = {"up.a": ms.testing.stub(takes="2h")}
    with ms.testing.simulated("2024-03-10", [up, down], stub=slow) as world:
        world.advance(to="2024-03-10T05:00")
        early = world.runs("down")[0]
        # By 04:55 the last fire was that of 01:00, which has ended.
        assert early["b"].state == "SUCCESS"
        world.advance(to="2024-03-10T06:56")
        late = world.runs("down")[1]
        assert late["b"].state == "PENDING"  # that of 05:00 still runs
        assert "up.a of its last fire up to 2024-03-10T06:55" in late["b"].explain()
        world.advance(to="2024-03-10T07:01")
        assert world.runs("down")[1]["b"].state == "SUCCESS"
    with ms.testing.simulated("2024-03-10T02:00", [up, down], stub=slow) as world:
        world.advance(to="2024-03-10T04:56")
        assert world.runs("down")[0]["b"].state == "SUCCESS"  # there was no fire before it


def test_c16_a_week_of_days_and_its_own_tuesday(story):
    """dolphinscheduler's manual: a weekly report of all of last week, and of itself."""
    daily = {"b": {}}
    story.fails[("c", "2024-07-04")] = 1
    b, c = dag("b", story, daily), dag("c", story, {"c": {}})
    week = [ms.dep("b.b", window=(-6, 0)), ms.dep("c.c", window=(-6, 0))]
    weekly = dag("weekly", story, {"a": {"depends_on": week}}, schedule="0 3 * * 1", biz_offset=-1)
    with ms.testing.simulated("2024-06-30T12:00", [b, c, weekly]) as world:
        world.advance(to="2024-07-08T03:00")
        run = run_of(world, "weekly", "2024-07-07")
        assert run["a"].state == "BLOCKED"
        said = run["a"].explain()
        assert "c.c of 2024-07-04 is FAILED" in said
        assert said.count("is FAILED") == 1
        rerun(world, c, "2024-07-04")
        assert states(world, "weekly", "2024-07-07") == {"a": "SUCCESS"}
    with ms.testing.simulated("2024-12-29T12:00", [b, c, weekly]) as world:
        world.advance(to="2025-01-06T02:59")
        needed = {str(run.biz_date) for run in world.runs("b")}
        assert min(needed) == "2024-12-30"
        world.advance(to="2025-01-06T03:00")
        assert states(world, "weekly", "2025-01-05") == {"a": "SUCCESS"}


def test_c18_pairs_are_made_by_business_date_on_days_of_23_and_25_hours(story):
    """airflow 33464, 1060: "exactly 110 minutes earlier" hung on two days a year."""
    berlin = {"zone": "Europe/Berlin"}
    up = dag("up", story, {"a": {}}, schedule="0 0 2 * * ? *", **berlin)
    down = dag("down", story, {"b": {"depends_on": ["up.a"]}}, schedule="0 0 4 * * ? *", **berlin)
    for day in ("2024-03-31", "2024-10-27"):
        with ms.testing.simulated(f"{day}T00:00+01:00", [up, down]) as world:
            world.advance("8h")
            assert [str(run.biz_date) for run in world.runs("up")] == [day]
            assert states(world, "down", day) == {"b": "SUCCESS"}
    with ms.testing.simulated("2024-06-04T00:00+02:00", [up, down]) as world:
        world.advance("12h")
        moved = dag("up", story, {"a": {}}, schedule="0 30 2 * * ? *", **berlin)
        world.register(moved)
        # What ran by the rule of its own time counts, and nothing waits for the new one.
        rerun(world, down, "2024-06-04", "b")
        assert states(world, "down", "2024-06-04") == {"b": "SUCCESS"}
        world.advance("1d")
        assert states(world, "down", "2024-06-05") == {"b": "SUCCESS"}
        assert run_of(world, "up", "2024-06-05").nominal_at.hour == 2


def test_c19_yesterday_gets_the_place_that_today_does_not_need(story):
    """airflow 18304, 29524: day two held the only place that day one needed."""
    story.fails[("b", "2024-03-10")] = 1
    made = dag("past", story, {
        "a": {}, "b": {"depends_on": ["a", ms.dep("b", offset=-1)]}, "c": {"depends_on": ["b"]},
    }, max_active_runs=1)
    with ms.testing.simulated("2024-03-10", [made]) as world:
        world.advance(to="2024-03-11T12:00")
        assert states(world, "past", "2024-03-10") == {"a": "SUCCESS", "b": "FAILED", "c": "BLOCKED"}
        assert states(world, "past", "2024-03-11") == {"a": "SUCCESS", "b": "BLOCKED", "c": "BLOCKED"}
        story.calls.clear()
        rerun(world, made, "2024-03-10")
        assert states(world, "past", "2024-03-11") == dict.fromkeys("abc", "SUCCESS")
        assert story.calls == [("b", "2024-03-10"), ("c", "2024-03-10"), ("b", "2024-03-11"),
                               ("c", "2024-03-11")] or story.calls == [
            ("b", "2024-03-10"), ("b", "2024-03-11"), ("c", "2024-03-10"), ("c", "2024-03-11")]


def test_c20_a_new_task_has_no_yesterday_either(story):
    """airflow 17585: a task added to an old flow was never scheduled."""
    old = dag("flow", story, {"a": {}})
    with ms.testing.simulated("2024-06-08", [old]) as world:
        world.advance(to="2024-06-10T12:00")
        world.register(dag("flow", story, {
            "a": {}, "n": {"depends_on": [ms.dep("n", offset=-1)]}}))
        world.advance(to="2024-06-12T12:00")
        assert states(world, "flow", "2024-06-11") == {"a": "SUCCESS", "n": "SUCCESS"}
        assert states(world, "flow", "2024-06-12") == {"a": "SUCCESS", "n": "SUCCESS"}


def test_c22_data_of_79_days_later(story):
    """wikimedia: a monthly load waits for a daily dataset 79 days after its month begins."""
    daily = dag("daily", story, {"d": {}})
    later = ms.dep("daily.d", offset=79, allow_future=True)
    monthly = dag("monthly", story, {"m": {"depends_on": [later]}}, schedule="0 3 1 * *",
                  max_active_runs=1)
    with ms.testing.simulated("2024-01-01T00:00", [daily, monthly], stub=True) as world:
        world.advance(to="2024-03-20T01:00")
        waiting = [run for run in world.runs("monthly")]
        # The one of January waits, and those that were made meanwhile wait beside it.
        assert [str(run.biz_date) for run in waiting] == ["2024-01-01", "2024-02-01", "2024-03-01"]
        assert {run["m"].state for run in waiting} == {"PENDING"}
        assert {len(run["m"].attempts) for run in waiting} == {0}
        world.stop()
        world.start()
        world.advance(to="2024-03-20T02:01")  # 2024-01-01 + 79 days
        assert [run["m"].state for run in world.runs("monthly")] == ["SUCCESS", "PENDING", "PENDING"]


@pytest.mark.parametrize("case", ["disabled", "paused", "removed", "expired"])
def test_c25_an_upstream_that_will_not_come_is_named(story, case):
    """dolphinscheduler 15118, luigi 871: endless loops and workers that waited for ever."""
    rule = {"end_date": "2024-03-09"} if case == "expired" else {}
    up = dag("up", story, {"a": {}}, rule=rule)
    down = dag("down", story, {"b": {"depends_on": ["up.a"]}}, schedule="0 3 * * *")
    with ms.testing.simulated("2024-03-08", [up, down]) as world:
        world.advance(to="2024-03-09T12:00")
        if case == "disabled":
            ms.disable("up.a")
        elif case == "paused":
            world.pause("up")
        elif case == "removed":
            world.remove("up")
        world.advance(to="2024-03-10T03:00")
        run = run_of(world, "down", "2024-03-10")
        assert run["b"].state == "BLOCKED"
        said = {"removed": "was removed", "expired": "its schedule has ended"}.get(case, case)
        assert "up.a of 2024-03-10" in run["b"].explain()
        assert said in run["b"].explain()
        if case == "disabled":
            assert states(world, "up", "2024-03-10") == {"a": "SKIPPED"}
            ms.enable("up.a")
            world.advance("1s")
            assert states(world, "up", "2024-03-10") == {"a": "SUCCESS"}
            assert states(world, "down", "2024-03-10") == {"b": "SUCCESS"}


def test_text_001_three_tasks_with_schedules_of_their_own(story):
    """A at 02:00, B at 03:00 needing A, C at 04:00 needing B: the example of the first text."""
    story.fails[("a", "2024-03-10")] = 1
    with ms.Dag("etl") as made:
        story.task("a", schedule=ms.schedule("0 0 2 * * ?", timezone="Asia/Shanghai"))
        story.task("b", schedule=ms.schedule("0 0 3 * * ?", timezone="Asia/Shanghai"),
                   depends_on=["a"])
        story.task("c", schedule=ms.schedule("0 0 4 * * ?", timezone="Asia/Shanghai"),
                   depends_on=["b"])
    with ms.testing.simulated("2024-03-10T00:00+08:00", [made]) as world:
        world.advance("12h")
        # The small hours of the 10th handle the 9th.
        assert story.calls == [("a", "2024-03-09"), ("b", "2024-03-09"), ("c", "2024-03-09")]
        starts = [run.tasks[0].started_at for run in world.runs()]
        assert [start.astimezone(run.nominal_at.tzinfo).hour
                for start, run in zip(starts, world.runs(), strict=True)] == [2, 3, 4]
        story.calls.clear()
        world.advance("1d")
        assert story.calls == [("a", "2024-03-10")]
        states_of = [run.tasks[0].state for run in world.runs()][-3:]
        assert states_of == ["FAILED", "BLOCKED", "BLOCKED"]
        failed = [run for run in world.runs() if run.tasks[0].state == "FAILED"]
        made.rerun(failed[0], wait=False)
        world.advance("1s")
        assert story.calls[1:] == [("a", "2024-03-10"), ("b", "2024-03-10"), ("c", "2024-03-10")]


def test_a_dag_without_a_schedule_follows_its_upstream_once_for_each_instant(story):
    """Trigger ``dependency``: made when the upstream has succeeded, and never twice."""
    up = dag("up", story, {"a": {}}, schedule="0 */6 * * *")
    down = dag("down", story, {"b": {"depends_on": ["up.a"]}, "c": {"depends_on": ["b"]}},
               schedule=None)
    story.fails[("a", "2024-03-10")] = 1
    with ms.testing.simulated("2024-03-10T03:00", [up, down]) as world:
        world.advance(to="2024-03-10T13:00")
        assert [run["a"].state for run in world.runs("up")] == ["FAILED", "SUCCESS"]
        [made] = world.runs("down")
        assert (made.trigger, made.nominal_at.hour) == ("dependency", 12)
        assert made.state == "SUCCESS"
        first = world.runs("up")[0]
        up.rerun(first, wait=False)
        world.advance("1s")
        assert [run.nominal_at.hour for run in world.runs("down")] == [12, 6]
        up.rerun(first, ["a"], wait=False)
        world.advance("1s")
        assert len(world.runs("down")) == 2


def test_an_asset_is_ready_by_its_task_or_from_outside(story):
    """Edges on data: the maker's success, or somebody's word."""
    orders = ms.asset("ods.orders")
    up = dag("ods", story, {"load": {"produces": orders}})
    down = dag("dwd", story, {"clean": {"depends_on": [orders.ready(offset=-1)]}},
               schedule="0 3 * * *")
    story.fails[("load", "2024-03-11")] = 1
    with ms.testing.simulated("2024-03-10", [up, down]) as world:
        world.advance(to="2024-03-11T12:00")
        assert states(world, "dwd", "2024-03-11") == {"clean": "SUCCESS"}
        world.advance(to="2024-03-12T03:00")
        waiting = run_of(world, "dwd", "2024-03-12")
        assert waiting["clean"].state == "BLOCKED"
        assert "asset ods.orders of 2024-03-11 is FAILED" in waiting["clean"].explain()
        assert orders.declare("2024-03-11")
        world.advance("1s")
        assert states(world, "dwd", "2024-03-12") == {"clean": "SUCCESS"}
        assert not orders.declare("2024-03-11")
    vendor = ms.asset("vendor.file", external=True)
    alone = dag("vendor", story, {"read": {"depends_on": [vendor.ready()]}})
    with ms.testing.simulated("2024-03-10", [alone]) as world:
        world.advance("3h")
        run = run_of(world, "vendor", "2024-03-10")
        assert "mainspring asset ready vendor.file" in run["read"].explain()
        vendor.declare("2024-03-10")
        world.advance("1s")
        assert states(world, "vendor", "2024-03-10") == {"read": "SUCCESS"}


def test_unknown_assets_and_two_makers_are_refused(story):
    lost = dag("lost", story, {"a": {"depends_on": [ms.asset("ods.ordres").ready()]}})
    made = dag("ods", story, {"load": {"produces": "ods.orders"}})
    with pytest.raises(SpecError, match=r"did you mean `ods\.orders`"), \
            ms.testing.simulated("2024-03-10", [made, lost]):
        pass
    twice = dag("twice", story, {"a": {"produces": "x"}, "b": {"produces": "x"}})
    with pytest.raises(SpecError, match="makes the asset `x` ready already"), \
            ms.testing.simulated("2024-03-10", [twice]):
        pass


def test_an_asset_with_a_check_is_ready_when_that_says_so(story):
    """The check is asked again and again, holds no slot, and is a probe beside the task."""
    arrived = []

    def is_there(biz_date):
        return str(biz_date) in arrived

    orders = ms.asset("ods.orders", check=is_there, interval="10m", timeout="5h")
    up = dag("ods", story, {"load": {"produces": orders}})
    data = ms.dep("ods.load", kind="DATA_READY")
    down = dag("dwd", story, {
        "clean": {"depends_on": [orders.ready()]}, "same": {"depends_on": [data]},
        "early": {"depends_on": ["ods.load"]},
    })
    with ms.testing.simulated("2024-03-10", [up, down]) as world:
        world.advance("2h")
        assert states(world, "ods", "2024-03-10") == {"load": "SUCCESS", "load_ready": "RUNNING"}
        assert states(world, "dwd", "2024-03-10") == {
            "clean": "PENDING", "same": "PENDING", "early": "SUCCESS"}
        arrived.append("2024-03-10")
        world.advance("10m")
        assert states(world, "dwd", "2024-03-10") == dict.fromkeys(
            ("clean", "same", "early"), "SUCCESS")
        world.advance(to="2024-03-11T07:01")
        assert states(world, "ods", "2024-03-11") == {"load": "SUCCESS", "load_ready": "TIMEOUT"}
        assert states(world, "dwd", "2024-03-11") == {
            "clean": "BLOCKED", "same": "BLOCKED", "early": "SUCCESS"}


def test_edges_that_seldom_match_are_refused(story):
    """A weekly upstream has no run on six of seven days; and no week has its Tuesday on a Monday."""
    weekly = dag("weekly", story, {"a": {}}, schedule="0 3 * * 1")
    daily = dag("daily", story, {"b": {"depends_on": ["weekly.a"]}})
    with pytest.raises(SpecError, match="6 of 7") as refused, \
            ms.testing.simulated("2024-03-10", [weekly, daily]):
        pass
    [problem] = refused.value.problems
    assert (problem.code, problem.place) == ("edge_never_matches", "daily.b")
    assert "ms.slots(0)" in problem.hint
    itself = dag("report", story, {"a": {"depends_on": [ms.dep("a", offset=-6)]}},
                 schedule="0 3 * * 1")
    with pytest.raises(SpecError, match="never has a run where it looks"), \
            ms.testing.simulated("2024-03-10", [itself]):
        pass
    for good in (ms.slots(0), ms.weeks(0)):
        fine = dag("daily", story, {"b": {"depends_on": [ms.dep("weekly.a", offset=good)]}})
        with ms.testing.simulated("2024-03-10", [weekly, fine]):
            pass


def test_a_month_back_is_the_run_of_that_month(story):
    """Months end on different days; a daily task finds the closing of the month before."""
    closing = dag("finance", story, {"close": {}}, schedule="0 1 1 * *", biz_offset=-1)
    after = dag("dws", story, {"sums": {"depends_on": [
        ms.dep("finance.close", offset=ms.months(-1))]}})
    itself = dag("ledger", story, {"book": {"depends_on": [
        ms.dep("book", offset=ms.months(-1))]}}, schedule="0 2 1 * *", biz_offset=-1)
    story.fails[("close", "2024-02-29")] = 1
    with ms.testing.simulated("2024-01-20", [closing, after, itself]) as world:
        world.advance(to="2024-04-02T12:00")
        assert states(world, "dws", "2024-02-15") == {"sums": "SUCCESS"}   # by that of January
        assert states(world, "dws", "2024-03-15") == {"sums": "BLOCKED"}   # by that of February
        assert states(world, "dws", "2024-04-02") == {"sums": "SUCCESS"}
        assert [run["book"].state for run in world.runs("ledger")] == ["SUCCESS"] * 3
        rerun(world, closing, "2024-02-29")
        assert states(world, "dws", "2024-03-15") == {"sums": "SUCCESS"}


def test_which_of_several_runs_of_a_day_count(story):
    """An upstream that fires four times a day: all, the last, or any."""
    up = dag("up", story, {"a": {}}, schedule="0 0,6,12,18 * * *", biz_offset=0)
    down = dag("down", story, {
        which: {"depends_on": [ms.dep("up.a", which=which)]} for which in ("all", "last", "any")
    }, schedule="0 20 * * *")
    slow = {"up.a": ms.testing.stub(takes="1h")}
    with ms.testing.simulated("2024-03-09T23:30", [up, down], stub=slow) as world:
        world.advance(to="2024-03-10T18:30")
        down_by_hand = down.run("2024-03-10", wait=False)
        world.advance("1m")
        seen = {task.task: task.state for task in down_by_hand.tasks}
        assert seen == {"all": "PENDING", "last": "PENDING", "any": "SUCCESS"}
        world.advance("1h")
        assert {task.state for task in down_by_hand.tasks} == {"SUCCESS"}


def test_what_is_final_downstream_is_marked_when_its_upstream_runs_again(story):
    up = dag("up", story, {"a": {}})
    down = dag("down", story, {"b": {"depends_on": ["up.a"]},
                               "c": {"depends_on": [ms.dep("up.a", offset=-1)]}})
    with ms.testing.simulated("2024-03-10", [up, down]) as world:
        world.advance(to="2024-03-12T12:00")
        rerun(world, up, "2024-03-11", "a")
        stale = {(str(run.biz_date), task.task) for run in world.runs("down")
                 for task in run.tasks if task.stale}
        assert stale == {("2024-03-11", "b"), ("2024-03-12", "c")}
        assert story.calls.count(("b", "2024-03-11")) == 1
