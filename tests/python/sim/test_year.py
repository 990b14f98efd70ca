"""A year of schedules under the virtual clock, beside a slow evaluator and plain bookkeeping."""

from __future__ import annotations

import bisect
import os
from collections import Counter
from datetime import timedelta

import mainspring as ms
import pytest

from sim.bookkeeping import fates
from sim.year_world import END, EPOCH, MICRO, START, draw

# Lines that fire often do so all the year: some 60,000 runs. Seeds are told by their numbers.
FULL = bool(os.environ.get("MAINSPRING_FULL_YEAR"))
SEEDS = [int(each) for each in os.environ.get("MAINSPRING_YEAR_SEEDS", "2024").split(",")]


def micros(at):
    return (at - EPOCH) // MICRO


def live_through(year, world):
    """Do to a world all that happens in a year."""
    rules = {}

    def dag(name):
        return year.dag(name, {"default": rules[name]} if name in rules else None)

    events = [(stop, "stop", None, start) for stop, start in year.outages] + year.steps
    for at, what, name, value in sorted(events, key=lambda event: event[0]):
        world.advance(to=at)
        if what == "stop":
            world.stop()
            world.advance(to=value)
            world.start()
        elif what in ("edit", "add"):
            rules[name] = value
            world.register(dag(name))
        elif what == "same":
            world.register(dag(name))
        elif what == "remove":
            world.remove(name)
        elif what == "pause":
            world.pause(name, "default")
        else:
            world.resume(name, "default", missed=value)
    world.advance(to=END)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_year_of_200_schedules_in_40_zones_gives_the_fires_and_skips_that_are_expected(seed):
    year = draw(seed, dense=FULL)
    assert len(year.lives) == 200 and len({life.rule.zone for life in year.lives}) == 40
    names = sorted({life.dag for life in year.lives})
    stubs = {f"{life.dag}.load": ms.testing.stub(takes=life.takes) for life in year.lives}
    with ms.testing.simulated(START, [year.dag(name) for name in names], stub=stubs) as world:
        live_through(year, world)
        runs, skips = told()
        assert [row["n"] for row in ms.sql("SELECT count(*) AS n FROM run")] == [
            len({row["run"] for rows in runs.values() for row in rows})]
    seen = Counter()
    wrong = []
    for life in year.lives:
        key = (life.dag, life.name)
        wrong += compare(life, fates(life, year), runs.get(key, []), skips.get(key, []), seen)
    assert not wrong, f"{len(wrong)} differ, among them:\n" + "\n".join(wrong[:20])
    # The year has something of everything, or it proves nothing.
    assert all(seen[each] >= 20 for each in (
        "schedule", "catchup", "missed", "expired", "paused", "calendar", "overlap")), seen


def told():
    """The runs and skips of each schedule, as the database has them."""
    runs, skips = {}, {}
    for row in ms.sql("""
        SELECT dag.key AS dag, schedule.name, run.id AS run, run.nominal_at, run.created_at,
               run."trigger", run.biz_date, run.interval_start, run.interval_end
        FROM run_schedule JOIN run ON run.id = run_schedule.run_id
        JOIN schedule ON schedule.id = run_schedule.schedule_id
        JOIN dag ON dag.id = schedule.dag_id ORDER BY run.nominal_at"""):
        runs.setdefault((row["dag"], row["name"]), []).append(row)
    for row in ms.sql("""
        SELECT dag.key AS dag, schedule.name, skip.from_at, skip.to_at, skip.count, skip.reason
        FROM skip JOIN schedule ON schedule.id = skip.schedule_id
        JOIN dag ON dag.id = schedule.dag_id ORDER BY skip.from_at"""):
        skips.setdefault((row["dag"], row["name"]), []).append(row)
    return runs, skips


def compare(life, expected, runs, skips, seen):
    """What differs: each fire is a run once, or lies in one record with its reason."""
    def say(what, at):
        shown = EPOCH + at * MICRO
        return f"{life.dag}.{life.name} {life.missed} {shown.isoformat()}: {what}"

    wanted = {micros(at): fate for at, fate in expected.items()}
    wrong, made = [], {}
    for row in runs:
        at = row["nominal_at"]
        if at in made:
            wrong.append(say("two runs", at))
        made[at] = row
        if row["created_at"] < at:
            wrong.append(say("too early", at))
        if at not in wanted:
            wrong.append(say("a run of no fire", at))
    instants = sorted(wanted)
    covered = Counter()
    for row in skips:
        first = bisect.bisect_left(instants, row["from_at"])
        inside = instants[first:bisect.bisect_right(instants, row["to_at"])]
        covered.update(inside)
        if len(inside) != row["count"]:
            wrong.append(say(f"{row['count']} {row['reason']} in place of {len(inside)}", row["from_at"]))
        wrong += [say(f"{row['reason']}, not {wanted[at].reason}", at)
                  for at in inside if wanted[at].reason != row["reason"]]
    for at, fate in wanted.items():
        seen[fate.reason or fate.trigger] += 1
        if fate.reason:
            if covered[at] != 1 or at in made:
                wrong.append(say(f"{fate.reason}: {covered[at]} records, run {at in made}", at))
        elif at not in made:
            wrong.append(say("no run", at))
        else:
            wrong += [say(each, at) for each in row_differs(life, at, fate, made[at])]
    return wrong


def row_differs(life, at, fate, row):
    """What of a run's times is not as its rule says."""
    if fate.trigger and life.name == "default" and row["trigger"] != fate.trigger:
        yield f"trigger {row['trigger']}, not {fate.trigger}"
    rule = fate.rule
    # Two schedules of a dag, and days that a calendar closes, have their own tests.
    if rule.on or life.dag.endswith(("03", "23", "43", "63", "83")):
        return
    before = rule.instants()[at]
    # The first fire of all has none before it.
    if before and (row["interval_end"], row["interval_start"]) != (at, before):
        yield f"interval from {EPOCH + row['interval_start'] * MICRO}"
    if life.biz_offset is not None:
        day = rule.fires()[EPOCH + at * MICRO] + timedelta(days=life.biz_offset)
        if row["biz_date"] != str(day):
            yield f"biz date {row['biz_date']}, not {day}"
