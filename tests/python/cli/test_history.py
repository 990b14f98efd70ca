"""``mainspring history``: a table for people, CSV and lines of JSON for programs."""

from __future__ import annotations

import csv
import io
import json

from .conftest import Project

SHOP = """
    import mainspring as ms

    with ms.Dag("shop") as dag:

        @ms.task
        def load(biz_date) -> int:
            return 1

        @ms.task
        def report(rows: int):
            raise ValueError('no "paper", sorry\\n\\x1b[31m')

        report(load())
"""


def test_the_past_as_table_csv_and_json(project: Project) -> None:
    nothing = project("history")
    assert nothing.code == 0 and "nothing like that was run yet" in nothing.out
    assert project("history", "--json").json == {"history": []}
    project.write("dags/shop.py", SHOP)
    project("run", "shop", "--biz-date", "2013-01-15")
    project("run", "shop", "--biz-date", "2013-01-16")

    table = project("history", "shop", "--since", "2013-01-16").out.splitlines()
    assert table[0].split() == ["RUN_ID", "DAG", "TASK", "MAP_INDEX", "ATTEMPT_NO", "BIZ_DATE",
                                "OUTCOME", "QUEUE_TIME", "DURATION", "ERROR_CODE"]
    assert [line.split()[2] for line in table[1:]] == ["report", "load"]

    words = ("--columns", "task,biz_date,outcome,error", "--format")
    rows = list(csv.DictReader(io.StringIO(project("history", *words, "csv").out)))
    assert [(row["task"], row["biz_date"], row["outcome"]) for row in rows] == [
        ("report", "2013-01-16", "FAILED"), ("load", "2013-01-16", "SUCCESS"),
        ("report", "2013-01-15", "FAILED"), ("load", "2013-01-15", "SUCCESS")]
    lines = [json.loads(line) for line in project("history", *words, "jsonl").out.splitlines()]
    assert [{name: value or "" for name, value in line.items()} for line in lines] == rows
    assert project("history", *words, "csv", "--json").json == {"history": lines}

    failed = project("history", "shop.report", "--state", "failed", "-n", "1", *words, "jsonl")
    assert json.loads(failed.out)["biz_date"] == "2013-01-16"
    runs = project("history", "--level", "run", "--state", "failed", "--since", "1h",
                       "--trigger", "manual", "--json").json["history"]
    assert [row["biz_date"] for row in runs] == ["2013-01-16", "2013-01-15"]


def test_what_is_asked_wrongly_is_said(project: Project) -> None:
    project.write("dags/shop.py", SHOP)
    project("run", "shop", "--biz-date", "2013-01-15")
    for words, code, told in [
        (("shpo",), 2, "did you mean 'shop'"),
        (("--columns", "tsk"), 1, "did you mean `task`"),
        (("--state", "FAILD"), 1, "did you mean `FAILED`"),
        (("--since", "30"), 1, "has no unit"),
        (("--level", "runs"), 2, "unknown word"),
        (("--format", "xml"), 2, "there are: table, csv, jsonl"),
    ]:
        done = project("history", *words)
        assert done.code == code and told in done.err, done
        assert done.out == ""
