"""The picture of a graph: nodes in layers from left to right, as an SVG inside a view."""

from collections import Counter
from html import escape
from typing import NamedTuple

from mainspring._layers import Layout, layers_of, layout
from mainspring._states import by_rank, letter, tone, worst
from mainspring._table import clip, counted, width

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["CSS", "Edge", "Node", "picture", "short"]

MOST_NODES, MOST_EDGES = 150, 600
"""What is drawn node by node."""

MOST_BOXES = 24
"""Boxes of a condensed picture."""

MOST_NAME = 28
LETTER, HIGH, CHIP, GAP, ACROSS, EDGE = 7.0, 26.0, 22.0, 12.0, 52.0, 6.0
BOX_HIGH, BOX_WIDE = 64.0, 132.0
SMALLEST = 0.7
"""So much of its size a picture has at least, where the page is narrower."""

CSS = (
    ".ms-view svg.ms-p{display:block;font:12px system-ui,-apple-system,'Segoe UI',Roboto,"
    "'Noto Sans','Noto Sans CJK SC',sans-serif}"
    ".ms-view .ms-p text{fill:var(--m-fg);dominant-baseline:central}"
    ".ms-view .ms-p text.p-c{font:600 11px ui-monospace,Menlo,Consolas,monospace;"
    "text-anchor:middle}"
    ".ms-view .ms-p .p-n{fill:var(--m-soft);stroke:var(--m-line)}"
    ".ms-view .ms-p .p-s{fill:none;stroke:var(--m-edge);stroke-dasharray:3 3}"
    ".ms-view .ms-p .p-d{fill:var(--m-dim)}"
    ".ms-view .ms-p path{fill:none;stroke:var(--m-edge);stroke-width:1.3}"
    ".ms-view .ms-p path.p-a{fill:var(--m-edge);stroke:none}"
    ".ms-view .ms-p .e-COMPLETED{stroke-dasharray:7 3}"
    ".ms-view .ms-p .e-WEAK{stroke-dasharray:1.5 4;stroke-linecap:round}"
    ".ms-view .ms-p .e-OUTPUT_MATCH{stroke-dasharray:9 3 2 3}"
    ".ms-view .ms-p .e-DATA_READY{stroke-dasharray:3 3}"
    + "".join(f".ms-view .ms-p text.n-{name}{{fill:var(--m-on-{name})}}"
              for name in ("ok", "bad", "run", "wait", "again", "hold", "todo", "old", "force",
                           "off"))
    + "".join(f".ms-view .ms-p .b-{name}{{stroke:var(--m-{name});stroke-width:1.6}}"
              for name in ("bad", "run"))
)


class Node(NamedTuple):
    """A task, or something outside that is waited for."""

    name: str
    state: str = ""
    title: str = ""
    """Shown when the pointer rests on it."""
    badge: str = ""
    """Behind the name, such as how many items it has."""
    outside: bool = False
    """Whether it is a stub: another dag, another period, an asset."""


class Edge(NamedTuple):
    """A line from one node to another, by their numbers."""

    start: int
    end: int
    kind: str = "SUCCESS"


def picture(nodes: "Sequence[Node]", edges: "Sequence[Edge]") -> "tuple[str, list[str]]":
    """Return the SVG of a graph, and what is to be said below it.

    Examples
    --------
    >>> from mainspring._picture import Edge, Node, picture
    >>> svg, notes = picture([Node("load"), Node("clean", state="FAILED")], [Edge(0, 1)])
    >>> svg[:4], ">load<" in svg, ">F<" in svg, notes
    ('<svg', True, True, [])
    """
    if not nodes:
        return "", ["no tasks"]
    inside = sum(not node.outside for node in nodes)
    if len(nodes) > MOST_NODES or len(edges) > MOST_EDGES:
        note = (f"{counted(inside, 'task')} and {counted(len(edges), 'edge')} are too many to "
                "draw one by one: a box stands for a layer of tasks")
        return _condensed(nodes, edges), [note]
    made = layout([HIGH] * len(nodes), edges, gap=GAP, thin=EDGE)
    return _drawn(nodes, made), _kinds(edges)


