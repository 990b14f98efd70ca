"""Aids for your own tests."""

from mainspring._simulated import World, simulated, stub

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from types import TracebackType
    from typing import Any

__all__ = ["World", "assert_states", "isolated", "simulated", "stub"]


def assert_states(what: "Any", expected: "Mapping[str, Any]") -> None:
    """Say where task runs are not as expected, with the grid of all of them.

    Parameters
    ----------
    what : Backfill, Run or list of Run
        What to look at.
    expected : dict
        Task to a state, or to a dict of business dates and states. What is not named is not looked
        at; a task that is named with one state has it for all dates.

    Raises
    ------
    AssertionError
        With each difference, and the grid.

    Examples
    --------
    >>> import mainspring as ms
    >>> dag = ms.Dag.from_graph("letters", ["write", "send"], schedule="@daily")
    >>> with ms.testing.isolated():
    ...     done = ms.backfill(dag, "2024-01-01", "2024-01-02").apply()
    ...     ms.testing.assert_states(done, {"write": "SUCCESS", "send": {"2024-01-02": "SUCCESS"}})
    """
    cells = _cells_of(what)
    wrong = []
    for task, wanted in expected.items():
        known = cells.get(task)
        if known is None:
            wrong.append(f"there is no task {task!r}: there are {', '.join(sorted(cells))}")
            continue
        each = dict.fromkeys(known, wanted) if isinstance(wanted, str) else {
            str(when): state for when, state in wanted.items()}
        for when, state in each.items():
            if known.get(when) != state:
                found = known.get(when, "not there")
                wrong.append(f"{task} for {when} is {found}, and not {state}")
    if wrong:
        from mainspring._grid import grid_text

        columns = sorted({when for known in cells.values() for when in known})
        grid = {(task, when): state for task, known in cells.items()
                for when, state in known.items()}
        shown = "\n".join(wrong[:20]) + (f"\nand {len(wrong) - 20} more" if wrong[20:] else "")
        raise AssertionError(f"{shown}\n{grid_text(list(cells), columns, grid, color=False)}")


def _cells_of(what: "Any") -> "dict[str, dict[str, str]]":
    if hasattr(what, "cells") and not callable(what.cells):
        return {task: {str(when): state for when, state in known.items()}
                for task, known in what.cells.items()}
    runs = [what] if hasattr(what, "tasks") else list(what)
    several = len({run.dag for run in runs}) > 1
    found: dict[str, dict[str, str]] = {}
    for run in sorted(runs, key=lambda run: run.id):
        for each in run.tasks:
            name = f"{run.dag}.{each.task}" if several else each.task
            found.setdefault(name, {})[str(run.biz_date)] = each.state
    return found


class isolated:  # noqa: N801 - reads as a verb: with isolated():
    """Run dags in a database of their own, which is gone afterwards.

    As a context manager it gives the folder in which the database is.

    Examples
    --------
    A fixture for pytest:

    >>> import mainspring as ms
    >>> def database():  # decorate it with @pytest.fixture(autouse=True)
    ...     with ms.testing.isolated() as folder:
    ...         yield folder
    >>> with ms.testing.isolated():
    ...     ms.Dag.from_graph("abc", ["a"]).run("2013-01-15").id
    1
    """

    def __enter__(self) -> "Path":
        import tempfile
        from pathlib import Path

        from mainspring import _session

        self._folder = tempfile.TemporaryDirectory(prefix="mainspring-")
        self._before = _session._chosen
        self._database = _session.use(Path(self._folder.name) / "mainspring.db")
        return Path(self._folder.name)

    def __exit__(
        self,
        kind: "type[BaseException] | None",
        error: "BaseException | None",
        trace: "TracebackType | None",
    ) -> None:
        from mainspring import _session

        try:
            _session.close(self._database)
        finally:
            _session._chosen = self._before
            self._folder.cleanup()
