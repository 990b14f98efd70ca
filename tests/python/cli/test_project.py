"""Finding and loading dag files."""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
from mainspring import _config
from mainspring._folder import find_files
from mainspring._project import load_file, load_files

Write = Callable[[str, str], Path]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    _config.reset(_config.load_settings({"project": str(tmp_path)}, {}, tmp_path))
    monkeypatch.setattr(_config, "_current", _config._current)

    def make(name: str, text: str = "") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return path

    return make


def names(files: list[Path], root: Path) -> list[str]:
    return [file.relative_to(root).as_posix() for file in files]


class TestFinding:
    def test_what_counts(self, write: Write, tmp_path: Path) -> None:
        for name in ("b.py", "a.py", "_c.py", ".d.py", "e.txt", "n.ipynb", "sub/f.py", "_x/g.py"):
            write(f"dags/{name}", "import mainspring")
        write("dags/__pycache__/h.py", "import mainspring")
        found = find_files([tmp_path / "dags"], tmp_path)
        assert names(found, tmp_path / "dags") == ["a.py", "b.py", "sub/f.py"]

    def test_ignore_files(self, write: Write, tmp_path: Path) -> None:
        for name in ("a.py", "test_a.py", "old/b.py", "new/old/c.py", "new/d.py", "new/keep.py"):
            write(f"dags/{name}", "import mainspring")
        write(".mainspringignore", "# no tests\ntest_*.py\n/dags/old/\n\n")
        write("dags/new/.mainspringignore", "*.py\n!keep.py\n")
        found = find_files([tmp_path / "dags"], tmp_path)
        assert names(found, tmp_path / "dags") == ["a.py", "new/keep.py"]

    @pytest.mark.parametrize(
        ("pattern", "left"),
        [
            ("sub/", ["a.py", "b1.py"]),
            ("/a.py", ["b1.py", "sub/a.py", "sub/deep/x.py"]),
            ("a.py", ["b1.py", "sub/deep/x.py"]),
            ("sub/**", ["a.py", "b1.py"]),
            ("**/x.py", ["a.py", "b1.py", "sub/a.py"]),
            ("b[0-9].py", ["a.py", "sub/a.py", "sub/deep/x.py"]),
            ("b?.py", ["a.py", "sub/a.py", "sub/deep/x.py"]),
            ("[", ["a.py", "b1.py", "sub/a.py", "sub/deep/x.py"]),
        ],
    )
    def test_patterns(self, write: Write, tmp_path: Path, pattern: str, left: list[str]) -> None:
        for name in ("a.py", "b1.py", "sub/a.py", "sub/deep/x.py"):
            write(f"dags/{name}", "import mainspring")
        write("dags/.mainspringignore", pattern)
        found = find_files([tmp_path / "dags"], tmp_path)
        assert names(found, tmp_path / "dags") == left

    def test_links(self, write: Write, tmp_path: Path) -> None:
        write("elsewhere/a.py", "import mainspring")
        write("dags/b.py", "import mainspring")
        (tmp_path / "dags" / "link").symlink_to(tmp_path / "elsewhere")
        (tmp_path / "dags" / "up").symlink_to(tmp_path / "dags")
        (tmp_path / "dags" / "again.py").symlink_to(tmp_path / "dags" / "b.py")
        found = find_files([tmp_path / "dags"], tmp_path)
        assert sorted(names(found, tmp_path / "dags")) == ["again.py", "link/a.py"]


ONE = """
    import mainspring as ms
    with ms.Dag("{name}") as dag:
        @ms.task
        def a() -> int:
            return 1
"""


