"""What nasty handlers do: each is one clear outcome of one attempt, and the rest goes on."""

import os
import signal

import mainspring as ms
import pytest

from . import _tools as tools

ENDS = {
    # How it ends: what it does, (state, code, exit code, signal).
    "returns": ("return 7", ("SUCCESS", None, None, None)),
    "raises": ("raise ValueError('no such day')", ("FAILED", "ValueError", None, None)),
    "leaves": ("sys.exit(3)", ("FAILED", "EXIT_3", None, None)),
    "exits_0": ("os._exit(0)", ("FAILED", "EXIT_0", 0, None)),
    "exits_5": ("os._exit(5)", ("FAILED", "EXIT_5", 5, None)),
    "segfaults": ("import ctypes; ctypes.string_at(0)", ("FAILED", "SIGNAL_11", None, 11)),
    "aborts": ("os.abort()", ("FAILED", "SIGNAL_6", None, 6)),
    "is_killed": ("os.kill(os.getpid(), 9)", ("FAILED", "SIGNAL_9", None, 9)),
    "is_terminated": (
        "import signal; signal.signal(15, signal.SIG_DFL); os.kill(os.getpid(), 15); time.sleep(60)",
        ("FAILED", "SIGNAL_15", None, 15),
    ),
    "has_no_memory": (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (2**29, 2**29)); bytearray(2**30)",
        ("FAILED", "MemoryError", None, None),
    ),
    "returns_nonsense": ("return object()", ("FAILED", "RESULT", None, None)),
    "recurses": ("def f(): f()\nf()", ("FAILED", "RecursionError", None, None)),
    "cuts_the_line": ("os.closerange(3, 4096); return 1", ("FAILED", "WORKER", None, None)),
}


def test_each_end_is_one_clear_outcome_and_the_rest_goes_on(tmp_path, database):
    dag = tools.tasks(tmp_path, **{name: body for name, (body, _) in ENDS.items()})
    run = tools.run(dag)
    rows = {row["task"]: row for row in ms.sql(
        "SELECT t.name AS task, a.* FROM attempt a JOIN task_run r ON r.id = a.task_run_id "
        "JOIN task t ON t.id = r.task_id")}
    for name, (_, (state, code, exit_code, number)) in ENDS.items():
        row = rows[name]
        assert (run[name].state, row["error_code"]) == (state, code), (name, row)
        if code != "WORKER":
            assert (row["exit_code"], row["signal"]) == (exit_code, number), name
        assert row["pid"] not in (None, os.getpid())
        assert row["duration_ms"] >= 0 and row["cpu_ms"] >= 0, row
        assert 5_000 < row["max_rss_kb"] < 4_000_000, row
        assert row["attempt_no"] == 1
    assert "no such day" in rows["raises"]["error"]
    assert "jobs.py" in rows["raises"]["traceback"]
    assert "SIGSEGV" in rows["segfaults"]["error"]


def test_exit_codes_and_signals_are_tried_again_where_they_are_named(tmp_path, database):
    dag = tools.dag_of(tmp_path, """
        def once(end):
            if ms.context().attempt == 1:
                end()
            return ms.context().attempt

        def again(*codes):
            return {"retries": 2, "retry_interval": 0, "retry_on": [*codes]}

        with ms.Dag("jobs") as dag:
            @ms.task(**again("EXIT_3"))
            def leaves():
                return once(lambda: os._exit(3))

            @ms.task(**again("EXIT_4"))
            def leaves_otherwise():
                return once(lambda: os._exit(3))

            @ms.task(**again("SIGNAL_9"))
            def is_killed():
                return once(lambda: os.kill(os.getpid(), 9))

            @ms.task(**again("EXIT_3"))
            def is_killed_otherwise():
                return once(lambda: os.kill(os.getpid(), 9))

            leaves(); leaves_otherwise(); is_killed(); is_killed_otherwise()
    """)
    run = tools.run(dag)
    seen = {task.task: (task.state, len(task.attempts)) for task in run.tasks}
    assert seen == {"leaves": ("SUCCESS", 2), "leaves_otherwise": ("FAILED", 1),
                    "is_killed": ("SUCCESS", 2), "is_killed_otherwise": ("FAILED", 1)}


