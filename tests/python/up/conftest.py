"""What every test of the scheduler has: a project of its own, where nothing is left running."""

import pytest

from . import _tools as tools


@pytest.fixture
def place(tmp_path):
    made = tools.Place(tmp_path / "project")
    yield made
    made.close()
