"""The words of the command line itself: help, versions, and what is written wrongly."""

from __future__ import annotations

import pytest

from .conftest import Project

COMMANDS = ["init", "check", "list", "show", "run", "runs", "logs", "rerun", "db", "config"]


def test_version_and_help(project: Project) -> None:
    told = project("--version")
    assert told.code == 0
    assert told.out.startswith("mainspring 0.")
    told = project("--help")
    assert told.code == 0
    for command in COMMANDS:
        assert f"\n    {command} " in told.out
    assert "exit codes" in told.out


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_has_help(project: Project, command: str) -> None:
    told = project(command, "--help")
    assert told.code == 0
    assert told.out.startswith(f"usage: mainspring {command}")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "required"),
        (["chek"], "did you mean 'check'?"),
        (["db", "verfy"], "did you mean 'verify'?"),
        (["run"], "which dag?"),
        (["run", "x", "--nope"], "unrecognized arguments: --nope"),
        (["runs", "-n", "0"], "must be a whole number from 1, not '0'"),
        (["runs", "--state", "DONE"], "a run is never 'DONE'"),
        (["runs", "--biz-date", "yesterday"], "--biz-date is no date: 'yesterday'"),
        (["run", "x", "--biz-date", "2013-02-30"], "--biz-date is no date"),
        (["run", "x", "--from", "2013-01-02"], "--from and --to belong together"),
        (["run", "x", "--from", "2013-01-02", "--to", "2013-01-01"], "is after"),
        (["run", "x", "--from", "0001-01-01", "--to", "9999-12-31"], "more than"),
        (["run", "x", "--biz-date", "2013-01-02", "--to", "2013-01-03"], "is one day"),
        (["run", "x", "--resume", "3", "--only", "a"], "--only does not go with --resume"),
        (["rerun", "3", "--failed", "--task", "a"], "two different questions"),
    ],
)
def test_usage(project: Project, words: list[str], message: str) -> None:
    told = project(*words)
    assert told.code == 2, told
    assert message in told.err
    assert told.out == ""
    assert "Traceback" not in told.err


def test_an_option_may_stand_on_either_side(project: Project) -> None:
    for words in (["--json", "config", "show"], ["config", "show", "--json"]):
        told = project(*words)
        assert told.json["values"]["slots"] == {"value": 32, "from": "default"}


def test_usage_is_told_as_json_where_that_is_asked_for(project: Project) -> None:
    for words in (["bogus", "--json"], ["--json", "run", "--bad"], ["--json"]):
        told = project(*words)
        assert told.code == 2
        assert told.json["error"]
        assert told.json["hint"]
    told = project("check", "nowhere.py", "--json")
    assert told.code == 1
    assert told.json["problems"]


def test_config_show(project: Project) -> None:
    project.write("mainspring.toml", 'slots = 4\n[pools]\n"仓库" = 2\n[defaults]\nretries = 1\n')
    told = project("config", "show", "--database", "x.db", MAINSPRING_LOG_LEVEL="info")
    assert told.code == 0
    lines = {line.split()[0]: line for line in told.out.splitlines()[1:]}
    file = str(project.root / "mainspring.toml")
    assert lines["database"].split()[1:] == [str(project.root / "x.db"), "argument"]
    assert lines["log_level"].split()[1:] == ["info", "MAINSPRING_LOG_LEVEL"]
    assert lines["slots"].split()[1:] == ["4", file]
    assert lines["timezone"].split()[1:] == ["UTC", "default"]
    assert lines["pools.仓库"].split()[1:] == ["2", file]
    assert lines["defaults.retries"].split()[1:] == ["1", file]


def test_passwords_are_not_shown(project: Project) -> None:
    told = project("config", "show", "--database", "postgresql://me:secret@host/db")
    assert "secret" not in told.out + told.err
    assert "postgresql://me:***@host/db" in told.out


def test_wrong_settings_stop_every_command(project: Project) -> None:
    project.write("mainspring.toml", "slotz = 4\n[defaults]\nretries = 'x'\n")
    for words in (["list"], ["config", "show"], ["runs"]):
        told = project(*words)
        assert told.code == 1
        assert "unknown key 'slotz'; did you mean 'slots'?" in told.err
        assert "defaults.retries must be a whole number" in told.err
    told = project("list", "--json")
    assert [problem["code"] for problem in told.json["problems"]] == ["unknown_key", "wrong_value"]


def test_a_variable_that_looks_misspelt_is_told(project: Project) -> None:
    told = project("config", "show", MAINSPRING_SLOT="3")
    assert told.code == 0
    assert "did you mean 'MAINSPRING_SLOTS'?" in told.err


def test_colours_only_where_asked_for(project: Project) -> None:
    assert "\x1b" not in project("config", "show").out
    assert "\x1b" in project("config", "show", FORCE_COLOR="1").out
    assert "\x1b" not in project("config", "show", FORCE_COLOR="1", NO_COLOR="1").out
    assert "\x1b" not in project("config", "show", "--no-color", FORCE_COLOR="1").out


def test_a_reader_that_goes_away_is_no_error(project: Project) -> None:
    with project.start("config", "show") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        told = process.stderr.read()
    assert "Traceback" not in told
    assert process.returncode in (0, 141)
