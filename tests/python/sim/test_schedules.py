"""Schedules of a dag: what is refused, and what an edit, a rename or a removal does to fires."""

from __future__ import annotations

from datetime import timedelta

import mainspring as ms
import pytest
from mainspring.errors import SpecError

S = ms.schedule


def dag(*schedules, tasks=("a", "b"), **fields):
    return ms.Dag.from_graph("dag", tasks, schedule=list(schedules), **fields)


def nothing() -> None:
    """Be stubbed."""


@pytest.mark.parametrize(("schedules", "code", "place"), [
    ([S("@daily", tasks=["c"])], "unknown_task", "dag.default.tasks"),
    ([S("@daily", tasks=["a", "a"])], "duplicate_binding", "dag.default.tasks"),
    ([S("@daily", missed="some")], "unknown_choice", "dag.schedule[0].missed"),
    ([S("@daily", overlap="kill")], "unknown_choice", "dag.schedule[0].overlap"),
    ([S("@daily", on="next")], "no_calendar", "dag.schedule[0].on"),
    ([S("@daily", calendar=ms.calendar("office"), on="later")], "unknown_choice",
     "dag.schedule[0].on"),
    ([S("@daily", jitter="soon")], "bad_duration", "dag.schedule[0].jitter"),
    ([S("@daily", jitter="-5m")], "duration_out_of_range", "dag.schedule[0].jitter"),
    ([S("@daily", missed_window=5)], "duration_needs_unit", "dag.schedule[0].missed_window"),
    ([S("@daily", biz_offset="soon")], "syntax", "dag.schedule[0].biz_offset"),
    ([S("@daily", start_date="2024-13-01")], "bad_date", "dag.schedule[0].start_date"),
    ([S("@daily", start_date="2024-06-02", end_date="2024-06-01")], "bad_date_range",
     "dag.schedule[0].end_date"),
    ([S("@daily", name="a b")], "bad_name", "dag.schedule[0].name"),
    ([S("@daily", params={"nope": 1})], "unknown_parameter", "dag.default.nope"),
    ([S("@daily", name="x"), S("@hourly", name="x")], "duplicate_schedule", "dag.schedule[1]"),
    ([S("@daily", name="x", renamed_from="old"), S("@hourly", renamed_from="old")], "bad_rename",
     "dag.schedule[1].renamed_from"),
    ([S("@daily", name="x"), S("@hourly", renamed_from="x")], "bad_rename",
     "dag.schedule[1].renamed_from"),
    ([S("@daily", name="x", renamed_from="x")], "bad_rename", "dag.schedule[0].renamed_from"),
    ([S("@daily", tasks=[])], "no_tasks", "dag.schedule[0].tasks"),
    ([S("@daily", tasks={})], "no_tasks", "dag.schedule[0].tasks"),
    ([S("@daily", jitter="400d")], "duration_out_of_range", "dag.schedule[0].jitter"),
    ([S("@daily", jitter=timedelta(days=7, milliseconds=1))], "duration_out_of_range",
     "dag.schedule[0].jitter_ms"),
])
def test_what_is_wrong_with_a_schedule_has_a_code_and_a_place(schedules, code, place):
    with pytest.raises(SpecError) as refused:
        dag(*schedules).check()
    assert [(each.code, each.place) for each in refused.value.problems] == [(code, place)]


def test_all_that_is_wrong_is_told_at_once():
    with pytest.raises(SpecError) as refused:
        dag(S("@daily", missed="some", jitter="soon"), S("@daily", overlap="kill")).check()
    assert {each.place for each in refused.value.problems} == {
        "dag.schedule[0].missed", "dag.schedule[0].jitter", "dag.schedule[1].overlap"}


@pytest.mark.parametrize(("line", "code"), [
    ("0 0 31 2 *", "never"), ("0 0", "field_count"), ("@often", "bad_macro"),
    ("0 0 0 1 * MON", "dom_dow_conflict"), ("*/90 * * * *", "bad_step")])
def test_a_line_that_cannot_be_is_refused_where_it_is_written(line, code):
    with pytest.raises(SpecError) as refused:
        S(line)
    assert refused.value.problems[0].code == code


def test_a_rule_is_text_or_a_rule():
    with pytest.raises(TypeError, match="rule or its text"):
        S(5)


def contents():
    """All rows, but for those that tell of a process."""
    tables = [row["name"] for row in ms.sql("""
        SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'""")]
    return {table: ms.sql(f'SELECT * FROM "{table}"')
            for table in tables if table not in ("node", "scope")}


