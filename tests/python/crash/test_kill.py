"""Killed at any moment: what is stored is consistent, and the run can be taken up again."""

import importlib.util
import os
import random
import signal
import subprocess
import sys
import time

import mainspring as ms
import pytest
from mainspring import _session

from . import _tools as tools

LAYERS = tools.WITNESS + '''
import random, threading

with ms.Dag("layers", database=os.environ["BASE"],
            defaults={"retry_interval": "1ms"}) as dag:
    dice = random.Random(7)
    before = []
    for layer in range(8):
        this = []
        for place in range(5):
            pause = dice.choice([0, 0, 0, 0.002, 0.008])

            def body(pause=pause):
                witness("start")
                if pause:
                    threading.Event().wait(pause)
                witness("end")
                return {"task": ms.context().task}

            body.__signature__ = __import__("inspect").Signature()
            body.__defaults__ = (pause,)
            name = f"t{layer}_{place}"
            body.__name__ = body.__qualname__ = name
            parents = dice.sample(before, min(len(before), 3))
            this.append(ms.task(depends_on=parents)(body))
        before = [f"t{layer}_{place}" for place in range(5)]

if __name__ == "__main__":
    dag.run("2020-01-01")
'''


def load(path, name):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def explained(database, said):
    """Attempts and the witness agree: nothing ran that is not recorded, and the other way round."""
    starts = {}
    for line in said:
        if line["event"] == "start":
            key = (line["task"], line["attempt"])
            assert key not in starts, f"{key} began twice"
            starts[key] = line
    found = tools.rows(database, "SELECT a.*, k.name FROM attempt a JOIN task_run t ON "
                                 "t.id = a.task_run_id JOIN task k ON k.id = t.task_id")
    for row in found:
        line = starts.pop((row["name"], row["attempt_no"]), None)
        if line is None:
            # Committed, but killed before the handler began.
            assert row["outcome"] in ("LOST", None), row
        else:
            assert line["token"] == row["token"]
    assert not starts, f"ran without a record: {starts}"


@pytest.mark.parametrize("part", range(5))
def test_fifty_kills(tmp_path, monkeypatch, part):
    seed = int(os.environ.get("CRASH_SEED", "20130115")) + part
    print("seed", seed)
    dice = random.Random(seed)
    for number in range(10):
        folder = tmp_path / str(number)
        folder.mkdir()
        base, said = folder / "base.db", folder / "witness"
        monkeypatch.setenv("WITNESS", str(said))
        monkeypatch.setenv("BASE", str(base))
        env = {"WITNESS": said, "BASE": base}
        child = tools.start(folder, LAYERS, name="layers.py", env=env)
        # A moment in the middle: after so many lines of the witness, and a little while more.
        wanted, more = dice.randrange(1, 80), dice.uniform(0, 0.012)
        tools.until(lambda: len(tools.lines(said)) >= wanted or child.poll() is not None,
                    pause=0.0005)
        end = time.perf_counter() + more
        while time.perf_counter() < end:
            pass
        child.send_signal(signal.SIGKILL)
        child.communicate()
        done_early = child.returncode != -signal.SIGKILL

        assert tools.consistent(base) == [], (seed, number)
        reader = _session.history(base)
        assert reader.verify() == []
        explained(base, tools.lines(said))
        run = ms.run(1, database=base)
        if run.state == "SUCCESS":
            ms._session.close(base)
            continue
        assert not done_early
        assert run.state == "INTERRUPTED"
        succeeded = {each.task for each in run if each.state == "SUCCESS"}
        before = len(tools.lines(said))

        if number % 5 == 4:
            cli = [sys.executable, "-m", "mainspring", "run", "layers.py", "--resume", "last",
                   "--database", str(base)]
            ended = subprocess.run(cli, cwd=folder, env=tools.environment(**env), text=True,
                                   capture_output=True, timeout=60)
            assert ended.returncode == 0, ended.stdout + ended.stderr
        else:
            module = load(folder / "layers.py", f"layers_{part}_{number}")
            resumed = module.dag.resume(run)
            assert resumed.state == "SUCCESS", str(resumed)
            os.close(module._file)
        assert ms.run(1, database=base).state == "SUCCESS"
        assert tools.consistent(base) == [], (seed, number)
        assert reader.verify() == []
        assert tools.leases(base) == []
        again = {line["task"] for line in tools.lines(said)[before:] if line["event"] == "start"}
        assert not again & succeeded, "what had succeeded ran twice"
        explained(base, tools.lines(said))
        ms._session.close(base)
        assert tools.rows(base, "SELECT * FROM node WHERE stopped_at IS NULL AND id > 1") == []


