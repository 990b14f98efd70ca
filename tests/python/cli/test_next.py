"""``next``, ``cron explain`` and ``cron convert``: when something fires, and in which words."""

from __future__ import annotations

from typing import Any

import pytest
from mainspring import _mainspring as core
from mainspring.cli._cron_chinese import sentence as chinese
from mainspring.cli._cron_english import sentence as english
from mainspring.cli._cron_fields import fields_of
from mainspring.cli._cron_lints import lints

from .conftest import Project

NEW_YORK = ("--tz", "America/New_York", "--json")


def fires(project: Project, *words: str) -> list[dict[str, Any]]:
    done = project("next", *words)
    assert done.code == 0, done
    found: list[dict[str, Any]] = done.json["fires"]
    return found


def marks(fire: dict[str, Any]) -> list[str]:
    return [each["mark"] for each in fire["marks"]]


# next


def test_a_fire_has_its_local_time_utc_and_business_date(project: Project) -> None:
    done = project("next", "30 2 * * *", "--tz", "Asia/Shanghai", "--from", "2024-03-01", "-n", "2")
    assert done.code == 0
    assert done.out.splitlines() == [
        "30 2 * * *  Asia/Shanghai",
        "LOCAL                           UTC                   BIZ DATE",
        "2024-03-01 02:30:00 Fri +08:00  2024-02-29T18:30:00Z  2024-02-29",
        "2024-03-02 02:30:00 Sat +08:00  2024-03-01T18:30:00Z  2024-03-01",
    ]


def test_a_gap_is_marked_with_the_time_that_was_meant(project: Project) -> None:
    found = fires(project, "30 2 * * *", *NEW_YORK, "--from", "2024-03-10", "-n", "2")
    assert [marks(fire) for fire in found] == [["gap"], []]
    assert found[0]["local"] == "2024-03-10T03:00:00-04:00"
    assert found[0]["nominal"] == "2024-03-10T02:30:00"
    assert found[0]["biz_date"] == "2024-03-09"


def test_times_of_a_gap_that_become_one_run_are_counted(project: Project) -> None:
    found = fires(project, "*/20 2,3 * * *", *NEW_YORK, "--from", "2024-03-10", "-n", "2")
    assert [marks(fire) for fire in found] == [["merged"], []]
    assert found[0]["marks"][0]["text"] == "4 times of the clock, one run"


def test_both_passes_of_a_fold_are_marked(project: Project) -> None:
    found = fires(project, "@hourly", *NEW_YORK, "--from", "2024-11-03", "-n", "4")
    assert [marks(fire) for fire in found] == [[], ["fold"], ["fold"], []]
    assert [fire["marks"][0]["text"][:10] for fire in found[1:3]] == ["the first ", "the second"]


def test_a_year_is_counted_and_can_be_listed(project: Project) -> None:
    done = project("next", "0 0 L * *", "--year", "2024")
    assert done.out.splitlines()[-1] == "12 fires in 2024"
    assert len(project("next", "0 0 L * *", "--year", "2024", "-n", "5").out.splitlines()) == 7
    assert len(fires(project, "0 0 29 2 *", "--year", "2023", "--json")) == 0
    assert len(fires(project, "* * * * *", "--year", "2023", "-n", "7", "--json")) == 7


def test_what_is_over_says_so(project: Project) -> None:
    done = project("next", "0 0 0 1 1 ? 2020")
    assert (done.code, done.out.splitlines()[-1]) == (0, "it does not fire any more")


def test_intervals_and_the_projects_zone_count(project: Project) -> None:
    project.write("mainspring.toml", 'timezone = "Asia/Shanghai"')
    found = fires(project, "every 12h", "--from", "2024-01-01", "-n", "2", "--json")
    assert [fire["local"] for fire in found] == [
        "2024-01-01T00:00:00+08:00", "2024-01-01T12:00:00+08:00"]


