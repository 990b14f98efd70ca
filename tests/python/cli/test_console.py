"""Text made safe for a terminal, and tables."""

from __future__ import annotations

import io
import json
import sys

import pytest
from mainspring.cli._console import Console, clean, clean_block, cut, pad, width
from mainspring.cli._words import clock, duration, iso


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("上海 é", "上海 é"),
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("a\nb\tc\r", "a\\nb\\tc\\r"),
        ("\x9b2J", "\\x9b2J"),
        ("evil\u202egnp.exe", "evil\\u202egnp.exe"),
        ("\udcff", "\\udcff"),
        ("\x00\x7f", "\\x00\\x7f"),
    ],
)
def test_clean(text: str, shown: str) -> None:
    assert clean(text) == shown


def test_a_block_keeps_its_lines() -> None:
    assert clean_block("a\r\nb\tc\x1b]0;title\x07\nd") == "a\nb\tc\\x1b]0;title\\x07\nd"


def test_width() -> None:
    assert width("abc") == 3
    assert width("上海") == 4
    assert width("e\u0301") == 1
    assert pad("上海", 6) == "上海  "
    assert cut("上海上海上海", 8) == "上海..."
    assert cut("abcdefgh", 8) == "abcdefgh"


def test_table_with_wide_letters(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    rows = [["上海", "SUCCESS", "1"], ["b\x1b", "FAILED", "12"]]
    Console().table(["NAME", "STATE", "N"], rows, right=[2])
    assert out.getvalue().split("\n") == [
        "NAME   STATE     N",
        "上海   SUCCESS   1",
        "b\\x1b  FAILED   12",
        "",
    ]


def test_json_is_alone_on_stdout(monkeypatch: pytest.MonkeyPatch) -> None:
    out, err = io.StringIO(), io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    console = Console(json=True)
    print("an author's print")
    console.line("for people")
    console.document({"a": "上海\udcff"})
    console.close()
    assert json.loads(out.getvalue()) == {"a": "上海\udcff"}
    assert err.getvalue() == "an author's print\n"
    assert sys.stdout is out


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (None, "-"),
        (0, "0ms"),
        (0.0123, "12ms"),
        (0.5, "0.5s"),
        (59.99, "1m 00s"),
        (61, "1m 01s"),
        (3661, "1h 01m"),
    ],
)
def test_duration(seconds: float | None, shown: str) -> None:
    assert duration(seconds) == shown


def test_times() -> None:
    assert iso(1_358_208_000_000_000) == "2013-01-15T00:00:00Z"
    assert iso(None) is None
    assert clock(None) == "-"
