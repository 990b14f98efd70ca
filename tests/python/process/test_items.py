"""Items of mapped tasks and shards in worker processes."""

import mainspring as ms

from . import _tools as tools


def test_items_have_their_arguments_in_their_processes(tmp_path, database):
    dag = tools.dag_of(tmp_path, """
        with ms.Dag("jobs") as dag:
            @ms.task
            def listing():
                return [{"n": n} for n in range(20)]

            @ms.task(params={"text": "${params.row.n} of ${biz_date}"})
            def work(row: dict, text: str, ctx: ms.Context):
                if row["n"] == 7:
                    os._exit(5)
                return [row["n"], text, ctx.map_index]

            @ms.task(shards=3)
            def part(shardIndex: int, shardTotal: int):
                return f"{shardIndex}/{shardTotal}"

            work.map(listing(), argument="row", max_active=3)
            part()
    """)
    run = tools.run(dag)
    assert run.result("part") == ["0/3", "1/3", "2/3"]
    items = run["work"].items
    assert [each.state for each in items] == ["SUCCESS"] * 7 + ["FAILED"] + ["SUCCESS"] * 12
    day = str(run.biz_date)
    assert items[3].result == [3, f"3 of {day}", 3]
    assert (run["work"].state, run["work"].code) == ("FAILED", "EXIT_5")
    assert ms.sql("SELECT count(*) AS n FROM attempt_lease") == [{"n": 0}]
