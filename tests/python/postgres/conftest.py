"""A PostgreSQL server for the tests of this folder, and a schema for each of them."""

import itertools
import os
import pwd
import subprocess
import tempfile
import time
from pathlib import Path

import mainspring as ms
import pytest

COUNT = itertools.count()


class Server:
    """A server on a socket in a folder of its own; with a port also on this machine's address.

    `copy_of` is another server, of which this is a standby.
    """

    def __init__(self, bin: str, folder: Path, *, port: "int | None" = None,
                 copy_of: "Server | None" = None) -> None:
        self.bin, self.folder, self.port = Path(bin), folder, port
        self.process: "subprocess.Popen[bytes] | None" = None
        # Root may not run a server.
        root = os.geteuid() == 0
        self.who = {"user": "nobody", "group": pwd.getpwnam("nobody").pw_gid,
                    "extra_groups": []} if root else {}
        folder.chmod(0o755)
        if root:
            os.chown(folder, pwd.getpwnam("nobody").pw_uid, -1)
        data = str(folder / "data")
        if copy_of is not None:
            self.run("pg_basebackup", "-h", str(copy_of.folder), "-p", str(copy_of.port), "-U", "postgres", "-R", "-X",
                     "stream", "-c", "fast", "-D", data)
            self.start()
            return
        self.run("initdb", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync",
                 "-D", data)
        rules = ("local replication all trust\nlocal all locked scram-sha-256\nlocal all all trust\n"
                 "host all locked 127.0.0.1/32 scram-sha-256\n")
        (folder / "data" / "pg_hba.conf").write_text(rules)
        self.start()
        self.psql("CREATE USER locked SUPERUSER PASSWORD 'hunter2'")

    def run(self, name: str, *words: str, **options: object) -> str:
        done = subprocess.run([self.bin / name, *words], **self.who, cwd="/", text=True,
                              env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"}, check=False,
                              capture_output=True, timeout=120, **options)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def start(self) -> None:
        log = open(self.folder / "log", "ab")
        self.process = subprocess.Popen(
            [self.bin / "postgres", "-D", self.folder / "data", "-F", "-k", self.folder,
             "-c", f"listen_addresses={'127.0.0.1' if self.port else ''}",
             "-c", f"port={self.port or 5432}", "-c", "full_page_writes=off"],
            **self.who, cwd="/", env={"LC_ALL": "C"}, stdout=log, stderr=log)
        log.close()
        for _ in range(600):
            ready = subprocess.run([self.bin / "pg_isready", "-q", "-h", self.folder, "-p",
                                    str(self.port or 5432)], check=False)
            if ready.returncode == 0:
                return
            time.sleep(0.05)
        raise AssertionError((self.folder / "log").read_text())

    def stop(self) -> None:
        if self.process is not None:
            self.process.send_signal(3)  # SIGQUIT: at once
            self.process.wait(60)
            self.process = None

    def psql(self, text: str) -> str:
        return self.run("psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-U", "postgres",
                        "-h", str(self.folder), "-p", str(self.port or 5432), input=text)

    def url(self) -> str:
        """A schema that nobody has used; with a password, which nobody is to see."""
        return (f"postgresql://locked:hunter2@/postgres?host={self.folder}"
                f"&schema=s{next(COUNT)}")


@pytest.fixture(scope="session")
def server():
    bin = os.environ.get("MAINSPRING_POSTGRES_BIN")
    if bin is None:
        pytest.fail("these tests need a PostgreSQL server: run `make test-python`, or set "
                    "MAINSPRING_POSTGRES_BIN=$(tools/postgres)")
    with tempfile.TemporaryDirectory(prefix="mainspring-pg-", ignore_cleanup_errors=True) as folder:
        made = Server(bin, Path(folder))
        try:
            yield made
        finally:
            made.stop()


@pytest.fixture
def url(server, database, tmp_path, monkeypatch):
    """The database of this process, and of the commands that a test starts."""
    # Logs and locks lie there, where there is no project.
    monkeypatch.setenv("MAINSPRING_HOME", str(tmp_path / "home"))
    place = server.url()
    ms.use(place)
    yield place
    ms._session.close(place)
    ms.use(None)
