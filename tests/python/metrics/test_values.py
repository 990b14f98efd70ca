"""What is counted, each thing once, and what is open now."""

import threading

import mainspring as ms
import pytest
from mainspring import _session
from mainspring._heard import Heard
from mainspring._metrics import Metrics
from mainspring._scheduler import SCOPE
from mainspring._session import location, session

from ._exposition import parse

DEADLINE = 30.0


class Reader:
    """Reads metrics of the test's database, each time anew; counters may never go back."""

    def __init__(self, core=None, database=None, **options):
        self.heard = Heard()
        self.heard.tell({"event": "serving"})
        self.now = 0.0
        self.before = {}
        self.metrics = Metrics(database or location(None), self.heard, slots=4, scope=SCOPE,
                               monotonic=lambda: self.now, **options)
        self.metrics.leads(core or session().core)

    def __call__(self):
        self.now += 1.0
        self.metrics.turned()
        samples = parse(self.metrics.text())
        for key, value in self.before.items():
            assert samples.get(key, 0) >= value, f"{key} went back"
        growing = ("_total", "_count", "_sum", "_bucket")
        self.before = {key: value for key, value in samples.items() if key[0].endswith(growing)}
        return samples

    def of(self, name, samples=None):
        """One metric: values of labels, in the order of their names, to value."""
        return {tuple(value for _, value in labels): found
                for (each, labels), found in (samples or self()).items()
                if each == f"mainspring_{name}"}


class Gate:
    """Handlers wait in it, and it knows that one came."""

    def __init__(self):
        self.came, self.go = threading.Event(), threading.Event()

    def __call__(self):
        self.came.set()
        assert self.go.wait(DEADLINE)

    def __enter__(self):
        assert self.came.wait(DEADLINE)

    def __exit__(self, *_):
        self.go.set()


@pytest.fixture
def fragile():
    """A dag whose second task fails until it is repaired, and may be held up."""
    with ms.Dag("fragile") as dag:

        @ms.task
        def first():
            return 1

        @ms.task
        def second(n: int):
            if dag.gate is not None:
                dag.gate()
            if not dag.repaired:
                raise ValueError("not yet")

        @ms.task
        def third():
            return 3

        second(first()) >> third()
    dag.repaired, dag.gate = False, None
    return dag


def background(work):
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def test_a_run_that_fails_is_repaired_and_runs_again(fragile):
    read = Reader()
    assert read.of("attempts_finished_total") == {}
    run = fragile.run("2024-01-01")
    samples = read()
    # Names of labels in order: outcome, task, version; state, task, version.
    assert read.of("attempts_finished_total", samples) == {
        ("SUCCESS", "fragile.first", "1"): 1, ("FAILED", "fragile.second", "1"): 1}
    assert read.of("task_runs_finished_total", samples) == {
        ("SUCCESS", "fragile.first", "1"): 1, ("FAILED", "fragile.second", "1"): 1}
    assert read.of("task_runs", samples) == {("BLOCKED", "fragile.third", "1"): 1}
    assert read.of("runs_finished_total", samples) == {("fragile", "FAILED"): 1}

    fragile.repaired, fragile.gate = True, Gate()
    thread = background(lambda: fragile.rerun(run))
    with fragile.gate:
        samples = read()
        assert read.of("task_runs", samples)[("RUNNING", "fragile.second", "1")] == 1
        assert read.of("runs_open", samples) == {(): 1}
        assert read.of("attempts_live", samples) == {(): 1}
    thread.join(DEADLINE)
    samples = read()
    assert read.of("attempts_finished_total", samples) == {
        ("SUCCESS", "fragile.first", "1"): 1, ("FAILED", "fragile.second", "1"): 1,
        ("SUCCESS", "fragile.second", "1"): 1, ("SUCCESS", "fragile.third", "1"): 1}
    # The first task did not run again, so it is not counted again.
    assert read.of("task_runs_finished_total", samples) == {
        ("SUCCESS", "fragile.first", "1"): 1, ("FAILED", "fragile.second", "1"): 1,
        ("SUCCESS", "fragile.second", "1"): 1, ("SUCCESS", "fragile.third", "1"): 1}
    assert read.of("runs_finished_total", samples) == {
        ("fragile", "FAILED"): 1, ("fragile", "SUCCESS"): 1}
    assert read.of("task_runs", samples) == {}
    assert read.of("runs_open", samples) == {(): 0}
    # First attempts only have a time in the queue; each end has a duration.
    assert read.of("task_queue_seconds_count", samples) == {
        ("fragile.first", "1"): 1, ("fragile.second", "1"): 1, ("fragile.third", "1"): 1}
    assert read.of("task_duration_seconds_count", samples) == {
        ("fragile.first", "1"): 1, ("fragile.second", "1"): 2, ("fragile.third", "1"): 1}
    assert read.of("attempt_duration_seconds_count", samples) == {(): 4}
    assert read.of("attempt_queue_seconds_count", samples) == {(): 3}


