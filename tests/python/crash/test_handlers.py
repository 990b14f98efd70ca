"""What handlers may do to us: each ends in a final state with a reason, and nobody is hurt."""

import builtins
import os
import sys
import threading
import time

import mainspring as ms
import pytest

from . import _tools as tools


class Mute(Exception):
    def __str__(self):
        raise RuntimeError("no words")

    __repr__ = __str__


def raising(make):
    def body():
        raise make()
    return body


def returning(make):
    def body():
        return make()
    return body


def run_one(body, **options):
    with ms.Dag("bad") as dag:
        def handler():
            return body()
        ms.task(**options)(handler)
        ms.task(healthy)
    began = time.monotonic()
    run = dag.run("2020-01-01")
    assert time.monotonic() - began < 20
    assert run["healthy"].result == 1
    assert tools.consistent(run.database) == []
    assert tools.leases(run.database) == []
    return run


def healthy() -> int:
    return 1


def cancelled():
    import asyncio

    return asyncio.CancelledError()


@pytest.mark.parametrize(("make", "kind"), [
    (SystemExit, "SystemExit"),
    (lambda: SystemExit(3), "SystemExit"),
    (KeyboardInterrupt, "KeyboardInterrupt"),
    (StopIteration, "StopIteration"),
    (StopAsyncIteration, "StopAsyncIteration"),
    (GeneratorExit, "GeneratorExit"),
    (cancelled, "CancelledError"),
    (Mute, "Mute"),
    (lambda: ValueError("x" * 10_000_000), "ValueError"),
    (lambda: getattr(builtins, "BaseExceptionGroup", lambda *_: ValueError("g"))(
        "g", [ValueError(1), KeyboardInterrupt()]), None),
    (lambda: ValueError("lone \ud800 surrogate"), "ValueError"),
    (lambda: ValueError("nul \0 inside"), "ValueError"),
    (RecursionError, "RecursionError"),
    (MemoryError, "MemoryError"),
    (lambda: ms.Fail("mine", code="MINE"), None),
    (lambda: ms.errors.AttemptTimeout(), None),
    (lambda: ms.errors.AttemptCanceled(), None),
    (lambda: __import__("sqlite3").OperationalError("database is locked"), "OperationalError"),
])
@pytest.mark.parametrize("coroutine", [False, True], ids=["function", "coroutine"])
def test_raises(make, kind, coroutine):
    body = raising(make)
    if coroutine:
        async def handler():
            body()
        with ms.Dag("bad") as dag:
            ms.task(handler)
            ms.task(healthy)
        run = dag.run("2020-01-01")
        assert run["healthy"].state == "SUCCESS"
    else:
        run = run_one(body)
    ran = run["handler"]
    assert ran.state == "FAILED", (ran, ran.error)
    assert len(ran.attempts) == 1
    attempt = ran.attempts[0]
    assert attempt.outcome == "FAILED"
    if kind and not (coroutine and kind == "StopIteration"):
        assert kind in (attempt.error_type or ""), attempt.error_type
    assert len(attempt.error or "") < 100_000
    assert len(attempt.traceback or "") < 200_000
    str(run)
    repr(run)
    run.explain("handler")
    with pytest.raises(ms.HandlerError):
        run.raise_for_failure()


def recursion():
    def deep():
        return deep()
    return deep()


def test_recurses_without_end():
    run = run_one(recursion)
    assert run["handler"].attempts[0].error_type.endswith("RecursionError")


def itself():
    found = []
    found.append(found)
    return found


def deep(levels):
    found = []
    for _ in range(levels):
        found = [found]
    return found


def deep_dict(levels):
    found = {}
    for _ in range(levels):
        found = {"a": found}
    return found


class Angry(dict):
    def items(self):
        raise RuntimeError("no")

    def __iter__(self):
        raise RuntimeError("no")


class Lying:
    def __class__(self):
        raise RuntimeError("no")

    def __getattr__(self, name):
        raise SystemExit(name)


