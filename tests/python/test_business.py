"""Business calendars: days from weekdays, dates, rules, files and the packages that know countries."""

import sys
from datetime import date
from types import ModuleType, SimpleNamespace

import mainspring as ms
import pytest


def shown(days):
    return [str(day)[5:] for day in days]


def test_weekdays_are_monday_to_friday_unless_told_otherwise():
    assert shown(ms.calendar("plain").days("2024-06-06", "2024-06-11")) == [
        "06-06", "06-07", "06-10", "06-11"]
    gulf = ms.calendar("gulf", weekdays="SUN-THU")
    assert shown(gulf.days("2024-06-06", "2024-06-11")) == ["06-06", "06-09", "06-10", "06-11"]


def test_days_come_from_dates_text_rules_and_other_calendars():
    shut = ms.calendar("shut", weekdays="SAT,SUN", include=["2024-06-03"])
    cal = ms.calendar("all", weekdays="*", exclude=[date(2024, 6, 4), ms.cron("0 0 5 * *"), shut])
    assert shown(cal.days("2024-06-01", "2024-06-08")) == ["06-06", "06-07"]
    assert ms.calendar("one", exclude="2024-06-04").is_open("2024-06-04") is False


def test_what_is_included_wins():
    cal = ms.calendar("both", include=["2024-06-01"], exclude=["2024-06-01"])
    assert "2024-06-01" in cal and date(2024, 6, 2) not in cal


def test_open_days_are_counted_on_and_back():
    cal = ms.calendar("plain", exclude=["2024-06-03"])
    assert [str(cal.add_days("2024-06-01", n)) for n in (-1, 0, 1, 5)] == [
        "2024-05-31", "2024-06-01", "2024-06-04", "2024-06-10"]


def test_the_events_of_a_file_are_holidays(tmp_path):
    path = tmp_path / "days.ics"
    path.write_text("BEGIN:VCALENDAR\r\nVERSION:2.0\r\nBEGIN:VEVENT\r\nDTSTART;VALUE=DATE:20240603\r\n"
                    "DTEND;VALUE=DATE:20240605\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n")
    cal = ms.calendar("file", ics=path)
    assert shown(cal.days("2024-06-01", "2024-06-06")) == ["06-05", "06-06"]


def test_business_dates_count_in_the_days_of_a_calendar():
    cal = ms.calendar("office", exclude=["2024-01-08"])
    rule = ms.cron("30 8 * * MON-FRI", "Asia/Shanghai")
    found = ms.biz_dates(rule, "2024-01-04", "2024-01-09", "-1 workday", calendar=cal)
    assert [(str(day), str(fire.date())) for day, fire in found] == [
        ("2024-01-04", "2024-01-05"), ("2024-01-05", "2024-01-08"), ("2024-01-05", "2024-01-09"),
        ("2024-01-09", "2024-01-10")]


@pytest.mark.parametrize(("make", "code"), [
    (lambda: ms.calendar("x", exclude=["2024-02-30"]), "bad_date"),
    (lambda: ms.calendar("x", exclude=["1969-12-31"]), "out_of_range"),
    (lambda: ms.calendar("x", exclude=[7]), "wrong_type"),
    (lambda: ms.calendar("x", exclude=[ms.every("1d")]), "wrong_type"),
    (lambda: ms.calendar("x", weekdays="MOON"), "syntax"),
    (lambda: ms.calendar("x", ics="nowhere.ics"), "unreadable"),
    (lambda: ms.calendar("x", country="DE"), "missing_field"),
    (lambda: ms.calendar("x", country="DE", years=(2024, 2020)), "bad_range"),
    (lambda: ms.calendar("x").is_open("2200-01-01"), "out_of_range"),
    (lambda: ms.calendar("x").add_days("2199-12-31", 1), "out_of_range"),
    (lambda: ms.calendar("x").is_open("soon"), "bad_date"),
])
def test_what_is_wrong_has_a_code(make, code):
    with pytest.raises(ms.SpecError) as caught:
        make()
    assert caught.value.code == code


# Countries, with packages of our own making: what they say then does not change with a release.


@pytest.fixture
def packages(monkeypatch):
    """``chinese_calendar`` knows 2024; ``holidays`` knows one country, which works on a Saturday."""

    class Found(dict):
        weekend = {4, 5}
        weekend_workdays = {date(2001, 1, 6), date(2024, 6, 8)}

    def country_holidays(name, subdiv, years):
        if (name, subdiv) not in (("SA", None), ("SA", "01")):
            raise NotImplementedError(f"Country {name} not available")
        return Found({date(year, 6, 3): "Day" for year in years})

    def put(name, **attributes):
        module = ModuleType(name)
        vars(module).update(attributes)
        monkeypatch.setitem(sys.modules, name, module)

    put("holidays", country_holidays=country_holidays)
    put("chinese_calendar")
    put("chinese_calendar.constants", holidays={date(2024, 2, 12): "Spring Festival"},
        workdays={date(2024, 2, 4): "Spring Festival"})
    return SimpleNamespace(remove=lambda name: monkeypatch.setitem(sys.modules, name, None))


def test_a_country_brings_its_weekend_and_its_make_up_days(packages):
    cal = ms.calendar("sa", country="SA", years=(2023, 2024))
    assert shown(cal.days("2024-06-02", "2024-06-09")) == [
        "06-02", "06-04", "06-05", "06-06", "06-08", "06-09"]
    assert ms.calendar("part", country="SA-01", years=(2024, 2024)).years == (2024, 2024)


def test_the_make_up_workdays_of_china_are_open(packages):
    cal = ms.calendar("cn", country="CN", years=(2024, 2024))
    assert "2024-02-04" in cal and "2024-02-12" not in cal and "2024-02-13" in cal


def test_years_that_nobody_knows_are_refused(packages):
    with pytest.raises(ms.SpecError, match="knows 2024 to 2024, and not 2025") as caught:
        ms.calendar("cn", country="CN", years=(2024, 2026))
    assert caught.value.code == "unknown_year"
    cal = ms.calendar("cn", country="CN", years=(2024, 2024))
    with pytest.raises(ms.SpecError, match="outside the years 2024 to 2024"):
        cal.is_open("2025-01-01")
    with pytest.raises(ms.SpecError, match="outside the years 2024 to 2024"):
        ms.biz_dates("@daily", "2024-12-30", "2025-01-02", "-1 workday", calendar=cal)


def test_a_country_or_a_package_that_is_not_there_is_told(packages):
    with pytest.raises(ms.SpecError, match="XX not available") as caught:
        ms.calendar("x", country="XX", years=(2024, 2024))
    assert caught.value.code == "unknown_country"
    packages.remove("holidays")
    packages.remove("chinese_calendar.constants")
    for country, package in (("DE", "holidays"), ("CN", "chinesecalendar")):
        with pytest.raises(ms.SpecError, match=f"pip install {package}") as caught:
            ms.calendar("x", country=country, years=(2024, 2024))
        assert caught.value.code == "missing_package"


def test_the_package_of_chinas_holidays():
    cal = ms.calendar("cn", country="CN", years=(2024, 2024))
    assert "2024-02-18" in cal and "2024-02-12" not in cal and len(
        cal.days("2024-01-01", "2024-12-31")) == 251


def test_the_package_of_the_worlds_holidays():
    cal = ms.calendar("de", country="DE-BY", years=(2024, 2024))
    assert "2024-10-03" not in cal and "2024-01-06" not in cal and "2024-10-04" in cal
