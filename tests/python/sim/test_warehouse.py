"""A real warehouse for some weeks: its schedules and edges, with failures, an outage and a repair.

The graph and the lines are those of Mozilla's bigquery-etl. What is left to the issue about
dependencies: the edges that lead from one dag to another (253 of them), those of 51 tasks to their
own past, and partitions that are read 1 to 30 days late. Here each dag stands by itself, so 351
edges hold something up.
"""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from datetime import date, datetime, timedelta, timezone
from pathlib import Path

import mainspring as ms

from sim.slow_rules import of_line, of_steps

DATA = Path(__file__).parents[2] / "data"
ZONE = "America/Los_Angeles"  # its clocks go forward on 10 March 2024
DAYS = 30 if os.environ.get("MAINSPRING_FULL_YEAR") else 8
START = datetime(2024, 3, 5, 8, 0, 30, tzinfo=timezone.utc)  # just after local midnight
DAY = timedelta(days=1)


def load() -> None:
    """Be stubbed."""


def warehouse(broken):
    """The dags, what their tasks do, and a task that does what ``broken`` says."""
    graph = json.loads((DATA / "graphs" / "bigquery_etl_warehouse.json").read_text())
    found = json.loads((DATA / "time" / "bigquery_etl_dags.json").read_text())["dags"]
    home = {index: name for name, dag in found.items() for index in dag["tasks"]}
    edges = [(up, down) for up, down in graph["edges"] if home[up] == home[down]]
    assert (len(home), len(edges)) == (874, 351)
    fan = Counter(up for up, _ in edges if found[home[up]]["schedule"] == "0 4 * * *")
    worst = fan.most_common(1)[0][0]
    luck = random.Random(4)
    dags, stubs = [], {}

    def fragile() -> None:
        if broken["is"]:
            raise ValueError("the source table is gone")

    for name, dag in found.items():
        schedule = dag["schedule"] and ms.schedule(dag["schedule"], timezone=ZONE)
        with ms.Dag(name, timezone=ZONE, schedule=schedule or None) as made:
            tasks = {
                index: ms.task(fragile if index == worst else load, name=graph["nodes"][index],
                               retries=2, retry_interval="30m", retry_backoff="FIXED")
                for index in dag["tasks"]}
            for up, down in edges:
                if home[up] == name:
                    tasks[up] >> tasks[down]
        dags.append(made)
        for index in dag["tasks"]:
            if index != worst:
                seconds = min(600.0, max(1.0, luck.lognormvariate(3.5, 1.3)))
                fails = luck.choice([1, 2]) if luck.random() < 0.05 else 0
                stubs[f"{name}.{graph['nodes'][index]}"] = ms.testing.stub(
                    takes=timedelta(seconds=round(seconds)), fails=fails)
    below = reach(edges, worst)
    return dags, stubs, home[worst], graph["nodes"][worst], {graph["nodes"][i] for i in below}


def reach(edges, start):
    """Everything downstream of a task."""
    found, new = set(), {start}
    while new:
        new = {down for up, down in edges if up in new} - found
        found |= new
    return found


def test_k04_a_warehouse_with_failures_an_outage_and_a_repair_has_each_day_once():
    broken = {"is": False}
    dags, stubs, dag, task, below = warehouse(broken)
    assert below
    by_name = {each.name: each for each in dags}
    with ms.testing.simulated(START, dags, stub=stubs) as world:
        world.advance("22h")
        broken["is"] = True
        world.advance("1d")
        # Each state says why: whatever waits names the task that broke.
        [failed] = [run for run in world.runs(dag) if run.state == "FAILED"]
        assert len(failed[task].attempts) == 3
        spent = [each.started_at for each in failed[task].attempts]
        assert {after - before for before, after in zip(spent, spent[1:], strict=False)} == {
            timedelta(minutes=30)}
        blocked = {each.task.split(".")[-1] for each in failed if each.state == "BLOCKED"}
        assert blocked == below
        assert all(task in failed.explain(name) for name in below)
        assert "ValueError" in failed.explain(task)
        world.advance("2d")
        broken["is"] = False
        to_repair = [run for run in world.runs(dag) if run.state == "FAILED"]
        assert len(to_repair) == 3
        for run in to_repair:
            by_name[dag].rerun(run, wait=False, progress=False)
        world.advance("2h")
        assert {run.refresh().state for run in to_repair} == {"SUCCESS"}
        # An outage over the small hours, in which most of it is due.
        hours = START + 6 * DAY + timedelta(hours=1, minutes=40)
        world.advance(to=hours)
        world.stop()
        world.advance("6h")
        world.start()
        world.advance(to=START + DAYS * DAY + timedelta(hours=-2))
        for run in world.runs():
            if run.state == "RUNNING":  # the last are let end
                world.advance("4h")
                break
        check(dags, world)


def check(dags, world):
    """Each task of each dag has each fire once, and each of its days where it has one a day."""
    rows = ms.sql("""
        SELECT dag.key AS dag, task.name AS task, run.nominal_at, run.biz_date, task_run.state
        FROM task_run JOIN run ON run.id = task_run.run_id JOIN dag ON dag.id = run.dag_id
        JOIN task ON task.id = task_run.task_id
        ORDER BY run.nominal_at""")
    seen = {}
    for row in rows:
        seen.setdefault((row["dag"], row["task"]), []).append(row)
    assert all(world.skips(dag) == [] for dag in dags)
    days = [str(date(2024, 3, 4) + n * DAY) for n in range(DAYS - 1)]
    daily = 0
    for dag in dags:
        spec = dag.spec()
        lines = [each["expression"] for each in spec.get("schedule", [])]
        expected = [at for line in lines for at in fires(line, world.now)]
        for task in spec["tasks"]:
            mine = seen.get((dag.name, task["name"]), [])
            place = f"{dag.name}.{task['name']}"
            assert [row["nominal_at"] for row in mine] == expected, place
            # What began in the last hours may go on.
            end = micros(world.now - timedelta(hours=3))
            assert {row["state"] for row in mine if row["nominal_at"] <= end} <= {"SUCCESS"}, place
            if [row["biz_date"] for row in mine[:len(days)]] == days:
                assert len({row["biz_date"] for row in mine}) == len(mine), place
                daily += 1
    assert daily > 500


def fires(line, until):
    """When a line fires, worked out by somebody else."""
    first, last = START.date() - DAY, until.date() + DAY
    if line.startswith("every "):
        step = timedelta(hours=int(line.removeprefix("every ").removesuffix("h")))
        # Counted from a local midnight in winter; a day has a whole number of these steps.
        found = of_steps(step, datetime(2024, 3, 1, 8, tzinfo=timezone.utc), ZONE, first, last)
    else:
        found = of_line(line, ZONE, first, last)
    return [micros(at) for at in sorted(found) if START < at <= until]


def micros(at):
    return (at - datetime(1970, 1, 1, tzinfo=timezone.utc)) // timedelta(microseconds=1)
