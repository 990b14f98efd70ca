"""J01: other processes hold the file, fill the disk, or forbid it; nobody sees a lock."""

import os
import subprocess
import sys
import time

import mainspring as ms
import pytest

from . import _tools as tools

SHORT = '''
import os, sys, mainspring as ms
name, count = sys.argv[1], int(sys.argv[2])
dag = ms.Dag(name, database=os.environ["BASE"])
for number in range(count):
    def body() -> int:
        return 1
    body.__name__ = f"t{number}"
    dag.task(body)
if __name__ == "__main__":
    run = dag.run("2020-01-01")
    print(run.state, dict(run.counts))
'''


HOLDS = """
import sqlite3, sys, time
connection = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=30)
for _ in range(int(sys.argv[3])):
    connection.execute("BEGIN IMMEDIATE")
    print("held", flush=True)
    time.sleep(float(sys.argv[2]))
    connection.execute("COMMIT")
    time.sleep(0.005)
connection.close()
"""


def holding(folder, database, seconds, times=1):
    """Another process that holds the write lock, and has it by now."""
    child = tools.start(folder, HOLDS, database, seconds, times, name="holds.py")
    assert child.stdout.readline() == "held\n"
    return child


def short(count):
    dag = ms.Dag("short")
    for number in range(count):
        def body() -> int:
            return 1
        body.__name__ = f"t{number}"
        dag.task(body)
    return dag


@pytest.mark.parametrize("seconds", [0.1, 3.0, 30.0])
def test_another_process_writes(database, tmp_path, seconds):
    """It holds the write lock while 300 tasks run: they are late, and that is all."""
    dag = short(300)
    dag.run("2020-01-01")
    began = time.monotonic()
    holder = holding(tmp_path, database, seconds)
    run = dag.run("2020-01-02")
    took = time.monotonic() - began
    assert tools.finish(holder)[0] == 0
    assert run.state == "SUCCESS"
    assert seconds * 0.9 <= took < seconds + 20
    assert all(len(each.attempts) == 1 for each in run)
    assert tools.consistent(database) == []


def test_another_process_writes_again_and_again(database, tmp_path):
    dag = short(300)
    dag.run("2020-01-01")
    holder = holding(tmp_path, database, 0.1, 15)
    run = dag.run("2020-01-02")
    assert tools.finish(holder)[0] == 0
    assert run.state == "SUCCESS"
    assert tools.consistent(database) == []


def test_another_program_reads_and_leaves(database):
    """The last one to close a file takes the log away: that must not be a visitor."""
    dag = short(3)
    for day in range(1, 6):
        assert dag.run(f"2020-01-0{day}").state == "SUCCESS"
        wal = os.stat(f"{database}-wal").st_ino
        assert tools.rows(database, "SELECT count(*) AS n FROM run") == [{"n": day}]
        visit = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); " \
                "print(c.execute('SELECT count(*) FROM run').fetchone()[0]); c.close()"
        said = subprocess.run([sys.executable, "-c", visit, database], capture_output=True,
                              text=True, check=True)
        assert said.stdout == f"{day}\n"
        assert os.stat(f"{database}-wal").st_ino == wal
        ms.runs()
    assert tools.consistent(database) == []


def test_a_pool_shared_by_processes(tmp_path):
    """A pool of one slot holds across processes, and nobody waits for ever."""
    base, said = tmp_path / "base.db", tmp_path / "witness"
    code = tools.WITNESS + """
import sys, time
ms.pool("one", 1, database=os.environ["BASE"])
dag = ms.Dag(sys.argv[1], database=os.environ["BASE"])
for number in range(4):
    def body():
        witness("start")
        time.sleep(0.02)
        witness("end")
    body.__name__ = f"t{number}"
    dag.task(body, pool="one")
print(dag.run("2020-01-01").state)
"""
    env = {"BASE": base, "WITNESS": said}
    children = [tools.start(tmp_path, code, f"d{number}", name=f"d{number}.py", env=env)
                for number in range(2)]
    for child in children:
        ended, out, err = tools.finish(child, 60)
        assert (ended, out) == (0, "SUCCESS\n"), err
    events = [line["event"] for line in tools.lines(said)]
    assert events == ["start", "end"] * 8
    assert tools.consistent(base) == []


READS = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN")
for _ in range(2):
    print(connection.execute("SELECT count(*) FROM run").fetchone()[0], flush=True)
    sys.stdin.readline() if not _ else None
