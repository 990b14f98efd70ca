"""What all views look like: colours of both themes, and the frame around a view.

A view brings its own style and its own background, so that it is legible whatever is around it. It
follows JupyterLab and VS Code where one of them says which theme it has, and the system elsewhere.
"""

from html import escape

from mainspring._states import by_rank, letter, tone
from mainspring._table import clip

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

LIGHT = {
    "bg": "#ffffff", "fg": "#1f2328", "dim": "#59636e", "line": "#d5dae0", "soft": "#f2f4f7",
    "edge": "#818b96", "ok": "#d3efe0", "on-ok": "#0a5138", "bad": "#bf2f1d", "on-bad": "#ffffff",
    "run": "#1a66b8", "on-run": "#ffffff", "wait": "#dbe8f7", "on-wait": "#1d4e85",
    "again": "#f0dcf4", "on-again": "#6f2d85", "hold": "#fbdf9d", "on-hold": "#5a4000",
    "todo": "#ffffff", "on-todo": "#1a5fae", "old": "#f5bf86", "on-old": "#552c00",
    "force": "#7447b0", "on-force": "#ffffff", "off": "#f2f4f7", "on-off": "#59636e",
}
DARK = {
    "bg": "#16181d", "fg": "#e3e6ea", "dim": "#9ea7b3", "line": "#363c46", "soft": "#22262d",
    "edge": "#7d8794", "ok": "#17432f", "on-ok": "#a5e3c3", "bad": "#c9402c", "on-bad": "#ffffff",
    "run": "#2a73c6", "on-run": "#ffffff", "wait": "#1f3552", "on-wait": "#b0cff2",
    "again": "#452b50", "on-again": "#e6bff2", "hold": "#574410", "on-hold": "#f8da85",
    "todo": "#16181d", "on-todo": "#8cc1fb", "old": "#6d4212", "on-old": "#ffcb94",
    "force": "#7d55b8", "on-force": "#ffffff", "off": "#22262d", "on-off": "#9ea7b3",
}
TONES = ("ok", "bad", "run", "wait", "again", "hold", "todo", "old", "force", "off")

IS_LIGHT = ('[data-jp-theme-light="true"] .ms-view', ".vscode-light .ms-view",
            '[data-theme="light"] .ms-view')
IS_DARK = ('[data-jp-theme-light="false"] .ms-view', ".vscode-dark .ms-view",
           ".vscode-high-contrast:not(.vscode-high-contrast-light) .ms-view",
           '[data-theme="dark"] .ms-view', "html[theme=dark] .ms-view")


def _variables(theme: "Mapping[str, str]") -> str:
    return "".join(f"--m-{name}:{value};" for name, value in theme.items())


def _base() -> str:
    light, dark = _variables(LIGHT), _variables(DARK)
    tones = "".join(
        f".ms-view .m-{name}{{background:var(--m-{name});color:var(--m-on-{name});"
        f"fill:var(--m-{name})}}.ms-view rect.m-{name}{{stroke:var(--m-on-{name});"
        f"stroke-opacity:.35}}.ms-view .n-{name}{{fill:var(--m-on-{name})}}" for name in TONES)
    return (
        f".ms-view{{{light}color-scheme:light}}"
        f"@media (prefers-color-scheme:dark){{.ms-view{{{dark}color-scheme:dark}}}}"
        f"{','.join(IS_LIGHT)}{{{light}color-scheme:light}}"
        f"{','.join(IS_DARK)}{{{dark}color-scheme:dark}}"
        ".ms-view{background:var(--m-bg);color:var(--m-fg);padding:8px 10px;border-radius:4px;"
        "font:13px/1.45 system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans','Noto Sans CJK SC',"
        "sans-serif;max-width:100%;overflow:hidden;text-align:left;box-sizing:border-box}"
        ".ms-view .m-title{font-weight:600;margin:0 0 6px}"
        ".ms-view .m-note{color:var(--m-dim);font-size:12px;margin:6px 0 0}"
        ".ms-view .m-scroll{overflow:auto;max-width:100%}"
        ".ms-view .m-legend{display:flex;flex-wrap:wrap;gap:2px 12px;margin:8px 0 0;font-size:12px;"
        "color:var(--m-dim)}"
        ".ms-view .m-key{display:inline-block;min-width:16px;padding:0 2px;box-sizing:border-box;"
        "text-align:center;border-radius:3px;margin-right:4px;font:600 11px/16px ui-monospace,"
        "Menlo,Consolas,monospace}"
        f"{tones}.ms-view .m-todo{{box-shadow:inset 0 0 0 1.5px var(--m-on-todo)}}"
        ".ms-view rect.m-todo{stroke-opacity:1;stroke-width:1.5}"
    )


BASE = _base()

TABLE_CSS = (
    ".ms-view table.ms-t{border-collapse:collapse;margin:8px 0 0;table-layout:auto;border:0;"
    "background:transparent;color:inherit;font-size:12px;width:auto}"
    ".ms-view table.ms-t tr:nth-child(n){background:transparent}"
    ".ms-view .ms-t th,.ms-view .ms-t td{padding:3px 14px 3px 0;text-align:left;border:0;"
    "border-bottom:1px solid var(--m-line);white-space:nowrap;vertical-align:middle;"
    "max-width:420px;overflow:hidden;text-overflow:ellipsis}"
    ".ms-view .ms-t th{color:var(--m-dim);font-weight:400}"
    ".ms-view details{margin:8px 0 0}"
    ".ms-view summary{color:var(--m-dim);font-size:12px;cursor:pointer}"
)


def frame(body: "Iterable[str]", css: str = "") -> str:
    """Return a view: its parts inside the frame, after the style that they need."""
    return f'<div class="ms-view"><style>{BASE}{css}</style>{"".join(body)}</div>'


def title_html(text: str) -> str:
    """Return the heading of a view."""
    return f'<div class="m-title">{escape(clip(text, 400))}</div>' if text else ""


def note_html(text: str) -> str:
    """Return a remark below a view."""
    return f'<div class="m-note">{escape(clip(text, 400))}</div>' if text else ""


def legend_html(counts: "Mapping[str, int] | Iterable[str]") -> str:
    """Return what the letters mean; how often each state is there, where that is known."""
    numbers: Mapping[str, int] = counts if isinstance(counts, dict) else {}
    parts = []
    for state in by_rank(counts):
        number = f" {numbers[state]:,}" if state in numbers else ""
        parts.append(f"<span>{state_html(state)}{number}</span>")
    return f'<div class="m-legend">{"".join(parts)}</div>' if parts else ""


def state_html(state: str) -> str:
    """Return a state with its letter."""
    return (f'<span class="m-key m-{tone(state)}">{escape(letter(state))}</span>'
            f"{escape(clip(state, 40))}")


def table_html(head: "Sequence[str]", rows: "Sequence[Sequence[Any]]", total: int = 0, *,
               escaped: bool = False) -> str:
    """Return a table inside a view; ``total`` is how many rows there would be."""
    parts = ['<div class="m-scroll"><table class="ms-t"><thead><tr>',
             *(f"<th>{escape(name)}</th>" for name in head), "</tr></thead><tbody>"]
    for row in rows:
        cells = (str(cell) if escaped else escape(clip(cell, 200)) for cell in row)
        parts.append(f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>")
    parts.append("</tbody></table></div>")
    if total > len(rows):
        parts.append(note_html(f"... {total - len(rows)} more"))
    return "".join(parts)
