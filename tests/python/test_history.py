"""The history as a table: what pandas, polars, DuckDB and pyarrow read is what was remembered."""

import datetime
import gc
import json
import os
import random
import subprocess
import sys
from datetime import timedelta

import duckdb
import mainspring as ms
import pandas
import polars
import pyarrow
import pytest
from mainspring import _session

LEVELS = ("attempt", "task_run", "run")


def orders():
    with ms.Dag("orders", schedule="0 2 * * *", timezone="Europe/Berlin") as dag:

        @ms.task
        def listing(biz_date) -> list:
            return [1, 2, 3]

        @ms.task
        def load(number: int) -> int:
            if number == 2:
                raise ValueError("nö <b>&\N{SNOWMAN}")
            return number

        @ms.task(retries=2)
        def flaky():
            pass

        @ms.task(timeout="5m")
        def slow():
            pass

        @ms.task
        def after():
            pass

        load.map(listing())
        slow() >> after()
        flaky()
    return dag


def long():
    with ms.Dag("long", schedule="0 3 * * *", timezone="Asia/Shanghai") as dag:

        @ms.task
        def wait():
            pass

        wait()
    return dag


def tick():
    """Many runs of nothing: beside them those of the others are few, and an index finds them."""
    return ms.Dag.from_graph("tick", ["a"], schedule="0 * * * *")


STUBS = {"orders.flaky": ms.testing.stub(takes="3m", fails=1),
         "orders.slow": ms.testing.stub(takes="10m"),
         "long.wait": ms.testing.stub(takes="20h")}


@pytest.fixture
def world():
    """Eight days of failures, retries, timeouts, mapped tasks, a canceled run and a live attempt."""
    with ms.testing.simulated("2026-03-25", [orders(), long(), tick()], stub=STUBS) as world:
        world.advance("4d")
        world.runs("long")[-1].cancel()
        world.advance("3d")
        world.advance("21h")
        yield world


def told(run):
    """The attempts of a run, as the API of runs tells them."""
    every = [ms.TaskRun(run, row) for row in run._task_rows()]
    for each in every:
        for attempt in each.attempts:
            ended = attempt.finished_at is not None
            yield {
                "run_id": run.id, "task_run_id": each._row["id"], "dag": run.dag,
                "task": each.task.partition("[")[0], "map_index": each.map_index,
                "attempt_no": attempt.number, "version": each.version, "trigger": run.trigger,
                "biz_date": run.biz_date, "nominal_at": run.nominal_at, "timezone": run.timezone,
                "outcome": attempt.outcome, "error_code": attempt.error_code,
                "error_type": attempt.error_type, "error": attempt.error,
                "started_at": attempt.started_at, "finished_at": attempt.finished_at,
                "duration": attempt.duration if ended else None,
            }


def by_key(rows):
    return sorted(rows, key=lambda row: (row["task_run_id"], row["attempt_no"]))


def test_attempts_are_those_of_the_runs(world):
    table = ms.history()
    expected = by_key(row for run in ms.runs(limit=1000) for row in told(run))
    names = list(expected[0])
    rows = by_key(table.to_arrow().to_pylist())
    assert [{name: row[name] for name in names} for row in rows] == expected
    outcomes = {row["outcome"] for row in rows}
    assert outcomes == {"SUCCESS", "FAILED", "TIMEOUT", "CANCELED", None}, "the story has them all"
    assert {row["map_index"] for row in rows} == {None, 0, 1, 2}
    # Only of the first attempt it is known when it became ready.
    assert all((row["ready_at"] is None) == (row["attempt_no"] > 1) for row in rows)
    assert all((row["queue_time"] is None) == (row["attempt_no"] > 1) for row in rows)


