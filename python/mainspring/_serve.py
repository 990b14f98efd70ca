"""``serve``: fire the schedules of dags of this process until somebody says stop."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from mainspring._dag import Dag

STEP = 0.2
"""Seconds between two looks at what was done."""


def serve(*dags: "Dag", executor: str = "inline", grace: float = 30.0,
          database: "Any" = None) -> None:
    """Stay up and fire the schedules of dags, until Ctrl-C or SIGTERM.

    The same as ``mainspring up`` does for the dag files of a project, for dags that are here. One
    process at a time can schedule for a database.

    Parameters
    ----------
    *dags : Dag
        What fires.
    executor : {"inline", "process"}
        Where tasks run: in this process, or in worker processes, which import the file.
    grace : float, default 30
        Seconds that live attempts have at the end. Then they are interrupted, which costs them
        nothing: whoever serves next goes on with them.
    database : str or path, optional
        Default as :func:`mainspring.use` says.

    Raises
    ------
    ConflictError
        When another process schedules for the database.
    SpecError
        With everything that is wrong with the dags.
    """
    import sys
    import time

    from mainspring import _session
    from mainspring._launch import handlers_of
    from mainspring._scheduler import SCOPE, ended
    from mainspring.cli._console import clean
    from mainspring.cli.up import sentence

    where = _session.location(database)
    core = _session.open_core(where, "scheduler", leads=SCOPE)
    here = _session.adopt(where, core)
    try:
        here.register(*dags)
        core.serve([(dag.name, handlers_of(here, dag, executor)) for dag in dags])
        with _Stop() as stop:
            while not stop.asked:
                time.sleep(STEP)
                for news in core.news():
                    print(clean(sentence(news)), file=sys.stderr)
    finally:
        ended(core, grace, lambda news: print(clean(sentence(news)), file=sys.stderr))
        _session.close(where)


class _Stop:
    """The first Ctrl-C or SIGTERM asks for an orderly end, the second ends at once."""

    def __init__(self) -> None:
        self.asked = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> "_Stop":
        import signal
        import threading

        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGINT):
                self._before[number] = signal.signal(number, self._ask)
        return self

    def _ask(self, number: int, frame: "Any") -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True

    def __exit__(self, *_: object) -> None:
        import signal

        for number, before in self._before.items():
            signal.signal(number, before)
