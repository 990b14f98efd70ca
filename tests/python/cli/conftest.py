"""Projects in temporary folders, and the command line in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

DEADLINE = 60.0


class Result:
    """What a command said and how it ended."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code = code
        self.out = out
        self.err = err

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    def __repr__(self) -> str:
        return f"code {self.code}\n--- out\n{self.out}\n--- err\n{self.err}"


class Project:
    """A folder with dag files, and the command line run in it."""

    def __init__(self, root: Path, environ: dict[str, str]) -> None:
        self.root = root
        self.environ = environ

    def write(self, name: str, text: str | bytes) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(text, bytes):
            path.write_bytes(text)
        else:
            path.write_text(textwrap.dedent(text).lstrip("\n"), encoding="utf-8")
        return path

    def start(
        self, *words: str, prefix: Sequence[str] = (), **environ: str
    ) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*prefix, sys.executable, "-m", "mainspring", *words],
            cwd=self.root,
            env={**self.environ, **environ},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            encoding="utf-8",
        )

    def __call__(self, *words: str, prefix: Sequence[str] = (), **environ: str) -> Result:
        process = self.start(*words, prefix=prefix, **environ)
        out, err = process.communicate(timeout=DEADLINE)
        return Result(process.returncode, out, err)


def wait_for(condition: Callable[[], Any], what: str, seconds: float = DEADLINE) -> Any:
    """Ask again and again until the answer is true, at most this long."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < end, f"did not happen: {what}"
        time.sleep(0.01)


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("MAINSPRING_")}
    for name in ("NO_COLOR", "FORCE_COLOR"):
        kept.pop(name, None)
    home = tmp_path / "home"
    home.mkdir()
    return {**kept, "HOME": str(home), "PYTHONUTF8": "1", "COLUMNS": "100"}


@pytest.fixture
def project(tmp_path: Path, environ: dict[str, str]) -> Project:
    """An empty project with a project file."""
    root = tmp_path / "project"
    root.mkdir()
    made = Project(root, environ)
    made.write("mainspring.toml", "")
    return made
