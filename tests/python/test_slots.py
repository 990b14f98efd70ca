"""Limits, preemption, deadlines and budgets, through the public face."""

import socket
import urllib.error
from datetime import timedelta

import mainspring as ms
import pytest


@pytest.fixture(autouse=True)
def fresh():
    with ms.testing.isolated():
        yield


def outcomes(run, task):
    return [attempt.outcome for attempt in run[task].attempts]


def tried(error, retry_on):
    """How many attempts a task has that always raises this, with one retry for these."""
    with ms.Dag("tries") as dag:
        @ms.task(retries=1, retry_interval="1ms", retry_on=retry_on)
        def fails() -> None:
            raise error

    return len(dag.run("2013-01-15")["fails"].attempts)


class Busy(ms.Fail):
    pass


def http(status):
    return urllib.error.HTTPError("http://x", status, "no", {}, None)  # type: ignore[arg-type]


@pytest.mark.parametrize(("error", "retry_on", "attempts"), [
    # A class stands for those below it, as the class or by name.
    (ConnectionResetError("gone"), [OSError], 2),
    (ConnectionResetError("gone"), ["OSError"], 2),
    (ConnectionResetError("gone"), [ConnectionResetError], 2),
    (ConnectionResetError("gone"), ["CONN_RESET"], 2),
    (ConnectionResetError("gone"), [LookupError], 1),
    (KeyError("k"), [LookupError], 2),
    (KeyError("k"), [Exception], 2),
    (KeyError("k"), ["ERROR"], 2),
    (KeyError("k"), ["IndexError"], 1),
    (ConnectionRefusedError("no"), ["CONN_REFUSED"], 2),
    (TimeoutError("slow"), ["CONN_TIMEOUT"], 2),
    (TimeoutError("slow"), [TimeoutError], 2),
    (socket.gaierror(-2, "unknown"), ["DNS"], 2),
    (http(404), ["HTTP_4XX"], 2),
    (http(404), ["HTTP_404"], 2),
    (http(404), ["HTTP_403", "HTTP_5XX"], 1),
    (http(503), ["HTTP_5XX"], 2),
    (ms.Fail("later", code="VENDOR_BUSY"), ["VENDOR_BUSY"], 2),
    (ms.Fail("later", code="VENDOR_BUSY"), ["VENDOR_GONE"], 1),
    (Busy("later", code="B7"), [ms.Fail], 2),
    (Busy("later", code="B7"), ["tests.python.test_slots.Busy", "Busy"], 2),
    (SystemExit(3), ["EXIT_3"], 2),
    (SystemExit(3), ["EXIT_4"], 1),
    (KeyError("k"), [], 1),
])
def test_retry_on_chooses_by_code_class_and_base_class(error, retry_on, attempts):
    assert tried(error, retry_on) == attempts


def test_losses_are_an_option_of_tasks_and_of_defaults():
    with ms.Dag("d", defaults={"max_losses": 1}) as dag:
        ms.noop("a")

        @ms.task(max_losses=2)
        def b() -> None: ...

    rules = {task["name"]: task.get("max_losses") for task in dag.spec()["tasks"]}
    assert rules == {"a": None, "b": 2}
    dag.run("2013-01-15")
    rows = ms.sql("SELECT max_losses FROM task_version ORDER BY task_id")
    assert [row["max_losses"] for row in rows] == [1, 2]


def test_an_unknown_limit_is_refused_with_what_there_is():
    ms.limit("vendor-api", 3)
    with ms.Dag("d") as dag:
        @ms.task(limits=["vendor-ap"])
        def a() -> None: ...

    with pytest.raises(ms.SpecError) as caught:
        dag.run("2013-01-15")
    problem, = caught.value.problems
    assert (problem.code, problem.place) == ("unknown_limit", "d.a.limits[0]")
    assert problem.hint == "did you mean `vendor-api`?"


