"""A process, a kernel, a scheduler: each goes in the middle of a backfill, and another goes on."""

import json
import os
import signal
import sys
import time
from collections import Counter

import pytest

from ._tools import WITNESS, environment, finish, start, until

DAG = WITNESS + '''
import sys, time
ms.use(database=sys.argv[1])
with ms.Dag("orders", schedule="0 2 * * *") as dag:
    @ms.task(retries=0)
    def load(biz_date):
        time.sleep(0.01)
        say(cell="load", date=str(biz_date), run=ms.context().run_id)
    @ms.task(retries=0, depends_on=[load])
    def check(biz_date):
        say(cell="check", date=str(biz_date), run=ms.context().run_id)
'''

BEGIN = DAG + '''
done = ms.backfill(dag, "2024-01-01", "2024-04-09", max_active=4).apply(progress=False)
print(done.state)
'''

RESUME = DAG + '''
(left,) = ms.backfills()
print(left.state)
left.resume(progress=False)
print(left.state, left.counts, len(left.runs))
from mainspring._session import history
print(history().verify())
'''


def said(path):
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines() if line.endswith("}")]


def each_once(witness, live):
    """Each cell was done once; what was live when the process went may have been begun twice."""
    found = Counter((row["cell"], row["date"]) for row in said(witness))
    assert len(found) == 200
    twice = [cell for cell, count in found.items() if count > 1]
    assert max(found.values()) <= 2 and len(twice) <= live, twice


def test_a_killed_process_in_the_middle_of_200_cells_is_taken_up(tmp_path):
    witness, database = tmp_path / "witness", tmp_path / "m.db"
    env = {"WITNESS": witness}
    child = start(tmp_path, BEGIN, database, env=env)
    until(lambda: len(said(witness)) > 60 or child.poll() is not None, 60)
    os.kill(child.pid, signal.SIGKILL)
    child.communicate(timeout=20)
    before = len(said(witness))
    assert 60 < before < 200
    code, out, err = finish(start(tmp_path, RESUME, database, env=env, name="resume.py"), 90)
    assert code == 0, err
    assert out.splitlines() == ["INTERRUPTED", "SUCCESS {'SUCCESS': 200} 100", "[]"]
    each_once(witness, live=8)


def test_ctrl_c_stops_cleanly_and_says_how_to_go_on(tmp_path):
    witness, database = tmp_path / "witness", tmp_path / "m.db"
    env = {"WITNESS": witness}
    child = start(tmp_path, BEGIN, database, env=env)
    until(lambda: len(said(witness)) > 40 or child.poll() is not None, 60)
    os.kill(child.pid, signal.SIGINT)
    code, _, err = finish(child, 30)
    assert code != 0
    if sys.version_info >= (3, 11):
        assert "ms.backfills(1).resume() goes on" in err
    stopped = len(said(witness))
    time.sleep(0.3)
    assert len(said(witness)) == stopped < 200
    code, out, err = finish(start(tmp_path, RESUME, database, env=env, name="resume.py"), 90)
    assert code == 0, err
    assert out.splitlines() == ["INTERRUPTED", "SUCCESS {'SUCCESS': 200} 100", "[]"]
    each_once(witness, live=8)


def test_a_killed_kernel_in_the_middle_of_200_cells_is_taken_up_by_a_new_one(tmp_path):
    client = pytest.importorskip("jupyter_client")
    witness, database = tmp_path / "witness", tmp_path / "m.db"
    names = os.environ.get("JUPYTER_TEST_KERNEL", "python3")

    def kernel():
        manager = client.KernelManager(kernel_name=names)
        manager.start_kernel(env=environment(WITNESS=witness), cwd=str(tmp_path))
        talk = manager.client()
        talk.start_channels()
        talk.wait_for_ready(timeout=60)
        return manager, talk

    head = f"import sys; sys.argv = ['x', {str(database)!r}]\n"
    try:
        manager, talk = kernel()
    except client.kernelspec.NoSuchKernel:
        pytest.skip("there is no kernel for Python here")
    try:
        talk.execute(head + BEGIN.replace(", progress=False", ""))
        until(lambda: len(said(witness)) > 60, 60)
        manager.signal_kernel(signal.SIGKILL)
        until(lambda: not manager.is_alive(), 20)
    finally:
        talk.stop_channels()
        manager.cleanup_resources()
    assert 60 < len(said(witness)) < 200
    manager, talk = kernel()
    try:
        reply = talk.execute_interactive(head + RESUME, timeout=90, output_hook=lambda _: None)
        assert reply["content"]["status"] == "ok", reply["content"]
        assert len({(row["cell"], row["date"]) for row in said(witness)}) == 200
        each_once(witness, live=8)
    finally:
        talk.stop_channels()
        manager.shutdown_kernel(now=True)


HELD = WITNESS + '''
import os, sys, time
ms.use(database=sys.argv[1])
with ms.Dag("orders", schedule="0 2 * * *") as dag:
    @ms.task(retries=0)
    def load(biz_date):
        say(pid=os.getpid(), date=str(biz_date))
        while os.environ.get("HOLD") and not os.path.exists(os.environ["GO"]):
            time.sleep(0.01)
'''

APPLY = HELD + '''
done = ms.backfill(dag, "2024-01-02", "2024-01-02", only="all").apply(progress=False)
print(done.state)
'''

ASK = HELD + '''
for ask in (lambda: dag.run("2024-01-02"), lambda: dag.rerun(1, tasks=["load"])):
    try:
        ask()
    except ms.ConflictError as error:
        print(str(error).splitlines()[0])
print(dag.run("2024-01-03").state)
open(os.environ["GO"], "w").close()
ms.backfills(1).wait(60)
print(dag.run("2024-01-02").state, dag.rerun(1, tasks=["load"]).state)
from mainspring._session import history
print(history().verify())
'''


def test_a_person_in_another_process_waits_for_the_backfill(tmp_path):
    witness, database = tmp_path / "witness", tmp_path / "m.db"
    env = {"WITNESS": witness, "GO": tmp_path / "go"}
    first = HELD + "\nprint(dag.run('2024-01-02').state)\n"
    code, out, err = finish(start(tmp_path, first, database, env=env, name="first.py"), 60)
    assert (code, out) == (0, "SUCCESS\n"), err
    child = start(tmp_path, APPLY, database, env={**env, "HOLD": "1"})
    until(lambda: len(said(witness)) == 2 or child.poll() is not None, 60)
    code, out, err = finish(start(tmp_path, ASK, database, env=env, name="ask.py"), 90)
    assert code == 0, err
    refused = "run 2 of backfill 1 computes orders for this date at the moment"
    assert out.splitlines() == [refused, refused, "SUCCESS", "SUCCESS SUCCESS", "[]"]
    code, out, err = finish(child, 30)
    assert (code, out) == (0, "SUCCESS\n"), err
    # The first run, the backfill, the other date, and this one twice more.
    assert Counter(row["date"] for row in said(witness)) == {"2024-01-02": 4, "2024-01-03": 1}