@pytest.mark.parametrize("make", [
    lambda: "x" * 50_000_000,
    lambda: ["x" * 1000] * 50_000,
    lambda: float("nan"),
    lambda: {"deep": [1, float("inf")]},
    itself,
    lambda: "lone \ud800 surrogate",
    lambda: {"\ud800": 1},
    lambda: (each for each in range(3)),
    object,
    lambda: b"bytes",
    lambda: deep(10_000),
    lambda: deep_dict(10_000),
    lambda: 2**70,
    lambda: {1: 2},
    Lying,
], ids=["50MB", "50MB list", "nan", "inf", "itself", "surrogate", "surrogate key", "generator",
        "object", "bytes", "deep", "deep dict", "huge int", "int key", "lying"])
def test_returns_what_cannot_be_stored(make):
    ran = []

    def body():
        ran.append(1)
        return make()

    run = run_one(body, retries=3, retry_interval="1ms")
    attempt = run["handler"].attempts[0]
    assert run["handler"].state == "FAILED"
    assert attempt.error_code == "RESULT", attempt.error
    assert ran == [1]
    assert len(attempt.error) < 10_000
    assert "handler" in attempt.error


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="reads its size in /proc")
def test_memory_stays_bounded(tmp_path):
    """Returning far too much costs about what the author made, not many copies of it."""
    code = '''
import mainspring as ms
with ms.Dag("big") as dag:
    @ms.task
    def big():
        return ["x" * 1000] * 300_000   # 300 MB of JSON in 2.4 MB of memory
run = dag.run("2020-01-01")
assert run["big"].code == "RESULT", run["big"]
print(next(int(line.split()[1]) for line in open('/proc/self/status') if 'VmHWM' in line))
'''
    env = {"MAINSPRING_DATABASE": tmp_path / "base.db"}
    ended, out, err = tools.run(tmp_path, code, env=env)
    assert ended == 0, err
    assert int(out) < 250_000, out


@pytest.mark.parametrize("value", [
    {"nul": "a\0b"}, "", [], {}, 0, False, 2**63, -(2**63), "é" * 1000, deep(90),
    1e308, 5e-324, "\U0001f600",
])
def test_returns_what_can(value):
    run = run_one(lambda: value)
    assert run["handler"].result == value


def test_exits_the_process(tmp_path):
    """A handler runs in the caller: os._exit takes it along, and the run can be resumed."""
    code = '''
import os, sys, mainspring as ms
with ms.Dag("exits", defaults={"retry_interval": "1ms"}) as dag:
    @ms.task
    def first() -> int:
        return 1
    @ms.task
    def exits(number: int) -> int:
        if len(sys.argv) < 2:
            os._exit(7)
        return number + 1
    exits(first())
if len(sys.argv) < 2:
    dag.run("2020-01-01")
else:
    assert ms.run(1).state == "INTERRUPTED", ms.run(1)
    run = dag.resume(1)
    assert run.state == "SUCCESS", run
    assert [a.outcome for a in run["first"].attempts] == ["SUCCESS"]
    assert [a.outcome for a in run["exits"].attempts] == ["LOST", "SUCCESS"]
'''
    env = {"MAINSPRING_DATABASE": tmp_path / "base.db"}
    assert tools.run(tmp_path, code, env=env)[0] == 7
    assert tools.consistent(tmp_path / "base.db") == []
    ended, _, err = tools.run(tmp_path, code, "again", env=env)
    assert ended == 0, err
    assert tools.consistent(tmp_path / "base.db") == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_forks(tmp_path):
    """A child that a handler forks may do what it likes but use us; it gets a clear error."""
    code = '''
import os, warnings, mainspring as ms
warnings.simplefilter("ignore")
with ms.Dag("forks") as dag:
    @ms.task
    def forks() -> str:
        out, into = os.pipe()
        pid = os.fork()
        if pid == 0:
            said = "nothing"
            try:
                dag.run("2020-01-02")
            except BaseException as error:
                said = f"{type(error).__name__}: {error}"
            try:
                ms.runs()
                said += " and runs() works"
            except BaseException as error:
                said += " | " + type(error).__name__
            os.write(into, said.encode())
            os._exit(0)
        os.close(into)
        said = b""
        while part := os.read(out, 4096):
            said += part
        os.waitpid(pid, 0)
        return said.decode()
    @ms.task
    def after(said: str) -> str:
        return said
    after(forks())
run = dag.run("2020-01-01")
assert run.state == "SUCCESS", run
print(run.result("after"))
again = dag.run("2020-01-03")
assert again.state == "SUCCESS", again
'''
    ended, out, err = tools.run(tmp_path, code, env={"MAINSPRING_DATABASE": tmp_path / "base.db"})
    assert ended == 0, err
    assert "StoreError" in out and "forked" in out, out


