"""The next fires of a schedule as sheets of a calendar."""

from datetime import datetime, timezone

import mainspring as ms
from mainspring import _fire_calendar

from ._page import page

OFFICE = ms.calendar("<office>", exclude=["2024-03-29", "2024-04-01"], include=["2024-04-06"])


def shown(schedule, now, calendar=None):
    """The page of a schedule at an instant, and its days by their titles."""
    zone = getattr(schedule, "rule", schedule).timezone
    target = (schedule._target() if isinstance(schedule, ms.Schedule)
              else _fire_calendar.alone(schedule._core))
    instant = int(datetime.fromisoformat(now).replace(tzinfo=timezone.utc).timestamp()) * 1_000_000
    found = page(_fire_calendar.calendar_html(repr(schedule), zone, target, calendar, instant,
                                              ["next fires"], []))
    days = {title[4:14]: (title[14:].lstrip("; "), attrs.get("class", ""))
            for attrs in found.of("td") if (title := attrs.get("title"))}
    return found, days


def test_days_have_their_times_and_the_day_on_which_the_clock_is_set_is_framed():
    found, days = shown(ms.cron("30 2 * * *", timezone="Europe/Berlin"), "2024-03-15T12:00")
    assert days["2024-03-15"] == ("no fire", "")  # what is past is no next fire
    assert days["2024-03-30"] == ("02:30", "k-f")
    assert days["2024-03-31"] == ("03:00; gap: the clock jumps over 2024-03-31T02:30:00; "
                                  "the clock is put forward by 1h 00m", "k-f k-d")
    assert {"March 2024", "April 2024", "May 2024", "02:30", "g"} <= set(found.texts)


def test_several_fires_of_a_day_are_counted():
    _, days = shown(ms.cron("0 */6 * * *", timezone="UTC"), "2024-03-15T12:00")
    assert days["2024-03-16"] == ("00:00, 06:00, 12:00, 18:00", "k-f")
    found, days = shown(ms.cron("* * * * *", timezone="America/New_York"), "2024-11-01T00:00")
    assert days["2024-11-03"][0].startswith("00:00, 00:01, ")
    assert days["2024-11-03"][0].endswith("1,488 more; the clock is put back by 1h 00m")
    assert "1,500×" in found.texts and "1,440×" in found.texts


def test_a_schedule_of_each_second_is_no_burden():
    found, days = shown(ms.every("1s"), "2024-03-15T12:00")
    assert "2,000+" in found.texts and len(days) == 92


def test_days_of_its_calendar_are_marked():
    schedule = ms.schedule("0 7 * * *", timezone="UTC", calendar=OFFICE)
    found, days = shown(schedule, "2024-03-15T12:00", OFFICE)
    assert days["2024-04-01"] == ("no fire; holiday: closed in <office>", "k-c")
    assert days["2024-04-06"][0] == "07:00; workday: open in <office>"
    assert days["2024-03-23"] == ("no fire", "k-we")  # a weekend is nothing to look at
    assert any("h holiday" in text for text in found.texts)


def test_a_fire_that_was_moved_says_from_where():
    schedule = ms.schedule("0 7 * * MON", timezone="UTC", calendar=OFFICE, on="next")
    _, days = shown(schedule, "2024-03-15T12:00", OFFICE)
    assert days["2024-04-02"] == ("07:00; rolled: here from 2024-04-01, closed in <office>", "k-f")


def test_months_without_a_fire_are_left_out():
    found, _ = shown(ms.cron("0 0 1 1,7 *", timezone="UTC"), "2024-03-15T12:00")
    assert [text for text in found.texts if text[-4:].isdigit() and " " in text][:3] == [
        "July 2024", "January 2025", "July 2025"]


def test_what_does_not_fire_any_more_says_so():
    found, days = shown(ms.at("2020-01-01"), "2024-03-15T12:00")
    assert "it does not fire any more" in found.texts and days == {}


def test_what_notebooks_show_is_this():
    for each in (ms.cron("@hourly"), ms.schedule("@daily", timezone="Asia/Shanghai")):
        found = page(each._repr_html_())
        assert "next fires" in found.texts and repr(each) in found.texts
