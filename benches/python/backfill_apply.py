"""How fast a backfill is done: 365 days of a five-task dag of no-ops, inline and durable.

The time is that of `plan.apply()`, from the call to the end of the last run. The limit is 0.4 s. The
peer is DBOS, where it is installed: a workflow a day of five steps, on SQLite.
"""

from __future__ import annotations

import importlib
import statistics
import sys
import tempfile
import time
from pathlib import Path

import mainspring as ms
from _measure import line

LIMIT = 0.4
DAYS = ("2023-01-01", "2023-12-31")


def chain(functions: bool) -> ms.Dag:
    """Five tasks, one after the other."""
    with ms.Dag("daily", schedule="0 2 * * *") as dag:
        last = None
        for at in range(5):
            ups = [] if last is None else [last]
            if functions:
                def handler() -> None: ...

                last = ms.task(handler, name=f"t{at}", depends_on=ups)()
            else:
                node = ms.noop(f"t{at}")
                if last is not None:
                    last >> node
                last = node
    return dag


def applied(functions: bool, max_active: int) -> float:
    """Seconds from `plan.apply()` to the end."""
    with tempfile.TemporaryDirectory() as folder:
        ms.use(database=Path(folder) / "bench.db")
        dag = chain(functions)
        dag.run("2022-12-31")  # registered, and the threads are warm
        plan = ms.backfill(dag, *DAYS, max_active=max_active, share=100)
        assert len(plan) == 365 * 5
        began = time.perf_counter()
        done = plan.apply(progress=False)
        took = time.perf_counter() - began
        assert done.state == "SUCCESS", done
        from mainspring._session import close

        close()
    return took


def peer() -> float | None:
    """The same with DBOS."""
    try:
        dbos = importlib.import_module("dbos")
    except ImportError:
        return None
    with tempfile.TemporaryDirectory() as folder:
        config = {"name": "bench", "system_database_url": f"sqlite:///{folder}/dbos.sqlite",
                  "log_level": "ERROR"}
        dbos.DBOS(config=config)

        @dbos.DBOS.step()
        def step(day: int, at: int) -> None: ...

        @dbos.DBOS.workflow()
        def daily(day: int) -> None:
            for at in range(5):
                step(day, at)

        dbos.DBOS.launch()
        daily(-1)
        began = time.perf_counter()
        handles = [dbos.DBOS.start_workflow(daily, day) for day in range(365)]
        for handle in handles:
            handle.get_result()
        took = time.perf_counter() - began
        dbos.DBOS.destroy()
    return took


def main() -> None:
    """Measure and print."""
    try:
        theirs = peer()
    except Exception as error:  # noqa: BLE001 - a peer that does not run is not ours to repair
        print(f"DBOS does not run here: {str(error).splitlines()[0]}", file=sys.stderr)
        theirs = None
    for name, functions in (("no-ops", False), ("functions that do nothing", True)):
        for most in (16, 64, 365):
            took = statistics.median(applied(functions, most) for _ in range(3))
            line(f"365 days of 5 {name}, {most} open", f"{took:.3f} s", took / LIMIT,
                 "the limit of 0.4 s", "at most 1")
            if theirs is not None:
                line("", f"DBOS {theirs:.2f} s", took / theirs, "DBOS")


if __name__ == "__main__":
    main()
