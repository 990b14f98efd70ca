"""The example of three dags, for 14 business dates, of which one fails at first and is repaired."""

from __future__ import annotations

import importlib
import sys
from datetime import date, timedelta
from pathlib import Path

import mainspring as ms
import pytest

HOME = Path(__file__).parents[2] / "examples" / "warehouse"
FIRST, DAYS, BAD = date(2024, 3, 1), 14, date(2024, 3, 6)


@pytest.fixture
def warehouse(tmp_path, monkeypatch):
    """The shop and the three dags, with their data in a folder of this test."""
    monkeypatch.setenv("WAREHOUSE", str(tmp_path))
    monkeypatch.syspath_prepend(str(HOME))
    monkeypatch.syspath_prepend(str(HOME / "dags"))
    names = ["shop", "_tables", "ods", "dwd", "dws"]
    for name in names:
        sys.modules.pop(name, None)
    yield {name: importlib.import_module(name) for name in names}
    for name in names:
        sys.modules.pop(name, None)


def expected(shop, day):
    """Cents of the reporting currency in the seven days up to a date, by arithmetic."""
    total = 0
    for each in (day - timedelta(days=back) for back in range(7)):
        if each >= FIRST:
            before = each - timedelta(days=1)
            rate = shop.rate_of(before) if before >= FIRST else 1.0
            total += sum(round(cents * rate) for _, cents in shop.orders_of(each))
    return total


def test_fourteen_days_of_which_one_is_repaired(warehouse):
    shop = warehouse["shop"]
    days = [FIRST + timedelta(days=number) for number in range(DAYS)]
    for day in days:
        shop.write_rates(day)
        if day != BAD:
            shop.write_orders(day)
    dags = [warehouse[name].dag for name in ("ods", "dwd", "dws")]
    with ms.testing.simulated("2024-03-01T12:00+08:00", dags) as world:
        world.advance(to="2024-03-15T12:00+08:00")

        def states(dag, task):
            return {run.biz_date: run[task].state for run in world.runs(dag)}

        assert sorted(states("ods", "orders")) == days
        # The notes are never there, and nobody waited for them.
        assert set(states("ods", "notes").values()) == {"FAILED"}
        assert {day for day, state in states("ods", "orders").items() if state != "SUCCESS"} == {BAD}
        assert {day for day, state in states("dwd", "orders").items() if state != "SUCCESS"} == {BAD}
        blocked = {day for day, state in states("dws", "week").items() if state == "BLOCKED"}
        assert blocked == {BAD + timedelta(days=more) for more in range(7)}

        shop.write_orders(BAD)
        [failed] = [run for run in world.runs("ods") if run.biz_date == BAD]
        dags[0].rerun(failed, ["orders"], wait=False)
        world.advance("1m")
        assert set(states("dwd", "orders").values()) == {"SUCCESS"}
        assert set(states("dws", "week").values()) == {"SUCCESS"}
        for run in world.runs("dws"):
            assert run.result("week") == expected(shop, run.biz_date), run.biz_date
        # Nothing that was good has run again.
        for dag in ("ods", "dwd", "dws"):
            again = {run.biz_date for run in world.runs(dag) for task in run.tasks
                     if len(task.attempts) > 1}
            assert again <= {BAD}
