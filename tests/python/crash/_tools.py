"""Other processes, a witness outside the product, and an independent look into the file."""

import atexit
import json
import os
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import mainspring

PACKAGES = str(Path(mainspring.__file__).resolve().parent.parent)

WITNESS = '''
import json, os
import mainspring as ms

_file = os.open(os.environ["WITNESS"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

def say(**words):
    os.write(_file, json.dumps(words).encode() + b"\\n")
    os.fsync(_file)

def witness(event):
    ctx = ms.context()
    say(event=event, task=ctx.task, attempt=ctx.attempt, token=ctx.token, pid=os.getpid(),
        run=ctx.run_id)
'''


def environment(**more):
    """What a child needs to find this very package, and nothing of this machine's settings."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("MAINSPRING_")}
    path = os.pathsep.join(filter(None, [PACKAGES, kept.get("PYTHONPATH")]))
    return {**kept, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUNBUFFERED": "1",
            "MAINSPRING_HOME": os.devnull, **{k: str(v) for k, v in more.items()}}


def start(folder, code, *arguments, name="script.py", env=None, **options):
    """Start a Python script in a folder; its output is text through pipes."""
    path = Path(folder) / name
    # In one piece: another child may just be reading the script of this name.
    fresh = path.with_suffix(".new")
    fresh.write_text(code, encoding="utf-8")
    fresh.replace(path)
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    return subprocess.Popen([sys.executable, str(path), *map(str, arguments)], cwd=folder,
                            text=True, env=environment(**(env or {})), **options)


def finish(child, seconds=60):
    """Wait for a child; returns exit code, output and errors. A hang is a failure."""
    try:
        out, err = child.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        child.kill()
        out, err = child.communicate()
        raise AssertionError(f"hangs for {seconds} s\n--- out\n{out}\n--- err\n{err}") from None
    return child.returncode, out, err


def run(folder, code, *arguments, seconds=60, **options):
    """Run a script to its end."""
    return finish(start(folder, code, *arguments, **options), seconds)


def until(question, seconds=20.0, pause=0.002):
    """Ask until the answer is true; the answer."""
    end = time.monotonic() + seconds
    while True:
        answer = question()
        if answer:
            return answer
        assert time.monotonic() < end, f"not within {seconds} s: {question}"
        time.sleep(pause)


def lines(path):
    """The whole lines that a witness has written so far."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        return []
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


READER = """
import json, sqlite3, sys
for line in sys.stdin:
    database, question, values = json.loads(line)
    try:
        connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=30)
        connection.row_factory = sqlite3.Row
        try:
            answer = [dict(row) for row in connection.execute(question, values)]
        finally:
            connection.close()
    except sqlite3.Error as error:
        answer = str(error)
    print(json.dumps(answer, default=repr), flush=True)
"""

_reader = None


def rows(database, question, *values):
    """Ask a file in SQL, without the product's code.

    In a process of its own: a second SQLite in this one would drop the locks of the first.
    """
    global _reader
    if _reader is None or _reader.poll() is not None:
        _reader = subprocess.Popen([sys.executable, "-c", READER], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True)
        atexit.register(_end_reader)
    _reader.stdin.write(json.dumps([str(database), question, values]) + "\n")
    _reader.stdin.flush()
    answer = json.loads(_reader.stdout.readline())
    if isinstance(answer, str):
        raise sqlite3.OperationalError(answer)
    return answer


def _end_reader():
    _reader.stdin.close()
    _reader.wait(10)
    _reader.stdout.close()


FINAL = ("SUCCESS", "FAILED", "TIMEOUT", "CANCELED", "SKIPPED")


def consistent(database):
    """What is wrong with a file, read without the product: a list that should be empty."""
    wrong = []
    for row in rows(database, "PRAGMA integrity_check"):
        if row["integrity_check"] != "ok":
            wrong.append(row["integrity_check"])
    live = {(lease["task_run_id"], lease["attempt_no"], lease["token"])
            for lease in rows(database, "SELECT * FROM attempt_lease")}
    attempts = {}
    for row in rows(database, "SELECT * FROM attempt ORDER BY task_run_id, attempt_no"):
        attempts.setdefault(row["task_run_id"], []).append(row)
    for row in rows(database, "SELECT t.*, r.state AS run_state FROM task_run t "
                              "JOIN run r ON r.id = t.run_id"):
        mine = attempts.pop(row["id"], [])
        where = f"task run {row['id']} ({row['state']})"
        if [each["attempt_no"] for each in mine] != list(range(1, row["attempt_no"] + 1)):
            wrong.append(f"{where}: attempts {[each['attempt_no'] for each in mine]} of "
                         f"{row['attempt_no']}")
        tokens = [each["token"] for each in mine]
        if tokens != sorted(set(tokens)):
            wrong.append(f"{where}: tokens do not grow: {tokens}")
        if mine and mine[-1]["token"] != row["token"]:
            wrong.append(f"{where}: token {row['token']} is not that of its last attempt")
        unfinished = [each["attempt_no"] for each in mine if each["outcome"] is None]
        if unfinished not in ([], [row["attempt_no"]]) or bool(unfinished) != (
                row["state"] == "RUNNING"):
            wrong.append(f"{where}: attempts without an end: {unfinished}")
        if row["state"] == "RUNNING" and (row["id"], row["attempt_no"], row["token"]) not in live:
            wrong.append(f"{where}: runs without a lease")
        if row["state"] == "SUCCESS" and mine and mine[-1]["outcome"] != "SUCCESS":
            wrong.append(f"{where}: its last attempt ended as {mine[-1]['outcome']}")
        if row["run_state"] != "RUNNING" and row["state"] not in (*FINAL, "BLOCKED"):
            wrong.append(f"{where}: open in a run that is {row['run_state']}")
    if attempts:
        wrong.append(f"attempts of no task run: {sorted(attempts)}")
    return wrong


def leases(database):
    """Leases that are held."""
    return rows(database, "SELECT * FROM attempt_lease")
