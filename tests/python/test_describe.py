"""An exception in words, whatever it does when it is asked."""

import asyncio
import socket
import sqlite3

import mainspring as ms
import pytest
from mainspring._describe import MESSAGE_LIMIT, describe


class Mute(Exception):
    def __str__(self):
        raise RuntimeError("no words")


class Killer(Exception):
    def __str__(self):
        raise SystemExit(3)


class HTTPError(Exception):
    def __init__(self, code):
        self.code = code


class StatusError(Exception):
    def __init__(self, code):
        self.response = type("Response", (), {"status_code": code})()


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ValueError("x"), "ValueError"),
        (sqlite3.OperationalError("database is locked"), "OperationalError"),
        (asyncio.CancelledError(), "CancelledError"),
        (ms.Fail("x", code="INCOMPLETE"), "INCOMPLETE"),
        (ms.Fail("x"), "FAIL"),
        (SystemExit(3), "EXIT_3"),
        (SystemExit(), "EXIT_0"),
        (SystemExit("bad"), "EXIT_1"),
        (ConnectionResetError(), "CONN_RESET"),
        (ConnectionRefusedError(), "CONN_REFUSED"),
        (TimeoutError(), "CONN_TIMEOUT"),
        (TimeoutError(), "CONN_TIMEOUT"),
        (socket.gaierror(-2, "x"), "DNS"),
        (HTTPError(404), "HTTP_4XX"),
        (HTTPError(503), "HTTP_5XX"),
        (StatusError(500), "HTTP_5XX"),
        (HTTPError(7), "HTTPError"),
        (Mute(), "Mute"),
    ],
)
def test_codes(error, code):
    assert describe(error)[0] == code


@pytest.mark.parametrize("error", [Mute(), Killer()])
def test_an_exception_without_words(error):
    kind = type(error).__name__
    assert describe(error)[2] == f"<the message of {kind} cannot be read>"


def test_long_messages_are_cut():
    message = describe(ValueError("ä" * MESSAGE_LIMIT))[2]
    assert len(message.encode()) <= MESSAGE_LIMIT + 20
    assert message.endswith("(cut)")


def test_lone_surrogates_are_replaced():
    code, kind, message, trace, kinds = describe(ValueError("a\ud800b"))
    for text in (code, kind, message, trace, *kinds):
        text.encode("utf-8")
    assert message == "a?b"


def test_the_traceback_begins_at_the_authors_code():
    from mainspring._host import call

    def author():
        raise ValueError("x")

    with pytest.raises(ValueError, match="x") as caught:
        call(author, {}, None)
    error = caught.value
    error.__traceback__ = error.__traceback__.tb_next  # this test's own frame
    lines = describe(error)[3].splitlines()
    assert "in author" in lines[1]
    assert not any("_host.py" in line for line in lines)


def test_a_stop_of_ours_has_words():
    assert describe(ms.AttemptTimeout())[2] == "it ran longer than its timeout"
    assert describe(ms.AttemptCanceled())[2] == "it was asked to stop"
    assert describe(ms.AttemptTimeout("mine"))[2] == "mine"
    assert describe(ValueError())[2] == ""
