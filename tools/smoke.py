"""Is the installed wheel whole? Run by `tools/test_wheel` in an environment that has only it."""

import importlib.metadata
import pathlib
import shutil
import sys
import zipfile

wheel = pathlib.Path(sys.argv[1])

# The environment: no compiler within reach, and nothing installed but what we asked for.
for program in ("cc", "gcc", "clang", "rustc", "cargo"):
    assert shutil.which(program) is None, f"{program} is on PATH: this environment proves nothing"
installed = {found.metadata["Name"].lower() for found in importlib.metadata.distributions()}
wanted = {"mainspring"} | ({"tomli"} if sys.version_info < (3, 11) else set())
assert installed - {"pip", "setuptools"} == wanted, f"installed: {sorted(installed)}"

# The wheel: one module for every version, types, the licence, and nothing of ours by mistake.
names = zipfile.ZipFile(wheel).namelist()
native = [name for name in names if name.endswith((".so", ".pyd"))]
assert native == ["mainspring/_mainspring.abi3.so"], native
assert "-cp310-abi3-" in wheel.name, wheel.name
for name in ("mainspring/py.typed", "mainspring/_mainspring.pyi", "mainspring/cli/__init__.py"):
    assert name in names, f"{name} is missing"
for name in ("LICENSE", "NOTICE"):
    found = [path for path in names if path.endswith(f".dist-info/licenses/{name}")]
    assert found, f"{name} is missing"
foreign = [name for name in names if not name.startswith(("mainspring/", "mainspring-"))]
assert foreign == [], f"does not belong into a wheel: {foreign}"
assert not [name for name in names if "/tests/" in name or name.endswith((".rs", ".pyc"))]
metadata = importlib.metadata.metadata("mainspring")
assert metadata["Requires-Python"] == ">=3.10"
assert metadata["License-Expression"] == "Apache-2.0"

import mainspring as ms  # noqa: E402

assert pathlib.Path(ms.__file__).is_relative_to(sys.prefix), ms.__file__
assert ms.__version__ == metadata["Version"]

with ms.Dag("letters") as dag:

    @ms.task
    def extract(biz_date) -> list:
        return ["a", "b", str(biz_date)]

    @ms.task
    def count(letters: list) -> int:
        return len(letters)

    count(extract())

with ms.testing.isolated():
    run = dag.run("2013-01-15")
    run.raise_for_failure()
    assert run.result("count") == 3

version = ".".join(map(str, sys.version_info[:3]))
print(f"Python {version}: {wheel.name} is installed and runs ({', '.join(sorted(wanted))})")
