"""Runs whose logs are brought to S3: what each command and each view shows, and from where."""

import io
import json
import os
import signal
import subprocess
import sys

import mainspring as ms
import pytest
from crash._tools import until
from mainspring import _session
from mainspring._logread import StoredLog, log_file
from mainspring._shipper import behind
from mainspring.cli._console import Console
from mainspring.cli._follow_log import Follower
from up import _tools as tools

LINES = "订单 🐌\n\x1b[31mred\x1b[0m\nno end"

with ms.Dag("talk") as dag:
    @ms.task
    def say() -> None:
        print(LINES, end="")

    @ms.task
    def nothing() -> None:
        pass


def test_the_row_keeps_the_place_and_the_tail_and_the_log_is_read_from_there(s3, project):
    bucket = s3.bucket()
    database = project(f"s3://{bucket}/team")
    run = dag.run("2024-01-01")
    _session.close(str(database))
    made = run._load()["created_at"]
    place = f"s3://{bucket}/team/talk/2024-01-01/run-1-{made}/say/attempt-1"
    run = ms.runs("talk")[0]
    (attempt,) = run["say"].attempts
    assert (attempt._row["log_uri"], attempt._row["log_tail"]) == (place, LINES)
    assert run["nothing"].attempts[0]._row["log_uri"] is None
    keys = s3.keys(bucket)
    assert set(keys) == {"team/.mainspring", *(
        place.removeprefix(f"s3://{bucket}/") + name
        for name in ("/part-000000000000.gz", "/end.json"))}

    os.remove(log_file(str(database), 1, attempt._row["task_run_id"], 1))
    assert attempt.log == LINES + "\n"
    assert run["nothing"].log == ""
    html = attempt._repr_html_()
    assert "订单 🐌" in html and "red" in html and "\x1b" not in html


def test_what_is_beyond_the_limit_is_cut_and_marked(s3, project):
    with ms.Dag("much") as much:
        @ms.task
        def say() -> None:
            for _ in range(1000):
                print("123456789")

    database = project(f"s3://{s3.bucket()}", log_limit="2KB")
    run = much.run("2024-01-01")
    _session.close(str(database))
    os.remove(log_file(str(database), 1, run["say"].attempts[0]._row["task_run_id"], 1))
    *kept, last = run["say"].log.splitlines()
    assert set(kept) == {"123456789"} and 10 < len(kept) < 2048 / 10
    left = 10 * (1000 - len(kept))
    assert last == f"mainspring: {left} more bytes of output were left out"


@pytest.mark.parametrize("gone", ["end", "all"])
def test_who_follows_waits_for_the_end_for_a_minute_and_then_says_so(gone, tmp_path, project):
    database = project(str(tmp_path / "elsewhere"))
    run = dag.run("2024-01-01")
    row = run["say"].attempts[0]._row
    _session.close(str(database))
    os.remove(log_file(str(database), 1, row["task_run_id"], 1))
    for path in (tmp_path / "elsewhere").rglob("*"):
        if path.is_file() and (gone == "all" or path.name == "end.json"):
            path.unlink()
    reader = _session.history(str(database))
    waited, console = [], Console(color=False, verbose=0)
    out, err = console.out, console.err = io.StringIO(), io.StringIO()
    assert Follower(reader, str(database), 1, reader.task_runs(1), console,
                    sleep=waited.append).follow() == 0
    lines = [line for line in out.getvalue().splitlines() if line.startswith("say")]
    # From the part, or from the tail that the row keeps.
    assert lines == ["say     | 订单 🐌", r"say     | \x1b[31mred\x1b[0m", "say     | no end"]
    assert "the end of this log is not at" in err.getvalue()
    assert 59 <= sum(waited) <= 61


def test_a_database_of_a_test_keeps_its_logs_at_home(s3, project):
    bucket = s3.bucket()
    project(f"s3://{bucket}")
    with ms.testing.isolated():
        assert dag.run("2024-01-01")["say"].log == LINES + "\n"
    assert s3.keys(bucket) == {}