def test_what_a_handler_changes_of_its_process_is_put_back(tmp_path, database):
    gone = tmp_path / "gone"
    gone.mkdir()
    dag = tools.dag_of(tmp_path, """
        import signal, threading, logging
        first = {}

        def look():
            return {
                "cwd": os.getcwd(), "env": sorted(os.environ.items()), "umask": mask(),
                "term": repr(signal.getsignal(15)), "alarm": signal.getitimer(signal.ITIMER_REAL)[0],
                "out": sys.stdout is sys.__stdout__, "pid": os.getpid(),
                "mask": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])),
            }

        def mask():
            now = os.umask(0o77); os.umask(now); return now

        with ms.Dag("jobs") as dag:
            @ms.task
            def before() -> dict:
                return look()

            @ms.task
            def changes(_before: dict) -> int:
                os.chdir("/"); os.environ["NEW"] = "1"; os.environ.pop("PATH"); os.umask(0)
                signal.signal(15, signal.SIG_IGN); signal.signal(10, lambda *_: None)
                signal.setitimer(signal.ITIMER_REAL, 1000)
                signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])
                sys.stdout = open(os.devnull, "w"); os.dup2(2, 1)
                return os.getpid()

            @ms.task
            def after(_changes: int) -> dict:
                print("still here")
                return look()

            after(changes(before()))
    """)
    run = tools.run(dag)
    assert run.state == "SUCCESS", run.raise_for_failure()
    before, after = run.result("before"), run.result("after")
    for each in (before, after):
        each["env"] = [item for item in each["env"] if item[0] != "MAINSPRING_ATTEMPT"]
    assert after == before
    assert run["after"].log == "still here\n"


@pytest.mark.parametrize("does, why", [
    ("import threading; threading.Thread(target=time.sleep, args=(600,), name='idler').start()",
     "idler"),
    ("sys.stdout.close()", "closed a standard stream"),
    ("import subprocess; subprocess.Popen(['sleep', '600'])", "processes"),
    ("os.fork() or time.sleep(600)", "processes"),
    ("import tempfile; d = tempfile.mkdtemp(); os.chdir(d); os.rmdir(d)", None),
])
def test_a_worker_that_cannot_be_put_right_is_replaced(tmp_path, database, does, why):
    dag = tools.dag_of(tmp_path, f"""
        with ms.Dag("jobs") as dag:
            @ms.task
            def first() -> int:
                {does}
                return os.getpid()

            @ms.task
            def second(other: int) -> bool:
                return other == os.getpid()

            second(first())
    """)
    run = tools.run(dag)
    assert run.state == "SUCCESS", run["first"].error
    assert run.result("second") is (why is None)
    if why is not None:
        assert why in run["first"].log


def test_forked_children_of_a_handler_report_nothing(tmp_path, database):
    """A handler that forks, and returns in both: the child is none of ours."""
    dag = tools.tasks(
        tmp_path,
        returns_twice="pid = os.fork()\nif pid: os.waitpid(pid, 0)\nreturn pid",
        raises_in_the_child="pid = os.fork()\nif not pid: raise ValueError('child')\n"
                            "return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])",
        pool="import multiprocessing as m\nwith m.get_context('fork').Pool(2) as p:\n"
             "    return p.map(abs, [-1, -2])",
    )
    run = tools.run(dag)
    assert run.state == "SUCCESS", [each.error for each in run]
    assert run.result("returns_twice") > 0
    assert run.result("raises_in_the_child") == 1
    assert run.result("pool") == [1, 2]
    assert "ValueError: child" in run["raises_in_the_child"].log


