"""The public face as a whole: names, docstrings, examples, types, and how light it is."""

import doctest
import importlib
import inspect
import pkgutil
import subprocess
import sys
import warnings

import mainspring as ms
import pytest

MODULES = [name for _, name, _ in pkgutil.iter_modules(ms.__path__, "mainspring.")
           if name not in ("mainspring._mainspring", "mainspring.cli", "mainspring.__main__")]


def test_all_names_what_is_there():
    assert sorted(ms.__all__) == ms.__all__
    public = {name for name, value in vars(ms).items()
              if not name.startswith("_") and not inspect.ismodule(value)}
    hooks = {"load_ipython_extension", "unload_ipython_extension"}  # what IPython looks for
    assert (public - hooks) | {"testing", "__version__"} == set(ms.__all__)


def described():
    for name in ms.__all__:
        value = getattr(ms, name)
        if not callable(value):
            continue
        yield name, value
        if inspect.isclass(value) and value.__module__.startswith("mainspring"):
            for member, function in vars(value).items():
                if not member.startswith("_") and inspect.isfunction(function):
                    yield f"{name}.{member}", function


@pytest.mark.parametrize("name", [name for name, _ in described()])
def test_everything_public_is_described(name):
    value = dict(described())[name]
    assert (value.__doc__ or "").strip(), f"{name} has no docstring"


@pytest.mark.parametrize("module", MODULES + ["mainspring"])
def test_examples(module):
    finder = doctest.DocTestFinder(exclude_empty=True)
    flags = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL | doctest.NORMALIZE_WHITESPACE
    runner = doctest.DocTestRunner(optionflags=flags)
    loaded = importlib.import_module(module)
    for test in finder.find(loaded, module):
        # Each class and function is tested in the module that defines it.
        runner.run(test)
    assert runner.failures == 0


def test_importing_is_light():
    heavy = ["asyncio", "inspect", "logging", "dataclasses", "typing", "json", "ctypes", "decimal",
             "mainspring._mainspring", "mainspring._config", "datetime", "zoneinfo", "re", "html",
             "mainspring._theme", "mainspring._states", "mainspring._grid", "mainspring._picture",
             "mainspring._gantt", "mainspring._fire_calendar", "mainspring._logview",
             "mainspring._progress", "mainspring._magic", "mainspring.cli"]
    code = (
        "import sys; before = set(sys.modules); import mainspring; "
        f"print([m for m in {heavy!r} if m in sys.modules and m not in before])"
    )
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True,
                          check=True)
    assert done.stdout.strip() == "[]"


TYPED = """
from datetime import date
import mainspring as ms

with ms.Dag("flights", schedule="0 30 2 * * ?", start_date="2013-01-02") as dag:
    @ms.task(retries=2, retry_interval="30s", timeout="10m", priority="high")
    def extract(biz_date: date, batch_size: int = 500) -> str:
        return "x"

    @ms.task
    def clean(path: str, biz_date: date) -> dict[str, int]:
        return {}

    reveal_type(extract.fn)
    reveal_type(clean)
    result = clean(extract())
    reveal_type(result)
    extract >> clean

run = dag.run(biz_date="2013-01-15")
reveal_type(run)
reveal_type(run["clean"])
ms.task(retires=2)
"""


def test_types(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from mypy import api
    path = tmp_path / "dags.py"
    path.write_text(TYPED)
    out, _, _ = api.run([str(path), "--strict", "--cache-dir", str(tmp_path / "cache")])
    notes = [line.partition("note: ")[2] for line in out.splitlines() if "note: Revealed" in line]
    assert notes == [
        'Revealed type is "def (biz_date: datetime.date, batch_size: int =) -> str"',
        'Revealed type is "mainspring._task.Task[[path: str, biz_date: datetime.date], '
        'dict[str, int]]"',
        'Revealed type is "dict[str, int]"',
        'Revealed type is "mainspring._run.Run"',
        'Revealed type is "mainspring._taskrun.TaskRun"',
    ], out
    errors = [line for line in out.splitlines() if ": error:" in line]
    assert len(errors) == 1, out
    assert "Unexpected keyword argument \"retires\"" in errors[0]
