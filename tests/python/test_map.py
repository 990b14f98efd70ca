"""``task.map`` and shards: lists known at run time, items, results, reruns, views."""

import json
from datetime import date

import mainspring as ms
import pytest


@pytest.fixture(autouse=True)
def _alone():
    with ms.testing.isolated():
        yield


def reduce_over(items, each=lambda x: x):
    """L returns a list, M runs for each item, R gets the results."""
    got = []
    with ms.Dag("mapped") as dag:
        @ms.task
        def listing():
            return items

        @ms.task
        def work(x):
            return each(x)

        @ms.task
        def total(rows):
            got.append(rows)
            return len(rows)

        total(work.map(listing()))
    return dag, got


@pytest.mark.parametrize("items", [[], [1], [None], [3, 1, 2], [{"a": []}, "b"]])
def test_c09_the_reduce_receives_the_list(items):
    dag, got = reduce_over(items)
    run = dag.run("2013-01-15")
    assert run.state == "SUCCESS"
    assert got == [items]
    assert run.result("work") == items
    assert [each.result for each in run["work"].items] == items


def test_c09_ten_thousand_items_and_one_reduce():
    import resource

    dag, got = reduce_over(list(range(10_000)), lambda x: 2 * x)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    run = dag.run("2013-01-15")
    # KiB: a few hundred bytes for each item and its attempt, and nothing that grows with the square.
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 150_000
    assert run.state == "SUCCESS"
    assert got == [[2 * n for n in range(10_000)]]
    assert run["work[9999]"].result == 19_998
    assert run.counts == {"SUCCESS": 10_003}
    # Views stay the size of the dag.
    assert len(str(run).splitlines()) == 5
    assert "10000/10000 items" in str(run)
    assert len(run._repr_html_()) < 10_000
    assert len(run.tasks) == len(run) == 3


@pytest.mark.parametrize(("given", "kind"), [(5, "a number"), ("abc", "text"), ({}, "an object"),
                                             (None, "null"), (True, "true or false")])
def test_c09_what_is_not_a_list_fails_with_the_reason(given, kind):
    dag, got = reduce_over(given)
    run = dag.run("2013-01-15")
    assert (run.state, run["work"].state, run["total"].state) == ("FAILED", "FAILED", "BLOCKED")
    assert run["work"].code == "NOT_A_LIST"
    assert run["work"].error == (
        f"MappingError: a task is mapped over a list, and this is {kind}")
    assert got == []


def test_c09_one_item_raises():
    def odd(x):
        if x % 2 == 0:
            raise ValueError(f"{x} is even")
        return x

    dag, got = reduce_over([1, 2, 3, 4], odd)
    run = dag.run("2013-01-15")
    assert run["work"].state == "FAILED"
    assert run["work"].error == (
        "2 of 4 items failed, work[1] first: ValueError: 2 is even")
    assert [each.state for each in run["work"].items] == ["SUCCESS", "FAILED", "SUCCESS", "FAILED"]
    assert str(run["work[3]"].exception) == "4 is even"
    assert run["total"].blocked_by == "work"
    with pytest.raises(ms.HandlerError) as caught:
        run.raise_for_failure()
    assert str(caught.value.__cause__) == "2 is even"


def test_c09_the_list_changes_on_rerun():
    sizes = [[1, 2, 3], [7]]
    got = []
    with ms.Dag("mapped") as dag:
        @ms.task
        def listing():
            return sizes[0]

        @ms.task
        def work(x):
            return 10 * x

        @ms.task
        def total(rows):
            got.append(rows)

        total(work.map(listing()))
    run = dag.run("2013-01-15")
    sizes.pop(0)
    dag.rerun(run, "listing", downstream=True)
    assert got == [[10, 20, 30], [70]]
    assert run.refresh().state == "SUCCESS"
    assert [each.item for each in run["work"].items] == [7]
    old = run["work[2]"]
    assert (old.state, old.code) == ("CANCELED", "REMOVED")
    assert run.counts == {"SUCCESS": 4}


