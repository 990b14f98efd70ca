"""What list, show, next, check and run say of schedules with calendars, tasks, jitter and pauses."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from typing import Any

import mainspring as ms
import pytest
from mainspring._mainspring import check_dag
from mainspring.cli._schedule_warnings import warnings_of
from mainspring.cli._schedule_words import words_of

from .conftest import Project
from .test_next_marks import days_of

# In 2024 Christmas is a Wednesday.
SHOP = """
    import mainspring as ms

    office = ms.calendar("office", exclude=["2024-12-25", "2024-12-26"])

    with ms.Dag("shop", timezone="Europe/Berlin", schedule=ms.schedule(
        "0 7 * * *", calendar=office, on="{on}", biz_offset=0, jitter="10m", {more}
    )) as dag:
        @ms.task
        def load() -> None: ...
"""


def shop(project: Project, on: str = "skip", more: str = "") -> None:
    text = SHOP.format(on=on, more=more)
    project.write("dags/shop.py", text)


def definition(schedule: Any, tasks: str = "ab", **fields: Any) -> dict[str, Any]:
    dag = ms.Dag.from_graph("loads", tasks, schedule=schedule,
                            **{"timezone": "UTC", **fields})
    return check_dag(dag.spec())


def micros(text: str) -> int:
    at = datetime.fromisoformat(text).replace(tzinfo=timezone.utc)
    return int(at.timestamp()) * 1_000_000


# In one line

OFFICE = ms.calendar("office")


@pytest.mark.parametrize(("schedule", "words"), [
    ("0 2 * * *", "0 2 * * *  UTC"),
    (ms.cron("0 2 * * *", "Asia/Tokyo", gap="skip", fold="both"),
     "0 2 * * *  Asia/Tokyo  gap skip  fold both"),
    (ms.every("6h", anchor="2024-01-01"), "every 6h  UTC  counted from 2024-01-01T00:00:00Z"),
    (ms.at(["2024-01-01", "2024-01-02", "2024-01-03"]), "at 2024-01-01T00:00:00 and 2 more  UTC"),
    (ms.schedule("@daily", name="nightly", start_date="2024-01-01", end_date="2024-12-31"),
     "nightly: @daily  UTC  from 2024-01-01 to 2024-12-31"),
    (ms.schedule("@daily", calendar=OFFICE, on="next", biz_offset="-1 workday"),
     "@daily  UTC  calendar office, on=next  biz_offset -1 workday"),
    (ms.schedule("@daily", calendar=OFFICE), "@daily  UTC  calendar office, on=skip"),
    (ms.schedule("@daily", missed="last", missed_window="36h", overlap="skip", jitter="90s"),
     "@daily  UTC  jitter up to 90s  missed last  missed_window 36h  overlap skip"),
    (ms.schedule("@daily", tasks=["a", "b"], paused=True), "@daily  UTC  tasks a, b  paused"),
    (ms.schedule("@daily", tasks=["a"]), "@daily  UTC  task a"),
])
def test_a_schedule_is_told_in_one_line_without_what_is_the_default(
    schedule: Any, words: str
) -> None:
    assert words_of(definition(schedule)["schedules"][0]) == words


def test_list_and_show_say_it_with_the_next_fires(project: Project) -> None:
    shop(project, "next", "missed='last'")
    line = "0 7 * * *  Europe/Berlin  calendar office, on=next  biz_offset 0  jitter up to 10m  " \
        "missed last"
    assert "0 7 * * *, calendar office, on=next, " in project("list").out
    assert project("list", "--json").json["dags"][0]["schedules"] == ["0 7 * * *"]
    told = project("show", "shop")
    assert f"  schedule  {line}" in told.out.splitlines(), told
    (found,) = project("show", "shop", "--json").json["schedules"]
    assert found["words"] == line and found["watermark"] is None
    # Each at 7 in Berlin on a day from Monday to Friday.
    fires = [datetime.fromisoformat(text.replace("Z", "+00:00")) for text in found["next"]]
    assert len(fires) == 3 and all(at.hour in (5, 6) and at.weekday() < 5 for at in fires)


def test_show_says_how_far_each_schedule_has_come_and_that_it_is_paused(project: Project) -> None:
    shop(project)
    project.write("simulate.py", """
        import sys
        import mainspring as ms
        from shop import dag
        with ms.testing.simulated("2024-12-23T05:00", [dag], database="kept.db") as world:
            world.advance("2d")
            if sys.argv[1:]:
                world.pause(dag)
    """)
    import subprocess
    import sys

    def simulate(*words: str) -> None:
        subprocess.run([sys.executable, "simulate.py", *words], cwd=project.root, check=True,
                       env={**project.environ, "PYTHONPATH": ":".join(
                           ["dags", *filter(None, [project.environ.get("PYTHONPATH")])])})

    simulate()
    (found,) = project("show", "shop", "--database", "kept.db", "--json").json["schedules"]
    # 07:00 in Berlin is 06:00 UTC in winter, jitter or not.
    assert found["watermark"].startswith("2024-12-2") and found["paused"] is False
    assert found["watermark"] >= "2024-12-24T06:00:00Z"
    told = project("show", "shop", "--database", "kept.db").out
    assert "fired or skipped up to" in told
    (project.root / "kept.db").unlink()
    simulate("pause")
    (found,) = project("show", "shop", "--database", "kept.db", "--json").json["schedules"]
    assert found["paused"] is True and found["words"].endswith("  paused")
    assert "nothing fires until it is resumed" in project("show", "shop", "--database",
                                                          "kept.db").out
    assert "(paused) 0 7 * * *" in project("list", "--database", "kept.db").out
    told_next = project("next", "shop", "--database", "kept.db", "--json").json
    assert told_next["schedules"][0]["paused"] is True


# next


def test_what_a_closed_calendar_skips_is_shown_between_the_fires(project: Project) -> None:
    shop(project)
    told = project("next", "shop", "--from", "2024-12-24", "-n", "2")
    assert told.out.splitlines()[3:] == [
        "2024-12-24 07:00:00 Tue +01:00  2024-12-24T06:00:00Z  2024-12-24",
        "2024-12-25 07:00:00 Wed +01:00  2024-12-25T06:00:00Z  skipped     closed in office",
        "2024-12-26 07:00:00 Thu +01:00  2024-12-26T06:00:00Z  skipped     closed in office",
        "2024-12-27 07:00:00 Fri +01:00  2024-12-27T06:00:00Z  2024-12-27",
    ]
    assert "\x1b" not in told.out
    document = project("next", "shop", "--from", "2024-12-24", "-n", "2", "--json").json
    assert [fire["biz_date"] for fire in document["fires"]] == ["2024-12-24", "2024-12-27"]
    assert [fire["due_by"] for fire in document["fires"]] == [
        "2024-12-24T06:10:00Z", "2024-12-27T06:10:00Z"]
    assert [fire["nominal"][:10] for fire in document["skipped"]] == ["2024-12-25", "2024-12-26"]


def test_fires_that_are_rolled_are_marked_with_the_day_they_come_from(project: Project) -> None:
    project.write("dags/weekly.py", """
        import mainspring as ms
        office = ms.calendar("office", exclude=["2024-12-25"])
        def made(on):
            return ms.Dag.from_graph(on, ["a"], timezone="UTC", schedule=ms.schedule(
                "0 7 * * WED", calendar=office, on=on))
        dags = [made("next"), made("previous")]
    """)
    for on, day in (("next", "2024-12-26"), ("previous", "2024-12-24")):
        fires = project("next", on, "--from", "2024-12-18", "-n", "3", "--json").json["fires"]
        assert [fire["nominal"][:10] for fire in fires] == ["2024-12-18", day, "2025-01-01"]
        assert [fire["marks"] for fire in fires] == [
            [], [{"mark": "rolled", "text": "here from 2024-12-25, closed in office"}], []]


def test_the_picture_of_a_year_has_letters_for_skipped_and_rolled_days(project: Project) -> None:
    shop(project)
    told = project("next", "shop", "--year", "2024")
    months = days_of(told.out)
    for month, cells in months.items():
        for number, (shown, letter) in enumerate(cells, 1):
            day = date(2024, month, number)
            closed = day.weekday() > 4 or (month, number) in ((12, 25), (12, 26))
            assert (shown, letter) == ((".", "s") if closed else (str(number), "")), day
    # 366 days less 104 of weekends less 2: what is odd is named, weekends are not.
    assert "260 fires in 2024" in told.out
    assert [line[:14] for line in told.out.splitlines() if line.startswith("2024-")] == [
        "2024-12-25 Wed", "2024-12-26 Thu"]


def test_a_task_of_a_dag_fires_beside_it_with_dates_of_its_own(project: Project) -> None:
    project.write("dags/loads.py", """
        import mainspring as ms
        dag = ms.Dag.from_graph("loads", ["load", "probe"], timezone="UTC", schedule=[
            ms.schedule("0 12 * * *"), ms.schedule("0 */12 * * *", tasks=["probe"])])
    """)
    fires = project("next", "loads", "--from", "2024-01-02", "-n", "3", "--json").json["fires"]
    assert [(fire["local"][:16], fire.get("task"), fire["biz_date"]) for fire in fires] == [
        ("2024-01-02T00:00", "probe", "2024-01-01"),
        ("2024-01-02T12:00", None, "2024-01-01"),
        ("2024-01-02T12:00", "probe", "2024-01-02")]
    assert not any(fire["marks"] for fire in fires)


@pytest.mark.parametrize(("params", "text"), [
    ("", "2 schedules, one run"),
    ("params={'x': 1}", None),
])
def test_schedules_at_one_instant_are_one_run_unless_their_params_differ(
    project: Project, params: str, text: str | None
) -> None:
    project.write("dags/loads.py", f"""
        import mainspring as ms
        with ms.Dag("loads", timezone="UTC", schedule=[
            ms.schedule("0 2 * * *"), ms.schedule("0 2 1 * *", {params})]) as dag:
            @ms.task
            def load(x: int = 0) -> None: ...
    """)
    (fire,) = project("next", "loads", "--from", "2024-01-01", "-n", "1", "--json").json["fires"]
    expected = {"mark": "merged", "text": text} if text else {
        "mark": "apart", "text": "2 runs, each with its params"}
    assert fire["marks"] == [expected]


# check

NOW = micros("2024-06-01T12:00:00")


def codes(schedule: Any, ends: dict[str, int] | None = None, **fields: Any) -> list[str]:
    return [code for code, _, _ in warnings_of(definition(schedule, **fields), ends or {}, NOW)]


@pytest.mark.parametrize(("schedule", "found"), [
    ("0 2 * * *", []),
    ("0 2 * * MON-FRI", ["biz_weekdays"]),
    (ms.schedule("0 2 * * MON-FRI", biz_offset="-1 workday"), []),
    (ms.schedule("0 2 * * *", jitter="25h"), ["long_jitter"]),
    (ms.schedule("0 2 * * *", jitter="24h"), []),
    (ms.schedule("0 2 * * *", end_date="2024-05-31"), ["never_again"]),
    (ms.schedule("0 14 * * *", end_date="2024-06-01"), []),
    (ms.at("2024-05-01"), ["never_again"]),
    (ms.schedule("0 2 * * SAT", biz_offset=0, calendar=OFFICE), ["never_again"]),
    # The lint of the expression says so.
    ("0 0 0 1 1 ? 2020", []),
    (["0 2 * * *", "0 0 2 * * ?"], ["same_schedule"]),
    (["every 6h", "every 6h"], ["same_schedule"]),
    (["0 2 * * *", "0 3 * * *"], []),
    ([ms.schedule("0 2 * * *"), ms.schedule("0 2 * * *", tasks=["a"])], []),
    ([ms.schedule("0 2 * * *"), ms.schedule("0 2 * * *", end_date="2030-01-01")], []),
    ([ms.schedule("0 2 * * *"), ms.schedule("0 2 * * *", timezone="Asia/Tokyo")], []),
])
def test_what_is_probably_not_meant_by_a_schedule(schedule: Any, found: list[str]) -> None:
    assert codes(schedule) == found


@pytest.mark.parametrize(("last", "told"), [(2023, 1), (2024, 1), (2025, 0), (2199, 0)])
def test_a_calendar_that_ends_within_a_year_is_told_once(last: int, told: int) -> None:
    both = [ms.schedule("0 2 * * *", calendar=OFFICE),
            ms.schedule("0 3 * * *", calendar=OFFICE, tasks=["a"])]
    assert codes(both, {"office": last}).count("calendar_ends") == told


def test_check_knows_the_years_of_a_calendar_and_the_zones_of_schedules(project: Project) -> None:
    year = (datetime.now(timezone.utc) + timedelta(days=30)).year
    project.write("dags/x.py", f"""
        import mainspring as ms
        office = ms.calendar("office", years=(2020, {year}))
        with ms.Dag("x") as dag:
            @ms.task(schedule=ms.schedule("0 2 * * *", timezone="Asia/Tokyo", calendar=office))
            def a() -> None: ...
    """)
    told = project("check", "--json")
    assert told.code == 0
    assert [each["code"] for each in told.json["warnings"]] == ["calendar_ends"]
    project.write("dags/x.py", """
        import mainspring as ms
        with ms.Dag("x") as dag:
            @ms.task(schedule=ms.schedule("0 2 * * *"))
            def a() -> None: ...
    """)
    assert [each["code"] for each in project("check", "--json").json["warnings"]] == [
        "zone_by_default"]


# slot


def test_one_of_several_fires_of_a_day_is_run_by_its_slot(project: Project) -> None:
    project.write("dags/six.py", """
        import mainspring as ms
        dag = ms.Dag.from_graph("six", ["a"], schedule="0 */6 * * *", timezone="Europe/Berlin")
    """)
    # The fire at midnight closes the interval that began at 18:00 of the day before.
    for slot, at in enumerate(["05", "11", "17", "23"], 1):
        told = project("run", "six", "--biz-date", "2024-01-15", "--slot", str(slot), "--json")
        assert told.code == 0, told
        assert told.json["runs"][0]["run"]["nominal_at"] == f"2024-01-15T{at}:00:00Z"
    told = project("run", "six", "--biz-date", "2024-01-15", "--slot", "5")
    assert told.code != 0 and "six has 4 runs for 2024-01-15" in told.err
    assert "slots 1 to 4" in told.err
    assert project("run", "six", "--slot", "1").code == 2
    assert project("run", "six", "--biz-date", "2024-01-15", "--slot", "1", "--nominal-at",
                   "2024-01-15T05:00:00Z").code == 2
    assert project("render", "six", "--biz-date", "2024-01-15", "--slot", "2",
                   "--json").json["nominal_at"] == "2024-01-15T11:00:00Z"


@pytest.mark.parametrize(("words", "code"), [
    ({"slot": 1}, "no_date"),
    ({"biz_date": "2024-01-15", "slot": 0}, "no_slot"),
    ({"biz_date": "2024-01-15", "slot": 3}, "no_slot"),
    ({"biz_date": "2024-01-15", "slot": "1"}, "wrong_type"),
    ({"biz_date": "2024-01-15", "slot": True}, "wrong_type"),
    ({"biz_date": "2024-01-15", "slot": 1, "nominal_at": datetime.now(timezone.utc)},
     "duplicate_field"),
    ({"biz_date": "2023-01-15", "slot": 1}, "no_fire"),
])
def test_a_slot_that_is_not_there_is_refused_and_nothing_is_run(
    words: dict[str, Any], code: str
) -> None:
    dag = ms.Dag.from_graph("twice", ["a"], schedule="0 */12 * * *", timezone="UTC",
                            start_date="2024-01-01")
    with ms.testing.isolated():
        with pytest.raises(ms.SpecError) as caught:
            dag.run(**words)
        assert caught.value.code == code
        assert ms.runs() == []


def test_a_dag_without_a_schedule_has_one_slot() -> None:
    with ms.testing.isolated():
        dag = ms.Dag.from_graph("alone", ["a"])
        assert dag.run("2024-01-15", slot=1).state == "SUCCESS"
        with pytest.raises(ms.SpecError, match="has 1 run for"):
            dag.run("2024-01-15", slot=2)