def test_a_place_that_is_away_delays_logs_and_no_task(own, project, monkeypatch):
    for name, value in own.environment.items():
        monkeypatch.setenv(name, value)
    database = project("s3://later/x")  # nobody listens there
    run = dag.run("2024-01-01")
    assert run.state == "SUCCESS"
    _session.close(str(database))
    late = behind(str(database))
    path = log_file(str(database), 1, run["say"].attempts[0]._row["task_run_id"], 1)
    assert (late["attempts"], late["bytes"]) == (1, os.path.getsize(path))
    assert late["why"][0]["place"] == "s3://later" and own.url in late["why"][0]["why"]

    own.start()
    own.bucket("later")
    second = dag.run("2024-01-02")
    _session.close(str(database))
    assert behind(str(database))["attempts"] == 0
    for each in (run, second):
        stored = StoredLog(each["say"].attempts[0]._row["log_uri"])
        assert b"".join(stored.new()).decode().endswith("no end\n") and stored.whole


def test_a_place_that_takes_requests_and_never_answers_delays_logs_and_no_task(
        own, project, monkeypatch):
    monkeypatch.setattr("mainspring._logstore.REQUEST", 0.5)
    monkeypatch.setattr("mainspring._logstore._clients", {})
    for name, value in own.environment.items():
        monkeypatch.setenv(name, value)
    own.start()
    bucket = own.bucket()
    database = project(f"s3://{bucket}")
    os.kill(own._process.pid, signal.SIGSTOP)
    assert dag.run("2024-01-01").state == "SUCCESS"
    _session.close(str(database))
    assert behind(str(database))["attempts"] == 1
    os.kill(own._process.pid, signal.SIGCONT)
    assert dag.run("2024-01-02").state == "SUCCESS"
    _session.close(str(database))
    assert behind(str(database))["attempts"] == 0
    assert len([key for key in own.keys(bucket) if key.endswith("end.json")]) == 2


def test_a_fault_in_a_turn_ends_neither_the_thread_nor_the_session(s3, project, monkeypatch):
    from mainspring import _shipper

    def broken(self, *_):
        raise RuntimeError("planted")

    database = project(f"s3://{s3.bucket()}")
    with monkeypatch.context() as planted:
        planted.setattr(_shipper.Shipper, "_bring", broken)
        assert dag.run("2024-01-01").state == "SUCCESS"
        _session.close(str(database))
    (told,) = behind(str(database))["why"]
    assert (told["place"], told["why"]) == ("this machine", "RuntimeError: planted")
    dag.run("2024-01-02")
    _session.close(str(database))
    assert behind(str(database))["attempts"] == 0


# --- `mainspring up` ---


TALK = """
with ms.Dag("talk") as dag:
    @ms.task
    def say():
        print("first", flush=True)
        said("first")
        held("go")
        print("last", flush=True)
"""


@pytest.fixture
def place(tmp_path):
    """A project as a user has it; its processes end with the test."""
    made = tools.Place(tmp_path / "project")
    made.write("talk.py", TALK)
    yield made
    made.close()


def sent_to(place, s3, bucket):
    """From now on its processes find the server."""
    (place.root / "mainspring.toml").write_text(f'logs = "s3://{bucket}/team"\n')
    before = place.environment
    place.environment = lambda **more: before(**s3.environment, **more)


