"""How fast a dag runs here and now, durable, with its history; each figure beside a limit or peer.

Run with `make bench`. The peer of the throughput figures is a plain SQLite writer that commits
the same rows in the same batches; of the latencies, a bare commit.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import mainspring as ms
from _measure import line, median, seconds


def noop() -> None:
    """What the tasks of the benchmarks do."""


def fan(n: int) -> ms.Dag:
    """`n` independent tasks."""
    with ms.Dag("fan") as dag:
        for i in range(n):
            ms.task(noop, name=f"t{i}")()
    return dag


def layers(n: int, width: int, parents: int) -> ms.Dag:
    """Layers of `width` tasks, each with `parents` in the layer before."""
    with ms.Dag("layers") as dag:
        last: list[ms.Node] = []
        for at in range(n // width):
            row = []
            for i in range(width):
                ups = [last[(i + k) % width] for k in range(parents)] if last else []
                row.append(ms.task(noop, name=f"t{at}_{i}", depends_on=ups)())
            last = row
    return dag


def chain(n: int) -> ms.Dag:
    """One after the other."""
    with ms.Dag("chain") as dag:
        last = None
        for i in range(n):
            node = ms.task(noop, name=f"t{i}", depends_on=[last] if last is not None else [])()
            last = node
    return dag


def rate(dag: ms.Dag, runs: int = 3) -> float:
    """Finished task runs a second, the definition registered and the threads warm."""
    total = len(dag.run(biz_date="2024-01-01", progress=False))

    def once() -> float:
        took = seconds(lambda: dag.run(biz_date="2024-01-02", progress=False))
        return total / took

    return median(once, runs)


def last_run() -> tuple[int, int]:
    """The newest run, and in how many commits it was written."""
    found = ms.sql("SELECT run_id, count(*) AS n FROM journal GROUP BY run_id ORDER BY 1 DESC LIMIT 1")
    return found[0]["run_id"], found[0]["n"]


COPY = """
import sqlite3, sys
with sqlite3.connect(sys.argv[1]) as source, sqlite3.connect(sys.argv[2]) as target:
    source.backup(target)