class TestLoading:
    def test_dags_of_globals_lists_and_functions(self, write: Write) -> None:
        text = """
            import mainspring as ms
            def make(name):
                return ms.Dag.from_graph(name, ["a"])
            one = make("one")
            many = [make("two"), make("three")]
            make("four")
            def later():
                make("never")
        """
        loaded = load_file(write("dags/x.py", text))
        assert [dag.name for dag in loaded.dags] == ["one", "two", "three", "four"]
        assert loaded.problems == ()

    def test_tasks_without_a_dag_are_in_that_of_the_file(self, write: Write) -> None:
        text = """
            import mainspring as ms
            @ms.task
            def extract() -> int:
                return 1
            @ms.task(depends_on=["extract"])
            def load() -> None: ...
        """
        (dag,) = load_file(write("dags/orders.py", text)).dags
        assert dag.name == "orders"
        assert [node.name for node in dag.nodes()] == ["extract", "load"]

    def test_tasks_that_a_dag_uses_are_not(self, write: Write) -> None:
        text = """
            import mainspring as ms
            @ms.task
            def extract(n: int = 1) -> int:
                return n
            with ms.Dag("other") as dag:
                extract()
                extract.with_options(name="again")()
        """
        (dag,) = load_file(write("dags/orders.py", text)).dags
        assert dag.name == "other"

    def test_main_block_stays_out_and_helpers_are_found(self, write: Write) -> None:
        write("dags/helper.py", "NAME = 'helped'")
        text = """
            import helper
            import mainspring as ms
            dag = ms.Dag.from_graph(helper.NAME, ["a"])
            if __name__ == "__main__":
                raise SystemExit("not here")
        """
        before = list(sys.path)
        (loaded,) = load_files([write("dags/x.py", text)])
        assert [dag.name for dag in loaded.dags] == ["helped"]
        assert "helper" not in sys.modules
        assert sys.path == before

    def test_helpers_of_one_name_in_two_folders(self, write: Write) -> None:
        files = []
        for name in ("one", "two"):
            write(f"{name}/helper.py", f"NAME = {name!r}")
            text = """
                import helper
                import mainspring as ms
                dag = ms.Dag.from_graph(helper.NAME, ["a"])
            """
            files.append(write(f"{name}/x.py", text))
        loaded = load_files(files)
        assert [dag.name for item in loaded for dag in item.dags] == ["one", "two"]

    def test_a_dag_file_that_imports_another(self, write: Write) -> None:
        one = write("dags/one.py", ONE.format(name="one"))
        text = """
            from one import dag as other
            import mainspring as ms
            dag = ms.Dag.from_graph("two", ["a"])
        """
        loaded = load_files([one, write("dags/two.py", text)])
        assert [[dag.name for dag in item.dags] for item in loaded] == [["one"], ["two"]]
        assert not any(item.problems for item in loaded)

    def test_one_name_in_two_files(self, write: Write) -> None:
        files = [write(f"dags/{name}.py", ONE.format(name="same")) for name in "ab"]
        first, second = load_files(files)
        assert first.problems == ()
        (problem,) = second.problems
        assert problem.code == "duplicate_dag"
        assert "b.py" in problem.place
        assert "a.py" in problem.message

    def test_one_name_twice_in_a_file(self, write: Write) -> None:
        (problem,) = load_file(write("a.py", 2 * ONE.format(name="same"))).problems
        assert problem.code == "duplicate_dag"
        assert "2 dags are named 'same'" in problem.message

    def test_what_the_file_changes_is_put_back(self, write: Write, tmp_path: Path) -> None:
        write("other/x.txt", "")
        text = """
            import os, sys
            assert sys.argv == [__file__]
            os.chdir("other")
            sys.path.append("/nowhere")
            sys.setrecursionlimit(5000)
        """
        here, path, limit = os.getcwd(), list(sys.path), sys.getrecursionlimit()
        (loaded,) = load_files([write("dags/x.py", text)])
        assert loaded.problems == ()
        assert (os.getcwd(), sys.path, sys.getrecursionlimit()) == (here, path, limit)

    def test_the_name_of_the_module_does_not_depend_on_the_machine(self, write: Write) -> None:
        text = "import mainspring as ms\n@ms.task\ndef a() -> None: ...\n"
        (dag,) = load_file(write("dags/my etl.py", text)).dags
        (node,) = dag.nodes()
        assert node.task.__module__ == "mainspring_file_dags_my_etl"


