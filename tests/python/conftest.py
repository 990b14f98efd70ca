"""What every Python test has: a database of its own, and warnings that are errors."""

import signal

import mainspring as ms
import pytest

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell lets what it starts with `&` ignore Ctrl-C, and so would all that the tests start.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def database(monkeypatch):
    """An empty database in a folder of its own; nothing of this machine's settings."""
    for name in ("MAINSPRING_DATABASE", "MAINSPRING_HOME"):
        monkeypatch.delenv(name, raising=False)
    with ms.testing.isolated() as folder:
        yield folder / "mainspring.db"
