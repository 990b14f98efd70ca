"""Ends of processes, forks, threads, event loops: wherever a run is started from."""

import asyncio
import os
import threading

import mainspring as ms
import pytest

from . import _tools as tools

ENDS = '''
import os, sys, threading, time, mainspring as ms
how = sys.argv[1]
with ms.Dag("left") as dag:
    @ms.task
    def busy():
        end = time.monotonic() + 30
        while time.monotonic() < end:
            time.sleep(0.001)
    @ms.task
    def native():
        time.sleep(30)
    @ms.task
    async def coroutine():
        import asyncio
        await asyncio.sleep(30)
    @ms.task
    def quick() -> int:
        return 1
    @ms.task(depends_on=["quick"])
    def next_one() -> int:
        return 1
    many = []
    for number in range(200):
        def short():
            time.sleep(0.002)
        short.__name__ = f"short{number}"
        many.append(ms.task(short))
only = {"busy": ["busy"], "native": ["native"], "coroutine": ["coroutine"],
        "many": [each.name for each in many], "all": None}[how]
dag.run("2020-01-01", only=only, wait=False)
if len(sys.argv) > 2:
    time.sleep(float(sys.argv[2]))
print("end of script")
sys.exit(5)
'''


@pytest.mark.parametrize("how", ["busy", "native", "coroutine", "many", "all"])
@pytest.mark.parametrize("after", [0, 0.05])
def test_a_script_ends_without_waiting(tmp_path, how, after):
    base = tmp_path / "base.db"
    code, out, err = tools.run(tmp_path, ENDS, how, after, env={"MAINSPRING_DATABASE": base},
                               seconds=20)
    assert code == 5, (out, err)
    assert out == "end of script\n"
    assert err == "", err
    assert tools.consistent(base) == []
    run = ms.run(1, database=base)
    assert run.state in ("INTERRUPTED", *(["SUCCESS"] if how == "many" else [])), run
    ms._session.close(base)


def test_ends_at_every_moment(tmp_path):
    """Short handlers are coming and going while the interpreter goes down."""
    base = tmp_path / "base.db"
    for number in range(12):
        code, out, err = tools.run(tmp_path, ENDS, "many", number * 0.004, seconds=20,
                                   env={"MAINSPRING_DATABASE": base})
        assert (code, out, err) == (5, "end of script\n", ""), number
    assert tools.consistent(base) == []


RAISES = ENDS.replace("sys.exit(5)", "raise RuntimeError('the script fails')")


def test_a_script_that_fails(tmp_path):
    code, _, err = tools.run(tmp_path, RAISES, "all", 0.02, seconds=20,
                             env={"MAINSPRING_DATABASE": tmp_path / "base.db"})
    assert code == 1
    assert err.rstrip().endswith("RuntimeError: the script fails"), err
    assert err.count("Traceback") == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_fork_after_a_session_was_opened(tmp_path):
    code = '''
import multiprocessing, os, sys, warnings, mainspring as ms
warnings.simplefilter("ignore")
dag = ms.Dag.from_graph("abc", ["a", "b"], [("a", "b")])
run = dag.run("2020-01-01")

def child(queue):
    said = []
    for attempt in (lambda: dag.run("2020-01-02"), lambda: ms.runs(), lambda: run.refresh().state,
                    lambda: run.wait(), lambda: run.cancel()):
        try:
            said.append(repr(attempt()))
        except ms.MainspringError as error:
            said.append(f"{type(error).__name__}: {error}")
    queue.put(said)

context = multiprocessing.get_context("fork")
queue = context.Queue()
process = context.Process(target=child, args=(queue,))
process.start()
said = queue.get(timeout=20)
process.join(20)
assert process.exitcode == 0, process.exitcode
for each in said:
    print(each.splitlines()[0])
assert dag.run("2020-01-03").state == "SUCCESS"
'''
    ended, out, err = tools.run(tmp_path, code, seconds=30,
                                env={"MAINSPRING_DATABASE": tmp_path / "base.db"})
    assert ended == 0, (out, err)
    assert out.count("forked") == 5, out


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_fork_with_a_live_run(tmp_path):
    """The child ends by itself; the parent's run is not disturbed."""
    code = '''
import os, sys, time, threading, warnings, mainspring as ms
warnings.simplefilter("ignore")
gate = threading.Event()
with ms.Dag("live") as dag:
    @ms.task
    def waits() -> int:
        gate.wait(20)
        return 1
    @ms.task
    def follows(number: int) -> int:
        return number + 1
    follows(waits())
run = dag.run("2020-01-01", wait=False)
pid = os.fork()
if pid == 0:
    sys.exit(9)          # runs the exit handlers of Python, ours included
_, status = os.waitpid(pid, 0)
assert os.waitstatus_to_exitcode(status) == 9, status
gate.set()
assert run.wait(20)
assert run.result("follows") == 2
print("good")
'''
    base = tmp_path / "base.db"
    ended, out, err = tools.run(tmp_path, code, seconds=30, env={"MAINSPRING_DATABASE": base})
    assert (ended, out) == (0, "good\n"), err
    assert tools.consistent(base) == []


