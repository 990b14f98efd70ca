"""The log of an attempt as a view: escaped, with its colours, what went to stderr marked."""

import os
import re
from html import escape
from typing import NamedTuple

from mainspring._ansi import CSS as ANSI_CSS
from mainspring._ansi import Painter
from mainspring._table import clip, counted, shown_duration
from mainspring._theme import frame, note_html, state_html

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mainspring._taskrun import Attempt, TaskRun

__all__ = ["Line", "attempt_html", "lines_of", "task_html"]

FIRST, LAST = 200, 800
"""Lines of a log that are shown: so many from its beginning, so many from its end."""

WHOLE, HEAD, TAIL = 4 << 20, 64 << 10, 512 << 10
"""Bytes of a log that is read as a whole; else how much of its two ends."""

LONGEST = 2_000
STAMPED = re.compile(r"(\d{4}-\d\d-\d\dT[0-9:.]+Z) ([OE]) ?")

CSS = ANSI_CSS + (
    ".ms-view .l-h{display:flex;flex-wrap:wrap;gap:2px 14px;align-items:baseline;margin:0 0 4px}"
    ".ms-view .l-h b{font-weight:600}.ms-view .l-h .l-e{color:var(--m-dim)}"
    ".ms-view pre.l-l{margin:4px 0 8px;padding:6px 0;background:var(--m-soft);color:var(--m-fg);"
    "border-radius:4px;font:12px/1.5 ui-monospace,Menlo,Consolas,"
    "monospace;max-height:460px;overflow:auto;white-space:pre;border:0}"
    ".ms-view .l-l i{font-style:normal;display:block;padding:0 10px 0 24px;min-height:1.5em;"
    "position:relative}"
    ".ms-view .l-l i.l-x{background:var(--m-hold);background:color-mix(in srgb,var(--m-hold) 40%,"
    "transparent)}"
    ".ms-view .l-l i.l-x::before{content:'E';position:absolute;left:8px;font-weight:700;"
    "color:var(--m-on-hold)}"
    ".ms-view .l-l i.l-m{color:var(--m-dim);text-align:left;font-style:italic}"
    ".ms-view details{margin:4px 0}.ms-view summary{cursor:pointer;color:var(--m-dim)}"
)


class Line(NamedTuple):
    """A line of a log."""

    stream: str
    """``O`` or ``E``; nothing where that is not known."""
    at: str
    """When, in UTC; nothing where that is not known."""
    text: str


def lines_of(attempt: "Attempt") -> "tuple[list[Line], str]":
    """Return the lines of a log, and what is not among them."""
    path = (attempt._row["log_uri"] or "").removeprefix("file://")
    if path:
        try:
            size = os.path.getsize(path)
            with open(path, "rb") as file:
                if size <= WHOLE:
                    return [_line(text) for text in _texts(file.read())], ""
                head = _texts(file.read(HEAD))[:-1]
                file.seek(size - TAIL)
                tail = _texts(file.read())[1:]
            left = size - sum(len(text.encode()) + 1 for text in (*head, *tail))
            lines = [_line(text) for text in (*head[:FIRST], *tail[-LAST:])]
            return lines, f"about {left >> 20} MiB are not shown"
        except OSError:
            pass  # it was cleaned up, or is on another machine: the tail is here
    tail_text = attempt._row["log_tail"] or ""
    return [Line("", "", text) for text in tail_text.splitlines()], ""


def _texts(data: bytes) -> "list[str]":
    texts = data.decode("utf-8", errors="replace").split("\n")
    return texts[:-1] if texts and not texts[-1] else texts


def _line(text: str) -> Line:
    found = STAMPED.match(text)
    return Line(found[2], found[1], text[found.end():]) if found else Line("", "", text)


def attempt_html(attempt: "Attempt", task: str = "") -> str:
    """Return an attempt and its log."""
    return frame(_parts(attempt, task), CSS)


def task_html(task: "TaskRun") -> str:
    """Return the attempts of a task run with their logs, the last one open."""
    attempts = task.attempts
    name, state, _, took, error = task.cells()
    parts = []
    if len(attempts) != 1:
        parts = [f'<div class="l-h"><b>{escape(name)}</b><span>{state_html(state)}</span>'
                 f"<span>{escape(took)}</span>"
                 f'<span class="l-e">{escape(error)}</span></div>']
    for attempt in attempts[:-1]:
        parts += [f"<details><summary>{escape(_said(attempt))}</summary>",
                  *_log(attempt), "</details>"]
    parts += _parts(attempts[-1], name) if attempts else [note_html("it has not run")]
    if task._row["mapped"]:
        items = counted(len(task.items), "item")
        parts.append(note_html(f"{items}: run[{task.task + '[0]'!r}] has the first of them"))
    return frame(parts, CSS)


def _said(attempt: "Attempt") -> str:
    return (f"attempt {attempt.number}: {attempt.outcome or 'RUNNING'}, "
            f"{shown_duration(attempt.duration)}")


def _parts(attempt: "Attempt", task: str = "") -> "Iterator[str]":
    name = f"{task}, attempt {attempt.number}" if task else f"attempt {attempt.number}"
    kind = (attempt.error_type or attempt.error_code or "").rpartition(".")[2]
    error = ": ".join(filter(None, (kind, attempt.error)))
    yield (f'<div class="l-h"><b>{escape(name)}</b>'
           f'<span>{state_html(attempt.outcome or "RUNNING")}</span>'
           f"<span>{shown_duration(attempt.duration)}</span>"
           f"<span>{attempt.started_at:%Y-%m-%d %H:%M:%S %z}</span>"
           f'<span class="l-e">{escape(clip(error, 300))}</span></div>')
    yield from _log(attempt)


def _log(attempt: "Attempt") -> "Iterator[str]":
    lines, left = lines_of(attempt)
    if lines:
        yield f'<pre class="l-l">{"".join(_shown(lines))}</pre>'
    else:
        yield note_html("it has printed nothing" if attempt.outcome else "nothing is printed yet")
    if attempt.traceback:
        texts = [Line("", "", text) for text in attempt.traceback.splitlines()]
        yield f'<pre class="l-l">{"".join(_shown(texts))}</pre>'
    if left:
        yield note_html(f"{left}; attempt.log has them")


def _shown(lines: "Sequence[Line]") -> "Iterator[str]":
    if len(lines) <= FIRST + LAST:
        yield from _painted(lines)
        return
    yield from _painted(lines[:FIRST])
    yield (f'<i class="l-m">… {len(lines) - FIRST - LAST:,} lines are not shown; '
           "attempt.log has them all …</i>")
    yield from _painted(lines[-LAST:])


def _painted(lines: "Iterable[Line]") -> "Iterator[str]":
    painter = Painter()
    for line in lines:
        text = painter.html(line.text[:LONGEST])
        more = "…" if len(line.text) > LONGEST else ""
        kind = ' class="l-x"' if line.stream == "E" else ""
        said = f' title="{escape(line.at)}"' if line.at else ""
        yield f"<i{kind}{said}>{text}{more}</i>"