connection.execute("COMMIT")
connection.close()
"""


def test_a_reader_holds_a_snapshot(database, tmp_path):
    """The log grows while somebody reads an old state, and is used again when that is over."""
    dag = short(300)
    dag.run("2020-01-01")
    reader = tools.start(tmp_path, READS, database, name="reads.py", stdin=subprocess.PIPE)
    assert reader.stdout.readline() == "1\n"
    for day in range(2, 8):
        assert dag.run(f"2020-01-0{day}").state == "SUCCESS"
    out, _ = reader.communicate("go on\n", timeout=30)
    assert out == "1\n"
    wal = f"{database}-wal"
    for day in range(10, 13):
        assert dag.run(f"2020-01-{day}").state == "SUCCESS"
    grown = os.path.getsize(wal)
    for day in range(13, 19):
        assert dag.run(f"2020-01-{day}").state == "SUCCESS"
    assert os.path.getsize(wal) <= grown + 8 * 1024 * 1024
    assert os.path.getsize(wal) < 64 * 1024 * 1024
    assert tools.consistent(database) == []


def test_several_processes_on_one_file(tmp_path):
    """Two notebooks and a command line, all at once, on a file that none of them has made yet."""
    base = tmp_path / "base.db"
    env = {"BASE": base}
    (tmp_path / "cli.py").write_text(
        SHORT.replace("name, count = sys.argv[1], int(sys.argv[2])", "name, count = 'cli', 200"),
        encoding="utf-8")
    children = [tools.start(tmp_path, SHORT, f"book{number}", 200, name=f"book{number}.py", env=env)
                for number in range(2)]
    children.append(subprocess.Popen(
        [sys.executable, "-m", "mainspring", "run", "cli.py", "--database", str(base)],
        cwd=tmp_path, env=tools.environment(**env), text=True, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE))
    for child in children:
        code, out, err = tools.finish(child, 120)
        assert code == 0, (out, err)
        assert "locked" not in out + err
        assert "SUCCESS" in out, (out, err)
    assert tools.rows(base, "SELECT state, count(*) AS n FROM task_run GROUP BY 1") == [
        {"state": "SUCCESS", "n": 600}]
    assert tools.rows(base, "SELECT count(*) AS n FROM attempt") == [{"n": 600}]
    assert tools.consistent(base) == []
    assert tools.leases(base) == []


def test_many_processes_make_one_file(tmp_path):
    """Six at once open a file that does not exist."""
    base = tmp_path / "base.db"
    children = [tools.start(tmp_path, SHORT, f"dag{number}", 3, name=f"dag{number}.py",
                            env={"BASE": base}) for number in range(6)]
    for child in children:
        code, out, err = tools.finish(child, 60)
        assert code == 0, (out, err)
        assert "SUCCESS" in out
    assert tools.consistent(base) == []


ORDINARY = """
import os, mainspring as ms
with ms.testing.isolated():   # all that is imported later, while it can be read
    str(ms.Dag.from_graph("warm", ["a"]).run())
    ms.runs()