@pytest.mark.parametrize("slots", [-1, 1.5, True, "3", None])
def test_a_limit_has_a_number_of_slots(slots):
    with pytest.raises(ValueError, match="a number of slots"):
        ms.limit("api", slots)


@pytest.mark.parametrize("ageing", ["soon", "0s", timedelta(0), "-5m"])
def test_a_pool_ages_by_a_duration(ageing):
    with pytest.raises(ValueError, match="ageing"):
        ms.pool("p", 1, ageing=ageing)


def test_a_pool_ages_in_the_database():
    ms.pool("p", 1, ageing=timedelta(minutes=30))
    ms.pool("q", 1, ageing="1h")
    ms.pool("q", 2)
    rows = ms.sql("SELECT name, slots, ageing_ms FROM pool ORDER BY name")
    assert rows == [{"name": "p", "slots": 1, "ageing_ms": 1_800_000},
                    {"name": "q", "slots": 2, "ageing_ms": None}]


def test_a_limit_bounds_what_runs_at_once():
    import threading

    ms.limit("api", 2)
    now, most, lock = 0, 0, threading.Lock()
    both = threading.Barrier(2)

    with ms.Dag("d") as dag:
        def call(nth: int) -> None:
            nonlocal now, most
            with lock:
                now += 1
                most = max(most, now)
            both.wait(30)  # two are there at once, and never a third
            with lock:
                now -= 1

        for nth in range(8):
            ms.Task(call, {"name": f"c{nth}", "limits": {"api": 1}})(nth)

    run = dag.run("2013-01-15").raise_for_failure()
    assert (most, run.state) == (2, "SUCCESS")


# Under a clock that stands: what a task takes is said by a stub.


def simulated(*dags, start="2024-01-01", **takes):
    """A world with a pool of one slot; its tasks take so long."""
    stub = {key.replace("__", "."): ms.testing.stub(takes=time) for key, time in takes.items()}
    return ms.testing.simulated(start, [], stub=stub), dags


def attempts():
    """Attempts: key, number, outcome, and the minute of the day at which they began."""
    rows = ms.sql(
        "SELECT task.key, attempt.attempt_no, outcome, attempt.started_at / 60000000 % 1440 AS began "
        "FROM attempt JOIN task_run ON task_run.id = task_run_id "
        "JOIN task ON task.id = task_id ORDER BY attempt.id")
    return [tuple(row.values()) for row in rows]


def daily(name, at, task, **options):
    hour, minute = at.split(":")
    line = f"{int(minute)} {int(hour)} * * *"
    with ms.Dag(name, schedule=ms.cron(line, timezone="UTC")) as dag:
        ms.task(lambda: None, name=task, **options)()
    return dag


def test_a_low_task_gives_way_to_an_urgent_one():
    low = daily("low", "00:05", "slow", priority="idle", preemptible=True, pool="p", retries=0)
    high = daily("high", "00:10", "quick", priority="urgent", pool="p")
    world, dags = simulated(low, high, low__slow="1h", high__quick="5m")
    with world as world:
        ms.pool("p", 1)
        world.register(*dags)
        world.advance("3h")
        assert attempts() == [
            ("low.slow", 1, "PREEMPTED", 5),
            ("high.quick", 1, "SUCCESS", 10),
            ("low.slow", 2, "SUCCESS", 15),
        ]
        assert ms.sql("SELECT errors_used, preemptions_used FROM task_run WHERE id = 1") == [
            {"errors_used": 0, "preemptions_used": 1}]


