"""What handlers may do: raise anything, return anything, be coroutines, print (A14, A16)."""

import asyncio
import contextlib
import io
import logging
import sqlite3
import sys
import threading
import time
import types
from datetime import datetime
from decimal import Decimal

import mainspring as ms
import pytest
from mainspring import _capture


class Mute(Exception):
    def __str__(self):
        raise RuntimeError("no words")


def one(function, **options):
    with ms.Dag("d") as dag:
        ms.task(name="a", **options)(function)
    return dag.run("2013-01-15")["a"]


RAISED = [
    sqlite3.OperationalError("database is locked"),
    asyncio.CancelledError(),
    StopIteration(3),
    GeneratorExit(),
    SystemExit(3),
    KeyboardInterrupt(),
    Mute(),
    ValueError("\ud800"),
    BaseException("base"),
    ms.StoreError("not ours"),
]


@pytest.mark.parametrize("error", RAISED, ids=lambda error: type(error).__name__)
def test_whatever_is_raised_ends_after_one_attempt(error):
    def fail():
        raise error

    began = time.monotonic()
    ran = one(fail, max_attempts=1)
    assert time.monotonic() - began < 5
    assert ran.state == "FAILED"
    assert len(ran.attempts) == 1
    assert ran.exception is error
    assert ran.code == ("EXIT_3" if isinstance(error, SystemExit) else type(error).__name__)


@pytest.mark.parametrize("error", RAISED, ids=lambda error: type(error).__name__)
def test_whatever_a_coroutine_raises_ends_after_one_attempt(error):
    async def fail():
        raise error

    ran = one(fail, max_attempts=1)
    assert ran.state == "FAILED"
    assert len(ran.attempts) == 1
    async def fine():
        return 1

    assert one(fine).result == 1


def loop():
    value = []
    value.append(value)
    return value


@pytest.mark.parametrize(
    "make",
    [lambda: b"x", lambda: float("nan"), loop, lambda: (i for i in [1]), object,
     lambda: "\ud800", lambda: {1: 2}, lambda: ["x" * 1024] * 50_000, lambda: 2**70],
    ids=["bytes", "nan", "loop", "generator", "object", "surrogate", "keys", "50 MB", "huge"],
)
def test_work_is_done_once_when_its_result_cannot_be_stored(make):
    rows = []

    def insert():
        rows.append(1)
        return make()

    ran = one(insert, retries=3, retry_interval="1ms")
    assert (ran.state, ran.code) == ("FAILED", "RESULT")
    assert len(rows) == 1
    assert "cannot be stored" in ran.error


def like(name, module, base=object, **members):
    """An object of a class that a library would have; the library is not needed."""
    return type(name, (base,), {"__module__": module, **members})


@pytest.mark.parametrize(
    ("make", "stored"),
    [
        (lambda: b"x", None),
        (lambda: (1, "a"), [1, "a"]),
        (lambda: {3, 1, 2}, [1, 2, 3]),
        (lambda: like("Timestamp", "pandas", datetime, nanosecond=5)(2013, 1, 15), None),
        (lambda: Decimal("1.10"), "1.10"),
        (lambda: float("nan"), None),
        (lambda: like("int64", "numpy", shape=(), item=lambda self: 7)(), 7),
        (lambda: like("Model", "app", model_dump=lambda self, mode: {"a": 1})(), {"a": 1}),
        (loop, None),
        (lambda: (i for i in [1]), None),
        (lambda: ["x" * 1024] * 50_000, None),
        (object, None),
    ],
    ids=["bytes", "tuple", "set", "datetime with ns", "Decimal", "nan", "numpy int64", "pydantic",
         "self-referencing list", "generator", "50 MB list", "object()"],
)
def test_the_work_is_never_repeated_because_of_its_result(make, stored, monkeypatch):
    """A14: A inserts one row and returns X, B reads it."""
    monkeypatch.setitem(sys.modules, "pydantic", types.ModuleType("pydantic"))
    rows, read = [], []
    with ms.Dag("d") as dag:

        @ms.task(retries=3, retry_interval="1ms")
        def a():
            rows.append(1)
            return make()

        @ms.task
        def b(x):
            read.append(x)

        b(a())

    began = time.monotonic()
    run = dag.run("2013-01-15")
    assert time.monotonic() - began < 20
    assert len(rows) == 1
    if stored is None:
        assert (run["a"].state, run["a"].code, run["b"].state) == ("FAILED", "RESULT", "BLOCKED")
        assert len(run["a"].attempts) == 1
        assert "cannot be stored" in run["a"].error
    else:
        assert run.state == "SUCCESS", run["a"].error
        assert read == [stored]


