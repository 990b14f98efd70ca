"""How fast the next fires of a schedule are found, beside the Python packages that do the same.

Run with `make bench`. Call by call, a datetime is asked about and each answer is the next question:
croniter and APScheduler have a method for that, CronSim is made anew. In bulk, a list of a range is
made: croniter and CronSim are stepped, APScheduler has only its method. Every figure is the best of several rounds, the peers' too, because the machine has other
work. A peer that cannot read a line is left out of it, and where it reads another meaning into a
clock change the work is alike enough to compare.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from itertools import islice
from zoneinfo import ZoneInfo

import mainspring as ms
from _measure import line

LINES = [
    "* * * * *",
    "*/5 * * * *",
    "*/15 * * * *",
    "7,37 * * * *",
    "0 * * * *",
    "30 */2 * * *",
    "0 */6 * * *",
    "15 9-17 * * *",
    "*/10 8-18 * * mon-fri",
    "30 2 * * *",
    "30 1 * * *",
    "0 0 * * *",
    "30 8 * * mon-fri",
    "0 6 * * sun",
    "0 4 1 * *",
    "0 4 1,15 * *",
    "0 3 1 1,4,7,10 *",
    "0 0 31 * *",
    "0 0 29 2 *",
    "0 18 LW 12 *",
]
DAILY, SPARSE = "30 2 * * *", ("0 0 29 2 *", "0 18 LW 12 *")
ZONES = ["UTC", "America/New_York"]
START = datetime(2024, 1, 1, tzinfo=timezone.utc)
END = datetime(2190, 1, 1, tzinfo=timezone.utc)
ROUNDS, BUDGET = 3, 0.02
MILLION = [
    "UTC", "America/New_York", "Europe/Berlin", "Asia/Shanghai", "Asia/Kolkata", "Asia/Tokyo",
    "Australia/Sydney", "America/Sao_Paulo", "Africa/Cairo", "Europe/London", "America/Chicago",
    "Pacific/Auckland",
]


def rate(calls: Callable[[], Iterator[object]]) -> float:
    """Seconds a step of an iterator, the best of several rounds of a fixed time."""
    best = float("inf")
    for _ in range(ROUNDS):
        steps, done, batch = calls(), 0, 1
        began = now = time.perf_counter()
        while now - began < BUDGET:
            found = sum(1 for _ in islice(steps, batch))
            done, batch = done + found, min(batch * 2, 512)
            now = time.perf_counter()
            if not found:
                break
        if done:
            best = min(best, (now - began) / done)
    return best


def again(start: datetime, after: Callable[[datetime], datetime | None]) -> Iterator[datetime]:
    """Each answer is the next question; from the start again when there is none."""
    at = start
    while True:
        found = after(at)
        at = found if found is not None and found < END else start
        yield at


def ours(text: str, zone: str) -> Callable[[], Iterator[object]]:
    rule = ms.cron(text, zone)

    def after(at: datetime) -> datetime | None:
        found = rule.next(at)
        return found[0] if found else None

    return lambda: again(START.astimezone(ZoneInfo(zone)), after)


def croniter(text: str, zone: str) -> tuple[Callable[[], Iterator[object]], ...]:
    from croniter import croniter as peer

    begin = START.astimezone(ZoneInfo(zone))
    asked = peer(text, begin)

    def steps() -> Iterator[object]:
        while True:
            it = peer(text, begin)
            while (at := it.get_next(datetime)) < END:
                yield at

    next(steps())
    return lambda: again(begin, lambda at: asked.get_next(datetime, start_time=at)), steps


def cronsim(text: str, zone: str) -> tuple[Callable[[], Iterator[object]], ...]:
    from cronsim import CronSim

    begin = START.astimezone(ZoneInfo(zone))

    def steps() -> Iterator[object]:
        while True:
            yield from CronSim(text, begin)

    next(steps())
    return lambda: again(begin, lambda at: next(CronSim(text, at), None)), steps


def apscheduler(text: str, zone: str) -> tuple[Callable[[], Iterator[object]], ...]:
    from apscheduler.triggers.cron import CronTrigger

    trigger = CronTrigger.from_crontab(text, timezone=zone)
    begin = START.astimezone(ZoneInfo(zone))
    calls = lambda: again(begin, lambda at: trigger.get_next_fire_time(at, at))  # noqa: E731
    return calls, calls


def bulk(text: str, zone: str) -> tuple[float, float]:
    """Seconds a fire for a list of aware datetimes, and for a column."""
    rule = ms.cron(text, zone)
    days = 366
    while rule.count(START, START + timedelta(days)) < 20_000 and days < 60_000:
        days *= 4
    end = min(END, START + timedelta(days))
    count = rule.count(START, end)
    datetimes = [timed(lambda: rule.between(START, end, most=None)) for _ in range(ROUNDS)]
    column = [timed(lambda: rule.between(START, end, most=None, as_="numpy")) for _ in range(ROUNDS)]
    return min(datetimes) / count, min(column) / count


def timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def compare() -> None:
    """A line for each expression and zone: microseconds a fire, and how many times faster we are."""
    peers = (croniter, cronsim, apscheduler)
    names = "".join(f"{peer.__name__:>12}" for peer in peers)
    head = f"{'microseconds a fire':<40}"
    print(f"{'':<40}{'call by call':>44}{'':>9}{'in bulk':>44}")
    print(f"{head}{'ours':>8}{names}{'':>9}{'ours':>8}{names}")
    ratios: dict[str, list[float]] = {"call by call": [], "in bulk, as datetimes": []}
    columns: list[float] = []
    for zone in ZONES:
        for text in LINES:
            datetimes, column = bulk(text, zone)
            took: list[list[float]] = [[rate(ours(text, zone))], [datetimes]]
            for peer in peers:
                try:
                    ways = peer(text, zone)
                except (ValueError, KeyError):  # it cannot read the line
                    ways = ()
                for at in (0, 1):
                    took[at].append(rate(ways[at]) if ways else float("inf"))
            columns.append(min(took[1][1:]) / column)
            shown = f"{text:<23}{zone:<17}"
            for (own, *theirs), name in zip(took, ratios, strict=True):
                ratio = min(theirs) / own
                ratios[name].append(ratio)
                cells = ["-" if each == float("inf") else f"{each * 1e6:.1f}" for each in theirs]
                shown += f"{own * 1e6:>8.2f}{''.join(f'{cell:>12}' for cell in cells)}{ratio:>8.1f}x"
            print(shown, flush=True)
    ratios["in bulk, as a column of numpy"] = columns
    for (name, found), limit in zip(ratios.items(), (10, 50, 50), strict=True):
        line(f"{name}, median of all lines", f"least {min(found):.1f} x",
             statistics.median(found), "the best peer of the line", f">= {limit} x")


def sparse() -> None:
    """Lines that seldom fire beside a daily one, in the core: no package's work is in it."""
    for zone in ZONES:
        daily = core_next(DAILY, zone)
        for text in SPARSE:
            took = core_next(text, zone)
            line(f"next of {text!r} in {zone}", f"{took * 1e9:.0f} ns",
                 took / daily, f"{DAILY!r}", "<= 3 x")


