"""The picture of a dag: where its nodes stand, what its lines say, how large it gets."""

import random
import re

import mainspring as ms
import pytest
from mainspring._layers import layers_of, layout
from mainspring._picture import Edge, Node, picture

from ._page import HOSTILE, page


def boxes(svg):
    """Left, top, width and height of each node's frame, in the order of the nodes."""
    pattern = r'<rect class="p-[ns][^"]*" x="([\d.-]+)" y="([\d.-]+)" width="([\d.]+)" height="([\d.]+)"'
    return [tuple(map(float, found)) for found in re.findall(pattern, svg)]


def random_graph(seed, number):
    rng = random.Random(seed)
    edges = {(rng.randrange(max(0, end - 9), end), end, rng.choice(["SUCCESS", "WEAK"]))
             for end in range(1, number) for _ in range(rng.randrange(3))}
    return sorted(edges)


@pytest.mark.parametrize("seed", range(30))
def test_nodes_do_not_overlap_and_lines_go_to_the_right(seed):
    edges = random_graph(seed, 60)
    svg, _ = picture([Node(f"task_{number}") for number in range(60)], [Edge(*e) for e in edges])
    found = boxes(svg)
    assert len(found) == 60
    for one, (x, y, wide, high) in enumerate(found):
        assert x >= 0 and y >= 0
        for other_x, other_y, other_wide, other_high in found[one + 1:]:
            assert (x + wide <= other_x or other_x + other_wide <= x
                    or y + high <= other_y or other_y + other_high <= y)
    assert all(found[start][0] + found[start][2] <= found[end][0] for start, end, _ in edges)
    assert svg.count('class="p-a"') == len({end for _, end, _ in edges})


@pytest.mark.parametrize("seed", range(30))
def test_a_layout_links_neighbouring_layers_only(seed):
    edges = random_graph(seed, 40)
    made = layout([20.0] * 40, edges, gap=10.0, thin=5.0)
    where = [*made.layer, *(way.layer for way in made.passing)]
    assert all(where[end] == where[start] + 1 for start, end, _, _ in made.links)
    assert sorted(node for line in made.order for node in line) == list(range(len(where)))
    for line in made.order:
        places = [made.middle[node] for node in line]
        assert places == sorted(places)
    # Each edge is a way through the links.
    following = {}
    for start, end, kind, _ in made.links:
        following.setdefault((start, kind), []).append(end)
    for start, end, kind in edges:
        at = {start}
        for _ in range(where[end] - where[start]):
            at = {to for each in at for to in following.get((each, kind), [])}
        assert end in at


def test_crossings_are_taken_out_where_they_can_be():
    edges = [(0, 5, "S"), (1, 4, "S"), (2, 3, "S")]
    made = layout([20.0] * 6, edges, gap=10.0, thin=5.0)
    first, second = made.order
    assert [second.index(end) for start in first for begin, end, _ in edges if begin == start] == [
        0, 1, 2]
    # A chain is a straight line, also beside others.
    made = layout([20.0] * 5, [(0, 1, "S"), (1, 2, "S"), (3, 4, "S")], gap=10.0, thin=5.0)
    assert made.middle[0] == made.middle[1] == made.middle[2]


def test_a_cycle_does_not_hang_it():
    assert len(layers_of(3, [(0, 1), (1, 2), (2, 1)])) == 3
    assert picture([Node("a"), Node("b")], [Edge(0, 1), Edge(1, 0)])[0].startswith("<svg")


def test_a_deep_graph_needs_no_deep_stack():
    assert max(layers_of(50_000, [(number, number + 1) for number in range(49_999)])) == 49_999