def _kinds(edges: "Sequence[Edge]") -> "list[str]":
    words = {"COMPLETED": "dashed: after it ended, however", "WEAK": "dotted: only for the order",
             "OUTPUT_MATCH": "dashes and dots: if its output matches",
             "DATA_READY": "short dashes: when its data is ready"}
    used = {edge.kind for edge in edges}
    told = "; ".join(text for kind, text in words.items() if kind in used)
    return [told] if told else []


def short(name: str) -> str:
    """Return a name as a picture has room for it."""
    text = clip(name, 1000)
    if width(text) <= MOST_NAME:
        return text
    kept = ""
    for each in text:
        if width(kept + each) > MOST_NAME - 1:
            break
        kept += each
    return kept + "…"


def _wide(node: Node) -> float:
    chip = CHIP if node.state else 0.0
    badge = 10 + width(node.badge) * LETTER if node.badge else 0.0
    return chip + 18 + max(2, width(short(node.name))) * LETTER + badge


def _drawn(nodes: "Sequence[Node]", made: Layout) -> str:
    wide = [_wide(node) for node in nodes]
    left: list[float] = []
    span: list[float] = []
    at = 2.0
    for line in made.order:
        span.append(max((wide[node] for node in line if node < len(nodes)), default=24.0))
        left.append(at)
        at += span[-1] + ACROSS
    total, high = at - ACROSS + 2, made.height + 4
    where = [*made.layer, *(way.layer for way in made.passing)]

    def ends(node: int) -> "tuple[float, float, float]":
        """Its left, its right and its middle."""
        own = wide[node] if node < len(nodes) else span[where[node]]
        return left[where[node]], left[where[node]] + own, made.middle[node] + 2

    parts = [_svg(total, high)]
    arrows: dict[int, None] = {}
    for start, end, kind, arrives in made.links:
        _, x, y = ends(start)
        to, _, down = ends(end)
        stop = to - (5 if arrives else 0)
        rest = left[where[start]] + span[where[start]]
        lead = f"H{rest:.0f}" if rest - x > 1 else ""
        half = (stop - rest) / 2
        tail = "" if arrives else f"H{to + span[where[end]]:.0f}"
        parts.append(f'<path class="e-{escape(clip(kind, 20))}" d="M{x:.0f} {y:.1f}{lead}'
                     f"C{rest + half:.0f} {y:.1f} {rest + half:.0f} {down:.1f} {stop:.0f} "
                     f'{down:.1f}{tail}"/>')
        if arrives:
            arrows[end] = None
    for end in arrows:
        to, _, down = ends(end)
        parts.append(f'<path class="p-a" d="M{to:.0f} {down:.1f}l-7 -4v8z"/>')
    for number, node in enumerate(nodes):
        x, _, y = ends(number)
        parts.append(_node(node, x, y - HIGH / 2, wide[number]))
    parts.append("</svg>")
    return "".join(parts)


def _svg(wide: float, high: float) -> str:
    # A little too wide for the page is made smaller; what would be too small to read is scrolled.
    return (f'<svg class="ms-p" width="{wide:.0f}" height="{high:.0f}" '
            f'style="max-width:100%;min-width:{SMALLEST * wide:.0f}px;height:auto" '
            f'viewBox="0 0 {wide:.0f} {high:.0f}" role="img">')


