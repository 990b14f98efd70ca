"""Kills that kill: whatever an attempt made of itself is gone when its slot is free."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import mainspring as ms
import pytest
from crash import _tools as others

from . import _tools as tools

FOREST = '''
    import random, signal

    def note():
        started = open("/proc/self/stat").read().rsplit(")", 1)[1].split()[19]
        file = os.open(WITNESS, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.write(file, f"{os.getpid()} {started}\\n".encode())
        os.close(file)

    def stay(rng):
        end = rng.choice(["pause", "spin", "exec", "stop", "respawn"])
        if end == "exec":
            os.execvp("sleep", ["sleep", "600"])
        if end == "stop":
            os.kill(os.getpid(), signal.SIGSTOP)
        if end == "respawn":  # when one goes, two come
            def again(*_):
                for _ in range(2):
                    if os.fork() == 0:
                        note()
            signal.signal(signal.SIGTERM, again)
        while True:
            if end != "spin":
                time.sleep(600)
            else:
                time.sleep(0.001)

    def grow(rng, depth):
        """Fork a few; each may take a session, be orphaned, be deaf, and fork again."""
        for _ in range(rng.randint(1, 3)):
            seed = rng.random()
            if os.fork():
                continue
            mine = random.Random(seed)
            if mine.random() < 0.5:
                os.setsid()
            if mine.random() < 0.5 and os.fork():
                os._exit(0)  # the child is an orphan now
            note()
            if mine.random() < 0.5:
                for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
                    signal.signal(number, signal.SIG_IGN)
            if mine.random() < 0.3:
                os.closerange(0, 1024)
            if mine.random() < 0.3:
                os.chdir("/")
            if depth:
                grow(mine, depth - 1)
            stay(mine)
'''


# Handlers that grow a tree and stay.
SLEEPERS = '''
    with ms.Dag("jobs") as dag:
        for seed in range({first}, {end}):
            @ms.task(name=f"t{{seed}}", params={{"seed": seed}})
            def one(seed: int) -> None:
                note()
                grow(random.Random(seed), 1)
                time.sleep(600)
'''


def living(witness):
    """Those of the witness's lines that live: number and start tell a process from a later one."""
    found = []
    for line in Path(witness).read_text().split("\n"):
        if not line:
            continue
        pid, started = line.split()
        try:
            words = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if words[19] == started and words[0] not in "ZX":
            found.append(int(pid))
    return found


def forest(folder, body, options=""):
    """A dag whose handlers can grow trees, and the file in which those are noted."""
    witness = folder / "witness"
    witness.touch()
    head = f"    WITNESS = {str(witness)!r}\n" + FOREST
    return tools.dag_of(folder, head + body), witness


@pytest.mark.parametrize("first", [0, 10, 20])
def test_no_tree_survives_a_timeout(tmp_path, database, first):
    dag, witness = forest(tmp_path, f"""
    with ms.Dag("jobs") as dag:
        for seed in range({first}, {first + 10}):
            @ms.task(name=f"t{{seed}}", params={{"seed": seed}}, timeout="4s", grace="1s")
            def one(seed: int) -> None:
                note()
                grow(random.Random(seed), 1)
                time.sleep(600)
    """)
    run = tools.run(dag)
    tools.until(lambda: others.leases(database) == [])
    assert living(witness) == []
    assert len(witness.read_text().split("\n")) > 30
    for each in run:
        assert each.state == "TIMEOUT", (each.task, each.error)
        assert each.attempts[0].outcome == "TIMEOUT"


def test_no_tree_survives_a_cancel(tmp_path, database):
    dag, witness = forest(tmp_path, """
    with ms.Dag("jobs") as dag:
        for seed in range(30, 40):
            @ms.task(name=f"t{seed}", params={"seed": seed})
            def one(seed: int) -> None:
                note()
                grow(random.Random(seed), 1)
                time.sleep(600)
    """)
    run = tools.run(dag, wait=False)
    tools.until(lambda: len(living(witness)) > 40)
    run.cancel(grace=1)
    assert run.wait(30)
    tools.until(lambda: others.leases(database) == [])
    assert living(witness) == []
    assert {each.state for each in run} == {"CANCELED"}


def test_what_a_successful_attempt_left_behind_is_ended_before_its_slot_is_free(tmp_path, database):
    dag, witness = forest(tmp_path, """
    with ms.Dag("jobs") as dag:
        for seed in range(40, 50):
            @ms.task(name=f"t{seed}", params={"seed": seed})
            def one(seed: int) -> int:
                note()
                grow(random.Random(seed), 1)
                return seed
    """)
    run = tools.run(dag)
    assert living(witness) == []
    assert [run.result(f"t{seed}") for seed in range(40, 50)] == list(range(40, 50))
    assert run.state == "SUCCESS"


