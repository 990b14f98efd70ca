"""The warehouse: one SQLite file, its tables, and the statements that fill them.

SQLite because it comes with Python. What a task does here is what it would do in another
warehouse: delete the day and write it again, in one transaction.
"""

import hashlib
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import date
from typing import Any

import _source

AIRLINES = "CREATE TABLE IF NOT EXISTS dim_airlines (carrier TEXT PRIMARY KEY, name TEXT NOT NULL)"

# The tables that have days.
TABLES = {
    # ODS: what the source says, as text; 'NA' is its word for nothing.
    "ods_flights": """
        biz_date TEXT NOT NULL, dep_time TEXT, sched_dep_time TEXT, dep_delay TEXT,
        arr_delay TEXT, carrier TEXT, flight TEXT, tailnum TEXT, origin TEXT, dest TEXT,
        distance TEXT, time_hour TEXT""",
    "ods_weather": """
        biz_date TEXT NOT NULL, origin TEXT, time_hour TEXT, temp TEXT, wind_speed TEXT,
        precip TEXT, visib TEXT""",
    # DWD: one row for each flight that left, and for each airport and hour.
    "dwd_flights": """
        biz_date TEXT NOT NULL, carrier TEXT NOT NULL, flight INTEGER NOT NULL, tailnum TEXT,
        origin TEXT NOT NULL, dest TEXT NOT NULL, sched_dep_time INTEGER NOT NULL,
        dep_delay INTEGER NOT NULL, arr_delay INTEGER, distance INTEGER NOT NULL,
        hour_utc TEXT NOT NULL,
        PRIMARY KEY (biz_date, carrier, flight, origin, sched_dep_time)""",
    "dwd_weather": """
        biz_date TEXT NOT NULL, origin TEXT NOT NULL, hour_utc TEXT NOT NULL, temp_f REAL,
        wind_mph REAL, rain_in REAL, visibility_mi REAL,
        PRIMARY KEY (biz_date, origin, hour_utc)""",
    "dwd_flights_weather": """
        biz_date TEXT NOT NULL, carrier TEXT NOT NULL, origin TEXT NOT NULL,
        hour_utc TEXT NOT NULL, dep_delay INTEGER NOT NULL, arr_delay INTEGER,
        has_weather INTEGER NOT NULL, temp_f REAL, wind_mph REAL, rain_in REAL,
        visibility_mi REAL""",
    # DWS: sums, not means, because sums of days can be added up to a week.
    "dws_carriers": """
        biz_date TEXT NOT NULL, carrier TEXT NOT NULL, name TEXT NOT NULL,
        departures INTEGER NOT NULL, cancelled INTEGER NOT NULL, delay_minutes INTEGER NOT NULL,
        late INTEGER NOT NULL,
        PRIMARY KEY (biz_date, carrier)""",
    "dws_airports": """
        biz_date TEXT NOT NULL, origin TEXT NOT NULL, departures INTEGER NOT NULL,
        with_weather INTEGER NOT NULL, delay_minutes INTEGER NOT NULL, mean_temp_f REAL,
        mean_wind_mph REAL, max_rain_in REAL, min_visibility_mi REAL,
        PRIMARY KEY (biz_date, origin)""",
}

# A flight that left and whose airline is known; all others are cancelled or unknown.
LEFT = "dep_time <> 'NA'"
USABLE = f"{LEFT} AND dep_delay <> 'NA' AND carrier IN (SELECT carrier FROM dim_airlines)"

SELECTS = {
    "dwd_flights": f"""
        SELECT biz_date, carrier, CAST(flight AS INTEGER), NULLIF(tailnum, 'NA'), origin, dest,
               CAST(sched_dep_time AS INTEGER), CAST(dep_delay AS INTEGER),
               CAST(NULLIF(arr_delay, 'NA') AS INTEGER), CAST(distance AS INTEGER), time_hour
        FROM ods_flights WHERE biz_date = :biz_date AND {USABLE}""",
    "dwd_weather": """
        SELECT biz_date, origin, time_hour, CAST(NULLIF(temp, 'NA') AS REAL),
               CAST(NULLIF(wind_speed, 'NA') AS REAL), CAST(NULLIF(precip, 'NA') AS REAL),
               CAST(NULLIF(visib, 'NA') AS REAL)
        FROM ods_weather WHERE biz_date = :biz_date""",
    "dwd_flights_weather": """
        SELECT f.biz_date, f.carrier, f.origin, f.hour_utc, f.dep_delay, f.arr_delay,
               w.origin IS NOT NULL, w.temp_f, w.wind_mph, w.rain_in, w.visibility_mi
        FROM dwd_flights f
        LEFT JOIN dwd_weather w USING (biz_date, origin, hour_utc)
        WHERE f.biz_date = :biz_date""",
    "dws_carriers": f"""
        WITH planned AS (
            SELECT carrier, SUM(NOT ({LEFT})) AS cancelled
            FROM ods_flights WHERE biz_date = :biz_date GROUP BY carrier),
        flown AS (
            SELECT carrier, COUNT(*) AS departures, SUM(dep_delay) AS delay_minutes,
                   SUM(dep_delay >= :late_minutes) AS late
            FROM dwd_flights_weather WHERE biz_date = :biz_date GROUP BY carrier)
        SELECT :biz_date, carrier, name, COALESCE(departures, 0), cancelled,
               COALESCE(delay_minutes, 0), COALESCE(late, 0)
        FROM planned JOIN dim_airlines USING (carrier) LEFT JOIN flown USING (carrier)""",
    "dws_airports": """
        SELECT biz_date, origin, COUNT(*), SUM(has_weather), SUM(dep_delay), AVG(temp_f),
               AVG(wind_mph), MAX(rain_in), MIN(visibility_mi)
        FROM dwd_flights_weather WHERE biz_date = :biz_date GROUP BY biz_date, origin""",
}


