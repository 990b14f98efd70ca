"""Runs: states, results, parameters, reruns, history and how they show themselves."""

import enum
import subprocess
import sys
from datetime import date, datetime, timedelta, timezone
from pathlib import Path

import mainspring as ms
import pytest


class Color(enum.Enum):
    RED = "red"


def flights():
    with ms.Dag("flights", timezone="America/New_York") as dag:

        @ms.task
        def extract(biz_date: date, batch_size: int = 500) -> str:
            return f"{biz_date}/{batch_size}"

        @ms.task
        def clean(path: str, nominal_at: datetime) -> dict:
            return {"path": path, "zone": str(nominal_at.tzinfo)}

        clean(extract())
    return dag


def test_a_run_in_full():
    run = flights().run("2013-01-15")
    assert run.state == "SUCCESS"
    assert run.results == {
        "extract": "2013-01-15/500",
        "clean": {"path": "2013-01-15/500", "zone": "America/New_York"},
    }
    assert run.dag == "flights"
    assert run.biz_date == date(2013, 1, 15)
    assert run.nominal_at.tzinfo is not None
    assert run.duration >= timedelta(0)
    assert run.counts == {"SUCCESS": 2}
    assert len(run) == 2
    assert [each.task for each in run] == ["extract", "clean"]
    assert "clean" in run
    assert "none" not in run
    assert run["clean"].attempts[0].number == 1
    assert run.raise_for_failure() is run


def test_dates_and_parameters():
    dag = flights()
    assert dag.run(date(2013, 1, 15), params={"batch_size": 7}).result("extract") == "2013-01-15/7"
    at = datetime(2013, 1, 16, 7, 30, tzinfo=timezone.utc)
    assert dag.run(nominal_at=at).nominal_at == at


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"biz_date": 5}, "no date"),
        ({"biz_date": "2013-02-30"}, "2013-02-30"),
        ({"nominal_at": datetime(2013, 1, 1)}, "with a zone"),
        ({"params": {"batch_size": "x"}}, "batch_size"),
        ({"params": {"batch_size": True}}, "batch_size"),
        ({"params": {"batchsize": 5}}, "batch"),
        ({"params": {"batch_size": object()}}, "batch_size"),
    ],
)
def test_wrong_requests_queue_nothing(arguments, words):
    dag = flights()
    with pytest.raises(ms.SpecError, match=words):
        dag.run(**arguments)
    assert len(ms.runs()) == 0


def test_all_mistakes_of_a_request_at_once():
    with ms.Dag("d") as dag:

        @ms.task
        def a(n: int, day: date): ...

    with pytest.raises(ms.SpecError) as caught:
        dag.run("2013-01-15", params={"n": "x", "day": "2024-02-30", "m": 1})
    assert len(caught.value.problems) == 3


def test_a_missing_required_parameter():
    with ms.Dag("d") as dag:

        @ms.task
        def a(n: int): ...

    with pytest.raises(ms.SpecError, match="n"):
        dag.run("2013-01-15")


def codes_of(call):
    with pytest.raises(ms.SpecError) as caught:
        call()
    return [problem.code for problem in caught.value.problems]


def taking(function, **fields):
    with ms.Dag("d", **fields) as dag:
        ms.task(function)
    return dag


def test_required_parameters_none_and_defaults():
    """G01: its eleven cases, through this face."""
    daily = {"schedule": "@daily"}

    def region(region: str): ...
    def bizdate(bizDate: date): return bizDate.isoformat()  # noqa: N803
    def nullable(region: "str | None" = None, size: int = 5): return [region, size]
    def wrong(size: int = "5"): ...
    def shard(shardIndex: int, shardTotal: int): return shardIndex  # noqa: N803

    # 1: required, without default, on a schedule; a date of the run is given by the run.
    assert codes_of(taking(region, **daily).check) == ["required_without_value"]
    assert taking(bizdate, **daily).run("2013-01-15").result("bizdate") == "2013-01-15"
    # 2: required and missing when it is asked for: nothing is queued.
    known = len(ms.runs())
    assert codes_of(lambda: taking(region).run("2013-01-15")) == ["missing_parameter"]
    assert len(ms.runs()) == known
    # 3: None where the type allows it; a scheduled dag gets defaults like any other.
    for fields in ({}, daily):
        run = taking(nullable, **fields).run("2013-01-15")
        assert run.result("nullable") == [None, 5]
    # 4: a default that is not of its own type.
    assert codes_of(taking(wrong).check) == ["bad_default"]
    # 5 and 6: no such day, and not yyyy-mm-dd.
    for text in ("2024-02-30", "2024-6-1"):
        given = {"bizDate": text}
        assert codes_of(lambda given=given: taking(bizdate).run(params=given)) == ["bad_date"]
    # 7, 8 and 9: "5" is no number, 5.0 is 5, True is no number.
    dag = taking(shard)
    for value in ("5", True):
        given = {"shardIndex": value, "shardTotal": 9}
        assert codes_of(lambda given=given: dag.run(params=given)) == ["wrong_type"]
    assert dag.run(params={"shardIndex": 5.0, "shardTotal": 9}).result("shard") == 5
    # 10: a name that nothing takes. 11: one shard too far.
    more = {"shardIndex": 1, "shardTotal": 9, "more": 1}
    assert codes_of(lambda: dag.run(params=more)) == ["unknown_parameter"]
    far = {"shardIndex": 9, "shardTotal": 9}
    assert codes_of(lambda: dag.run(params=far)) == ["bad_shard"]