def _node(node: Node, x: float, y: float, wide: float) -> str:
    said = node.title or node.name + (f": {node.state}" if node.state else "")
    parts = [f"<g><title>{escape(clip(said, 300))}</title>"]
    mark = f" b-{tone(node.state)}" if node.state else ""
    kind = "p-s" if node.outside else f"p-n{mark}"
    parts.append(f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{wide:.1f}" '
                 f'height="{HIGH:.0f}" rx="{13 if node.outside else 4}"/>')
    middle, begin = y + HIGH / 2, x + 9
    if node.state:
        look = tone(node.state)
        parts.append(f'<rect class="m-{look}" x="{x + 4:.1f}" y="{y + 4:.1f}" width="18" '
                     f'height="18" rx="3"/><text class="p-c n-{look}" x="{x + 13:.1f}" '
                     f'y="{middle:.1f}">{escape(letter(node.state))}</text>')
        begin += CHIP - 4
    dim = ' class="p-d"' if node.outside else ""
    name = escape(short(node.name))
    parts.append(f'<text{dim} x="{begin:.1f}" y="{middle:.1f}">{name}')
    if node.badge:
        parts.append(f'<tspan class="p-d" dx="6">{escape(clip(node.badge, 24))}</tspan>')
    parts.append("</text></g>")
    return "".join(parts)


def _condensed(nodes: "Sequence[Node]", edges: "Sequence[Edge]") -> str:
    """A box for each layer, or for some layers together, with what is in it."""
    layer = layers_of(len(nodes), [(edge.start, edge.end) for edge in edges])
    levels = max(layer) + 1
    joined = -(-levels // MOST_BOXES)
    boxes: list[list[int]] = [[] for _ in range(-(-levels // joined))]
    for number, level in enumerate(layer):
        boxes[level // joined].append(number)
    arriving = Counter(layer[edge.end] // joined for edge in edges
                       if layer[edge.end] // joined != layer[edge.start] // joined)
    parts = [_svg(len(boxes) * (BOX_WIDE + ACROSS) - ACROSS + 4, BOX_HIGH + 22)]
    for place, members in enumerate(boxes):
        x = 2 + place * (BOX_WIDE + ACROSS)
        if arriving[place]:
            y = 18 + BOX_HIGH / 2
            parts.append(f'<path d="M{x - ACROSS:.0f} {y}H{x - 5:.0f}"/>'
                         f'<path class="p-a" d="M{x:.0f} {y}l-7 -4v8z"/>'
                         f'<text class="p-d" text-anchor="middle" x="{x - ACROSS / 2:.0f}" '
                         f'y="{y - 10}">{arriving[place]:,}</text>')
        first, last = place * joined + 1, min(levels, (place + 1) * joined)
        name = f"layer {first}" if first == last else f"layers {first} to {last}"
        parts += _box([nodes[number] for number in members], x, name)
    parts.append("</svg>")
    return "".join(parts)


def _box(nodes: "Sequence[Node]", x: float, name: str) -> "Iterable[str]":
    states = Counter(node.state for node in nodes if node.state)
    told = ", ".join(f"{states[state]:,} {state}" for state in by_rank(states))
    mark = f" b-{tone(worst(states))}" if states else ""
    yield (f"<g><title>{escape(clip(told or name, 300))}</title>"
           f'<text class="p-d" x="{x:.0f}" y="9">{name}</text>'
           f'<rect class="p-n{mark}" x="{x:.0f}" y="18" width="{BOX_WIDE:.0f}" '
           f'height="{BOX_HIGH:.0f}" rx="4"/>')
    tasks = counted(sum(not node.outside for node in nodes), "task")
    yield f'<text x="{x + 10:.0f}" y="34">{tasks}</text>'
    few = short(clip(nodes[0].name, 15)) + (" …" if len(nodes) > 1 else "")
    yield f'<text class="p-d" x="{x + 10:.0f}" y="52">{escape(few)}</text>'
    at, room = x + 10, BOX_WIDE - 20
    for state in reversed(by_rank(states)):
        part = room * states[state] / sum(states.values())
        yield (f'<rect class="m-{tone(state)}" x="{at:.1f}" y="64" width="{max(1.5, part):.1f}" '
               'height="10"/>')
        at += part
    yield "</g>"
