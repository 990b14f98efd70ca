"""``mainspring init``."""

from __future__ import annotations

import argparse
import os

from mainspring.cli._console import Console, clean
from mainspring.cli._stop import Stop

__all__ = ["run"]

PROJECT = """\
# The settings of this project. Every key may be left out; 'mainspring config show' prints what
# holds and where it came from. A MAINSPRING_* variable wins over this file, an option over both.

dags = ["dags"]                # folders with dag files
timezone = "UTC"               # zone of schedules that name none, e.g. "Asia/Shanghai"
# database = ".mainspring/mainspring.db"
# slots = 32                   # how many tasks one process runs at once

[defaults]                     # of tasks that say nothing else
# retries = 3
# retry_interval = "10s"
# timeout = "1h"

[pools]                        # named numbers of slots, shared by all dags
# warehouse = 4

[limits]                       # what tasks of any pool may do at once, e.g. calls of one vendor
# vendor-api = 3
"""

HELLO = '''\
"""A small pipeline: sales of a day from a CSV file, cleaned, summed per city, reported.

    mainspring run hello
    mainspring run hello --biz-date 2024-01-15 --param rows=2000
"""

import csv
import random
from collections import defaultdict
from datetime import date
from pathlib import Path

import mainspring as ms

DATA = Path(__file__).resolve().parent.parent / "data"
CITIES = ["Amsterdam", "Boston", "Chengdu", "上海"]

with ms.Dag("hello", owner="me", labels=["example"]) as dag:

    @ms.task
    def extract(biz_date: date, rows: int = 500) -> str:
        """Write the day's raw sales, some of them broken, as a source system would."""
        source = random.Random(biz_date.toordinal())
        DATA.mkdir(exist_ok=True)
        path = DATA / f"sales-{biz_date}.csv"
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["order", "city", "amount"])
            for number in range(rows):
                amount = "" if source.random() < 0.02 else f"{source.uniform(1, 200):.2f}"
                writer.writerow([number, source.choice(CITIES), amount])
        print(f"wrote {rows} rows to {path.name}")
        return str(path)

    @ms.task
    def clean(path: str) -> dict:
        """Drop the rows without an amount and sum the others per city, in cents."""
        sums: dict[str, int] = defaultdict(int)
        dropped = 0
        with open(path, newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                if row["amount"]:
                    sums[row["city"]] += round(float(row["amount"]) * 100)
                else:
                    dropped += 1
        print(f"dropped {dropped} rows")
        return dict(sums)

    @ms.task(retries=2, retry_interval="5s")
    def report(sums: dict, biz_date: date) -> str:
        """Write the report; a second run of the same day replaces it."""
        lines = [f"{city:12} {cents / 100:12.2f}" for city, cents in sorted(sums.items())]
        path = DATA / f"report-{biz_date}.txt"
        path.write_text("\\n".join(lines) + "\\n", encoding="utf-8")
        print(path.read_text(encoding="utf-8"))
        return str(path)

    report(clean(extract()))

if __name__ == "__main__":
    dag.run()
'''

IGNORE = """\
# Files below the dag folders that are no dag files; patterns as in .gitignore.
# Names that begin with _ or . are left out by themselves.
test_*.py
conftest.py
"""

GIT = """\
.mainspring/
__pycache__/
data/
"""


def run(options: argparse.Namespace, console: Console) -> int:
    """Make a project that runs; nothing that is there is overwritten."""
    top = os.path.abspath(options.directory)
    shown = clean(options.directory)
    files = {
        "mainspring.toml": PROJECT,
        os.path.join("dags", "hello.py"): HELLO,
        ".mainspringignore": IGNORE,
        ".gitignore": GIT,
    }
    there = [name for name in files if os.path.lexists(os.path.join(top, name))]
    kept = [name for name in there if name == ".gitignore"]
    refused = [name for name in there if name not in kept]
    if refused:
        raise Stop(
            f"{shown} has {' and '.join(map(clean, refused))} already; nothing was written",
            "choose another folder, or remove them first",
        )
    made = [name for name in files if name not in kept]
    try:
        os.makedirs(os.path.join(top, "dags"), exist_ok=True)
        for name in made:
            with open(os.path.join(top, name), "x", encoding="utf-8", newline="\n") as file:
                file.write(files[name])
    except OSError as error:
        raise Stop(f"cannot write {clean(error.filename or top)}: {error.strerror}") from error

    for name in made:
        console.line(f"made {clean(os.path.normpath(os.path.join(options.directory, name)))}")
    if kept:
        console.line("kept .gitignore; add .mainspring/ to it")
    console.line()
    console.line("next:")
    if top != os.getcwd():
        console.line(f"  cd {_quoted(options.directory)}")
    console.line("  mainspring check          # is everything in order?")
    console.line("  mainspring run hello      # run it, here and now")
    console.line("  mainspring logs last      # what the tasks printed")
    console.document({"directory": top, "made": made, "kept": kept})
    return 0


def _quoted(path: str) -> str:
    from shlex import quote

    return clean(quote(path))
