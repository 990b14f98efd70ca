"""``render``: the texts of a task for any day, wherever and whenever it is asked."""

from __future__ import annotations

import pytest

from .conftest import Project

DAG = """
    import mainspring as ms

    with ms.Dag("trips", schedule="0 0 2 * * ?", timezone="Asia/Shanghai") as dag:

        @ms.task(config={"sql": "select 1\\nwhere dt = '${yesterday}'", "n": "${params.size}"},
                 params={"path": "in/$[yyyyMMddHH-1/24].csv"})
        def load(path: str, size: int = 5) -> None: ...

        @ms.task
        def plain() -> None: ...

    with ms.Dag("letters", timezone="Asia/Shanghai"):

        @ms.task(dedup_key="k-${biz_date}-${params.who}")
        def send(who: str) -> None: ...
"""


@pytest.fixture
def trips(project: Project) -> Project:
    project.write("dags/trips.py", DAG)
    return project


def test_each_text_is_shown_before_and_after(trips: Project) -> None:
    done = trips("render", "trips.load", "--biz-date", "2024-02-29")
    assert done.code == 0, done
    assert done.out.splitlines() == [
        "trips for 2024-02-29  2024-02-29T18:00:00Z  Asia/Shanghai",
        "load",
        "  params.path",
        "    - in/$[yyyyMMddHH-1/24].csv",
        "    + in/2024030101.csv",
        "  config.n",
        "    - ${params.size}",
        "    + 5",
        "  config.sql",
        "    - select 1",
        "    - where dt = '${yesterday}'",
        "    + select 1",
        "    + where dt = '2024-02-29'",
    ]


def test_a_whole_dag_in_json(trips: Project) -> None:
    found = trips("render", "trips", "--biz-date", "2024-02-29", "--json").json
    assert (found["dag"], found["biz_date"]) == ("trips", "2024-02-29")
    assert found["interval_start"] == "2024-02-28T18:00:00Z"
    after = {f"{row['task']}.{row['field']}": row["after"] for row in found["texts"]}
    assert after == {"load.params.path": "in/2024030101.csv", "load.config.n": 5,
                     "load.config.sql": "select 1\nwhere dt = '2024-02-29'"}


def test_a_parameter_may_be_given_and_stands_as_written_without(trips: Project) -> None:
    words = ("render", "letters.send", "--biz-date", "2024-02-29", "--json")
    for given, after in [((), "${params.who}"), (("--param", "who=me"), "me")]:
        [row] = trips(*words, *given).json["texts"]
        assert (row["field"], row["after"]) == ("dedup_key", f"k-2024-02-29-{after}")


def test_an_instant_names_the_run_as_well(trips: Project) -> None:
    at = ("--nominal-at", "2024-03-01T02:00:00+08:00", "--json")
    by_instant = trips("render", "trips", *at)
    by_date = trips("render", "trips", "--biz-date", "2024-02-29", "--json")
    assert (by_instant.code, by_instant.out) == (0, by_date.out)


@pytest.mark.parametrize("zone", ["UTC", "Pacific/Kiritimati", "America/Los_Angeles"])
def test_the_zone_of_the_machine_changes_nothing(trips: Project, zone: str) -> None:
    words = ("render", "trips", "--biz-date", "2024-02-29", "--json")
    there, here = trips(*words, TZ=zone), trips(*words)
    assert (there.code, there.out) == (0, here.out)


def test_the_file_may_be_named(project: Project) -> None:
    project.write("other/trips.py", DAG)
    done = project("render", "trips.plain", "--biz-date", "2024-02-29", "--file", "other/trips.py")
    assert done.code == 0, done
    assert done.out.splitlines()[1] == "no text has a placeholder"


def test_what_is_asked_wrongly_is_told_as_run_tells_it(trips: Project) -> None:
    for words, code, said in [
        (("render", "trips.load"), 2, "for which day?"),
        (("render", "trips.", "--biz-date", "2024-02-29"), 2, "names no task"),
        (("render", "trips.laod", "--biz-date", "2024-02-29"), 1, "did you mean `load`?"),
        (("render", "tripz.load", "--biz-date", "2024-02-29"), 2, "there is no dag 'tripz'"),
        (("render", "trips.load", "--biz-date", "2024-02-30"), 2, "2024-02-30"),
        (("render", "trips.load", "--nominal-at", "2024-02-29"), 2, "an instant has a zone"),
        (("render", "trips", "--biz-date", "2024-02-29", "--param", "whom=x"), 1,
         "unknown_parameter"),
    ]:
        done = trips(*words)
        assert (done.code, said in done.err) == (code, True), (words, done)
        assert "Traceback" not in done.err


def test_check_tells_every_bad_placeholder_with_its_place(project: Project) -> None:
    project.write("dags/bad.py", """
        import mainspring as ms

        with ms.Dag("bad") as dag:

            @ms.task(params={"day": "on ${biz_dat}"}, config={"path": "$[0].x"})
            def load(day: str) -> None: ...
    """)
    done = project("check")
    assert done.code == 1
    said = done.out + done.err
    first = "bad.load.params.day: `${biz_dat}`: `biz_dat` is not a known name (at character 4)"
    assert first in said
    assert "did you mean biz_date?" in said
    assert "bad.load.config.path" in said
    assert "2 problems" in said
