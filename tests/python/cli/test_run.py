"""run, runs, logs, rerun and db: what is done and what is remembered."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from mainspring.cli import db_verify, main

from .conftest import Project, wait_for
from .test_check import FLIGHTS

FRAGILE = """
    from pathlib import Path
    import mainspring as ms

    HERE = Path(__file__).parent

    with ms.Dag("fragile") as dag:

        @ms.task
        def first() -> int:
            with (HERE / "first.log").open("a") as file:
                file.write("ran\\n")
            print("hello from first")
            return 1

        @ms.task
        def second(n: int) -> int:
            if not (HERE / "repaired").exists():
                raise ValueError("not yet \\x1b[31mrepaired")
            return n + 1

        @ms.task
        def third(n: int) -> int:
            return n + 1

        third(second(first()))
"""

SLEEPER = """
    import time
    from pathlib import Path
    import mainspring as ms

    HERE = Path(__file__).parent

    with ms.Dag("sleeper") as dag:

        @ms.task
        def before() -> int:
            with (HERE / "before.log").open("a") as file:
                file.write("ran\\n")
            return 1

        @ms.task
        def sleeping(n: int) -> int:
            (HERE / "started").write_text("")
            if (HERE / "awake").exists():
                return n
            {how}
            return n

        @ms.task
        def after(n: int) -> int:
            return n

        after(sleeping(before()))
