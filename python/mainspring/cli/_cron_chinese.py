"""A cron expression in Chinese."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

from mainspring.cli._cron_fields import WEEKDAYS, Fields, contiguous, step_of

__all__ = ["sentence"]

DAYS = ("周日", "周一", "周二", "周三", "周四", "周五", "周六")
ORDER = ("", "一", "二", "三", "四", "五")
MOST_TIMES = 6


def sentence(fields: Fields) -> str:
    """When it fires: year, month, day, time."""
    parts = []
    if fields.years is not None:
        parts.append(_listed(fields.years, lambda n: f"{n} 年"))
    if len(fields.months) < 12:
        parts.append(_listed(fields.months, lambda n: f"{n} 月"))
    parts += [_date(fields), _time(fields)]
    return "，".join(parts)


def _time(fields: Fields) -> str:
    seconds, minutes, hours = fields.seconds, fields.minutes, fields.hours
    if len(seconds) * len(minutes) * len(hours) <= MOST_TIMES:
        return "、".join(_clock(*time) for time in product(hours, minutes, seconds))
    parts = []
    if len(hours) < 24:
        step = step_of(hours, 24)
        parts.append(f"每 {step} 小时（从 0 点起）" if step
                     else _listed(hours, lambda n: f"{n} 点"))
    elif len(minutes) < 60 and step_of(minutes, 60) is None:
        parts.append("每小时")
    if len(minutes) < 60 or seconds == [0]:
        parts.append(_rhythm(minutes, 60, "分", "分钟"))
    if seconds != [0]:
        parts.append(_rhythm(seconds, 60, "秒", "秒"))
    return "的".join(parts)


def _clock(hour: int, minute: int, second: int) -> str:
    return f"{hour:02}:{minute:02}" + (f":{second:02}" if second else "")


def _rhythm(values: Sequence[int], size: int, point: str, span: str) -> str:
    if len(values) == size:
        return f"每{span}"
    step = step_of(values, size)
    if step is not None:
        return f"每 {step} {span}"
    return "第 " + _listed(values, str) + f" {point}"


def _date(fields: Fields) -> str:
    every = "每月" if len(fields.months) == 12 else ""
    month = fields.month_days and _joined(every, "、".join(_month_days(fields.month_days)))
    week = fields.week_days and "、".join(_week_days(fields.week_days, every))
    if month and week:
        return f"{month}，或者{week}" if fields.either else f"{month}，并且是{week}"
    return month or week or "每天"


def _month_days(days: Sequence[int | str]) -> list[str]:
    plain = [day for day in days if isinstance(day, int)]
    parts = [_listed(plain, lambda n: f"{n} 日")] if plain else []
    return parts + [_month_term(day) for day in days if isinstance(day, str)]


def _month_term(term: str) -> str:
    body, work = term.removesuffix("W"), term.endswith("W")
    if body == "L":
        return "最后一个工作日（周一至周五）" if work else "最后一天"
    day = f"倒数第 {int(body[2:]) + 1} 天" if body.startswith("L-") else f" {body} 日"
    return f"离{day}最近的工作日（周一至周五）" if work else day


def _week_days(days: Sequence[int | str], every: str) -> list[str]:
    plain = [day for day in days if isinstance(day, int)]
    parts = [_listed(plain, lambda n: DAYS[n])] if plain else []
    for term in days:
        if isinstance(term, str):
            name = DAYS[WEEKDAYS.index(term[:3])]
            which = f"第{ORDER[int(term[4])]}个" if "#" in term else "最后一个"
            parts.append(f"{every}{which}{name}")
    return parts


def _listed(values: Sequence[int], name: Callable[[int], str]) -> str:
    if contiguous(values):
        return _joined(_joined(name(values[0]), "至"), name(values[-1]))
    return "、".join(name(value) for value in values)


def _joined(left: str, right: str) -> str:
    """Both, with a blank where a number meets a Chinese letter."""
    digits = (left[-1:].isdigit(), right[:1].isdigit())
    return f"{left} {right}" if left and digits[0] != digits[1] else left + right
