"""Left running: edited twice, killed once; no fire is missed, double or late, and nothing grows.

Half a minute here; `SOAK_SECONDS=600` for the ten minutes of a release.
"""

import os
import threading
import time
from pathlib import Path

from . import _tools as tools

SECONDS = float(os.environ.get("SOAK_SECONDS", "30"))
LATE = 2.0

TICK = """
    with ms.Dag("tick", schedule="* * * * * ?", timezone="UTC") as dag:
        @ms.task
        def beat():
            said("start", version={version}, at=time.time())
"""


class Sampler(threading.Thread):
    """Memory and open files of a process, with when."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid, self.over, self.rows = pid, threading.Event(), []
        self.start()

    def run(self):
        began = time.monotonic()
        while not self.over.wait(0.5):
            try:
                pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
                files = len(os.listdir(f"/proc/{self.pid}/fd"))
            except OSError:
                return
            self.rows.append((time.monotonic() - began, pages * os.sysconf("SC_PAGESIZE"), files))

    def end(self):
        self.over.set()
        self.join()
        return self.rows


def slope(points):
    """By least squares: units of the second a unit of the first."""
    n = len(points)
    mean = sum(x for x, _ in points) / n, sum(y for _, y in points) / n
    return (sum((x - mean[0]) * (y - mean[1]) for x, y in points)
            / sum((x - mean[0]) ** 2 for x, _ in points))


def test_left_running(place):
    def version(number):
        place.write("tick.py", TICK.format(version=number))

    def ticked(up, seconds):
        """Wait until the fires have gone on for so long; each is seen as it comes."""
        count = len(up.all("run_moved", state="SUCCESS"))
        up.wait("run_moved", count=count + int(seconds), state="SUCCESS", seconds=seconds + 20)

    version(1)
    up = place.up()
    ticked(up, SECONDS * 0.15)
    version(2)
    up.file("edited", "tick.py")
    ticked(up, SECONDS * 0.1)
    up.kill()
    first, up = up, place.up()
    ticked(up, max(3, SECONDS * 0.1))
    sampler = Sampler(up.pid)
    ticked(up, SECONDS * 0.25)
    version(3)
    up.file("edited", "tick.py")
    ticked(up, SECONDS * 0.4)
    rows = sampler.end()
    assert up.stop() == 0

    made = place.rows("SELECT id, nominal_at / 1e6 AS at, created_at / 1e6 AS made, state FROM run "
                      "ORDER BY nominal_at")
    assert [row["at"] for row in made] == [made[0]["at"] + i for i in range(len(made))], \
        "each second once"
    assert {row["state"] for row in made} <= {"SUCCESS", "RUNNING"}
    assert place.rows("SELECT * FROM skip") == []
    # Nobody was there between the kill and the next one: those fires are its first.
    down = first.events[-1]["time"], up.wait("serving")[0]["time"]
    gap = [tools.instant(each) for each in down]
    late = [row for row in made if row["made"] - row["at"] > LATE
            and not gap[0] - 1 <= row["at"] <= gap[1]]
    assert late == []
    began = {}
    for line in place.story():
        began.setdefault(line["run"], []).append(line)
    twice = [lines for lines in began.values() if len(lines) > 1]
    # Only what was live as it was killed may have begun a second time.
    assert len(twice) <= 1 and all(line["attempt"] == number for lines in twice
                                   for number, line in enumerate(lines, 1))
    late = [(row["at"], began[row["id"]][0]["at"]) for row in made if row["state"] == "SUCCESS"
            and began[row["id"]][0]["at"] - row["at"] > LATE
            and not gap[0] - 1 <= row["at"] <= gap[1] + 1]
    assert late == []
    assert {line["version"] for line in place.story()} == {1, 2, 3}

    # Flat: from its middle on, and by what the whole slope would come to.
    half = [row for row in rows if row[0] > rows[-1][0] / 3]
    growth = slope([(at, size) for at, size, _ in half])
    print(f"{len(made)} fires; RSS {rows[-1][1] / 1e6:.1f} MB, {growth * 60 / 1e3:+.0f} kB a minute; "
          f"{rows[-1][2]} open files")
    # Caches fill at first: a short life shows only what grows fast.
    assert growth * 60 < (2e6 if SECONDS < 300 else 2e5), "it grows"
    files = [count for _, _, count in half]
    assert max(files[len(files) // 2:]) <= max(files[:len(files) // 2]) + 2
    place.sound()