RETRIES = tools.WITNESS + '''
with ms.Dag("fails", database=os.environ["BASE"]) as dag:
    @ms.task(retries=2, retry_interval="700ms")
    def always():
        witness("start")
        raise ValueError("no")

if __name__ == "__main__":
    import sys
    ms.run  # the module is whole
    print(dag.run("2020-01-01", wait=True).state if len(sys.argv) < 2
          else dag.resume(int(sys.argv[1])).state)
'''


def test_retries_are_counted_across_a_kill(tmp_path, monkeypatch):
    """A03: three attempts in all, numbered on; a rerun has three more."""
    base, said = tmp_path / "base.db", tmp_path / "witness"
    monkeypatch.setenv("WITNESS", str(said))
    monkeypatch.setenv("BASE", str(base))
    child = tools.start(tmp_path, RETRIES, env={"WITNESS": said, "BASE": base})
    tools.until(lambda: base.exists() and _waits(base))
    child.kill()
    child.communicate()
    assert tools.consistent(base) == []
    assert ms.run(1, database=base).state == "INTERRUPTED"

    module = load(tmp_path / "script.py", "fails")
    run = module.dag.resume(1)
    assert run.state == "FAILED"
    ended = [(each.number, each.outcome) for each in run["always"].attempts]
    assert ended == [(1, "FAILED"), (2, "FAILED"), (3, "FAILED")]
    assert [line["attempt"] for line in tools.lines(said)] == [1, 2, 3]

    run = module.dag.rerun(run)
    assert run.state == "FAILED"
    assert [each.number for each in run["always"].attempts] == [1, 2, 3, 4, 5, 6]
    assert [line["attempt"] for line in tools.lines(said)] == [1, 2, 3, 4, 5, 6]
    assert [each.outcome for each in run["always"].attempts] == ["FAILED"] * 6
    assert tools.rows(base, "SELECT wake_at FROM task_run") == [{"wake_at": None}]
    assert tools.leases(base) == []
    os.close(module._file)
    ms._session.close(base)


def _waits(base):
    try:
        return tools.rows(base, "SELECT 1 FROM task_run WHERE state = 'RETRY_WAIT'")
    except Exception:
        return False  # it is being made


def test_a_rerun_that_is_refused_changes_nothing(tmp_path, monkeypatch):
    """A rerun of an interrupted run where nothing failed is refused; the run can be resumed."""
    base, said = tmp_path / "base.db", tmp_path / "witness"
    monkeypatch.setenv("WITNESS", str(said))
    monkeypatch.setenv("BASE", str(base))
    monkeypatch.delenv("STAY", raising=False)
    code = RETRIES.replace('700ms', '10ms').replace(
        "    raise ValueError",
        '    if os.environ.get("STAY"): __import__("time").sleep(60)\n        return\n        raise ValueError')
    child = tools.start(tmp_path, code, env={"WITNESS": said, "BASE": base, "STAY": 1})
    tools.until(lambda: tools.lines(said))
    child.kill()
    child.communicate()
    module = load(tmp_path / "script.py", "fails_refused")
    with pytest.raises(ms.errors.ConflictError):
        module.dag.rerun(1)
    assert tools.consistent(base) == []
    assert _session.history(base).verify() == []
    assert module.dag.resume(1).state == "SUCCESS"
    assert tools.consistent(base) == []
    os.close(module._file)
    ms._session.close(base)


def test_a_lost_attempt_has_a_budget_of_its_own(tmp_path, monkeypatch):
    """Killed while attempt 1 runs: it is LOST, and three attempts that fail are still to come."""
    base, said = tmp_path / "base.db", tmp_path / "witness"
    monkeypatch.setenv("WITNESS", str(said))
    monkeypatch.setenv("BASE", str(base))
    monkeypatch.delenv("STAY", raising=False)
    code = RETRIES.replace('700ms', '10ms').replace(
        "    raise ValueError",
        '    if os.environ.get("STAY"): __import__("time").sleep(60)\n        raise ValueError')
    child = tools.start(tmp_path, code, env={"WITNESS": said, "BASE": base, "STAY": 1})
    tools.until(lambda: tools.lines(said))
    child.kill()
    child.communicate()
    assert tools.consistent(base) == []

    module = load(tmp_path / "script.py", "fails_lost")
    run = module.dag.resume(1)
    ended = [(each.number, each.outcome) for each in run["always"].attempts]
    assert ended == [(1, "LOST"), (2, "FAILED"), (3, "FAILED"), (4, "FAILED")]
    assert run.state == "FAILED"
    assert tools.consistent(base) == []
    os.close(module._file)
    ms._session.close(base)
