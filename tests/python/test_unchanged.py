"""Exact reprocess: what depends only on what came out unchanged is left as it is."""

import random

import mainspring as ms
import pytest

DAY = "2024-01-05"


class World:
    """Two dags: `a` and `b` in one, a window of `b` and what follows it in the other."""

    def __init__(self, rounded=10):
        self.rows = {}
        self.ran = []
        self.rounded = rounded
        self.build()

    def build(self):
        world = self
        with ms.Dag("ods", schedule="0 2 * * *") as self.ods:
            @ms.task(fingerprint="result")
            def raw(biz_date) -> int:
                world.ran.append(("raw", str(biz_date)))
                return world.rows.get(str(biz_date), 0)

            @ms.task(fingerprint=lambda rows: rows)
            def clean(rows: int, biz_date) -> int:
                world.ran.append(("clean", str(biz_date)))
                return rows // world.rounded

            clean(raw())
        with ms.Dag("dws", schedule="0 4 * * *") as self.dws:
            @ms.task(fingerprint="result", depends_on=[ms.dep("ods.clean", window=(-2, 0))])
            def three(biz_date) -> int:
                world.ran.append(("three", str(biz_date)))
                return 1

            @ms.task
            def report(number: int, biz_date) -> int:
                world.ran.append(("report", str(biz_date)))
                return number

            report(three())
        for dag in (self.ods, self.dws):
            ms.backfill(dag, "2024-01-01", "2024-01-01")

    def all(self, last="2024-01-06"):
        done = ms.backfill(self.ods, "2024-01-01", last, downstream=True, only="all").apply()
        assert done.state == "SUCCESS", done
        self.ran.clear()

    def again(self, day=DAY):
        plan = ms.reprocess("ods.raw", day)
        return plan, plan.apply()


@pytest.fixture
def database():
    with ms.testing.isolated() as folder:
        yield folder


@pytest.mark.usefixtures("database")
def test_what_depends_on_what_came_out_unchanged_is_left_as_it_is():
    world = World()
    world.all()
    plan, done = world.again()
    assert plan.counts == {"forced": 1, "downstream": 7}
    assert (done.state, world.ran) == ("SUCCESS", [("raw", DAY)])
    assert done.counts == {"SUCCESS": 1, "UNCHANGED": 7}
    # The middle comes out unchanged: raw is another, clean is not.
    world.ran.clear()
    world.rows[DAY] = 7
    _, done = world.again()
    assert world.ran == [("raw", DAY), ("clean", DAY)]
    assert done.counts == {"SUCCESS": 2, "UNCHANGED": 6}
    # It comes out changed: what looks at it is computed, and what depends on that is not.
    world.ran.clear()
    world.rows[DAY] = 70
    _, done = world.again()
    days = ["2024-01-05", "2024-01-06", "2024-01-07"]
    assert sorted(world.ran) == sorted([("raw", DAY), ("clean", DAY),
                                        *(("three", day) for day in days)])
    assert done.counts == {"SUCCESS": 5, "UNCHANGED": 3}


@pytest.mark.usefixtures("database")
def test_what_is_left_as_it_is_counts_as_the_success_before():
    world = World()
    world.all()
    world.again()
    run = ms.runs("dws")[0]
    assert (run.state, run["three"].state, run["three"].result) == ("SUCCESS", "SKIPPED", 1)
    assert "nothing that it depends on came out changed" in run.explain("three")
    plan = ms.backfill(world.dws, "2024-01-05", "2024-01-06", only=["missing", "failed", "stale"])
    assert plan.counts == {"succeeded": 4}
    # Another reprocess looks through to the success before that.
    world.ran.clear()
    _, done = world.again()
    assert (done.counts, world.ran) == ({"SUCCESS": 1, "UNCHANGED": 7}, [("raw", DAY)])


@pytest.mark.usefixtures("database")
def test_a_task_without_a_fingerprint_counts_as_changed_and_results_come_from_before():
    ran = []
    with ms.Dag("orders", schedule="0 2 * * *") as dag:
        @ms.task
        def root() -> int:
            ran.append("root")
            return len(ran)

        @ms.task(fingerprint="result", depends_on=[root])
        def same() -> int:
            ran.append("same")
            return 5

        @ms.task(depends_on=[same])
        def kept(biz_date) -> str:
            ran.append("kept")
            return f"of {biz_date}"

        @ms.task
        def both(kept: str, root: int) -> str:
            ran.append("both")
            return f"{kept} {root}"

        both(kept(), root())
    ms.backfill(dag, DAY, DAY).apply()
    ran.clear()
    done = ms.reprocess("orders.root", DAY).apply()
    assert ran == ["root", "same", "both"]
    assert done.counts == {"SUCCESS": 3, "UNCHANGED": 1}
    assert done.runs[0].result("both") == "of 2024-01-05 1"
    assert done.runs[0].result("kept") == "of 2024-01-05"


