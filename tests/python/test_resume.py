"""A process that is killed in the middle of a run, and what others see and do (kill -9)."""

import subprocess
import sys

import mainspring as ms
import pytest

SCRIPT = """
import sys, time
import mainspring as ms
with ms.Dag("d", database=sys.argv[1]) as dag:
    @ms.task
    def first():
        open(sys.argv[2], "a").write("first\\n")
        return 1
    @ms.task
    def second(number):
        sys.__stdout__.write("started\\n"); sys.__stdout__.flush()
        time.sleep(60)
    second(first())
dag.run("2013-01-15")
"""


def test_killed_and_resumed(tmp_path):
    database, marks = tmp_path / "x.db", tmp_path / "marks"
    with subprocess.Popen([sys.executable, "-c", SCRIPT, str(database), str(marks)],
                          stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "started\n"
        run = ms.run(1, database=database)
        assert run.state == "RUNNING"
        assert run.wait(timeout=0.05) is False
        process.kill()
    assert run.wait(timeout=30)
    assert run.state == "INTERRUPTED"
    assert run["first"].state == "SUCCESS"
    assert ms.runs(state="INTERRUPTED", database=database) == [run]

    with ms.Dag("d", database=database) as dag:

        @ms.task
        def first():
            marks.write_text("again")
            return 1

        @ms.task
        def second(number):
            return number + 1

        second(first())

    try:
        again = dag.resume(run)
        assert again.state == "SUCCESS", str(again)
        assert again.result("second") == 2
        assert marks.read_text() == "first\n"
        assert [a.outcome for a in again["second"].attempts][-1] == "SUCCESS"
        with pytest.raises(ms.ConflictError):
            dag.resume(run)
        with pytest.raises(ms.NotFoundError):
            dag.resume(99)
    finally:
        from mainspring import _session

        _session.close(database)
