"""Where the nodes of a graph stand in a picture: in layers, with few crossings and straight lines.

Layers by the longest way, nodes that only lines pass for edges over several layers, orders by the
mean of the neighbours, and places as close to their neighbours as the order allows. It is the usual
way (Sugiyama's), without recursion, and small: the pictures have at most some hundred nodes.
"""

from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Layout", "Passing", "layers_of", "layout"]

SWEEPS, ROUNDS = 12, 8
STRAIGHT = 4.0
"""How much more a line that only passes wants to be straight."""


class Passing(NamedTuple):
    """A place in a layer that lines of one source and kind pass."""

    source: int
    kind: str
    layer: int


class Layout(NamedTuple):
    """Where everything stands."""

    layer: "list[int]"
    """The layer of each node."""
    order: "list[list[int]]"
    """In each layer its nodes, from the top; passing lines have numbers behind those of nodes."""
    passing: "list[Passing]"
    middle: "list[float]"
    """How far below the top the middle of each node and passing line is."""
    links: "list[tuple[int, int, str, bool]]"
    """From a layer to the next: from, to, kind, and whether it ends there at a node."""
    height: float


def layers_of(number: int, edges: "Sequence[tuple[int, int]]", *,
              close: bool = True) -> "list[int]":
    """Return the layer of each node: behind all that it waits for.

    What waits for nothing is put close to its use, or in the first layer if not ``close``. Nodes
    of a cycle, which a checked dag does not have, are put in the first layer.

    Examples
    --------
    >>> from mainspring._layers import layers_of
    >>> layers_of(4, [(0, 1), (1, 2), (3, 2)])
    [0, 1, 2, 1]
    """
    after: list[list[int]] = [[] for _ in range(number)]
    waits = [0] * number
    for start, end in edges:
        after[start].append(end)
        waits[end] += 1
    first = [count == 0 for count in waits]
    layer = [0] * number
    ready = [node for node in range(number) if first[node]]
    for node in ready:  # grows while it is walked
        for follower in after[node]:
            layer[follower] = max(layer[follower], layer[node] + 1)
            waits[follower] -= 1
            if not waits[follower]:
                ready.append(follower)
    for node in range(number):
        if close and first[node] and after[node]:
            layer[node] = max(0, min(layer[follower] for follower in after[node]) - 1)
    return layer


def layout(heights: "Sequence[float]", edges: "Sequence[tuple[int, int, str]]", *,
           gap: float, thin: float) -> Layout:
    """Return where nodes of these heights stand.

    Parameters
    ----------
    heights : sequence of float
        Of each node.
    edges : sequence of (int, int, str)
        From, to and kind; lines of one source and kind share their way.
    gap : float
        Least distance between two neighbours of a layer.
    thin : float
        Height of the way of a line.
    """
    number = len(heights)
    layer = layers_of(number, [(start, end) for start, end, _ in edges])
    passing: list[Passing] = []
    known: dict[Passing, int] = {}
    links: dict[tuple[int, int, str, bool], None] = {}
    for start, end, kind in edges:
        before = start
        for level in range(layer[start] + 1, layer[end]):
            way = Passing(start, kind, level)
            if way not in known:
                known[way] = number + len(passing)
                passing.append(way)
            links[before, known[way], kind, False] = None
            before = known[way]
        if layer[end] > layer[start]:  # not so only in a cycle
            links[before, end, kind, True] = None
    order: list[list[int]] = [[] for _ in range(max(layer, default=-1) + 1)]
    for node, level in enumerate(layer):
        order[level].append(node)
    for node, way in enumerate(passing, number):
        order[way.layer].append(node)
    total = number + len(passing)
    before_of: list[list[int]] = [[] for _ in range(total)]
    after_of: list[list[int]] = [[] for _ in range(total)]
    for start, end, _, _ in links:
        after_of[start].append(end)
        before_of[end].append(start)
    order = _ordered(order, before_of, after_of, total)
    sizes = [*heights, *([thin] * len(passing))]
    middle, height = _placed(order, before_of, after_of, sizes, gap, number)
    return Layout(layer, order, passing, middle, list(links), height)


