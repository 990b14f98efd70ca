"""Departures of New York's three airports, from the source files to a page per day.

    source --extract--> landing file --load--> ODS --clean--> DWD --aggregate--> DWS --> report

    mainspring run flights --biz-date 2013-01-15
    mainspring run flights --from 2013-01-14 --to 2013-01-20 --param late_minutes=30

Any day can be run again at any time: a landing file is replaced whole, and a table's day is
deleted and written in one transaction.
"""

from datetime import date

import _report
import _source
import _warehouse
import mainspring as ms

AIRPORTS = ["EWR", "JFK", "LGA"]

with ms.Dag(
    "flights",
    schedule="0 30 2 * * ?",  # every night at 02:30, for the day before
    timezone="America/New_York",
    start_date="2013-01-02",
    end_date="2014-01-01",
    owner="dwh",
    labels=["example", "nyc"],
    defaults={"retries": 2, "retry_interval": "2s", "timeout": "2m"},
) as dag:
    # Extract: reading the source needs no warehouse, so these run side by side.

    @ms.task(priority="high", labels=["extract"])  # everything else waits for it: first in line
    def extract_flights(biz_date: date) -> str:
        """Land the departures that were planned for the day."""
        return _source.land("flights", biz_date)

    @ms.task(labels=["extract"])
    def extract_weather(airport: str, biz_date: date) -> str:
        """Land the hourly weather of the day at one airport."""
        return _source.land("weather", biz_date, airport)

    # ODS: as the source has it, all text. Whoever writes to the warehouse takes the pool's slot.

    @ms.task(pool="warehouse", labels=["ods"])
    def load_airlines() -> int:
        """Replace the list of airlines; it has no days."""
        return _warehouse.replace_airlines(_source.airlines())

    @ms.task(pool="warehouse", labels=["ods"])
    def load_flights(path: str, biz_date: date) -> int:
        """Replace the day in ods_flights."""
        return _warehouse.replace_day("ods_flights", biz_date, _source.rows(path))

    @ms.task(pool="warehouse", labels=["ods"])
    def load_weather(biz_date: date, **paths: str) -> int:
        """Replace the day in ods_weather, from the files of all airports."""
        rows = [row for path in paths.values() for row in _source.rows(path)]
        return _warehouse.replace_day("ods_weather", biz_date, rows)

    # DWD: typed, cleaned, joined.

    @ms.task(pool="warehouse", labels=["dwd"])
    def clean_flights(loaded: int, biz_date: date) -> dict:
        """Cast; leave out what never left and what cannot be used, and say how much that was."""
        kept = _warehouse.rebuild("dwd_flights", biz_date)
        dropped = _warehouse.dropped(biz_date)
        log = ms.context().logger
        log.info("%d of %d kept", kept, loaded)
        if dropped["unknown"]:
            log.warning("%(unknown)d without a delay or of an unknown airline", dropped)
        return {"kept": kept, **dropped}

    @ms.task(pool="warehouse", labels=["dwd"])
    def clean_weather(loaded: int, biz_date: date) -> int:
        """Cast, and name the hour by its instant: at the end of summer time one comes twice."""
        return _warehouse.rebuild("dwd_weather", biz_date)

    @ms.task(pool="warehouse", labels=["dwd"])
    def join_weather(biz_date: date) -> int:
        """Give each departure the weather of its airport and hour, if there is any."""
        return _warehouse.rebuild("dwd_flights_weather", biz_date)

    # DWS: one row for each airline, and for each airport.

    @ms.task(pool="warehouse", labels=["dws"])
    def aggregate_carriers(biz_date: date, late_minutes: int = 15) -> int:
        """Sum up per airline; late is who left `late_minutes` or more after the plan."""
        return _warehouse.rebuild("dws_carriers", biz_date, late_minutes=late_minutes)

    @ms.task(pool="warehouse", labels=["dws"])
    def aggregate_airports(biz_date: date) -> int:
        """Sum up per airport, with the weather that its departures met."""
        return _warehouse.rebuild("dws_airports", biz_date)

    # Trust, then publish.

    @ms.task(retries=0, labels=["quality"])  # counting again gives the same numbers
    def check_rows(
        flights: int, weather: int, cleaned: dict, biz_date: date, min_flights: int = 500
    ) -> dict:
        """Fail unless every layer has exactly the rows that the one below gave it."""
        has = _warehouse.counts(biz_date)
        rules = [
            (flights >= min_flights, f"{flights} flights, and no day has less than {min_flights}"),
            (has["ods_flights"] == flights, f"ods_flights: {flights} rows were loaded"),
            (has["ods_weather"] == weather, f"ods_weather: {weather} rows were loaded"),
            (sum(cleaned.values()) == flights, f"cleaning {flights} flights gave {cleaned}"),
            (has["dwd_flights"] == cleaned["kept"], f"dwd_flights: {cleaned['kept']} were kept"),
            (has["dwd_weather"] == has["ods_weather"], "dwd_weather differs from ods_weather"),
            (has["dwd_flights_weather"] == has["dwd_flights"], "the join lost or doubled flights"),
            (has["dws_carriers"] == has["dwd_flights"], "dws_carriers: not every departure, once"),
            (has["dws_airports"] == has["dwd_flights"], "dws_airports: not every departure, once"),
        ]
        broken = [message for holds, message in rules if not holds]
        if broken:
            rows = ", ".join(f"{table} {number}" for table, number in has.items())
            raise ms.Fail(f"{biz_date}: {'; '.join(broken)} ({rows})", code="ROW_COUNT")
        return has

    @ms.task(priority="low", owner="analytics", labels=["report"])
    def write_report(biz_date: date, late_minutes: int = 15) -> str:
        """Write the day's page."""
        path = _report.write(biz_date, late_minutes)
        ms.context().logger.info("wrote %s", path)
        return path

    # What waits for what. A call hands results on; >> only puts tasks in order.

    flights = load_flights(extract_flights())
    weather = load_weather(
        **{at: extract_weather.with_options(name=f"extract_weather_{at}")(at) for at in AIRPORTS}
    )
    cleaned = clean_flights(flights)
    checked = check_rows(flights, weather, cleaned)
    joined = join_weather()
    load_airlines() >> cleaned
    [cleaned, clean_weather(weather)] >> joined
    joined >> [aggregate_carriers(), aggregate_airports()] >> checked
    checked >> write_report()

if __name__ == "__main__":
    print(dag.run("2013-01-15"))
