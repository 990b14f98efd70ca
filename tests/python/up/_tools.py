"""A project in a folder, `mainspring up` in a process of its own, and a witness beside both.

Handlers write to a file that the product does not know; `story` reads it. Nothing here sleeps for
a time: everything is waited for, with a deadline.
"""

import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from datetime import datetime
from pathlib import Path

from crash import _tools as others
from process._tools import alive

__all__ = ["DEADLINE", "HEAD", "Place", "Up", "alive", "instant", "others", "until"]

DEADLINE = 20.0
until = others.until

HEAD = '''
import os, sys, time, json
import mainspring as ms

def said(event, **words):
    ctx = ms.context()
    line = {"key": f"{ctx.run_id}/{ctx.dag}.{ctx.task}", "task": ctx.task, "run": ctx.run_id,
            "attempt": ctx.attempt, "token": ctx.token, "pid": os.getpid(), "event": event,
            "clock": time.monotonic(), **words}
    file = os.open(os.environ["WITNESS"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(file, json.dumps(line).encode() + b"\\n")
    os.close(file)

def held(name):
    """Go on when a file is there."""
    while not os.path.exists(os.path.join(os.environ["GATES"], name)):
        time.sleep(0.005)

'''


class Place:
    """A project: a folder with dag files, a witness, and gates that handlers wait for."""

    def __init__(self, root):
        self.root = Path(root)
        self.dags = self.root / "dags"
        self.gates = self.root / "gates"
        self.witness = self.root / "witness"
        self.database = self.root / ".mainspring" / "mainspring.db"
        for folder in (self.dags, self.gates):
            folder.mkdir(parents=True)
        (self.root / "mainspring.toml").write_text("")
        self.ups = []

    # --- dag files ---

    def write(self, name, body, head=HEAD):
        """A dag file, in one piece."""
        path = self.dags / name
        partial = path.with_suffix(".partial")
        partial.write_text(head + textwrap.dedent(body), encoding="utf-8")
        partial.replace(path)
        return path

    def open_gate(self, name):
        """Let handlers go on that wait for it."""
        (self.gates / name).touch()

    # --- processes ---

    def environment(self, **more):
        return others.environment(WITNESS=self.witness, GATES=self.gates, **more)

    def up(self, *words, serving=True, env=None):
        """Start `mainspring up`, and wait until it serves."""
        made = Up(self, words, env or {})
        self.ups.append(made)
        if serving:
            made.wait("serving")
        return made

    def ms(self, *words, seconds=DEADLINE):
        """Run a command to its end: its exit code, its output, its errors."""
        done = subprocess.run([sys.executable, "-m", "mainspring", *map(str, words)],
                              cwd=self.root, env=self.environment(), text=True, timeout=seconds,
                              capture_output=True)
        return done.returncode, done.stdout, done.stderr

    def json(self, *words):
        """What a command says as JSON; it has to go well."""
        code, out, err = self.ms(*words, "--json")
        assert code == 0, (words, out, err)
        return json.loads(out)

    def trigger(self, dag, *words):
        """Ask for a run; its number."""
        return self.json("trigger", dag, *words)["run"]

    def python(self, code, seconds=DEADLINE):
        """Run Python code in a process of its own, to its end."""
        return others.run(self.root, textwrap.dedent(code), seconds=seconds, name="beside.py",
                          env={"WITNESS": self.witness, "GATES": self.gates})

    # --- what there is ---

    def story(self, **wanted):
        """Lines of the witness that have these words."""
        return [line for line in others.lines(self.witness)
                if all(line[name] == value for name, value in wanted.items())]

    def seen(self, count=1, seconds=DEADLINE, **wanted):
        """Wait until the witness has so many lines like this; they."""
        def enough():
            found = self.story(**wanted)
            return len(found) >= count and found
        return until(enough, seconds, pause=0.005)

    def rows(self, question, *values):
        """Ask the database in SQL, without the product."""
        return others.rows(self.database, question, *values)

    def run(self, number):
        """A run's row."""
        (row,) = self.rows("SELECT * FROM run WHERE id = ?", number)
        return row

    def attempts(self, number, task=None):
        """Attempts of a run, oldest first: task, number, outcome, code, process."""
        found = self.rows(
            "SELECT k.name AS task, a.attempt_no AS number, a.outcome, a.error_code AS code, "
            "a.error, a.pid, a.token, a.node_id, a.started_at, a.finished_at "
            "FROM attempt a JOIN task_run t ON t.id = a.task_run_id JOIN task k ON k.id = t.task_id "
            "WHERE t.run_id = ? ORDER BY a.id", number)
        return [row for row in found if task in (None, row["task"])]

    def states(self, number):
        """Task to state."""
        return {row["name"]: row["state"] for row in self.rows(
            "SELECT k.name, t.state FROM task_run t JOIN task k ON k.id = t.task_id "
            "WHERE t.run_id = ?", number)}

    def finished(self, number, seconds=DEADLINE):
        """Wait until a run has ended; its state."""
        def ended():
            state = self.run(number)["state"]
            return state != "RUNNING" and state
        return until(ended, seconds, pause=0.02)

    def sound(self):
        """Nothing is wrong with the database, by its own judgement and by another."""
        assert others.consistent(self.database) == []
        code, out, err = self.ms("db", "verify")
        assert code == 0, out + err

    def close(self):
        """End what still runs, and see that nothing of it is left."""
        for each in self.ups:
            each.kill()
        for each in self.ups:
            each.gone()