def test_coroutines_contexts_and_inputs_are_as_in_the_calling_process(tmp_path, database):
    dag = tools.dag_of(tmp_path, """
        import asyncio, datetime, logging

        with ms.Dag("jobs") as dag:
            @ms.task
            async def one(biz_date: datetime.date, size: int = 3) -> list:
                await asyncio.sleep(0)
                return [biz_date.isoformat(), size]

            @ms.task
            def two(got: list, ctx) -> dict:
                logging.getLogger("mine").warning("took %s", got)
                ctx.logger.info("attempt %d", ms.context().attempt)
                return {"got": got, "task": ctx.task, "dag": ctx.dag, "run": ctx.run_id}

            @ms.task
            def large(_two: dict) -> str:
                return "x" * 300_000

            @ms.task
            def three(text: str) -> int:
                return len(text)

            three(large(two(one())))
    """)
    run = tools.run(dag, params={"size": 5})
    assert run.state == "SUCCESS", [each.error for each in run]
    two = run.result("two")
    assert two["got"] == ["2024-01-01", 5]
    assert (two["task"], two["dag"], two["run"]) == ("two", "jobs", run.id)
    assert run.result("three") == 300_000
    assert "WARNING mine: took ['2024-01-01', 5]" in run["two"].log
    assert "attempt 1" in run["two"].log


def test_a_file_that_does_not_import_is_an_outcome_and_the_worker_goes_on(tmp_path, database):
    sick = tools.dag_of(tmp_path, """
        if os.environ.get("SICK"):
            import a_module_that_nobody_has
        with ms.Dag("jobs") as dag:
            @ms.task
            def one() -> int:
                return os.getpid()
    """)
    first = tools.run(sick)
    (tmp_path / "jobs.py").write_text("import a_module_that_nobody_has\n")
    second = tools.run(sick)
    assert second["one"].state == "FAILED"
    assert second["one"].attempts[0].error_code == "IMPORT"
    assert "a_module_that_nobody_has" in second["one"].error
    assert first.state == "SUCCESS"


def test_a_file_that_changed_after_the_run_was_made_is_refused(tmp_path, database):
    """A worker that has it goes on with it; another one would run something else."""
    dag = tools.dag_of(tmp_path, """
        import threading

        with ms.Dag("jobs") as dag:
            @ms.task
            def one() -> None:
                with open(__file__, "a") as file:
                    file.write("# changed\\n")

            @ms.task
            def two() -> None:
                threading.Thread(target=time.sleep, args=(600,)).start()

            @ms.task
            def three() -> None:
                pass

            one() >> two() >> three()
    """)
    run = tools.run(dag)
    assert run["two"].state == "SUCCESS"
    assert run["three"].attempts[0].error_code == "IMPORT"
    assert "has changed since this run was made" in run["three"].error


def test_a_dag_in_no_file_is_refused(database):
    with ms.Dag("loose") as dag:
        ms.task(lambda: 1, name="one")()
    dag.nodes()[0].task.__module__ = "__nowhere__"
    with pytest.raises(ms.errors.SpecError, match="is in no file"):
        dag.run("2024-01-01", executor="process")
    with pytest.raises(ValueError, match="no executor 'docker'"):
        dag.run("2024-01-01", executor="docker")


def test_output_is_kept_to_the_byte_and_bounded(tmp_path, database):
    dag = tools.tasks(
        tmp_path,
        bytes_="os.write(1, b'\\xff\\xfe caf\\xc3'); os.write(1, b'\\xa9 \\x00 end\\n')",
        bars="for i in range(101): print(i, end='%\\r', flush=True)\nprint()",
        colours="print('\\x1b[31mred\\x1b[0m')",
        both="print('to out'); print('to err', file=sys.stderr); os.system('echo from sh >&2')",
        much="line = b'x' * 1023 + b'\\n'\nfor _ in range(100 * 1024): os.write(1, line)",
        endless="os.write(1, b'y' * 1_000_000)",
    )
    run = tools.run(dag)
    assert run.state == "SUCCESS", [each.error for each in run]
    assert run["bytes_"].log == "\\xff\\xfe café \\x00 end\n"
    assert run["bars"].log == "100%\n"
    assert run["colours"].log == "\x1b[31mred\x1b[0m\n"
    assert sorted(run["both"].log.splitlines()) == ["from sh", "to err", "to out"]
    assert run["endless"].log.replace("\n", "") == "y" * 1_000_000
    row = ms.sql("SELECT a.log_uri, a.log_tail FROM attempt a WHERE a.log_tail LIKE '%left out%'")
    assert len(row) == 1
    size = os.path.getsize(row[0]["log_uri"])
    assert 64 * 2**20 <= size < 66 * 2**20
    # 100 MiB were printed; stamped lines of 1,053 bytes fill 64 MiB, the others are counted.
    with open(row[0]["log_uri"], "rb") as file:
        kept = sum(1 for line in file if line.endswith(b"x\n"))
    assert f"mainspring: {(100 * 1024 - kept) * 1024} more bytes" in row[0]["log_tail"]
    found = ms.sql("SELECT log_uri FROM attempt WHERE log_tail LIKE '%to err%'")
    with open(found[0]["log_uri"], encoding="utf-8") as file:
        assert sorted(line.split(" ")[1] for line in file) == ["E", "E", "O"]


