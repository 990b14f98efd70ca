"""What becomes of each fire of a life, by plain bookkeeping: a run, or why there is none."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from sim.year_world import END, START

MINUTE = timedelta(minutes=1)


@dataclass(frozen=True)
class Fate:
    """Of one fire. Without a reason it became a run."""

    reason: str | None = None
    trigger: str | None = None  # none where it does not matter
    rule: object = None


def fates(life, year):
    """The fate of each fire of a schedule until the year is over."""
    if life.takes:
        return slow_runs(life, year)
    return Book(life, year).told()


class Book:
    """A schedule whose runs take no time: each fire meets its fate when it is first seen."""

    def __init__(self, life, year):
        self.life = life
        self.found = {}
        self.rule = life.rule
        self.kind = "paused" if life.paused else "active"
        self.since = self.pause_began = START
        self.paused = life.paused
        self.fell = []  # fires of the pause that goes on, with their rules
        # What is done to a dag is done to its first schedule.
        mine = [step for step in year.steps if step[2] == life.dag and life.name == "default"]
        self.events = sorted(
            [(at, 1, what, value) for at, what, _, value in mine]
            + [(stop, 2, "stop", start) for stop, start in year.outages], key=lambda e: e[:2])

    def told(self):
        for at, _, what, value in self.events:
            if what == "stop":
                self.seen(at)
                self.outage(value)
            elif what != "same":
                self.seen(at)
                getattr(self, what)(at, value)
                self.since = at
        self.seen(END)
        return self.found

    def fires(self, begin, end):
        return [at for at in self.rule.fires() if begin < at <= end]

    def seen(self, until):
        """The scheduler was up."""
        for at in self.fires(self.since, until) if self.kind == "active" else ():
            self.fire(at, "schedule")
        self.since = until

    def fire(self, at, trigger):
        assert at not in self.found
        if self.rule.is_left_out(at):
            self.found[at] = Fate("calendar")
        else:
            self.found[at] = Fate(trigger=trigger, rule=self.rule)

    def skip(self, at, reason):
        assert at not in self.found
        self.found[at] = Fate(reason)

    def outage(self, end):
        fires = self.fires(self.since, end) if self.kind == "active" else []
        was_missed = bool(fires) and end - fires[0] > MINUTE
        open_ones = [at for at in fires if not self.rule.is_left_out(at)]
        for at in fires:
            late = end - at > MINUTE
            if self.rule.is_left_out(at):
                self.skip(at, "calendar")
            elif was_missed and late and end - at > self.life.window:
                self.skip(at, "expired")
            elif was_missed and self.life.missed == "last" and at < (open_ones or [end])[-1]:
                self.skip(at, "missed")
            elif was_missed and self.life.missed == "none" and late:
                self.skip(at, "missed")
            else:
                self.fire(at, "catchup" if late and was_missed else "schedule")
        self.since = end

    def pause(self, at, _):
        self.kind, self.pause_began, self.paused = "paused", at, True

    def resume(self, at, missed):
        self.fell_into_pause(at)
        may_run = [fire for fire, rule in self.fell if not rule.is_left_out(fire)]
        first = None  # from here on they are run
        if missed == "all" and self.fell:
            first = self.fell[0][0]
        elif missed == "last" and may_run:
            first = may_run[-1]
        for fire, rule in self.fell:
            if first is None or fire < first:
                self.skip(fire, "paused")
            else:
                now, self.rule = self.rule, rule
                self.fire(fire, None)
                self.rule = now
        self.fell = []
        self.kind, self.paused = "active", False

    def edit(self, at, rule):
        self.fell_into_pause(at)
        self.rule = rule

    def remove(self, at, _):
        self.fell_into_pause(at)
        for fire, _ in self.fell:
            self.skip(fire, "paused")
        self.fell, self.kind = [], "removed"

    def add(self, at, rule):
        self.rule, self.pause_began = rule, at
        self.kind = "paused" if self.paused else "active"

    def fell_into_pause(self, at):
        """What becomes of it is said when the pause ends, though its rule may end earlier."""
        if self.kind == "paused":
            self.fell += [(fire, self.rule) for fire in self.fires(self.pause_began, at)]
        self.pause_began = at


def slow_runs(life, year):
    """A schedule whose runs take long: fires wait for their turn, or are left out."""
    found, queue, live = {}, [], []  # live: when each run ends
    fires = [at for at in life.rule.fires() if START < at <= END]
    ups = zip([START, *(start for _, start in year.outages)],
              [*(stop for stop, _ in year.outages), END], strict=True)
    for begin, end in ups:
        # Whatever was live begins again. What waited was seen in time; the rest is judged.
        live = [begin + life.takes for _ in live]
        for at in [at for at in fires if at <= begin and at not in found and at not in queue]:
            if begin - at > max(life.window, MINUTE):
                found[at] = Fate("expired")
            else:
                queue.append(at)
        ahead = [at for at in fires if begin < at <= end]
        now = begin
        while True:
            while queue and (len(live) < life.most or life.overlap == "skip"):
                at = queue.pop(0)
                if len(live) < life.most:
                    # What waited for its turn may be told as caught up with, or not.
                    trigger = "schedule" if at == now else None
                    found[at] = Fate(trigger=trigger, rule=life.rule)
                    live.append(now + life.takes)
                else:
                    found[at] = Fate("overlap")
            now = min([*live, *ahead[:1]], default=end)
            if now > end:
                break
            if now in live:
                live.remove(now)
            elif ahead:
                queue.append(ahead.pop(0))
            else:
                break
    return found