def test_values_arrive_in_their_annotated_type():
    seen = {}
    with ms.Dag("d") as dag:

        @ms.task
        def make() -> dict:
            return {"a": (1, 2)}

        @ms.task
        def take(day: date, color: Color, wait: timedelta, where: Path, biz_date: str, made: dict,
                 numbers: set = {1, 2}):  # noqa: B006
            seen.update(locals())

        take(day=date(2013, 1, 1), color=Color.RED, wait=timedelta(seconds=5), made=make())

    run = dag.run("2013-01-15", params={"where": "a/b"})
    assert run.state == "SUCCESS", run
    assert seen.pop("seen", None) in (None, seen)
    assert seen == {
        "day": date(2013, 1, 1), "color": Color.RED, "wait": timedelta(seconds=5),
        "where": Path("a/b"), "biz_date": "2013-01-15", "made": {"a": [1, 2]}, "numbers": {1, 2},
    }


def test_typed_run_parameters():
    seen = []
    with ms.Dag("d") as dag:

        @ms.task
        def take(day: date, color: Color, at: datetime, wait: timedelta):
            seen.append((day, color, at, wait))

    values = (date(2013, 1, 1), Color.RED, datetime(2013, 1, 1, tzinfo=timezone.utc),
              timedelta(seconds=5))
    names = ("day", "color", "at", "wait")
    run = dag.run("2013-01-15", params=dict(zip(names, values, strict=True)))
    assert run.state == "SUCCESS", run
    assert seen == [values]


def test_a_failure_blocks_what_comes_after_it():
    error = ZeroDivisionError("nothing to divide by")
    with ms.Dag("d") as dag:

        @ms.task
        def fail():
            raise error

        @ms.task
        def after(x): ...

        after(fail())

    run = dag.run("2013-01-15")
    assert run.state == "FAILED"
    assert run["fail"].exception is error
    assert run["fail"].error == "ZeroDivisionError: nothing to divide by"
    assert run["fail"].code == "ZeroDivisionError"
    assert run["after"].state == "BLOCKED"
    assert run["after"].blocked_by == "fail"
    assert "nothing to divide by" in str(run)
    with pytest.raises(ms.NotFoundError, match="is BLOCKED"):
        run.result("after")
    with pytest.raises(ms.HandlerError, match="nothing to divide by") as caught:
        run.raise_for_failure()
    assert caught.value.__cause__ is error
    assert caught.value.failures[0].task == "fail"
    first = error.__traceback__.tb_frame.f_code
    assert first.co_name == "fail"
    lines = run["fail"].traceback.splitlines()
    assert "in fail" in lines[1]


def test_retries_until_it_works():
    tries = []
    with ms.Dag("d") as dag:

        @ms.task(retries=3, retry_interval="1ms")
        def flaky():
            tries.append(ms.context().attempt)
            if len(tries) < 3:
                raise ConnectionResetError("again")
            return "ok"

    run = dag.run("2013-01-15")
    assert run.result("flaky") == "ok"
    assert tries == [1, 2, 3]
    assert [a.outcome for a in run["flaky"].attempts] == ["FAILED", "FAILED", "SUCCESS"]
    assert run["flaky"].attempts[0].error_code == "CONN_RESET"
    assert run["flaky"].error is None