def core_next(text: str, zone: str) -> float:
    core = ms.cron(text, zone)._core

    def steps() -> Iterator[object]:
        at = 0
        while True:
            found = core.next(at, 1)
            at = found[0][0] if found else 0
            yield at

    return rate(steps)


def million() -> None:
    """A million fires of a daily line over twelve zones, in each form."""
    rules = [ms.cron("30 2 * * *", zone) for zone in MILLION]
    total = sum(rule.count("1970-01-01", "2200-01-01") for rule in rules)

    def work(form: Callable[[ms.Rule], object]) -> float:
        return min(timed(lambda: [form(rule) for rule in rules]) for _ in range(ROUNDS))

    span = "1970-01-01", "2200-01-01"
    forms: list[tuple[str, Callable[[ms.Rule], object]]] = [
        ("list of microseconds", lambda rule: rule.micros(*span)),
        ("numpy", lambda rule: rule.between(*span, as_="numpy")),
        ("Arrow", lambda rule: rule.between(*span, as_="arrow")),
        ("list of aware datetimes", lambda rule: rule.between(*span)),
    ]
    for name, form in forms:
        try:
            took = work(form) * 1e6 / total  # seconds for a million
        except ms.SpecError as error:  # the package is not installed
            line(f"1,000,000 fires as {name}", error.code)
            continue
        wanted = "" if name.endswith("datetimes") else "< 300 ms"
        line(f"1,000,000 fires as {name}", f"{took * 1e3:.0f} ms", took / 0.3, "300 ms", wanted)


def main() -> None:
    """All figures."""
    compare()
    print()
    sparse()
    million()


if __name__ == "__main__":
    main()
