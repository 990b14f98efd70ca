"""A standby takes the place of the server while a scheduler works."""

import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from postgres.conftest import Server
from postgres.test_server import DAG, command, wait_for


@pytest.fixture
def pair():
    """A server, and a standby of it, each on a port."""
    bin = os.environ["MAINSPRING_POSTGRES_BIN"]
    made: list[Server] = []
    with tempfile.TemporaryDirectory(prefix="mainspring-pg-", ignore_cleanup_errors=True) as top:
        os.chmod(top, 0o755)
        try:
            for name in ("first", "second"):
                folder = Path(top) / name
                folder.mkdir()
                with socket.socket() as free:
                    free.bind(("127.0.0.1", 0))
                    port = free.getsockname()[1]
                made.append(Server(bin, folder, port=port, copy_of=made[0] if made else None))
            yield made
        finally:
            for server in made:
                server.stop()


def test_a_scheduler_goes_on_with_the_standby_that_was_promoted(pair, tmp_path):
    first, second = pair
    url = f"postgresql://locked:hunter2@127.0.0.1:{second.port},127.0.0.1:{first.port}/postgres"
    (tmp_path / "mainspring.toml").write_text(f'database = "{url}"\ndags = ["dags"]\n')
    (tmp_path / "dags").mkdir()
    (tmp_path / "dags" / "orders.py").write_text(DAG)
    alone = url.replace(f",127.0.0.1:{first.port}", "")
    # The standby is asked by who asks; who would write is sent to the other.
    refused = command(tmp_path, "run", "daily", "--database", alone, check=False)
    assert refused.returncode == 1 and "is a standby" in refused.stderr, refused.stderr
    log = tmp_path / "up.log"
    with log.open("wb") as said:
        up = subprocess.Popen([sys.executable, "-m", "mainspring", "up"], cwd=tmp_path,
                              stdout=said, stderr=said)
    try:
        wait_for(lambda: command(tmp_path, "status", "--quiet", check=False).returncode == 0, log)
        command(tmp_path, "backfill", "daily", "--from", "2024-01-01", "--to", "2024-01-02",
                "--apply")
        # What the standby has not got yet is lost with the first: that is the server's choice.
        wait_for(lambda: first.psql("SELECT count(*) FROM pg_stat_replication WHERE replay_lsn = "
                                    "pg_current_wal_lsn()") == "1", log)
        assert "S SUCCESS 4" in command(tmp_path, "backfills", "1", "--database", alone).stdout
        first.stop()
        wait_for(lambda: "nothing can be written" in log.read_text(), log)
        away = command(tmp_path, "status", check=False)
        assert away.returncode == 1 and "is away" in away.stderr, away
        second.psql("SELECT pg_promote()")
        wait_for(lambda: "can be written again" in log.read_text(), log)
        done = command(tmp_path, "backfill", "daily", "--from", "2024-01-01", "--to", "2024-01-03",
                       "--apply").stdout
        assert "2 of 6 cells are computed, 1 run" in done and "S SUCCESS 2" in done, done
        assert "everything adds up" in command(tmp_path, "db", "verify").stdout
    finally:
        up.terminate()
        assert up.wait(60) == 0, log.read_text()
    assert "hunter2" not in log.read_text()
