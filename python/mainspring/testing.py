"""Aids for your own tests."""

from mainspring._simulated import World, simulated, stub

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

__all__ = ["World", "isolated", "simulated", "stub"]


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