class Up:
    """A scheduler that was started, and what it says."""

    def __init__(self, place, words, env):
        self.place = place
        self.events, self.lines, self.output = [], [], ""
        self._heard = threading.Condition()
        self.child = subprocess.Popen(
            [sys.executable, "-m", "mainspring", "up", "--log", "json", *map(str, words)],
            cwd=place.root, env=place.environment(**env), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.pid = self.child.pid
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for raw in self.child.stderr:
            with self._heard:
                self.lines.append(raw)
                try:
                    self.events.append(json.loads(raw))
                except ValueError:
                    self.output += raw.decode("utf-8", "replace")
                self._heard.notify_all()
        with self._heard:
            self._heard.notify_all()

    def all(self, event, **words):
        """Events of this kind that have these words."""
        with self._heard:
            return [each for each in self.events if each.get("event") == event
                    and all(each.get(name) == value for name, value in words.items())]

    def wait(self, event, count=1, seconds=DEADLINE, **words):
        """Wait until there are so many events like this; they."""
        end = time.monotonic() + seconds
        while True:
            found = self.all(event, **words)
            if len(found) >= count:
                return found
            left = end - time.monotonic()
            assert left > 0, f"no {count} {event} {words} within {seconds} s\n{self}"
            assert self._reader.is_alive(), f"it ended without {count} {event} {words}\n{self}"
            with self._heard:
                self._heard.wait(min(left, 0.1))

    def file(self, kind, name, count=1):
        """Wait until it tells this of a file; the newest such event."""
        path = str(self.place.dags / name)
        return self.wait(f"file_{kind}", count=count, file=path)[-1]

    def signal(self, number=signal.SIGTERM):
        os.kill(self.pid, number)

    def kill(self):
        """As `kill -9` does it; the dead process is taken away."""
        if self.child.poll() is None:
            self.child.kill()
        self.ended()

    def ended(self, seconds=DEADLINE):
        """Wait until it has ended; its exit code."""
        try:
            code = self.child.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"it does not end within {seconds} s\n{self}") from None
        self._reader.join(10)
        if not self._reader.is_alive():
            self.child.stderr.close()
        return code

    def stop(self, seconds=DEADLINE):
        """End it orderly; its exit code."""
        self.signal()
        return self.ended(seconds)

    def trees(self):
        """Processes that it has started and that live: supervisors, workers, what is below."""
        return alive(f"MAINSPRING_WORKER={self.pid}.")

    def gone(self, seconds=20.0):
        """Wait until nothing of it lives."""
        until(lambda: not self.trees(), seconds, pause=0.02)

    def __str__(self):
        return "\n".join([json.dumps(each) for each in self.events[-14:]] + [self.output])


def instant(text):
    """Seconds of an instant in ISO form."""
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()