def test_a_small_fork_bomb_is_ended(tmp_path, database):
    dag, witness = forest(tmp_path, """
    with ms.Dag("jobs") as dag:
        @ms.task(timeout="3s", grace="500ms")
        def bomb() -> None:
            end = time.monotonic() + 3
            import resource
            note()
            while time.monotonic() < end and len(open(WITNESS).read().split()) < 400:
                if os.fork() == 0:
                    os.setsid()
                    signal.signal(signal.SIGTERM, signal.SIG_IGN)
                    note()
            time.sleep(600)
    """)
    run = tools.run(dag)
    assert run["bomb"].state == "TIMEOUT"
    tools.until(lambda: others.leases(database) == [])
    assert living(witness) == []


def test_a_handler_may_clean_up_within_its_grace(tmp_path, database):
    dag = tools.tasks(
        tmp_path,
        cleans="timeout='2s', grace='10s' @@ try:\n    time.sleep(600)\n"
               "except ms.errors.AttemptTimeout:\n    print('cleaned up'); raise",
        swallows="timeout='2s', grace='10s' @@ try:\n    time.sleep(600)\n"
                 "except ms.errors.AttemptTimeout:\n    return 'as if nothing had been'",
        waits_in_c="timeout='2s', grace='2s' @@ import ctypes; ctypes.CDLL(None).pause(); "
                   "ctypes.CDLL(None).sleep(600)",
        holds_the_gil="timeout='2s', grace='1s' @@ import ctypes, signal\n"
                      "signal.pthread_sigmask(signal.SIG_BLOCK, [15]); ctypes.PyDLL(None).sleep(600)",
        is_deaf="timeout='2s', grace='1s' @@ import signal; signal.signal(15, signal.SIG_IGN)\n"
                "while True: time.sleep(600)",
    )
    began = time.monotonic()
    run = tools.run(dag)
    assert time.monotonic() - began < 15
    assert {each.state for each in run} == {"TIMEOUT"}, [(each.task, each.state) for each in run]
    assert run["cleans"].log == "cleaned up\n"
    assert "AttemptTimeout" in run["cleans"].attempts[0].error_type
    rows = {row["task"]: row for row in ms.sql(
        "SELECT t.name AS task, a.* FROM attempt a JOIN task_run r ON r.id = a.task_run_id "
        "JOIN task t ON t.id = r.task_id")}
    assert rows["is_deaf"]["signal"] == rows["holds_the_gil"]["signal"] == 9
    assert rows["is_deaf"]["duration_ms"] < 4_000


def test_a_stop_of_one_leaves_the_others_alone(tmp_path, database):
    dag = tools.tasks(tmp_path, long="time.sleep(600)", short="time.sleep(0.5); return 1")
    run = tools.run(dag, wait=False)
    tools.until(lambda: len(others.leases(database)) == 2)
    run.cancel(["long"], grace=0.5)
    assert run.wait(30)
    assert (run["long"].state, run["short"].state) == ("CANCELED", "SUCCESS")


def test_one_that_was_not_begun_is_dropped(tmp_path, database):
    from mainspring._processes import commands
    from mainspring._session import session

    session(None).core.use_processes(*commands(), workers=1)
    dag = tools.tasks(tmp_path, first="time.sleep(600)", second="print('begun')")
    run = tools.run(dag, wait=False)
    tools.until(lambda: len(others.leases(database)) == 2)
    run.cancel(["second"])
    tools.until(lambda: run.refresh()["second"].state == "CANCELED")
    assert run["second"].log == ""
    run.cancel(grace=0.2)
    assert run.wait(30)


def test_a_crash_does_not_take_what_waits_for_the_worker(tmp_path, database):
    from mainspring._processes import commands
    from mainspring._session import session

    session(None).core.use_processes(*commands(), workers=1)
    bodies = {f"t{i}": "os._exit(1)" if i % 3 == 0 else f"return {i}" for i in range(30)}
    run = tools.run(tools.tasks(tmp_path, **bodies))
    for i in range(30):
        assert run[f"t{i}"].state == ("FAILED" if i % 3 == 0 else "SUCCESS"), run[f"t{i}"].error
        assert len(run[f"t{i}"].attempts) == 1