def test_single_items_and_failed_items_run_again():
    calls = []
    bad = {2, 3}

    def work(x):
        calls.append(x)
        if x in bad:
            raise ValueError("not yet")
        return x

    dag, got = reduce_over([1, 2, 3], work)
    run = dag.run("2013-01-15")
    assert (run.state, sorted(calls)) == ("FAILED", [1, 2, 3])
    calls.clear()
    bad.discard(2)
    dag.rerun(run, "work[1]")
    assert calls == [2]
    assert (run.refresh().state, got) == ("FAILED", [])
    calls.clear()
    bad.clear()
    dag.rerun(run)  # what failed
    assert calls == [3]
    assert (run.refresh().state, got) == ("SUCCESS", [[1, 2, 3]])
    with pytest.raises(ms.NotFoundError, match=r"work has items work\[0\] to work\[2\]"):
        dag.rerun(run, "work[3]")


def test_arguments_item_and_fixed_ones():
    with ms.Dag("loads") as dag:
        @ms.task
        def tables() -> list:
            return ["a", "b"]

        @ms.task
        def prefix() -> str:
            return "/in"

        @ms.task
        def load(root: str, path: str, day: date, biz_date: date, ctx: ms.Context):
            return [root, path, day.isoformat(), biz_date.isoformat(), ctx.map_index, ctx.params["path"]]

        load.map(tables(), argument="path", root=prefix())
    run = dag.run("2013-01-15", params={"day": "2013-02-01"})
    assert run.result("load") == [
        ["/in", "a", "2013-02-01", "2013-01-15", 0, "a"],
        ["/in", "b", "2013-02-01", "2013-01-15", 1, "b"],
    ]


def test_items_are_of_the_annotated_class():
    with ms.Dag("days") as dag:
        @ms.task
        def load(day: date) -> str:
            return f"{day:%j}"

        load.map([date(2013, 1, 15), date(2013, 12, 31)])
    assert dag.run("2013-01-15").result("load") == ["015", "365"]


def test_a_parameter_of_the_run_is_the_list():
    with ms.Dag("loads") as dag:
        @ms.task
        def load(table: str) -> str:
            return table.upper()

        load.map(ms.param("tables"))
    assert dag.run("2013-01-15", params={"tables": ["a"]}).result("load") == ["A"]
    with pytest.raises(ms.SpecError, match="tables"):
        dag.run("2013-01-15")
    with pytest.raises(ms.SpecError, match="tables"):
        dag.run("2013-01-15", params={"tables": "a"})


def test_maps_in_a_row_go_through_the_collected_list():
    with ms.Dag("chain") as dag:
        @ms.task
        def listing():
            return [1, 2, 3]

        @ms.task
        def double(x):
            return 2 * x

        @ms.task
        def minus(x):
            return -x

        minus.map(double.map(listing()))
    assert dag.run("2013-01-15").result("minus") == [-2, -4, -6]


@pytest.mark.parametrize(("index", "total"), [("shardIndex", "shardTotal"),
                                              ("shard_index", "shard_total")])
def test_shards_have_numbers_under_both_spellings(index, total):
    space = {}
    exec(f"def part({index}: int, {total}: int):\n    return [{index}, {total}]", space)
    with ms.Dag("parts") as dag:
        ms.task(shards=3, params={})(space["part"])()
    assert dag.run("2013-01-15").result("part") == [[0, 3], [1, 3], [2, 3]]


def test_placeholders_are_filled_in_for_each_item():
    with ms.Dag("texts") as dag:
        @ms.task(params={"path": "/in/${params.table}/${biz_date}"})
        def load(table: str, path: str) -> str:
            return path

        load.map(["a", "b"], argument="table")

        @ms.task(shards=2, config={"where": "mod ${params.shardTotal} = ${params.shard_index}"})
        def part(ctx) -> str:
            return ctx.config["where"]

        part()
    run = dag.run("2013-01-15")
    assert run.result("load") == ["/in/a/2013-01-15", "/in/b/2013-01-15"]
    assert run.result("part") == ["mod 2 = 0", "mod 2 = 1"]