def test_task_runs_are_those_of_the_runs(world):
    expected = {}
    for run in ms.runs(limit=1000):
        for row in run._task_rows():
            each = ms.TaskRun(run, row)
            expected[row["id"]] = {
                "run_id": run.id, "dag": run.dag, "task": each.task.partition("[")[0],
                "map_index": each.map_index, "mapped": row["mapped"], "version": each.version,
                "trigger": run.trigger, "biz_date": run.biz_date, "state": each.state,
                "code": each.code, "attempts": len(each.attempts), "started_at": each.started_at,
                "finished_at": each.finished_at, "stale": each.stale, "overdue": each.overdue,
                "duration": each.duration if each.finished_at is not None else None,
            }
    rows = ms.history(level="task_run").to_arrow().to_pylist()
    assert [row["task_run_id"] for row in rows] == sorted(expected, reverse=True)
    for row in rows:
        wanted = expected[row["task_run_id"]]
        assert {name: row[name] for name in wanted} == wanted
    assert {"BLOCKED", "SUCCESS", "FAILED", "TIMEOUT", "CANCELED", "RUNNING"} <= {
        row["state"] for row in rows}


def test_runs_are_those_of_the_list(world):
    rows = ms.history(level="run").to_arrow().to_pylist()
    runs = ms.runs(limit=1000)
    assert [row["run_id"] for row in rows] == [run.id for run in runs]
    for row, run in zip(rows, runs, strict=True):
        for name in ("dag", "trigger", "biz_date", "nominal_at", "interval_start", "interval_end",
                     "timezone", "state", "created_at", "finished_at"):
            assert row[name] == getattr(run, name), name
        assert row["tasks"] == len(run)
        assert json.loads(row["params"]) == run.params
        assert row["schedule"] is not None and row["task"] is None
        assert row["duration"] == (run.duration if run.finished_at else None)


@pytest.mark.parametrize("level", LEVELS)
def test_every_library_reads_the_same(world, level):
    table = ms.history(level=level)
    rows = pyarrow.table(table).to_pylist()
    assert len(rows) == len(table) > 0
    assert polars.DataFrame(table).to_dicts() == rows
    names = ", ".join(f'"{name}"' for name in table.columns)
    seen = table  # DuckDB finds it by this name
    found = duckdb.sql(f"SELECT {names} FROM seen").fetchall()
    assert len(seen) == len(found)
    assert [list(row) for row in found] == [list(row.values()) for row in rows]
    frame = table.to_pandas()
    assert list(frame.columns) == table.columns
    for name in table.columns:
        for cell, row in zip(frame[name], rows, strict=True):
            wanted = row[name]
            if wanted is None:
                assert pandas.isna(cell), name
            elif name == "biz_date":
                assert cell.date() == wanted
            else:
                assert cell == wanted, name


def test_the_types_are_those_of_the_page(world):
    word = pyarrow.dictionary(pyarrow.int32(), pyarrow.string())
    schema = pyarrow.schema(ms.history())
    assert schema == pyarrow.table(ms.history()).schema
    kinds = {name: schema.field(name).type for name in schema.names}
    assert {name for name, kind in kinds.items() if kind == word} == {
        "dag", "task", "trigger", "timezone", "outcome", "error_code", "error_type", "host"}
    assert {name for name, kind in kinds.items() if kind == pyarrow.timestamp("us", "UTC")} == {
        "nominal_at", "ready_at", "started_at", "finished_at"}
    assert {name for name, kind in kinds.items() if kind == pyarrow.duration("us")} == {
        "queue_time", "duration", "cpu_time"}
    assert kinds["biz_date"] == pyarrow.date32()
    frame = ms.history().to_pandas()
    assert str(frame["map_index"].dtype) == "Int32" and str(frame["run_id"].dtype) == "int64"
    assert str(frame["biz_date"].dtype).startswith("datetime64[")
    assert str(frame["dag"].dtype) == "category"
    # Only words that are there: a category of a dag that was filtered out would be counted as 0.
    assert set(ms.history("long").to_pandas()["dag"].cat.categories) == {"long"}


@pytest.mark.parametrize("level", LEVELS)
def test_an_empty_history_has_its_columns(level, database):
    def empty(table):
        seen = table
        assert len(seen) == 0 and bool(table) is False
        assert pyarrow.table(table).num_rows == 0 and polars.DataFrame(table).shape[0] == 0
        assert table.to_pandas().shape == (0, len(table.columns))
        assert duckdb.sql("SELECT count(*) FROM seen").fetchall() == [(0,)]
        assert repr(table).startswith("0 ") and "<table" in table._repr_html_()
        assert list(table.documents()) == []
        return pyarrow.schema(table)

    assert not database.exists()
    nothing = empty(ms.history(level=level))
    assert not database.exists(), "reading makes no database"
    ms.Dag.from_graph("abc", ["a"]).run("2013-01-15")
    assert empty(ms.history(level=level, until="2012-01-01")) == nothing
    assert pyarrow.schema(ms.history(level=level)) == nothing


