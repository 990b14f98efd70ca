"""How far a live run is, and what it waits for where nothing of it can move by itself."""

import time

from mainspring._progress import Snapshot
from mainspring._screens import in_notebook

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from mainspring._mainspring import Session as CoreSession
    from mainspring._run import Run

MOST_PICTURED = 60
"""Task runs of a run whose picture is drawn again and again."""

EVERY = 2.0
"""Seconds between two looks at why nothing moves."""


class RunWatch:
    """Asks a live run how far it is."""

    def __init__(self, core: "CoreSession", run: "Run") -> None:
        self._core, self._run = core, run
        self._pictured = in_notebook()
        self._at = time.monotonic()
        self._why = ""

    def snapshot(self) -> Snapshot:
        """Return how far the run is."""
        now = self._core.progress(self._run.id)
        if not now:
            return Snapshot({})
        return Snapshot(
            now["counts"], running=now.get("running") or (), awaited=now.get("awaited") or (),
            state=now["state"], note=self._outside(now), html=self._picture(),
        )

    def _outside(self, now: "dict[str, Any]") -> str:
        """What it waits for where nothing of it moves; looked up every other second at most."""
        counts = now["counts"]
        moves = sum(counts.get(state, 0) for state in ("READY", "RUNNING", "RETRY_WAIT"))
        if now["state"] != "RUNNING" or moves or not counts.get("PENDING"):
            self._why = ""
        elif time.monotonic() - self._at > EVERY:
            self._at = time.monotonic()
            waiting = next((each for each in self._run.tasks if each.state == "PENDING"), None)
            self._why = "" if waiting is None else waiting.explain().partition(": ")[2]
        return self._why

    def _picture(self) -> str:
        """The dag with the states of now, where somebody sees it and it is small enough."""
        if not self._pictured or len(self._run) > MOST_PICTURED:
            return ""
        from mainspring._dagview import run_picture

        return "".join(run_picture(self._run))
