"""A week of departures, all days at once, and one of them a second time: what `make demo` runs."""

import os
import sys
from datetime import date, timedelta
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "dags"))

import _source  # noqa: E402
import _warehouse  # noqa: E402
import mainspring as ms  # noqa: E402
from flights import dag  # noqa: E402

WEEK = [date(2013, 1, 14) + timedelta(days=number) for number in range(7)]
AGAIN = WEEK[1]
BAR = "█" if "utf" in (sys.stdout.encoding or "").lower() else "#"


def main() -> int:
    """Run, watch, compare, show; 0 when everything went as it should."""
    # Where `mainspring runs` in this folder looks, and the pool as mainspring.toml has it.
    ms.use(database=os.environ.get("MAINSPRING_DATABASE") or HERE / ".mainspring/mainspring.db")
    ms.pool("warehouse", 1)

    print(f"{len(WEEK)} days of {dag.name}, {len(dag.nodes())} tasks each, all at once\n")
    runs = [dag.run(day, wait=False) for day in WEEK]
    watch(runs)
    for run in runs:
        run.raise_for_failure()

    print(f"\n{AGAIN} again, over what is there\n")
    before = _warehouse.fingerprint(AGAIN)
    again = dag.run(AGAIN, wait=False)
    watch([again])
    again.raise_for_failure()
    same = _warehouse.fingerprint(AGAIN) == before
    size = sum(_warehouse.counts(AGAIN)[table] for table in ("ods_flights", "ods_weather"))
    print(f"its {size:,} source rows gave {'the same' if same else 'OTHER'} rows in every table")

    print("\nWhat ran\n")
    show_runs([*runs, again])
    print("\nWhat came of it: delays at departure, by airline\n")
    show_airlines()

    data = _source.data_folder()
    print(f"\nA page for each day  {data / 'reports' / f'{WEEK[0]}.html'} and so on")
    print(f"The warehouse        {data / 'warehouse.db'}")
    print(f"History and logs     cd {HERE} && mainspring runs && mainspring logs last")
    return 0 if same else 1


def watch(runs: list[ms.Run]) -> None:
    """Show how far each run is until all have ended: in place on a terminal, else at the end."""
    live = sys.stdout.isatty()
    waiting, drawn = list(runs), 0
    while waiting:
        ended = [run for run in waiting if run.wait(timeout=0.1 / len(waiting))]
        waiting = [run for run in waiting if run not in ended]
        if live and drawn:
            print(f"\x1b[{drawn}A", end="")
        for run in runs if live else ended:
            done = run.counts.get("SUCCESS", 0)
            took = f"{run.duration.total_seconds():5.1f}s"
            text = f"  {run.biz_date:%a %d %b}  {BAR * done:{len(run)}}  {done:2}/{len(run)}"
            print(f"{text}  {took}  {run.state.lower()}" + "\x1b[K" * live, flush=True)
        drawn = len(runs)


def show_runs(runs: list[ms.Run]) -> None:
    """Days across, tasks down, states in between."""
    words = {"SUCCESS": "ok"}
    head = ["", *(f"{run.biz_date:%d %b}" for run in runs)]
    rows = [
        [task.task, *(words.get(run[task.task].state, run[task.task].state) for run in runs)]
        for task in runs[0]
    ]
    rows.append(["run", *(f"#{run.id}" for run in runs)])
    rows.append(["took", *(f"{run.duration.total_seconds():.1f}s" for run in runs)])
    show([*head, ""], [[*row, ""] for row in rows])


def show_airlines() -> None:
    """The week's sums, from the sums of its days."""
    found = _warehouse.read(
        """SELECT name, SUM(departures), SUM(cancelled), SUM(late),
                  1.0 * SUM(delay_minutes) / SUM(departures) AS mean
           FROM dws_carriers WHERE biz_date BETWEEN ? AND ?
           GROUP BY name HAVING SUM(departures) > 0 ORDER BY mean DESC, name""",
        WEEK[0],
        WEEK[-1],
    )
    most = max(row[4] for row in found)
    rows = [
        [name, f"{flights:,}", f"{cancelled}", f"{100 * late / flights:.0f}%", f"{mean:+.1f}",
         BAR * round(24 * max(mean, 0) / most)]
        for name, flights, cancelled, late, mean in found
    ]  # fmt: skip
    show(["airline", "departures", "cancelled", "late", "mean", "minutes"], rows)


def show(head: list[str], rows: list[list[str]]) -> None:
    """A table: words to the left, numbers to the right, the last column as it is."""
    widths = [max(len(row[at]) for row in [head, *rows]) for at in range(len(head))]
    for row in [head, *rows]:
        numbers = [cell.rjust(width) for cell, width in zip(row[1:-1], widths[1:-1], strict=True)]
        print("  " + "  ".join([row[0].ljust(widths[0]), *numbers, row[-1]]).rstrip())


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:  # what runs is canceled on the way out
        sys.exit(130)