def test_a_dag_has_its_own_zones_dates_and_offset(project: Project) -> None:
    project.write("dags/loads.py", """
        import mainspring as ms

        with ms.Dag("loads", start_date="2024-01-02", biz_offset=0, schedule=[
            ms.cron("0 2 * * *", "Asia/Shanghai"), ms.cron("0 2 1-3 * *", "Asia/Shanghai"),
        ]) as dag:
            @ms.task
            def load() -> None: ...
    """)
    found = fires(project, "loads", "--from", "2023-12-30", "-n", "3", "--json")
    assert [fire["local"][:10] for fire in found] == ["2024-01-02", "2024-01-03", "2024-01-04"]
    assert [fire["biz_date"] for fire in found] == ["2024-01-02", "2024-01-03", "2024-01-04"]
    assert [marks(fire) for fire in found] == [["merged"], ["merged"], []]
    refused = project("next", "loads", "--tz", "UTC")
    assert refused.code == 2 and "zones of its schedules" in refused.err
    assert "names no zone" not in project("check").err


@pytest.mark.parametrize(("words", "code", "message"), [
    (["0 0 30 2 *"], 1, "[never]"),
    (["0 0 * *"], 1, "[field_count]"),
    (["@daily", "--tz", "Asia/Beijing"], 2, "Asia/Shanghai"),
    (["@daily", "--from", "soon"], 2, "is not a date and time"),
    (["@daily", "--year", "1969"], 2, "from 1970 to 2199"),
    (["@daily", "--year", "2024", "--from", "2024-01-01"], 2, "do not go together"),
    (["* * * * * ?", "--year", "2024"], 2, "more than 600,000"),
    (["* * * * *", "--year", "2024", "--json"], 2, "more than 100,000"),
    (["@daily", "-n", "100001"], 2, "too many"),
    (["nothing"], 2, "there is no dag"),
])
def test_what_cannot_be_shown_says_why(
    project: Project, words: list[str], code: int, message: str
) -> None:
    done = project("next", *words)
    assert done.code == code and message in done.err, done


# cron explain


WORDS = [
    ("* * * * *", "Every minute, every day", "每天，每分钟"),
    ("*/15 * * * *", "Every 15 minutes, every day", "每天，每 15 分钟"),
    ("*/10 * * * * ?", "Every 10 seconds, every day", "每天，每 10 秒"),
    ("@daily", "At 00:00, every day", "每天，00:00"),
    ("0 9-17 * * MON-FRI", "At minute 0 of the hours 09 to 17, on Monday to Friday",
     "周一至周五，9 点至 17 点的第 0 分"),
    ("15 */2 * * *", "At minute 15 of every 2nd hour from 00, every day",
     "每天，每 2 小时（从 0 点起）的第 15 分"),
    ("0 0 0/12 1,15 * ? 2025-2030",
     "At 00:00 and 12:00, on day 1 and 15 of the month, in 2025 to 2030",
     "2025 年至 2030 年，每月 1 日、15 日，00:00、12:00"),
    ("0 18 LW * *", "At 18:00, on the last weekday (MON-FRI) of the month",
     "每月最后一个工作日（周一至周五），18:00"),
    ("0 30 2 L-3,15W 1 ?",
     "At 02:30, on the day 3 days before the last of the month and the weekday (MON-FRI) nearest "
     "to day 15 of the month, in January",
     "1 月，倒数第 4 天、离 15 日最近的工作日（周一至周五），02:30"),
    ("0 0 0 ? * 2#1,6L", "At 00:00, on the first Monday of the month and the last Friday of the "
     "month", "每月第一个周一、每月最后一个周五，00:00"),
    ("0 0 13 * FRI", "At 00:00, on day 13 of the month or on Friday", "每月 13 日，或者周五，00:00"),
    ("0 0 */10 * MON", "At 00:00, on day 1, 11, 21 and 31 of the month where it is Monday",
     "每月 1 日、11 日、21 日、31 日，并且是周一，00:00"),
]


@pytest.mark.parametrize(("expression", "in_english", "in_chinese"), WORDS)
def test_an_expression_in_words(expression: str, in_english: str, in_chinese: str) -> None:
    fields = fields_of(core.Rule.cron(expression, "UTC"))
    assert english(fields) == in_english
    assert chinese(fields) == in_chinese