def test_eight_threads(database):
    with ms.Dag("shared") as dag:
        @ms.task
        def one(biz_date) -> str:
            return str(biz_date)

        @ms.task
        def two(text: str) -> str:
            return text + "!"
        two(one())

    others = [ms.Dag.from_graph(f"own{number}", ["a", "b"], [("a", "b")]) for number in range(8)]
    wrong, results = [], []
    together = threading.Barrier(8)

    def work(number):
        try:
            together.wait(20)
            for day in range(1, 6):
                run = dag.run(f"2020-01-{day:02}")
                results.append(run.result("two"))
                assert run.result("two") == f"2020-01-{day:02}!"
                assert others[number].run("2020-01-01").state == "SUCCESS"
        except BaseException as error:  # noqa: BLE001 - told to the main thread
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive(), "hangs"
    assert not wrong, wrong
    assert len(results) == 40
    assert tools.consistent(database) == []


def test_inside_an_event_loop(database):
    with ms.Dag("looped") as dag:
        @ms.task
        async def one() -> int:
            await asyncio.sleep(0.001)
            return 1

        @ms.task
        def two(number: int) -> int:
            return number + 1
        two(one())

    async def main():
        here = dag.run("2020-01-01")            # as a notebook cell does
        aside = await asyncio.gather(*(asyncio.to_thread(dag.run, "2020-01-02") for _ in range(3)))
        return [here, *aside]

    for run in asyncio.run(main()):
        assert run.result("two") == 2


def test_a_coroutine_that_runs_a_dag_with_coroutines(tmp_path):
    """On the loop of the handlers itself nobody may wait for a handler: a clear error, no hang."""
    code = '''
import mainspring as ms
with ms.Dag("inner") as inner:
    @ms.task
    async def one() -> int:
        return 1
with ms.Dag("outer") as outer:
    @ms.task
    async def nested() -> int:
        return inner.run("2020-01-01").result("one")
run = outer.run("2020-01-01")
print(run.state, run["nested"].error)
'''
    base = tmp_path / "base.db"
    ended, out, err = tools.run(tmp_path, code, seconds=20, env={"MAINSPRING_DATABASE": base})
    assert ended == 0, err
    assert out.startswith("SUCCESS") or "to_thread" in out, out
    assert tools.consistent(base) == []


def test_many_sessions_one_after_another(tmp_path):
    """Threads, files and locks of a session that was closed are gone."""
    def counts():
        return threading.active_count(), len(os.listdir("/proc/self/fd"))

    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("counts open files in /proc")

    def once(number):
        base = tmp_path / f"{number}.db"
        run = ms.Dag.from_graph("abc", ["a"], database=base).run("2020-01-01")
        assert run.state == "SUCCESS"
        ms._session.close(base)

    once(0)
    before, native = counts(), len(os.listdir("/proc/self/task"))
    for number in range(1, 20):
        once(number)
    assert counts()[1] <= before[1] + 2
    assert len(os.listdir("/proc/self/task")) <= native + 2


def test_a_run_in_pytest_with_output_captured(capsys):
    with ms.Dag("prints") as dag:
        @ms.task
        def says() -> None:
            print("inside")

    print("outside")
    run = dag.run("2020-01-01")
    assert capsys.readouterr().out == "outside\n"
    assert "inside" in run["says"].log


LATE = '''
import os, random, signal, sys, threading, time, mainspring as ms
dice = random.Random(int(sys.argv[1]))
dag = ms.Dag("late")
for number in range(30):
    pause = dice.uniform(0.85, 1.3)
    exec(f"def t{number}(): began.append(1); time.sleep({pause})")
    dag.task(globals()[f"t{number}"])

def press():
    while len(began) < 30:
        time.sleep(0.005)
    os.kill(os.getpid(), signal.SIGINT)

began = []
threading.Thread(target=press).start()
try:
    dag.run("2020-01-01")
except KeyboardInterrupt:
    print("interrupted", flush=True)
'''


@pytest.mark.skipif(os.name != "posix", reason="sends a signal to itself")
def test_native_calls_return_while_the_interpreter_ends(tmp_path):
    """Handlers that were given up come back just as the process goes: no abort, no hang."""
    children = []
    for seed in range(12):
        env = {"MAINSPRING_DATABASE": tmp_path / f"{seed}.db"}
        children.append(tools.start(tmp_path, LATE, seed, name="late.py", env=env))
        if len(children) % 4 == 0:
            for child in children[-4:]:
                code, out, err = tools.finish(child, 30)
                assert (code, out, err) == (0, "interrupted\n", ""), seed
