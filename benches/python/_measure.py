"""What all benchmarks share: a stopwatch, medians, and lines that print a figure with its ratio."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable


def seconds(work: Callable[[], object]) -> float:
    """Wall time of one call."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def median(work: Callable[[], float], runs: int) -> float:
    """Median of what several calls return."""
    return statistics.median(work() for _ in range(runs))


def line(name: str, figure: str, ratio: float | None = None, of: str = "", wanted: str = "") -> None:
    """Print one result; `ratio` is always "ours over the peer's", `wanted` says which way is good."""
    text = f"{name:<46} {figure:>22}"
    if ratio is not None:
        text += f"   {ratio:6.2f} x {of}"
    if wanted:
        text += f"   (wanted: {wanted})"
    print(text, flush=True)
