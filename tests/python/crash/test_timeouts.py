"""Timeouts in the calling process: asked, given up, and never aimed at the wrong task."""

import random
import threading
import time

import mainspring as ms

from . import _tools as tools


def test_a_python_loop_is_stopped():
    with ms.Dag("late") as dag:
        @ms.task(timeout="200ms")
        def loop():
            while True:
                pass

        @ms.task(timeout="200ms")
        def waits():
            while True:
                time.sleep(0.005)

        @ms.task(timeout="200ms")
        async def coroutine():
            import asyncio

            await asyncio.sleep(60)

    began = time.monotonic()
    run = dag.run("2020-01-01")
    assert time.monotonic() - began < 5
    for ran in run:
        assert ran.state == "TIMEOUT", (ran, ran.error)
        assert ran.code == "TIMEOUT"
        assert ran.attempts[0].outcome == "TIMEOUT"
        assert 0.19 <= ran.attempts[0].duration.total_seconds() < 3


def test_the_exception_may_be_caught():
    """A handler that cleans up and passes it on is TIMEOUT; so is one that swallows it."""
    seen = []
    with ms.Dag("late") as dag:
        @ms.task(timeout="150ms")
        def cleans():
            try:
                while True:
                    time.sleep(0.005)
            except ms.errors.AttemptTimeout:
                seen.append("cleaned")
                raise

        @ms.task(timeout="150ms")
        def swallows():
            try:
                while True:
                    time.sleep(0.005)
            except ms.errors.AttemptTimeout:
                return "as if nothing had been"

        @ms.task(timeout="150ms")
        def ordinary():
            end = time.monotonic() + 10
            while time.monotonic() < end:
                try:
                    time.sleep(0.005)
                except Exception:  # noqa: BLE001 - as careless handlers do
                    seen.append("Exception caught it")

    run = dag.run("2020-01-01")
    assert {each.task: each.state for each in run} == {
        "cleans": "TIMEOUT", "swallows": "TIMEOUT", "ordinary": "TIMEOUT"}
    assert seen == ["cleaned"]


def test_native_code_is_given_up_after_its_grace(database):
    """It cannot be interrupted: TIMEOUT after the grace, and the slot is held until it ends."""
    ended = []
    with ms.Dag("late") as dag:
        @ms.task(timeout="200ms", grace="300ms")
        def native():
            time.sleep(3)
            ended.append(time.monotonic())

    began = time.monotonic()
    run = dag.run("2020-01-01")
    took = time.monotonic() - began
    assert run["native"].state == "TIMEOUT"
    assert 0.45 <= took < 2.5, took
    assert len(tools.leases(database)) == 1
    tools.until(lambda: not tools.leases(database), 10)
    assert time.monotonic() - began >= 2.9
    assert tools.consistent(database) == []
    assert run.refresh()["native"].state == "TIMEOUT"


def test_a_retry_waits_for_the_thread(database):
    """Nothing is tried again while the attempt before is still running."""
    running, most = [], []

    with ms.Dag("late") as dag:
        @ms.task(timeout="100ms", grace="100ms", retries=1, retry_interval="1ms")
        def native():
            running.append(1)
            most.append(len(running))
            try:
                time.sleep(0.8)
            finally:
                running.pop()

    run = dag.run("2020-01-01")
    assert run["native"].state == "TIMEOUT"
    first, second = run["native"].attempts
    assert (second.started_at - first.started_at).total_seconds() >= 0.79
    assert most == [1, 1]
    tools.until(lambda: not tools.leases(database), 10)
    assert tools.consistent(database) == []


def test_an_exception_never_hits_the_next_task(database):
    """Hammer: timeouts near the duration, and after each a task that does nothing at all."""
    seed = 20130115
    print("seed", seed)
    dice = random.Random(seed)
    dag = ms.Dag("hammer")
    for number in range(500):
        pause = dice.uniform(0.0, 0.008)

        near = _spins(pause)

        def innocent():
            total = 0
            for each in range(200):
                total += each
            return total

        near.__name__, innocent.__name__ = f"near{number}", f"innocent{number}"
        dag.task(near, timeout="4ms", grace="20s")
        dag.task(innocent)
    run = dag.run("2020-01-01")
    ended = {}
    for each in run:
        kind = each.task.rstrip("0123456789")
        ended[kind, each.state] = ended.get((kind, each.state), 0) + 1
        if kind == "innocent":
            assert each.state == "SUCCESS", (each, each.error, each.traceback)
    print(ended)
    assert ended[("innocent", "SUCCESS")] == 500
    assert set(ended) <= {("innocent", "SUCCESS"), ("near", "SUCCESS"), ("near", "TIMEOUT")}
    assert tools.leases(database) == []
    assert tools.consistent(database) == []
    # The threads that remain are in order too.
    again = ms.Dag.from_graph("quiet", [f"t{n}" for n in range(50)]).run("2020-01-01")
    assert again.state == "SUCCESS"


def _spins(pause):
    def near():
        end = time.perf_counter() + pause
        while time.perf_counter() < end:
            pass
    return near


def test_canceled_tasks_never_hit_the_next_one(database):
    """The same with cancel, from another thread, at random moments."""
    seed = 20130116
    print("seed", seed)
    dice = random.Random(seed)
    dag = ms.Dag("cancels")
    for number in range(40):
        pause = dice.uniform(0.0, 0.004)
        body = _spins(pause)
        body.__name__ = f"t{number}"
        dag.task(body)
    innocent = ms.Dag("innocent")
    for number in range(40):
        def quick() -> int:
            return sum(range(100))
        quick.__name__ = f"t{number}"
        innocent.task(quick)
    for round in range(15):
        run = dag.run("2020-01-01", wait=False)
        other = innocent.run("2020-01-01", wait=False)
        stop = threading.Timer(dice.uniform(0.0, 0.05), run.cancel)
        stop.start()
        assert run.wait(30)
        assert other.wait(30)
        stop.join()
        assert other.state == "SUCCESS", (round, other)
        assert run.state in ("CANCELED", "SUCCESS"), (round, run)
        assert {each.state for each in run} <= {"CANCELED", "SUCCESS"}
    tools.until(lambda: not tools.leases(database), 10)
    assert tools.consistent(database) == []


def test_queued_runs_that_are_canceled_never_start(database):
    """A06: cancel is no failure, whatever the retries say."""
    ms.pool("one", 1)
    ran = []
    gate = threading.Event()
    with ms.Dag("piles") as dag:
        @ms.task(pool="one", retries=4, retry_interval="1ms")
        def work():
            ran.append(1)
            gate.wait(20)

    runs = [dag.run("2020-01-01", wait=False) for _ in range(20)]
    tools.until(lambda: ran)
    for run in runs[1:]:
        run.cancel()
    for run in runs[1:]:
        assert run.wait(20)
        assert run.state == "CANCELED"
        assert run["work"].attempts == []
        assert run["work"].started_at is None
    gate.set()
    assert runs[0].wait(20)
    assert runs[0].state == "SUCCESS"
    assert ran == [1]
    assert tools.rows(database, "SELECT count(*) AS n FROM attempt") == [{"n": 1}]
    assert tools.leases(database) == []
