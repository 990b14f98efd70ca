"""What it costs to stay up: 1,000 scheduled dags with nothing due, and files that come and change.

Run with `make bench`. The peer is APScheduler in a process of its own with 1,000 jobs in memory,
which remembers nothing; where it is not installed there is no ratio. Workers are not counted, and
none is running.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from _measure import line

DAGS = 1_000
SECONDS = float(os.environ.get("MAINSPRING_BENCH_IDLE", "20"))

FILE = """
import mainspring as ms
for i in range({n}):
    # Once a year, and never now.
    ms.Dag.from_graph(f"d{{i:04}}", "ab", schedule="0 0 29 2 *", timezone="UTC")
"""

ONE = """
import mainspring as ms
ms.Dag.from_graph("d{i:04}", "ab", schedule="0 0 29 2 *", timezone="UTC")
"""

PEER = """
import time
from apscheduler.schedulers.background import BackgroundScheduler
scheduler = BackgroundScheduler(timezone="UTC")
for i in range({n}):
    scheduler.add_job(print, "cron", month=2, day=29)
scheduler.start()
print("serving", flush=True)
time.sleep(3600)
"""


class Up:
    """`mainspring up` on a folder of dag files."""

    def __init__(self, root: Path) -> None:
        kept = {k: v for k, v in os.environ.items() if not k.startswith("MAINSPRING_")}
        self.child = subprocess.Popen(
            [sys.executable, "-m", "mainspring", "up", "--log", "json"], cwd=root,
            env={**kept, "MAINSPRING_HOME": os.devnull}, stderr=subprocess.PIPE, text=True,
            stdin=subprocess.DEVNULL)

    def wait(self, *kinds: str) -> dict[str, object]:
        """The next event of these kinds."""
        for text in self.child.stderr or ():
            event = json.loads(text)
            if event["event"] in kinds:
                return event
        raise RuntimeError(f"it ended without {kinds}")

    def end(self) -> None:
        self.child.send_signal(signal.SIGTERM)
        self.child.communicate(timeout=60)


def ticks(pid: int) -> float:
    """Seconds of processor time of a process, workers and helpers aside."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def exact(pid: int) -> float:
    """The same in nanoseconds, where the kernel keeps it: all threads."""
    total = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        total += int((task / "schedstat").read_text().split()[0])
    return total / 1e9


def megabytes(pid: int) -> float:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE") / 1e6


def idle(pid: int) -> tuple[float, float]:
    """Share of a core and megabytes of a process with nothing to do."""
    time.sleep(2)
    try:
        before, read = exact(pid), exact
    except OSError:
        before, read = ticks(pid), ticks
    began = time.perf_counter()
    time.sleep(SECONDS)
    return (read(pid) - before) / (time.perf_counter() - began), megabytes(pid)


def peer(folder: Path) -> tuple[float, float] | None:
    script = folder / "peer.py"
    script.write_text(PEER.format(n=DAGS))
    child = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL, text=True)
    try:
        if child.stdout is None or child.stdout.readline() != "serving\n":
            return None
        return idle(child.pid)
    finally:
        child.kill()
        child.communicate()


def project(folder: Path, name: str) -> Path:
    root = folder / name
    (root / "dags").mkdir(parents=True)
    (root / "mainspring.toml").write_text("")
    return root


def main() -> None:
    """All figures."""
    folder = Path(tempfile.mkdtemp(prefix="mainspring-bench-"))
    try:
        theirs = peer(folder)
        root = project(folder, "one")
        (root / "dags" / "all.py").write_text(FILE.format(n=DAGS))
        up = Up(root)
        took = up.wait("serving")
        line(f"{DAGS:,} dags of one file, until it serves", f"{took['seconds']:.2f} s")
        share, size = idle(up.child.pid)
        up.end()
        cpu = theirs[0] if theirs else None
        of = "" if theirs is None else f"APScheduler ({theirs[0]:.3%}, {theirs[1]:.0f} MB)"
        line(f"{DAGS:,} dags, nothing due", f"{share:.3%} of a core",
             share / cpu if cpu else None, of, "< 0.2 %")
        line("", f"{size:.0f} MB", size / theirs[1] if theirs else None, of, "< 60 MB")

        root = project(folder, "many")
        for i in range(DAGS):
            (root / "dags" / f"d{i:04}.py").write_text(ONE.format(i=i))
        up = Up(root)
        took = up.wait("serving")
        line(f"{DAGS:,} files of one dag, until it serves", f"{took['seconds']:.2f} s",
             wanted="< 20 s")
        times = []
        for number in range(5):
            began = time.perf_counter()
            (root / "dags" / "d0500.py").write_text(ONE.format(i=500) + f"# {number}\n"
                                                    f"ms.Dag.from_graph('new{number}', 'a')\n")
            up.wait("file_edited")
            times.append(time.perf_counter() - began)
        line("one of them changed, until it is served", f"{sorted(times)[2]:.2f} s", wanted="< 1 s")
        share, size = idle(up.child.pid)
        line(f"{DAGS:,} files, nothing due", f"{share:.3%} of a core, {size:.0f} MB")
        up.end()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
