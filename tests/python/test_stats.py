"""How tasks fare: counted by month, and percentiles by arithmetic."""

import datetime
import math
import random

import mainspring as ms
import pytest
from mainspring import _session
from mainspring._stats import LAST, nearest_rank


def dag_of(fate):
    """A dag whose task fails on the days that are not in order."""
    with ms.Dag("shop") as dag:

        @ms.task
        def load(biz_date):
            if fate.get(str(biz_date)) == "fails":
                raise ValueError("no file")

        @ms.task
        def report():
            pass

        load() >> report()
    return dag


def test_runs_and_successes_by_month_of_the_business_date():
    dag = dag_of({"2024-01-31": "fails", "2024-02-02": "fails"})
    for day in ("2024-01-30", "2024-01-31", "2024-02-01", "2024-02-02", "2024-02-03"):
        dag.run(day)
    found = [(each.task, each.month, each.runs, each.successes) for each in ms.stats("shop")]
    # What was blocked did not run.
    assert found == [
        ("shop.load", "2024-01", 2, 1), ("shop.load", "2024-02", 3, 2),
        ("shop.report", "2024-01", 1, 1), ("shop.report", "2024-02", 2, 2)]
    assert [each.met for each in ms.stats("shop")] == [None] * 4


def test_one_dag_or_one_task():
    ms.Dag.from_graph("a", ["x", "y"]).run("2024-01-01")
    ms.Dag.from_graph("b", ["x"]).run("2024-01-01")
    assert [each.task for each in ms.stats()] == ["a.x", "a.y", "b.x"]
    assert [each.task for each in ms.stats("a")] == ["a.x", "a.y"]
    assert [each.task for each in ms.stats("a.y")] == ["a.y"]
    assert [each.task for each in ms.stats(ms.Dag.from_graph("b", ["x"]))] == ["b.x"]


def test_a_name_that_stands_for_nothing():
    ms.Dag.from_graph("flights", ["extract"]).run("2024-01-01")
    with pytest.raises(ms.NotFoundError, match="did you mean 'flights'"):
        ms.stats("flihgts")
    with pytest.raises(ms.NotFoundError, match="did you mean 'flights.extract'"):
        ms.stats("flights.extrac")


def test_percentiles_are_of_the_last_hundred_successes():
    """By a clock that stands until it is moved: run n takes n seconds."""
    with ms.Dag("nightly", schedule="0 2 * * *") as dag:

        @ms.task
        def load():
            pass

        load()
    with ms.testing.simulated("2026-01-01", [dag], stub=True) as world:
        for seconds in range(1, LAST + 21):
            core = _session.session().core
            core.stub({"nightly.load": ms.testing.stub(takes=f"{seconds}s")}, {})
            world.advance("1d")
        found = ms.stats("nightly")
    assert sum(each.runs for each in found) == LAST + 20
    # The last hundred took 21 to 120 seconds: the 50th is 70, the 90th 110.
    assert {each.p50.total_seconds() for each in found} == {70}
    assert {each.p90.total_seconds() for each in found} == {110}


def test_failures_are_no_durations():
    dag = dag_of({"2024-01-31": "fails"})
    dag.run("2024-01-31")
    (only,) = ms.stats("shop.load")
    assert (only.runs, only.successes, only.p50, only.p90) == (1, 0, None, None)
    assert "-" in repr(ms.stats("shop.load")).splitlines()[1]


@pytest.mark.parametrize("count", [1, 2, 3, 7, 10, 99, 100])
def test_the_nearest_rank_is_the_smallest_value_that_enough_do_not_exceed(count):
    values = sorted(random.Random(count).randrange(50) for _ in range(count))
    for percent in range(1, 101):
        # By the definition: the smallest value such that percent of all are at most so large.
        enough = [value for value in values
                  if sum(other <= value for other in values) * 100 >= percent * count]
        assert nearest_rank(values, percent) == min(enough)
        assert nearest_rank(values, percent) == values[math.ceil(percent * count / 100 - 1e-9) - 1]


def test_as_a_table_and_in_a_notebook():
    assert repr(ms.stats()) == "Stats([])"
    with ms.Dag("shop", title="<b>") as dag:

        @ms.task
        def load():
            pass

        load()
    dag.run("2024-01-01")
    stats = ms.stats()
    assert repr(stats).splitlines()[0].split() == [
        "task", "month", "runs", "successes", "met", "deadline", "p50", "p90"]
    assert "shop.load" in stats._repr_html_()
    assert "1 task" in stats._repr_html_()
    assert stats[0].p50 >= datetime.timedelta(0)
    assert set(stats[0].document()) == {
        "task", "month", "runs", "successes", "met", "p50_ms", "p90_ms"}
