"""Which files are dag files: the word, ignore files as git reads them, environments, links."""

import os

import pytest
from mainspring._folder import Folders, find_files, stamp
from mainspring._ignore import ignored, parse

# What git 2 says of each (`git check-ignore --no-index`): pattern, ignored, not ignored.
AS_GIT = [
    ("*.py", ["a.py", "sub/a.py"], ["a.pyc"]),
    ("/a.py", ["a.py"], ["sub/a.py"]),
    ("sub/a.py", ["sub/a.py"], ["a.py", "deep/sub/a.py"]),
    ("**/a.py", ["a.py", "x/y/a.py"], ["ba.py"]),
    ("sub/**", ["sub/a.py", "sub/x/a.py"], ["a.py", "sub"]),
    ("a/**/b.py", ["a/b.py", "a/x/b.py", "a/x/y/b.py"], ["b.py", "a/xb.py"]),
    ("x**y.py", ["xy.py", "xaby.py"], ["x/y.py"]),
    ("?.py", ["a.py"], ["ab.py", ".py"]),
    ("sub?a.py", [], ["sub/a.py"]),
    ("[ab].py", ["a.py", "b.py"], ["c.py"]),
    ("[!a].py", ["b.py"], ["a.py"]),
    ("[^a].py", ["b.py"], ["a.py"]),
    ("[]x].py", ["].py", "x.py"], ["a.py"]),
    ("[a-c]1.py", ["b1.py"], ["d1.py"]),
    ("[", [], ["[", "a.py"]),
    (r"\#a.py", ["#a.py"], ["a.py"]),
    (r"\!a.py", ["!a.py"], ["a.py"]),
    (r"a\*.py", ["a*.py"], ["ab.py"]),
    ("#a.py", [], ["#a.py", "a.py"]),
    ("a.py   ", ["a.py"], []),
    ("a b.py", ["a b.py"], ["ab.py"]),
    ("*.py\n!keep.py", ["a.py"], ["keep.py", "sub/keep.py"]),
    ("!a.py\na.py", ["a.py"], []),
    ("日报.py", ["日报.py"], ["a.py"]),
    ("", [], ["a.py"]),
    ("/", [], ["a.py"]),
]


@pytest.mark.parametrize(("lines", "out", "stay"), AS_GIT, ids=[row[0] for row in AS_GIT])
def test_a_line_means_what_git_means(lines, out, stay):
    rules = parse(lines, "/dags")
    assert [name for name in out if not ignored(f"/dags/{name}", rules, folder=False)] == []
    assert [name for name in stay if ignored(f"/dags/{name}", rules, folder=False)] == []


def test_a_slash_at_the_end_means_folders_only():
    rules = parse("old/", "/dags")
    assert ignored("/dags/x/old", rules, folder=True)
    assert not ignored("/dags/old", rules, folder=False)


def test_a_rule_holds_below_its_own_folder_only():
    rules = parse("a.py", "/dags/sub")
    assert ignored("/dags/sub/x/a.py", rules, folder=False)
    assert not ignored("/dags/a.py", rules, folder=False)
    assert not ignored("/dags/sub2/a.py", rules, folder=False)


@pytest.fixture
def tree(tmp_path):
    def make(*names, text="import mainspring\n"):
        for name in names:
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return tmp_path

    return make


def found(root, **options):
    dags = root / "dags"
    return [path.relative_to(dags).as_posix() for path in find_files([dags], root, **options)]


def test_files_without_the_word_are_left_out_and_told(tree):
    tree("dags/dag.py")
    root = tree("dags/tool.py", text="def f(): ...\n")
    out = []
    assert found(root, left_out=out) == ["dag.py"]
    assert out == [str(root / "dags" / "tool.py")]


def test_a_file_that_is_named_needs_no_word(tree):
    root = tree("tool.py", text="x = 1\n")
    assert find_files([root / "tool.py"], root) == [root / "tool.py"]


def test_environments_and_helpers_are_not_looked_into(tree):
    root = tree("dags/a.py", "dags/venv/lib/b.py", "dags/.git/c.py", "dags/_x/d.py",
                "dags/__pycache__/e.py", "dags/node_modules/f.py", "dags/site-packages/g.py",
                "dags/__init__.py", "dags/_helper.py", "dags/.h.py", "dags/sub/i.py")
    (root / "dags" / "venv" / "pyvenv.cfg").write_text("home = /usr\n")
    assert found(root) == ["a.py", "sub/i.py"]


def test_the_ignore_files_from_the_project_down_count(tree):
    root = tree("dags/a.py", "dags/b.py", "dags/sub/c.py", "dags/sub/d.py", "dags/old/e.py")
    (root / ".mainspringignore").write_text("b.py\n/dags/old/\n")
    (root / "dags" / "sub" / ".mainspringignore").write_text("*.py\n!d.py\n")
    assert found(root) == ["a.py", "sub/d.py"]


def test_links_in_a_circle_end_and_what_is_reached_twice_counts_once(tree):
    root = tree("dags/a.py", "dags/sub/b.py", "elsewhere/c.py")
    (root / "dags" / "sub" / "up").symlink_to(root / "dags")
    (root / "dags" / "out").symlink_to(root / "elsewhere")
    (root / "dags" / "z.py").symlink_to(root / "dags" / "a.py")
    (root / "dags" / "dead.py").symlink_to(root / "nowhere.py")
    assert found(root) == ["a.py", "out/c.py", "sub/b.py"]


def test_files_come_in_the_order_of_the_folders_by_path(tree):
    root = tree("two/a.py", "one/b.py", "one/a/z.py", "one/a.py")
    names = Folders([str(root / "two"), str(root / "one")]).scan()
    inside = [os.path.relpath(name, root) for name in names]
    assert inside == ["two/a.py", "one/a.py", "one/a/z.py", "one/b.py"]


def test_a_folder_that_is_not_there_is_named(tree):
    root = tree("dags/a.py")
    folders = Folders([str(root / "dags"), str(root / "more")])
    assert list(folders.scan()) == [str(root / "dags" / "a.py")]
    assert folders.missing == [str(root / "more")]


def test_a_stamp_is_another_after_each_way_to_write(tree):
    root = tree("a.py")
    path = str(root / "a.py")
    first = stamp(path)
    os.utime(path, ns=(first.modified + 1, first.modified + 1))
    second = stamp(path)
    (root / "b.py").write_text("import mainspring\n")
    os.replace(root / "b.py", path)
    assert len({first, second, stamp(path)}) == 3
    assert stamp(str(root / "none.py")) is None
    assert stamp("a\0b") is None


def test_a_second_look_sees_what_changed_in_word_and_rules(tree):
    root = tree("dags/a.py", "dags/b.py")
    folders = Folders([str(root / "dags")], str(root))
    assert len(folders.scan()) == 2
    tree("dags/b.py", text="nothing to see, and longer than before\n")
    (root / ".mainspringignore").write_text("a.py\n")
    assert folders.scan() == {}
    (root / ".mainspringignore").unlink()
    assert list(folders.scan()) == [str(root / "dags" / "a.py")]
