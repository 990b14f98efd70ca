"""Live progress of whatever takes a while: a run, a backfill.

:class:`Progress` shows a :class:`Snapshot` again and again: as one line on a terminal, as one
output of a notebook's cell with the grid in it, as a line a minute elsewhere.
"""

import time
from typing import NamedTuple

from mainspring._screens import in_notebook, on_terminal, screen
from mainspring._states import BAD, OVER
from mainspring._table import duration

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from mainspring._gridshape import Cells
    from mainspring._mainspring import Session as CoreSession
    from mainspring._run import Run
    from mainspring._screens import Screen

__all__ = ["Progress", "Snapshot", "follow", "in_notebook", "line", "on_terminal"]

FIRST = 0.5
"""Seconds that a run may last without a word."""

STEP = 0.1
"""Seconds between two looks at a live run."""

SPARE = 10
"""A state is not shown again before this many times what it took to show."""


class Snapshot(NamedTuple):
    """How far something is.

    Attributes
    ----------
    counts : mapping of str to int
        How many task runs, or cells, are in each state.
    rows, columns, cells
        The grid of a notebook, as ``mainspring._grid.grid_html`` takes it; none without rows.
    running, awaited : sequence of str
        Names to show: of what runs, of what waits for a person's word.
    state : str
        RUNNING as long as something can move; what it ended as after that.
    note : str
        What else is to be said, such as what it waits for.
    html : str
        Shown in a notebook instead of a grid: the picture of a dag.
    """

    counts: "Mapping[str, int]"
    rows: "Sequence[str]" = ()
    columns: "Sequence[str]" = ()
    cells: "Cells" = {}
    running: "Sequence[str]" = ()
    awaited: "Sequence[str]" = ()
    state: str = "RUNNING"
    note: str = ""
    html: str = ""


class Progress:
    """Shows how far something is, for a loop that waits.

    Parameters
    ----------
    total : int, optional
        How many there are; by default as many as the counts of a snapshot have.
    title : str, optional
        What it is that goes on.
    snapshot : callable
        Gives the :class:`Snapshot` of now. It is asked only when something is shown.
    how_to_go_on : str, optional
        What is said when Ctrl-C, or an interrupted cell, ends it.
    before : int, optional
        How many were done when it began, which is no measure of the speed; by default as many as
        when it is shown first.
    clock : callable, optional
        Gives seconds.
    on : Screen, optional
        Where it is shown; by default where this process has somebody who looks.

    Examples
    --------
    >>> import sys
    >>> from mainspring._progress import Progress, Snapshot
    >>> from mainspring._screens import Lines
    >>> counts, now = {"SUCCESS": 0, "PENDING": 3}, iter((0.0, 1.0, 61.0, 90.0))
    >>> with Progress(title="orders", snapshot=lambda: Snapshot(counts), on=Lines(sys.stdout),
    ...               clock=lambda: next(now)) as progress:
    ...     progress.update()
    ...     counts.update(SUCCESS=2, PENDING=1)
    ...     progress.update()
    ...     counts.update(SUCCESS=3, PENDING=0)
    orders: 0/3 done | 1.0s
    orders: 2/3 done | 1m 01s, 2/min, 30s left
    orders: 3/3 done | 1m 30s, 2/min
    """

    def __init__(
        self,
        *,
        total: "int | None" = None,
        title: str = "",
        snapshot: "Callable[[], Snapshot]",
        how_to_go_on: str = "",
        before: "int | None" = None,
        clock: "Callable[[], float]" = time.monotonic,
        on: "Screen | None" = None,
    ) -> None:
        self._total, self._title, self._snapshot = total, title, snapshot
        self._how_to_go_on, self._clock = how_to_go_on, clock
        self._screen = on
        self._began = clock()
        self._due: float | None = None
        self._before = before
        self._ended = False

    def update(self, *, force: bool = False) -> None:
        """Show how far it is, if the last state that was shown is old enough."""
        now = self._clock()
        if self._ended or (not force and self._due is not None and now < self._due):
            return
        began = time.perf_counter()
        step = self._show(now, last=False)
        self._due = now + max(step, SPARE * (time.perf_counter() - began))

    def finish(self, note: str = "") -> None:
        """Show the last state, which stays; ``note`` is said with it."""
        if not self._ended:
            self._ended = True
            self._show(self._clock(), last=True, note=note)
            if self._screen is not None:
                self._screen.close()

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, kind: object, value: object, frames: object) -> None:
        if not isinstance(value, KeyboardInterrupt):
            self.finish()
        elif not self._ended:
            self.finish(f"interrupted: {self._how_to_go_on}" if self._how_to_go_on else "")

    def _show(self, now: float, *, last: bool, note: str = "") -> float:
        """Show how far it is; return after how many seconds that is worth showing again."""
        found = self._snapshot()
        if self._before is None:  # done when nobody looked: no measure of the speed
            self._before = over(found.counts)
        total = sum(found.counts.values()) if self._total is None else self._total
        seconds = now - self._began
        text = line({**found._asdict(), "total": total}, seconds, self._before)
        said = " | ".join(filter(None, (found.note, note)))
        told = f"{self._title}: {text}" if self._title else text
        share = over(found.counts) / total if total else None

        def html() -> str:
            from mainspring._progressview import progress_html

            # What has ended shows itself: the value of the call has the same grid.
            over = last and not said and found.state != "RUNNING"
            shown = found._replace(rows=(), html="") if over else found
            return progress_html(self._title, shown, total, text, said)

        if self._screen is None:
            self._screen = screen()
        self._screen.show(f"{told} | {said}" if said else told, share, html, last)
        return self._screen.step