def full():
    """A dag with something of everything that is stored."""
    office = ms.calendar("office", exclude=["2024-06-03"])
    return dag(S("0 2 * * *", name="night", calendar=office, on="skip", jitter="5m"),
               S("0 3 * * *", name="alone", tasks=["b"], missed="last", paused=True),
               S("every 6h", name="often", end_date="2024-06-30", biz_offset=0),
               timezone="Asia/Tokyo")


def test_the_same_definitions_again_and_again_change_no_row():
    with ms.testing.simulated("2024-06-01", [full()], stub=True) as world:
        world.advance("36h")
        world.pause("dag", "night")
        world.resume("dag", "alone")
        before = contents()
        assert before["run"] and before["schedule"] and before["schedule_period"]
        for _ in range(5):
            world.advance("1m")
            world.register(full())
        assert contents() == before
        world.stop()
        world.start()
        assert contents() == before


def shown(world):
    return [f"{run.nominal_at:%d %H:%M}" for run in world.runs()]


def test_a_renamed_schedule_goes_on_where_it_was():
    with ms.testing.simulated("2024-06-01", [dag(S("0 */6 * * *", name="old"))],
                              stub=True) as world:
        world.advance("7h")
        known = world.schedules("dag")[0]["id"]
        world.stop()
        world.advance("12h")  # 12:00 and 18:00 are missed under the old name
        world.register(dag(S("0 */6 * * *", name="new", renamed_from="old")))
        world.start()
        world.advance("6h")
        assert shown(world) == ["01 06:00", "01 12:00", "01 18:00", "02 00:00"]
        [schedule] = world.schedules("dag")
        assert (schedule["id"], schedule["name"]) == (known, "new")
        # The word may stay in the file.
        world.register(dag(S("0 */6 * * *", name="new", renamed_from="old")))
        world.advance("6h")
        assert shown(world)[4:] == ["02 06:00"]
        assert world.skips("dag") == []


def test_an_edited_schedule_fires_by_its_old_rule_until_the_edit_and_by_the_new_one_after():
    with ms.testing.simulated("2024-06-01", [dag(S("0 */6 * * *"))], stub=True) as world:
        world.advance("6h")
        world.register(dag(S("30 */6 * * *")))  # at 06:00, whose fire was the old rule's
        world.advance("1h")
        assert shown(world) == ["01 06:00", "01 06:30"]
        world.stop()
        world.advance("12h")
        world.register(dag(S("0 20 * * *")))  # seen at 19:00: 12:30 and 18:30 were due by then
        world.start()
        world.advance("1d")
        assert shown(world)[2:] == ["01 12:30", "01 18:30", "01 20:00"]


def test_an_edit_in_a_pause_runs_nothing_of_the_pause():
    with ms.testing.simulated("2024-06-01", [dag(S("0 2 * * *"))], stub=True) as world:
        world.advance("1d")
        world.pause("dag")
        world.advance("2d")
        world.register(dag(S("0 3 * * *")))
        world.advance("2d")
        world.stop()
        world.register(dag(S("0 4 * * *")))
        world.start()
        assert shown(world) == ["01 02:00"]
        world.resume("dag")
        assert {skip["reason"]: skip["count"] for skip in world.skips("dag")} == {"paused": 4}
        world.advance("1d")
        assert shown(world) == ["01 02:00", "06 04:00"]


def test_a_resume_may_ask_for_the_fires_of_all_rules_that_the_pause_saw():
    with ms.testing.simulated("2024-06-01", [dag(S("0 2 * * *"))], stub=True) as world:
        world.pause("dag")
        world.advance("2d")
        world.register(dag(S("0 3 * * *")))
        world.advance("1d")
        world.resume("dag", missed="all")
        assert shown(world) == ["01 02:00", "02 02:00", "03 03:00"]
        assert world.skips("dag") == []


def test_the_last_of_missed_fires_is_the_last_that_may_run():
    office = ms.calendar("office", weekdays="MON-FRI")
    weekday = dag(S("0 2 * * *", calendar=office, missed="last"))
    with ms.testing.simulated("2024-06-05T12:00:00", [weekday], stub=True) as world:
        world.stop()
        world.advance(to="2024-06-09T12:00:00")  # a Sunday
        world.start()
        assert shown(world) == ["07 02:00"]
        assert {skip["reason"]: skip["count"] for skip in world.skips("dag")} == {
            "missed": 1, "calendar": 2}
        world.pause("dag")
        world.advance(to="2024-06-16T12:00:00")  # the Sunday after
        world.resume("dag", missed="last")
        assert shown(world) == ["07 02:00", "14 02:00"]


