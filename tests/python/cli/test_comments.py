"""A comment that contradicts its expression: found, and never where it does not."""

from __future__ import annotations

from pathlib import Path

import pytest
from mainspring import _mainspring as core
from mainspring.cli._cron_comments import contradictions, split
from mainspring.cli._cron_fields import fields_of

from .conftest import Project

LINES = Path(__file__).parents[2] / "data" / "time" / "comments.tsv"


def claims(expression: str, comment: str) -> list[str]:
    rule = core.Rule.cron(expression, "UTC")
    return contradictions(rule, fields_of(rule), comment)


def test_lines_found_in_public_are_judged_as_by_hand() -> None:
    lines = LINES.read_text(encoding="utf-8").splitlines()[1:]
    assert len(lines) == 160
    for line in lines:
        expression, comment, verdict = line.split("\t")
        assert bool(claims(expression, comment)) == (verdict == "contradicts"), line


@pytest.mark.parametrize(("expression", "comment", "claim"), [
    ("5 * * * *", "every 5 minutes", "every 5 minutes"),
    ("0 0 2 ? * 1", "every Monday at 2am", "every Monday"),
    ("0 0 2 ? * 1-5", "Mon-Fri", "Mon-Fri"),
    ("0 2 * * 0-4", "weekdays", "weekdays"),
    ("@monthly", "weekly", "weekly"),
    ("0 9 * * 1", "monthly", "monthly"),
    ("*/10 * * * *", "runs daily", "daily"),
    ("0 14 * * *", "at 2am", "2am"),
    ("0 0 * * *", "noon", "noon"),
    ("0 2 15 * *", "first day of the month", "first day of the month"),
    ("0 2 * * *", "every hour", "every hour"),
    ("5 * * * *", "每5分钟", "每5分钟"),
    ("0 30 * * * ?", "每两小时", "每两小时"),
    ("0 0 * * 1", "每周日执行", "每周日"),
    ("0 0 2 ? * 1-5", "周一到周五", "周一到周五"),
    ("0 10 * * *", "晚上10点", "晚上10点"),
    ("0 0 1 * *", "每月15号", "每月15号"),
    ("0 2 * * *", "每小时", "每小时"),
])
def test_a_contradiction_is_found(expression: str, comment: str, claim: str) -> None:
    assert claims(expression, comment) == [claim]


@pytest.mark.parametrize(("expression", "comment"), [
    ("*/10 * * * *", "refresh the daily table"),
    ("5 * * * *", "was every 5 minutes"),
    ("0 18 * * *", "02:00 Beijing time"),
    ("0 18 * * *", "02:00 CST"),
    ("0 0 1-7 * *", "every Monday, see the test in the script"),
    ("*/30 8-20 * * *", "every day from 8am to 8pm"),
    ("0 6,18 * * *", "every day at 6am and 6pm"),
    ("0 0 28-31 * *", "last day of the month"),
    ("0 2 * * TUE", "loads Monday's data"),
    ("0 0 * * *", "every 24 hours"),
    ("0 12 * * *", "每天12点"),
    ("0 0 1 1,4,7,10 *", "quarterly"),
    ("0 22 * * *", "每天晚上十点"),
    ("0 0 1 1 *", "once a year"),
])
def test_what_agrees_or_is_about_something_else_is_left_alone(
    expression: str, comment: str
) -> None:
    assert claims(expression, comment) == []


@pytest.mark.parametrize(("text", "parts"), [
    ("5 * * * *", ("5 * * * *", "")),
    ("5 * * * *  # every 5 minutes", ("5 * * * *", "every 5 minutes")),
    ("# every 5 minutes\n5 * * * *\n", ("5 * * * *", "every 5 minutes")),
    ("0 0 * * MON#1", ("0 0 * * MON#1", "")),
    ("0 0 * * MON#1 # first", ("0 0 * * MON#1", "first")),
    ("1 * * * *\n2 * * * *", ("1 * * * *\n2 * * * *", "")),
    ("#", ("", "")),
    ("", ("", "")),
])
def test_a_comment_is_parted_from_its_expression(text: str, parts: tuple[str, str]) -> None:
    assert split(text) == parts


def test_explain_says_what_the_comment_claims_and_what_is_so(project: Project) -> None:
    done = project("cron", "explain", "5 * * * *  # every 5 minutes", "--json")
    assert done.code == 0
    assert (done.json["expression"], done.json["comment"]) == ("5 * * * *", "every 5 minutes")
    assert [lint["code"] for lint in done.json["lints"]] == ["comment_contradicts"]
    done = project("cron", "explain", "5 * * * *  # 每5分钟", "--lang", "zh")
    assert "注释写的是“每5分钟”，实际为：每天，每小时的第 5 分" in done.out
    assert project("cron", "explain", "# only a comment").code == 1


def test_check_reads_the_comment_behind_a_schedule(project: Project) -> None:
    project.write("dags/a.py", """
        import mainspring as ms

        with ms.Dag("a", timezone="UTC",
                    schedule="5 * * * *",  # every 5 minutes
                    ) as dag:
            @ms.task
            def one() -> None: ...

        with ms.Dag("b", timezone="UTC", schedule=[
                ms.cron("1 * 1 * *"),
                "0 0 2 ? * 2-6",
                "0 2 * * 1-5",         # Mon-Fri
                "0 */7 * * *"]) as other:
            @ms.task
            def two() -> None: ...
    """)
    done = project("check", "--json")
    assert done.code == 0
    warnings = done.json["warnings"]
    assert [(each["place"], each["code"]) for each in warnings] == [
        ("dags/a.py:4", "comment_contradicts"), ("dags/a.py:10", "every_hour"),
        ("dags/a.py:11", "weekday_numbers"), ("dags/a.py", "same_schedule")]
    assert "schedule '5 * * * *' of a" in warnings[0]["message"]
    assert "note: dags/a.py:4: " in project("check").err
