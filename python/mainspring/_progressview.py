"""Progress as a notebook shows it: a bar of states, the line, the grid."""

from html import escape

from mainspring._grid import CSS, MOST_COLUMNS, MOST_ROWS, grid_body
from mainspring._gridshape import shape
from mainspring._picture import CSS as PICTURE_CSS
from mainspring._states import by_rank, letter, tone
from mainspring._table import clip
from mainspring._theme import frame, legend_html, note_html, title_html

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from mainspring._progress import Snapshot

__all__ = ["progress_html"]

BAR_CSS = (
    ".ms-view .m-bar{display:flex;height:18px;border-radius:4px;overflow:hidden;gap:1px;"
    "background:var(--m-soft);margin:4px 0;max-width:640px}"
    ".ms-view .m-bar span{font:600 11px/18px ui-monospace,Menlo,Consolas,monospace;"
    "text-align:center;overflow:hidden;white-space:nowrap;min-width:2px;padding:0}"
    ".ms-view .m-line{font-variant-numeric:tabular-nums;margin:2px 0 6px}"
)
ROOM = 0.03
"""Share of the bar that has room for a letter."""


def progress_html(title: str, found: "Snapshot", total: int, text: str, note: str) -> str:
    """Return how far something is as HTML."""
    parts = [title_html(title), bar_html(found.counts, total),
             f'<div class="m-line">{escape(clip(text, 400))}</div>']
    if found.html:
        parts.append(found.html)
    elif found.rows:
        made = shape(found.rows, found.columns, found.cells, most_rows=MOST_ROWS,
                     most_columns=MOST_COLUMNS)
        parts += grid_body(made, legend=False)
    parts.append(legend_html({state: n for state, n in found.counts.items() if n}))
    parts.append(note_html(note))
    return frame(parts, BAR_CSS + (PICTURE_CSS if found.html else CSS if found.rows else ""))


def bar_html(counts: "Mapping[str, int]", total: int) -> str:
    """Return a bar with a part for each state, what is over first."""
    order = [state for state in reversed(by_rank(counts)) if counts[state]]
    parts = []
    for state in order:
        share = counts[state] / max(1, total)
        said = letter(state) if share >= ROOM else ""
        parts.append(f'<span class="m-{tone(state)}" style="width:{share * 100:.2f}%" '
                     f'title="{counts[state]:,} {escape(clip(state, 40))}">{said}</span>')
    return f'<div class="m-bar">{"".join(parts)}</div>'