def test_what_waits_for_its_turn_when_its_dag_is_removed_is_recorded_and_comes_back_no_more():
    def slow(line="0 * * * *"):
        with ms.Dag("dag", max_active_runs=1, schedule=line) as made:
            ms.task(nothing, name="a")
        return made

    stub = {"dag.a": ms.testing.stub(takes="4h")}
    with ms.testing.simulated("2024-06-01T00:30:00", [slow()], stub=stub) as world:
        world.advance("3h")  # 01:00 runs, 02:00 and 03:00 wait
        world.remove("dag")
        world.advance("6h")
        assert [(run.nominal_at.hour, run.state) for run in world.runs()] == [(1, "SUCCESS")]
        world.register(slow())  # 09:30
        records = world.skips("dag")
        assert {skip["reason"] for skip in records} == {"removed"}
        assert sum(skip["count"] for skip in records) == 2
        world.advance("1h")
        assert [run.nominal_at.hour for run in world.runs()] == [1, 10]


def test_jitter_moves_the_making_and_not_the_meaning_and_is_the_same_again():
    def made():
        return dag(S("0 2 * * *", jitter="30m"))

    late = []
    for _ in range(2):
        with ms.testing.simulated("2024-06-01", [made()], stub=True) as world:
            world.advance("20d")
            runs = world.runs()
            assert [f"{run.nominal_at:%H:%M:%S}" for run in runs] == ["02:00:00"] * 20
            late.append([run.created_at - run.nominal_at for run in runs])
    assert late[0] == late[1] and len(set(late[0])) == 20
    assert all(timedelta(0) <= each <= timedelta(minutes=30) for each in late[0])


def test_a_task_with_a_schedule_of_its_own_runs_by_itself():
    both = dag(S("0 2 * * *", name="dag"), S("0 2,14 * * *", name="b", tasks=["b"]))
    with ms.testing.simulated("2024-06-01", [both], stub=True) as world:
        world.advance("1d")
        made = sorted((run.nominal_at.hour, [each.task for each in run]) for run in world.runs())
        assert made == [(2, ["a"]), (2, ["b"]), (14, ["b"])]


def test_a_fire_that_may_not_overlap_is_left_out_with_a_record():
    with ms.Dag("dag", max_active_runs=1, schedule=S("0 * * * *", overlap="skip")) as slow:
        ms.task(nothing, name="a")
    stub = {"dag.a": ms.testing.stub(takes="150m")}
    with ms.testing.simulated("2024-06-01T00:30:00", [slow], stub=stub) as world:
        world.advance("6h")  # until 06:30
        assert [run.nominal_at.hour for run in world.runs()] == [1, 4]
        assert [(skip["reason"], skip["count"]) for skip in world.skips("dag")] == [
            ("overlap", 2), ("overlap", 2)]


def test_the_same_dag_registered_again_leaves_alone_what_waits_for_its_turn():
    def slow():
        with ms.Dag("dag", max_active_runs=1, schedule=S("0 3 * * *", missed="none")) as made:
            ms.task(nothing, name="a")
        return made

    stub = {"dag.a": ms.testing.stub(takes="100h")}
    with ms.testing.simulated("2024-06-01", [slow()], stub=stub) as world:
        world.advance("84h")  # that of the first runs, those of the 2nd to the 4th wait
        world.register(slow())
        world.advance("20d")
        assert [run.nominal_at.day for run in world.runs()][:4] == [1, 2, 3, 4]
        assert world.skips("dag") == []


def test_what_waits_for_its_turn_when_the_scheduler_stops_was_not_missed():
    with ms.Dag("dag", max_active_runs=1, schedule=S("0 3 * * *", missed="none")) as dag:
        ms.task(nothing, name="a")
    stub = {"dag.a": ms.testing.stub(takes="100h")}
    with ms.testing.simulated("2024-06-01", [dag], stub=stub) as world:
        world.advance("52h")  # that of the first runs, those of the 2nd and 3rd wait
        world.stop()
        world.advance("30h")  # that of the 4th is missed
        world.start()
        world.advance("30d")
        assert [run.nominal_at.day for run in world.runs()][:4] == [1, 2, 3, 5]
        skipped, = world.skips("dag")
        assert (skipped["reason"], skipped["count"]) == ("missed", 1)
        assert [run.trigger for run in world.runs()][:4] == ["schedule"] * 4
