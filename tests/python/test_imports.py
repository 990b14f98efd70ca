"""What the package may import and call: data is never code, and nothing comes along unasked."""

import ast
import sys
from pathlib import Path

import mainspring
import pytest

ROOT = Path(mainspring.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))

# Modules that make objects, and so run code, out of bytes.
BANNED = {"pickle", "cPickle", "_pickle", "dill", "cloudpickle", "marshal", "shelve", "jsonpickle"}

# Calls that run text as code, and why each is there.
CODE = {
    ("_signature.py", "eval"): "an author's own annotation, as Python itself would read it",
}

# Beyond the standard library: asked for by the metadata, or used only where it is already there.
FOREIGN = {"mainspring", "tomllib", "tomli", "annotationlib", "IPython", "holidays", "obstore",
           "chinese_calendar"}


def parsed(path):
    return ast.walk(ast.parse(path.read_text(encoding="utf-8")))


def imported(path):
    for node in parsed(path):
        if isinstance(node, ast.Import):
            for name in node.names:
                yield name.name.partition(".")[0], node.lineno
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}:{node.lineno} imports relatively"
            yield (node.module or "").partition(".")[0], node.lineno
        elif isinstance(node, ast.Call) and called(node) in ("import_module", "__import__"):
            first = node.args[0]
            if isinstance(first, ast.Constant):
                yield str(first.value).partition(".")[0], node.lineno


def called(node):
    target = node.func
    return getattr(target, "id", None) or getattr(target, "attr", None)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_bytes_never_become_objects(path):
    found = [f"{path.name}:{line} imports {name}" for name, line in imported(path)
             if name in BANNED]
    assert found == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_only_the_standard_library_is_imported(path):
    known = set(sys.stdlib_module_names) | FOREIGN
    found = [f"{path.name}:{line} imports {name}" for name, line in imported(path)
             if name not in known]
    assert found == []


def test_text_never_becomes_code_unless_the_table_says_why():
    found = {}
    for path in FILES:
        for node in parsed(path):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) \
                    and node.func.id in ("eval", "exec", "compile"):
                found[(str(path.relative_to(ROOT)), node.func.id)] = node.lineno
    assert set(found) == set(CODE), found
