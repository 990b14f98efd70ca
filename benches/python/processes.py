"""How fast worker processes are: durable attempts with their history, beside a pool without any.

Run with `make bench`. The peer is `multiprocessing.Pool.apply_async` of the same function, with
all calls in flight; it records nothing and cannot end what hangs.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import mainspring as ms
from _measure import line, median, seconds
from mainspring._processes import commands
from mainspring._project import load_file
from mainspring._session import session

WORKERS = 2

DAGS = """
import time
import mainspring as ms

def noop():
    pass

with ms.Dag("fan") as fan:
    for i in range({n}):
        ms.task(noop, name=f"t{{i}}")()

with ms.Dag("pair") as pair:
    @ms.task
    def up() -> list:
        return [time.time(), time.time()]

    @ms.task
    def down() -> float:
        return time.time()

    up() >> down()
"""

PEER = """
import sys, time
from multiprocessing import Pool

def noop():
    pass

if __name__ == "__main__":
    n, workers = int(sys.argv[1]), int(sys.argv[2])
    with Pool(workers) as pool:
        pool.apply(noop)
        rates = []
        for _ in range(3):
            began = time.perf_counter()
            for answer in [pool.apply_async(noop) for _ in range(n)]:
                answer.get()
            rates.append(n / (time.perf_counter() - began))
    print(sorted(rates)[1])
"""


def bare_commit(folder: Path) -> float:
    """Median seconds of a commit that inserts one row, durable."""
    conn = sqlite3.connect(folder / "bare.db", isolation_level=None)
    conn.execute("PRAGMA journal_mode = WAL")
    conn.execute("PRAGMA synchronous = FULL")
    conn.execute("CREATE TABLE t (at INTEGER)")
    return median(lambda: seconds(lambda: conn.execute("INSERT INTO t VALUES (1)")), 500)


def latencies(pair: ms.Dag, folder: Path) -> None:
    """From READY to a handler's first line, and from one task's last line to the next one's."""
    starts, hands = [], []
    for _ in range(200):
        run = pair.run("2024-01-01", executor="process", progress=False)
        began = run["up"].attempts[0].started_at.timestamp()
        first, last = run.result("up")
        starts.append(first - began)
        hands.append(run.result("down") - last)
    start, hand = statistics.median(starts), statistics.median(hands)
    bare = bare_commit(folder)
    of = f"bare commit ({bare * 1e6:.0f} us), which it waits for"
    line("ready to the first line, a worker idle", f"{start * 1e6:.0f} us", start / bare, of, "< 2 ms")
    line("end of upstream to start of downstream", f"{hand * 1e6:.0f} us", hand / bare, of, "< 3 ms")


def main() -> None:
    """All figures."""
    folder = Path(tempfile.mkdtemp(prefix="mainspring-bench-"))
    try:
        n = int(os.environ.get("MAINSPRING_BENCH_TASKS", "10000"))
        file = folder / "dags.py"
        file.write_text(DAGS.format(n=n))
        fan, pair = load_file(file).dags
        ms.use(database=str(folder / "bench.db"))
        session(None).core.use_processes(*commands(), workers=WORKERS)
        (folder / "peer.py").write_text(PEER)
        peer = float(subprocess.run(
            [sys.executable, str(folder / "peer.py"), str(n), str(WORKERS)],
            check=True, capture_output=True, text=True,
        ).stdout)
        fan.run("2024-01-01", executor="process", progress=False)

        def once() -> float:
            ran = []
            took = seconds(lambda: ran.append(
                fan.run("2024-01-01", executor="process", progress=False)))
            assert ran[0].state == "SUCCESS"
            return n / took

        rate = median(once, 5)
        line(f"{n:,} tasks in {WORKERS} processes, durable", f"{rate:,.0f} tasks/s",
             rate / peer, f"a pool that records nothing ({peer:,.0f}/s)", ">= 5,000/s")
        latencies(pair, folder)
    finally:
        ms_close()
        shutil.rmtree(folder, ignore_errors=True)


def ms_close() -> None:
    """End the workers before their folder goes."""
    from mainspring import _session

    _session.close()


if __name__ == "__main__":
    main()