def follow(place, root, *words):
    return subprocess.Popen(
        [sys.executable, "-m", "mainspring", "logs", *words, "-f"], cwd=root, text=True,
        env=place.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def read_until(child, text):
    lines = []
    for line in child.stdout:
        lines.append(line.rstrip("\n"))
        if text in line:
            return lines
    raise AssertionError(f"no {text!r} in {lines}: {child.stderr.read()}")


def test_another_node_follows_what_this_one_prints(place, s3, tmp_path):
    """Two folders with files of their own, and one database."""
    sent_to(place, s3, s3.bucket())
    place.up()
    run = place.trigger("talk")
    place.seen(event="first")
    other = tmp_path / "other"
    (other / ".mainspring").mkdir(parents=True)
    (other / "mainspring.toml").write_text((place.root / "mainspring.toml").read_text())
    (other / ".mainspring" / "mainspring.db").symlink_to(place.database)
    child = follow(place, other, str(run))
    try:
        assert read_until(child, "first")[-1] == "| first"
        place.open_gate("go")
        out, _ = child.communicate(timeout=60)
    finally:
        child.kill()
        child.communicate()
    assert child.returncode == 0
    assert [line for line in out.splitlines() if line.startswith("|")] == ["| last"]
    assert not (other / ".mainspring" / "mainspring.files" / "logs").exists()
    shown = subprocess.run([sys.executable, "-m", "mainspring", "logs", str(run)], cwd=other,
                           env=place.environment(), text=True, capture_output=True, check=True)
    assert shown.stdout.splitlines()[1:] == ["first", "last"]


def test_a_scheduler_that_is_killed_is_followed_by_one_that_brings_the_rest(place, s3):
    bucket = s3.bucket()
    sent_to(place, s3, bucket)
    first = place.up()
    run = place.trigger("talk")
    log = place.database.with_suffix(".files") / "logs" / "1" / "1-1.log"
    until(lambda: log.exists() and log.stat().st_size, 30)
    first.signal(signal.SIGKILL)
    first.ended()
    first.gone()
    second = place.up()
    place.seen(count=2, event="first")
    place.open_gate("go")
    assert place.finished(run) == "SUCCESS"
    assert second.stop() == 0
    ends = [key for key in s3.keys(bucket) if key.endswith("/end.json")]
    assert [key.rsplit("/", 2)[1] for key in ends] == ["attempt-1", "attempt-2"]
    texts = []
    for key in ends:
        data = b"".join(StoredLog(f"s3://{bucket}/{key.removesuffix('/end.json')}").new())
        texts.append([line.split(" ", 2)[2] for line in data.decode().splitlines()])
    assert texts == [["first"], ["first", "last"]]
    log.unlink()  # nobody told the row of the lost one where its output is
    assert place.ms("logs", "1", "--attempt", "1")[1].splitlines()[1] == "first"
    place.sound()


def test_a_server_that_is_killed_in_the_middle_holds_up_no_task(place, own, monkeypatch):
    for name, value in own.environment.items():
        monkeypatch.setenv(name, value)
    own.start()
    bucket = own.bucket()
    sent_to(place, own, bucket)
    up = place.up()
    run = place.trigger("talk")
    place.seen(event="first")
    until(lambda: any("part-" in key for key in own.keys(bucket)), 30)
    own.kill()
    place.open_gate("go")
    assert place.finished(run) == "SUCCESS"
    (told,) = up.wait("logs_wait")
    assert told["place"] == f"s3://{bucket}"
    code, out, _ = place.ms("status", "--json")
    late = json.loads(out)["logs"]
    assert code == 0 and late["attempts"] == 1 and late["why"][0]["place"] == f"s3://{bucket}"
    code, out, _ = place.ms("status")
    assert "1 attempt, " in out and "are not brought yet" in out
    # Its objects were in its memory. What it had confirmed before is gone with it; of this small
    # log the one part that was growing is brought again as a whole.
    own.start()
    own.bucket(bucket)
    up.wait("logs_go_on", seconds=90)
    until(lambda: any(key.endswith("end.json") for key in own.keys(bucket)), 30)
    (end,) = (key for key in own.keys(bucket) if key.endswith("/end.json"))
    data = b"".join(StoredLog(f"s3://{bucket}/{end.removesuffix('/end.json')}").new())
    assert [line.split(" ", 2)[2] for line in data.decode().splitlines()] == ["first", "last"]


def test_up_is_refused_where_its_logs_can_never_be_brought(place, s3):
    sent_to(place, s3, "no-such-bucket")
    code, out, err = place.ms("up")
    assert (code, out) == (1, "")
    assert err == ("error: logs: there is no bucket s3://no-such-bucket [logs_bucket]\n"
                   "  hint: make it, or name another in the setting `logs`\n")
    assert not place.database.exists()
