"""What changes in a folder of dag files amount to, decided without files, clocks or processes."""

import json

import pytest
from mainspring._folder import Stamp
from mainspring._follow import FIRST_RETRY, LAST_RETRY, Tracker
from mainspring._loader import Loaded
from mainspring.errors import Problem

OOPS = Problem("import_error", "x.py:1", "ValueError: oops")


class World:
    """Files with versions, and what loading them gives."""

    def __init__(self):
        self.tracker = Tracker(lambda path: path)
        self.now = 100.0
        self.files, self.modules = {}, {}
        self.says = {}

    def write(self, file, *dags, problems=(), broken=(), modules=(), sought=(), version=None):
        old = self.files.get(file)
        count = old.modified + 1 if old else 1
        self.files[file] = Stamp(count, 10, 1)
        self.says[file] = (dags, problems, broken, modules, sought, version or count)

    def remove(self, file):
        del self.files[file]

    def touch_module(self, module):
        old = self.modules.get(module)
        self.modules[module] = Stamp(old.modified + 1 if old else 1, 5, 2)

    def look(self, after=0.2):
        self.now += after
        watched = {path: self.modules.get(path) for path in self.tracker.watching()}
        return self.tracker.look(self.now, self.files, watched)

    def load(self, file, began=1 << 60):
        dags, problems, broken, modules, sought, version = self.says[file]
        stamps = {file: self.files.get(file), **{each: self.modules.get(each) for each in modules}}
        text = [json.dumps({"name": dag, "version": version}) for dag in dags]
        return self.tracker.loaded(self.now, Loaded(
            file, f"v{version}", text, list(dags), list(broken), list(problems), [], stamps,
            list(sought), "", None, 0.1, []), began)

    def settle(self):
        """Look twice and load what is wanted; all changes, as (kind, file, keys, gone)."""
        changes = []
        for _ in range(3):
            wanted, gone = self.look()
            changes += gone
            for file in wanted:
                changes += self.load(file)
        return [(each.kind, each.file, each.keys, each.gone) for each in changes]


@pytest.fixture
def world():
    return World()


def test_added_edited_broken_repaired_removed(world):
    world.write("x.py", "a", "b")
    assert world.settle() == [("added", "x.py", ("a", "b"), ())]
    world.write("x.py", "a")
    assert world.settle() == [("edited", "x.py", ("a",), ("b",))]
    world.write("x.py", problems=[OOPS])
    assert world.settle() == [("broken", "x.py", ("a",), ())]
    world.write("x.py", "a")
    assert world.settle() == [("repaired", "x.py", ("a",), ())]
    world.remove("x.py")
    assert world.settle() == [("removed", "x.py", (), ("a",))]
    assert world.tracker.files() == []


def test_nothing_happens_when_nothing_does(world):
    world.write("x.py", "a")
    world.settle()
    assert world.settle() == []
    assert not world.tracker.unsettled


def test_a_touch_that_changes_nothing_is_no_change(world):
    world.write("x.py", "a", version=7)
    world.settle()
    world.write("x.py", "a", version=7)
    assert world.settle() == []


def test_a_broken_file_keeps_the_last_good_definitions_and_their_fingerprint(world):
    world.write("x.py", "a", version=1)
    world.settle()
    world.write("x.py", problems=[OOPS], version=2)
    world.look()
    (file,), _ = world.look()
    (change,) = world.load(file)
    assert change.specs == [{"name": "a", "version": 1}]
    assert change.fingerprint == "v1"
    assert change.problems == (OOPS,)
    assert world.tracker.active() == {"a": ("x.py", "v1")}
    assert world.tracker.problems() == {"x.py": (OOPS,)}


def test_one_broken_dag_of_a_file_stays_as_it_was_and_the_others_move_on(world):
    world.write("x.py", "a", "b", version=1)
    world.settle()
    world.write("x.py", "a", broken=["b"], problems=[OOPS], version=2)
    world.look()
    (file,), _ = world.look()
    (change,) = world.load(file)
    assert change.kind == "broken"
    assert change.specs == [{"name": "a", "version": 2}, {"name": "b", "version": 1}]
    assert change.gone == ()


def test_a_file_that_was_never_good_has_no_definitions(world):
    world.write("x.py", problems=[OOPS])
    assert world.settle() == [("broken", "x.py", (), ())]
    world.remove("x.py")
    assert world.settle() == [("removed", "x.py", (), ())]


def test_a_file_is_not_loaded_while_it_is_being_written(world):
    world.write("x.py", "a")
    for _ in range(5):
        assert world.look(after=0.05) == ([], [])
        world.write("x.py", "a")
        assert world.tracker.unsettled
    assert world.look(after=0.05) == ([], [])
    assert world.look(after=0.11) == (["x.py"], [])
    assert world.look() == ([], []), "it is being loaded"


def test_an_edit_while_it_is_loaded_is_loaded_after_it(world):
    world.write("x.py", "a")
    world.look()
    assert world.look() == (["x.py"], [])
    world.write("x.py", "b")
    assert world.look() == ([], [])
    world.says["x.py"] = (("a",), (), (), (), (), 1)
    world.load("x.py")
    world.says["x.py"] = (("b",), (), (), (), (), 2)
    assert world.settle() == [("edited", "x.py", ("b",), ("a",))]


