"""What is wrong between dags, told from their resolved definitions alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mainspring as ms
import pytest
from mainspring._graph import edge_words
from mainspring.cli._load import Checked, across


def checked(name: str, tasks: dict[str, list[Any]]) -> Checked:
    definition = {
        "key": name,
        "tasks": [
            {
                "name": task,
                "dependencies": [
                    {"upstream": up, "kind": "SUCCESS"} if isinstance(up, str) else up for up in ups
                ],
            }
            for task, ups in tasks.items()
        ],
    }
    return Checked(name, Path(f"{name}.py"), definition, ())


def test_nothing_wrong() -> None:
    dags = [checked("a", {"t": []}), checked("b", {"t": ["a.t"], "u": ["b.t"]})]
    assert across(dags, whole=True) == []


def test_an_upstream_that_is_nowhere() -> None:
    dags = [checked("flights", {"publish": []}), checked("b", {"t": ["flights.publsh"]})]
    (problem,) = across(dags, whole=True)
    assert problem.code == "unknown_upstream"
    assert problem.place == "b.py"
    assert problem.hint == "did you mean 'flights.publish'?"


def test_a_dag_that_is_not_here_may_exist_where_only_some_files_were_read() -> None:
    dags = [checked("b", {"t": ["flights.publish"]})]
    assert across(dags, whole=False) == []
    assert [problem.code for problem in across(dags, whole=True)] == ["unknown_upstream"]


def test_a_broken_dag_is_told_once() -> None:
    broken = Checked("a", Path("a.py"), None, (ms.Problem("x", "", "y"),))
    assert across([broken, checked("b", {"t": ["a.t"]})], whole=True) == []


def test_a_circle_is_told_with_its_path() -> None:
    dags = [checked("a", {"t": ["b.t"]}), checked("b", {"t": ["a.t"]})]
    (problem,) = across(dags, whole=True)
    assert problem.code == "cycle"
    assert "a.t" in problem.message
    assert "b.t" in problem.message


def test_weak_and_earlier_edges_close_no_circle() -> None:
    for edge in (
        {"upstream": "a.t", "kind": "WEAK"},
        {"upstream": "a.t", "kind": "SUCCESS", "offset_from": -1, "offset_to": -1},
    ):
        assert across([checked("a", {"t": ["b.t"]}), checked("b", {"t": [edge]})], whole=True) == []


@pytest.mark.parametrize(("edge", "words"), [
    ({"upstream": "ods.orders"}, "ods.orders"),
    ({"upstream": "ods.orders", "offset_from": -1, "offset_to": -1}, "ods.orders -1 day"),
    ({"upstream": "@rates", "offset_from": -6, "offset_to": 0, "which": "last"},
     "asset rates -6 to 0 days, last"),
    ({"upstream": "w.a", "offset_from": 0, "offset_to": 0, "offset_unit": "slot"}, "w.a 0 slots"),
    ({"upstream": "w.a", "offset_from": -2, "offset_to": -2, "offset_unit": "month"},
     "w.a -2 months"),
])
def test_an_edge_to_another_run_is_shown_in_words(edge: dict[str, Any], words: str) -> None:
    assert edge_words(edge) == words
