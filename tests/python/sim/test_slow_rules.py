"""The slow evaluator of the simulated year against the cases, whose answers are known."""

from __future__ import annotations

import json
from datetime import date, datetime, timedelta
from pathlib import Path

import pytest

from sim.slow_rules import of_line

TIME = Path(__file__).parents[2] / "data" / "time"
DAY = timedelta(days=1)


@pytest.mark.parametrize("name", ["cron_next", "dst"])
def test_the_slow_evaluator_gives_the_known_next_fires(name):
    compared = 0
    for line in (TIME / f"{name}.jsonl").read_text().splitlines():
        case = json.loads(line)
        given, expected = case["input"], case["expect"]
        # Choices of gap and fold, and what lies years ahead, are no part of the simulated year.
        if not expected or isinstance(expected, dict) or given.get("options"):
            continue
        after = datetime.fromisoformat(given["after"])
        expected = [datetime.fromisoformat(each) for each in expected]
        if expected[-1] - after < 400 * DAY:
            fires = of_line(given["expr"], given["tz"], after.date() - DAY,
                            expected[-1].date() + DAY)
            found = sorted(fire for fire in fires if fire > after)
            assert found[:len(expected)] == expected, case["id"]
            compared += 1
    assert compared > 40


def test_the_slow_evaluator_counts_the_fires_of_lines_found_in_repositories():
    lines = {}
    for row in (TIME / "crons.tsv").read_text().splitlines()[1:]:
        line, _, fires, _ = row.split("\t")
        if fires.isdigit() and int(fires) <= 366:
            lines[line] = int(fires)
    assert len(lines) > 100
    assert {line: len(of_line(line, "UTC", date(2024, 1, 1), date(2024, 12, 31)))
            for line in lines} == lines
