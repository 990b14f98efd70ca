"""What a shop writes in a day: its orders, the exchange rates, and notes. Made up, but the same
each time: the n-th day of the year has 3 + n % 4 orders of 10 * n, 20 * n, ... cents."""

from __future__ import annotations

import csv
import os
import sys
from datetime import date, timedelta
from pathlib import Path


def root() -> Path:
    """Where all data lies."""
    return Path(os.environ.get("WAREHOUSE", Path(__file__).parent / "data"))


def orders_of(day: date) -> list[tuple[str, int]]:
    """The orders of a day: number and cents."""
    nth = day.timetuple().tm_yday
    return [(f"{day:%Y%m%d}-{number}", 10 * nth * number) for number in range(1, 4 + nth % 4)]


def rate_of(day: date) -> float:
    """Cents of the reporting currency for one cent, published at the end of a day."""
    return 1 + day.day / 100


def write_orders(day: date) -> None:
    """Write the file of a day's orders."""
    _write(f"orders-{day}.csv", [("order", "cents"), *orders_of(day)])


def write_rates(day: date) -> None:
    """Write the file of a day's rate."""
    _write(f"rates-{day}.csv", [("rate",), (rate_of(day),)])


def _write(name: str, rows: list[tuple]) -> None:
    folder = root() / "shop"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / name).open("w", newline="") as file:
        csv.writer(file).writerows(rows)


if __name__ == "__main__":
    first, count = date.fromisoformat(sys.argv[1]), int(sys.argv[2])
    for each in (first + timedelta(days=number) for number in range(-1, count)):
        write_orders(each)
        write_rates(each)
    print(f"{count} days from {first} in {root() / 'shop'}")