def shop():
    with ms.Dag("ods", schedule="0 1 * * *") as ods:
        ms.noop("orders")()
    with ms.Dag("shop", schedule="0 2 * * *") as dag:
        @ms.task(depends_on=[ms.dep("ods.orders", offset=-1),
                             ms.asset("rates", external=True).ready(window=(-6, 0))])
        def load() -> list:
            return [1, 2, 3]

        @ms.task
        def each(number: int) -> int:
            if number == 3:
                raise ValueError("three")
            return number

        @ms.task(depends_on=[ms.dep("load", kind="COMPLETED"), ms.dep("load", offset=-1)])
        def tell() -> None: ...

        each.map(load())
        tell()
    return ods, dag


def test_a_dag_has_stubs_for_what_is_outside_and_styles_for_kinds():
    _, dag = shop()
    found = page(dag._repr_html_())
    stubs = [text for text in found.texts if text in (
        "ods.orders -1 day", "asset rates -6 to 0 days", "load -1 day")]
    assert stubs == ["ods.orders -1 day", "asset rates -6 to 0 days", "load -1 day"]
    assert found.classes.count("p-s") == 3 and found.classes.count("p-n") == 3
    assert "e-COMPLETED" in found.classes
    assert any("dashed: after it ended" in text for text in found.texts)
    assert "mapped" in found.texts


def test_a_run_has_states_by_letter_and_colour_and_its_own_edges():
    with ms.Dag("shop") as dag:
        @ms.task
        def load() -> list:
            return [1, 2, 3]

        @ms.task
        def each(number: int) -> int:
            if number == 3:
                raise ValueError("<three>")
            return number

        @ms.task
        def total(numbers: list) -> int:
            return sum(numbers)

        total(each.map(load()))
    run = dag.run("2024-01-15")
    # The dag has another shape by now; the run keeps its own.
    ms.Dag.from_graph("shop", ["load", "each", "total"]).run("2024-01-16")
    found = page(run._repr_html_())
    assert found.classes.count("p-a") == 2 and "2/3" in found.texts
    assert {"n-ok", "n-bad", "n-hold"} <= set(found.classes)
    assert {"S", "F", "B"} <= set(found.texts)
    assert "total: BLOCKED, blocked by each" in found.titles


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_escaped(name):
    svg, _ = picture([Node(name, state=name, title=name, badge=name), Node(name, outside=True)],
                     [Edge(0, 1, name)])
    from mainspring._theme import frame
    html = frame([svg])
    page(html)
    assert "<script" not in html and "\x1b" not in html


def test_long_names_are_cut_and_told():
    name = "a_name_that_is_much_longer_than_anybody_would_write"
    svg, _ = picture([Node(name), Node("一个很长的任务名称真的很长呀看看会怎么样呢")], [])
    assert f"<title>{name}</title>" in svg and f">{name[:27]}…<" in svg
    assert all(wide < 230 for _, _, wide, _ in boxes(svg))


def test_many_tasks_are_drawn_by_layers():
    dag = ms.Dag.from_graph("big", map(str, range(3_000)),
                            [(str((n - 1) // 3), str(n)) for n in range(1, 3_000)])
    html = dag._repr_html_()
    found = page(html)
    assert len(html) < 30_000
    assert "layer 2" in found.texts and "3 tasks" in found.texts and "2999 edges" in " ".join(
        found.texts)
    deep = ms.Dag.from_graph("deep", map(str, range(2_000)),
                             [(str(n - 1), str(n)) for n in range(1, 2_000)])
    assert "layers 1 to 84" in page(deep._repr_html_()).texts


def test_what_is_wrong_or_empty_is_said():
    bad = ms.Dag.from_graph("abc", ["a", "b"], [("a", "b"), ("b", "a")])
    assert "not drawn, 1 problem: abc.check() says what is wrong" in page(bad._repr_html_()).texts
    with ms.Dag("odd") as odd:
        ms.gate(lambda: None)  # what a gate is named by is text
    assert any("odd.check() says" in text for text in page(odd._repr_html_()).texts)
    assert "no tasks" in page(ms.Dag("empty")._repr_html_()).texts