def follow(core: "CoreSession", run: "Run", *, always: bool, timeout: "float | None") -> bool:
    """Wait for a run and show how far it is; True when it has ended."""
    from mainspring._runwatch import RunWatch

    end = None if timeout is None else time.monotonic() + timeout
    first = FIRST if timeout is None else min(FIRST, timeout)
    how = f"dag.rerun({run.id}) takes up what is left" if in_notebook() else ""
    progress = Progress(snapshot=RunWatch(core, run).snapshot, how_to_go_on=how,
                        before=over((core.progress(run.id) or {"counts": {}})["counts"]))
    ended = core.wait(run.id, 0.0 if always else first)
    if ended and not always:
        return True
    with progress:
        while not ended:
            progress.update()
            step = STEP if end is None else min(STEP, max(0.0, end - time.monotonic()))
            ended = core.wait(run.id, step)
            if not ended and end is not None and time.monotonic() >= end:
                return False
    return True


def line(now: "Mapping[str, Any]", seconds: float, before: int = 0) -> str:
    """Return the state of a run in one line; ``before`` tasks were done ``seconds`` ago.

    Examples
    --------
    >>> from mainspring._progress import line
    >>> line({"state": "RUNNING", "counts": {"SUCCESS": 30, "FAILED": 1, "PENDING": 9},
    ...       "total": 40, "running": ["load"]}, 3.1)
    '31/40 done, 1 failed | running load | 3.1s, 10/s, 1s left'
    """
    if not now:
        return ""
    counts, total = now["counts"], now["total"]
    done = over(counts)
    parts = [f"{done:,}/{total:,} done"]
    for state in BAD:
        if counts.get(state):
            parts[0] += f", {counts[state]:,} {state.lower()}"
    running = list(now.get("running") or [])
    if now["state"] == "RUNNING" and running:
        more = counts.get("RUNNING", 0) - len(running) - len(now.get("awaited") or [])
        parts.append("running " + ", ".join(map(str, running)) + (f" +{more}" if more > 0 else ""))
    if now["state"] == "RUNNING" and now.get("awaited"):
        parts.append("waits for a word at " + ", ".join(map(str, now["awaited"])))
    elif now["state"] != "RUNNING":
        parts.append(now["state"])
    rate = (done - before) / seconds if seconds > 0 else 0.0
    parts.append(_seconds(seconds) + _rate(rate))
    if now["state"] == "RUNNING" and rate > 0 and seconds >= 1 and done < total:
        left = (total - done) / rate
        parts[-1] += f", {duration(left) if left >= 59.5 else f'{left:.0f}s'} left"
    return " | ".join(parts)


def over(counts: "Mapping[str, int]") -> int:
    """Return how many are in a state in which nothing moves any more."""
    return sum(number for state, number in counts.items() if state in OVER)


def _seconds(seconds: float) -> str:
    return f"{seconds:.1f}s" if seconds < 59.95 else duration(seconds)


def _rate(rate: float) -> str:
    if rate >= 1:
        return f", {rate:,.0f}/s"
    return f", {rate * 60:.0f}/min" if rate * 60 >= 1 else ""
