"""versions, promote and rollback: from a project's files to what a scheduler runs."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import mainspring as ms
import pytest

from .conftest import Project, wait_for

ORDER = """
    import mainspring as ms

    with ms.Dag("order") as dag:

        @ms.task(retries={retries})
        def settle() -> str:
            return "{word}"

        settle()
"""


def write(project: Project, word: str, retries: int = 0) -> None:
    project.write("dags/order.py", ORDER.format(word=word, retries=retries))


@pytest.fixture
def order(project: Project) -> Project:
    """A project whose task has three versions that were run."""
    for retries in range(3):
        write(project, "word", retries)
        assert project("run", "order").code == 0
    return project


def states(project: Project) -> list[tuple[int, str]]:
    found = project("versions", "order.settle", "--json").json
    return [(each["version"], each["state"]) for each in found["versions"]]


class TestVersions:
    def test_a_table(self, order: Project) -> None:
        said = order("versions", "order.settle")
        assert said.code == 0, said
        head, *rows = said.out.splitlines()
        assert head.split() == ["VERSION", "STATE", "MADE", "TYPE", "HANDLER", "CODE", "SOURCE"]
        assert [row.split()[:2] for row in rows] == [["3", "active"], ["2", "-"], ["1", "-"]]
        assert "dags/order.py:" in rows[0]

    def test_json(self, order: Project) -> None:
        found = order("versions", "order.settle", "--json").json
        assert found["task"] == "order.settle"
        assert found["releases"] == []
        newest = found["versions"][0]
        assert (newest["version"], newest["state"], newest["type"]) == (3, "active", "python")

    def test_promote_and_rollback(self, order: Project) -> None:
        said = order("promote", "order.settle", "--version", "3", "--percent", "10")
        assert said.code == 0, said
        assert "10 % of the business dates take version 3, the others 2" in said.out
        said = order("promote", "order.settle", "--version", "3", "--percent", "10", "--json")
        assert said.json["changed"] is False
        said = order("promote", "order.settle", "--version", "3", "--from-biz-date", "20240501")
        assert "from 2024-05-01 on take version 3, earlier ones 2" in said.out
        assert states(order) == [(3, "from 2024-05-01"), (2, "active"), (1, "")]
        assert "version 2, whatever is registered" in order("rollback", "order.settle").out
        assert "version 1, whatever" in order("rollback", "order.settle", "--version", "1").out
        # What the file says is registered again, and does not undo it.
        assert order("run", "order").code == 0
        assert states(order) == [(3, "registered"), (2, ""), (1, "pinned")]
        assert order("show", "order", "--run", "last").code == 0
        said = order("promote", "order.settle", "--version", "3")
        assert "take version 3, and later ones as they are registered" in said.out
        assert order("db", "verify").code == 0
        releases = order("versions", "order.settle", "--json").json["releases"]
        assert [each["version"] for each in releases] == [1, 2, 3, 3]
        assert all(each["created_by"] and each["ended_at"] for each in releases)

    @pytest.mark.parametrize(("words", "code", "says"), [
        (["versions", "order.settl"], 2, "did you mean order.settle?"),
        (["versions", "nobody.settle"], 2, "dag nobody is not registered"),
        (["promote", "order.settle", "--version", "4"], 1, "there are: 1, 2, 3"),
        (["promote", "order.settle"], 2, "--version"),
        (["promote", "order.settle", "--version", "1", "--percent", "0"], 2, "from 1 to 100"),
        (["promote", "order.settle", "--version", "1", "--percent", "101"], 2, "from 1 to 100"),
        (["promote", "order.settle", "--version", "1", "--percent", "5", "--from-biz-date",
          "2024-05-01"], 2, "not allowed"),
        (["promote", "order.settle", "--version", "1", "--from-biz-date", "x"], 2, "is no date"),
        (["rollback", "order.settle", "--version", "9"], 1, "there is no version 9"),
    ])
    def test_what_is_wrong(
        self, order: Project, words: list[str], code: int, says: str
    ) -> None:
        said = order(*words)
        assert (said.code, says in said.err) == (code, True), said
        assert "Traceback" not in said.err
        assert states(order) == [(3, "active"), (2, ""), (1, "")]

    def test_nothing_was_run_yet(self, project: Project) -> None:
        said = project("versions", "order.settle")
        assert said.code != 0
        assert "there is no database" in said.err


@contextmanager
def up(project: Project) -> Iterator[subprocess.Popen[str]]:
    process = project.start("up", "--log", "json")
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 0, out + err


def ran(project: Project) -> str:
    """Have the scheduler make a run, and return what its task gave."""
    said = project("trigger", "order", "--json")
    assert said.code == 0, said
    number = str(said.json["run"])
    ended = wait_for(
        lambda: next((run for run in project("runs", "--json").json["runs"]
                      if str(run["id"]) == number and run["state"] != "RUNNING"), None),
        f"run {number}",
    )
    assert ended["state"] == "SUCCESS", project("logs", number)
    text = "SELECT result FROM task_run WHERE run_id = ?"
    [row] = ms.sql(text, int(number), database=project.root / ".mainspring" / "mainspring.db")
    return str(json.loads(row["result"]))


def test_a_scheduler_runs_the_code_of_the_version_that_was_chosen(project: Project) -> None:
    write(project, "old")
    with up(project):
        wait_for(lambda: project("status", "--quiet").code == 0, "the scheduler is up")
        wait_for(lambda: project("trigger", "order").code == 0, "the dag is served")
        assert ran(project) == "old"
        write(project, "new")
        wait_for(lambda: states(project) == [(2, "active"), (1, "")], "the edit is registered")
        wait_for(lambda: ran(project) == "new", "the edit is served")
        assert project("rollback", "order.settle").code == 0
        wait_for(lambda: ran(project) == "old", "the rollback is noticed")
        assert ran(project) == "old"
        # Other content in the same file: the pinned version is still that of then.
        write(project, "newer")
        wait_for(lambda: states(project)[0] == (3, "registered"), "the edit is registered")
        assert ran(project) == "old"
    # Another scheduler has it from the database.
    with up(project):
        wait_for(lambda: project("status", "--quiet").code == 0, "the scheduler is up")
        wait_for(lambda: project("trigger", "order").code == 0, "the dag is served")
        assert ran(project) == "old"
        assert project("promote", "order.settle", "--version", "3").code == 0
        wait_for(lambda: ran(project) == "newer", "the promotion is noticed")
    assert project("db", "verify").code == 0
