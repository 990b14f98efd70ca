"""What a comment beside a cron expression claims, and whether the expression does that.

A wrong alarm costs more than a missed one: people stop reading. So a claim counts only where it is
plainly about this schedule, and of several claims of one kind only if none holds.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timezone
from itertools import pairwise
from typing import NamedTuple

from mainspring import _mainspring as core
from mainspring import _moment
from mainspring.cli._cron_fields import WEEKDAYS, Fields

__all__ = ["contradictions", "split"]

MINUTE, HOUR, DAY = 60, 3600, 86_400
SIZES = {"second": 1, "sec": 1, "秒": 1, "minute": MINUTE, "min": MINUTE, "分": MINUTE,
         "hour": HOUR, "hr": HOUR, "时": HOUR, "day": DAY, "天": DAY, "日": DAY, "week": 7 * DAY,
         "周": 7 * DAY, "星期": 7 * DAY, "月": 30 * DAY, "month": 30 * DAY, "quarter": 91 * DAY,
         "季": 91 * DAY, "year": 365 * DAY, "年": 365 * DAY}
ADVERBS = {"hourly": HOUR, "daily": DAY, "nightly": DAY, "weekly": 7 * DAY, "monthly": 30 * DAY,
           "quarterly": 91 * DAY, "yearly": 365 * DAY, "annually": 365 * DAY}
CHINESE = {word: number for number, word in enumerate("零一二三四五六七八九十")} | {
    "两": 2, "十一": 11, "十二": 12}
NUMBER = r"\d{1,3}|十[一二]|[一二两三四五六七八九十]"
NAMES = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
NAME = "|".join(NAMES)
SHORT = "sun|mon|tues?|wed|thu(?:rs?)?|fri|sat"

# Words that make a claim one about something else, about the past or about other cases.
DOUBT = re.compile(
    r"\b(not|no|never|instead|was|were|used to|previous|except|unless|if|e\.g|example|todo|fixme|"
    r"change[ds]?|old|formerly|but|don'?t|disabled)\b|不|改|原|除|以前|例", re.I)
# With a zone, about a time, or in a range a clock is not compared: it may well mean the same.
OTHER_CLOCK = re.compile(
    r"\b(?!AM\b|PM\b|MON\b|TUE\b|WED\b|THU\b|FRI\b|SAT\b|SUN\b)[A-Z]{2,5}\b|\b[A-Z]T\b"
    r"|(?i:\b(utc|gmt|local|time ?zone|\w+ time|from|start\w*|between|until|till|after|before|by|"
    r"through|to(?! run))\b)|时间|北京|到|至|起|之?[前后]|[~≈–—/=]|\d\s*-\s*\d")
PLAIN = re.compile(
    r"\b(run(?:s|ning)?|execut(?:e[sd]?|ion|ing)|schedul(?:e[sd]?|ing)|trigger(?:s|ed)?|fires?|at|"
    r"on|in|the|an?|every|each|and|of|only|days?|once|jobs?|cron|to|morning|night|evening|"
    r"afternoon|o'?clock|times?|by|default|this|utc|gmt)\b"
    r"|执行|运行|触发|自动|定时|任务|一次|整点?|的|在|跑批?|[\d\W_]", re.I)
RUNS = r"(?:run|runs|running|execut\w+|schedul\w+(?: to run)?|trigger\w*|fires?)\s+(?:once\s+)?"


class Claim(NamedTuple):
    """A part of the comment, what kind of thing it says, and whether that is so."""

    kind: str
    text: str
    holds: bool


class _Facts(NamedTuple):
    """What an expression does."""

    fields: Fields
    seconds: set[int]
    """Between fires."""
    days: set[int]
    """Between days with fires."""


def split(text: str) -> tuple[str, str]:
    """Part an expression from the comment behind it, or on the lines above it."""
    comments, lines = [], []
    for line in text.splitlines():
        # `#` inside a field is a weekday of the month: MON#1.
        before, mark, comment = re.split(r"(?:^|(?<=\s))(#)", line, maxsplit=1) \
            if re.search(r"(?:^|\s)#", line) else (line, "", "")
        lines += [before.strip()] if before.strip() else []
        comments += [comment.strip("# \t")] if mark else []
    # A second line that is no comment stays in: the parser says what is wrong with it.
    return ("\n".join(lines) if comments else text), " ".join(comments)


def contradictions(rule: core.Rule, fields: Fields, comment: str) -> list[str]:
    """The claims of a comment that the expression does not keep."""
    # What stands in brackets is an aside, and often says what else it could be.
    outside = re.sub(r"[(（][^)）]*[)）]", " ", comment)
    if not outside.strip():
        outside = comment
    facts = None if DOUBT.search(outside) else _facts(rule, fields)
    clocks = not OTHER_CLOCK.search(comment)
    claims = _claims(outside, facts, clocks) if facts else []
    wrong = []
    for kind in dict.fromkeys(claim.kind for claim in claims):
        same = [claim for claim in claims if claim.kind == kind]
        if not any(claim.holds for claim in same):
            wrong += [claim.text.strip() for claim in same]
    return list(dict.fromkeys(wrong))


def _facts(rule: core.Rule, fields: Fields) -> _Facts | None:
    start = _moment.instant_in("UTC", datetime(2024, 1, 1, tzinfo=timezone.utc))
    fires = [at // 1_000_000 for at, _ in rule.next(start - 1, 1500)]
    if len(fires) < 3:
        return None
    dates = list(dict.fromkeys(at // DAY for at in fires))
    if len(dates) < 8:  # so dense that its days have to be looked for
        dates = _dates(rule, start)
    return _Facts(fields, {b - a for a, b in pairwise(fires)}, {b - a for a, b in pairwise(dates)})


def _dates(rule: core.Rule, start: int) -> list[int]:
    found: list[int] = []
    at = start - 1
    while len(found) < 60 and (fires := rule.next(at, 1)):
        found.append(fires[0][0] // 1_000_000 // DAY)
        at = (found[-1] + 1) * DAY * 1_000_000 - 1
    return found


def _claims(comment: str, facts: _Facts, clocks: bool) -> list[Claim]:
    """Everything that is claimed; what was understood is taken out of the text on the way."""
    sure: list[Claim] = []
    perhaps: list[Claim] = []
    rest = comment
    for reader in (*READERS, *CLOCKS) if clocks else READERS:
        for match in re.finditer(reader.pattern, rest, re.I):
            holds = reader.holds(facts, match)
            if holds is not None:
                # "run daily" is about the schedule; "the daily table" is not.
                about = re.search(RUNS + "$", rest[: match.start()], re.I) is not None
                known = sure if reader.sure or about else perhaps
                known.append(Claim(reader.kind, match[0], holds))
        rest = re.sub(reader.pattern, " ", rest, flags=re.I)
    if not PLAIN.sub("", rest):
        return sure + perhaps
    # What is not sure still speaks for the comment where it is right.
    kinds = {claim.kind for claim in sure}
    return sure + [claim for claim in perhaps if claim.holds and claim.kind in kinds]


def _size(word: str) -> int:
    word = word.lower().removeprefix("小")
    return SIZES.get(word) or SIZES[word.removesuffix("s")]


def _number(text: str) -> int:
    return int(text) if text.isdigit() else CHINESE[text]


def _every(facts: _Facts, count: int, size: int) -> bool:
    """Whether this rhythm can be seen in the fires."""
    fields, length = facts.fields, count * size
    if size < DAY:
        return length in facts.seconds
    if length == DAY:
        return 1 in facts.days and len(fields.hours) < 24
    if size == DAY:
        return any(abs(days - count) <= (1 if count >= 28 else 0) for days in facts.days)
    if size == 7 * DAY:
        return count > 1 or fields.week_days is not None or 7 in facts.days
    if size == 30 * DAY and count == 1:
        monthly = any(28 <= days <= 31 for days in facts.days)
        return monthly or fields.month_days is not None or len(fields.months) < 12
    near = any(abs(days * DAY - length) < 16 * DAY for days in facts.days)
    return near or len(fields.months) < 12


def _chinese_day(word: str) -> str:
    return WEEKDAYS["日一二三四五六".find(word) if word != "天" else 0]


def _week_range(facts: _Facts, first: str, last: str) -> bool:
    low, high = (WEEKDAYS.index(name[:3].upper()) for name in (first, last))
    return _on(facts, {(low + step) % 7 for step in range((high - low) % 7 + 1)})


def _on(facts: _Facts, wanted: set[int]) -> bool:
    """Whether it fires only on these weekdays; with days of the month nobody can tell."""
    fields = facts.fields
    if fields.month_days is not None:
        return True
    if fields.week_days is None:
        return False
    days = {day if isinstance(day, int) else WEEKDAYS.index(day[:3]) for day in fields.week_days}
    return bool(days & wanted) if len(wanted) == 1 else days <= wanted


def _on_month_day(facts: _Facts, day: int) -> bool:
    days = facts.fields.month_days
    if days is None:
        return facts.fields.week_days is not None
    terms = any(isinstance(item, str) for item in days)
    return terms or day in days or (day == 31 and any(item in days for item in (28, 29, 30)))


def _clock(facts: _Facts, match: re.Match[str]) -> bool | None:
    """Such as 2am, 9:30 PM and 14:05."""
    hour, minute, half = int(match[1]), match[2], match[3]
    if half and not 1 <= hour <= 12:
        return None
    if half:
        hour = hour % 12 + (12 if half.lower() == "p" else 0)
    return _fires_at(facts, {hour}, minute)


def _chinese_clock(facts: _Facts, match: re.Match[str]) -> bool | None:
    part, hour, minute = match[1] or "", _number(match[2]), match[3]
    if hour > 24:
        return None
    if hour == 12 and part != "中午":
        return _fires_at(facts, {0, 12}, minute)  # said for both
    late = part in ("下午", "晚上", "夜里") and hour < 12
    # Without a word for the half of the day a small number may mean either.
    hours = {hour + 12} if late else {hour % 24} if part or hour > 12 else {hour, (hour + 12) % 24}
    return _fires_at(facts, hours, minute)


def _fires_at(facts: _Facts, hours: set[int], minute: str | None) -> bool:
    fields = facts.fields
    named = minute is None or int(minute) in fields.minutes
    return bool(hours & set(fields.hours)) and named and len(fields.hours) < 24


def _half(match: re.Match[str]) -> int:
    """The size of 每半小时 and 每5分钟."""
    return _size(match[3]) // (2 if match[1] else 1)


class Reader(NamedTuple):
    """How a claim is written and what makes it true; ``None`` says that it is none after all."""

    kind: str
    pattern: str
    sure: bool
    """Whether it can only be about the schedule, also in the middle of other words."""
    holds: Callable[[_Facts, re.Match[str]], bool | None]


WORKDAYS = {1, 2, 3, 4, 5}
UNITS = r"seconds?|secs?|minutes?|mins?|hours?|hrs?|days?|weeks?|months?|quarters?|years?"

# In this order: a range of weekdays is not two weekdays, and 每周一 is no 每周.
READERS = (
    Reader("weekday", rf"\b({SHORT})[a-z]*\s*(?:-|–|to|through)\s*({SHORT})[a-z]*\b", False,
           lambda facts, m: _week_range(facts, m[1], m[2])),
    Reader("weekday", r"(?:周|星期)([一二三四五六日天])\s*[到至\-~]\s*"
           r"(?:周|星期)?([一二三四五六日天])", True,
           lambda facts, m: _week_range(facts, _chinese_day(m[1]), _chinese_day(m[2]))),
    Reader("weekday", r"\b(?:every|each)\s+(?:weekday|workday|business day|working day)s?\b", True,
           lambda facts, m: _on(facts, WORKDAYS)),
    Reader("weekday", r"\bweekdays\b", False, lambda facts, m: _on(facts, WORKDAYS)),
    Reader("weekday", rf"\b(?:every|each)\s+({NAME})s?\b", True,
           lambda facts, m: _on(facts, {NAMES.index(m[1].lower())})),
    Reader("weekday", rf"\b({NAME})s?\b", False,
           lambda facts, m: _on(facts, {NAMES.index(m[1].lower())})),
    Reader("weekday", r"每个?(?:周|星期)([一二三四五六日天])", True,
           lambda facts, m: _on(facts, {WEEKDAYS.index(_chinese_day(m[1]))})),
    Reader("month day",
           r"\b(\d{1,2})(?:st|nd|rd|th)\s+(?:day\s+)?of\s+(?:the|each|every)\s+month\b", True,
           lambda facts, m: _on_month_day(facts, int(m[1]))),
    Reader("month day", r"\b(first|last)\s+day\s+of\s+(?:the|each|every)\s+month\b", True,
           lambda facts, m: _on_month_day(facts, 1 if m[1].lower() == "first" else 31)),
    Reader("month day", rf"每个?月的?第?({NUMBER})\s*[号號日天]", True,
           lambda facts, m: _on_month_day(facts, _number(m[1]))),
    Reader("month day", r"每个?月的?最后一[天日]", True, lambda facts, m: _on_month_day(facts, 31)),
    Reader("rhythm", r"\b(?:every|each)\s*(?:(\d{1,3})(?:st|nd|rd|th)?\s*)?"
           rf"({UNITS})\b(?!\s+\d|[- ]of)", True,
           lambda facts, m: _every(facts, int(m[1] or 1), _size(m[2]))),
    Reader("rhythm", r"\bonce\s+(?:an?|per)\s+(hour|day|week|month|year)\b", True,
           lambda facts, m: _every(facts, 1, _size(m[1]))),
    Reader("rhythm", rf"每隔?\s*(半)?\s*({NUMBER})?\s*个?\s*"
           r"(秒|分|小?时|天|日|周|星期|月|季|年)[钟鐘]?", True,
           lambda facts, m: _every(facts, _number(m[2] or "一"), _half(m))),
    Reader("rhythm", rf"\b({'|'.join(ADVERBS)})\b", False,
           lambda facts, m: _every(facts, 1, ADVERBS[m[1].lower()])),
)
CLOCKS = (
    Reader("clock", r"(?<![\d:.\-])(\d{1,2})(?::([0-5]\d))?\s*([ap])\.?m\b\.?", True, _clock),
    Reader("clock", r"(?<![\d:.\-])([01]?\d|2[0-3]):([0-5]\d)()(?![\d:])", True, _clock),
    Reader("clock", r"\bmidnight\b|零点|午夜", True, lambda facts, m: _fires_at(facts, {0}, None)),
    Reader("clock", r"\bnoon\b|正午", True, lambda facts, m: _fires_at(facts, {12}, None)),
    Reader("clock", rf"(凌晨|清晨|早上|早晨|上午|中午|下午|晚上|夜里)?\s*({NUMBER})\s*[点點]"
           r"(?:(\d{1,2})\s*分)?", True, _chinese_clock),
)
