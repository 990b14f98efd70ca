"""Every example in a docstring of the package runs and prints what it says."""

import doctest
import importlib
import pkgutil

import pytest

import mainspring

# Names in `mainspring._mainspring` are documented in its stub, and run through the public face.
SKIPPED = {"mainspring._mainspring", "mainspring.__main__"}


def modules():
    yield "mainspring"
    for found in pkgutil.walk_packages(mainspring.__path__, "mainspring."):
        if found.name not in SKIPPED:
            yield found.name


def examples():
    finder = doctest.DocTestFinder(exclude_empty=True)
    for name in modules():
        module = importlib.import_module(name)
        for found in finder.find(module, name):
            if found.examples:
                yield pytest.param(found, id=found.name)


@pytest.mark.parametrize("example", list(examples()))
def test_the_example_does_what_it_says(example):
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS, verbose=False)
    report: list[str] = []
    runner.run(example, out=report.append)
    assert runner.summarize(verbose=False).failed == 0, "".join(report)


def test_there_are_examples():
    assert len(list(examples())) >= 30
