"""Tasks, nodes and edges, as a dag's specification says them; no core is needed."""

from datetime import date, timedelta

import mainspring as ms
import pytest


def edges(dag):
    return {task["name"]: task.get("depends_on", []) for task in dag.spec()["tasks"]}


def codes(dag):
    with pytest.raises(ms.SpecError) as caught:
        dag.spec()
    return [problem.code for problem in caught.value.problems]


def test_outside_a_dag_a_task_is_its_function():
    @ms.task(retries=2)
    def double(number: int) -> int:
        """Twice."""
        return 2 * number

    assert double(4) == 8
    assert double.__name__ == "double"
    assert double.__doc__ == "Twice."
    assert double.__wrapped__ is double.fn


def test_methods_stay_methods():
    class Loader:
        @ms.task
        def load(self, table):
            return self, table

    loader = Loader()
    assert loader.load("x") == (loader, "x")


def test_calling_passes_results_and_values():
    with ms.Dag("d") as dag:

        @ms.task
        def extract(biz_date: date, size: int = 500) -> str: ...

        @ms.task
        def clean(path: str, mode: str) -> dict: ...

        @ms.task
        def publish(stats: dict) -> None: ...

        publish(stats=clean(extract(), "fast"))

    tasks = {task["name"]: task for task in dag.spec()["tasks"]}
    assert tasks["extract"]["injected"] == ["biz_date"]
    assert [p["name"] for p in tasks["extract"]["param_schema"]] == ["size"]
    assert tasks["clean"]["inputs"] == {"path": "extract"}
    assert tasks["clean"]["params"] == {"mode": "fast"}
    assert "param_schema" not in tasks["clean"]
    assert tasks["publish"]["depends_on"] == ["clean"]


def test_arrows():
    with ms.Dag("d") as dag:
        a, b, c, d, e = (ms.noop(name) for name in "abcde")
        assert (a >> b) is b
        a >> [b, c]
        [b, c] >> d
        e << d
        e << [a]
    assert edges(dag) == {"a": [], "b": ["a"], "c": ["a"], "d": ["b", "c"], "e": ["d", "a"]}


def test_depends_on():
    with ms.Dag("d") as dag:
        a = ms.noop("a")

        @ms.task(depends_on=["a", a, "other.load", {"upstream": "z.z", "kind": "WEAK"}])
        def b(): ...

        @ms.task(depends_on=b)
        def c(): ...

        @ms.task(depends_on="c")
        def e(): ...

    found = edges(dag)
    assert found["b"] == ["a", "other.load", {"upstream": "z.z", "kind": "WEAK"}]
    assert (found["c"], found["e"]) == (["b"], ["c"])


def test_a_task_belongs_to_its_dag_even_when_it_is_never_called():
    with ms.Dag("d") as dag:

        @ms.task
        def lone(): ...

    assert list(edges(dag)) == ["lone"]


def test_called_twice_it_is_there_twice():
    with ms.Dag("d") as dag:

        @ms.task
        def load(table: str): ...

        assert load("a").name == "load"
        assert load("b").name == "load_2"

    assert [t["params"] for t in dag.spec()["tasks"]] == [{"table": "a"}, {"table": "b"}]


def test_with_options_does_not_leave_the_pattern_behind():
    with ms.Dag("d") as dag:

        @ms.task(retries=1)
        def load(table: str): ...

        for table in "ab":
            load.with_options(name=f"load_{table}", timeout="5m")(table)

    tasks = dag.spec()["tasks"]
    assert [t["name"] for t in tasks] == ["load_a", "load_b"]
    assert [(t["retries"], t["timeout"]) for t in tasks] == [(1, "5m"), (1, "5m")]


def test_tasks_from_elsewhere_serve_several_dags():
    @ms.task
    def shared(): ...

    for name in ("one", "two"):
        with ms.Dag(name) as dag:
            shared()
        assert list(edges(dag)) == ["shared"]


def test_dag_task_without_a_block():
    dag = ms.Dag("d")

    @dag.task
    def a(): ...

    @dag.task(name="bee")
    def b(): ...

    a >> b
    assert edges(dag) == {"a": [], "bee": ["a"]}
    assert a() is None


def test_blocks_do_not_nest_and_errors_leave_no_trace():
    with ms.Dag("outer"):
        with pytest.raises(ms.SpecError, match="inside the block of 'outer'"):
            with ms.Dag("inner"):
                pass
    with pytest.raises(ZeroDivisionError):
        with ms.Dag("broken"):
            1 / 0  # noqa: B018
    with ms.Dag("after") as dag:
        ms.noop("a")
    assert list(edges(dag)) == ["a"]


def test_problems_are_collected():
    with ms.Dag("other"):
        foreign = ms.noop("x")
    with ms.Dag("d") as dag:

        @ms.task
        def a(n: int) -> int: ...

        @ms.task
        def b(*rows): ...

        @ms.task
        def c(rows: list): ...

        a("x", 1, m=2)
        c([a])
        c(foreign)

        @ms.task(name="c")
        def again(): ...

    # A task of another dag's block is a template here too: it is put into this dag.
    found = codes(dag)
    assert sorted(set(found)) == [
        "bad_argument", "bad_call", "duplicate_task", "nested_result", "unknown_argument",
        "var_positional",
    ]