@pytest.mark.parametrize(("expression", "codes"), [
    ("0 2 * * *", []),
    ("0 2 * * MON-FRI", []),
    ("0 2 * * MON#1", []),
    ("0 2 * * */2", []),
    ("0 2 * * 1-5", ["weekday_numbers"]),
    ("0 0 2 ? * 2#1", ["weekday_numbers"]),
    ("0 2 * * 0", ["weekday_numbers"]),
    ("* 2 * * *", ["every_minute"]),
    ("* * 2 * * ?", ["every_second"]),
    ("1 * 1 * *", ["every_hour"]),
    ("0 0 13 * FRI", ["either_day"]),
    ("*/7 * * * *", ["uneven_step"]),
    ("0 0 31 * *", ["short_months"]),
    ("0 0 31 1,3 *", []),
    ("0 0 30 2,3 *", ["short_months"]),
    ("0 0 0 1 1 ? 2020", ["over"]),
    ("@hourly", []),
])
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_what_is_probably_not_meant(expression: str, codes: list[str], lang: str) -> None:
    rule = core.Rule.cron(expression, "UTC")
    found = lints(rule, expression, fields_of(rule), lang)
    assert [problem.code for problem in found] == codes
    assert all(problem.message.isascii() == (lang == "en") for problem in found)


def test_the_numbers_of_weekdays_are_told_in_both_dialects(project: Project) -> None:
    done = project("cron", "explain", "0 0 2 ? * 2-6", "--json")
    assert done.code == 0
    assert done.json["words"] == "At 02:00, on Monday to Friday"
    lint = done.json["lints"][0]
    assert lint["message"] == "2 is MON here; with 5 fields it is TUE"
    assert lint["hint"] == "write names: MON-FRI"


def test_words_are_printed_in_the_language_asked_for(project: Project) -> None:
    assert project("cron", "explain", "@daily").out.startswith("At 00:00, every day\n")
    assert project("cron", "explain", "@daily", "--lang", "zh").out.startswith("每天，00:00\n")
    assert project("cron", "explain", "@daily", "--lang", "fr").code == 2
    refused = project("cron", "explain", "0 0 30 2 *", "--json")
    assert refused.code == 1 and refused.json["problems"][0]["code"] == "never"


# cron convert


@pytest.mark.parametrize(("expression", "to", "converted"), [
    ("@daily", "quartz", "0 0 0 * * ?"),
    ("30 8 * * 1-5", "quartz", "0 30 8 ? * MON-FRI"),
    ("0 0 * * FRIL", "quartz", "0 0 0 ? * FRIL"),
    ("0 0 */2 * *", "quartz", "0 0 0 1,3,5,7,9,11,13,15,17,19,21,23,25,27,29,31 * ?"),
    ("0 0 2 ? * 2-6", "unix", "0 2 * * MON-FRI"),
    ("0 0 2 1 * ?", "unix", "0 2 1 * *"),
    ("0 0 2 LW * ?", "unix", "0 2 LW * *"),
    ("0 2 * * 7", "unix", "0 2 * * SUN"),
])
def test_an_expression_in_the_other_dialect(
    project: Project, expression: str, to: str, converted: str
) -> None:
    done = project("cron", "convert", expression, "--to", to, "--json")
    assert done.code == 0, done
    made = done.json["converted"]
    rules = [core.Rule.cron(text, "UTC") for text in (expression, made, converted)]
    assert rules[0].same_times(rules[1]) and rules[0].same_times(rules[2])
    assert rules[1].dialect == to
    assert ("crond" in done.err) == (converted == "0 2 LW * *")


@pytest.mark.parametrize(("expression", "to", "message"), [
    ("0 0 13 * FRI", "quartz", "either of its day fields"),
    ("0 0 */2 * FRI", "quartz", "both of its day fields"),
    ("5 0 2 * * ?", "unix", "seconds other than 0"),
    ("0 0 2 * * ? 2025", "unix", "limited to years"),
])
def test_what_the_other_dialect_cannot_say_is_refused(
    project: Project, expression: str, to: str, message: str
) -> None:
    done = project("cron", "convert", expression, "--to", to)
    assert done.code == 1 and message in done.err and "[no_equivalent]" in done.err
    assert done.out == ""