"""


class Writer:
    """The peer: writes the rows of a finished run anew, in as many commits, by plain sqlite3."""

    def __init__(self, database: Path, folder: Path) -> None:
        self.run, self.commits = last_run()
        self.path = folder / "peer.db"
        # In a process of its own: a second SQLite library in this one would take our locks away.
        subprocess.run([sys.executable, "-c", COPY, database, self.path], check=True)
        conn = self.conn = sqlite3.connect(self.path, isolation_level=None)
        conn.execute("PRAGMA journal_mode = WAL")
        conn.execute("PRAGMA synchronous = FULL")
        mine = "task_run_id IN (SELECT id FROM task_run WHERE run_id = ?)"
        self.task_runs = conn.execute("SELECT * FROM task_run WHERE run_id = ?", [self.run]).fetchall()
        self.attempts = conn.execute(f"SELECT * FROM attempt WHERE {mine}", [self.run]).fetchall()
        self.journal = conn.execute("SELECT * FROM journal WHERE run_id = ?", [self.run]).fetchall()
        self.columns = [row[1] for row in conn.execute("PRAGMA table_info(task_run)")]

    def clear(self) -> None:
        """Take the run's rows out again."""
        self.conn.execute("BEGIN")
        self.conn.execute(
            "DELETE FROM attempt WHERE task_run_id IN (SELECT id FROM task_run WHERE run_id = ?)",
            [self.run],
        )
        self.conn.execute("DELETE FROM task_run WHERE run_id = ?", [self.run])
        self.conn.execute("DELETE FROM journal WHERE run_id = ?", [self.run])
        self.conn.execute("COMMIT")
        self.conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def write(self) -> float:
        """Seconds for all of it: rows in, changed twice, attempts in and closed, journal."""
        self.clear()
        conn, state = self.conn, self.columns.index("state")
        pending = [(*row[:state], "PENDING", *row[state + 1 :]) for row in self.task_runs]
        # A row that is not final has no end.
        ended = self.columns.index("finished_at")
        pending = [(*row[:ended], None, *row[ended + 1 :]) for row in pending]
        marks = ",".join("?" * len(self.columns))
        attempt_marks = ",".join("?" * len(self.attempts[0]))
        step = max(1, len(self.attempts) // max(1, self.commits - 1))

        def work() -> None:
            conn.execute("BEGIN IMMEDIATE")
            conn.executemany(f"INSERT INTO task_run VALUES ({marks})", pending)
            conn.execute("COMMIT")
            for at in range(0, len(self.attempts), step):
                rows = self.attempts[at : at + step]
                ids = [(row[1],) for row in rows]
                conn.execute("BEGIN IMMEDIATE")
                conn.executemany("UPDATE task_run SET state = 'RUNNING' WHERE id = ?", ids)
                conn.executemany(f"INSERT INTO attempt VALUES ({attempt_marks})", rows)
                conn.executemany("UPDATE attempt SET cpu_ms = 1 WHERE task_run_id = ?", ids)
                conn.executemany(
                    "UPDATE task_run SET state = 'SUCCESS', finished_at = 1 WHERE id = ?", ids
                )
                journal = self.journal[at // step : at // step + 1]
                conn.executemany("INSERT INTO journal VALUES (?,?,?)", journal)
                conn.execute("COMMIT")

        return seconds(work)


def bare_commit(folder: Path) -> float:
    """Median seconds of a commit that inserts one row, durable."""
    conn = sqlite3.connect(folder / "bare.db", isolation_level=None)
    conn.execute("PRAGMA journal_mode = WAL")
    conn.execute("PRAGMA synchronous = FULL")
    conn.execute("CREATE TABLE IF NOT EXISTS t (id INTEGER PRIMARY KEY, at INTEGER)")

    def once() -> float:
        return seconds(lambda: conn.execute("INSERT INTO t (at) VALUES (1)"))

    return median(once, 500)


def processes(folder: Path) -> None:
    """Import, and the first run of a new process with a new database."""
    python = sys.executable
    script = folder / "first.py"
    script.write_text(
        "import sys, mainspring as ms\n"
        f"ms.use(database=sys.argv[1])\n"
        "with ms.Dag('d') as dag:\n"
        "    @ms.task\n    def a() -> int: return 1\n"
        "    @ms.task\n    def b(x: int) -> int: return x\n"
        "    @ms.task\n    def c(x: int) -> int: return x\n"
        "    c(b(a()))\n"
        "assert dag.run(biz_date='2024-01-01', progress=False).state == 'SUCCESS'\n"
    )
    count = iter(range(10**6))

    def run(*args: str) -> float:
        return seconds(lambda: subprocess.run([python, *args], check=True))

    bare = median(lambda: run("-c", "pass"), 15)
    imported = median(lambda: run("-c", "import mainspring"), 15)
    line("import mainspring, over bare Python", f"{(imported - bare) * 1e3:.1f} ms", wanted="< 40 ms")
    first = median(lambda: run(str(script), str(folder / f"first{next(count)}.db")), 9)
    line("first dag.run of a new process, all of it", f"{first * 1e3:.0f} ms",
         first / bare, "bare Python", "< 150 ms")


def latencies(folder: Path) -> None:
    """From asking to a task's first line, and from one task's last line to the next one's first."""
    first: list[float] = []
    last: list[float] = []
    with ms.Dag("latency") as dag:

        @ms.task
        def up() -> None:
            first.append(time.perf_counter())
            last.append(time.perf_counter())

        @ms.task
        def down() -> None:
            first.append(time.perf_counter())

        up() >> down()
    dag.run(biz_date="2024-01-01", progress=False)
    asked, handed = [], []
    for _ in range(200):
        first.clear()
        last.clear()
        began = time.perf_counter()
        dag.run(biz_date="2024-01-01", progress=False)
        asked.append(first[0] - began)
        handed.append(first[1] - last[0])
    bare = bare_commit(folder)
    start, hand = statistics.median(asked), statistics.median(handed)
    line("dag.run to the first line", f"{start * 1e6:.0f} us",
         start / bare, f"bare commit ({bare * 1e6:.0f} us)",
         f"<= {(2 * bare + 400e-6) * 1e6:.0f} us: two of them and 400 us")
    line("end of upstream to start of downstream", f"{hand * 1e6:.0f} us",
         hand / bare, "bare commit", f"<= {(bare + 300e-6) * 1e6:.0f} us: one of them and 300 us")


def resident() -> int:
    """Bytes of this process in memory."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def memory() -> None:
    """What 100,000 task runs cost that are open at once."""
    gate = threading.Event()
    with ms.Dag("open") as dag:

        @ms.task
        def root() -> None:
            gate.wait()

        top = root()
        for i in range(999):
            ms.task(noop, name=f"t{i}", depends_on=[top])()
    gate.set()
    dag.run(biz_date="2024-01-01", progress=False)
    gate.clear()
    before = resident()
    runs = [dag.run(biz_date="2024-01-01", wait=False, progress=False) for _ in range(100)]
    used = resident() - before
    gate.set()
    for run in runs:
        run.wait()
    line("100,000 open task runs in memory", f"{used / 1e6:.0f} MB", used / 100e6, "100 MB", "< 1 x")


def main() -> None:
    """All figures."""
    folder = Path(tempfile.mkdtemp(prefix="mainspring-bench-"))
    try:
        processes(folder)
        database = folder / "bench.db"
        ms.use(database=str(database))
        n = int(os.environ.get("MAINSPRING_BENCH_TASKS", "10000"))
        wide = rate(fan(n))
        writer = Writer(database, folder)
        peer = n / median(writer.write, 3)
        line(f"{n:,} independent tasks, durable", f"{wide:,.0f} tasks/s",
             wide / peer, f"plain writer ({peer:,.0f}/s, {writer.commits} commits)",
             ">= 12,000/s, >= 0.4 x")
        layered = rate(layers(n, 50, 3))
        line("layers of 50 with 3 parents each", f"{layered:,.0f} tasks/s",
             layered / wide, "the rate above", ">= 0.6 x")
        links = rate(chain(1000))
        bare = bare_commit(folder)
        line("chain of 1,000", f"{1e6 / links:.0f} us a link",
             1 / links / bare, f"bare commit ({bare * 1e6:.0f} us)", "<= 2 x one that writes the same rows")
        _, commits = last_run()
        line("  commits of that chain", f"{commits}", commits / 1000, "its links", "one a link")
        latencies(folder)
        memory()
        size(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def size(folder: Path) -> None:
    """Bytes on disk of 100,000 finished task runs, indexes and write-ahead log included."""
    database = folder / "size.db"
    ms.use(database=str(database))
    dag = fan(10_000)
    for day in range(10):
        dag.run(biz_date=f"2024-02-{day + 1:02}", progress=False)
    total = sum(path.stat().st_size for path in folder.glob("size.db*") if path.is_file())
    line("100,000 finished task runs on disk", f"{total / 1e6:.1f} MB", total / 60e6, "60 MB", "< 1 x")


if __name__ == "__main__":
    main()
