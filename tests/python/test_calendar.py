"""Rules of time through the Python face: the cases with checked answers, and what is ours alone."""

import json
import pickle
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from zoneinfo import ZoneInfo

import mainspring as ms
import pytest
from mainspring import _mainspring as core
from mainspring._time import micros_of

DATA = Path(__file__).parents[1] / "data" / "time"


def cases(kind, **wanted):
    lines = (DATA / f"{kind}.jsonl").read_text(encoding="utf-8").splitlines()
    return [pytest.param(case["input"], case["expect"], id=case["id"])
            for case in map(json.loads, lines)
            if all(case["input"].get(key) == value for key, value in wanted.items())]


def rule_of(given):
    return ms.cron(given["expr"], given["tz"], **given.get("options", {}))


def iso(instants):
    return [at.isoformat() for at in instants]


def span(zone, found):
    return {word: None if at is None else
            datetime.fromtimestamp(at // 1_000_000, ZoneInfo(zone)).isoformat()
            for word, at in zip(("start", "end"), found, strict=True)}


# The cases


@pytest.mark.parametrize(("given", "expect"), [*cases("cron_next"), *cases("dst")])
def test_next(given, expect):
    found = rule_of(given).next(given["after"], n=given["n"])
    assert iso(found) == expect
    assert all(at.tzinfo.utcoffset(at) is not None for at in found)


@pytest.mark.parametrize(("given", "expect"), cases("cron_prev"))
def test_prev(given, expect):
    assert iso(rule_of(given).prev(given["before"], n=given["n"])) == expect


@pytest.mark.parametrize(("given", "expect"), cases("cron_error"))
def test_refused_expressions(given, expect):
    with pytest.raises(ms.SpecError) as caught:
        ms.cron(given["expr"])
    assert caught.value.code == expect["error"]
    assert caught.value.problems[0].code == expect["error"]


@pytest.mark.parametrize(("given", "expect"), cases("tz", op="zone"))
def test_zones(given, expect):
    if expect == "ok":
        assert ms.cron("@daily", given["tz"]).timezone
        return
    with pytest.raises(ms.SpecError) as caught:
        ms.cron("@daily", given["tz"])
    assert caught.value.code == expect["error"]


@pytest.mark.parametrize(("given", "expect"), cases("interval", op="every"))
def test_intervals(given, expect):
    rule = ms.every(given["every"], anchor=given["anchor"], timezone=given["tz"])
    assert iso(rule.next(given["after"], n=given["n"])) == expect


@pytest.mark.parametrize(("given", "expect"), cases("interval", op="cron"))
def test_the_interval_of_a_fire(given, expect):
    table = core.Timetable([(core.Rule.cron(given["expr"], given["tz"]), None, None)])
    at = micros_of(datetime.fromisoformat(given["fire"]))
    assert span(given["tz"], table.interval(at)) == expect


@pytest.mark.parametrize(("given", "expect"), cases("interval", op="last_complete"))
def test_the_last_complete_interval(given, expect):
    table = core.Timetable([(core.Rule.cron(given["expr"], given["tz"]), None, None)])
    now = micros_of(datetime.fromisoformat(given["now"]))
    assert span(given["tz"], table.last_complete(now)) == expect


@pytest.mark.parametrize(("given", "expect"), cases("param"))
def test_placeholders(given, expect):
    # A nominal time that differs from the fire is what the clock would have shown: a naive one.
    nominal_at = given.get("nominal") or given["fire"]
    ask = {"nominal_at": nominal_at, "timezone": given["tz"]}
    if isinstance(expect, str):
        assert ms.render(given["expr"], **ask) == expect
        return
    with pytest.raises(ms.SpecError) as caught:
        ms.render(given["expr"], **ask)
    assert caught.value.code == expect["error"]


@pytest.mark.parametrize(("given", "expect"), cases("backfill_range"))
def test_backfill_ranges(given, expect):
    dag = ms.Dag("loads", schedule=rule_of(given), start_date=given.get("start_date"),
                 end_date=given.get("end_date"), biz_offset=given["biz_offset_days"])
    ask = dag, given["from"], given["to"]
    if isinstance(expect, dict) and "error" in expect:
        with pytest.raises(ms.SpecError) as caught:
            ms.biz_dates(*ask)
        assert caught.value.code == expect["error"]
        return
    rows = [{"biz_date": str(day), "fire": at.isoformat()} for day, at in ms.biz_dates(*ask)]
    if given.get("summary"):
        rows = {"count": len(rows), "first": rows[0]["fire"], "last": rows[-1]["fire"]}
    assert rows == expect


def test_every_line_found_in_public_has_the_right_count_of_fires_in_2024():
    lines = (DATA / "crons.tsv").read_text(encoding="utf-8").splitlines()[1:]
    assert len(lines) > 500
    for line in lines:
        expression, _, expect, _ = line.split("\t")
        try:
            rule = ms.cron(expression, "UTC")
        except ms.SpecError as error:
            assert error.code == expect, expression
        else:
            assert str(rule.count("2024-01-01", "2025-01-01")) == expect, expression


# What is asked of a rule


def test_what_comes_back_is_in_the_zone_of_the_rule():
    at = ms.cron("0 2 * * *", "Asia/Shanghai").next(datetime(2024, 1, 1, tzinfo=timezone.utc))[0]
    assert at == datetime(2024, 1, 1, 18, tzinfo=timezone.utc)
    assert at.tzinfo == ZoneInfo("Asia/Shanghai")


def test_instants_are_given_in_any_form():
    rule = ms.cron("0 2 * * *", "Asia/Shanghai")
    forms = [date(2024, 1, 1), datetime(2024, 1, 1), "2024-01-01", "2024-01-01T00:00",
             "2023-12-31T16:00:00Z", datetime(2023, 12, 31, 16, tzinfo=timezone.utc)]
    assert {str(rule.next(form)[0]) for form in forms} == {"2024-01-01 02:00:00+08:00"}


def test_a_naive_time_that_the_clock_shows_twice_is_the_first_unless_fold_says_so():
    rule = ms.cron("@hourly", "America/New_York")
    twice = datetime(2024, 11, 3, 1, 30)
    assert iso(rule.next(twice)) == ["2024-11-03T01:00:00-05:00"]
    assert iso(rule.next(twice.replace(fold=1))) == ["2024-11-03T02:00:00-05:00"]


def test_between_has_its_start_and_not_its_end():
    rule = ms.cron("0 0 * * *")
    assert iso(rule.between("2024-01-01", "2024-01-02")) == ["2024-01-01T00:00:00+00:00"]
    assert rule.between("2024-01-02", "2024-01-01") == []
    assert rule.count("2024-01-01", "2025-01-01") == 366
    assert rule.micros("2024-01-01", "2024-01-02") == [1_704_067_200_000_000]


def test_more_fires_than_asked_for_are_refused_and_not_cut_off():
    rule = ms.cron("* * * * *")
    with pytest.raises(ms.SpecError) as caught:
        rule.between("2024-01-01", "2024-01-02", most=1439)
    assert caught.value.code == "too_many"
    assert len(rule.between("2024-01-01", "2024-01-02", most=1440)) == 1440


def test_a_rule_that_is_over_gives_fewer():
    once = ms.at("2024-05-01T09:00", timezone="Europe/Berlin")
    assert iso(once.next("2024-01-01", n=5)) == ["2024-05-01T09:00:00+02:00"]
    assert once.next("2025-01-01") == []
    assert ms.cron("0 0 0 1 1 ? 2020").next("2024-01-01") == []


def test_given_instants_are_sorted_and_count_once():
    rule = ms.at(["2024-06-01", "2024-05-01", date(2024, 6, 1)])
    assert iso(rule.between("2024-01-01", "2025-01-01")) == [
        "2024-05-01T00:00:00+00:00", "2024-06-01T00:00:00+00:00"]
    assert str(micros_of(ms.at("2024-01-01T00:00:00.000001").next("2023-01-01")[0]))[-1] == "1"


def test_a_step_may_be_a_timedelta():
    assert ms.every(timedelta(minutes=90)).canonical == "90m"
    with pytest.raises(ms.SpecError) as caught:
        ms.every(timedelta(microseconds=1))
    assert caught.value.code == "bad_step"


@pytest.mark.parametrize(("make", "code"), [
    (lambda: ms.cron(None), "wrong_type"),
    (lambda: ms.cron("\ud800"), "syntax"),
    (lambda: ms.cron("0 " * 100_000), "too_long"),
    (lambda: ms.cron("@daily", gap="jump"), "unknown_choice"),
    (lambda: ms.cron("@daily", fold="none"), "unknown_choice"),
    (lambda: ms.cron("@daily", timezone="Asia/Beijing"), "unknown_zone"),
    (lambda: ms.cron("@daily", timezone=""), "unknown_zone"),
    (lambda: ms.render(None, nominal_at="2024-01-01"), "wrong_type"),
    (lambda: ms.every("0h"), "bad_step"),
    (lambda: ms.every("soon"), "syntax"),
    (lambda: ms.every(7), "wrong_type"),
    (lambda: ms.at([]), "missing_field"),
    (lambda: ms.at("tomorrow"), "bad_date"),
    (lambda: ms.cron("@daily").next("soon"), "bad_date"),
    (lambda: ms.cron("@daily").next(7), "wrong_type"),
    (lambda: ms.cron("@daily").next("2024-01-01", n=-1), "out_of_range"),
    (lambda: ms.biz_dates("@daily", "2024-01-02", "2024-01-01"), "bad_range"),
    (lambda: ms.biz_dates("@daily", "2024-02-30", "2024-03-01"), "bad_date"),
    (lambda: ms.biz_dates("@daily", "2024-01-01", "2024-01-02", "-1 moon"), "syntax"),
    (lambda: ms.biz_dates(ms.Dag("loads"), "2024-01-01", "2024-01-02"), "no_schedule"),
    (lambda: ms.biz_dates(7, "2024-01-01", "2024-01-02"), "wrong_type"),
    (lambda: ms.render("${params.x}", nominal_at="2024-01-01"), "unknown_name"),
    (lambda: ms.render("${secret:X}", nominal_at="2024-01-01"), "unknown_name"),
    (lambda: ms.render("${todya}", nominal_at="2024-01-01"), "unknown_name"),
])
def test_what_is_wrong_has_a_code(make, code):
    with pytest.raises(ms.SpecError) as caught:
        make()
    assert caught.value.code == code


def test_an_unknown_zone_is_told_with_the_nearest_name():
    with pytest.raises(ms.SpecError, match="Asia/Shanghai"):
        ms.cron("@daily", timezone="Asia/Beijing")


def test_the_repr_tells_no_time_and_str_does():
    rule = ms.cron("30 2 * * *", "America/New_York", gap="skip")
    assert repr(rule) == "cron('30 2 * * *', timezone='America/New_York', gap='skip')"
    lines = str(rule).splitlines()
    assert lines[0] == repr(rule) and len(lines) == 6
    assert "next fires" in rule._repr_html_() and "<b>" not in ms.at("2024-01-01")._repr_html_()
    assert str(ms.at("2024-01-01")).endswith("it does not fire any more")
    assert repr(ms.at([f"2024-01-{day:02}" for day in range(1, 32)])).count("2024") == 5


@pytest.mark.parametrize("rule", [
    ms.cron("30 2 * * *", "America/New_York", fold="both"),
    ms.every("1M", anchor="2024-01-31", timezone="Asia/Shanghai"),
    ms.at(["2024-01-01", "2024-02-01"], timezone="Asia/Shanghai"),
], ids=["cron", "every", "at"])
def test_rules_can_be_compared_and_sent_to_another_process(rule):
    again = pickle.loads(pickle.dumps(rule))  # noqa: S301
    assert again == rule and hash(again) == hash(rule)
    assert again.next("2023-12-01") == rule.next("2023-12-01")
    assert rule != ms.cron("@daily") and rule != 7


# Rules as schedules


def schedules(**fields):
    return core.check_dag(ms.Dag("loads", **fields).spec())


def times(found):
    return [(each["rule"]["expression"], each["rule"]["timezone"]) for each in found["schedules"]]


def test_a_rule_is_the_schedule_of_a_dag_with_its_zone():
    found = schedules(schedule=ms.cron("0 2 * * *", "Asia/Shanghai"))
    assert found["timezone"] == "Asia/Shanghai"
    assert times(found) == [("0 2 * * *", "Asia/Shanghai")]


def test_a_rule_without_a_zone_takes_that_of_the_dag():
    found = schedules(schedule=ms.cron("0 2 * * *"), timezone="Asia/Tokyo")
    assert times(found) == [("0 2 * * *", "Asia/Tokyo")]


def test_the_zone_of_a_dag_stays_beside_that_of_its_rules():
    rules = [ms.cron("0 2 * * *", "Asia/Shanghai"), "0 3 * * *", ms.every("6h"),
             ms.at(["2024-01-01", "2024-02-01T09:30"])]
    found = schedules(schedule=rules, timezone="Asia/Tokyo")
    assert found["timezone"] == "Asia/Tokyo"
    assert times(found) == [
        ("0 2 * * *", "Asia/Shanghai"), ("0 3 * * *", "Asia/Tokyo"), ("every 6h", "Asia/Tokyo"),
        ("at 2024-01-01T00:00:00,2024-02-01T09:30:00", "Asia/Tokyo")]


@pytest.mark.parametrize(("rule", "start", "end"), [
    (ms.cron("30 2 * * *", "America/New_York", gap="skip"), "2024-03-09", "2024-03-12"),
    (ms.cron("30 2 * * *", "America/New_York", gap="shift"), "2024-03-09", "2024-03-12"),
    (ms.cron("30 1 * * *", "America/New_York", fold="last"), "2024-11-02", "2024-11-05"),
    (ms.cron("30 1 * * *", "America/New_York", fold="both"), "2024-11-02", "2024-11-05"),
    (ms.every("5d", anchor="2024-01-03T04:00", timezone="Asia/Tokyo"), "2024-01-01", "2024-02-01"),
    (ms.every("7h", anchor="2024-01-03"), "2024-01-02", "2024-01-05"),
    (ms.at(["2024-01-05T09:30", "2024-01-07"], timezone="Asia/Tokyo"), "2024-01-01", "2024-02-01"),
], ids=["skip", "shift", "last", "both", "days", "hours", "at"])
def test_a_dag_fires_when_its_rule_does(rule, start, end):
    dag = ms.Dag.from_graph("loads", ["load"], schedule=rule, biz_offset=0)
    fires = rule.between(start, end)
    assert 2 <= len(fires) <= 12
    dates = [fire.date() for fire in fires]
    found = [at for _, at in ms.biz_dates(dag, dates[0], dates[-1])]
    assert [at for at in found if at in fires] == fires
    with ms.testing.simulated(start, [dag]) as world:
        world.advance(to=end)
        made = [run.nominal_at for run in world.runs()]
    before = [at for at in made if at < fires[0]]
    assert made[len(before):len(before) + len(fires)] == fires


def test_the_second_of_two_times_of_the_clock_cannot_be_given_to_a_dag():
    rule = ms.at("2024-11-03T01:30:00-05:00", timezone="America/New_York")
    with pytest.raises(ms.SpecError) as caught:
        ms.Dag("loads", schedule=rule).check()
    assert caught.value.code == "not_a_schedule"
    assert caught.value.problems[0].place.startswith("loads.schedule")


def test_the_dates_of_a_dag_are_those_of_its_own_schedules_and_not_of_its_tasks():
    dag = ms.Dag.from_graph("loads", ["load", "probe"], timezone="UTC", schedule=[
        ms.schedule("0 2 * * *"), ms.schedule("0 * * * *", tasks=["probe"])])
    assert [str(at) for _, at in ms.biz_dates(dag, "2024-01-01", "2024-01-02")] == [
        "2024-01-02 02:00:00+00:00", "2024-01-03 02:00:00+00:00"]
    alone = ms.Dag.from_graph("probes", ["probe"],
                              schedule=ms.schedule("0 * * * *", tasks=["probe"]))
    with pytest.raises(ms.SpecError) as caught:
        ms.biz_dates(alone, "2024-01-01", "2024-01-02")
    assert caught.value.code == "no_schedule"


def test_business_dates_of_text_and_of_many_fires_a_day():
    rows = ms.biz_dates("0 */12 * * *", "2024-01-01", "2024-01-01")
    assert [(str(day), str(at)) for day, at in rows] == [
        ("2024-01-01", "2024-01-01 12:00:00+00:00"), ("2024-01-01", "2024-01-02 00:00:00+00:00")]
    assert len(ms.biz_dates("every 6h", date(2024, 1, 1), date(2024, 1, 2))) == 8


def test_a_range_of_too_many_runs_is_refused(monkeypatch):
    monkeypatch.setattr("mainspring._schedule.MOST", 100)
    assert len(ms.biz_dates("0 * * * *", "2024-01-01", "2024-01-04")) == 96
    with pytest.raises(ms.SpecError) as caught:
        ms.biz_dates("0 * * * *", "2024-01-01", "2024-01-05")
    assert caught.value.code == "too_many"


# Text for a run


def test_a_naive_nominal_time_keeps_its_date_in_a_gap():
    ask = {"timezone": "Asia/Pyongyang", "nominal_at": "2018-05-04T23:45"}
    assert ms.render("${today} ${biz_date}", **ask) == "2018-05-04 2018-05-03"


def test_the_zone_may_come_with_the_instant():
    at = datetime(2024, 1, 15, 2, tzinfo=ZoneInfo("Asia/Shanghai"))
    assert ms.render("${today}", nominal_at=at.astimezone(timezone.utc)) == "2024-01-14"
    assert ms.render("${today}", nominal_at=at) == "2024-01-15"


def test_what_else_a_run_knows_may_be_given():
    text = ms.render("${biz_date} ${params.n} $${x}", nominal_at="2024-01-15",
                     biz_date=date(2024, 1, 1), params={"n": 7})
    assert text == "2024-01-01 7 ${x}"
