"""The history as a table: a million attempts to polars, pyarrow, pandas and DuckDB.

Run with `make bench`. The rows are made in SQL from those of real runs. The peers answer the same
question of the same file: Python's `sqlite3` under `pandas.read_sql`, and SQLite's rows fetched
alone. They run in processes of their own: two SQLite libraries in one process take each other's
locks away.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from datetime import datetime, timezone
from pathlib import Path

import mainspring as ms
from _measure import line, median, seconds

ATTEMPTS = int(os.environ.get("MAINSPRING_BENCH_ATTEMPTS", "1000000"))
TASKS = 10
DAGS = 20
RUNS = 3

# One question for both: every column that a table of attempts has.
QUESTION = """
SELECT task_run.run_id, attempt.task_run_id, dag.key AS dag, task.name AS task,
    CASE WHEN task_run.item IS NOT NULL THEN task_run.map_index END AS map_index,
    attempt.attempt_no, task_version.version, run."trigger", task_run.biz_date,
    attempt.nominal_at, run.timezone, attempt.outcome, attempt.error_code, attempt.error_type,
    attempt.error, task_run.first_ready_at, attempt.started_at, attempt.finished_at,
    attempt.started_at - task_run.first_ready_at AS queue_time,
    attempt.finished_at - attempt.started_at AS duration, attempt.cpu_ms, attempt.max_rss_kb,
    attempt.polls, attempt.exit_code, attempt.signal, node.host, attempt.pid, attempt.log_uri
