"""The grid: what is in a cell, what stands for many, and its text."""

from datetime import date, timedelta

import pytest
from mainspring._grid import grid_html, grid_text
from mainspring._gridshape import shape

from ._page import HOSTILE, page


def days(number, first=date(2024, 1, 29)):
    return [str(first + timedelta(day)) for day in range(number)]


def cells(html):
    """Text and class of each cell."""
    found, parts = [], html.split("<td")[1:]
    for part in parts:
        kind = part.partition('class="m-')[2].partition('"')[0] if part.startswith(" class") else ""
        found.append((part.partition(">")[2].partition("<")[0], kind))
    return found


def test_a_cell_has_a_letter_a_colour_and_what_is_to_be_said():
    html = grid_html(["load", "clean"], days(2), {
        ("load", "2024-01-29"): "SUCCESS", ("load", "2024-01-30"): ("MISSING", "never ran"),
        ("clean", "2024-01-29"): ("STALE", 'upstream "load" is newer')})
    assert cells(html) == [("S", "ok"), ("M", "todo"), ("O", "old"), ("", "")]
    found = page(html)
    assert "never ran" in found.titles and 'upstream "load" is newer' in found.titles
    assert "2024-01-29 SUCCESS" in found.titles
    assert {"SUCCESS 1", "MISSING 1", "STALE 1"} <= set(found.texts)


def test_cells_may_come_from_a_function():
    html = grid_html(["load"], days(3), lambda row, day: "FAILED" if day.endswith("30") else None)
    assert cells(html) == [("", ""), ("F", "bad"), ("", "")]


def test_tasks_of_one_dag_are_below_its_name_and_beside_each_other():
    html = grid_html(["ods.a", "dwd.b", "ods.c"], days(1), lambda row, day: "SUCCESS")
    texts = page(html).texts
    assert [text for text in texts if text in ("ods", "a", "c", "dwd", "b")] == [
        "ods", "a", "c", "dwd", "b"]


def test_months_and_weekends_are_marked():
    found = page(grid_html(["load"], days(40), lambda row, day: "SUCCESS"))
    assert found.classes.count("m-month") == 3 and "2024-02" in found.texts
    assert found.classes.count("m-we") == 10


def test_several_fires_of_a_day_have_a_line_for_their_times():
    columns = [f"{day}T{hour}:00" for day in days(2) for hour in ("00", "12")]
    texts = page(grid_html(["load"], columns, lambda row, day: "SUCCESS")).texts
    assert texts.count("00:00") == 2 and texts.count("12:00") == 2 and texts.count("01-29") == 1


@pytest.mark.parametrize("name", HOSTILE)
def test_names_and_titles_are_escaped(name):
    html = grid_html([name, f"dag.{name}"], [name], lambda row, day: (name, name), title=name,
                     notes=[name])
    found = page(html)
    assert "\x1b" not in html and "<script" not in html
    assert "?" in [text for text, _ in cells(html)]
    assert found.of("table")[0]["class"].startswith("ms-g")


def test_three_thousand_cells_are_shown_one_by_one_and_stay_small():
    rows = [f"dag.task_{number}" for number in range(50)]
    html = grid_html(rows, days(60), lambda row, day: "SUCCESS")
    assert len(cells(html)) == 3_000
    assert len(html) < 200_000 and " style=" not in html
    page(html)


def test_more_dates_are_shown_by_week_month_or_year():
    rows = [f"task_{number}" for number in range(40)]
    html = grid_html(rows, days(3_000), lambda row, day: "FAILED" if day == "2025-03-07" and
                     row == "task_7" else "SUCCESS")
    found = page(html)
    assert len(html) < 500_000
    assert "3000 dates shown by month" in found.texts
    assert "2025-03: 1 FAILED, 30 SUCCESS" in found.titles
    assert ("F1", "bad") in cells(html) and {"FAILED 1", "SUCCESS 119,999"} <= set(found.texts)


def test_more_tasks_are_shown_by_dag():
    rows = [f"dag_{number % 7}.task_{number}" for number in range(700)]
    found = page(grid_html(rows, days(4), lambda row, day: "SUCCESS"))
    assert "700 tasks shown by dag" in found.texts and "dag_6" in found.texts
    assert "2024-01-29: 100 SUCCESS" in found.titles


def test_of_too_many_tasks_of_one_dag_the_bad_ones_are_kept():
    rows = [f"task_{number}" for number in range(700)]
    made = shape(rows, days(2), lambda row, day: "FAILED" if row == "task_650" else "SUCCESS",
                 most_rows=10, most_columns=10)
    assert len(made.rows) == 10 and made.rows[-1].label == "task_650"
    assert made.notes == ["... 690 more rows (1,380 SUCCESS)"]


def test_a_million_cells_are_not_drawn():
    rows, columns = [f"d{n % 50}.t{n}" for n in range(1_000)], days(1_000)
    html = grid_html(rows, columns, lambda row, day: "SUCCESS")
    assert len(html) < 500_000


def test_nothing_is_shown_as_such():
    assert "nothing to show" in page(grid_html([], [], {})).texts
    assert grid_text(["load"], [], {}, color=False) == "nothing to show"


def test_columns_that_are_no_dates_are_shown_as_they_are():
    assert "first" in page(grid_html(["load"], ["first", "second"], {})).texts
    made = shape(["load"], [f"c{number}" for number in range(30)], lambda *_: "SUCCESS",
                 most_rows=5, most_columns=10)
    assert len(made.columns) == 10 and made.notes == ["... 20 more columns"]


def text(*args, **given):
    return grid_text(*args, color=False, **given).splitlines()


def test_the_text_has_a_letter_a_cell():
    assert text(["ods.load", "ods.清洗"], days(5), lambda row, day: "SUCCESS" if "load" in row
                else "missing" if day > "2024-01-30" else "BEFORE_START", title="a plan") == [
        "a plan",
        "         2024",
        "         01 02",
        "         23300",
        "         90112",
        "ods",
        "  load   SSSSS",
        "  清洗   <<MMM",
        "M missing 3   S SUCCESS 5   < BEFORE_START 2",
    ]


def test_the_text_says_what_it_does_not_show():
    lines = text(["load"], days(400), lambda row, day: "SUCCESS", most_columns=20)
    assert lines[-1] == "400 dates shown by month"
    assert lines[-3].split() == ["load", "S" * 15]


def test_a_narrow_terminal_has_blocks(monkeypatch):
    monkeypatch.setenv("COLUMNS", "50")
    lines = text(["load"], days(60), lambda row, day: "SUCCESS")
    assert max(map(len, lines)) <= 50
    assert sum(line.startswith("load") for line in lines) == 2


@pytest.mark.parametrize(("variables", "colored"), [
    ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, False), ({"FORCE_COLOR": "1"}, True), ({}, False)])
def test_letters_have_colours_where_the_terminal_wants_them(monkeypatch, variables, colored):
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    shown = grid_text(["load"], days(3), lambda row, day: "SUCCESS")
    assert ("\x1b[32mSSS\x1b[0m" in shown) is colored


def test_hostile_names_do_not_reach_the_terminal():
    assert "\x1b" not in "\n".join(text(HOSTILE, days(1), lambda row, day: ("SUCCESS", row)))
