"""A year of schedules as a seed draws it: their rules, and what happens to them and their scheduler."""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from functools import cache
from pathlib import Path

import mainspring as ms

from sim.slow_rules import DAY, of_line, of_steps

UTC = timezone.utc
START = datetime(2024, 1, 1, tzinfo=UTC)
END = datetime(2025, 1, 1, tzinfo=UTC)
EPOCH, MICRO = datetime(1970, 1, 1, tzinfo=UTC), timedelta(microseconds=1)
EARLY, LATE = date(2023, 10, 1), date(2025, 1, 20)
CRONS = Path(__file__).parents[2] / "data" / "time" / "crons.tsv"
ZONES = """Africa/Cairo Africa/Casablanca Africa/Johannesburg America/Anchorage America/Asuncion
America/Caracas America/Chicago America/Denver America/Havana America/Los_Angeles America/New_York
America/Nuuk America/Phoenix America/Santiago America/Sao_Paulo America/St_Johns Antarctica/Casey
Antarctica/Troll Asia/Almaty Asia/Amman Asia/Beirut Asia/Gaza Asia/Jerusalem Asia/Kathmandu
Asia/Kolkata Asia/Shanghai Asia/Tehran Asia/Tokyo Atlantic/Azores Australia/Adelaide
Australia/Lord_Howe Australia/Sydney Europe/Berlin Europe/Dublin Europe/London Pacific/Apia
Pacific/Auckland Pacific/Chatham Pacific/Easter UTC""".split()

# Shapes that the lines found in repositories lack.
SHAPES = """0 30 2 * * ?|0 0 0 * * ?|0 15 1 * * ?|30 59 23 * * ?|0 30 8 ? * MON-FRI|0 0 6 L * ?
0 15 10 L-2 * ?|0 0 18 LW * ?|0 0 4 15W * ?|0 0 3 ? * 6L|0 0 5 ? * MON#1|0 0 2 ? * SUN#5
0 0 0 1,15 * ?|0 45 1 ? * SUN|0 30 2 ? * SUN|0 30 0 ? * FRI,SAT|0 0 22-2/2 ? * SUN
0 0 1 28-3 * ?|0 10 3 ? NOV-FEB FRI-MON|0 30 1 1-7 MAR,OCT ? 2024|30 1 * * SUN|0 0 13 * FRI
30 2 */2 * *|45 1 * * 6,7|0 12 1 * MON|15 2 L * *|0 0 LW * *|20,40 1 * * SAT#2|5 4 * * FRIL
0 0 31 * *|30 23 29 2 *|@weekly|@monthly|@yearly|@daily|@midnight""".replace("\n", "|").split("|")
WALKS = ["0 * * * *", "@hourly", "0 0/30 * * * ?", "*/15 * * * *", "0 */2 * * *", "20 0-23 * * *",
         "0 0 */3 * * ?", "15 1-3 * * *", "0 0/20 0-5 * * ?", "30 */12 * * *"]