def test_a_live_attempt_has_no_end(world):
    live = ms.history(outcome="RUNNING").to_arrow().to_pylist()
    assert [(row["dag"], row["finished_at"], row["duration"], row["outcome"]) for row in live] == [
        ("long", None, None, None)]
    assert live[0]["started_at"] is not None
    state, = ms.history("long", level="task_run", state="RUNNING", columns="state").documents()
    assert state == {"state": "RUNNING"}


# Filters


def counted(**filters):
    return len(ms.history(**filters))


def test_filters(world):
    every = ms.history().to_arrow().to_pylist()

    def held(keep):
        return sum(map(bool, map(keep, every)))

    assert counted() == len(every)
    assert counted(dag="orders") == held(lambda row: row["dag"] == "orders")
    assert counted(dag=orders()) == counted(dag="orders")
    assert counted(dag="orders.load") == held(lambda row: row["task"] == "load") > 0
    assert counted(task=["load", "wait"]) == held(lambda row: row["task"] in ("load", "wait"))
    assert counted(dag="orders", task="load") == counted(dag="orders.load", task="load")
    assert counted(outcome=["FAILED", "TIMEOUT"]) == held(
        lambda row: row["outcome"] in ("FAILED", "TIMEOUT")) > 0
    assert counted(trigger="schedule") == len(every) and counted(trigger=["manual"]) == 0
    day = datetime.date(2026, 3, 26)
    assert counted(since=day, until="2026-03-27") == held(
        lambda row: day <= row["biz_date"] <= datetime.date(2026, 3, 27)) > 0
    assert counted(limit=3) == 3 and counted(limit=0) == 0
    newest = [row["task_run_id"] for row in every[:3]]
    assert [row["task_run_id"] for row in ms.history(limit=3).documents()] == newest


def test_lengths_of_time_count_from_the_clock_of_the_world(world):
    every = ms.history().to_arrow().to_pylist()
    begin = world.now - timedelta(days=2)
    wanted = sum(row["started_at"] >= begin for row in every)
    assert 0 < wanted < len(every)
    assert counted(since="2d") == counted(since="48h") == counted(since=timedelta(2)) == wanted
    assert counted(since=begin) == counted(since=begin.isoformat()) == wanted
    assert counted(until="2d") == len(every) - wanted
    assert counted(since="1d", now=world.now - timedelta(days=1)) == wanted
    # Naive is the project's zone, UTC without one.
    assert counted(since=begin.replace(tzinfo=None)) == wanted
    assert counted(dag="orders", since="2d") == sum(
        row["started_at"] >= begin and row["dag"] == "orders" for row in every)
    for level in ("task_run", "run"):
        made = ms.history(level=level, columns="created_at").to_arrow()["created_at"].to_pylist()
        assert counted(level=level, since="2d") == sum(at >= begin for at in made) > 0


def test_an_attempt_that_began_early_and_ended_late_is_found_by_its_beginning(world):
    """The index knows ends, not beginnings."""
    rows = ms.history().to_arrow().to_pylist()
    for row in rows:
        at = row["started_at"]
        assert counted(since=at) == sum(other["started_at"] >= at for other in rows)
        assert counted(until=at) == sum(other["started_at"] < at for other in rows)


def test_columns_come_as_they_are_asked_for(world):
    table = ms.history(columns=["outcome", "dag"])
    assert table.columns == ["outcome", "dag"] == pyarrow.table(table).column_names
    assert ms.history(columns="dag").columns == ["dag"]
    for level in LEVELS:
        for name in ms.history(level=level).columns:
            assert pyarrow.table(ms.history(level=level, columns=name)).column(0).equals(
                pyarrow.table(ms.history(level=level)).column(name)), name


