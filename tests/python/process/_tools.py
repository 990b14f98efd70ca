"""Dags in files, and an independent look at which processes live."""

import os
import textwrap
import time
from pathlib import Path

from mainspring._project import load_file


def dag_of(folder, body, name="jobs.py"):
    """Write a dag file, and load the dag that is in it."""
    path = Path(folder) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("import os, sys, time\nimport mainspring as ms\n" + textwrap.dedent(body))
    loaded = load_file(path, keep=False)
    assert not loaded.problems, loaded
    (dag,) = loaded.dags
    return dag


def tasks(folder, **bodies):
    """A dag of independent tasks: name to the lines of its function."""
    text = "with ms.Dag('jobs') as dag:\n"
    for name, body in bodies.items():
        options, _, lines = body.rpartition("@@")
        text += f"    @ms.task({options})\n    def {name}():\n"
        text += textwrap.indent(textwrap.dedent(lines).strip(), " " * 8) + "\n"
    return dag_of(folder, text)


def run(dag, **more):
    """Run it in worker processes."""
    return dag.run("2024-01-01", executor="process", progress=False, **more)


def alive(mark):
    """Process ids of those that were started with this in their environment or command line."""
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        try:
            state = Path(f"/proc/{entry}/stat").read_text().rsplit(")", 1)[1].split()[0]
            words = Path(f"/proc/{entry}/environ").read_bytes()
            words += Path(f"/proc/{entry}/cmdline").read_bytes()
        except OSError:
            continue
        if mark.encode() in words and state not in "ZX":
            found.append(int(entry))
    return found


def until(question, seconds=20.0):
    """Ask until the answer is true; the answer."""
    end = time.monotonic() + seconds
    while True:
        answer = question()
        if answer:
            return answer
        assert time.monotonic() < end, f"not within {seconds} s"
        time.sleep(0.005)
