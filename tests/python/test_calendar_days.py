"""The cases of days and zones, answered by what a user has: rules, calendars and placeholders."""

import json
from datetime import date, timedelta
from pathlib import Path

import mainspring as ms
import pytest

DATA = Path(__file__).parents[1] / "data" / "time"


def cases(kind, *ops):
    lines = (DATA / f"{kind}.jsonl").read_text(encoding="utf-8").splitlines()
    return [pytest.param(case["input"], case["expect"], id=case["id"])
            for case in map(json.loads, lines) if not ops or case["input"]["op"] in ops]


def in_month(day, expression):
    """The dates of the day's month on which an expression fires."""
    first = day.replace(day=1)
    after = (first + timedelta(31)).replace(day=1)
    return [str(at.date()) for at in ms.cron(expression).between(first, after)]


def rendered(day, text):
    return ms.render(text, nominal_at=day)


def quarter_end(day):
    return str(ms.cron("0 0 L 3,6,9,12 *").next(day - timedelta(1))[0].date())


def quarter_start(day):
    return str(ms.cron("0 0 1 1,4,7,10 *").prev(day + timedelta(1))[0].date())


def previous_quarter(day):
    end = date.fromisoformat(quarter_start(day)) - timedelta(1)
    return [quarter_start(end), str(end)]


def iso_week(day):
    return rendered(day, "$[year_week(yyyy-MM-dd)]").replace("-", "-W")


def local_day(day, zone):
    start, end = ms.cron("@daily", zone).between(day, day + timedelta(2))[:2]
    # Python subtracts times of one zone as its clock shows them.
    minutes = (end.timestamp() - start.timestamp()) / 60
    return [start.isoformat(), end.isoformat(), int(minutes)]


ANSWERS = {
    "add_months": lambda day, n: rendered(day, f"$[add_months(yyyy-MM-dd,{n})]"),
    "add_days": lambda day, n: rendered(day, f"$[yyyy-MM-dd{n:+}]"),
    "days_between": lambda day, end: ms.cron("@daily").count(day, end),
    "month_last_day": lambda day: rendered(day, "$[month_last_day(yyyy-MM-dd,0)]"),
    "last_workday_of_month": lambda day: in_month(day, "0 0 LW * *")[0],
    "first_workday_of_month": lambda day: in_month(day, "0 0 1W * *")[0],
    "nearest_workday": lambda day: in_month(day, f"0 0 {day.day}W * *")[0],
    "last_weekday": lambda day, name: in_month(day, f"0 0 * * {name}L")[0],
    "nth_weekday": lambda day, name, n: next(iter(in_month(day, f"0 0 * * {name}#{n}")), None),
    "quarter_start": quarter_start,
    "quarter_end": quarter_end,
    "prev_quarter": previous_quarter,
    "iso_week": iso_week,
    "add_workdays": lambda day, n: str(ms.calendar("weekdays").add_days(day, n)),
    "local_day": local_day,
}


@pytest.mark.parametrize(("given", "expect"), cases("calendar"))
def test_days(given, expect):
    day, *others = given["args"]
    assert ANSWERS[given["op"]](date.fromisoformat(day), *others) == expect


@pytest.mark.parametrize(("given", "expect"), cases("tz", "to_instants"))
def test_the_instants_of_a_time_of_the_clock(given, expect):
    day, time = given["local"].split("T")
    (year, month, number), (hour, minute, second) = day.split("-"), time.split(":")
    text = f"{second} {minute} {hour} {number} {month} ? {year}"
    rule = ms.cron(text, given["tz"], gap="skip", fold="both")
    assert [at.isoformat() for at in rule.next("1970-01-01", n=3)] == expect


@pytest.mark.parametrize(("given", "expect"), cases("tz", "to_local"))
def test_what_the_clock_shows_at_an_instant(given, expect):
    found = ms.at(given["instant"], timezone=given["tz"]).next("1970-01-01")
    assert [at.isoformat() for at in found] == [expect]


@pytest.mark.parametrize("name", ["Asia/Shanghia", "asia/shanghai", "Shanghai"])
def test_an_unknown_zone_brings_the_nearest_names(name):
    with pytest.raises(ms.SpecError) as caught:
        ms.cron("@daily", timezone=name)
    assert caught.value.code == "unknown_zone"
    assert "Asia/Shanghai" in (caught.value.problems[0].hint or "")


@pytest.mark.parametrize("far", ["0001-01-01", "1900-01-01", "2200-01-01", "9999-12-31T23:59:59"])
def test_instants_out_of_range_have_no_fires_and_no_crashes(far):
    rule = ms.cron("0 0 29 2 *", "America/New_York")
    after, before = rule.next(far), rule.prev(far)
    early = far < "1970"
    assert [str(at.date()) for at in after] == (["1972-02-29"] if early else [])
    assert [str(at.date()) for at in before] == ([] if early else ["2196-02-29"])
    assert rule.count("0001-01-01", "9999-12-31") == 57 - 1  # 1972, 1976 to 2196, and 2100 has none


@pytest.mark.parametrize("text", ["0 0 0 1 1 ? 1969", "0 0 0 1 1 ? 2200", "0 0 0 1 1 ? 99999999999"])
def test_years_out_of_range_are_refused(text):
    with pytest.raises(ms.SpecError) as caught:
        ms.cron(text)
    assert caught.value.code == "out_of_range"
    assert "1970" in str(caught.value)


@pytest.mark.parametrize("text", [
    "1," * 100_000 + "1 * * * *", "*" * 1_000_000, " " * 1_000_000, "1 " * 500_000,
    ",".join(["1"] * 1000) + " * * * *",
])
def test_size_is_refused_with_its_limit(text):
    with pytest.raises(ms.SpecError) as caught:
        ms.cron(text)
    assert caught.value.code == "too_long" and len(str(caught.value)) < 400
