"""K01 and K02: wide, deep and real graphs, through the whole product."""

import json
import os
import threading
import time
from pathlib import Path

import mainspring as ms
import pytest

from . import _tools as tools

FULL = 1 if os.environ.get("CRASH_FULL") else 10
"""The largest graphs are a tenth as large unless CRASH_FULL is set."""

GRAPHS = Path(__file__).resolve().parents[2] / "data" / "graphs"


def timed(what, dag, **options):
    """Run a dag; print what an edge costs."""
    began = time.monotonic()
    run = dag.run("2020-01-01", **options)
    took = time.monotonic() - began
    print(f"{what}: {len(run)} tasks, {took:.2f} s, {len(run) / took:,.0f} a second")
    return run, took


@pytest.mark.parametrize("path", sorted(GRAPHS.glob("*.json")), ids=lambda path: path.stem)
def test_real_graphs(path, database):
    graph = json.loads(path.read_text(encoding="utf-8"))
    # A dot parts the dag from the task in our names; Airflow's groups have them.
    nodes = [name.replace(".", "_") for name in graph["nodes"]]
    edges = [(nodes[upstream], nodes[downstream]) for upstream, downstream in graph["edges"]]
    run, _ = timed(path.stem, ms.Dag.from_graph(path.stem, nodes, edges).check())
    assert run.state == "SUCCESS"
    assert run.counts == {"SUCCESS": len(nodes)}
    assert tools.consistent(database) == []
    assert ms._session.history(str(database)).verify() == []


def chain(count):
    nodes = [f"t{number}" for number in range(count)]
    return nodes, list(zip(nodes, nodes[1:], strict=False))


def fan(count):
    nodes = ["first", *(f"t{number}" for number in range(count)), "last"]
    edges = [edge for node in nodes[1:-1] for edge in (("first", node), (node, "last"))]
    return nodes, edges


def test_wide(database):
    """1 -> 50,000 -> 1, and a smaller one: what an edge costs does not grow with the graph."""
    small, fast = timed("small fan", ms.Dag.from_graph("small", *fan(5_000 // FULL)))
    large, slow = timed("large fan", ms.Dag.from_graph("large", *fan(50_000 // FULL)))
    assert small.state == large.state == "SUCCESS"
    assert slow < fast * 10 * 3
    assert tools.consistent(database) == []


def test_bipartite(database):
    above = [f"a{number}" for number in range(100)]
    below = [f"b{number}" for number in range(100)]
    edges = [(up, down) for up in above for down in below]
    run, _ = timed("100 x 100", ms.Dag.from_graph("pairs", above + below, edges))
    assert run.state == "SUCCESS"


def test_deep_chain(database):
    run, _ = timed("chain", ms.Dag.from_graph("chain", *chain(10_000 // FULL)))
    assert run.state == "SUCCESS"
    assert tools.consistent(database) == []


def test_chain_with_skips(database):
    """Exponentially many paths, which nobody may count."""
    nodes, edges = chain(2_000 // FULL)
    edges += list(zip(nodes, nodes[2:], strict=False))
    run, _ = timed("chain with skips", ms.Dag.from_graph("skips", nodes, edges))
    assert run.state == "SUCCESS"


def test_ladder(database):
    left = [f"l{number}" for number in range(2_000 // FULL)]
    right = [f"r{number}" for number in range(2_000 // FULL)]
    edges = [edge for at in range(2_000 // FULL - 1) for edge in (
        (left[at], left[at + 1]), (left[at], right[at + 1]),
        (right[at], left[at + 1]), (right[at], right[at + 1]))]
    run, _ = timed("ladder", ms.Dag.from_graph("ladder", left + right, edges))
    assert run.state == "SUCCESS"


def test_a_chain_of_100_000_is_checked(database):
    nodes, edges = chain(100_000)
    began = time.monotonic()
    ms.Dag.from_graph("chain", nodes, edges).check()
    with pytest.raises(ms.errors.CycleError) as caught:
        ms.Dag.from_graph("circle", nodes, [*edges, (nodes[-1], nodes[0])]).check()
    took = time.monotonic() - began
    print(f"chain of 100,000 checked twice: {took:.1f} s")
    assert len(str(caught.value)) < 100_000
    assert took < 120


def test_waiting_costs_nothing(database):
    """K01: twenty thousand tasks that wait take less than a twentieth of a processor."""
    go = threading.Event()
    nodes, _ = chain(20_000)
    dag = ms.Dag.from_graph("waiting", nodes)

    @dag.task
    def root():
        go.wait(60)

    for each in nodes:
        dag._nodes[each].upstream["waiting.root"] = None
    run = dag.run("2020-01-01", wait=False)
    try:
        tools.until(lambda: run["root"].state == "RUNNING")
        time.sleep(0.5)
        began, cpu = time.monotonic(), time.process_time()
        time.sleep(3)
        share = (time.process_time() - cpu) / (time.monotonic() - began)
    finally:
        go.set()
    print(f"20,000 waiting: {share:.1%} of a processor")
    assert share < 0.05
    assert run.wait(120)
    assert run.state == "SUCCESS"


def below_a_failure(name, nodes, edges):
    """A dag whose first task fails until it is told otherwise."""
    good = []
    dag = ms.Dag.from_graph(name, nodes[1:], [edge for edge in edges if nodes[0] not in edge])
    below = [down for up, down in edges if up == nodes[0]]

    def first():
        if not good:
            raise ValueError("not yet")

    first.__name__ = nodes[0]
    dag.task(first)
    for each in below:
        dag._nodes[each].upstream[f"{name}.{nodes[0]}"] = None
    return dag, good


@pytest.mark.parametrize(("name", "graph"), [
    ("fan", lambda: fan(20_000 // FULL)), ("chain", lambda: chain(20_000 // FULL)),
])
def test_blocked_and_repaired(database, name, graph):
    """Thousands below a failure are blocked, say why in few words, and go on afterwards."""
    nodes, edges = graph()
    dag, good = below_a_failure(name, nodes, edges)
    run, took = timed(f"blocked {name}", dag)
    assert run.state == "FAILED"
    assert run.counts == {"FAILED": 1, "BLOCKED": len(nodes) - 1}
    last = run[nodes[-1]]
    assert last.blocked_by == nodes[0]
    words = run.explain(nodes[-1])
    assert words is None or len(words) < 2_000
    assert tools.consistent(database) == []
    good.append(1)
    began = time.monotonic()
    run = dag.rerun(run)
    again = time.monotonic() - began
    print(f"repaired {name}: {again:.2f} s")
    assert run.state == "SUCCESS", run.counts
    assert tools.consistent(database) == []
    assert [each.outcome for each in run[nodes[0]].attempts] == ["FAILED", "SUCCESS"]
