"""A dag, a command and a scheduler on PostgreSQL; and a server that is not there."""

import json
import os
import subprocess
import sys
import time

import mainspring as ms
import pytest

DAG = '''
import mainspring as ms

with ms.Dag("orders", schedule="* * * * *") as dag:
    @ms.task
    def extract() -> list[int]:
        print("three")
        return [1, 2, 3]

    @ms.task
    def total(rows: list[int]) -> int:
        return sum(rows)

    total(extract())

with ms.Dag("daily", schedule="0 2 * * *", timezone="UTC") as daily:
    @ms.task
    def pull(biz_date: str = "${biz_date}") -> str:
        return biz_date

    @ms.task
    def load(day: str) -> str:
        return day

    load(pull())
'''


def make_dag() -> ms.Dag:
    with ms.Dag("sums") as dag:
        @ms.task
        def numbers() -> list[int]:
            print("one\x00two")
            return [1, 2, 3]

        @ms.task
        def total(rows: list[int]) -> int:
            return sum(rows)

        total(numbers())
    return dag


@pytest.fixture
def project(tmp_path, url):
    (tmp_path / "mainspring.toml").write_text(f'database = "{url}"\ndags = ["dags"]\n')
    (tmp_path / "dags").mkdir()
    (tmp_path / "dags" / "orders.py").write_text(DAG)
    return tmp_path


def command(project, *words, check=True):
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith("MAINSPRING_")}
    done = subprocess.run([sys.executable, "-m", "mainspring", *words], cwd=project, text=True,
                          capture_output=True, env=environment, timeout=120, check=False)
    said = done.stdout + done.stderr
    assert "hunter2" not in said, said
    if check:
        assert done.returncode == 0, said
    return done


def test_a_dag_runs_and_is_remembered(url):
    run = make_dag().run()
    assert run.state == "SUCCESS", run
    assert run["total"].result == 6
    assert [each.id for each in ms.runs(dag="sums")] == [run.id]
    assert "one" in run["numbers"].log
    found = ms.sql("SELECT state, count(*) AS n FROM task_run WHERE run_id = ? GROUP BY state", run.id)
    assert found == [{"state": "SUCCESS", "n": 2}]
    assert ms.history(level="task_run").to_arrow().num_rows == 2
    assert ms._session.history(url).verify() == []


def test_a_password_is_shown_nowhere(url, capsys):
    place = ms.use(url)
    assert "hunter2" not in place and "locked:***@" in place
    run = make_dag().run()
    ms.show_versions()
    texts = [repr(run), run._repr_html_() if hasattr(run, "_repr_html_") else "",
             repr(ms._session.session(url).core), capsys.readouterr().out]
    with pytest.raises(ms.errors.NotFoundError) as none:
        ms.run(4711)
    texts.append(str(none.value))
    with pytest.raises(ms.errors.NotFoundError) as none:
        repr(ms.backfills(4711))
    texts.append(str(none.value))
    with pytest.raises(ms.errors.StoreError) as wrong:
        ms.runs(database=url.replace("hunter2", "hunter23"))
    texts.append(str(wrong.value))
    assert "user and password" in texts[-1]
    assert not any("hunter2" in text for text in texts), texts


def test_what_was_meant_as_a_url_is_no_file(project):
    for wrong in ("postgresql:/me:hunter2@db/warehouse", "postgres//me:hunter2@db/warehouse"):
        with pytest.raises(ms.errors.SpecError, match="is no URL") as refused:
            ms.use(wrong)
        assert "hunter2" not in str(refused.value)
        said = command(project, "runs", "--database", wrong, check=False)
        assert said.returncode != 0 and "is no URL" in said.stderr, said
    assert not [name for name in os.listdir(project) if name.startswith("postgres")]


def test_who_asks_makes_no_schema(project, server, url):
    schema = url.rpartition("=")[2]
    for words in (["list"], ["check"], ["status"], ["runs"], ["backfills"], ["show", "daily"],
                  ["db", "verify"], ["trigger", "daily"], ["history"]):
        said = command(project, *words, check=False)
        assert "Traceback" not in said.stderr, said.stderr
        made = server.psql(f"SELECT count(*) FROM pg_namespace WHERE nspname = '{schema}'")
        assert made == "0", words
    assert ms.runs() == [] and ms.sql("SELECT 1 AS one") == []
    assert "there is no database" in command(project, "trigger", "daily", check=False).stderr