@pytest.mark.parametrize("seed", range(30))
def test_rows_and_sums_are_those_of_plain_sql(world, seed):
    chance = random.Random(seed)
    filters, where, values = {}, ["1"], []

    def maybe(**options):
        (name, value), = options.items()
        if chance.random() < 0.4:
            filters[name] = value
            return True
        return False

    dag = chance.choice(["orders", "long", "tick"])
    if maybe(dag=dag):
        where.append("dag.key = ?")
        values.append(dag)
    first = datetime.date(2026, 3, 24) + timedelta(days=chance.randrange(8))
    if maybe(since=first):
        where.append("run.biz_date >= ?")
        values.append(first.isoformat())
    last = first + timedelta(days=chance.randrange(3))
    if maybe(until=last):
        where.append("run.biz_date <= ?")
        values.append(last.isoformat())
    outcome = chance.choice(["SUCCESS", "FAILED", "TIMEOUT", "CANCELED"])
    if maybe(outcome=outcome):
        where.append("attempt.outcome = ?")
        values.append(outcome)
    wanted, = ms.sql(
        "SELECT count(*) AS n, total(attempt.finished_at - attempt.started_at) AS took, "
        "total(attempt.finished_at IS NULL) AS live FROM attempt "
        "JOIN task_run ON task_run.id = attempt.task_run_id JOIN run ON run.id = task_run.run_id "
        f"JOIN dag ON dag.id = run.dag_id WHERE {' AND '.join(where)}", *values)
    frame = ms.history(**filters).to_polars()
    assert frame.height == wanted["n"]
    assert (frame["duration"].sum() or timedelta(0)) == timedelta(microseconds=wanted["took"])
    assert frame["finished_at"].null_count() == wanted["live"]


def test_what_happens_later_does_not_change_a_table(world):
    table = ms.history()
    before = pyarrow.table(table)
    world.advance("2d")
    assert pyarrow.table(table).equals(before)
    assert len(ms.history()) > len(table)


# Memory


def test_a_stream_may_be_asked_for_again_and_left_alone(world):
    table = ms.history()
    assert pyarrow.table(table).equals(pyarrow.table(table))
    for _ in range(100):
        table.__arrow_c_stream__()
        table.__arrow_c_schema__()
    gc.collect()
    reader = pyarrow.RecordBatchReader.from_stream(table)
    del table
    gc.collect()
    assert reader.read_all().num_rows == counted()


def test_columns_outlive_the_database_and_the_table(world):
    kept = ms.history().to_arrow()
    frame = ms.history().to_polars()
    _session.close(world.database)
    gc.collect()
    assert kept.num_rows == frame.height > 0
    assert set(kept["dag"].to_pylist()) == set(frame["dag"].to_list()) == {"orders", "long", "tick"}


def test_more_rows_than_a_batch():
    ms.Dag.from_graph("abc", ["a"]).run("2013-01-15")
    database = _session.location(None)
    _session.close()
    code = """
import sqlite3, sys
c = sqlite3.connect(sys.argv[1])
names = [row[1] for row in c.execute("PRAGMA table_info(attempt)")]
given = {"id": "id + n", "attempt_no": "attempt_no + n", "finished_at": "finished_at + n"}
c.execute("WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 150000) "
          f"INSERT INTO attempt ({', '.join(names)}) "
          f"SELECT {', '.join(given.get(name, name) for name in names)} FROM n CROSS JOIN attempt")
c.commit()
"""
    subprocess.run([sys.executable, "-c", code, database], check=True, stdin=subprocess.DEVNULL)
    table = ms.history()
    assert len(table) == 150_001
    batches = pyarrow.table(table).to_batches()
    assert len(batches) == 3 and max(map(len, batches)) == 65_536
    assert pyarrow.table(table)["attempt_no"].to_pylist() == list(range(150_001, 0, -1))
    assert polars.DataFrame(table)["dag"].unique().to_list() == ["abc"]
    assert sum(1 for _ in table.documents()) == 150_001
    assert "... 149,991 more" in repr(table)


# Names and texts of others


HOSTILE = "<script>alert('x')</script>\n\x1b[31m\N{RIGHT-TO-LEFT OVERRIDE}"