def test_results_of_another_dag_are_no_arguments():
    with ms.Dag("other"):
        handle = ms.noop("x")()
    with ms.Dag("d") as dag:

        @ms.task
        def c(rows: list): ...

        c(handle)
    assert codes(dag) == ["other_dag"]


def test_a_handle_is_no_value():
    with ms.Dag("d"):
        handle = ms.noop("x")()
    for use in (bool, iter, lambda h: h["rows"]):
        with pytest.raises(TypeError, match="has no result yet"):
            use(handle)


def test_options_are_checked_by_name():
    with pytest.raises(TypeError, match="did you mean 'retries'"):
        ms.Dag("d").task(retires=2)(lambda: None)
    with pytest.raises(TypeError):
        ms.task(retires=2)
    with pytest.raises(TypeError, match="needs a function"):
        ms.task(5)


def test_options_reach_the_core():
    with ms.Dag("d", labels=["ods"], start_date=date(2013, 1, 2), defaults={
            "timeout": timedelta(minutes=5)}) as dag:

        @ms.task(retry_interval=timedelta(seconds=1.5), retry_on=[ConnectionResetError, "EXIT_3"],
                 priority="high", labels=("a",), ext={"day": date(2013, 1, 1)}, params={"n": 1})
        def load(n: int): ...

    spec = dag.spec()
    assert spec["start_date"] == "2013-01-02"
    assert spec["defaults"] == {"timeout_ms": 300000}
    task = spec["tasks"][0]
    assert task["retry_interval_ms"] == 1500
    assert task["retry_on"] == ["CONN_RESET", "EXIT_3"]
    assert (task["labels"], task["ext"], task["params"]) == (["a"], {"day": "2013-01-01"}, {"n": 1})
    assert task["handler"].endswith("<locals>.load")
    assert task["source"].partition(":")[0].endswith("test_edges.py")


def test_code_hash_follows_the_source(tmp_path):
    def made(body, decorator="@ms.task"):
        path = tmp_path / "dags.py"
        text = f"import mainspring as ms\ndag = ms.Dag('d')\n{decorator}\ndef a():\n    {body}\n"
        path.write_text(text)
        scope = {}
        exec(compile(text, str(path), "exec"), scope)
        dag = scope["dag"]
        dag.add(scope["a"])
        return dag.spec()["tasks"][0]["code_hash"]

    assert made("return 1") == made("return 1")
    assert made("return 1") == made("return 1", "@ms.task(retries=2)")
    assert made("return 1") != made("return 22")


def test_a_cell_that_is_run_again_replaces_its_task():
    dag = ms.Dag("d")
    for cell in ("<cell 1>", "<cell 2>"):
        scope = {"dag": dag, "__name__": "__main__"}
        exec(compile("@dag.task\ndef a(): ...", cell, "exec"), scope)
    assert list(edges(dag)) == ["a"]


def test_from_graph():
    dag = ms.Dag.from_graph("g", ["a", "b"], [("a", "b"), ("a", "x")])
    assert codes(dag) == ["unknown_task"]
    names = [f"n{i}" for i in range(2000)]
    chain = ms.Dag.from_graph("g", names, zip(names, names[1:], strict=False))
    assert len(chain.spec()["tasks"]) == 2000


def test_reprs():
    with ms.Dag("d", schedule="@daily") as dag:
        a = ms.noop("a")
        b = ms.noop("b")
        a >> b
    assert repr(dag) == "Dag('d', schedule='@daily', tasks=['a', 'b'])"
    assert repr(a) == "Task('a', type='noop')"
    assert repr(dag.node_of(b)) == "Node('d.b', upstream=['a'])"
    assert repr(ms.Problem("c", "p", "m")) == "Problem('c', 'p', 'm')"


def test_an_annotation_that_does_not_fit_what_the_run_fills_in():
    with ms.Dag("d") as dag:

        @ms.task
        def bad(biz_date: int, nominal_at: date, ctx: str): ...

        @ms.task
        def good(biz_date: str, nominal_at: "object", interval_end, ctx: ms.Context): ...

        @ms.task
        def given(biz_date: int): ...

        given(biz_date=20130115)  # a value of one's own is none of the run's

    with pytest.raises(ms.SpecError) as caught:
        dag.spec()
    assert [(p.code, p.place) for p in caught.value.problems] == [
        ("bad_annotation", f"d.bad.{name}") for name in ("biz_date", "nominal_at", "ctx")
    ]
    assert "annotate it with date" in str(caught.value)


def test_an_empty_name_is_a_mistake_and_not_the_functions():
    with pytest.raises(ms.SpecError, match="empty"):
        ms.Dag.from_graph("d", [""]).check()


def test_the_table_of_a_dag_says_where_edges_look():
    with ms.Dag("d") as dag:
        @ms.task(depends_on=[
            ms.dep("ods.orders", offset=-1), ms.dep("ods.x", window=(-6, 0), which="last"),
            ms.asset("rates").ready(offset=ms.months(-2)),
        ])
        def c():
            pass

        c()
    html = dag._repr_html_()
    assert "ods.orders -1 day, ods.x -6 to 0 days, last, asset rates -2 months" in html