def problems_of(build):
    with ms.Dag("bad") as dag:
        build()
    with pytest.raises(ms.SpecError) as caught:
        dag.check()
    return [(each.code, each.place) for each in caught.value.problems], str(caught.value)


@pytest.mark.parametrize(("items", "hint"), [
    (5, "also for one item: [x]"),
    ("abc", "a text is not taken apart"),
    ({1, 2}, "sorted(...) gives a list"),
    ({"a": 1}, "list(d) has its keys"),
    (iter([1]), "also for one item: [x]"),
])
def test_what_can_never_be_a_list_is_refused_at_check(items, hint):
    def build():
        @ms.task
        def load(x): ...
        load.map(items)

    found, text = problems_of(build)
    assert ("not_a_list", "bad.load.map") in found
    assert hint in text


def test_more_that_is_refused_at_check():
    @ms.task
    def number() -> int:
        return 5

    @ms.task
    def load(x: int): ...

    found, text = problems_of(lambda: load.map(number()))
    assert ("not_a_list", "bad.load.map") in found
    assert "number returns int" in text
    found, _ = problems_of(lambda: load.map([1, "two"]))
    assert ("bad_argument", "bad.load.map.items[1]") in found
    found, _ = problems_of(lambda: load.map([1], x=5))
    assert ("no_argument", "bad.load.map") in found
    found, _ = problems_of(lambda: load.map([1], argument="y"))
    assert ("unknown_argument", "bad.load.map.argument") in found
    found, _ = problems_of(lambda: load.map([number(), 2]))
    assert ("nested_result", "bad.load.map") in found

    @ms.task
    def counted(n: int): ...

    def both():
        counted()
        load.map(ms.param("n"))

    found, text = problems_of(both)
    assert ("not_a_list", "bad.load.map.param") in found
    assert "parameter `n` is int" in text


def test_outside_of_a_dag_it_is_a_plain_loop():
    @ms.task
    def load(path: str, table: str) -> str:
        return f"{table}/{path}"

    assert load.map(["a", "b"], table="t") == ["t/a", "t/b"]


def test_an_item_is_canceled_and_explained_by_its_name():
    import threading

    go = threading.Event()

    def wait(x):
        if x:
            while not go.wait(0.01):
                pass
        return x

    dag, _ = reduce_over([0, 1], wait)
    run = dag.run("2013-01-15", wait=False)
    while run["work"].state != "RUNNING" or run["work[0]"].state != "SUCCESS" \
            or run["work[1]"].state != "RUNNING":
        run.refresh()
    assert "waits for 1 of its 2 items" in run["work"].explain()
    assert "attempt 1 runs since" in run["work[1]"].explain()
    run.cancel(["work[1]"], grace=5)
    assert run.wait(20)
    states = [run[name].state for name in ("work", "work[0]", "work[1]", "total")]
    assert states == ["CANCELED", "SUCCESS", "CANCELED", "BLOCKED"]
    assert run.state == "CANCELED"


def test_mapped_tasks_in_a_simulated_world():
    with ms.Dag("nightly", schedule="0 2 * * *", timezone="UTC") as dag:
        @ms.task
        def listing():
            return [1, 2]

        @ms.task
        def work(x):
            return x

        work.map(listing())
    with ms.testing.simulated("2024-01-15", [dag]) as world:
        world.advance("2d")
        runs = world.runs(dag)
        assert [run.state for run in runs] == ["SUCCESS", "SUCCESS"]
        assert all(run.result("work") == [1, 2] for run in runs)


def test_the_database_holds_together():
    dag, _ = reduce_over([1, 2, 3])
    run = dag.run("2013-01-15")
    from mainspring._session import history

    assert history(run.database).verify() == []
    rows = ms.sql("SELECT map_index, item FROM task_run WHERE run_id = ? ORDER BY id", run.id)
    assert [row["map_index"] for row in rows] == [0, -1, 0, 0, 1, 2]
    assert [json.loads(row["item"]) for row in rows if row["item"]] == [1, 2, 3]