def test_an_attempt_whose_supervisor_is_killed_is_lost_and_leaves_nothing(tmp_path, database):
    dag, witness = forest(tmp_path, """
    with ms.Dag("jobs") as dag:
        @ms.task
        def one(ctx) -> int:
            if ctx.attempt == 1:
                note()
                grow(random.Random(7), 1)
                time.sleep(0.1)
                os.kill(os.getppid(), 9)
                time.sleep(600)
            return ctx.attempt

        @ms.task(idempotent=False)
        def once() -> None:
            note()
            os.kill(os.getppid(), 9)
            time.sleep(600)
    """)
    run = tools.run(dag)
    assert [each.outcome for each in run["one"].attempts] == ["LOST", "SUCCESS"]
    assert run["once"].state == "FAILED"
    assert [each.outcome for each in run["once"].attempts] == ["LOST"]
    assert living(witness) == []


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_is_left_when_the_scheduler_is_killed(tmp_path, database, number):
    forest(tmp_path, SLEEPERS.format(first=60, end=64) + """
    if __name__ == "__main__":
        import subprocess
        # Whoever the scheduler forked has a copy of all its sockets.
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
        ms.use(database=sys.argv[1])
        dag.run("2024-01-01", executor="process", progress=False)
    """)
    witness = tmp_path / "witness"
    child = subprocess.Popen(
        [sys.executable, str(tmp_path / "jobs.py"), str(database)], env=others.environment(),
        stderr=subprocess.DEVNULL,
    )
    try:
        tools.until(lambda: len(living(witness)) > 12)
        assert child.poll() is None
        mark = f"MAINSPRING_WORKER={child.pid}."
        assert len(tools.alive(mark)) >= 8  # workers and supervisors
        child.send_signal(number)
        child.wait(20)
        tools.until(lambda: living(witness) == [] and tools.alive(mark) == [], 15)
    finally:
        child.kill()


def test_nothing_is_left_when_scheduler_and_supervisors_are_killed(tmp_path, database):
    """Workers end with their supervisor; what is left of them falls to the next scheduler."""
    forest(tmp_path, SLEEPERS.format(first=70, end=73) + """
    if __name__ == "__main__":
        ms.use(database=sys.argv[1])
        dag.run("2024-01-01", executor="process", progress=False)
    """)
    witness = tmp_path / "witness"
    child = subprocess.Popen(
        [sys.executable, str(tmp_path / "jobs.py"), str(database)], env=others.environment())
    try:
        tools.until(lambda: len(living(witness)) > 9)
        mark = f"MAINSPRING_WORKER={child.pid}."
        supervisors = [
            pid for pid in tools.alive(mark)
            if b"_supervisor.py" in Path(f"/proc/{pid}/cmdline").read_bytes()
        ]
        assert len(supervisors) == 3
        os.kill(child.pid, signal.SIGSTOP)
        for pid in supervisors:
            os.kill(pid, signal.SIGKILL)
        child.kill()
        child.wait(20)
        assert living(witness) != []
        again = tools.tasks(tmp_path / "other", one="return 1")
        assert tools.run(again).state == "SUCCESS"
        tools.until(lambda: living(witness) == [] and tools.alive(mark) == [], 15)
    finally:
        child.kill()


def test_closing_leaves_no_process(tmp_path, database):
    from mainspring import _session

    run = tools.run(tools.tasks(tmp_path, one="return os.getpid()", two="return 2"))
    assert run.state == "SUCCESS"
    mark = f"MAINSPRING_WORKER={os.getpid()}."
    assert tools.alive(mark)
    _session.close(database)
    assert tools.alive(mark) == []


def test_a_shutdown_interrupts_and_leaves_nothing(tmp_path, database):
    from mainspring import _session

    dag, witness = forest(tmp_path, """
    with ms.Dag("jobs") as dag:
        @ms.task
        def one() -> None:
            note()
            grow(random.Random(3), 1)
            time.sleep(600)
    """)
    run = tools.run(dag, wait=False)
    tools.until(lambda: len(living(witness)) > 2)
    _session.close(database)
    assert living(witness) == []
    assert [each.outcome for each in ms.run(run.id)["one"].attempts] == ["INTERRUPTED"]


def test_a_log_that_cannot_be_written_fails_no_task(tmp_path, database):
    files = database.with_suffix(".files")
    files.mkdir(exist_ok=True)
    (files / "logs").write_text("in the way")
    run = tools.run(tools.tasks(tmp_path, one="print('hello'); return 1"))
    assert run.state == "SUCCESS"
    assert "hello" in run["one"].log
    assert "the log file could not be written" in run["one"].log
