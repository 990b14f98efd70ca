"""Does a source distribution hold all that a build needs, and nothing else of weight?"""

import pathlib
import sys
import tarfile

root = pathlib.Path(__file__).resolve().parent.parent
archive = pathlib.Path(sys.argv[1])
with tarfile.open(archive) as opened:
    names = {"/".join(member.name.split("/")[1:]) for member in opened if member.isfile()}

wanted = {"Cargo.toml", "Cargo.lock", "pyproject.toml", "README.md", "LICENSE", "NOTICE"}
for folder in ("src", "python/mainspring"):
    for path in (root / folder).rglob("*"):
        if path.is_file() and path.suffix not in (".so", ".pyc"):
            wanted.add(path.relative_to(root).as_posix())

missing = sorted(wanted - names)
assert not missing, f"missing: {missing}"
extra = sorted(name for name in names - wanted
               if not name.startswith("benches/") and name not in ("PKG-INFO", "clippy.toml"))
assert not extra, f"not needed for a build: {extra}"
print(f"{archive.name} holds {len(names)} files: every source, nothing else")