def test_the_output_of_one_attempt_is_not_anothers(tmp_path, database):
    """Many attempts in few workers, each with its own words through every way there is."""
    text = "import subprocess\nwith ms.Dag('jobs') as dag:\n"
    for i in range(60):
        text += (
            f"    @ms.task\n    def t{i}():\n"
            f"        print('py {i}'); sys.stdout.write('rest {i}')\n"
            f"        os.write(1, b'raw {i}\\n')\n"
            + (f"        os.system('echo sh {i}')\n" if i % 10 == 0 else "")
        )
    run = tools.run(tools.dag_of(tmp_path, text))
    assert run.state == "SUCCESS"
    for i in range(60):
        words = run[f"t{i}"].log.replace("\n", " ").split()
        numbers = {word for word in words if word[-1].isdigit()}
        assert {number.lstrip("raw") for number in numbers} == {str(i)}, run[f"t{i}"].log
        assert "rest" in run[f"t{i}"].log


def test_a_worker_that_cannot_be_started_is_said(tmp_path, database, monkeypatch):
    from mainspring import _processes

    dag = tools.tasks(tmp_path, one="return 1")
    right = _processes.commands

    def wrong():
        supervisor, worker = right()
        return supervisor, [str(tmp_path / "python-that-is-gone"), *worker[1:]]

    monkeypatch.setattr(_processes, "commands", wrong)
    run = tools.run(dag)
    assert run["one"].attempts[0].error_code == "WORKER"
    assert "python-that-is-gone" in run["one"].error


def test_workers_are_replaced_after_so_many_attempts(tmp_path, database):
    dag = tools.dag_of(tmp_path, """
        with ms.Dag("jobs") as dag:
            last = None
            for i in range(10):
                @ms.task(name=f"t{i}")
                def one(_other: int = 0) -> int:
                    return os.getpid()
                last = one(last) if last is not None else one()
    """)
    from mainspring._processes import commands
    from mainspring._session import session

    here = session(None)
    here.core.use_processes(*commands(), workers=1, max_attempts=3)
    run = tools.run(dag)
    assert run.state == "SUCCESS"
    pids = [run.result(f"t{i}") for i in range(10)]
    assert [len(set(pids[at:at + 3])) for at in (0, 3, 6)] == [1, 1, 1]
    assert len(set(pids)) == 4


def test_a_worker_that_has_grown_is_replaced(tmp_path, database):
    dag = tools.dag_of(tmp_path, """
        kept = []
        with ms.Dag("jobs") as dag:
            @ms.task
            def grows() -> int:
                kept.append(bytearray(os.urandom(1) * 200_000_000))
                return os.getpid()
            @ms.task
            def after(other: int) -> bool:
                return other == os.getpid()
            after(grows())
    """)
    from mainspring._processes import commands
    from mainspring._session import session

    session(None).core.use_processes(*commands(), workers=1, max_rss_kb=150_000)
    run = tools.run(dag)
    assert run.result("after") is False
    assert run["grows"].state == "SUCCESS"


def test_signals_to_the_supervisor_do_not_end_it(tmp_path, database):
    """As a service manager does that stops all processes of a unit at once."""
    dag = tools.tasks(tmp_path, one=f"os.kill(os.getppid(), {int(signal.SIGTERM)}); return 1",
                      two="os.kill(os.getpid(), 15); return 2")
    run = tools.run(dag)
    assert run.state == "SUCCESS"
    assert run.result("two") == 2