def test_what_the_commands_ask_is_understood(project):
    command(project, "run", "daily")
    backfill = ["backfill", "daily", "--from", "2024-01-01", "--to", "2024-01-03"]
    assert "6 of 6 cells are computed, 3 runs" in command(project, *backfill).stdout
    assert "S SUCCESS 6" in command(project, *backfill, "--apply").stdout
    assert "nothing is to be done" in command(project, *backfill).stdout
    assert "3 SUCCESS" in command(project, "backfills").stdout
    assert "S SUCCESS 6" in command(project, "backfills", "1").stdout
    unknown = command(project, "backfills", "4711", check=False)
    assert unknown.returncode == 2 and "there is no backfill 4711" in unknown.stderr
    # Four runs of two tasks: by hand, and of three days.
    for words, rows in ([], 8), (["daily"], 8), (["daily.load"], 4), (["--since", "2024-01-02"], 6), (
            ["daily", "--level", "run", "--trigger", "backfill"], 3), (["--state", "FAILED"], 0):
        lines = command(project, "history", *words, "--format", "csv").stdout.splitlines()
        assert len(lines) == 1 + rows, (words, lines)
    assert command(project, "history", "dail", check=False).returncode == 2
    assert len(json.loads(command(project, "runs", "--json").stdout)["runs"]) == 4
    dags = json.loads(command(project, "list", "--json").stdout)["dags"]
    assert [dag["dag"] for dag in dags] == ["daily", "orders"]
    for words in (["show", "daily"], ["versions", "daily.pull"], ["pools"],
                  ["logs", "last"], ["next", "daily"], ["disable", "daily.load"],
                  ["enable", "daily.load"], ["render", "daily.pull", "--biz-date", "2024-01-01"],
                  ["reprocess", "daily.pull", "--from", "2024-01-01", "--to", "2024-01-01"]):
        command(project, *words)
    stats = {(each.task, each.month): (each.runs, each.successes, each.met)
             for each in ms.stats("daily")}
    assert stats.pop(("daily.load", "2024-01")) == stats.pop(("daily.pull", "2024-01")) == (3, 3, None)
    assert [each[:2] for each in stats.values()] == [(1, 1), (1, 1)]
    assert len(ms.stats("daily.load")) == 2 and ms.stats("daily.pull")[0].p50 is not None
    failed = command(project, "status", check=False)
    assert failed.returncode == 3 and "none open" in failed.stdout, failed
    assert "everything adds up" in command(project, "db", "verify").stdout


def test_the_commands_know_a_server(project):
    assert "schema" in command(project, "db", "upgrade").stdout
    assert "nothing to do" in command(project, "db", "upgrade").stdout
    command(project, "run", "orders")
    assert "SUCCESS" in command(project, "runs").stdout
    assert "three" in command(project, "logs", "1").stdout
    assert "everything adds up" in command(project, "db", "verify").stdout
    shown = json.loads(command(project, "config", "show", "--json").stdout)
    assert "locked:***@" in shown["values"]["database"]["value"]


def test_a_scheduler_serves_and_status_says_when_the_server_is_away(project, server):
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith("MAINSPRING_")}
    log = project / "up.log"
    with log.open("wb") as said:
        up = subprocess.Popen([sys.executable, "-m", "mainspring", "up"], cwd=project,
                              env=environment, stdout=said, stderr=said)
    try:
        wait_for(lambda: command(project, "status", "--quiet", check=False).returncode == 0, log)
        triggered = command(project, "trigger", "orders")
        assert "run" in triggered.stdout
        # It has the dag, and whoever applies the plan has not.
        applied = command(project, "backfill", "daily", "--from", "2024-01-01", "--to",
                          "2024-01-04", "--apply")
        assert "S SUCCESS 8" in applied.stdout, applied
        wait_for(lambda: log.read_text().count("of daily made: backfill") == 4, log)
        server.stop()
        away = command(project, "status", check=False)
        assert away.returncode not in (0, 3), away
        assert "is away" in away.stderr and "hint" in away.stderr, away.stderr
        wait_for(lambda: "nothing can be written" in log.read_text(), log)
        server.start()
        wait_for(lambda: "can be written again" in log.read_text(), log)
        command(project, "trigger", "orders")
        assert "everything adds up" in command(project, "db", "verify").stdout
    finally:
        if server.process is None:
            server.start()
        up.terminate()
        assert up.wait(60) == 0, log.read_text()
    assert "hunter2" not in log.read_text()


def wait_for(holds, log, seconds=60.0):
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, log.read_text()
        time.sleep(0.1)
