"""A dag file is loaded beside us: whatever it does is one problem of that file, and leaves nothing."""

import os
import signal
import sys
import textwrap
import time

import mainspring as ms
import pytest
from mainspring import _config, _loadframe
from mainspring._folder import Stamp
from mainspring._loader import Loader

DEADLINE = 60.0

GOOD = """
import mainspring as ms
with ms.Dag("good", schedule="0 2 * * *", timezone="Asia/Shanghai") as dag:
    @ms.task(retries=2)
    def extract(biz_date, size: int = 5) -> str:
        return "x"
    @ms.task
    def load(path: str) -> None: ...
    load(extract())
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    (tmp_path / "dags").mkdir()
    (tmp_path / "mainspring.toml").write_text("[defaults]\ntimeout = '7m'\n")
    monkeypatch.chdir(tmp_path)
    settings = _config.load_settings({"project": str(tmp_path)}, {})
    loaders = []

    class Project:
        root = tmp_path

        def write(self, name, text):
            path = tmp_path / "dags" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text), encoding="utf-8")
            return str(path)

        def loader(self, **options):
            options = {"limit": 20.0, "memory": 1 << 29, "parallel": 1, **options}
            loaders.append(Loader(settings, **options))
            return loaders[-1]

        def load(self, text, name="x.py", loader=None, **options):
            return one(loader or self.loader(**options), self.write(name, text))

    yield Project()
    for loader in loaders:
        loader.close()


def one(loader, file, **options):
    loader.submit(file, **options)
    (loaded,) = loader.results(DEADLINE)
    return loaded


def gone(pid):
    """Whether a process has ended, at the latest soon."""
    end = time.monotonic() + DEADLINE
    while time.monotonic() < end:
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:
                if file.read().rpartition(b")")[2].split()[0] in (b"Z", b"X"):
                    return True
        except OSError:
            return True
        time.sleep(0.005)
    return False


def pids_in(path):
    return [int(word) for word in path.read_text().split()]


def test_a_good_file_gives_what_the_dag_itself_says(project):
    loaded = project.load(GOOD)
    assert (loaded.keys, loaded.problems, loaded.notes) == (["good"], [], [])
    (spec,) = loaded.specs
    assert spec["schedule"] == "0 2 * * *"
    assert spec["project_defaults"] == {"timeout": "7m"}
    assert [task["handler"] for task in spec["tasks"]] == [
        "mainspring_file_dags_x:extract", "mainspring_file_dags_x:load",
    ]
    assert spec["tasks"][0]["source"] == "dags/x.py:4", "the line of its decorator"
    with ms.testing.isolated():
        from mainspring._session import session

        (stored,) = session().core.register(loaded.specs)
    assert [task["name"] for task in stored["tasks"]] == ["extract", "load"]
    assert "x" not in sys.modules


LEAVES = {
    "exit": ("import os\nos._exit(0)\n", "exit_at_import", "dags/x.py", "exit code 0"),
    "sys.exit": ("import sys\nsys.exit(3)\n", "exit_at_import", "dags/x.py:2", "code 3"),
    "segfault": ("import ctypes\nctypes.string_at(0)\n", "crash_at_import", "dags/x.py:2",
                 "SIGSEGV"),
    "abort": ("import os\n\nos.abort()\n", "crash_at_import", "dags/x.py:3", "SIGABRT"),
    "kill": ("import os\nos.kill(os.getpid(), 9)\n", "crash_at_import", "dags/x.py", "SIGKILL"),
    "memory": ("x = []\nwhile True:\n    x.append(bytearray(10**7))\n", "import_error",
               "dags/x.py:3", "MemoryError"),
    "one big piece": ("x = b'x' * 10**12\n", "import_error", "dags/x.py:1", "MemoryError"),
    "reads": ("input()\n", "import_error", "dags/x.py:1", "EOFError"),
    "closes": ("import os\nos.closerange(3, 1000)\n", "load_failed", "dags/x.py", "closes files"),
    "sabotage": ("import sys\nimport os\nos.getpid = None\nsys.modules.clear()\n", "load_failed",
                 "dags/x.py", "changes Python"),
    "kills the helper": ("import os, time\nos.kill(os.getppid(), 9)\ntime.sleep(60)\n",
                         "loader_died", "dags/x.py", "SIGKILL"),
    "raises": ("def f():\n    1 / 0\nf()\n", "import_error", "dags/x.py:2", "ZeroDivisionError"),
}


@pytest.mark.parametrize("kind", LEAVES)
def test_a_bad_file_is_one_problem_and_the_next_one_loads(project, kind):
    text, code, place, message = LEAVES[kind]
    loader = project.loader()
    loaded = project.load(text, loader=loader)
    (problem,) = loaded.problems
    assert problem.code == code, problem
    assert problem.place == place
    assert message in problem.message
    assert not loaded.imported
    assert project.load(GOOD, "good.py", loader=loader).keys == ["good"]


SLOW = {
    "Python": "def f():\n    while True:\n        pass\nf()\n",
    "asleep": "import time\n\ntime.sleep(600)\n",
    "deaf": "import signal\nfor each in range(1, 65):\n    try:\n"
            "        signal.signal(each, signal.SIG_IGN)\n    except (OSError, ValueError):\n"
            "        pass\nwhile True:\n    pass\n",
    "specification": "import mainspring as ms\nclass D(dict):\n    def items(self):\n"
                     "        while True: pass\nwith ms.Dag('x', defaults=D(a=1)) as dag:\n"
                     "    ms.noop('a')\n",
}


@pytest.mark.parametrize("kind", SLOW)
def test_a_file_has_a_time_limit(project, kind):
    began = time.monotonic()
    loaded = project.load(SLOW[kind], limit=0.5)
    assert time.monotonic() - began < 30
    (problem,) = loaded.problems
    assert problem.code == "load_timeout"
    assert problem.message == "is not loaded after 0.5s"
    assert problem.hint is not None and "load_timeout" in problem.hint
    places = {"Python": ("dags/x.py:2", "dags/x.py:3"), "asleep": ("dags/x.py:3",)}
    assert problem.place in places.get(kind, (problem.place,))


def test_daemons_and_their_children_end_with_the_file(project):
    pids = project.root / "pids"
    loaded = project.load(f"""
        import os, subprocess, sys, time
        import mainspring as ms
        def note():
            with open({str(pids)!r}, "a") as file:
                file.write(f"{{os.getpid()}} ")
        ready = os.pipe()
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:                      # a daemon, as daemons are made
                note()
                child = subprocess.Popen(["setsid", "sleep", "600"])
                with open({str(pids)!r}, "a") as file:
                    file.write(f"{{child.pid}} ")
                os.write(ready[1], b"x")
                time.sleep(600)
            os._exit(0)
        os.wait()
        os.read(ready[0], 1)
        ms.Dag.from_graph("fine", ["a"])
    """)
    assert loaded.keys == ["fine"]
    assert loaded.problems == []
    (note,) = loaded.notes
    assert note.code == "left_processes"
    found = pids_in(pids)
    assert len(found) == 2
    assert all(gone(pid) for pid in found)


def test_a_file_that_becomes_a_daemon_has_left(project):
    pids = project.root / "pids"
    loaded = project.load(f"""
        import os, time
        if os.fork():
            os._exit(0)
        os.setsid()
        open({str(pids)!r}, "w").write(str(os.getpid()))
        time.sleep(600)
    """)
    (problem,) = loaded.problems
    assert problem.code == "exit_at_import"
    assert not pids.exists() or all(gone(pid) for pid in pids_in(pids))


def test_a_file_that_forks_and_goes_on_twice_is_read_once(project):
    loaded = project.load("import os\nimport mainspring as ms\nos.fork()\n"
                          "ms.Dag.from_graph('a', 'b')\n")
    assert loaded.keys == ["a"]
    assert loaded.problems == []


def test_threads_and_exit_functions_of_a_file_do_not_hold_it(project):
    loaded = project.load("import atexit, threading, time\n"
                          "threading.Thread(target=time.sleep, args=(600,)).start()\n"
                          "atexit.register(time.sleep, 600)\n" + GOOD)
    assert loaded.keys == ["good"]
    assert loaded.took < 20


def test_what_a_file_changes_is_gone_for_the_next(project):
    loader = project.loader()
    folder, mask = os.getcwd(), os.umask(0o22)
    os.umask(mask)
    loaded = project.load("""
        import builtins, os, shutil, signal, sys, tempfile
        folder = tempfile.mkdtemp()
        os.chdir(folder)
        os.rmdir(folder)
        os.environ.clear()
        os.umask(0)
        sys.path.clear()
        builtins.len = None
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        import mainspring as ms
        ms.Dag.from_graph("first", ["a"])
    """, "a.py", loader)
    assert not loaded.problems or loaded.problems[0].code == "load_failed"
    loaded = project.load("""
        import os, signal
        import mainspring as ms
        assert len([1]) == 1 and os.environ and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
        print(os.getcwd(), os.umask(0))
        ms.Dag.from_graph("second", ["a"])
    """, "b.py", loader)
    assert loaded.keys == ["second"], loaded.problems
    assert loaded.output == f"{folder} {mask}\n"


def test_prints_are_kept_both_ends_of_them_and_bytes_readable(project):
    loaded = project.load("""
        import os, sys
        print("first")
        os.write(2, b"\\xff native\\n")
        for _ in range(400):
            sys.stdout.write("x" * 100_000)
        print("last", flush=True)
    """)
    assert loaded.problems == []
    assert loaded.output.startswith("first\n") or "first\n" in loaded.output
    assert "\N{REPLACEMENT CHARACTER} native\n" in loaded.output
    assert loaded.output.endswith("last\n")
    assert "bytes left out" in loaded.output
    assert len(loaded.output) < 70_000


def test_all_problems_of_all_dags_of_a_file_and_the_good_one_stays(project):
    loaded = project.load("""
        import mainspring as ms
        ms.Dag.from_graph("fine", ["a"])
        with ms.Dag("wrong") as dag:
            @ms.task(retries=2, idempotent=False)
            def a() -> None: ...
            @ms.task(depends_on=["extrat"])
            def b() -> None: ...
        ms.Dag.from_graph("round", "ab", [("a", "b"), ("b", "a")])
    """)
    assert loaded.keys == ["fine"]
    assert loaded.broken == ["wrong", "round"]
    codes = [problem.code for problem in loaded.problems]
    assert sorted(codes) == ["cycle", "retry_not_idempotent", "unknown_upstream"]
    assert all(problem.place.startswith("dags/x.py") for problem in loaded.problems)


class TestFingerprints:
    def test_change_with_the_file_and_the_projects_modules_and_with_nothing_else(self, project):
        loader = project.loader()
        helper = project.write("_helper.py", "NAME = 'a'\n")
        project.write("_other.py", "X = 1\n")
        text = "import json, _helper\nimport mainspring as ms\n" \
               "ms.Dag.from_graph(_helper.NAME, ['t'])\n"
        first = project.load(text, loader=loader)
        assert first.keys == ["a"]
        assert sorted(first.modules) == sorted([helper, str(project.root / "dags" / "x.py")])
        assert all(isinstance(its, Stamp) for its in first.modules.values())
        project.write("_other.py", "X = 2\n")
        assert project.load(text, loader=loader).fingerprint == first.fingerprint
        # One letter, within the same second: bytecode would not notice.
        project.write("_helper.py", "NAME = 'b'\n")
        second = project.load(text, loader=loader)
        assert second.keys == ["b"]
        assert second.fingerprint != first.fingerprint
        assert project.load(text + "\n", loader=loader).fingerprint != second.fingerprint

    def test_a_helper_that_breaks_is_among_what_the_file_is_made_of(self, project):
        helper = project.write("_helper.py", "x = 1\n1 / 0\n")
        loaded = project.load("import _helper\n")
        assert helper in loaded.modules
        assert loaded.problems[0].place == "dags/_helper.py:2"

    def test_a_module_that_is_missing_is_looked_for_in_the_project(self, project):
        loaded = project.load("import pack.inner\n")
        assert str(project.root / "dags" / "pack" / "__init__.py") in loaded.sought or \
            str(project.root / "dags" / "pack.py") in loaded.sought


def test_the_helper_ends_when_we_are_gone(project):
    loader = project.loader()
    pids = project.root / "pids"
    file = project.write("x.py", f"""
        import os, time
        open({str(pids)!r}, "w").write(f"{{os.getppid()}} {{os.getpid()}}")
        time.sleep(600)
    """)
    loader.submit(file)
    end = time.monotonic() + DEADLINE
    while not (pids.exists() and len(pids.read_text().split()) == 2):
        assert time.monotonic() < end
        time.sleep(0.005)
    helper, fork = pids_in(pids)
    loader.close()
    assert gone(fork)
    assert gone(helper)


def test_a_helper_that_is_killed_while_idle_is_started_again(project):
    loader = project.loader()
    loaded = project.load("import os\nprint(os.getppid())\n", loader=loader)
    pid = int(loaded.output)
    os.kill(pid, signal.SIGKILL)
    assert gone(pid)
    assert project.load(GOOD, loader=loader).keys == ["good"]


def test_a_helper_that_has_nothing_to_do_is_ended_and_comes_back(project, monkeypatch):
    monkeypatch.setattr("mainspring._loader.SPARE", -1.0)
    loader = project.loader()
    pid = int(project.load("import os\nprint(os.getppid())\n", loader=loader).output)
    loader.trim()
    assert gone(pid)
    assert project.load(GOOD, loader=loader).keys == ["good"]


class TestWithoutFork:
    def test_a_process_a_file(self, project):
        loader = project.loader(forks=False)
        first = project.load("import os\nimport mainspring as ms\n"
                             "ms.Dag.from_graph(f'p{os.getpid()}', 'a')\n", loader=loader)
        second = project.load("import os\nimport mainspring as ms\n"
                              "ms.Dag.from_graph(f'p{os.getpid()}', 'a')\n", loader=loader)
        assert len(first.keys) == len(second.keys) == 1
        assert first.keys != second.keys

    def test_leaving_and_hanging_are_problems_too(self, project):
        loader = project.loader(forks=False, limit=3.0)
        (problem,) = project.load("import os\nos._exit(5)\n", loader=loader).problems
        assert (problem.code, "exit code 5" in problem.message) == ("loader_died", True)
        (problem,) = project.load("while True: pass\n", loader=loader).problems
        assert problem.code == "load_timeout"
        assert project.load(GOOD, loader=loader).keys == ["good"]


def test_two_files_at_a_time(project):
    pipe = project.root / "pipe"
    os.mkfifo(pipe)
    # Each waits for the other, so one after the other would never end.
    loader = project.loader(parallel=2)
    loader.submit(project.write("a.py", f"open({str(pipe)!r}, 'w').write('x')\n"))
    loader.submit(project.write("b.py", f"open({str(pipe)!r}).read()\n"))
    found = []
    while len(found) < 2:
        found += loader.results(DEADLINE)
    assert [loaded.problems for loaded in found] == [[], []]


def test_frames_are_json_and_nonsense_ends_the_talk():
    ends = os.pipe()
    _loadframe.write(ends[1], _loadframe.pack({"a": ["日", None, 1.5]}))
    assert _loadframe.read(ends[0]) == {"a": ["日", None, 1.5]}
    for nonsense in (b"\xff" * 8, (3).to_bytes(8, "big") + b"{]}"):
        os.write(ends[1], nonsense)
        with pytest.raises(_loadframe.Closed):
            _loadframe.read(ends[0])
    os.close(ends[1])
    with pytest.raises(_loadframe.Closed):
        _loadframe.read(ends[0])
    os.close(ends[0])
