"""What a scheduler's events amount to: its phase, what is wrong, what was skipped."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["Heard"]


class Heard:
    """Listens to the events of a scheduler and knows what holds now.

    Attributes
    ----------
    phase : str
        ``starting``, ``standing by``, ``loading``, ``serving`` or ``stopping``.
    loaded : tuple of int
        While it loads: files done, and files in all.
    stalled : str or None
        Why nothing can be written, while nothing can.
    problems : dict
        File to the number of things wrong with it.
    skipped : dict
        Reason to the number of fires that made no run.
    overdue : dict
        ``dag.task`` to how many of its runs were open beyond their deadline.

    Examples
    --------
    >>> from mainspring._heard import Heard
    >>> heard = Heard()
    >>> heard.tell({"event": "serving", "dags": 2})
    >>> heard.tell({"event": "stalled", "why": "disk full"})
    >>> heard.phase, heard.stalled
    ('serving', 'disk full')
    """

    def __init__(self) -> None:
        self.phase = "starting"
        self.loaded = (0, 0)
        self.stalled: str | None = None
        self.problems: dict[str, int] = {}
        self.skipped: dict[str, int] = {}
        self.overdue: dict[str, int] = {}

    def tell(self, event: "dict[str, Any]") -> None:
        """Take one event."""
        kind = event["event"]
        if kind in ("serving", "stopping"):
            self.phase = kind
        elif kind == "standing_by":
            self.phase = "standing by"
        elif kind == "stopped":
            self.phase = "stopping"
        elif kind == "stalled":
            self.stalled = event["why"]
        elif kind.startswith("file_"):
            # Its problems, if it has any, are told right behind.
            self.problems.pop(event["file"], None)
        elif kind == "problem":
            self.problems[event["file"]] = self.problems.get(event["file"], 0) + 1
        elif kind == "skipped":
            reason = event["reason"]
            self.skipped[reason] = self.skipped.get(reason, 0) + event["count"]
        elif kind == "overdue":
            task = event["task"]
            self.overdue[task] = self.overdue.get(task, 0) + 1

    def files(self, done: int, total: int) -> None:
        """Take how far the loading of files is."""
        if self.phase != "stopping":
            self.phase = "loading"
        self.loaded = (done, total)