def _ordered(order: "list[list[int]]", before: "list[list[int]]", after: "list[list[int]]",
             total: int) -> "list[list[int]]":
    """The order with the fewest crossings that some sweeps find."""
    best, least = [list(line) for line in order], _crossings(order, after, total)
    place = [0.0] * total
    for line in order:
        for number, node in enumerate(line):
            place[node] = float(number)
    for sweep in range(SWEEPS):
        if not least:
            break
        down = sweep % 2 == 0
        neighbours = before if down else after
        for line in order[1:] if down else order[-2::-1]:
            # A node without neighbours on that side stays about where it is.
            line.sort(key=lambda node: (_mean(neighbours[node], place), place[node])  # noqa: B023
                      if neighbours[node] else (place[node], place[node]))  # noqa: B023
            for number, node in enumerate(line):
                place[node] = float(number)
        crossings = _crossings(order, after, total)
        if crossings < least:
            best, least = [list(line) for line in order], crossings
    return best


def _mean(nodes: "Sequence[int]", place: "Sequence[float]") -> float:
    return sum(place[node] for node in nodes) / len(nodes)


def _crossings(order: "list[list[int]]", after: "list[list[int]]", total: int) -> int:
    """How many lines cross, counted with a tree of sums."""
    place = [0] * total
    for line in order:
        for number, node in enumerate(line):
            place[node] = number
    crossings = 0
    for line, following in zip(order, order[1:], strict=False):
        size = len(following)
        sums, seen = [0] * (size + 1), 0
        for node in line:
            ends = sorted(place[end] for end in after[node])
            for end in ends:
                at, below = end + 1, 0
                while at:
                    below += sums[at]
                    at -= at & -at
                crossings += seen - below
            for end in ends:
                at, seen = end + 1, seen + 1
                while at <= size:
                    sums[at] += 1
                    at += at & -at
    return crossings


def _placed(order: "list[list[int]]", before: "list[list[int]]", after: "list[list[int]]",
            sizes: "Sequence[float]", gap: float, number: int) -> "tuple[list[float], float]":
    middle = [0.0] * len(sizes)
    tallest = max((sum(sizes[node] + gap for node in line) for line in order), default=0.0)
    for line in order:  # each layer in the middle of the picture
        top = (tallest - sum(sizes[node] + gap for node in line)) / 2
        for node in line:
            middle[node] = top + (sizes[node] + gap) / 2
            top += sizes[node] + gap
    for sweep in range(ROUNDS):
        for line in order if sweep % 2 == 0 else reversed(order):
            wanted, weights = [], []
            for node in line:
                near = before[node] + after[node] if sweep >= ROUNDS - 2 else (
                    before[node] if sweep % 2 == 0 else after[node])
                wanted.append(_mean(near, middle) if near else middle[node])
                weights.append((STRAIGHT if node >= number else 1.0) if near else 0.1)
            steps = [(sizes[left] + sizes[right]) / 2 + gap
                     for left, right in zip(line, line[1:], strict=False)]
            for node, at in zip(line, _spread(wanted, weights, steps), strict=True):
                middle[node] = at
    tops = [middle[node] - sizes[node] / 2 for line in order for node in line]
    top = min(tops, default=0.0)
    bottom = max((middle[node] + sizes[node] / 2 for line in order for node in line), default=0.0)
    return [at - top for at in middle], bottom - top


def _spread(wanted: "Sequence[float]", weights: "Sequence[float]",
            steps: "Sequence[float]") -> "list[float]":
    """The places closest to those wanted that keep the order and these distances.

    Neighbours that want to pass each other become a block, which stands at its mean.
    """
    shift, shifts = 0.0, [0.0]
    for step in steps:
        shift += step
        shifts.append(shift)
    blocks: list[tuple[float, float, int]] = []  # sum of what is wanted, weight, how many
    for want, weight, moved in zip(wanted, weights, shifts, strict=True):
        block = ((want - moved) * weight, weight, 1)
        while blocks and blocks[-1][0] / blocks[-1][1] > block[0] / block[1]:
            last = blocks.pop()
            block = (last[0] + block[0], last[1] + block[1], last[2] + block[2])
        blocks.append(block)
    means = [total / weight for total, weight, count in blocks for _ in range(count)]
    return [mean + moved for mean, moved in zip(means, shifts, strict=True)]
