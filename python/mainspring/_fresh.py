"""Imports that never take stale bytecode for a file that was edited a moment ago.

Python believes a ``.pyc`` when second and size of the source fit. Two edits of one size in one
second, and the first stays. So a source that is younger than that is compiled from its text, and
no bytecode is written for it; older ones are read as ever.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from importlib.machinery import (
    BYTECODE_SUFFIXES,
    EXTENSION_SUFFIXES,
    SOURCE_SUFFIXES,
    ExtensionFileLoader,
    FileFinder,
    SourceFileLoader,
    SourcelessFileLoader,
)
from types import CodeType
from typing import Any

__all__ = ["FreshLoader", "fresh_imports", "is_own"]

YOUNG = 3.0
"""Seconds: one for the second that bytecode counts in, the rest for clocks of other machines."""

INSTALLED = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep


class FreshLoader(SourceFileLoader):
    """Loads a module of source, from its text if that may be newer than its bytecode.

    With ``kept``, from the text of another file, as if it stood in its own.
    """

    kept: str | None = None

    def get_code(self, fullname: str) -> CodeType | None:
        """The code of the module."""
        path = self.get_filename(fullname)
        if self.kept is not None:
            known: CodeType = self.source_to_code(self.get_data(self.kept), path)
            return known
        try:
            young = time.time() - os.stat(path).st_mtime < YOUNG
        except OSError:
            young = False
        if young:
            code: CodeType = self.source_to_code(self.get_data(path), path)
            return code
        return super().get_code(fullname)


def is_own(path: str, roots: Sequence[str]) -> bool:
    """Whether a file is the author's: in one of these folders, and not of an environment in it."""
    if not any(path.startswith(root) for root in roots) or path.startswith(PACKAGE):
        return False
    if any(part in path for part in INSTALLED):
        return False
    environments = {sys.prefix, sys.base_prefix} - {root.rstrip(os.sep) for root in roots}
    return not any(path.startswith(place + os.sep) for place in environments)


def fresh_imports(roots: Sequence[str]) -> None:
    """From now on import what lies in these folders (each ends with a slash) in this way."""
    details: list[tuple[Callable[..., Any], list[str]]] = [
        (ExtensionFileLoader, EXTENSION_SUFFIXES),
        (FreshLoader, SOURCE_SUFFIXES),
        (SourcelessFileLoader, BYTECODE_SUFFIXES),
    ]
    make = FileFinder.path_hook(*details)  # type: ignore[arg-type]

    def hook(path: str) -> Any:
        place = os.path.join(os.path.abspath(path), "")
        if not is_own(place, roots):
            raise ImportError("not a folder of the project", path=path)
        return make(path)

    sys.path_hooks.insert(0, hook)
    for place in list(sys.path_importer_cache):
        if is_own(os.path.join(os.path.abspath(place), ""), roots):
            del sys.path_importer_cache[place]