def test_a_file_that_is_removed_while_it_is_loaded(world):
    world.write("x.py", "a")
    world.settle()
    world.write("x.py", "a", "b")
    world.look()
    world.look()
    world.remove("x.py")
    assert world.look() == ([], [])
    world.load("x.py")
    assert world.settle() == [("removed", "x.py", (), ("a", "b"))]


def test_a_file_that_is_away_for_a_moment_was_not_removed(world):
    world.write("x.py", "a")
    world.settle()
    kept = world.files.pop("x.py")
    assert world.look(after=0.05) == ([], [])
    world.files["x.py"] = kept
    assert world.settle() == []


def test_a_renamed_file_takes_its_dag_along(world):
    world.write("old.py", "a")
    world.settle()
    world.remove("old.py")
    world.write("new.py", "a")
    changes = world.settle()
    # The old file lets go only when the new one is loaded, so the dag is never in none.
    assert [(kind, file, gone) for kind, file, _, gone in changes] == [
        ("broken", "new.py", ()), ("removed", "old.py", ()), ("repaired", "new.py", ()),
    ]
    assert world.tracker.active()["a"][0] == "new.py"
    assert world.tracker.problems() == {}


def test_a_changed_helper_loads_the_files_that_import_it_and_no_other(world):
    world.touch_module("h.py")
    world.write("x.py", "a", modules=["h.py"])
    world.write("y.py", "b")
    world.settle()
    assert world.tracker.watching() == {"h.py"}
    world.touch_module("h.py")
    world.look()
    assert world.look()[0] == ["x.py"]


def test_a_module_that_was_not_there_repairs_the_file_when_it_comes(world):
    world.write("x.py", problems=[OOPS], sought=["h.py", "h/__init__.py"])
    world.settle()
    assert world.look()[0] == []
    world.touch_module("h.py")
    world.says["x.py"] = (("a",), (), (), ("h.py",), (), 2)
    assert world.settle() == [("repaired", "x.py", ("a",), ())]


def test_a_module_that_was_written_during_the_load_is_read_once_more(world):
    world.touch_module("h.py")
    world.write("x.py", "a", modules=["h.py"])
    world.look()
    assert world.look()[0] == ["x.py"]
    world.load("x.py", began=1)  # not older than the load: it may have been read before that
    assert world.look()[0] == []
    assert world.look()[0] == ["x.py"]
    world.load("x.py", began=1)
    world.look()
    assert world.look()[0] == [], "whatever its clock says, it stayed the same"


def test_what_is_broken_is_tried_again_later_and_later(world):
    world.write("x.py", problems=[OOPS])
    world.settle()
    waits = []
    for _ in range(7):
        began = world.now
        at = world.tracker.next_retry()
        waits.append(round(at - began))
        world.now = at - 0.01
        assert world.look(after=0) == ([], [])
        world.now = at
        assert world.look(after=0) == (["x.py"], [])
        assert world.load("x.py") == [], "nothing new to say"
    assert waits[0] <= FIRST_RETRY
    assert waits[1:4] == [60, 120, 240]
    assert waits[-1] == LAST_RETRY
    world.write("x.py", "a")
    assert world.settle() == [("repaired", "x.py", ("a",), ())]
    assert world.tracker.next_retry() is None


class TestOneDagInTwoFiles:
    def test_the_first_has_it_and_the_second_says_so(self, world):
        world.write("a.py", "same", "one")
        world.write("b.py", "same", "two")
        assert world.settle() == [
            ("added", "a.py", ("same", "one"), ()), ("broken", "b.py", ("two",), ()),
        ]
        (problem,) = world.tracker.problems()["b.py"]
        assert problem.code == "duplicate_dag"
        assert problem.place == "b.py"
        assert "'same' is also in a.py" in problem.message

    def test_who_has_it_keeps_it_when_an_earlier_file_comes(self, world):
        world.write("b.py", "same")
        world.settle()
        files, world.files = world.files, {}
        world.write("a.py", "same")
        world.files.update(files)
        assert world.settle() == [("broken", "a.py", (), ())]
        assert world.tracker.active()["same"][0] == "b.py"

    def test_the_other_gets_it_when_the_owner_goes(self, world):
        world.write("a.py", "same")
        world.write("b.py", "same")
        world.settle()
        world.remove("a.py")
        assert world.settle() == [
            ("removed", "a.py", (), ()), ("repaired", "b.py", ("same",), ()),
        ]

    def test_the_other_gets_it_when_the_owner_names_it_anew(self, world):
        world.write("a.py", "same")
        world.write("b.py", "same")
        world.settle()
        world.write("a.py", "mine")
        assert world.settle() == [
            ("edited", "a.py", ("mine",), ()), ("repaired", "b.py", ("same",), ()),
        ]

    def test_a_broken_owner_keeps_it(self, world):
        world.write("a.py", "same")
        world.write("b.py", "same")
        world.settle()
        world.write("a.py", problems=[OOPS])
        assert world.settle() == [("broken", "a.py", ("same",), ())]
