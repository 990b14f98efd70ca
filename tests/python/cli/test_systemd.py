"""The unit: what systemd itself says of it where it is there, and what a parser says everywhere."""

from __future__ import annotations

import shutil
import subprocess
from configparser import RawConfigParser
from pathlib import Path

import pytest
from mainspring._config import load_settings
from mainspring.cli.systemd import unit

from .conftest import Project

PATHS = ["plain", "with space", 'quo"te', "per%cent", "dol$lar", "日报"]


def parsed(text: str) -> RawConfigParser:
    """The unit by a parser as strict as systemd's: sections, keys, no key twice."""
    parser = RawConfigParser(delimiters=("=",), comment_prefixes=("#",), strict=True)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(text)
    return parser


def words(line: str) -> list[str]:
    """A command line parted and expanded as systemd.service(5) and systemd.unit(5) say."""
    found, at = [], 0
    while at < len(line):
        word, quoted = "", line[at] == '"'
        at += quoted
        while at < len(line) and line[at] != ('"' if quoted else " "):
            if line[at] == "\\":
                at += 1
                word += line[at]
            elif line[at] in "%$":
                assert line[at + 1] == line[at], "a specifier or a variable"
                word += line[at]
                at += 1
            else:
                word += line[at]
            at += 1
        found.append(word)
        at += 1 + quoted
    return found


@pytest.mark.parametrize("name", PATHS)
@pytest.mark.parametrize("user", [None, "etl"])
def test_the_unit_is_what_systemd_reads(tmp_path: Path, name: str, user: str | None) -> None:
    root = tmp_path / name
    root.mkdir()
    (root / "mainspring.toml").write_text("")
    python = root / "python"
    python.write_text("#!/bin/sh\n")
    python.chmod(0o755)
    settings = load_settings({"project": str(root)}, {})
    text = unit(settings, str(python), user)
    found = parsed(text)
    assert found.sections() == ["Unit", "Service", "Install"]
    command = words(found["Service"]["ExecStart"])
    # systemd refuses some letters in the name of the program itself.
    through = ["/usr/bin/env"] if name in ('quo"te', "dol$lar") else []
    assert command == [
        *through, str(python), "-m", "mainspring", "--project", str(root / "mainspring.toml"), "up",
    ]
    assert found["Service"]["WorkingDirectory"].replace("%%", "%") == str(root)
    assert found["Service"].get("User") == user
    assert found["Service"]["Restart"] == "always"
    assert found["Service"]["KillMode"] == "mixed"
    assert found["Install"]["WantedBy"] == ("multi-user.target" if user else "default.target")
    verify = shutil.which("systemd-analyze")
    if verify is not None:  # what stands above holds without it too
        place = tmp_path / "mainspring.service"
        # A user that this machine need not have.
        place.write_text(text.replace("User=etl\n", "User=root\n"), encoding="utf-8")
        told = subprocess.run(
            [verify, "verify", str(place)], capture_output=True, text=True, timeout=60
        )
        ours = [line for line in told.stderr.splitlines() if "mainspring.service" in line]
        assert (told.returncode, ours) == (0, []), told.stderr


def test_the_command_prints_it(project: Project) -> None:
    told = project("systemd")
    assert told.code == 0, told
    assert f"WorkingDirectory={project.root}" in told.out.splitlines()
    assert project("systemd", "--json").json["unit"] == told.out
    assert "--database" not in told.out
    assert "--database" in project("systemd", "--database", "x.db").out
    assert "User=etl" in project("systemd", "--user", "etl").out.splitlines()


def test_a_name_that_no_user_has_is_refused(project: Project) -> None:
    told = project("systemd", "--user", "root\nExecStart=x")
    assert told.code == 2
    assert "is no name of a user" in told.err


def test_the_dockerfile_names_what_there_is() -> None:
    text = (Path(__file__).parents[3] / "deploy" / "Dockerfile").read_text(encoding="utf-8")
    steps = [line.split(" ", 1) for line in text.splitlines() if line and line[0].isupper()]
    assert [step for step, _ in steps] == [
        "FROM", "RUN", "COPY", "RUN", "COPY", "COPY", "RUN", "USER", "WORKDIR", "ENV",
        "STOPSIGNAL", "ENTRYPOINT", "CMD",
    ]
    last = dict((step, value) for step, value in steps)
    assert (last["USER"], last["ENTRYPOINT"], last["CMD"]) == (
        "mainspring", '["mainspring"]', '["up"]',
    )