def test_a_thread_that_outlives_its_handler():
    gate, seen = threading.Event(), []

    def body():
        print("before")

        def later():
            gate.wait(20)
            print("too late")
            seen.append(1)

        thread = threading.Thread(target=later)
        thread.start()
        seen.append(thread)
        return 1

    run = run_one(body)
    assert run["handler"].state == "SUCCESS"
    gate.set()
    seen[0].join(20)
    assert seen[1:] == [1]
    assert "before" in run.refresh()["handler"].log


def test_replaces_stdout(capsys):
    import io

    mine = io.StringIO()

    def body():
        sys.stdout = mine
        print("into mine")
        return 1

    before = sys.stdout
    try:
        run = run_one(body)
        assert run["handler"].state == "SUCCESS"
        assert mine.getvalue() == "into mine\n"
        sys.stdout = before
        again = run_one(lambda: print("as ever"))
        assert "as ever" in again["handler"].log
    finally:
        sys.stdout = before


def test_closes_stdout(tmp_path):
    code = '''
import sys, mainspring as ms
with ms.Dag("closes") as dag:
    @ms.task
    def closes() -> None:
        sys.stdout.close()
    @ms.task(depends_on=["closes"])
    def prints() -> None:
        print("hello")
run = dag.run("2020-01-01")
sys.stderr.write(run.state + " " + repr(run["prints"].log))
'''
    ended, _, err = tools.run(tmp_path, code, env={"MAINSPRING_DATABASE": tmp_path / "base.db"})
    assert ended == 0, err
    assert "SUCCESS" in err and "hello" in err, err


def test_a_dag_inside_a_task():
    """A task may run another dag, and wait for it, even when it holds the only slot."""
    with ms.Dag("inner") as inner:
        @ms.task
        def one() -> int:
            return 1

    with ms.Dag("outer") as outer:
        @ms.task
        def nested() -> int:
            run = inner.run("2020-01-01")
            run.raise_for_failure()
            return run.result("one") + 1

    run = outer.run("2020-01-01")
    assert run.state == "SUCCESS", (run, run["nested"].traceback)
    assert run.result("nested") == 2


def test_a_dag_inside_a_task_with_one_slot(tmp_path):
    code = '''
import mainspring as ms
with ms.Dag("inner") as inner:
    @ms.task
    def one() -> int:
        return 1
with ms.Dag("outer") as outer:
    @ms.task
    def nested() -> int:
        return inner.run("2020-01-01").raise_for_failure().result("one") + 1
run = outer.run("2020-01-01")
print(run.state, run["nested"].error)
'''
    env = {"MAINSPRING_DATABASE": tmp_path / "base.db", "MAINSPRING_SLOTS": 1}
    ended, out, err = tools.run(tmp_path, code, env=env, seconds=20)
    assert ended == 0, err
    # Waiting for a slot that it holds itself would be for ever: it is told so.
    assert out.startswith("SUCCESS") or "slot" in out, out


def test_a_dag_inside_a_coroutine():
    with ms.Dag("inner") as inner:
        @ms.task
        async def one() -> int:
            return 1

    with ms.Dag("outer") as outer:
        @ms.task
        async def nested() -> int:
            import asyncio

            run = await asyncio.to_thread(inner.run, "2020-01-01")
            return run.result("one") + 1

    run = outer.run("2020-01-01")
    assert run.state == "SUCCESS", (run, run["nested"].traceback)


def test_printing_while_streams_come_and_go(database):
    """print() holds sys.stdout without owning it: the stream in its place must outlive that."""
    dag = ms.Dag("brief")

    @dag.task
    def brief() -> None:
        pass

    done = threading.Event()

    def chatter():
        while not done.is_set():
            print("." * 50, file=None)

    # Many switches between the threads, so that one falls into the middle of a print.
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    thread = threading.Thread(target=chatter)
    thread.start()
    try:
        for _ in range(200):
            assert dag.run("2020-01-01").state == "SUCCESS"
    finally:
        done.set()
        thread.join()
        sys.setswitchinterval(interval)
