"""init, check, list and show: what can be said without running anything."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from .conftest import Project
from .test_project import BROKEN

FLIGHTS = """
    import mainspring as ms

    with ms.Dag("flights", schedule="0 30 2 * * ?", timezone="America/New_York",
                start_date="2013-01-02", owner="dwh", labels=["ods"]) as dag:

        @ms.task(retries=2, retry_interval="30s", timeout="10m", priority="high")
        def extract(biz_date, batch_size: int = 500) -> str:
            return "path"

        @ms.task
        def clean(path: str) -> dict:
            return {}

        @ms.task(idempotent=False)
        def publish(stats: dict) -> None: ...

        publish(clean(extract()))
"""


class TestInit:
    def test_makes_a_project_that_runs(self, project: Project) -> None:
        told = project("init", "new", "--no-color")
        assert told.code == 0, told
        assert "made new/mainspring.toml" in told.out
        assert "mainspring run hello" in told.out
        inside = Project(project.root / "new", project.environ)
        assert inside("check").code == 0
        told = inside("run", "hello", "--biz-date", "2024-01-15", "--param", "rows=2000")
        assert told.code == 0, told
        report = (inside.root / "data" / "report-2024-01-15.txt").read_text(encoding="utf-8")
        assert [line.split()[0] for line in report.splitlines()] == [
            "Amsterdam",
            "Boston",
            "Chengdu",
            "上海",
        ]
        assert "wrote 2000 rows" in inside("logs", "last", "extract").out
        told = inside("list")
        assert told.out.splitlines()[1].split()[-1] == "SUCCESS"
        assert ".mainspring/" in (inside.root / ".gitignore").read_text()

    def test_overwrites_nothing(self, project: Project) -> None:
        told = project("init")
        assert told.code == 1
        assert ". has mainspring.toml already; nothing was written" in told.err
        assert sorted(os.listdir(project.root)) == ["mainspring.toml"]
        (project.root / "mainspring.toml").unlink()
        project.write(".gitignore", "mine\n")
        told = project("init", "--json")
        assert told.code == 0
        assert told.json["kept"] == [".gitignore"]
        assert (project.root / ".gitignore").read_text() == "mine\n"

    def test_where_nothing_can_be_written(self, project: Project) -> None:
        project.write("file", "")
        told = project("init", "file/new")
        assert told.code == 1
        assert "cannot write" in told.err
        assert "Traceback" not in told.err


class TestCheck:
    def test_good(self, project: Project) -> None:
        project.write("dags/flights.py", FLIGHTS)
        told = project("check")
        assert told.code == 0, told
        assert told.out.splitlines()[-1] == "1 file, 1 dag, no problems"
        assert project("check", "--json").json["dags"] == [
            {"dag": "flights", "file": str(project.root / "dags" / "flights.py"), "tasks": 3}
        ]

    def test_every_broken_file_is_told_and_the_good_one_stays(self, project: Project) -> None:
        for name, (text, *_) in BROKEN.items():
            path = project.write(f"dags/{name.replace(' ', '_')}.py", "")
            path.write_text(f"{text}\n# mainspring\n")
        project.write("dags/flights.py", FLIGHTS)
        told = project("check")
        assert told.code == 1
        assert "Traceback" not in told.out + told.err
        for name, (_, line, code, message) in BROKEN.items():
            place = f"dags/{name.replace(' ', '_')}.py"
            (found,) = [each for each in told.out.splitlines() if each.startswith(place)]
            assert message in found
            assert line is None or found.startswith(f"{place}:{line}: ")
            assert code is None or found.endswith(f"[{code}]")
        count = len(BROKEN)
        last = told.out.splitlines()[-1]
        assert last == f"{count + 1} files, 1 dag, {count} problems"
        document = project("check", "--json").json
        assert [entry["dag"] for entry in document["dags"]] == ["flights"]
        assert len(document["problems"]) == count
        told = project("list")
        assert told.code == 0
        assert told.out.splitlines()[1].startswith("flights")
        assert "dags/syntax.py" in told.err

    def test_verbose_shows_the_traceback(self, project: Project) -> None:
        project.write("dags/x.py", "def f():\n    1 / 0\nf()  # mainspring\n")
        told = project("check", "-v")
        assert "ZeroDivisionError" in told.err
        assert 'x.py", line 3, in <module>' in told.err

    def test_files_that_leave_crash_or_hang_are_problems_beside_the_others(
        self, project: Project
    ) -> None:
        project.write("mainspring.toml", 'load_timeout = "1s"')
        project.write("dags/exit.py", "import mainspring, os\nos._exit(0)\n")
        project.write("dags/crash.py", "import mainspring, ctypes\nctypes.string_at(0)\n")
        project.write("dags/hang.py", "import mainspring\nwhile True: pass\n")
        project.write("dags/flights.py", FLIGHTS)
        told = project("check", "--json")
        assert told.code == 1
        assert [(each["code"], each["place"]) for each in told.json["problems"]] == [
            ("crash_at_import", "dags/crash.py:2"),
            ("exit_at_import", "dags/exit.py"),
            ("load_timeout", "dags/hang.py:2"),
        ]
        told = project("list", "--json")
        assert told.code == 0
        assert [each["dag"] for each in told.json["dags"]] == ["flights"]
        assert told.json["broken"] == ["dags/crash.py", "dags/exit.py", "dags/hang.py"]

    def test_what_does_not_mention_us_is_left_out_and_named_on_request(
        self, project: Project
    ) -> None:
        project.write("dags/flights.py", FLIGHTS)
        project.write("dags/tool.py", "raise SystemExit(3)\n")
        assert project("check").code == 0
        assert "dags/tool.py" in project("check", "-v").err
        document = project("check", "--json").json
        assert document["left_out"] == [str(project.root / "dags" / "tool.py")]
        assert project("check", "dags/tool.py").code == 1

    def test_processes_that_a_file_leaves_are_worth_a_word(self, project: Project) -> None:
        text = "import subprocess\nsubprocess.Popen(['sleep', '600'])\n"
        project.write("dags/x.py", text + "import mainspring as ms\nms.Dag.from_graph('x', 'a')\n")
        told = project("check")
        assert told.code == 0
        assert "starts a process that went on after the import" in told.err

    def test_one_name_in_two_files(self, project: Project) -> None:
        project.write("dags/a.py", FLIGHTS)
        project.write("dags/b.py", FLIGHTS)
        told = project("check")
        assert told.code == 1
        assert "dags/b.py: dag 'flights' is also in dags/a.py [duplicate_dag]" in told.out

    def test_two_dags_of_one_name_in_one_file_do_not_run(self, project: Project) -> None:
        text = "import mainspring as ms\n" + 2 * "ms.Dag.from_graph('same', ['a'])\n"
        project.write("dags/a.py", text)
        assert "2 dags are named 'same' [duplicate_dag]" in project("check").out
        assert project("run", "same").code == 1

    def test_paths(self, project: Project) -> None:
        project.write("dags/bad.py", "x = (  # mainspring")
        project.write("elsewhere/flights.py", FLIGHTS)
        assert project("check").code == 1
        assert project("check", "elsewhere").code == 0
        assert project("check", "elsewhere/flights.py").code == 0
        told = project("check", "elsewhere/flight.py")
        assert told.code == 1
        assert "did you mean elsewhere/flights.py?" in told.out

    def test_an_empty_project(self, project: Project) -> None:
        told = project("check")
        assert told.code == 1
        assert "no dag files in dags" in told.err

    def test_all_problems_of_a_dag_at_once(self, project: Project) -> None:
        text = """
            import mainspring as ms
            with ms.Dag("bad name") as dag:
                @ms.task(retries=2, idempotent=False)
                def a() -> None: ...
                @ms.task(depends_on=["extrat"])
                def b() -> None: ...
                @ms.task
                def extract() -> None: ...
        """
        project.write("dags/x.py", text)
        told = project("check", "--json")
        assert told.code == 1
        problems = told.json["problems"]
        assert len(problems) >= 3, problems
        text = " ".join(f"{each['message']} {each['hint']}" for each in problems)
        for word in ("bad name", "idempotent", "extract"):
            assert word in text

    def test_names(self, project: Project) -> None:
        for at, name in enumerate(["a b", "a\\x1b[31m", "x" * 200, "a\\u202eb"]):
            project.write(
                f"dags/d{at}.py",
                f'import mainspring as ms\ndag = ms.Dag.from_graph("{name}", ["t"])\n',
            )
        project.write(
            "dags/e.py", 'import mainspring as ms\ndag = ms.Dag.from_graph("日报", ["抽取"])\n'
        )
        told = project("check")
        assert told.code == 1
        assert "\x1b" not in told.out + told.err
        assert "\u202e" not in told.out + told.err
        for at in range(4):
            assert f"dags/d{at}.py: " in told.out
        assert "dags/e.py" not in told.out
        assert told.out.splitlines()[-1].startswith("5 files, 5 dags, ")

    def test_a_cycle(self, project: Project) -> None:
        text = """
            import mainspring as ms
            dag = ms.Dag.from_graph("round", "abc", [("a", "b"), ("b", "c"), ("c", "a")])
        """
        project.write("dags/x.py", text)
        told = project("check")
        assert told.code == 1
        assert "->" in told.out

    def test_prints_at_import_pass_but_not_into_the_json(self, project: Project) -> None:
        project.write("dags/x.py", "import mainspring, os\nprint('hi')\nos.system('echo native')\n")
        told = project("check")
        assert "hi\n" in told.out
        told = project("check", "--json")
        assert told.json["problems"] == []
        assert "hi" in told.err
        assert "native" in told.err

    def test_a_schedule_without_a_zone_is_worth_a_word(self, project: Project) -> None:
        project.write(
            "dags/x.py",
            'import mainspring as ms\ndag = ms.Dag.from_graph("x", ["a"], schedule="@daily")\n',
        )
        told = project("check")
        assert told.code == 0, told
        assert "names no zone" in told.err
        project.write("mainspring.toml", 'timezone = "Asia/Shanghai"')
        assert project("check").err == ""


class TestShow:
    def test_layers(self, project: Project) -> None:
        project.write("dags/flights.py", FLIGHTS)
        told = project("show", "flights")
        assert told.code == 0, told
        lines = told.out.splitlines()
        assert lines[0] == "flights"
        assert "  schedule  0 30 2 * * ?  America/New_York  from 2013-01-02" in lines
        at = lines.index("layer 1")
        assert lines[at + 1].startswith("  extract")
        assert "3 attempts, 30.0s apart" in lines[at + 1]
        assert "priority high" in lines[at + 1]
        assert lines[at + 2] == "layer 2"
        assert "<- extract" in lines[at + 3]
        assert "not idempotent" in lines[at + 5]
        document = project("show", "flights", "--json").json
        assert document["layers"] == [["extract"], ["clean"], ["publish"]]

    def test_a_file_and_a_dag_of_it(self, project: Project) -> None:
        text = """
            import mainspring as ms
            one = ms.Dag.from_graph("one", ["a"])
            two = ms.Dag.from_graph("two", ["a"])
        """
        project.write("x.py", text)
        told = project("show", "x.py")
        assert told.code == 2
        assert "choose one: x.py:one, x.py:two" in told.err
        assert project("show", "x.py:two").out.startswith("two\n")
        assert "did you mean 'two'?" in project("show", "x.py:tow").err

    @pytest.mark.parametrize("command", ["show", "run"])
    def test_no_such_dag(self, project: Project, command: str) -> None:
        project.write("dags/flights.py", FLIGHTS)
        told = project(command, "flihgts")
        assert told.code == 2
        assert "there is no dag 'flihgts'" in told.err
        assert "did you mean 'flights'?" in told.err

    def test_a_long_chain(self, project: Project) -> None:
        text = """
            import mainspring as ms
            names = [f"t{n}" for n in range(3000)]
            dag = ms.Dag.from_graph("chain", names, list(zip(names, names[1:])))
        """
        project.write("dags/chain.py", text)
        assert len(project("show", "chain", "--json").json["layers"]) == 3000


def test_list_aligns_wide_names(project: Project) -> None:
    for at, name in enumerate(["日报汇总", "b"]):
        text = f'import mainspring as ms\ndag = ms.Dag.from_graph("{name}", ["t"], owner="me")\n'
        project.write(f"dags/d{at}.py", text)
    told = project("list")
    assert told.code == 0, told
    head, first, second = told.out.splitlines()
    assert head.index("OWNER") == first.index("me") == second.index("me") + 4
    entry = project("list", "--json").json["dags"][0]
    assert entry["dag"] == "b"
    assert entry["last_run"] is None
    assert "_at" not in entry


def test_reading_makes_no_database(project: Project) -> None:
    project.write("dags/flights.py", FLIGHTS)
    for words in (["list"], ["check"], ["runs"], ["show", "flights"], ["logs", "1"]):
        project(*words)
    assert not Path(project.root / ".mainspring").exists()