def test_fail_with_a_code_of_ones_own():
    with ms.Dag("d") as dag:

        @ms.task(retries=3, retry_interval="1ms", retry_on=["BUSY"])
        def check():
            raise ms.Fail("3 of 24 files", code="INCOMPLETE")

    ran = dag.run("2013-01-15")["check"]
    assert (ran.code, len(ran.attempts)) == ("INCOMPLETE", 1)


def test_rerun():
    ready, calls = [], []
    with ms.Dag("d") as dag:

        @ms.task
        def first():
            calls.append("first")
            return 1

        @ms.task
        def second(x):
            calls.append("second")
            return ready[0]

        second(first())

    run = dag.run("2013-01-15")
    assert run.state == "FAILED"
    ready.append(7)
    again = dag.rerun(run)
    assert again == run
    assert again.state == "SUCCESS"
    assert again.result("second") == 7
    assert calls == ["first", "second", "second"]
    dag.rerun(run.id, first, downstream=True)
    assert calls[3:] == ["first", "second"]


def test_only():
    calls = []
    with ms.Dag("d") as dag:

        @ms.task
        def a():
            calls.append("a")

        @ms.task
        def b():
            calls.append("b")

        a >> b

    dag.run("2013-01-15", only=[b])
    assert calls == ["b"]


def test_without_waiting():
    import threading

    go = threading.Event()
    with ms.Dag("d") as dag:

        @ms.task
        def slow():
            go.wait(10)

    run = dag.run("2013-01-15", wait=False)
    assert run.state == "RUNNING"
    assert run.wait(timeout=0.01) is False
    go.set()
    assert run.wait(timeout=10) is True
    assert run.state == "SUCCESS"


def test_cancel():
    import threading

    started, go = threading.Event(), threading.Event()
    with ms.Dag("d") as dag:

        @ms.task
        def slow():
            started.set()
            while not go.wait(0.01):
                pass

        @ms.task
        def after(x): ...

        after(slow())

    run = dag.run("2013-01-15", wait=False)
    assert started.wait(10)
    run.cancel()
    assert run.wait(timeout=10)
    assert run.state == "CANCELED"
    assert {each.state for each in run} == {"CANCELED"}
    assert isinstance(run["slow"].exception, ms.AttemptCanceled | None)


def test_timeout():
    with ms.Dag("d") as dag:

        @ms.task(timeout="50ms", grace="5s")
        def spin():
            while True:
                pass

    ran = dag.run("2013-01-15")["spin"]
    assert (ran.state, ran.code) == ("TIMEOUT", "TIMEOUT")


def test_history():
    dag = flights()
    for day in (1, 2, 3):
        dag.run(date(2013, 1, day))
    found = ms.runs("flights", since="2013-01-02")
    assert [str(run.biz_date) for run in found] == ["2013-01-03", "2013-01-02"]
    assert len(ms.runs(dag, limit=1)) == 1
    assert len(dag.runs(state=["SUCCESS"])) == 3
    assert ms.run(1).biz_date == date(2013, 1, 1)
    with pytest.raises(ms.NotFoundError, match="no run 99"):
        ms.run(99)
    with pytest.raises(LookupError):
        ms.run(99)
    with pytest.raises(ms.NotFoundError, match="did you mean 'clean'"):
        found[0]["claen"]


def test_how_things_show_themselves():
    dag = flights()
    run = dag.run("2013-01-15")
    assert repr(run) == "Run(1, dag='flights', biz_date='2013-01-15', state='SUCCESS')"
    assert repr(run["clean"]) == "TaskRun('clean', state='SUCCESS', attempts=1)"
    assert repr(run["clean"].attempts[0]) .startswith("Attempt(1, outcome='SUCCESS', duration=")
    lines = str(run).splitlines()
    assert lines[0].startswith("run 1 of flights for 2013-01-15: SUCCESS in ")
    assert lines[1].split() == ["task", "state", "attempts", "duration", "error"]
    assert lines[2].split()[:3] == ["extract", "SUCCESS", "1"]
    html = run._repr_html_()
    assert "<table" in html
    assert "http" not in html
    assert repr(ms.runs()).splitlines()[1].split()[:4] == ["1", "flights", "2013-01-15", "SUCCESS"]
    assert "flights" in ms.runs()._repr_html_()