def replace_airlines(rows: Sequence[Mapping[str, str]]) -> int:
    """Put these airlines in the place of all others; return how many there are."""
    with writing() as db:
        db.execute("DELETE FROM dim_airlines")
        db.executemany("INSERT INTO dim_airlines VALUES (:carrier, :name)", rows)
    return len(rows)


def replace_day(table: str, biz_date: date, rows: Sequence[Mapping[str, str]]) -> int:
    """Put these rows in the place of the day's; return how many there are."""
    with writing() as db:
        names = [column[1] for column in db.execute(f"PRAGMA table_info({table})")]
        marks = ", ".join(f":{name}" for name in names)
        db.execute(f"DELETE FROM {table} WHERE biz_date = ?", [str(biz_date)])
        db.executemany(
            f"INSERT INTO {table} VALUES ({marks})",
            [{**row, "biz_date": str(biz_date)} for row in rows],
        )
    return len(rows)


def rebuild(table: str, biz_date: date, **values: int) -> int:
    """Compute the day's rows of a table anew; return how many there are."""
    given = {"biz_date": str(biz_date), **values}
    with writing() as db:
        db.execute(f"DELETE FROM {table} WHERE biz_date = :biz_date", given)
        return db.execute(f"INSERT INTO {table} {SELECTS[table]}", given).rowcount


def dropped(biz_date: date) -> dict[str, int]:
    """How many of the day's flights never left, and how many cannot be used."""
    sums = f"SUM(NOT ({LEFT})), SUM({LEFT} AND NOT ({USABLE}))"
    ((cancelled, unknown),) = read(f"SELECT {sums} FROM ods_flights WHERE biz_date = ?", biz_date)
    return {"cancelled": cancelled or 0, "unknown": unknown or 0}


def counts(biz_date: date) -> dict[str, int]:
    """How many flights, or hours of weather, of the day each table accounts for."""
    found = {}
    for table in TABLES:
        what = "COALESCE(SUM(departures), 0)" if table.startswith("dws") else "COUNT(*)"
        ((found[table],),) = read(f"SELECT {what} FROM {table} WHERE biz_date = ?", biz_date)
    return found


def fingerprint(biz_date: date) -> str:
    """A short word that stays the same as long as every table has the same rows of the day."""
    digest = hashlib.sha256()
    for table in TABLES:
        rows = read(f"SELECT * FROM {table} WHERE biz_date = ?", biz_date)
        digest.update("\n".join([table, *sorted(map(repr, rows))]).encode())
    return digest.hexdigest()[:12]


def read(sql: str, *values: object) -> list[tuple[Any, ...]]:
    """The rows of a query; dates are text in the warehouse."""
    with _connected() as db:
        return db.execute(sql, [str(value) for value in values]).fetchall()


@contextmanager
def writing() -> Iterator[sqlite3.Connection]:
    """A transaction: all of it is kept, or, whatever is raised inside, nothing."""
    with _connected() as db:  # closing it takes back what was not committed
        db.execute("BEGIN IMMEDIATE")  # the writer's lock first: waiting for it later may fail
        db.execute(AIRLINES)
        for table, columns in TABLES.items():
            db.execute(f"CREATE TABLE IF NOT EXISTS {table} ({columns})")
        yield db
        db.execute("COMMIT")


@contextmanager
def _connected() -> Iterator[sqlite3.Connection]:
    path = _source.data_folder() / "warehouse.db"
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path, timeout=60, isolation_level=None)) as db:
        yield db
