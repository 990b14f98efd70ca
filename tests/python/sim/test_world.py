"""The simulated scheduler as users' tests meet it: its verbs, its errors, a fixture."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import mainspring as ms
import pytest
from mainspring._session import location
from mainspring.errors import ConflictError, NotFoundError, SpecError

UTC = timezone.utc


def nightly(line="0 2 * * *", **options):
    with ms.Dag("nightly", schedule=ms.schedule(line, name="main", **options)) as dag:
        @ms.task
        def load(biz_date) -> str:
            return f"{biz_date}.csv"
    return dag


def nothing() -> None:
    """Be stubbed."""


@pytest.fixture
def world():
    """As the documentation shows it."""
    with ms.testing.simulated("2024-06-01", [nightly()]) as world:
        yield world


def hours(world):
    return [(run.nominal_at.day, run.nominal_at.hour) for run in world.runs()]


def test_a_world_is_a_fixture_and_runs_real_handlers(world):
    world.advance("2d")
    assert world.now == datetime(2024, 6, 3, tzinfo=UTC)
    assert [run.result("load") for run in world.runs("nightly")] == [
        "2024-05-31.csv", "2024-06-01.csv"]
    assert [each.state for each in world.task_runs("nightly")] == ["SUCCESS", "SUCCESS"]


def test_a_year_of_a_daily_dag_of_20_tasks_is_complete():
    names = [f"t{n:02}" for n in range(20)]
    dag = ms.Dag.from_graph("dag", names, list(zip(names, names[1:], strict=False)),
                            schedule="0 2 * * *")
    with ms.testing.simulated("2024-01-01", [dag], stub=True) as world:
        world.advance(to="2025-01-01")
        assert ms.sql("SELECT state, count(*) AS rows FROM task_run GROUP BY state") == [
            {"state": "SUCCESS", "rows": 366 * 20}]


@pytest.mark.parametrize(("arguments", "error", "says"), [
    ({}, TypeError, "how far"),
    ({"by": "1h", "to": "2024-07-01"}, TypeError, "how far"),
    ({"to": "2024-05-01"}, ValueError, "only moves on"),
    ({"by": timedelta(days=-1)}, ValueError, "only moves on"),
    ({"by": "-1h"}, SpecError, "negative"),
    ({"by": "soon"}, SpecError, "not a duration"),
    ({"by": 5}, TypeError, "timedelta"),
])
def test_a_clock_that_cannot_be_moved_so_says_why(world, arguments, error, says):
    with pytest.raises(error, match=says):
        world.advance(**arguments)
    assert world.now == datetime(2024, 6, 1, tzinfo=UTC)


@pytest.mark.parametrize(("verb", "arguments"), [
    ("skips", ["other"]), ("schedules", ["other"]), ("pause", ["other"]), ("resume", ["other"]),
    ("remove", ["other"]), ("pause", ["nightly", "other"]), ("resume", ["nightly", "other"]),
])
def test_what_is_not_there_is_named(world, verb, arguments):
    with pytest.raises(NotFoundError, match="other"):
        getattr(world, verb)(*arguments)


def test_a_schedule_that_is_not_there_brings_the_names_of_those_that_are(world):
    with pytest.raises(NotFoundError, match="it has main"):
        world.resume("nightly", "mian")


def test_resume_knows_three_choices(world):
    world.pause("nightly")
    with pytest.raises(SpecError) as refused:
        world.resume("nightly", missed="some")
    [problem] = refused.value.problems
    assert (problem.code, problem.place) == ("unknown_choice", "missed")
    assert world.schedules("nightly")[0]["paused"]


def test_a_stopped_scheduler_refuses_what_needs_it_and_its_clock_goes_on(world):
    world.stop()
    world.stop()  # once more does nothing
    for verb in (world.skips, world.schedules, world.pause, world.resume, world.remove):
        with pytest.raises(ConflictError, match=r"world\.start\(\)"):
            verb("nightly")
    world.advance("1d")
    assert world.runs() == []
    world.start()
    world.start()
    # What was refused changed nothing: the dag is there, and its fire is made good.
    assert [(run.nominal_at.day, run.trigger) for run in world.runs()] == [(1, "catchup")]


def test_the_clock_is_set_back_only_while_nobody_looks_and_fires_nothing_again(world):
    world.advance("3d")
    with pytest.raises(ConflictError, match=r"world\.stop\(\)"):
        world.set_back("2d")
    world.stop()
    world.set_back("2d")
    assert world.now == datetime(2024, 6, 2, tzinfo=UTC)
    world.start()
    world.advance("3d")
    assert hours(world) == [(1, 2), (2, 2), (3, 2), (4, 2)]
    assert world.skips("nightly") == []


def test_a_run_by_hand_is_of_the_simulated_day_and_takes_no_fire_away():
    dag = nightly()
    with ms.testing.simulated("2024-06-01T01:00:00", [dag]) as world:
        run = dag.run()
        assert (run.trigger, str(run.biz_date)) == ("manual", "2024-05-31")
        assert run.created_at == datetime(2024, 6, 1, 1, tzinfo=UTC)
        asked = dag.run("2024-05-31")
        assert asked.nominal_at == datetime(2024, 6, 1, 2, tzinfo=UTC)
        world.advance("2h")
        assert [run.trigger for run in world.runs()] == ["manual", "manual", "schedule"]


@pytest.mark.parametrize("given", [{"takes": timedelta(seconds=-1)}, {"fails": -1}])
def test_a_stub_that_cannot_be_is_refused(given):
    with pytest.raises(ValueError, match="stub"):
        ms.testing.stub(**given)


def test_a_stub_fails_as_often_as_it_says_and_takes_its_time_each_time():
    with ms.Dag("dag", schedule="0 2 * * *") as dag:
        ms.task(nothing, name="load", retries=2, retry_interval="10m", retry_backoff="FIXED")
    stub = {"dag.load": ms.testing.stub(takes="1h", fails=2, code="DISK", result=[1, 2])}
    with ms.testing.simulated("2024-06-01", [dag], stub=stub) as world:
        world.advance(to="2024-06-01T05:20:00")
        [run] = world.runs()
        assert [each.error_code for each in run["load"].attempts] == ["DISK", "DISK", None]
        assert (run.state, run.result("load")) == ("SUCCESS", [1, 2])
        assert run.finished_at == world.now


def test_a_world_leaves_nothing_behind(database):
    with ms.testing.simulated("2024-06-01", [nightly()]) as world:
        world.advance("1d")
        assert len(ms.runs()) == 1
    assert ms.runs() == []


def test_stubs_of_what_is_not_there_are_refused_all_at_once():
    before = location(None)
    stubs = {"nightly.lod": {}, "nightly": {}, "nigthly.load": {}, "nightly.load": {}}
    with pytest.raises(SpecError) as refused:
        with ms.testing.simulated("2024-06-01", [nightly()], stub=stubs):
            raise AssertionError("it begins")
    assert [(each.code, each.place) for each in refused.value.problems] == [
        ("unknown_task", "stub['nightly']"), ("unknown_task", "stub['nightly.lod']")]
    assert "did you mean 'load'?" in str(refused.value)
    assert location(None) == before, "nothing of it is left"


def test_a_stub_of_a_dag_that_comes_later_is_looked_for_when_time_moves():
    stubs = {"nightly.load": ms.testing.stub(result=7), "nigthly.load": {}}
    with ms.testing.simulated("2024-06-01", stub=stubs) as world:
        world.register(nightly())
        with pytest.raises(SpecError) as refused:
            world.advance("1d")
        (problem,) = refused.value.problems
        assert (problem.code, problem.place) == ("unknown_dag", "stub['nigthly.load']")
        assert problem.hint == "did you mean 'nightly'?"
    with ms.testing.simulated("2024-06-01", stub={"nightly.load": ms.testing.stub(result=7)}) as world:
        world.register(nightly())
        world.advance("1d")
        assert [run.result("load") for run in world.runs()] == [7]
        # A task that goes takes its stub with it.
        world.register(ms.Dag.from_graph("nightly", ["other"], schedule="0 2 * * *"))
        world.advance("1d")
        assert [run.state for run in world.runs()] == ["SUCCESS", "SUCCESS"]