"""
PYTHON_SLEEP = "for _ in range(6000): time.sleep(0.01)"
NATIVE_SLEEP = "time.sleep(60)"


@contextmanager
def read_only(folder: Path) -> Iterator[list[str]]:
    """Words to put before a command for which a folder cannot be written, root or not."""
    if os.geteuid() != 0:
        folder.chmod(0o555)
        (folder / "mainspring.db").chmod(0o444)
        try:
            yield []
        finally:
            folder.chmod(0o755)
            (folder / "mainspring.db").chmod(0o644)
        return
    mount = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"'
    prefix = ["unshare", "--mount", "sh", "-c", mount, str(folder)]
    if shutil.which("unshare") is None or subprocess.run([*prefix, "true"], check=False).returncode:
        pytest.skip("this user may write everything, and nothing can be mounted")
    yield prefix


def states(project: Project, run: str = "last") -> dict[str, str]:
    document = project("show", "sleeper", "--run", run, "--json").json
    return {task["task"]: task["state"] for task in document["task_runs"]}


class TestRun:
    def test_ends_with_a_table(self, project: Project) -> None:
        project.write("dags/flights.py", FLIGHTS)
        told = project("run", "flights", "--biz-date", "20130115", "--param", "batch_size=7")
        assert told.code == 0, told
        lines = told.out.splitlines()
        assert lines[0].split() == ["TASK", "STATE", "ATTEMPT", "TOOK", "NOTE"]
        assert [line.split()[:2] for line in lines[1:4]] == [
            ["extract", "SUCCESS"],
            ["clean", "SUCCESS"],
            ["publish", "SUCCESS"],
        ]
        assert "run 1 of flights for 2013-01-15: SUCCESS, 3/3" in lines[-1]
        assert "\x1b" not in told.out + told.err

    def test_json(self, project: Project) -> None:
        project.write("dags/flights.py", FLIGHTS)
        document = project("run", "flights", "--biz-date", "2013-01-15", "--json").json
        assert document["exit_code"] == 0
        (run,) = document["runs"]
        assert run["run"]["state"] == "SUCCESS"
        assert run["run"]["biz_date"] == "2013-01-15"
        assert run["run"]["created_at"].endswith("Z")
        assert [task["state"] for task in run["tasks"]] == ["SUCCESS"] * 3

    def test_a_failure(self, project: Project) -> None:
        project.write("dags/fragile.py", FRAGILE)
        told = project("run", "fragile", "--biz-date", "2013-01-15")
        assert told.code == 1, told
        assert "third" in told.out
        assert "blocked by second" in told.out
        assert "ValueError: not yet \\x1b[31mrepaired" in told.out
        assert "fragile.py" in told.out  # the author's frame
        assert "_host.py" not in told.out
        assert "\x1b" not in told.out + told.err
        (run,) = project("runs", "--json").json["runs"]
        assert run["state"] == "FAILED"
        assert run["counts"] == {"SUCCESS": 1, "FAILED": 1, "BLOCKED": 1}

    def test_rerun(self, project: Project) -> None:
        project.write("dags/fragile.py", FRAGILE)
        assert project("run", "fragile").code == 1
        assert project("rerun", "last").code == 1
        project.write("dags/repaired", "")
        told = project("rerun", "1")
        assert told.code == 0, told
        assert (project.root / "dags" / "first.log").read_text() == "ran\n"
        told = project("rerun", "1", "--task", "first", "--downstream", "--json")
        assert told.code == 0
        numbers = {task["task"]: task["attempt_no"] for task in told.json["runs"][0]["tasks"]}
        assert numbers == {"first": 2, "second": 4, "third": 2}
        told = project("rerun", "1", "--task", "secnd")
        assert told.code != 0
        assert "second" in told.err
        assert project("rerun", "99").code == 1
        assert project("rerun", "x").code == 2

    def test_only(self, project: Project) -> None:
        project.write("dags/fragile.py", FRAGILE)
        told = project("run", "fragile", "--only", "first", "--json")
        assert told.code == 0, told
        states = {task["task"]: task["state"] for task in told.json["runs"][0]["tasks"]}
        assert states == {"first": "SUCCESS", "second": "SKIPPED", "third": "SKIPPED"}
        assert "third" not in project("run", "fragile", "--only", "first").out
        told = project("run", "fragile", "--only", "frist")
        assert told.code != 0
        assert "first" in told.err

    def test_one_of_several_fires_of_a_day(self, project: Project) -> None:
        project.write(
            "dags/hourly.py",
            """
            import mainspring as ms
            with ms.Dag("hourly", schedule="0 * * * *") as dag:
                @ms.task
                def t(nominal_at) -> str:
                    return nominal_at.isoformat()
            """,
        )
        told = project("run", "hourly", "--biz-date", "2013-01-15")
        assert told.code == 1
        assert "give slot=1 and up, or nominal_at: 2013-01-15T01:00:00Z" in told.err
        told = project("run", "hourly", "--nominal-at", "2013-01-15T03:00:00Z", "--json")
        assert told.code == 0, told
        assert told.json["runs"][0]["run"]["nominal_at"] == "2013-01-15T03:00:00Z"
        assert told.json["runs"][0]["run"]["biz_date"] == "2013-01-15"
        for text in ("2013-01-15", "x", "2013-01-15T03:00:00"):
            told = project("run", "hourly", "--nominal-at", text)
            assert told.code == 2
            assert "2013-01-15T02:30:00Z" in told.err
        told = project(
            "run", "hourly", "--nominal-at", "2013-01-15T03:00:00Z",
            "--from", "2013-01-15", "--to", "2013-01-16",
        )
        assert told.code == 2

    def test_several_days(self, project: Project) -> None:
        project.write("dags/flights.py", FLIGHTS)
        told = project("run", "flights", "--from", "2013-02-27", "--to", "2013-03-01", "--json")
        assert told.code == 0, told
        days = [run["run"]["biz_date"] for run in told.json["runs"]]
        assert days == ["2013-02-27", "2013-02-28", "2013-03-01"]

    def test_several_days_stop_at_the_first_that_fails(self, project: Project) -> None:
        project.write("dags/fragile.py", FRAGILE)
        told = project("run", "fragile", "--from", "2013-01-01", "--to", "2013-01-03")
        assert told.code == 1
        assert "2 more days were not run" in told.err
        words = ["run", "fragile", "--from", "2013-01-01", "--to", "2013-01-03", "--keep-going"]
        assert len(project(*words, "--json").json["runs"]) == 3

    def test_parameters(self, project: Project) -> None:
        text = """
            from datetime import date
            import mainspring as ms
            with ms.Dag("typed") as dag:
                @ms.task
                def t(s: str, n: int, f: float, b: bool, d: date, l: list, x=None) -> list:
                    return [s, n, f, b, d.isoformat(), l, x]
        """
        project.write("dags/typed.py", text)
        words = []
        for item in ("s=5", "n=5", "f=5", "b=yes", "d=2013-01-15", "l=[1, 2]", "x=a=b"):
            words += ["--param", item]
        assert project("run", "typed", *words).code == 0
        told = project("run", "typed", "--param", "n=x", "--param", "q=1")
        assert told.code == 1
        assert told.err.count("error:") >= 2  # all at once
        assert "Traceback" not in told.err
        assert len(project("runs", "--json").json["runs"]) == 1  # nothing was queued
        assert project("run", "typed", "--param", "n").code == 2
        assert project("run", "typed", "--param", "n=1", "--param", "n=2").code == 2

    def test_a_file_without_a_project(self, tmp_path: Path, environ: dict[str, str]) -> None:
        bare = Project(tmp_path / "bare", environ)
        bare.root.mkdir()
        bare.write("orders.py", "import mainspring as ms\n@ms.task\ndef a() -> int:\n return 1\n")
        told = bare("run", "orders.py", "--json")
        assert told.code == 0, told
        assert told.json["runs"][0]["run"]["dag"] == "orders"
        home = Path(environ["HOME"])
        assert (home / ".mainspring" / "mainspring.db").exists()
        told = bare("run", "./orders.py:orders", "--database", "here.db")
        assert told.code == 0
        assert (bare.root / "here.db").exists()
        told = bare("rerun", "1", "--task", "a", "--database", "here.db")
        assert told.code == 0, told

    def test_a_broken_neighbour_is_no_hindrance(self, project: Project) -> None:
        project.write("dags/bad.py", "import mainspring\nx = (")
        project.write("dags/exit.py", "import mainspring, os\nos._exit(0)")
        project.write("dags/flights.py", FLIGHTS)
        told = project("run", "flights")
        assert told.code == 0, told
        assert "not loaded: dags/bad.py, dags/exit.py" in told.err

    def test_lazy_imports_of_helpers(self, project: Project) -> None:
        project.write("dags/sub/_lib.py", "VALUE = 7\n")
        text = """
            import mainspring as ms
            with ms.Dag("lazy") as dag:
                @ms.task
                def t() -> int:
                    import _lib
                    return _lib.VALUE
        """
        project.write("dags/sub/lazy.py", text)
        assert project("run", "lazy").code == 0

    @pytest.mark.parametrize(
        "line",
        [
            "raise SystemExit(3)",
            "raise KeyboardInterrupt",
            "raise StopIteration",
            "import asyncio; raise asyncio.CancelledError",
            "return float('nan')",
            "l = []; l.append(l); return l",
            "return '\\ud800'",
            "return 'x' * 50_000_000",
            "return object()",
            "raise type('E', (Exception,), {'__str__': lambda s: 1 / 0})()",
        ],
    )
    def test_what_a_task_must_not_do(self, project: Project, line: str) -> None:
        text = f"import mainspring as ms\n@ms.task\ndef t():\n    {line}\n"
        project.write("dags/bad.py", "").write_text(text)
        told = project("run", "bad")
        assert told.code == 1, told
        assert "FAILED" in told.out
        assert "error: " not in told.err
        assert "\ud800" not in told.out

    def test_canceled_is_neither_good_nor_failed(self, project: Project) -> None:
        text = """
            import time
            import mainspring as ms
            @ms.task
            def t(ctx):
                ms.run(ctx.run_id).cancel()
                for _ in range(6000):
                    time.sleep(0.01)
        """
        project.write("dags/gone.py", text)
        told = project("run", "gone")
        assert told.code == 3, told
        assert "CANCELED" in told.out

    def test_progress_in_plain_lines(self, project: Project) -> None:
        project.write("dags/flights.py", FLIGHTS)
        told = project("run", "flights")
        assert "3/3 done" in told.err
        assert "\r" not in told.err


class TestRuns:
    def test_filters(self, project: Project) -> None:
        project.write("dags/flights.py", FLIGHTS)
        project.write("dags/fragile.py", FRAGILE)
        project("run", "flights", "--from", "2013-01-01", "--to", "2013-01-03")
        project("run", "fragile", "--biz-date", "2013-01-02")

        def ids(*words: str) -> list[int]:
            return [run["id"] for run in project("runs", "--json", *words).json["runs"]]

        assert ids() == [4, 3, 2, 1]
        assert ids("flights") == [3, 2, 1]
        assert ids("--state", "failed") == [4]
        assert ids("--biz-date", "2013-01-02") == [4, 2]
        assert ids("-n", "2") == [4, 3]
        told = project("runs")
        assert told.out.splitlines()[0].split()[:4] == ["RUN", "DAG", "BIZ", "DATE"]
        told = project("runs", "flihgts")
        assert told.code == 1
        assert "did you mean 'flights'?" in told.err

    def test_nothing_yet(self, project: Project) -> None:
        told = project("runs")
        assert (told.code, told.out) == (0, "nothing was run yet\n")
        assert project("runs", "--json").json == {"runs": []}
        assert project("logs", "last").code == 1


class TestLogs:
    def test_all_and_one(self, project: Project) -> None:
        project.write("dags/fragile.py", FRAGILE)
        project("run", "fragile")
        told = project("logs", "1")
        assert told.code == 0, told
        assert "== first  attempt 1  SUCCESS" in told.out
        assert "hello from first\n" in told.out
        assert "== second  attempt 1  FAILED" in told.out
        assert "third" not in told.out
        assert "\x1b" not in told.out
        told = project("logs", "1", "first", "--json")
        (entry,) = told.json["attempts"]
        assert entry["log"] == "hello from first\n"
        assert "did you mean 'first'?" in project("logs", "1", "frist").err
        project("rerun", "1")
        assert "attempt 2" in project("logs", "1", "second").out
        assert "attempt 1" in project("logs", "1", "second", "--attempt", "1").out
        assert re.search(
            r"^\d{4}-.* O hello from first$", project("logs", "1", "-v").out, re.MULTILINE
        )
        assert project("logs", "1", "second", "--attempt", "7").code == 2


class TestCtrlC:
    @pytest.mark.parametrize("how", [PYTHON_SLEEP, NATIVE_SLEEP])
    def test_cancels(self, project: Project, how: str) -> None:
        project.write("dags/sleeper.py", SLEEPER.replace("{how}", how))
        process = project.start("run", "sleeper")
        wait_for((project.root / "dags" / "started").exists, "the task began")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=10)
        assert process.returncode == 130, (out, err)
        assert "Traceback" not in err
        assert states(project) == {
            "before": "SUCCESS",
            "sleeping": "CANCELED",
            "after": "CANCELED",
        }
        assert "CANCELED" in project("runs").out
        project.write("dags/awake", "")
        assert project("rerun", "last").code == 0
        assert set(states(project).values()) == {"SUCCESS"}
        assert (project.root / "dags" / "before.log").read_text() == "ran\n"

    def test_twice(self, project: Project) -> None:
        project.write("dags/sleeper.py", SLEEPER.replace("{how}", NATIVE_SLEEP))
        process = project.start("run", "sleeper")
        wait_for((project.root / "dags" / "started").exists, "the task began")
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=10)
        assert process.returncode == 130

    def test_while_a_file_is_loaded(self, project: Project) -> None:
        text = "import mainspring, time\nopen('loading', 'w').close()\ntime.sleep(60)\n"
        project.write("dags/slow.py", text)
        process = project.start("check")
        wait_for((project.root / "loading").exists, "the file is being loaded")
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=10)
        assert process.returncode == 130
        assert err == "interrupted\n"


def test_resume_after_a_crash(project: Project) -> None:
    project.write("dags/sleeper.py", SLEEPER.replace("{how}", NATIVE_SLEEP))
    process = project.start("run", "sleeper", "--biz-date", "2013-01-15")
    wait_for((project.root / "dags" / "started").exists, "the task began")
    process.kill()
    process.communicate(timeout=10)
    (run,) = project("runs", "--json").json["runs"]
    assert run["state"] == "INTERRUPTED"
    told = project("rerun", "1")
    assert told.code == 1
    assert "mainspring run --resume 1" in told.err

    project.write("dags/awake", "")
    told = project("run", "--resume", "--json")
    assert told.code == 0, told
    assert {task["task"]: task["state"] for task in told.json["runs"][0]["tasks"]} == {
        "before": "SUCCESS",
        "sleeping": "SUCCESS",
        "after": "SUCCESS",
    }
    assert (project.root / "dags" / "before.log").read_text() == "ran\n"
    told = project("run", "--resume", "1")
    assert told.code == 1
    assert "nothing to resume" in told.err
    told = project("run", "--resume", "sleeper")
    assert told.code == 1
    assert "no run of 'sleeper' was interrupted" in told.err
    assert project("db", "verify").code == 0


class TestDatabase:
    def test_upgrade_and_verify(self, project: Project) -> None:
        told = project("db", "verify")
        assert told.code == 1
        assert "there is no database" in told.err
        told = project("db", "upgrade")
        assert told.code == 0, told
        assert told.out.startswith("made ")
        told = project("db", "upgrade")
        assert "nothing to do" in told.out
        document = project("db", "upgrade", "--json").json
        assert document["before"] == document["now"]
        told = project("db", "verify")
        assert (told.code, told.err) == (0, "")
        assert project("db", "verify", "--json").json["broken"] == []

    def test_verify_finds_lost_rows(self, project: Project) -> None:
        project.write("dags/flights.py", FLIGHTS)
        project("run", "flights")
        path = project.root / ".mainspring" / "mainspring.db"
        connection = sqlite3.connect(path)
        connection.execute("DELETE FROM run")
        connection.commit()
        connection.close()
        told = project("db", "verify")
        assert told.code == 1, told
        assert told.err.startswith("error: ")

    def test_verify_prints_the_rows(
        self, project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        class Broken:
            def verify(self) -> list[dict[str, Any]]:
                rows = [{"task_run": n, "note": "\x1b"} for n in range(25)]
                return [{"invariant": "one_live", "rule": "one live attempt", "rows": rows}]

        monkeypatch.chdir(project.root)
        monkeypatch.setattr(db_verify, "history_of", lambda settings: Broken())
        assert main(["db", "verify"]) == 1
        told = capsys.readouterr().err
        assert "error: one live attempt [one_live]" in told
        assert '{"task_run": 19, "note": "\\u001b"}' in told
        assert "and 5 more" in told
        assert main(["db", "verify", "--json"]) == 1
        assert len(json.loads(capsys.readouterr().out)["broken"][0]["rows"]) == 25

    def test_a_newer_database(self, project: Project) -> None:
        project.write("dags/flights.py", FLIGHTS)
        project("db", "upgrade")
        connection = sqlite3.connect(project.root / ".mainspring" / "mainspring.db")
        connection.execute("PRAGMA user_version = 999")
        connection.commit()
        connection.close()
        for words in (["run", "flights"], ["runs"], ["db", "upgrade"]):
            told = project(*words)
            assert told.code == 1, told
            assert "newer" in told.err
            assert "Traceback" not in told.err

    @pytest.mark.parametrize(
        "words", [["run", "flights"], ["runs"], ["db", "upgrade"], ["db", "verify"]]
    )
    @pytest.mark.parametrize("kind", ["foreign", "corrupt", "folder", "unreadable folder"])
    def test_bad_files(self, project: Project, kind: str, words: list[str]) -> None:
        project.write("dags/flights.py", FLIGHTS)
        path = project.root / "x.db"
        if kind == "foreign":
            connection = sqlite3.connect(path)
            connection.execute("CREATE TABLE theirs (a)")
            connection.commit()
            connection.close()
        elif kind == "corrupt":
            path.write_bytes(b"this is no database at all " * 100)
        elif kind == "folder":
            path.mkdir()
        else:
            project.write("x.db/inner", "").unlink()
            path.rmdir()
            path.write_text("")
            path = path / "below" / "y.db"
        before = path.read_bytes() if path.is_file() else None
        told = project(*words, "--database", str(path))
        if kind == "unreadable folder" and words == ["runs"]:
            assert told.code == 0
            return
        assert told.code == 1, told
        assert "Traceback" not in told.err
        assert "error: " in told.err
        assert "x.db" in told.err
        if before is not None:
            assert path.read_bytes() == before  # what is not ours is not touched

    def test_read_only(self, project: Project) -> None:
        project.write("dags/flights.py", FLIGHTS)
        assert project("run", "flights").code == 0
        folder = project.root / ".mainspring"
        with read_only(folder) as prefix:
            told = project("run", "flights", prefix=prefix)
            assert told.code == 1
            assert "Traceback" not in told.err
            assert f"error: cannot open the database {folder}" in told.err
            assert "hint: " in told.err
            assert "Traceback" not in project("runs", prefix=prefix).err
        assert project("run", "flights").code == 0

    def test_two_at_once(self, project: Project) -> None:
        project.write("dags/flights.py", FLIGHTS)
        processes: list[subprocess.Popen[str]] = [
            project.start("run", "flights", "--biz-date", f"2013-01-0{n}") for n in range(1, 5)
        ]
        for process in processes:
            out, err = process.communicate(timeout=60)
            assert process.returncode == 0, (out, err)
            assert "locked" not in err
        assert len(project("runs", "--json").json["runs"]) == 4