def test_durations_are_those_of_the_rows(fragile):
    read = Reader()
    for day in (1, 2, 3):
        fragile.run(f"2024-01-0{day}")
    samples = read()
    rows = ms.sql("SELECT duration_ms FROM attempt")
    assert samples[("mainspring_attempt_duration_seconds_sum", ())] == pytest.approx(
        sum(row["duration_ms"] for row in rows) / 1000)
    for (bound,), within in read.of("attempt_duration_seconds_bucket", samples).items():
        limit = float(bound.replace("Inf", "inf")) * 1000
        assert within == sum(row["duration_ms"] <= limit for row in rows)
    rows = ms.sql("SELECT a.started_at - r.first_ready_at AS waited FROM attempt a "
                  "JOIN task_run r ON r.id = a.task_run_id")
    assert samples[("mainspring_attempt_queue_seconds_sum", ())] == pytest.approx(
        sum(row["waited"] for row in rows) / 1e6)


def test_what_was_before_is_not_counted_and_what_was_open_is(fragile):
    fragile.run("2024-01-01")
    fragile.repaired, fragile.gate = True, Gate()
    thread = background(lambda: fragile.run("2024-01-02"))
    assert fragile.gate.came.wait(DEADLINE)
    read = Reader()
    assert read.of("attempts_finished_total") == {}
    with fragile.gate:
        pass
    thread.join(DEADLINE)
    samples = read()
    assert read.of("attempts_finished_total", samples) == {
        ("SUCCESS", "fragile.second", "1"): 1, ("SUCCESS", "fragile.third", "1"): 1}
    # Nobody counted the run's first task yet: its run ends only now.
    assert read.of("task_runs_finished_total", samples) == {
        ("SUCCESS", f"fragile.{task}", "1"): 1 for task in ("first", "second", "third")}


def test_each_version_has_its_own_series():
    read = Reader()
    for text in ("a", "b"):
        with ms.Dag("edited") as dag:
            ms.task(params={"text": text})(lambda text: text).with_options(name="only")()
        dag.run("2024-01-01")
    assert read.of("attempts_finished_total") == {
        ("SUCCESS", "edited.only", "1"): 1, ("SUCCESS", "edited.only", "2"): 1}


def test_steps_between_readings_count_nothing_twice(fragile):
    read = Reader()
    for day in range(1, 6):
        fragile.run(f"2024-01-0{day}")
        read.metrics.step()
        read.metrics.step()
    samples = read()
    assert read.of("attempts_finished_total", samples) == {
        ("SUCCESS", "fragile.first", "1"): 5, ("FAILED", "fragile.second", "1"): 5}
    assert read.of("runs_finished_total", samples) == {("fragile", "FAILED"): 5}


def test_pages_are_read_to_the_end(fragile, monkeypatch):
    from mainspring import _metrics

    monkeypatch.setattr(_metrics, "PAGE", 3)
    read = Reader()
    for day in range(1, 6):
        fragile.run(f"2024-01-0{day}")
    assert sum(read.of("attempts_finished_total").values()) == 10


def test_many_tasks_are_added_up_beyond_the_limit():
    read = Reader(limit=50)
    names = [f"t{at}" for at in range(200)]
    ms.Dag.from_graph("wide", names).run("2024-01-01")
    found = read.of("attempts_finished_total")
    assert len(found) <= 50
    assert sum(found.values()) == 200
    assert found[("SUCCESS", "_other", "")] == 200 - (len(found) - 1)


def test_pools_and_their_slots():
    ms.pool("warehouse", 3)
    gate = Gate()
    with ms.Dag("loads") as dag:

        @ms.task(pool="warehouse", slots=2)
        def load():
            gate()

        load()
    read = Reader()
    assert read.of("pool_slots_used") == {("warehouse",): 0}
    thread = background(lambda: dag.run("2024-01-01"))
    with gate:
        samples = read()
    thread.join(DEADLINE)
    assert read.of("pool_slots", samples) == {("warehouse",): 3}
    assert read.of("pool_slots_used", samples) == {("warehouse",): 2}
    assert read.of("slots", samples) == {(): 4}
    assert read.of("pool_slots_used") == {("warehouse",): 0}


def test_requests_that_nobody_has_decided():
    from mainspring._mainspring import Asker

    dag = ms.Dag.from_graph("abc", ["a"], schedule="0 2 * * *")
    with ms.testing.simulated("2026-03-27", [dag], stub=True) as world:
        read = Reader(_session.session().core, world.database)
        assert read.of("requests_open") == {(): 0}
        world.stop()
        Asker(world.database).ask({"kind": "pause", "dag": "abc"}, by="test", later=True)
        assert read.of("requests_open") == {(): 1}
        assert read.of("scheduler_up") == {(): 0}  # its core has ended


