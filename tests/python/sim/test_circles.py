"""Runs that wait for each other: what no check of definitions refuses, and nobody would see."""

from __future__ import annotations

import mainspring as ms


def test_explain_names_the_runs_that_wait_for_each_other():
    """C19: a deadlock is found and said, and ends with a person's word."""
    with ms.Dag("one", schedule="0 2 * * *", timezone="UTC") as one:
        ms.task(name="a", retries=0, depends_on=[
            ms.dep("two.b", offset=1, allow_future=True)])(lambda: "ok")
    with ms.Dag("two", schedule="0 2 * * *", timezone="UTC") as two:
        ms.task(name="b", retries=0, depends_on=[ms.dep("one.a", offset=-1)])(lambda: "ok")
    with ms.testing.simulated("2024-03-10", [one, two]) as world:
        world.advance(to="2024-03-11T12:00")
        first = world.runs("one")[0]
        second = world.runs("two")[1]
        # The first day has no predecessor; from then on each waits for the other.
        assert world.runs("two")[0]["b"].state == "SUCCESS"
        circle = f"one.a of run {first.id} -> two.b of run {second.id} -> one.a of run {first.id}"
        assert f"they wait for each other ({circle})" in first["a"].explain()
        assert "they wait for each other" in second["b"].explain()
        second.cancel(grace=0)
        world.advance("1s")
        assert "each other" not in first["a"].explain()
