"""How long the plan of a backfill takes, from the call to the plan, with a full history in SQLite.

Run with `make bench`. A year of 50 tasks has a limit of 50 ms, a million cells one of 3 s and of 500 MB
that the process grows by. The history is written by SQL before mainspring opens the database: every
cell has a task run that succeeded, and the newest have attempts.
"""

from __future__ import annotations

import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from datetime import date, datetime, timedelta, timezone
from pathlib import Path

import mainspring as ms
from _measure import line

FIRST = datetime(2022, 1, 1, tzinfo=timezone.utc)
MICRO = 1_000_000


def the_dag(tasks: int, expression: str) -> ms.Dag:
    """Tasks in layers of ten, each of which waits for two of the layer before, and one for itself."""
    with ms.Dag("wide", schedule=expression, timezone="UTC") as dag:
        for number in range(tasks):
            ups = [f"t{up}" for up in (number - 10, number - 9) if up >= 0 and number >= 10]
            edges = [ms.dep(f"wide.{up}") for up in ups]
            if number == 0:
                edges.append(ms.dep("wide.t0", offset=-1))
            ms.noop(f"t{number}", depends_on=edges)
    return dag


def write(database: Path, fires: list[tuple[datetime, date]], share: float) -> int:
    """Give a part of all cells a task run that succeeded; how many cells there are."""
    conn = sqlite3.connect(database)
    conn.execute("PRAGMA synchronous = OFF")
    tasks = conn.execute("SELECT id, active_version_id FROM task ORDER BY position").fetchall()
    known = fires[: int(len(fires) * share)]

    def micros(at: datetime) -> int:
        return int(at.timestamp()) * MICRO

    conn.executemany(
        'INSERT INTO run (id, dag_id, nominal_at, biz_date, interval_start, interval_end, timezone,'
        ' "trigger", timed, variant, interactive, params, state, created_at, finished_at, scope_id,'
        " first_task_run_id, task_count) VALUES (?, 1, ?, ?, ?, ?, 'UTC', 'schedule', 1, '', 0, '{}',"
        " 'SUCCESS', ?, ?, 1, ?, ?)",
        ((number + 1, micros(at), str(day), micros(at), micros(at), micros(at), micros(at) + MICRO,
          number * len(tasks) + 1, len(tasks)) for number, (at, day) in enumerate(known)))
    conn.executemany(
        "INSERT INTO task_run (id, run_id, task_id, task_version_id, map_index, nominal_at, biz_date,"
        " created_at, state, revision, started_at, finished_at, attempt_no, rerun_base, errors_used,"
        " losses_used, preemptions_used, token, stale, result) VALUES (?, ?, ?, ?, 0, ?, ?, ?,"
        " 'SUCCESS', 3, ?, ?, 1, 0, 0, 0, 0, 1, 0, '1')",
        ((number * len(tasks) + place + 1, number + 1, task, version, micros(at), str(day),
          micros(at), micros(at), micros(at) + place * 1000)
         for number, (at, day) in enumerate(known)
         for place, (task, version) in enumerate(tasks)))
    newest = range(max(0, len(known) - 150), len(known))
    conn.executemany(
        "INSERT INTO attempt (task_run_id, attempt_no, token, nominal_at, task_version_id, node_id,"
        " started_at, finished_at, outcome, duration_ms) VALUES (?, 1, 1, ?, ?, 1, ?, ?, 'SUCCESS', ?)",
        ((number * len(tasks) + place + 1, micros(known[number][0]), version,
          micros(known[number][0]), micros(known[number][0]), 1_000 + place)
         for number in newest for place, (_, version) in enumerate(tasks)))
    conn.execute("UPDATE sequence SET run = ?, task_run = ?",
                 (len(known) + 1, len(known) * len(tasks) + 1))
    conn.commit()
    conn.close()
    return len(fires) * len(tasks)


def grown() -> float:
    """The most memory that this process has had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(name: str, tasks: int, expression: str, step: timedelta, number: int, share: float,
            limit: float, most_mb: float | None) -> None:
    """Plan all cells, and print how long it took."""
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder) / "wide.db"
        code = (f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
                "import backfill_plan, mainspring as ms\n"
                f"ms.use({str(database)!r})\n"
                "from mainspring._session import session\n"
                f"session().register(backfill_plan.the_dag({tasks}, {expression!r}))\n")
        subprocess.run([sys.executable, "-c", code], check=True)
        # By default the date of a day's only fire is the day before, and of many the interval's.
        fires = [(FIRST + step * at, (FIRST + step * (at - 1)).date()) for at in range(number)]
        cells = write(database, fires, share)
        first, last = str(fires[0][1]), str(fires[-1][1])
        ms.use(database)
        best, before = float("inf"), grown()
        for _ in range(5 if cells < 100_000 else 2):
            began = time.perf_counter()
            plan = ms.backfill("wide", first, last, only="all")
            inside = len(plan)
            best = min(best, time.perf_counter() - began)
        memory = grown() - before
        assert inside >= cells, (inside, cells)
        text = f"{best * 1000:,.0f} ms" if best < 1 else f"{best:.2f} s"
        line(f"{name}: {inside:,} cells", text, best / limit, "the limit", "below 1")
        if most_mb is not None:
            line(f"{name}: memory", f"{memory:,.0f} MB", memory / most_mb, "the limit", "below 1")
        from mainspring._session import close

        del plan
        close(str(database))


def main() -> None:
    """Print all figures."""
    measure("a year of 50 tasks", 50, "0 0 * * *", timedelta(days=1), 365, 1.0, 0.050, None)
    measure("half of it there", 50, "0 0 * * *", timedelta(days=1), 365, 0.5, 0.050, None)
    measure("a million", 20, "*/15 * * * *", timedelta(minutes=15), 49_800, 1.0, 3.0, 500)


if __name__ == "__main__":
    main()
