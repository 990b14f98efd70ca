"""Workers and supervisors killed at random while a dag runs: every attempt is explained.

`CRASH_FULL=1` makes it 200 kills while 500 tasks run.
"""

import os
import random
import signal
import threading
from pathlib import Path

import mainspring as ms
from crash import _tools as others

from . import _tools as tools

FULL = bool(os.environ.get("CRASH_FULL"))
KILLS, TASKS, SECONDS = (200, 500, 0.2) if FULL else (40, 300, 0.03)


def test_kills_of_workers_lose_nothing(tmp_path, database):
    witness = tmp_path / "witness"
    dag = tools.dag_of(tmp_path, f"""
        with ms.Dag("jobs") as dag:
            for i in range({TASKS}):
                @ms.task(name=f"t{{i}}", params={{"i": i}}, retries=200, retry_interval="5ms",
                         retry_backoff="FIXED", depends_on=[f"t{{i - 40}}"] if i >= 40 else [])
                def one(i: int, ctx) -> int:
                    file = os.open({str(witness)!r}, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
                    os.write(file, f"{{i}} {{ctx.attempt}}\\n".encode())
                    time.sleep({SECONDS})
                    os.write(file, f"{{i}} {{ctx.attempt}} end\\n".encode())
                    os.close(file)
                    return i
    """)
    rng = random.Random(20)
    mark = f"MAINSPRING_WORKER={os.getpid()}."
    over = threading.Event()
    kills = []

    def kill():
        while not over.wait(0.05) and len(kills) < KILLS:
            found = tools.alive(mark)
            supervisors = [pid for pid in found if is_supervisor(pid)]
            # Each task has three losses, so few of them.
            some = supervisors if rng.random() < 0.1 else sorted(set(found) - set(supervisors))
            if some:
                pid = rng.choice(some)
                try:
                    os.kill(pid, signal.SIGKILL)
                except OSError:
                    continue
                kills.append(pid in supervisors)

    def is_supervisor(pid):
        try:
            return b"_supervisor.py" in Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            return False

    from mainspring._processes import commands
    from mainspring._session import session

    session(None).core.use_processes(*commands(), workers=6)
    killer = threading.Thread(target=kill)
    killer.start()
    try:
        run = tools.run(dag)
    finally:
        over.set()
        killer.join()
    assert len(kills) == KILLS and len(set(kills)) == 2
    assert run.state == "SUCCESS", [
        (each.task, each.attempts[-1].error) for each in run if each.state == "FAILED"]
    tools.until(lambda: others.leases(database) == [])
    assert others.consistent(database) == []
    ends = [line.split() for line in witness.read_text().splitlines()]
    for each in run:
        *before, last = each.attempts
        assert last.outcome == "SUCCESS"
        assert [each.task[1:], str(last.number), "end"] in ends
        for attempt in before:
            assert attempt.outcome in ("FAILED", "LOST"), attempt.outcome
            assert attempt.error_code in ("SIGNAL_9", "SUPERVISOR", "WORKER"), attempt.error


def test_a_stop_that_comes_as_an_attempt_ends_hits_no_other(tmp_path, database):
    """Timeouts about as long as the tasks: each is one or the other, and nobody else is killed."""
    dag = tools.dag_of(tmp_path, """
        import random
        rng = random.Random(4)
        with ms.Dag("jobs") as dag:
            for i in range(200):
                @ms.task(name=f"t{i}", timeout="60ms", grace="2s", pool="few",
                         params={"s": 0.05 + rng.random() / 100})
                def one(s: float) -> float:
                    time.sleep(s)
                    return s
    """)
    ms.pool("few", 4)
    from mainspring._processes import commands
    from mainspring._session import session

    session(None).core.use_processes(*commands(), workers=4)
    run = tools.run(dag)
    states = [each.state for each in run]
    assert set(states) <= {"SUCCESS", "TIMEOUT"}, [
        (each.task, each.error) for each in run if each.state == "FAILED"]
    tools.until(lambda: others.leases(database) == [])
    assert others.consistent(database) == []