def test_hostile_texts_stay_texts():
    with ms.Dag("日报-été") as dag:

        @ms.task
        def lösen():
            raise ms.Fail("no", code="X'; DROP TABLE run; --")

        @ms.task
        def say():
            raise ValueError(HOSTILE + "\0" + "x" * 100_000)
    dag.run("2013-01-15", params={})
    table = ms.history("日报-été", columns=["dag", "task", "error_code", "error"])
    rows = {row["task"]: row for row in pyarrow.table(table).to_pylist()}
    assert set(rows) == {"lösen", "say"} and rows["say"]["dag"] == "日报-été"
    attempts = {each.task: each.attempts[0] for each in ms.runs()[0]}
    for name, row in rows.items():
        assert row["error_code"] == attempts[name].error_code
        assert row["error"] == attempts[name].error
    assert "<script>" not in table._repr_html_() and "&lt;script&gt;" in table._repr_html_()
    assert "\x1b" not in repr(table) and len(repr(table).splitlines()) == 4
    for name in ("'; DROP TABLE run; --", "x\0y", HOSTILE):
        with pytest.raises(ms.NotFoundError):
            ms.history(name)
        with pytest.raises(ms.NotFoundError):
            ms.history(task=name)
    assert counted() == 2


def test_bytes_that_are_no_text_are_shown_as_well_as_they_can_be():
    ms.Dag.from_graph("abc", ["a"]).run("2013-01-15")
    database = _session.location(None)
    _session.close()
    code = ("import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); "
            "c.execute(\"UPDATE attempt SET error = CAST(x'ff41' AS TEXT)\"); c.commit()")
    subprocess.run([sys.executable, "-c", code, database], check=True, stdin=subprocess.DEVNULL)
    assert pyarrow.table(ms.history())["error"].to_pylist() == ["\N{REPLACEMENT CHARACTER}A"]


# What is asked wrongly


@pytest.mark.parametrize(("asked", "code", "words"), [
    ({"columns": ["dag", "outcom", "tsk"]}, "unknown_column", "did you mean `outcome`"),
    ({"columns": ["dag", "dag"]}, "duplicate_column", "asked for twice"),
    ({"columns": []}, "no_columns", "there are: run_id"),
    ({"columns": [1]}, "wrong_type", "columns: expected text, found int"),
    ({"columns": 5}, "wrong_type", "columns: expected text or a list"),
    ({"outcome": "FAILD"}, "unknown_choice", "did you mean `FAILED`"),
    ({"outcome": "failed"}, "unknown_choice", "did you mean `FAILED`"),
    ({"level": "run", "state": ["SUCCESS", "PENDNG"]}, "unknown_choice", "INTERRUPTED"),
    ({"level": "task_run", "state": "RETRY"}, "unknown_choice", "RETRY_WAIT"),
    ({"trigger": "shedule"}, "unknown_choice", "did you mean `schedule`"),
    ({"level": "attempts"}, "unknown_choice", "did you mean 'attempt'"),
    ({"level": 3}, "unknown_choice", "a level is never 3"),
    ({"state": "FAILED"}, "wrong_option", "an attempt has an outcome"),
    ({"level": "run", "outcome": "FAILED"}, "wrong_option", "a run has a state"),
    ({"level": "run", "task": "a"}, "wrong_option", "level='task_run'"),
    ({"dag": "abc.a", "level": "run"}, "wrong_option", "of a whole dag"),
    ({"dag": "abc.a", "task": "b"}, "wrong_option", "the dag says 'a' already"),
    ({"dag": 5}, "wrong_type", "expected a dag or its name, found int"),
    ({"since": "2024-02-01", "until": "2024-01-31"}, "empty_range", "is after"),
    ({"since": "1d", "until": "2d"}, "empty_range", "1d is after 2d"),
    ({"since": "30"}, "duration_needs_unit", "since: the duration `30` has no unit"),
    ({"since": "-1d"}, "duration_out_of_range", "since: .*negative"),
    ({"until": timedelta(-1)}, "duration_out_of_range", "until: .*negative"),
    ({"since": "30 parsecs"}, "bad_duration", "since: .*not a duration"),
    ({"since": "last week"}, "bad_duration", "is not a duration"),
    ({"since": "99999d"}, "duration_out_of_range", "since: "),
    ({"since": "2024-02-30"}, "bad_date", "since: '2024-02-30' is no date"),
    ({"since": "2024-02-01T25:00"}, "bad_date", "since: "),
    ({"since": 20240201}, "wrong_type", "expected a date, a datetime or a length of time"),
    ({"since": ""}, "bad_duration", "since: "),
    ({"since": "\ud800"}, "syntax", "lone surrogate"),
    ({"task": "\ud800"}, "syntax", "lone surrogate"),
    ({"limit": -1}, "bad_limit", "limit: "),
    ({"limit": True}, "bad_limit", "limit: "),
    ({"limit": 2**32}, "bad_limit", "limit: "),
    ({"limit": 1.5}, "bad_limit", "limit: "),
])
def test_what_is_asked_wrongly_is_said(asked, code, words):
    ms.Dag.from_graph("abc", ["a", "b"]).run("2013-01-15")
    with pytest.raises(ms.SpecError, match=words) as told:
        ms.history(**asked)
    assert told.value.code == code
    if not {"dag"} & asked.keys():
        with ms.testing.isolated(), pytest.raises(ms.SpecError):
            ms.history(**asked)  # also where there is no database