def test_a_deadline_alerts_once_and_is_counted():
    # 07:30 in Shanghai is 23:30 UTC of the day before; the fire at 02:00 is 18:00 UTC.
    with ms.Dag("d", schedule=ms.cron("0 2 * * *", timezone="Asia/Shanghai")) as dag:
        ms.task(lambda: None, name="load", deadline="07:30")()
    world, dags = simulated(dag, start="2024-01-14T12:00:00Z", d__load="6h")
    with world as world:
        world.register(*dags)
        world.advance("11h")  # 23:00 UTC
        task, = world.task_runs("d")
        assert (task.state, task.overdue, str(task.deadline)) == (
            "RUNNING", False, "2024-01-15 07:30:00+08:00")
        world.advance("45m")
        task, = world.task_runs("d")
        assert (task.state, task.overdue) == ("RUNNING", True)
        assert "its deadline 2024-01-14T23:30:00Z has passed" in task.explain()
        told = ms.sql("SELECT event, run_id, task_run_id, payload FROM outbox")
        assert [(row["event"], row["run_id"], row["task_run_id"]) for row in told] == [
            ("deadline", 1, 1)]
        world.advance("1h")
        task, = world.task_runs("d")
        assert (task.state, task.overdue) == ("SUCCESS", True)
        assert [(each.runs, each.met) for each in ms.stats("d")] == [(1, 0.0)]
        assert ms.sql("SELECT count(*) AS n FROM outbox") == [{"n": 1}]


def test_the_share_of_met_deadlines_is_real():
    dag = daily("d", "01:00", "load", deadline="90m")
    plain = daily("e", "01:00", "load")
    world, dags = simulated(dag, plain, d__load="1h", e__load="1h")
    with world as world:
        world.register(*dags)
        world.advance("3d")
        assert [(each.task, each.runs, each.met) for each in ms.stats()] == [
            ("d.load", 1, 1.0), ("d.load", 2, 1.0), ("e.load", 1, None), ("e.load", 2, None)]


def test_a_deadline_may_cancel():
    dag = daily("d", "01:00", "load", deadline="30m", on_deadline="cancel", retries=5)
    world, dags = simulated(dag, d__load="1h")
    with world as world:
        world.register(*dags)
        world.advance("1d")
        task, = world.task_runs("d")
        assert (task.state, task.code) == ("CANCELED", "DEADLINE")
        assert str(task.finished_at) == "2024-01-01 01:30:00+00:00"


def test_whoever_asks_for_what_is_late_knows_that():
    with ms.Dag("d") as dag:
        ms.task(lambda: 1, name="load", deadline="30m", on_deadline="cancel")()
    run = dag.run("2013-01-15").raise_for_failure()
    assert (run["load"].deadline, run["load"].overdue) == (None, False)


def test_blocked_for_too_long_is_given_up_also_after_a_restart():
    with ms.Dag("d", schedule=ms.cron("0 1 * * *", timezone="UTC")) as dag:
        first = ms.task(lambda: None, name="first", retries=0)()
        second = ms.noop("second", block_timeout="2h")
        _ = first >> second
    stub = {"d.first": ms.testing.stub(fails=1, code="EXIT_1")}
    with ms.testing.simulated("2024-01-01", [dag], stub=stub) as world:
        world.advance("2h")
        states = {task.task: task.state for task in world.task_runs("d")}
        assert states == {"first": "FAILED", "second": "BLOCKED"}
        world.stop()
        world.start()
        world.advance("2h")
        found = {task.task: (task.state, task.code) for task in world.task_runs("d")}
        assert found["second"] == ("FAILED", "BLOCK_TIMEOUT")


def test_what_is_not_idempotent_is_never_started_again_unasked():
    """A scheduler that dies loses the attempt; what else may come is tried in the engine."""
    harm = daily("harm", "01:00", "pay", idempotent=False)
    free = daily("free", "01:00", "load")
    stub = {"harm.pay": ms.testing.stub(takes="1h"), "free.load": ms.testing.stub(takes="1h")}
    with ms.testing.simulated("2024-01-01", [harm, free], stub=stub) as world:
        world.advance("90m")
        world.stop()
        world.start()
        world.advance("3h")
        found = {run.dag: run.state for run in world.runs()}
        assert found == {"harm": "FAILED", "free": "SUCCESS"}