HOUR = 3_600_000_000
START = 1_774_569_600_000_000  # 2026-03-27T00:00:00Z


def test_the_lag_of_schedules_and_the_epoch():
    two = ms.Dag.from_graph("two", ["a"], schedule="0 2 * * *")
    ten = ms.Dag.from_graph("ten", ["a"], schedule="0 10 * * *")
    never = ms.Dag.from_graph("never", ["a"])
    clock = [START]
    with ms.testing.simulated("2026-03-27", [two, ten, never], stub=True) as world:
        read = Reader(_session.session().core, world.database, clock=lambda: clock[0])
        samples = read()
        assert read.of("schedule_lag_seconds", samples) == {("two",): 0, ("ten",): 0}
        assert read.of("scheduler_epoch", samples) == {(): 1}
        assert read.of("scheduler_start_time_seconds", samples) == {(): START / 1e6}
        # The scheduler has not looked since midnight: the fire of 02:00 is three hours late.
        clock[0] = START + 5 * HOUR
        assert read.of("schedule_lag_seconds") == {("two",): 3 * 3600, ("ten",): 0}
        world.advance("5h")
        assert read.of("schedule_lag_seconds") == {("two",): 0, ("ten",): 0}
        world.pause("ten")
        clock[0] = START + 20 * HOUR
        assert read.of("schedule_lag_seconds") == {("two",): 0, ("ten",): 0}
        world.remove("ten")
        assert read.of("schedule_lag_seconds") == {("two",): 0}


def test_what_events_say():
    read = Reader()
    for event in (
        {"event": "skipped", "reason": "missed", "count": 3},
        {"event": "skipped", "reason": "missed", "count": 2},
        {"event": "problem", "file": "a.py"},
        {"event": "problem", "file": "a.py"},
        {"event": "problem", "file": "b.py"},
        {"event": "file_changed", "file": "b.py"},
    ):
        read.heard.tell(event)
    samples = read()
    assert read.of("fires_skipped_total", samples) == {("missed",): 5}
    assert read.of("problem_files", samples) == {(): 1}
    assert read.of("scheduler_up", samples) == {(): 1}


@pytest.mark.parametrize(("event", "word"), [
    ({"event": "stalled", "why": "disk full"}, "disk full"),
    ({"event": "stopping"}, "stopping"),
    ({"event": "standing_by"}, "standing by"),
])
def test_when_it_is_not_well(event, word):
    read = Reader()
    assert read.metrics.unwell() is None
    read.heard.tell(event)
    assert word in read.metrics.unwell()
    assert read.of("scheduler_up") == {(): 0}


def test_one_that_does_not_turn_is_not_well():
    read = Reader()
    read.now += 29.0
    assert read.metrics.unwell() is None
    read.now += 2.0
    assert read.metrics.unwell() == "it has not turned for 31 s"


def test_one_that_stands_by_says_little(tmp_path):
    heard = Heard()
    heard.tell({"event": "standing_by"})
    samples = parse(Metrics(str(tmp_path / "none.db"), heard, slots=1, scope=SCOPE).text())
    assert samples[("mainspring_scheduler_up", ())] == 0
    assert not any("runs" in name for name, _ in samples)
    assert not (tmp_path / "none.db").exists()


def test_those_who_ask_at_once_are_given_the_same(fragile):
    read = Reader()
    text = read.metrics.text()
    fragile.run("2024-01-01")
    assert read.metrics.text() == text
    read.now += 1.0
    assert read.metrics.text() != text


def test_no_history_is_read_as_a_whole():
    """Each question is answered by ids or by indexes of what is open, however long the history."""
    from mainspring import _metrics

    ms.Dag.from_graph("abc", ["a"]).run("2024-01-01")
    some = {_metrics.NEW_ATTEMPTS: [0, 1], _metrics.ENDED_ATTEMPTS: ["[1]"],
            _metrics.ENDED_IDS: ["[1]"], _metrics.LIVE_ATTEMPTS: [], _metrics.TOP: [],
            _metrics.OPEN_RUNS: [], _metrics.RUNS: [0, 1, "[1]"],
            _metrics.ENDED_TASK_RUNS: ["[[1, 0]]"], _metrics.OPEN_TASK_RUNS: [],
            _metrics.OTHERS: ["main"]}
    for text, parameters in some.items():
        plan = [row["detail"] for row in ms.sql(f"EXPLAIN QUERY PLAN {text}", *parameters)]
        scans = [step for step in plan if step.startswith("SCAN ")
                 and step.split()[1] in ("run", "task_run", "attempt", "request")]
        assert all("_open" in step for step in scans), plan