def test_of_many_tasks_those_that_failed_come_first():
    with ms.Dag("many") as dag:

        @ms.task
        def good(number: int): ...

        @ms.task
        def bad():
            raise ValueError("this one")

        for number in range(70):
            good(number)
        ms.noop("after") << bad()
    run = dag.run("2013-01-15")
    lines = str(run).splitlines()
    assert lines[0].endswith(", 1 FAILED, 1 BLOCKED")
    assert [line.split()[0] for line in lines[2:4]] == ["bad", "after"]
    assert lines[-1] == "... 12 more"
    table = run._repr_html_().partition("<table")[2]
    assert table.index("this one") < table.index("good_2")
    assert repr(run["bad"]) == (
        "TaskRun('bad', state='FAILED', attempts=1, error='ValueError: this one')"
    )
    assert repr(run["after"]) == "TaskRun('after', state='BLOCKED', attempts=0, blocked_by='bad')"
    assert "1 run<" in ms.runs()._repr_html_()


def test_a_table_of_chinese_names_is_aligned():
    run = ms.Dag.from_graph("d", ["抽取", "b"]).run("2013-01-15")
    lines = str(run).splitlines()
    assert lines[2].startswith("抽取  SUCCESS")
    assert lines[3].startswith("b     SUCCESS")


def test_a_dag_shows_itself_as_a_table():
    with ms.Dag("d<", schedule="@daily", timezone="Asia/Shanghai") as dag:

        @ms.task(retries=2)
        def one(): ...

        @ms.task(depends_on=[one, "x.y"])
        def two(): ...

    html = dag._repr_html_()
    assert "d&lt;, @daily, Asia/Shanghai, 2 tasks" in html
    assert "<td" in html and "one, x.y" in html and "retries=2" in html
    assert len(ms.Dag.from_graph("big", map(str, range(3000)))._repr_html_()) < 30_000


def test_html_is_escaped():
    with ms.Dag("d") as dag:

        @ms.task
        def bad():
            raise ValueError("<script>alert(1)</script>\x1b[31m")

    run = dag.run("2013-01-15")
    assert "<script>" not in run._repr_html_()
    assert "\x1b" not in str(run)


def test_definition_is_registered_once():
    from mainspring import _session

    dag = flights()
    dag.run("2013-01-15")
    before = dict(_session.session()._registered)
    dag.run("2013-01-16")
    assert _session.session()._registered == before
    with dag:
        ms.noop("more")
    assert len(dag.run("2013-01-17")) == 3


def test_check_tells_everything():
    with ms.Dag("d d") as dag:

        @ms.task(retries=-1, depends_on=["missing"])
        def a(*rows): ...

    with pytest.raises(ms.SpecError) as caught:
        dag.check()
    assert len({p.code for p in caught.value.problems}) >= 3
    with pytest.raises(ms.CycleError, match="a"):
        ms.Dag.from_graph("c", ["a", "b"], [("a", "b"), ("b", "a")]).check()


def test_pools():
    with ms.Dag("d") as dag:

        @ms.task(pool="small")
        def a(): ...

    with pytest.raises(ms.SpecError, match="there is no pool `small`"):
        dag.run("2013-01-15")  # and does not wait for it for ever
    ms.pool("small", 1)
    assert dag.run("2013-01-15").state == "SUCCESS"
    assert len(dag.runs()) == 1


def test_a_pool_that_another_process_made(database):
    code = f"import mainspring as ms; ms.pool('small', 1, database={str(database)!r})"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
    with ms.Dag("d") as dag:

        @ms.task(pool="small")
        def a(): ...

    run = dag.run("2013-01-15", wait=False)
    assert run.wait(20) and run.state == "SUCCESS"


def test_pools_of_the_project_are_made_when_a_dag_names_one(tmp_path, monkeypatch):
    from mainspring import _config

    (tmp_path / "mainspring.toml").write_text("[pools]\nsmall = 1\n")
    monkeypatch.chdir(tmp_path)
    _config.reset()
    try:
        with ms.Dag("d", defaults={"pool": "small"}) as dag:

            @ms.task
            def a(): ...

        assert dag.run("2013-01-15").state == "SUCCESS"
    finally:
        _config.reset()


