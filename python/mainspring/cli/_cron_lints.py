"""What is legal in a cron expression and probably not meant, in English and Chinese."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timezone
from importlib import import_module

from mainspring import _mainspring as core
from mainspring import _moment
from mainspring.cli._cron_comments import contradictions
from mainspring.cli._cron_fields import WEEKDAYS, Fields, raw_fields
from mainspring.errors import Problem

__all__ = ["LANGUAGES", "lints", "sentence"]

LANGUAGES = {"en": "_cron_english", "zh": "_cron_chinese"}

TEXTS = {
    "weekday_numbers": (
        ("{number} is {here} here; with {fields} fields it is {there}", "write names: {names}"),
        ("这里的 {number} 是 {here}；写成 {fields} 个字段时它是 {there}", "请写英文缩写：{names}"),
    ),
    "every_second": (
        ("it fires every second of the minutes that match", "write 0 in the second field"),
        ("在匹配的分钟里每秒都会触发", "秒字段写 0"),
    ),
    "every_minute": (
        ("it fires every minute of the hours that match: {count} times a day",
         "write 0 in the minute field to fire once an hour"),
        ("在匹配的小时里每分钟都会触发：每天 {count} 次", "分字段写 0，则每小时一次"),
    ),
    "every_hour": (
        ("it fires in each of the 24 hours of the days that match",
         "write 0 in the hour field to fire once a day"),
        ("在匹配的日期里 24 个小时都会触发", "时字段写 0，则每天一次"),
    ),
    "either_day": (
        ("it fires on days that match either day field, not both",
         "write * in one of them, or make two schedules to say so plainly"),
        ("日和星期两个字段满足其一就会触发，不是同时满足",
         "其中一个写 *，或者分成两个调度"),
    ),
    "uneven_step": (
        ("{item} starts again with each {unit}, so the last gap is shorter",
         "for a steady rhythm use an interval, such as ms.every(\"90m\")"),
        ("{item} 在每{unit}开始时重新计数，最后一段间隔更短",
         "要固定间隔，请用 ms.every(\"90m\") 这样的间隔"),
    ),
    "short_months": (
        ("months without day {day} are left out", "L is the last day of any month"),
        ("没有 {day} 日的月份不会触发", "L 表示每月最后一天"),
    ),
    "comment_contradicts": (
        ("the comment says \"{claim}\", and it fires: {words}",
         "correct the one that is wrong; a comment about a clock may name its zone"),
        ("注释写的是“{claim}”，实际为：{words}", "请改正其中写错的一个；注释里的时间可以写明时区"),
    ),
    "over": (
        ("it does not fire any more", None),
        ("以后不会再触发", None),
    ),
}
UNITS = {60: ("hour", "小时"), 24: ("day", "天"), 31: ("month", "月")}


def lints(
    rule: core.Rule, expression: str, fields: Fields, lang: str, comment: str = ""
) -> list[Problem]:
    """What is probably not meant."""
    at = 1 if lang == "zh" else 0
    raw = raw_fields(expression)
    found = [*_written(raw, fields, at), *_counts(fields, at)] if raw else []
    for claim in contradictions(rule, fields, comment) if comment else []:
        words = sentence(fields, lang)
        found.append(_problem("comment_contradicts", "comment", at, claim=claim, words=words))
    now = _moment.instant_in("UTC", datetime.now(timezone.utc))
    if not rule.next(now):
        found.append(_problem("over", "cron", at))
    return found


def sentence(fields: Fields, lang: str) -> str:
    """When it fires, in words."""
    module = import_module(f"mainspring.cli.{LANGUAGES[lang]}")
    return str(module.sentence(fields))


def _problem(code: str, place: str, at: int, **words: object) -> Problem:
    message, hint = TEXTS[code][at]
    return Problem(code, place, message.format(**words), hint and hint.format(**words))


def _written(raw: list[str], fields: Fields, at: int) -> Iterator[Problem]:
    """What the text shows: numbers of weekdays, and steps that do not come out even."""
    # A step and the k of n#k are no weekdays.
    plain = re.sub(r"/\d+|#\d", "", raw[5])
    numbers = [int(number) for number in re.findall(r"\d+", plain)]
    if numbers:
        # Quartz has no 0, so another number shows the difference better.
        number, first = next(filter(None, numbers), 7), 1 if fields.quartz else 0
        here, there = WEEKDAYS[(number - first) % 7], WEEKDAYS[(number - 1 + first) % 7]
        named = re.sub(r"(?<![/#\d])\d+", lambda n: WEEKDAYS[(int(n[0]) - first) % 7], raw[5])
        other = "5" if fields.quartz else "6 or 7" if at == 0 else "6 或 7"
        yield _problem("weekday_numbers", "day of week", at, number=number, here=here,
                       there=there, fields=other, names=named)
    steps = (("second", raw[0], 60), ("minute", raw[1], 60), ("hour", raw[2], 24),
             ("day of month", raw[3], 31))
    for place, text, size in steps:
        for item in text.split(","):
            body, slash, step = item.partition("/")
            if slash and body in ("*", "0") and int(step) > 1 and size % int(step):
                unit = ("minute", "分钟") if place == "second" else UNITS[size]
                yield _problem("uneven_step", place, at, item=item, unit=unit[at])


def _counts(fields: Fields, at: int) -> Iterator[Problem]:
    """What the values show: more fires, or other days, than somebody may think."""
    some_hours = len(fields.hours) < 24
    if len(fields.seconds) == 60 and (some_hours or len(fields.minutes) < 60):
        yield _problem("every_second", "second", at)
    elif len(fields.minutes) == 60 and some_hours:
        count = 60 * len(fields.hours) * len(fields.seconds)
        yield _problem("every_minute", "minute", at, count=count)
    days = fields.month_days is not None or len(fields.months) < 12
    if days and len(fields.hours) == 24 and len(fields.minutes) < 60 and not fields.either:
        yield _problem("every_hour", "hour", at)
    if fields.either:
        yield _problem("either_day", "day of week", at)
    elif fields.month_days and all(isinstance(day, int) and day > 28 for day in fields.month_days):
        least = min(day for day in fields.month_days if isinstance(day, int))
        longest = {1: 31, 3: 31, 5: 31, 7: 31, 8: 31, 10: 31, 12: 31, 2: 28}
        if any(longest.get(month, 30) < least for month in fields.months):
            yield _problem("short_months", "day of month", at, day=least)
