"""``next`` with holidays, and its picture of a year."""

from __future__ import annotations

import calendar
import re
from typing import Any

import pytest

from .conftest import Project

ICS = """\
BEGIN:VCALENDAR
BEGIN:VEVENT
DTSTART;VALUE=DATE:20240305
SUMMARY:Stocktaking
END:VEVENT
END:VCALENDAR
"""


def marked(project: Project, *words: str) -> list[tuple[str, str, str]]:
    done = project("next", *words, "--json")
    assert done.code == 0, done
    fires: list[dict[str, Any]] = done.json["fires"]
    return [(fire["nominal"][:10], mark["mark"], mark["text"])
            for fire in fires for mark in fire["marks"]]


def days_of(picture: str) -> dict[int, list[tuple[str, str]]]:
    """The cells of each month of a picture: what stands for the day, and its letter."""
    lines = picture.splitlines()
    months: dict[int, list[tuple[str, str]]] = {}
    at = 0
    for number in range(1, 13, 3):
        while not re.match(r"\s*(January|April|July|October)", lines[at]):
            at += 1
        row = at + 2
        while lines[row].strip():
            for block in range(3):
                part = lines[row][block * 23 : block * 23 + 21].ljust(21)
                cells = [part[i : i + 3] for i in range(0, 21, 3)]
                months.setdefault(number + block, []).extend(
                    (cell[:2].strip(), cell[2].strip()) for cell in cells if cell.strip())
            row += 1
        at = row
    return months


def test_a_fire_on_a_holiday_is_marked_with_its_name(project: Project) -> None:
    found = marked(project, "0 9 * * *", "--from", "2024-12-24", "-n", "3", "--holidays", "US")
    assert found == [("2024-12-25", "holiday", "Christmas Day (US)")]


def test_make_up_workdays_of_china_are_marked_too(project: Project) -> None:
    words = ("0 9 * * *", "--tz", "Asia/Shanghai", "--from", "2024-02-17", "-n", "2")
    found = marked(project, *words, "--holidays", "CN")
    assert found == [("2024-02-17", "holiday", "Spring Festival (CN)"),
                     ("2024-02-18", "workday", "made up for Spring Festival (CN)")]


def test_several_sources_of_holidays_add_up(project: Project) -> None:
    project.write("company.ics", ICS)
    project.write("days.py", """
        import mainspring as ms

        trading = ms.calendar("exchange", exclude=["2024-03-06"], years=(2024, 2024))
    """)
    words = ("0 9 * * MON-FRI", "--from", "2024-03-04", "-n", "4")
    assert marked(project, *words, "--holidays", "company.ics,days.py:exchange") == [
        ("2024-03-05", "holiday", "in company.ics"),
        ("2024-03-06", "holiday", "closed in exchange")]
    assert marked(project, *words, "--holidays", "company.ics", "--holidays", "days.py:trading") \
        == marked(project, *words, "--holidays", "company.ics,days.py:exchange")


def test_years_that_a_source_does_not_know_are_told_and_not_marked(project: Project) -> None:
    project.write("days.py", """
        import mainspring as ms
        office = ms.calendar("office", years=(2024, 2024))
    """)
    done = project("next", "@yearly", "--from", "2024-06-01", "-n", "2", "--holidays",
                   "days.py:office")
    assert done.code == 0 and done.err.count("office knows only 2024 to 2024") == 1
    done = project("next", "@yearly", "--from", "2003-01-01", "-n", "1", "--holidays", "CN")
    assert done.code == 0 and "holidays of 2003 are not marked" in done.err


@pytest.mark.parametrize(("source", "message"), [
    ("XX", "XX not available"),
    ("none.ics", "cannot read none.ics"),
    ("days.py:offices", "did you mean 'office'?"),
    ("days.py:", "has no calendar ''"),
])
def test_what_is_no_source_of_holidays_is_refused(
    project: Project, source: str, message: str
) -> None:
    project.write("days.py", """
        import mainspring as ms
        office = ms.calendar("office")
    """)
    done = project("next", "@daily", "--holidays", source)
    assert done.code == 2 and message in done.err, done


def test_the_picture_shows_each_day_with_a_fire_by_its_number(project: Project) -> None:
    done = project("next", "0 9 * * MON-FRI", "--year", "2024")
    months = days_of(done.out)
    for month in range(1, 13):
        expected = [str(day.day) if day.weekday() < 5 else "."
                    for day in calendar.Calendar().itermonthdates(2024, month)
                    if day.month == month]
        assert [shown for shown, _ in months[month]] == expected
    assert done.out.splitlines()[-1] == "262 fires in 2024"


def test_the_picture_marks_clock_changes_and_holidays(project: Project) -> None:
    done = project("next", "30 1,2 * * *", "--tz", "America/New_York", "--year", "2024",
                   "--holidays", "US")
    months = days_of(done.out)
    letters = {(month, day + 1): letter for month, cells in months.items()
               for day, (_, letter) in enumerate(cells) if letter}
    assert letters[3, 10] == "g" and letters[11, 3] == "f" and letters[12, 25] == "h"
    assert len(letters) == 2 + 11  # the federal holidays of 2024
    rows = [line.split("  ")[0] for line in done.out.splitlines() if line.startswith("2024-")]
    assert "2024-03-10 Sun" in rows and "2024-12-25 Wed" in rows
    assert "732 fires on 366 days in 2024: 2 a day" in done.out


def test_days_of_the_picture_with_more_or_fewer_fires_are_named(project: Project) -> None:
    done = project("next", "* * * * *", "--tz", "Europe/Berlin", "--year", "2024")
    assert ("527,040 fires on 366 days in 2024: 1,440 a day, and 1,380 on 2024-03-31, "
            "1,500 on 2024-10-27") in done.out


def test_a_workday_without_a_fire_is_listed(project: Project) -> None:
    done = project("next", "0 9 * * MON-FRI", "--tz", "Asia/Shanghai", "--year", "2024",
                   "--holidays", "CN")
    assert "2024-02-18 Sun   none  workday  made up for Spring Festival (CN)" in done.out
    assert days_of(done.out)[2][17] == (".", "w")


def test_merged_schedules_are_marked_in_the_picture(project: Project) -> None:
    project.write("dags/loads.py", """
        import mainspring as ms

        with ms.Dag("loads", schedule=["0 2 * * *", "0 2 1 * *"], timezone="UTC") as dag:
            @ms.task
            def load() -> None: ...
    """)
    months = days_of(project("next", "loads", "--year", "2023").out)
    assert [month for month in months if months[month][0] == ("1", "m")] == list(range(1, 13))
    assert sum(letter == "m" for cells in months.values() for _, letter in cells) == 12
