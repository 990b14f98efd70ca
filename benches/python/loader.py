"""How fast dag files are loaded, how soon a change is seen, and what following them costs.

Run with `make bench`. Where Luigi is installed it is the peer: the same 1,000 chains of 10 tasks as
its own classes, imported and instantiated in a process of their own. Else the limits stand alone.
"""

from __future__ import annotations

import importlib.util
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from _measure import line, seconds
from mainspring import _config
from mainspring._dagfolder import DagFolder
from mainspring._loader import Loader

CHAIN = '''
def make(name):
    with ms.Dag(name, schedule="0 2 * * *", timezone="UTC") as dag:
        @ms.task
        def first(biz_date, size: int = 5) -> str:
            return "x"
        last = first()
        for at in range(9):
            @ms.task(name=f"t{at}", retries=2)
            def step(path: str) -> str:
                return path
            last = step(last)
    return dag
'''

LUIGI = '''
import sys, time
import luigi
began = time.perf_counter()
source = open(sys.argv[1]).read()
exec(compile(source, sys.argv[1], "exec"))
print(time.perf_counter() - began)
'''

LUIGI_CHAINS = '''
import luigi
class Step(luigi.Task):
    chain = luigi.IntParameter()
    at = luigi.IntParameter()
    size = luigi.IntParameter(default=5)
    retry_count = 2
    def requires(self):
        return Step(chain=self.chain, at=self.at - 1) if self.at else []
    def output(self):
        return luigi.LocalTarget(f"/tmp/{self.chain}_{self.at}")
tasks = [Step(chain=chain, at=at) for chain in range(1000) for at in range(10)]
edges = [task.deps() for task in tasks]
'''


def one_file(folder: Path) -> None:
    """1,000 dags of 10 tasks from one file: import, specification, check, over the pipe."""
    file = folder / "dags" / "all.py"
    file.write_text("import mainspring as ms\n" + CHAIN
                    + "dags = [make(f'd{n}') for n in range(1000)]\n")
    settings = _config.load_settings({"project": str(folder)})
    loader = Loader(settings, parallel=1)

    def load() -> None:
        loader.submit(str(file))
        (loaded,) = loader.results(60)
        assert len(loaded.keys) == 1000, loaded.problems

    load()  # starts the helper
    took = statistics.median(seconds(load) for _ in range(5))
    loader.close()
    file.unlink()
    if importlib.util.find_spec("luigi") is None:
        line("1,000 dags of 10 tasks, one file", f"{took:.2f} s", took / 0.5, "the limit 0.5 s", "below 1")
        return
    chains = folder / "chains.py"
    chains.write_text(LUIGI_CHAINS)
    peer = statistics.median(
        float(subprocess.run([sys.executable, "-W", "ignore", "-c", LUIGI, str(chains)], check=True, capture_output=True,
                             text=True).stdout)
        for _ in range(3)
    )
    line("1,000 dags of 10 tasks, one file", f"{took:.2f} s", took / peer, f"Luigi's {peer:.2f} s", "below 1")


def many_files(folder: Path) -> None:
    """1,000 files, then nothing, then one changed file."""
    for n in range(1000):
        (folder / "dags" / f"f{n}.py").write_text(
            "import mainspring as ms\n" + CHAIN + f"dag = make('d{n}')\n")
    dags = DagFolder(_config.load_settings({"project": str(folder)}))
    took = seconds(dags.load_all)
    assert len(dags.active()) == 1000
    line("1,000 files of one dag of 10 tasks", f"{took:.1f} s", took / 20, "the limit 20 s", "below 1")

    while dags.changes() or dags.wait() < 1:
        pass
    began, busy = time.monotonic(), time.process_time()
    while time.monotonic() - began < 30:
        time.sleep(min(0.25, dags.wait()))
        assert not dags.changes()
    share = (time.process_time() - busy) / (time.monotonic() - began)
    line("following them, nothing changes", f"{share:.3%} of a core", share / 0.002, "the limit 0.2 %", "far below 1")

    waits = []
    for n in range(5):
        with open(folder / "dags" / f"f{n}.py", "a") as file:
            file.write("# edited\n")
        began = time.monotonic()
        while not dags.changes():
            time.sleep(min(0.05, dags.wait()))
        waits.append(time.monotonic() - began)
    line("one changed file is there after", f"{max(waits):.2f} s", max(waits) / 1, "the limit 1 s", "below 1")
    dags.close()


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="mainspring-") as name:
        folder = Path(name)
        (folder / "mainspring.toml").write_text("")
        (folder / "dags").mkdir()
        one_file(folder)
        many_files(folder)


main()
