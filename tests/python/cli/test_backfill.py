"""backfill and reprocess: plans on the command line."""

from __future__ import annotations

import json

import pytest

from .conftest import Project

ORDERS = """
    import mainspring as ms

    with ms.Dag("orders", schedule="0 2 * * *", start_date="2024-01-01") as dag:

        @ms.task
        def extract(client: str = "all"): ...

        @ms.task(depends_on=[extract])
        def load(): ...
"""

RANGE = ("--from", "2024-01-01", "--to", "2024-01-03")


@pytest.fixture
def orders(project: Project) -> Project:
    """A project of which one day has run."""
    project.write("dags/orders.py", ORDERS)
    assert project("run", "orders", "--biz-date", "2024-01-02").code == 0
    return project


class TestBackfill:
    def test_a_plan_is_printed_and_nothing_is_started(self, orders: Project) -> None:
        said = orders("backfill", "orders", *RANGE)
        assert said.code == 0, said
        assert "4 of 6 cells are computed, 2 runs" in said.out
        assert "M 4 missing" in said.out
        assert "plan.apply()" not in said.out
        assert len(orders("runs", "--json").json) == 1

    def test_a_project_of_which_nothing_was_run_is_read_from_its_files(
            self, project: Project) -> None:
        project.write("dags/orders.py", ORDERS)
        project.write("dags/sums.py", """
            import mainspring as ms

            with ms.Dag("sums", schedule="0 3 * * *", start_date="2024-01-01") as dag:

                @ms.task(depends_on=[ms.dep("orders.load", window=(-1, 0))])
                def week(): ...
        """)
        project.write("dags/broken.py", "import mainspring as ms\nms.Dag('broken', schedule='x')\n")
        said = project("backfill", "orders", "--from", "2024-01-03", "--to", "2024-01-03",
                       "--downstream")
        assert said.code == 0, said
        # Of the two dates that look at the 3rd one both follow.
        assert "4 of 4 cells are computed, 3 runs" in said.out
        assert "1 problem in other dag files" in said.err
        assert project("runs", "--json").json == {"runs": []} or not project("runs", "--json").json

    def test_a_dag_whose_file_is_wrong_is_not_planned(self, project: Project) -> None:
        project.write("dags/orders.py", ORDERS.replace("0 2 * * *", "0 25 * * *"))
        said = project("backfill", "orders", *RANGE)
        assert said.code == 1 and "nothing was begun" in said.err, said

    def test_a_plan_is_one_document(self, orders: Project) -> None:
        said = orders("backfill", "orders", *RANGE, "--only", "missing,failed", "--tasks", "load",
                      "--param", "client=x", "--order", "desc", "--json")
        assert said.code == 0, said
        assert said.json["counts"] == {"missing": 2, "succeeded": 1}
        assert [run["biz_date"] for run in said.json["runs"]] == ["2024-01-03", "2024-01-01"]
        assert said.json["ask"]["params"] == {"client": "x"}
        assert said.json["ask"]["also"] == ["failed"]

    def test_a_plan_is_saved_and_read_back(self, orders: Project) -> None:
        first = orders("backfill", "orders", *RANGE, "--save", "plan.json", "--json")
        again = orders("backfill", "--plan-file", "plan.json", "--json")
        assert again.code == 0, again
        assert again.json == first.json
        assert json.loads((orders.root / "plan.json").read_text())["plan"]["hash"] == \
            first.json["hash"]

    def test_what_is_wrong_is_told_with_the_place(self, orders: Project) -> None:
        said = orders("backfill", "orders", "--from", "2024-02-30", "--to", "2024/03/01", "--tasks",
                      "laod", "--json")
        assert said.code == 1, said
        assert sorted(problem["code"] for problem in said.json["problems"]) == \
            ["bad_date", "bad_date", "unknown_task"]
        for words in (["backfill", "orders"], ["backfill", *RANGE], ["reprocess"],
                      ["backfill", "order", *RANGE]):
            assert orders(*words).code == 2

    def test_a_task_is_computed_again_with_what_depends_on_it(self, orders: Project) -> None:
        said = orders("reprocess", "orders.extract", "--biz-date", "2024-01-02")
        assert said.code == 0, said
        assert "reprocess of orders.extract, 2024-01-02 to 2024-01-02" in said.out
        assert "X 1 forced" in said.out
        assert "D 1 downstream" in said.out