FROM attempt
CROSS JOIN task_run ON task_run.id = attempt.task_run_id
JOIN run ON run.id = task_run.run_id
JOIN task ON task.id = task_run.task_id
JOIN dag ON dag.id = task.dag_id
JOIN task_version ON task_version.id = attempt.task_version_id
JOIN node ON node.id = attempt.node_id
ORDER BY attempt.id DESC
"""

PEER = """
import json, sqlite3, sys, time
import pandas
connection = sqlite3.connect(sys.argv[1])
def taken(work):
    best = []
    for _ in range(int(sys.argv[2])):
        began = time.perf_counter()
        work()
        best.append(time.perf_counter() - began)
    return sorted(best)[len(best) // 2]
question = sys.stdin.read()
def frame():
    found = pandas.read_sql(question, connection)
    found["biz_date"] = pandas.to_datetime(found["biz_date"])
    for name in ("first_ready_at", "started_at", "finished_at", "nominal_at"):
        found[name] = pandas.to_datetime(found[name], unit="us", utc=True)
    for name in ("queue_time", "duration"):
        found[name] = pandas.to_timedelta(found[name], unit="us")
    for name in ("dag", "task", "trigger", "outcome", "host"):
        found[name] = found[name].astype("category")
    return found
print(json.dumps([taken(lambda: connection.execute(question).fetchall()), taken(frame)]))
"""


def copy(table: str, ids: str, many: str) -> str:
    """Rows of one real run again and again, `n` times further on."""
    names = [row["name"] for row in ms.sql(f"SELECT name FROM pragma_table_info('{table}')")]
    given = dict(pair.split(": ") for pair in ids.split("; "))
    cells = ", ".join(given.get(name, f'"{name}"') for name in names)
    quoted = ", ".join(f'"{name}"' for name in names)
    return (f"WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {many}) "
            f"INSERT INTO {table} ({quoted}) SELECT {cells} FROM n CROSS JOIN {table}")


def filled(database: Path) -> None:
    """A database with so many attempts."""
    ms.use(database)
    for number in range(DAGS):
        tasks = [f"task_{place}" for place in range(TASKS)]
        ms.Dag.from_graph(f"dag_{number:02}", tasks).run("2013-01-15")
    many = max(1, ATTEMPTS // (TASKS * DAGS)) - 1
    step = 60_000_000 * 30
    runs, task_runs, attempts = (
        ms.sql(f"SELECT max(id) AS n FROM {name}")[0]["n"] for name in ("run", "task_run", "attempt"))
    day = "date('2013-01-15', '+' || n || ' days')"
    statements = [
        copy("run", f"id: id + n * {runs}; biz_date: {day}; nominal_at: nominal_at + n * 86400000000; "
             f"created_at: created_at + n * {step}; finished_at: finished_at + n * {step}; "
             f"first_task_run_id: first_task_run_id + n * {task_runs}", str(many)),
        copy("task_run", f"id: id + n * {task_runs}; run_id: run_id + n * {runs}; biz_date: {day}; "
             f"nominal_at: nominal_at + n * 86400000000; created_at: created_at + n * {step}; "
             f"first_ready_at: first_ready_at + n * {step}; started_at: started_at + n * {step}; "
             f"finished_at: finished_at + n * {step} + 1000 * (n % 977)", str(many)),
        copy("attempt", f"id: id + n * {attempts}; task_run_id: task_run_id + n * {task_runs}; "
             f"nominal_at: nominal_at + n * 86400000000; started_at: started_at + n * {step}; "
             f"finished_at: finished_at + n * {step} + 1000 * (n % 977); "
             f"max_rss_kb: 40000 + n; log_uri: 'file:///logs/' || n || '/' || id", str(many)),
        "UPDATE sequence SET run = (SELECT max(id) + 1 FROM run), "
        "task_run = (SELECT max(id) + 1 FROM task_run), attempt = (SELECT max(id) + 1 FROM attempt)",
    ]
    ms._session.close(database)
    writing = ("import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); "
               "c.execute('PRAGMA synchronous = off'); "
               "[c.execute(s) for s in sys.stdin.read().split(';;')]; c.commit()")
    subprocess.run([sys.executable, "-c", writing, str(database)], input=";;".join(statements),
                   text=True, check=True)


def peak() -> float:
    """MiB that this process held at most."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    import duckdb
    import pandas
    import polars
    import pyarrow

    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder) / "history.db"
        took = seconds(lambda: filled(database))
        begun = peak()
        table = ms.history()
        line("a database of attempts", f"{len(table):,} rows, made in {took:.0f} s")
        line("memory of the table, and of making it", f"{peak() - begun:.0f} MiB")
        del table
        ours: dict[str, float] = {}

        def measured(name: str, work) -> None:
            ours[name] = median(lambda: seconds(work), RUNS)

        measured("ms.history()", ms.history)
        measured("to polars", lambda: ms.history().to_polars())
        measured("to pyarrow", lambda: ms.history().to_arrow())
        measured("to DuckDB: GROUP BY dag", grouped)
        measured("to pandas", lambda: ms.history().to_pandas())
        measured("6 columns to polars", lambda: ms.history(columns=[
            "dag", "task", "biz_date", "outcome", "queue_time", "duration"]).to_polars())
        measured("one dag of 20", lambda: ms.history("dag_07"))
        measured("all, by business date", lambda: ms.history(since="2013-01-01"))
        measured("30 business dates", lambda: ms.history(since="2014-01-01", until="2014-01-30"))
        now = int(ms.sql("SELECT max(started_at) AS at FROM attempt")[0]["at"])
        last = datetime.fromtimestamp(now / 1e6, timezone.utc)
        measured("the last 3 days", lambda: ms.history(since="3d", now=last))
        few = len(ms.history(since="3d", now=last))
        measured("the newest 1,000", lambda: ms.history(limit=1000))
        measured("task runs", lambda: ms.history(level="task_run"))
        measured("runs", lambda: ms.history(level="run"))
        found = subprocess.run([sys.executable, "-c", PEER, str(database), str(RUNS)], text=True,
                               input=QUESTION, check=True, capture_output=True)
        fetched, framed = json.loads(found.stdout)
        for name, took in ours.items():
            peer = {"to pandas": framed}.get(name, fetched)
            of = "pandas.read_sql" if name == "to pandas" else "sqlite3 fetchall"
            line(name, f"{took:.3f} s", took / peer, of, "below 1")
        line("rows of the last 3 days", f"{few:,}")
        line("peers: sqlite3 fetchall, pandas.read_sql", f"{fetched:.2f} s, {framed:.2f} s")
        line("versions", f"polars {polars.__version__}, pandas {pandas.__version__}")
        line("", f"pyarrow {pyarrow.__version__}, duckdb {duckdb.__version__}")


def grouped() -> object:
    """A question that DuckDB answers over the table as it is."""
    import duckdb

    attempts = ms.history()  # DuckDB finds it by its name
    assert attempts.level == "attempt"
    return duckdb.sql("SELECT dag, count(*), max(duration) FROM attempts GROUP BY dag").fetchall()


if __name__ == "__main__":
    began = time.perf_counter()
    main()
    line("all of it", f"{time.perf_counter() - began:.0f} s")