@dataclass(frozen=True)
class Rule:
    """When something fires: a line or a step, and the days on which it may."""

    text: str
    zone: str
    start_date: date | None = None
    end_date: date | None = None
    closed: tuple[date, ...] = ()
    weekdays: str | None = None
    on: str | None = None
    every: timedelta | None = None
    anchor: datetime | None = None

    def options(self):
        """As ``ms.schedule`` takes it."""
        rule = self.text
        if self.every:
            rule = ms.every(self.every, anchor=self.anchor, timezone=self.zone)
        options = {"start_date": self.start_date, "end_date": self.end_date, "on": self.on}
        if self.every is None:
            options["timezone"] = self.zone
        if self.on:
            options["calendar"] = ms.calendar(
                "days", weekdays=self.weekdays, exclude=[str(day) for day in self.closed])
        return (rule,), options

    def is_open(self, day):
        return day not in self.closed and (self.weekdays != "MON-FRI" or day.weekday() < 5)

    def _day(self, day):
        """On which day the fires of a day are."""
        step = {None: 0, "skip": 0, "next": 1, "previous": -1}[self.on]
        while step and not self.is_open(day):
            day += step * DAY
        return day

    @cache  # noqa: B019 - a rule lives as long as the test
    def instants(self):
        """Each fire in microseconds since 1970, with the fire before it."""
        fires = [(at - EPOCH) // MICRO for at in self.fires()]
        return dict(zip(fires, [None, *fires], strict=False))

    @cache  # noqa: B019
    def fires(self):
        """Each fire with its nominal date, whether or not its day is open."""
        if self.every:
            found = of_steps(self.every, self.anchor, self.zone, EARLY, LATE)
        else:
            found = of_line(self.text, self.zone, EARLY, LATE, self._day)
        found = dict(sorted(found.items()))
        if self.on in ("next", "previous"):
            # An open day has its own fires, or one that is rolled to it.
            own = {} if self.every else of_line(self.text, self.zone, EARLY, LATE)
            own = {at: day for at, day in own.items() if self.is_open(day)}
            busy, first = set(own.values()), {}
            for at, day in found.items():
                if day not in busy:
                    first.setdefault(day, at)
            found = dict(sorted({**own, **{at: day for day, at in first.items()}}.items()))
        return {at: day for at, day in found.items()
                if (self.start_date or day) <= day <= (self.end_date or day)}

    def is_left_out(self, at):
        """Whether its calendar leaves out a fire."""
        return self.on == "skip" and not self.is_open(self.fires()[at])


@dataclass
class Life:
    """One schedule of a dag, and what is done to the dag in its year."""

    dag: str
    name: str
    rule: Rule
    missed: str
    window: timedelta
    paused: bool
    biz_offset: int | None
    takes: timedelta = timedelta(0)
    overlap: str = "queue"
    most: int = 16

    def schedule(self, rule):
        args, options = rule.options()
        return ms.schedule(*args, **options, name=self.name, missed=self.missed,
                           missed_window=self.window, overlap=self.overlap,
                           biz_offset=self.biz_offset, paused=self.paused or None)


@dataclass
class Year:
    """All of it."""

    lives: list[Life]
    outages: list  # (stop, start)
    steps: list  # (instant, what, dag, value), in order

    def dag(self, name, rules=None):
        lives = [life for life in self.lives if life.dag == name]
        schedules = [life.schedule((rules or {}).get(life.name, life.rule)) for life in lives]
        dag = ms.Dag(name, schedule=schedules, max_active_runs=lives[0].most)
        with dag:
            ms.task(load)
        return dag


def load() -> None:
    """Do nothing: it is stubbed."""


def lines():
    """Lines found in repositories, by how often they fire."""
    found = {"rare": [], "daily": []}
    for row in CRONS.read_text().splitlines()[1:]:
        text, kind, fires, _ = row.split("\t")
        if fires.isdigit() and text.split()[-1] != "2013":
            which = "rare" if 0 < int(fires) <= 110 else "daily" if int(fires) == 366 else None
            if which:
                found[which].append(text)
    return found


def draw(seed, count=200, dense=False):
    """A year. Where it is dense, lines that fire often do so all the time."""
    luck = random.Random(seed)
    found = lines()
    outages, at = [], START + timedelta(days=5)
    lengths = [timedelta(seconds=7), timedelta(seconds=59), timedelta(seconds=90),
               timedelta(minutes=30), timedelta(hours=6), timedelta(hours=25), timedelta(days=3),
               timedelta(days=9), timedelta(days=40), timedelta(hours=2), timedelta(seconds=61)]
    luck.shuffle(lengths)
    for length in lengths:
        at += timedelta(days=luck.randrange(12, 34), seconds=luck.randrange(86_400) | 1)
        at = min(at, END - timedelta(days=2) - length)
        outages.append((at, at + length + timedelta(microseconds=luck.randrange(1_000_000))))
        at += length
        if at > END - timedelta(days=30):
            break
    outages += [around(luck, outages, text) for text in ("2024-03-10T06:59:30", "2024-10-27T00:30:10")]
    outages = sorted(each for each in outages if each)
    lives = []
    while len(lives) < count:
        index = len(lives)
        dag = f"dag{index:03}"
        zone = ZONES[len({life.dag for life in lives}) % len(ZONES)]
        life = Life(
            dag, "default", rule(luck, found, zone, dense),
            missed=luck.choice(["all", "all", "last", "none"]),
            window=luck.choice([timedelta(days=7)] * 3 + [timedelta(hours=1), timedelta(days=60)]),
            paused=luck.random() < 0.05, biz_offset=luck.choice([None, None, 0, -1, 2]))
        lives.append(life)
        if index % 20 == 7:  # a dag whose runs take long
            life.takes = luck.choice([timedelta(hours=5), timedelta(hours=30), timedelta(days=10)])
            life.overlap = luck.choice(["queue", "skip"])
            life.most, life.missed, life.paused = luck.choice([1, 2]), "all", False
            life.rule = Rule(luck.choice(["0 3 * * 1,4", "0 30 2 ? * SUN", "0 12 1,15 * *",
                                          "0 0 1-9 * *"]), zone)
        elif index % 20 == 3 and len(lives) < count:  # another schedule that often coincides
            other = rule(luck, found, zone, dense)
            shared = Rule("0 0 * * *", zone) if index % 40 == 3 else other
            life.rule = Rule("0 0 * * SUN", zone) if index % 40 == 3 else life.rule
            lives.append(Life(dag, "other", shared, life.missed, life.window, False,
                              life.biz_offset))
    year = Year(lives, outages, [])
    for life in lives:
        if not life.takes and life.name == "default" and luck.random() < 0.6:
            history(luck, year, life, found)
    year.steps.sort(key=lambda step: step[0])
    return year


def around(luck, outages, text):
    """A short outage in which clocks change, where none is near."""
    begin = datetime.fromisoformat(text).replace(tzinfo=UTC)
    end = begin + timedelta(minutes=luck.choice([2, 40]))
    near = any(start - DAY < end and begin < stop + DAY for start, stop in outages)
    return None if near else (begin, end)


def rule(luck, found, zone, dense):
    kind = luck.random()
    if kind < 0.06:
        anchor = START - timedelta(hours=luck.randrange(2000), minutes=luck.randrange(60))
        step = timedelta(minutes=luck.choice([100 * 60, 36 * 60, 90 if dense else 50 * 60]))
        return Rule("", zone, every=step, anchor=anchor)
    if kind < 0.13:
        text = luck.choice(WALKS)
        if dense:
            return Rule(text, zone)
        begin = date(2024, *luck.choice([(3, 8), (3, 29), (4, 5), (9, 6), (10, 25), (11, 1), (2, 27)]))
        return Rule(text, zone, begin, begin + 3 * DAY)
    if kind < (0.6 if dense else 0.17):
        text = luck.choice(found["daily"] + ["0 30 2 * * ?", "0 0 0 * * ?", "15 1 * * *"])
    else:
        text = luck.choice(found["rare"] if luck.random() < 0.4 else SHAPES)
    if luck.random() < 0.25:
        on = luck.choice(["skip", "next", "previous"])
        closed = tuple(START.date() + luck.randrange(366) * DAY for _ in range(20))
        return Rule(text, zone, closed=closed, on=on,
                    weekdays=luck.choice(["SUN-SAT", "MON-FRI"]))
    begin = START.date() + luck.randrange(-20, 120) * DAY if luck.random() < 0.2 else None
    end = START.date() + luck.randrange(200, 380) * DAY if luck.random() < 0.2 else None
    return Rule(text, zone, begin, end)


def history(luck, year, life, found):
    """What is done to a dag: it is paused, edited, removed, and comes back."""
    paused, gone = life.paused, False
    current = life.rule
    at = START + timedelta(days=luck.randrange(3, 40))
    single = not any(each.name == "other" and each.dag == life.dag for each in year.lives)
    while at < END - timedelta(days=10):
        at = moment(luck, year, at, current)
        if gone:
            what = "add"
        elif paused:
            what = luck.choice(["resume", "resume", "resume", "edit"] + ["remove"] * single)
        else:
            what = luck.choice(["pause", "pause", "edit", "edit", "same"] + ["remove"] * single)
        value = None
        if what in ("edit", "add"):
            if what == "edit" or luck.random() < 0.5:
                current = rule(luck, found, luck.choice(ZONES), False)
            value = current
        elif what == "resume":
            value = luck.choice([None, "none", "last", "all"])
        paused = {"pause": True, "resume": False}.get(what, paused)
        gone = {"remove": True, "add": False}.get(what, gone)
        year.steps.append((at, what, life.dag, value))
        at += timedelta(days=luck.randrange(5, 70))


def moment(luck, year, at, rule):
    """An instant near ``at``: now and then that of a fire, and mostly none of an outage.

    What is edited in an outage is seen at its end.
    """
    at += timedelta(seconds=luck.randrange(86_400), microseconds=luck.randrange(1_000_000))
    if luck.random() < 0.15:
        at = next((fire for fire in rule.fires() if fire >= at), at)
    for stop, start in year.outages:
        if stop <= at <= start:
            at = start + timedelta(seconds=luck.randrange(1, 5000))
    return min(at, END - timedelta(hours=1))
