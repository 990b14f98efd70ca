"""``%mainspring``: plan, backfill, explain, with the words of the command line."""

import mainspring as ms
import pytest
from mainspring._magic import magic

pytest.importorskip("IPython")


class Plan:
    def __init__(self, given):
        self.given = given

    def apply(self):
        return ("applied", self.given)


@pytest.fixture
def backfill(monkeypatch):
    """What stands for ``ms.backfill`` and gives back how it was called."""
    def fake(dag, start, end, **given):
        return Plan({"dag": dag, "start": start, "end": end, **given})
    monkeypatch.setattr(ms, "backfill", fake, raising=False)


def test_a_plan_is_returned_and_nothing_is_applied(backfill):
    plan = magic("plan orders 2024-01-01 2024-03-31", {})
    assert plan.given == {
        "dag": "orders", "start": "2024-01-01", "end": "2024-03-31", "only": "missing",
        "order": "asc", "max_active": 4, "tasks": None, "upstream": False, "downstream": False,
        "params": None, "on_failure": "continue", "dry_run": True}


def test_a_backfill_is_planned_and_applied(backfill):
    dag = ms.Dag.from_graph("orders", ["load"])
    word, given = magic(
        "backfill shop 2024-01-01 2024-01-02 --only failed --order desc --max-active 8 "
        "--task load --task clean --upstream --downstream --param 'region=EU north' --param n=3 "
        "--on-failure stop", {"shop": dag})
    assert word == "applied" and given["dag"] is dag
    assert given["only"] == "failed" and given["order"] == "desc" and given["max_active"] == 8
    assert given["tasks"] == ["load", "clean"] and given["upstream"] and given["downstream"]
    assert given["params"] == {"region": "EU north", "n": 3} and given["on_failure"] == "stop"


@pytest.mark.parametrize(("line", "says"), [
    ("plan orders 2024-01-01", "the following arguments are required: TO"),
    ("plna orders 2024-01-01 2024-01-02", "did you mean 'plan'"),
    ("plan orders 2024-01-01 2024-01-02 --only bad", "unknown word 'bad'"),
    ("plan orders 2024-01-01 2024-01-02 --max-active 0", "a whole number from 1"),
    ("plan orders 2024-01-01 2024-01-02 --param x", "is not NAME=VALUE"),
    ("plan 'orders", "No closing quotation"),
    ("", "required"),
    ("explain nobody load", "'nobody' is no run"),
    ("explain load", "there is no run yet"),
])
def test_what_is_written_wrongly_is_told_without_a_traceback(backfill, line, says):
    with pytest.raises(Exception, match=says) as caught:
        magic(line, {})
    assert type(caught.value).__name__ == "UsageError"
    assert caught.value.__suppress_context__


def test_explain_takes_a_number_a_variable_or_the_newest_run(capsys):
    ms.Dag.from_graph("abc", ["a", "b"], [("a", "b")]).run("2024-01-01")
    run = ms.Dag.from_graph("xyz", ["x"]).run("2024-01-02")
    for line in ("explain x", "explain last x", "explain 2 x", "explain mine x", "explain xyz.x",
                 "explain 1 b", "explain abc.b"):
        assert magic(line, {"mine": run}) is None
    lines = [line.partition(" is ")[0] for line in capsys.readouterr().out.splitlines()]
    assert lines == ["x of run 2"] * 5 + ["b of run 1"] * 2


def test_help_is_printed(capsys):
    assert magic("--help", {}) is None
    assert "plan|backfill|explain" in capsys.readouterr().out
    assert magic("plan --help", {}) is None
    assert "--max-active N" in capsys.readouterr().out


def test_a_shell_gets_it_and_loses_it_again():
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell()
    try:
        shell.run_line_magic("load_ext", "mainspring")
        shell.user_ns["run"] = ms.Dag.from_graph("abc", ["a"]).run("2024-01-01")
        assert shell.run_line_magic("mainspring", "explain run a") is None
        shell.run_line_magic("unload_ext", "mainspring")
        assert shell.find_line_magic("mainspring") is None
    finally:
        shell.history_manager.end_session() if hasattr(shell.history_manager, "end_session") else 0