def test_every_wrong_column_is_named_at_once():
    with pytest.raises(ms.SpecError) as told:
        ms.history(columns=["outcom", "dag", "tsk"])
    assert [problem.message for problem in told.value.problems] == [
        "there is no column `outcom`", "there is no column `tsk`"]


def test_a_dag_or_a_task_that_there_is_not():
    ms.Dag.from_graph("orders", ["load"]).run("2013-01-15")
    for asked, near in (({"dag": "order"}, "orders"), ({"dag": "orders.laod"}, "orders.load"),
                        ({"task": "laod"}, "load"), ({"dag": "orders", "task": ["lod"]}, "load")):
        with pytest.raises(ms.NotFoundError, match=f"did you mean '{near}'"):
            ms.history(**asked)


def test_a_package_that_is_not_there_is_named(monkeypatch):
    table = ms.history()
    for name, convert in (("pyarrow", table.to_arrow), ("polars", table.to_polars),
                          ("pandas", table.to_pandas)):
        monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(ms.SpecError, match=f"needs {name}.*\n.*pip install {name}"):
            convert()


# How it shows itself


def test_a_table_shows_its_newest_rows():
    ms.Dag.from_graph("abc", ["a", "b"]).run("2013-01-15")
    table = ms.history(level="task_run", columns=["task", "state", "overdue", "deadline_at"])
    assert repr(table) == ("2 task runs, 4 columns\n"
                           "task  state    overdue  deadline_at\n"
                           "b     SUCCESS  no       -\n"
                           "a     SUCCESS  no       -")
    assert "2 task runs, 4 columns" in table._repr_html_()
    assert repr(ms.history(columns=["error", "polls"])).splitlines()[0] == "2 attempts, 2 columns"
    assert "28 columns" in repr(ms.history()) and "log_uri" not in repr(ms.history())


def test_documents_need_no_other_package():
    ms.Dag.from_graph("abc", ["a"]).run("2013-01-15")
    found, = ms.history(level="task_run").documents()
    assert json.loads(json.dumps(found)) == found
    assert found["biz_date"] == "2013-01-15" and found["stale"] is False
    at = datetime.datetime.fromisoformat(found["started_at"])
    assert at == ms.runs()[0]["a"].started_at
    assert found["duration"] == ms.runs()[0]["a"].duration.total_seconds()


def test_importing_loads_no_columns():
    code = ("import sys, mainspring; "
            "print({'pyarrow', 'polars', 'pandas', 'numpy', 'datetime'} & sys.modules.keys())")
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True,
                          stdin=subprocess.DEVNULL)
    assert done.stdout.strip() == "set()"


def test_an_interrupted_run_is_told_as_in_the_list():
    """A process that is killed writes nothing; whoever looks sees that it is gone."""
    code = """
import os, mainspring as ms
with ms.Dag("gone") as dag:
    @ms.task
    def leave():
        os._exit(1)
dag.run("2013-01-15")
"""
    database = _session.location(None)
    subprocess.run([sys.executable, "-c", code], stdin=subprocess.DEVNULL,
                   env={**os.environ, "MAINSPRING_DATABASE": database})
    assert [run.state for run in ms.runs()] == ["INTERRUPTED"]
    assert [row["state"] for row in ms.history(level="run").documents()] == ["INTERRUPTED"]
    assert counted(level="run", state="INTERRUPTED") == 1
    assert counted(level="run", state="RUNNING") == 0
    assert counted(outcome="RUNNING") == 1