BROKEN = {
    "syntax": ("x = (\n", 1, "syntax_error", "SyntaxError"),
    "indentation": ("def f():\nreturn 1\n", 2, "syntax_error", "IndentationError"),
    "module": ("\nimport nowhere_to_be_found\n", 2, "import_error", "nowhere_to_be_found"),
    "name": ("from os import nothing_like_it\n", 1, "import_error", "nothing_like_it"),
    "relative": ("from . import x\n", 1, "import_error", "relative import"),
    "raises": ("x = 1\n1 / 0\n", 2, "import_error", "ZeroDivisionError: division by zero"),
    "exit": ("import sys\nsys.exit(3)\n", 2, "exit_at_import", "leaves the process"),
    "quiet exit": ("raise SystemExit\n", 1, "exit_at_import", "leaves the process"),
    "interrupt": ("raise KeyboardInterrupt\n", 1, "import_error", "KeyboardInterrupt"),
    "recursion": ("def f():\n    f()\nf()\n", 2, "import_error", "RecursionError"),
    "generator exit": ("raise GeneratorExit\n", 1, "import_error", "GeneratorExit"),
    "bad str": (
        "class E(Exception):\n    def __str__(self): raise ValueError\nraise E\n",
        3,
        "import_error",
        "E: ",
    ),
    "runs": (
        "import mainspring as ms\ndag = ms.Dag.from_graph('x', ['a'])\ndag.run()\n",
        3,
        "runs_at_import",
        "runs dag 'x'",
    ),
    "nested": (
        "import mainspring as ms\nwith ms.Dag('x'):\n    with ms.Dag('y'):\n        pass\n",
        3,
        "nested_dag",
        "y",
    ),
    "null byte": ("x = 1\0\n", None, None, "null byte"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_broken(write: Write, kind: str) -> None:
    text, line, code, message = BROKEN[kind]
    path = write("dags/bad.py", "")
    path.write_text(text)
    good = write("dags/good.py", ONE.format(name="good"))
    broken, fine = load_files([path, good])
    assert broken.dags == ()
    (problem,) = broken.problems
    assert code in (None, problem.code)
    assert message in problem.message
    if line is not None:
        assert problem.place == f"{os.path.join('dags', 'bad.py')}:{line}"
    assert problem.place.startswith(os.path.join("dags", "bad.py"))
    assert [dag.name for dag in fine.dags] == ["good"]


def test_not_utf8(write: Write) -> None:
    path = write("dags/bad.py", "")
    path.write_bytes(b"x = '\xff'\n")
    (problem,) = load_file(path).problems
    assert problem.code == "syntax_error"


def test_an_open_block_does_not_leak_into_the_next_file(write: Write) -> None:
    text = """
        import mainspring as ms
        dag = ms.Dag("left_open")
        dag.__enter__()
        raise RuntimeError("in the middle")
    """
    bad = write("dags/bad.py", text)
    good = write("dags/good.py", ONE.format(name="good"))
    broken, fine = load_files([bad, good])
    assert broken.problems
    assert [dag.name for dag in fine.dags] == ["good"]


def test_a_helper_is_named_where_it_breaks(write: Write) -> None:
    write("dags/_helper.py", "def f():\n    raise ValueError('deep')\n")
    (problem,) = load_file(write("dags/x.py", "import _helper\n_helper.f()\n")).problems
    assert problem.place == f"{os.path.join('dags', '_helper.py')}:2"


def test_no_such_file(write: Write, tmp_path: Path) -> None:
    write("dags/flights.py", "")
    (problem,) = load_file(tmp_path / "dags" / "flight.py").problems
    assert problem.code == "no_file"
    assert problem.hint == f"did you mean {os.path.join('dags', 'flights.py')}?"
    (problem,) = load_file(tmp_path / "dags").problems
    assert problem.code == "not_a_file"
