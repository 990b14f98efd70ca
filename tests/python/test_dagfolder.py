"""A folder of dag files as the scheduler sees it: all at first, then what changes."""

import os
import time

import pytest
from mainspring import _config
from mainspring._dagfolder import DagFolder
from mainspring._notice import Notice

DEADLINE = 60.0
DAG = "import mainspring as ms\nms.Dag.from_graph({name!r}, ['a'])\n"


class Blind(Notice):
    """A system that tells nothing."""

    def __init__(self):
        self.fd, self.blind = None, True


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mainspring.toml").write_text("")
    (tmp_path / "dags").mkdir()
    opened = []

    class Project:
        dags = tmp_path / "dags"

        def write(self, name, text=None, dag=None):
            path = self.dags / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(DAG.format(name=dag or path.stem) if text is None else text)

        def open(self, **options):
            settings = _config.load_settings({"project": str(tmp_path)}, {})
            opened.append(DagFolder(settings, **options))
            return opened[-1]

    yield Project()
    for each in opened:
        each.close()


def wait_for(folder, count=1):
    """The next changes, at the latest before the deadline."""
    found, end = [], time.monotonic() + DEADLINE
    while len(found) < count:
        assert time.monotonic() < end, found
        found += folder.changes()
        time.sleep(min(0.01, folder.wait()))
    return found


def told(changes):
    return sorted((each.kind, os.path.basename(each.file), each.keys) for each in changes)


def test_all_at_first_in_order_with_progress(project):
    for name in ("b", "a", "c"):
        project.write(f"{name}.py")
    project.write("bad.py", "import mainspring\n1 / 0\n")
    seen = []
    folder = project.open()
    loaded = folder.load_all(lambda done, total, each: seen.append((done, total)))
    assert [each.keys for each in loaded] == [["a"], ["b"], [], ["c"]]
    assert [problem.code for problem in folder.problems()] == ["import_error"]
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert sorted(folder.active()) == ["a", "b", "c"]
    assert folder.changes() == []


def test_of_two_files_with_one_dag_the_first_has_it_however_they_are_loaded(project):
    project.write("a.py", "import time\ntime.sleep(0.2)\n" + DAG.format(name="same"))
    project.write("b.py", dag="same")
    first, second = project.open().load_all()
    assert (first.keys, second.keys, second.specs) == (["same"], [], [])
    (problem,) = second.problems
    assert problem.code == "duplicate_dag"
    assert "dags/a.py" in problem.message and problem.place == "dags/b.py"


@pytest.mark.parametrize("notice", [Notice, Blind])
def test_every_kind_of_change_is_seen(project, notice):
    project.write("a.py")
    folder = project.open(notice=notice())
    folder.load_all()
    project.write("sub/b.py")
    assert told(wait_for(folder)) == [("added", "b.py", ("b",))]
    project.write("sub/b.py", dag="c")
    (change,) = wait_for(folder)
    assert (change.kind, change.keys, change.gone) == ("edited", ("c",), ("b",))
    project.write("a.py", "import mainspring\nx = (\n")
    (change,) = wait_for(folder)
    assert (change.kind, change.keys) == ("broken", ("a",))
    assert change.problems[0].place == "dags/a.py:2"
    assert [spec["name"] for spec in change.specs] == ["a"]
    project.write("a.py")
    assert told(wait_for(folder)) == [("repaired", "a.py", ("a",))]
    (project.dags / "sub" / "b.py").unlink()
    (change,) = wait_for(folder)
    assert (change.kind, change.gone) == ("removed", ("c",))
    os.replace(project.dags / "a.py", project.dags / "z.py")
    while sorted(folder.active().values())[0][0] != str(project.dags / "z.py"):
        wait_for(folder)
    assert sorted(folder.active()) == ["a"]


def test_a_changed_helper_in_a_folder_that_holds_no_dags_loads_its_dags_again(project):
    project.write("../lib/shared.py", "NAME = 'one'\n")
    project.write("x.py", "import sys, pathlib\n"
                  "sys.path.append(str(pathlib.Path(__file__).parents[1] / 'lib'))\n"
                  "import shared\nimport mainspring as ms\nms.Dag.from_graph(shared.NAME, 'a')\n")
    folder = project.open()
    (loaded,) = folder.load_all()
    assert loaded.keys == ["one"], loaded.problems
    project.write("../lib/shared.py", "NAME = 'two'\n")
    (change,) = wait_for(folder)
    assert (change.kind, change.keys, change.gone) == ("edited", ("two",), ("one",))


def test_a_module_that_comes_later_repairs_the_file(project):
    project.write("x.py", "import late\n" + DAG.format(name="x"))
    folder = project.open()
    (loaded,) = folder.load_all()
    assert "No module named 'late'" in loaded.problems[0].message
    project.write("late.py", "# of no dag\n")
    assert told(wait_for(folder)) == [("repaired", "x.py", ("x",))]


def test_a_folder_that_vanishes_takes_no_dags_with_it(project):
    project.write("a.py")
    folder = project.open(notice=Blind())
    folder.load_all()
    os.rename(project.dags, project.dags.parent / "away")
    end = time.monotonic() + DEADLINE
    while not folder.problems():
        assert folder.changes() == []
        assert time.monotonic() < end
        time.sleep(0.01)
    assert folder.problems()[0].code == "no_folder"
    assert sorted(folder.active()) == ["a"]
    os.rename(project.dags.parent / "away", project.dags)
    while folder.problems():
        assert folder.changes() == []
        assert time.monotonic() < end
        time.sleep(0.01)


def test_asking_never_waits_for_a_file_that_hangs(project):
    project.write("a.py")
    folder = project.open()
    folder.load_all()
    project.write("hangs.py", "import mainspring, time\ntime.sleep(600)\n")
    project.write("b.py")
    longest, found, end = 0.0, [], time.monotonic() + DEADLINE
    while not found:
        began = time.monotonic()
        found += folder.changes()
        longest = max(longest, time.monotonic() - began)
        assert began < end
        time.sleep(0.005)
    assert told(found) == [("added", "b.py", ("b",))]
    assert longest < 5.0


def test_other_files_in_the_folder_wake_nobody(project):
    project.write("a.py")
    folder = project.open()
    folder.load_all()
    notice = folder._notice
    notice.woken()
    project.write("data.csv", "1,2\n")
    assert not notice.woken()
    project.write("a.py")
    assert notice.woken()
    assert not notice.woken()