def test_coroutines():
    with ms.Dag("d") as dag:

        @ms.task
        async def one():
            await asyncio.sleep(0)
            return ms.context().task

        @ms.task
        async def two(name, ctx):
            return [name, ctx.task]

        two(one())

    assert dag.run("2013-01-15").result("two") == ["one", "two"]


def test_coroutines_run_side_by_side():
    # Each waits for the other: one after the other this would never end.
    events = [asyncio.Event(), asyncio.Event()]
    with ms.Dag("d") as dag:

        @ms.task
        async def a():
            events[0].set()
            await events[1].wait()

        @ms.task
        async def b():
            events[1].set()
            await events[0].wait()

    assert dag.run("2013-01-15").state == "SUCCESS"


def test_coroutines_are_canceled():
    started = threading.Event()
    with ms.Dag("d") as dag:

        @ms.task
        async def wait():
            started.set()
            await asyncio.sleep(60)

    run = dag.run("2013-01-15", wait=False)
    assert started.wait(10)
    run.cancel()
    assert run.wait(10)
    assert run.state == "CANCELED"


def test_coroutine_timeout():
    async def wait():
        await asyncio.sleep(60)

    assert one(wait, timeout="50ms").state == "TIMEOUT"


def test_plain_wrappers_around_coroutines():
    async def inner():
        return 5

    def wrapper():
        return inner()

    assert one(wrapper).result == 5


def test_with_a_running_event_loop():
    async def cell():
        return one(lambda: 3).result

    assert asyncio.run(cell()) == 3


def test_a_run_inside_a_run():
    inner = ms.Dag.from_graph("inner", ["x"])
    assert one(lambda: inner.run("2013-01-15").state).result == "SUCCESS"


def test_context():
    def look(ctx):
        here = ms.context()
        assert isinstance(ctx, ms.Context)
        assert here.token == ctx.token >= 1
        return [here.run_id, here.dag, here.task, here.attempt, str(here.biz_date), here.timezone,
                here.params, repr(here)]

    assert one(look).result == [
        1, "d", "a", 1, "2013-01-15", "UTC", {},
        "Context(run_id=1, task='d.a', attempt=1, biz_date='2013-01-15')",
    ]
    with pytest.raises(RuntimeError, match="no attempt here"):
        ms.context()


def test_output_goes_to_the_log_of_the_attempt(capsys):
    def talk(ctx):
        print("to out")
        print("to err", file=sys.stderr)
        logging.getLogger("author").warning("to log")
        ctx.logger.info("by the context")
        with contextlib.redirect_stdout(None):
            print("nowhere")

    before = sys.stdout, sys.stderr, list(logging.root.handlers)
    log = one(talk).log
    for words in ("to out\n", "to err\n", "WARNING author: to log", "INFO mainspring.task.d.a: by"):
        assert words in log
    assert "nowhere" not in log
    assert capsys.readouterr().out == ""
    # Handlers of other tests that never end keep the streams; what they began, they give back.
    if not _capture._active:
        assert (sys.stdout, sys.stderr, list(logging.root.handlers)) == before


def test_output_of_others_stays_theirs(capsys):
    started, go = threading.Event(), threading.Event()
    with ms.Dag("d") as dag:

        @ms.task
        def a():
            print("of the task")
            started.set()
            go.wait(10)

    run = dag.run("2013-01-15", wait=False)
    assert started.wait(10)
    print("of the test")
    go.set()
    run.wait(10)
    assert run["a"].log == "of the task\n"
    assert capsys.readouterr().out == "of the test\n"


def test_output_of_two_tasks_is_kept_apart():
    both = threading.Barrier(2, timeout=10)
    with ms.Dag("d") as dag:

        @ms.task
        def a():
            both.wait()
            print("a")
            both.wait()

        @ms.task
        async def b():
            await asyncio.to_thread(both.wait)
            print("b")
            await asyncio.to_thread(both.wait)

    run = dag.run("2013-01-15")
    assert (run["a"].log, run["b"].log) == ("a\n", "b\n")


def test_prints_of_surrogates_and_bytes():
    def talk():
        print("a\ud800b")
        with pytest.raises(TypeError):
            sys.stdout.write(b"x")

    ran = one(talk)
    assert ran.state == "SUCCESS", ran.error
    assert ran.log.startswith("a")


def test_output_is_kept_while_another_handler_hangs(monkeypatch):
    hanging = object()
    _capture.install(hanging)
    try:
        monkeypatch.setattr("sys.stdout", io.StringIO())  # as pytest and notebooks do
        with ms.Dag("letters") as dag:

            @ms.task
            def greet() -> None:
                print("good morning")

        assert dag.run("2013-01-15")["greet"].log == "good morning\n"
    finally:
        monkeypatch.undo()
        _capture.uninstall(hanging)