@pytest.mark.usefixtures("database")
def test_what_is_stale_or_missing_is_computed_whatever_comes_out():
    world = World()
    world.all()
    # The cell of one day is made old by a run of what it looks at.
    world.rows[DAY] = 90
    ms.backfill(world.ods, DAY, DAY, only="all").apply()
    world.ran.clear()
    _, done = world.again()
    days = ["2024-01-05", "2024-01-06", "2024-01-07"]
    assert sorted(world.ran) == sorted([("raw", DAY), *(("three", day) for day in days)])
    assert done.counts == {"SUCCESS": 4, "UNCHANGED": 4}


@pytest.mark.parametrize("given, kept", [
    ("etag", "etag"), (17, "17"), (b"\x01\xff", "01ff"), ("x" * 128, "x" * 128),
])
@pytest.mark.usefixtures("database")
def test_a_handler_says_its_fingerprint(given, kept):
    with ms.Dag("loads") as dag:
        @ms.task
        def within() -> int:
            ms.context().fingerprint(given)
            return 1

        @ms.task(fingerprint=lambda result: given)
        async def after() -> int:
            return 1

        @ms.task
        def none() -> int:
            return 1

        @ms.task(fingerprint="result")
        def of_result() -> list:
            return [1, {"a": 2}]
    run = dag.run("2024-01-05")
    assert [run[task].fingerprint for task in ("within", "after", "none")] == [kept, kept, None]
    assert len(run["of_result"].fingerprint) == 32
    assert dag.run("2024-01-06")["of_result"].fingerprint == run["of_result"].fingerprint


@pytest.mark.parametrize("bad, words", [
    (lambda result: 1 / 0, "ZeroDivisionError"),
    (lambda result: [1], "not list"),
    (lambda result: True, "not bool"),
    (lambda result: "", "is empty"),
])
@pytest.mark.usefixtures("database")
def test_a_fingerprint_that_cannot_be_had_fails_the_attempt(bad, words):
    with ms.Dag("loads") as dag:
        @ms.task(fingerprint=bad)
        def load() -> int:
            return 1
    run = dag.run("2024-01-05")
    assert run.state == "FAILED"
    assert run["load"].attempts[-1].error_code == "FINGERPRINT"
    assert words in run["load"].error


def test_what_is_no_fingerprint_is_refused_with_its_place():
    with ms.Dag("loads") as dag:
        @ms.task(fingerprint="resutl")
        def load(): ...
        ms.noop("nothing", fingerprint="result")
    with pytest.raises(ms.errors.SpecError) as found:
        dag.check()
    problems = {problem.place: (problem.code, problem.hint) for problem in found.value.problems}
    assert problems["loads.load.fingerprint"] == ("bad_fingerprint", "did you mean `result`?")
    assert problems["loads.nothing.fingerprint"][0] == "no_output"


@pytest.mark.usefixtures("database")
def test_the_fingerprint_of_a_mapped_task_is_of_all_its_items():
    ran, rows = [], {"a": 1, "b": 2}
    with ms.Dag("loads", schedule="0 2 * * *") as dag:
        @ms.task(fingerprint="result")
        def load(path: str) -> int:
            ran.append(path)
            return rows[path]

        @ms.task
        def total(numbers: list) -> int:
            ran.append("total")
            return sum(numbers)
        total(load.map(["a", "b"]))
    ms.backfill(dag, DAY, DAY).apply()
    for change, expected in [(2, ["a", "b"]), (3, ["a", "b", "total"])]:
        ran.clear()
        rows["b"] = change
        ms.reprocess("loads.load", DAY).apply()
        assert sorted(ran) == expected


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.usefixtures("database")
def test_the_cells_that_are_computed_are_those_of_a_naive_closure(seed):
    rng = random.Random(seed)
    world = World(rounded=rng.choice([1, 10, 50]))
    world.all()
    for _ in range(3):
        day = f"2024-01-0{rng.randint(1, 6)}"
        before = dict(world.rows)
        world.rows[day] = rng.choice([world.rows.get(day, 0), rng.randint(0, 99)])
        world.ran.clear()
        plan, done = world.again(day)
        assert done.state == "SUCCESS"
        planned = {("three", run.biz_date) for run in plan.runs if run.dag == "dws"}
        expected = naive(world, day, before, planned)
        assert sorted(world.ran) == sorted(expected)
        # A closure that stops nowhere is told apart.
        assert len(expected) < sum(plan.counts.values())


def naive(world, day, before, planned):
    """What is computed: a chain that goes on as long as something comes out otherwise."""
    old, new = before.get(day, 0), world.rows.get(day, 0)
    computed = [("raw", day)]
    if old != new:
        computed.append(("clean", day))
        if old // world.rounded != new // world.rounded:
            computed.extend((task, str(date)) for task, date in planned)
    return computed