os.geteuid() or os.setuid(65534)
"""
"""Permissions bind everybody but root."""


def as_somebody(tmp_path, code, *arguments, **env):
    for folder in [tmp_path, *tmp_path.parents]:
        if os.geteuid() == 0 and not os.stat(folder).st_mode & 0o005:
            folder.chmod(folder.stat().st_mode | 0o055)
    return tools.run(tmp_path, ORDINARY + code, *arguments, env=env, seconds=30)


def test_a_folder_that_cannot_be_written(tmp_path):
    shut = tmp_path / "shut"
    shut.mkdir()
    shut.chmod(0o555)
    code, _, err = as_somebody(tmp_path, SHORT, "dag", 1, BASE=shut / "base.db")
    shut.chmod(0o755)
    assert code == 1
    last = err.strip().splitlines()
    assert any("StoreError" in line and str(shut) in line for line in last), err
    assert any("hint:" in line for line in last), err


def test_a_file_that_cannot_be_written(tmp_path):
    base = tmp_path / "shut" / "base.db"
    base.parent.mkdir()
    assert tools.run(tmp_path, SHORT, "dag", 1, env={"BASE": base})[0] == 0
    for path in [*base.parent.rglob("*"), base.parent]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    code, _, err = as_somebody(tmp_path, SHORT, "dag", 1, BASE=base)
    assert code == 1
    assert "StoreError" in err and "read-only" in err or "readonly" in err, err
    assert "hint:" in err
    for path in [base.parent, *base.parent.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    assert tools.run(tmp_path, SHORT, "dag", 1, env={"BASE": base})[0] == 0


FULL = '''
import os, resource, signal, sys, time, mainspring as ms
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

dag = ms.Dag("full", database=os.environ["BASE"], defaults={"retry_interval": "1ms"})
gate = __import__("threading").Event()

@dag.task
def first() -> int:
    gate.wait(20)
    return 1

@dag.task
def second(number: int) -> str:
    return "x" * 1000

dag.nodes()
with dag:
    second(first())

run = dag.run("2020-01-01", wait=False)
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
wal = os.environ["BASE"] + "-wal"
resource.setrlimit(resource.RLIMIT_FSIZE, (os.path.getsize(wal), hard))  # the disk is full
gate.set()
here = ms._session.session(os.environ["BASE"])
end = time.monotonic() + 20
while True:
    stalled = here.core.progress(run.id)["stalled"]
    if stalled:
        break
    assert time.monotonic() < end, here.core.progress(run.id)
    time.sleep(0.01)
print("stalled:", stalled)
assert ms.run(run.id, database=os.environ["BASE"]).state == "RUNNING"  # questions are answered
assert not run.wait(0.2)
try:
    dag.run("2020-01-02")
except ms.errors.StoreError as error:
    print("refused:", error)
resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))                  # there is room again
assert run.wait(20), here.core.progress(run.id)
assert run.state == "SUCCESS", run
assert here.core.progress(run.id)["stalled"] is None
print("attempts:", [len(each.attempts) for each in run])
assert dag.run("2020-01-03").state == "SUCCESS"
'''


@pytest.mark.skipif(os.name != "posix", reason="needs RLIMIT_FSIZE")
def test_a_full_disk(tmp_path):
    """Says so, waits, and goes on by itself when there is room; nothing runs twice."""
    base = tmp_path / "base.db"
    code, out, err = tools.run(tmp_path, FULL, env={"BASE": base}, seconds=60)
    assert code == 0, (out, err)
    assert "stalled: cannot write to the database" in out, out
    assert "refused: cannot write to the database" in out, out
    assert "attempts: [1, 1]" in out, out
    assert "hint:" in out
    assert tools.consistent(base) == []


def test_leaving_while_the_disk_is_full(tmp_path):
    """Neither a hang nor a crash, and what is stored is consistent."""
    base = tmp_path / "base.db"
    code = FULL.partition("assert ms.run(")[0] + "print('leaving')\n"
    began = time.monotonic()
    code, out, err = tools.run(tmp_path, code, env={"BASE": base}, seconds=30)
    assert time.monotonic() - began < 25
    assert code == 0, (out, err)
    assert "leaving" in out
    assert tools.consistent(base) == []
    assert ms.run(1, database=base).state == "INTERRUPTED"
    ms._session.close(base)


@pytest.mark.parametrize("content", [
    b"", b"hello, I am no database" * 100, b"SQLite format 3\0" + b"\xff" * 5000,
], ids=["empty", "foreign", "corrupt"])
def test_what_is_no_database(tmp_path, content):
    base = tmp_path / "base.db"
    base.write_bytes(content)
    code, _, err = tools.run(tmp_path, SHORT, "dag", 1, env={"BASE": base}, seconds=30)
    if not content:
        assert code == 0, err
        return
    assert code == 1
    assert "StoreError" in err and str(base) in err and "hint:" in err, err
    assert base.read_bytes() == content


def test_a_damaged_page(tmp_path):
    """Damage in the middle is told as what it is."""
    base = tmp_path / "base.db"
    assert tools.run(tmp_path, SHORT, "dag", 50, env={"BASE": base})[0] == 0
    content = bytearray(base.read_bytes())
    content[4096:] = b"\xa5" * (len(content) - 4096)
    base.write_bytes(content)
    code, _, err = tools.run(tmp_path, SHORT, "dag", 50, env={"BASE": base}, seconds=30)
    assert code == 1
    assert "StoreError" in err and "hint:" in err, err
    assert "Traceback" in err


def test_the_file_goes_away(tmp_path):
    """Deleted under a live session: no hang and no crash."""
    base = tmp_path / "base.db"
    code = SHORT.replace('    print(run', '''
    for suffix in ("", "-wal", "-shm"):
        os.unlink(os.environ["BASE"] + suffix)
    try:
        print(dag.run("2020-01-02").state)
    except ms.errors.MainspringError as error:
        print(type(error).__name__, error)
    print(run''')
    ended, out, err = tools.run(tmp_path, code, "dag", 3, env={"BASE": base}, seconds=30)
    assert "Fatal" not in err and "panicked" not in err, err
    assert ended in (0, 1), (out, err)
    assert "deleted or moved away" in out + err, (out, err)


def test_another_sqlite_in_the_same_process(database):
    """Its close drops our locks and takes the log away: we notice, and lose nothing unsaid."""
    import sqlite3

    dag = short(3)
    assert dag.run("2020-01-01").state == "SUCCESS"
    visitor = sqlite3.connect(database)
    assert visitor.execute("SELECT count(*) FROM run").fetchone() == (1,)
    visitor.close()
    if os.path.exists(f"{database}-wal"):
        assert dag.run("2020-01-02").state == "SUCCESS"
        return
    with pytest.raises(ms.errors.StoreError, match="write-ahead log was taken away"):
        dag.run("2020-01-02")
    with pytest.raises(ms.errors.StoreError, match="start this process anew"):
        ms.runs()
    assert tools.rows(database, "SELECT count(*) AS n FROM run") == [{"n": 1}]
    ms._session.close()
    assert dag.run("2020-01-03").state == "SUCCESS"
    assert tools.rows(database, "SELECT count(*) AS n FROM run") == [{"n": 2}]
