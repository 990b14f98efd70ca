"""Settings: precedence, origins, and what is refused."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from mainspring import _config
from mainspring._config import load_settings
from mainspring.errors import ConfigError


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "project"
    made.mkdir()
    return made


def refused(root: Path, **arguments: Any) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load_settings(arguments, {}, root)
    return [f"{problem.place}: {problem.message}" for problem in caught.value.problems]


def test_without_a_project_the_database_is_at_home(root: Path) -> None:
    found = load_settings(None, {"HOME": "/nowhere"}, root)
    assert found.file is None
    assert found.database == os.path.join(found.home, "mainspring.db")
    assert found.home == os.path.expanduser("~/.mainspring")
    assert found.dags == (str(root / "dags"),)
    assert set(found.origins.values()) == {"default"}


def test_with_a_project_it_is_beside_the_project_file(root: Path) -> None:
    (root / "mainspring.toml").write_text("")
    below = root / "a" / "b"
    below.mkdir(parents=True)
    found = load_settings(None, {}, below)
    assert found.file == str(root / "mainspring.toml")
    assert found.database == str(root / ".mainspring" / "mainspring.db")
    assert found.dags == (str(root / "dags"),)


def test_argument_before_environment_before_file_before_default(root: Path) -> None:
    file = root / "mainspring.toml"
    file.write_text('slots = 4\ndatabase = "a.db"\ntimezone = "Asia/Shanghai"\n')
    environ = {"MAINSPRING_SLOTS": "5", "MAINSPRING_DATABASE": "b.db"}
    found = load_settings({"slots": 6, "database": None}, environ, root)
    assert (found.slots, found.origins["slots"]) == (6, "argument")
    assert found.database == str(root / "b.db")
    assert found.origins["database"] == "MAINSPRING_DATABASE"
    assert (found.timezone, found.origins["timezone"]) == ("Asia/Shanghai", str(file))
    assert (found.log_level, found.origins["log_level"]) == ("warning", "default")


def test_paths_of_a_file_count_from_the_file_and_others_from_here(root: Path) -> None:
    (root / "mainspring.toml").write_text('database = "x/y.db"\ndags = ["one", "two"]\n')
    here = root / "deep"
    here.mkdir()
    assert load_settings(None, {}, here).database == str(root / "x" / "y.db")
    assert load_settings({"database": "z.db"}, {}, here).database == str(here / "z.db")
    assert load_settings(None, {}, here).dags == (str(root / "one"), str(root / "two"))
    two = os.pathsep.join(["p", "q"])
    environ = {"MAINSPRING_DAGS": two}
    assert load_settings(None, environ, here).dags == (str(here / "p"), str(here / "q"))


def test_tables(root: Path) -> None:
    (root / "mainspring.toml").write_text(
        '[defaults]\nretries = 2\nretry_interval = "30s"\nretry_backoff = "fixed"\n'
        '[pools]\nwarehouse = 4\n[types.sql]\nurl = "x"\n'
    )
    found = load_settings(None, {}, root)
    assert dict(found.defaults) == {
        "retries": 2,
        "retry_interval": "30s",
        "retry_backoff": "FIXED",
    }
    assert dict(found.pools) == {"warehouse": 4}
    assert dict(found.types) == {"sql": {"url": "x"}}
    assert found.origins["defaults.retries"] == str(root / "mainspring.toml")


def test_pyproject_counts_only_with_our_table(root: Path) -> None:
    (root / "mainspring.toml").write_text("slots = 3")
    inner = root / "inner"
    inner.mkdir()
    (inner / "pyproject.toml").write_text('[project]\nname = "mainspring-user"\n')
    assert load_settings(None, {}, inner).slots == 3
    (inner / "pyproject.toml").write_text("[tool.mainspring]\nslots = 7\n")
    assert load_settings(None, {}, inner).slots == 7
    (inner / "mainspring.toml").write_text("slots = 8")
    both = load_settings(None, {}, inner)
    assert both.slots == 8
    assert "is not read" in both.notes[0]


def test_a_broken_pyproject_of_somebody_else_is_none_of_our_business(root: Path) -> None:
    (root / "pyproject.toml").write_text("[[[")
    assert load_settings(None, {}, root).file is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("slotz = 3", "unknown key 'slotz'; did you mean 'slots'?"),
        ("[defaults]\nretrys = 3", "unknown key 'defaults.retrys'; did you mean 'retries'?"),
        ('slots = "many"', "slots must be a whole number, not 'many'"),
        ("slots = true", "slots must be a whole number, not True"),
        ("slots = 0", "slots must be 1 to 100000, not 0"),
        ("database = 3", "database must be a text, not 3"),
        ('database = ""', "database must be a text, not ''"),
        ('dags = "dags"', "dags must be a list of texts, not 'dags'"),
        ("pools = 3", "pools must be a table, not 3"),
        ("[pools]\na = -1", "pools.a must be 0 to 1000000, not -1"),
        ('log_level = "loud"', "log_level must be one of debug, info, warning, error, not 'loud'"),
        ("busy_wait = 30", "busy_wait must be a duration with its unit"),
        ("[defaults]\ntimeout = 30", "defaults.timeout must be a duration with its unit"),
        ('[defaults]\nretry_backoff = "slow"', "defaults.retry_backoff must be one of fixed"),
        ("[defaults]\npriority = 12", "defaults.priority must be 0 to 9, not 12"),
        ("[defaults]\nretries = 1\nmax_attempts = 1", "disagree"),
        ("slots = ", "is not valid TOML"),
        ('timezone = "Asia/Shangai"', "is not a time zone: 'Asia/Shangai'; did you mean"),
    ],
)
def test_refused(root: Path, text: str, message: str) -> None:
    file = root / "mainspring.toml"
    file.write_text(text)
    (told,) = refused(root)
    assert told.startswith(str(file))
    assert message in told


def test_every_problem_is_told_at_once(root: Path) -> None:
    (root / "mainspring.toml").write_text('slots = "x"\nnope = 1\n[pools]\na = "b"\n')
    assert len(refused(root, log_level="loud")) == 4


def test_not_utf8(root: Path) -> None:
    (root / "mainspring.toml").write_bytes(b"# \xff\n")
    (told,) = refused(root)
    assert "is not UTF-8 text" in told


def test_a_byte_order_mark_is_no_harm(root: Path) -> None:
    (root / "mainspring.toml").write_bytes(b"\xef\xbb\xbfslots = 3\r\n")
    assert load_settings(None, {}, root).slots == 3


def test_variables(root: Path) -> None:
    environ = {"MAINSPRING_BUSY_WAIT": "2m", "MAINSPRING_SLOTS": "", "MAINSPRING_SLOT": "3"}
    found = load_settings(None, environ, root)
    assert found.busy_wait == 120.0
    assert found.origins["busy_wait"] == "MAINSPRING_BUSY_WAIT"
    assert found.origins["slots"] == "default"
    assert "did you mean 'MAINSPRING_SLOTS'?" in found.notes[0]
    with pytest.raises(ConfigError, match="MAINSPRING_SLOTS: slots must be a whole number"):
        load_settings(None, {"MAINSPRING_SLOTS": "x"}, root)


def test_the_project_can_be_named(root: Path, tmp_path: Path) -> None:
    (root / "mainspring.toml").write_text("slots = 3")
    assert load_settings({"project": str(root)}, {}, tmp_path).slots == 3
    assert load_settings({"project": "project/mainspring.toml"}, {}, tmp_path).slots == 3
    assert load_settings(None, {"MAINSPRING_PROJECT": str(root)}, tmp_path).slots == 3
    assert "no such project" in refused(root, project="nowhere")[0]


def test_settings_of_the_process_are_read_once(root: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(root)
    _config.reset()
    try:
        first = _config.settings()
        assert _config.settings() is first
        with pytest.raises(AttributeError):
            first.slots = 3
        other = load_settings({"slots": 9}, {}, root)
        _config.reset(other)
        assert _config.settings().slots == 9
    finally:
        _config.reset()