def test_a_database_that_cannot_be(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    with pytest.raises(ms.StoreError, match="hint"):
        ms.Dag.from_graph("a", ["a"], database=blocked / "x.db").run("2013-01-15")
    foreign = tmp_path / "foreign.db"
    foreign.write_bytes(b"this is no database at all, sorry" * 100)
    with pytest.raises(ms.StoreError):
        ms.Dag.from_graph("a", ["a"], database=foreign).run("2013-01-15")
    with pytest.raises(OSError, match="."):
        ms.Dag.from_graph("a", ["a"], database=foreign).run("2013-01-15")


def test_no_database_is_an_empty_history(tmp_path):
    assert ms.runs(database=tmp_path / "none.db") == []
    assert not (tmp_path / "none.db").exists()


def test_wide_and_long():
    names = [f"n{i}" for i in range(500)]
    edges = zip(names, names[1:250], strict=False)
    run = ms.Dag.from_graph("g", names, edges).run("2013-01-15")
    assert run.counts == {"SUCCESS": 500}


def test_biz_offset_counts_where_there_is_no_schedule():
    dag = ms.Dag.from_graph("d", ["a"], biz_offset=0, timezone="Asia/Shanghai")
    run = dag.run("2013-01-15")
    assert run.nominal_at.isoformat() == "2013-01-15T00:00:00+08:00"
    assert dag.run().biz_date == dag.runs()[0].nominal_at.date()


def test_a_zone_that_is_none_is_found_by_the_check():
    with pytest.raises(ms.SpecError, match=r"d\.timezone: there is no time zone") as caught:
        ms.Dag.from_graph("d", ["a"], timezone="Asia/Shanhai").check()
    assert "Asia/Shanghai" in caught.value.problems[0].hint


def test_what_only_reads_is_answered():
    ms.Dag.from_graph("d", ["a"]).run("2013-01-15")
    with pytest.raises(ms.StoreError, match="only what reads"):
        ms.sql("DELETE FROM run")
    assert ms.sql("SELECT count(*) AS n FROM run") == [{"n": 1}]
    with pytest.raises(ValueError, match="a run is never 'SUCESS'"):
        ms.runs(state="SUCESS")


def test_pools_are_checked():
    with pytest.raises(ms.SpecError, match="pool name"):
        ms.pool("a b", 1)
    with pytest.raises(ValueError, match="-1"):
        ms.pool("a", -1)


def test_a_date_that_is_none_is_told_with_its_place():
    with pytest.raises(ms.SpecError) as caught:
        ms.Dag.from_graph("d", ["a"]).run("2013-02-30")
    assert caught.value.problems[0].place == "d.biz_date"


def test_a_large_result_is_read_back_from_its_file():
    """It is in a file from 256 KiB on; what is gone is told, and is no None."""
    with ms.Dag("large") as dag:
        @ms.task
        def rows() -> str:
            return "x" * 300_000

        @ms.task
        def count(text: str) -> int:
            return len(text)
        count(rows())
    with ms.testing.isolated() as folder:
        run = dag.run("2024-05-01")
        assert run.result("count") == 300_000
        assert run.result("rows") == "x" * 300_000
        assert run.results["rows"] == "x" * 300_000
        (file,) = [path for path in folder.rglob("*") if path.is_file()
                   and path.stat().st_size == 300_002]
        file.unlink()
        with pytest.raises(ms.StoreError, match="cannot be read"):
            ms.run(run.id).result("rows")


KIB = 1024
SIZES = {  # bytes of JSON text, two of them quotes: where it is kept
    255 * KIB: "row", 256 * KIB: "row", 256 * KIB + 1: "file", 257 * KIB: "file",
    16 * KIB * KIB - 1: "file", 16 * KIB * KIB: "file", 16 * KIB * KIB + 1: None,
}


@pytest.mark.parametrize("size", SIZES)
def test_a_result_of_any_size_comes_back_by_each_way_or_is_refused(size):
    text = "x" * (size - 2)
    with ms.Dag("sizes") as dag:
        @ms.task
        def one() -> str:
            return text

        @ms.task
        def length(text: str) -> int:
            return len(text)
        length(one())
    with ms.testing.isolated():
        run = dag.run("2024-05-01")
        kept = SIZES[size]
        if kept is None:
            assert run.state == "FAILED"
            (attempt,) = run["one"].attempts
            assert attempt.error_code == "RESULT"
            assert "16" in attempt.error
            with pytest.raises(ms.NotFoundError, match="has no result"):
                run.result("one")
            return
        assert run.result("length") == size - 2
        (row,) = ms.sql("SELECT result IS NOT NULL AS here, result_uri IS NOT NULL AS there "
                        "FROM task_run ORDER BY id LIMIT 1")
        assert (row["here"], row["there"]) == (int(kept == "row"), int(kept == "file"))
        again = ms.run(run.id)
        for found in (run.result("one"), run.results["one"], run["one"].result,
                      again.result("one"), again.results["one"], again["one"].result,
                      ms.runs()[0].results["one"]):
            assert found == text
        assert "one" in again._repr_html_() and "one" in str(again)
