"""Edges that wait up to a time, from the definition to what `explain` says."""

from __future__ import annotations

from datetime import timedelta

import mainspring as ms
import pytest
from mainspring.errors import SpecError


def dags(edge):
    with ms.Dag("up", schedule="0 2 * * *", timezone="UTC") as up:
        ms.task(name="a", retries=0)(lambda: "ok")
    with ms.Dag("down", schedule="0 2 * * *", timezone="UTC") as down:
        ms.task(name="b", retries=0, depends_on=[edge])(lambda: "ok")
    return [up, down]


def newest(world, name):
    return world.runs(name)[-1]


@pytest.mark.parametrize("wait", ["2h", timedelta(hours=2)])
def test_it_goes_on_without_what_is_late_and_says_so(wait):
    edge = ms.dep("up.a", kind="COMPLETED", wait_up_to=wait)
    late = {"up.a": ms.testing.stub(takes="5h")}
    with ms.testing.simulated("2024-03-10", dags(edge), stub=late) as world:
        world.advance(to="2024-03-10T03:59:59")
        b = newest(world, "down")["b"]
        assert b.state == "PENDING"
        assert "goes on without up.a at 2024-03-10T04:00:00" in b.explain()
        world.advance("1s")
        assert newest(world, "down")["b"].state == "SUCCESS"
        assert newest(world, "up")["a"].state == "RUNNING"
        world.advance("5h")
        assert newest(world, "up")["a"].state == "SUCCESS"
        assert newest(world, "down")["b"].stale is False


def test_what_ends_in_time_is_not_waited_out():
    edge = ms.dep("up.a", kind="COMPLETED", wait_up_to="2h")
    soon = {"up.a": ms.testing.stub(takes="30m")}
    with ms.testing.simulated("2024-03-10", dags(edge), stub=soon) as world:
        world.advance(to="2024-03-10T02:31")
        run = newest(world, "down")
        assert run["b"].state == "SUCCESS"
        assert run["b"].started_at - run.nominal_at == timedelta(minutes=30)


def test_a_run_of_long_ago_that_is_made_today_waits_as_long():
    edge = ms.dep("up.a", kind="COMPLETED", wait_up_to="2h")
    _, down = dags(edge)
    with ms.Dag("up", timezone="UTC") as up:
        ms.task(name="a", retries=0)(lambda: "ok")
    with ms.testing.simulated("2024-03-10", [up, down]) as world:
        world.advance(to="2024-03-12T12:00")
        # Nobody makes a run of the upstream, which has no schedule.
        run = down.run("2024-03-10", wait=False)
        assert (world.now - run.nominal_at) > timedelta(days=1)
        world.advance("119m")
        assert newest(world, "down")["b"].state == "PENDING"
        world.advance("1m")
        b = newest(world, "down")["b"]
        assert (b.state, b.started_at) == ("SUCCESS", world.now)


@pytest.mark.parametrize("kind", [None, "SUCCESS", "DATA_READY", "WEAK"])
def test_what_cannot_do_without_its_upstream_is_refused(kind):
    edge = ms.dep("a", kind=kind, wait_up_to="2h")
    with ms.Dag("up") as up:
        ms.task(name="a")(lambda: "ok")
        ms.task(name="b", depends_on=[edge])(lambda: "ok")
    with pytest.raises(SpecError) as caught:
        up.check()
    problem = next(one for one in caught.value.problems if one.code == "bad_wait")
    assert problem.place == "up.b.depends_on[0].wait_up_to"
    assert problem.hint == "did you mean kind COMPLETED?"
