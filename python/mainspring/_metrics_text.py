"""Metrics as Prometheus reads them: text format 0.0.4, with a bound on the series of each metric.

A metric has at most ``limit`` sets of labels. What comes later is added up under the name
``_other``, which no task has: the names of tasks have a dot. A set of a counter that was shown once
is shown on, so counters never go back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

__all__ = ["CONTENT_TYPE", "OTHER", "Counter", "Family", "Gauge", "Histogram", "Summary", "render"]

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

OTHER = "_other"
"""What stands for all tasks that have no series of their own."""

RESERVE = 16
"""Sets that are kept for ``_other``: as many as there are states or outcomes, and some more."""

Labels = tuple[str, ...]
Sample = tuple[str, Labels, Labels, float]


class Family:
    """One metric: its name, what it means, and the names of its labels.

    Parameters
    ----------
    name, help : str
        As they are shown.
    labels : sequence of str
        Names of labels. The first ones, up to ``named``, name a thing of the user's.
    named : int
        How many labels become ``_other`` (the first) and empty (the others) beyond the limit.
    limit : int
        Most sets of labels.
    """

    kind = "untyped"

    def __init__(self, name: str, help: str, labels: Sequence[str] = (), *, named: int = 0,
                 limit: int = 1000) -> None:
        self.name = name
        self.help = help
        self.labels = tuple(labels)
        self.named = named
        self.limit = max(limit, 2 * RESERVE) - RESERVE

    def other(self, labels: Labels) -> Labels:
        """The set that stands for one that has no place."""
        blank = (OTHER, *[""] * (self.named - 1))
        return (*blank[: self.named], *labels[self.named :])

    def samples(self) -> Iterator[Sample]:
        """Name, names of labels, their values, value."""
        raise NotImplementedError


class Gauge(Family):
    """What goes up and down: replaced as a whole at each look."""

    kind = "gauge"

    def __init__(self, name: str, help: str, labels: Sequence[str] = (), *, named: int = 0,
                 limit: int = 1000, worst: bool = False) -> None:
        super().__init__(name, help, labels, named=named, limit=limit)
        self.worst = worst
        self.values: dict[Labels, float] = {}

    def replace(self, values: Mapping[Labels, float]) -> None:
        """Show these; those that were shown before keep their places."""
        if not self.named or len(values) <= self.limit:
            self.values = dict(values)
            return
        shown: dict[Labels, float] = {}
        before = self.values
        for at, labels in enumerate(sorted(values, key=lambda each: each not in before)):
            key, value = labels if at < self.limit else self.other(labels), values[labels]
            has = shown.get(key)
            if has is not None:
                value = max(has, value) if self.worst else has + value
            shown[key] = value
        self.values = shown

    def set(self, value: float) -> None:
        """Show this, of a metric without labels."""
        self.values = {(): value}

    def samples(self) -> Iterator[Sample]:
        """Name, names of labels, their values, value."""
        for labels, value in self.values.items():
            yield self.name, self.labels, labels, value


class _Growing(Family):
    """What only grows: sets of labels that have a place keep it."""

    def __init__(self, name: str, help: str, labels: Sequence[str] = (), *, named: int = 0,
                 limit: int = 1000) -> None:
        super().__init__(name, help, labels, named=named, limit=limit)
        self._places: set[Labels] = set()

    def place(self, labels: Labels) -> Labels:
        """The set under which these labels are counted."""
        if not self.named or labels in self._places:
            return labels
        if len(self._places) >= self.limit:
            return self.other(labels)
        self._places.add(labels)
        return labels


class Counter(_Growing):
    """What happened so often."""

    kind = "counter"

    def __init__(self, name: str, help: str, labels: Sequence[str] = (), *, named: int = 0,
                 limit: int = 1000) -> None:
        super().__init__(name, help, labels, named=named, limit=limit)
        self.values: dict[Labels, float] = {}

    def add(self, labels: Labels, amount: float) -> None:
        """Count so many more."""
        place = self.place(labels)
        self.values[place] = self.values.get(place, 0) + amount

    def samples(self) -> Iterator[Sample]:
        """Name, names of labels, their values, value."""
        for labels, value in self.values.items():
            yield self.name, self.labels, labels, value


class Summary(_Growing):
    """How often, and how much in all."""

    kind = "summary"

    def __init__(self, name: str, help: str, labels: Sequence[str] = (), *, named: int = 0,
                 limit: int = 1000) -> None:
        super().__init__(name, help, labels, named=named, limit=limit)
        self.values: dict[Labels, tuple[float, float]] = {}

    def add(self, labels: Labels, count: float, total: float) -> None:
        """Count so many more, which are so much."""
        place = self.place(labels)
        has = self.values.get(place, (0, 0.0))
        self.values[place] = (has[0] + count, has[1] + total)

    def samples(self) -> Iterator[Sample]:
        """Name, names of labels, their values, value."""
        for labels, (count, total) in self.values.items():
            yield f"{self.name}_sum", self.labels, labels, total
            yield f"{self.name}_count", self.labels, labels, count


class Histogram(Family):
    """How many were at most so much; without labels of its own."""

    kind = "histogram"

    def __init__(self, name: str, help: str, bounds: Sequence[float]) -> None:
        super().__init__(name, help)
        self.bounds = tuple(bounds)
        self.within = [0] * len(self.bounds)
        self.count = 0
        self.total = 0.0

    def add(self, within: Iterable[int], count: int, total: float) -> None:
        """Count more: how many are within each bound, how many in all, how much in all."""
        self.within = [has + more for has, more in zip(self.within, within, strict=True)]
        self.count += count
        self.total += total

    def samples(self) -> Iterator[Sample]:
        """Name, names of labels, their values, value."""
        name = f"{self.name}_bucket"
        for bound, within in zip(self.bounds, self.within, strict=True):
            yield name, ("le",), (number(bound),), within
        yield name, ("le",), ("+Inf",), self.count
        yield f"{self.name}_sum", (), (), self.total
        yield f"{self.name}_count", (), (), self.count


def number(value: float) -> str:
    """A value as the format has it.

    Examples
    --------
    >>> from mainspring._metrics_text import number
    >>> [number(value) for value in (3, 0.5, 1e300, float("inf"))]
    ['3', '0.5', '1e+300', '+Inf']
    """
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "+Inf" if value > 0 else "-Inf"
    if value == int(value) and abs(value) < 2**53:
        return str(int(value))
    return repr(float(value))


def _label(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def render(families: Iterable[Family]) -> str:
    r"""The text of these metrics; those without any series have none.

    Examples
    --------
    >>> from mainspring._metrics_text import Gauge, render
    >>> used = Gauge("slots_used", "Slots in use.", ("pool",))
    >>> used.replace({("say \"hi\"",): 2.0})
    >>> print(render([used]), end="")
    # HELP slots_used Slots in use.
    # TYPE slots_used gauge
    slots_used{pool="say \"hi\""} 2
    """
    lines = []
    for family in families:
        samples = list(family.samples())
        if not samples:
            continue
        text = family.help.replace("\\", "\\\\").replace("\n", "\\n")
        lines += [f"# HELP {family.name} {text}", f"# TYPE {family.name} {family.kind}"]
        for name, names, values, value in samples:
            pairs = ",".join(f'{each}="{_label(its)}"'
                             for each, its in zip(names, values, strict=True))
            lines.append(f"{name}{{{pairs}}} {number(value)}" if pairs
                         else f"{name} {number(value)}")
    return "".join(f"{line}\n" for line in lines)
